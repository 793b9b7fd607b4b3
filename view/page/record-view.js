// One record whole: its key, its value, and where it came from.
import { ask, download } from "./api.js";
import { fill, h, say } from "./dom.js";
import { backButton, follow } from "./heading.js";
import { keyElement, keyJson, keyType } from "./keys.js";
import { menuOf } from "./menu.js";
import { textList } from "./parts.js";
import { Provenance } from "./provenance.js";
import { address, place } from "./route.js";
import { followPlace } from "./shape.js";
import { counted, sizeText } from "./text.js";
import { ValueTree } from "./value.js";

const FIRST_LIMITS = { strings: 20_000, bytes: 64 * 1024, nodes: 3000 };
// More than this the server does not give at once; the rest can be saved.
const LIMITS_MAX = { strings: 8 << 20, bytes: 8 << 20, nodes: 500_000 };
const GROWTH = 16;
const PAST = {
  deleted: "This record was deleted. You see it as it was before; the website does not see it any more.",
  overwritten: "This is an earlier version of the record. The website sees a newer one.",
  undone: "This was written in a transaction that did not end. The website does not see it.",
};
/** What the way back leads to, on narrow screens. */
const backLabel = () => ({ search: "Results", hidden: "Hidden rows" })[place().view] ?? "Records";

export class RecordView {
  constructor(root) {
    this.root = root;
    this.empty();
  }

  empty(text = "Choose a record to see all of it.") {
    this.#stopAsking();
    this.where = undefined;
    this.drawn = undefined;
    this.tree = undefined;
    fill(this.root, backButton("middle", backLabel()), h("p", { class: "empty" }, text));
  }

  #stopAsking() {
    this.stop?.abort();
    this.provenance?.end();
    this.stop = new AbortController();
  }

  /** Shows a record; `at` is a place in it to point at. */
  async show(where, { at, toTable, again = false } = {}) {
    if (!again) {
      this.limits = { ...FIRST_LIMITS };
      this.toTable = toTable;
    }
    this.#stopAsking();
    const isOther = !this.#isShown(where);
    this.where = where;
    this.root.setAttribute("aria-busy", "true");
    const { signal } = this.stop;
    try {
      const record = await ask("record", { ...where, ...this.limits }, { signal });
      // What is open is looked at now: it may have changed while the answer was on its way.
      const kept = isOther ? {} : { open: this.tree?.openPaths, scroll: this.scroller?.scrollTop };
      this.drawn = where;
      this.#draw(record, kept);
      if (at !== undefined) {
        this.#tab(false);
        this.#point(at);
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      this.tree = undefined;
      this.drawn = undefined;
      fill(
        this.root,
        backButton("middle", backLabel()),
        h(
          "p",
          { class: "empty" },
          error.status === 404
            ? "This record is not in the store any more."
            : `The record cannot be shown: ${error.message}`,
        ),
      );
    } finally {
      if (!signal.aborted) this.root.removeAttribute("aria-busy");
    }
  }

  /** Shows a record and goes into it with the keyboard. */
  async open(where) {
    if (!this.#isShown(where) || !this.tree) await this.show(where);
    this.tree?.element.firstChild?.focus();
  }

  #isShown(where) {
    return ["store", "database", "objectStore", "primaryKey", "sequence"].every((name) => this.drawn?.[name] === where[name]);
  }

  /** Asks again: the files have changed. */
  renew() {
    if (this.where) this.show(this.where, { again: true });
  }

  #draw(record, kept) {
    // A value that cannot be read has its reason among the problems.
    if (record.value === null) record.value = { t: "UNREADABLE", error: record.problems.join(" ") };
    this.record = record;
    this.tree = new ValueTree(record, this.where, {
      more: (limit) => this.#more(limit),
      mayGrow: (limit) => this.limits[limit] < LIMITS_MAX[limit],
      signal: this.stop.signal,
    });
    const key = h(
      "div",
      {},
      h(
        "h2",
        { class: "record-title" },
        h("span", { class: "hidden-label" }, "Record "),
        keyElement(record.primaryKey),
      ),
      h(
        "p",
        { class: "dim" },
        `Key of type ${keyType(record.primaryKey)} · ${sizeText(record.size)}`,
        this.toTable && [
          " · ",
          h("a", { href: address(this.toTable), onclick: follow(this.toTable) }, "Show in its table"),
        ],
        record.objects?.length ? ` · ${counted(record.objects.length, "blob or file", "blobs and files")}` : "",
      ),
    );
    const past = record.past && h("p", { class: "notice" }, PAST[record.past] ?? record.past);
    this.value = h("div", {}, past, this.#problems(), this.tree.element);
    this.origin = h("div", {});
    this.buttons = ["Value", "Where this came from"].map((label, at) =>
      h("button", { type: "button", class: "tab", "aria-pressed": "false", onclick: () => this.#tab(at === 1) }, label),
    );
    this.scroller = h(
      "div",
      { class: "record-scroller scrolled", tabindex: "0", role: "region", "aria-label": "Content of the record" },
      this.value,
      this.origin,
    );
    fill(
      this.root,
      h("div", { class: "record-head" }, backButton("middle", backLabel()), key, this.#tools()),
      h("div", { class: "tabs", role: "group", "aria-label": "Views of the record" }, this.buttons),
      this.scroller,
    );
    if (kept.open) this.tree.reopen(kept.open);
    this.#tab(this.showsOrigin ?? false);
    if (kept.scroll) this.scroller.scrollTop = kept.scroll;
  }

  #more(limit) {
    this.limits[limit] = Math.min(this.limits[limit] * GROWTH, LIMITS_MAX[limit]);
    this.show(this.where, { again: true });
  }

  #problems() {
    if (!this.record.problems?.length) return null;
    return textList(this.record.problems, { class: "notice bad-notice" });
  }

  #tools() {
    return h(
      "div",
      { class: "record-tools" },
      h("button", { type: "button", onclick: () => this.tree.expandAll() }, "Expand all"),
      menuOf("Copy", [
        ["Value as JSON", () => this.#copy(async () => (await ask("json", this.where)).json, "The value")],
        ["Key", () => this.#copy(async () => keyJson(this.record.primaryKey), "The key")],
      ]),
      menuOf("Save", [
        [
          "This record as canonical JSON",
          () => download({ what: "canonical", ...this.where }).catch((error) => this.#said(error.message)),
        ],
        "Loses nothing: every type, every byte.",
      ]),
      (this.status = h("span", { class: "dim", role: "status" })),
    );
  }

  #said(text) {
    fill(this.status, text);
    setTimeout(() => {
      if (this.status.textContent === text) fill(this.status);
    }, 4000);
  }

  async #copy(make, what) {
    try {
      await copyText(await make());
      this.#said(`${what} is copied.`);
    } catch (error) {
      this.#said(`Not copied: ${error.message}`);
    }
  }

  #tab(showsOrigin) {
    this.showsOrigin = showsOrigin;
    this.buttons.forEach((button, at) => button.setAttribute("aria-pressed", String((at === 1) === showsOrigin)));
    this.value.hidden = showsOrigin;
    this.origin.hidden = !showsOrigin;
    if (showsOrigin && !this.origin.firstChild) {
      this.provenance = new Provenance(this.where);
      this.origin.append(this.provenance.element);
    }
  }

  #point(at) {
    if (at === "key" || at.startsWith("index ")) {
      this.root.querySelector(".record-title").classList.add("found");
      say(`Found in the ${at}.`);
    } else this.tree.reveal(followPlace(this.record.value, at));
  }
}

/** Puts a text on the clipboard. Where a browser does not let the page, it is put there through a field. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = h("textarea", { class: "hidden-label", "aria-hidden": "true", tabindex: "-1" });
    field.value = text;
    document.body.append(field);
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    if (!isCopied) throw new Error("the browser does not allow it");
  }
}
