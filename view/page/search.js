// Searching in keys and values: hits as they come, how far it has come, and a way to stop.
import { lines } from "./api.js";
import { append, fill, h, isNarrow, newId } from "./dom.js";
import { middleHead } from "./heading.js";
import { keyElement } from "./keys.js";
import { lookUp, model } from "./model.js";
import { failed, running } from "./parts.js";
import { go } from "./route.js";
import { appendText, counted, nameElement, nameLabel, numberText } from "./text.js";
import { SEARCHED } from "./types.js";
import { VirtualList } from "./virtual.js";

const ROW = 58;
const KINDS = [
  ["text", "Text"],
  ["regex", "Regular expression"],
  ["key", "Key"],
  ["type", "Type of value"],
];
const HELP = {
  text: "Found in texts, names of properties, numbers, dates, and in bytes.",
  regex: "A pattern in Rust’s syntax, such as ^[0-9]{4}-",
  key: 'A key as JSON: 7, "text", ["a", 1]. What is no JSON is taken as a text.',
  type: "A type of JavaScript’s, such as Blob, Date, Map or CryptoKey.",
};

export class SearchView {
  /** `open(hit)` shows a record. */
  constructor(root, place, open) {
    Object.assign(this, { root, place, open });
    this.hits = [];
    this.active = -1;
    this.stop = new AbortController();
    this.within = { store: place.store, database: place.database, objectStore: place.objectStore };
    this.id = newId("hits");
    this.status = h("div", { class: "search-status", role: "status" });
    this.problems = h("ul", { class: "search-problems bad" });
    this.body = h("div", {});
    this.scroller = h(
      "div",
      {
        class: "hits",
        role: "listbox",
        tabindex: "0",
        "aria-label": "Places found",
        onkeydown: (event) => this.#key(event),
        onclick: (event) => {
          const row = event.target.closest("[data-row]");
          if (row) this.#choose(Number(row.dataset.row));
        },
      },
      this.body,
    );
    fill(
      root,
      middleHead(null, [h("h1", {}, "Search"), h("p", { class: "dim" }, this.#scopeText())], this.#form()),
      this.status,
      this.problems,
      this.scroller,
    );
    this.list = new VirtualList({
      scroller: this.scroller,
      body: this.body,
      rowHeight: ROW,
      row: (index) => this.#row(index),
      pinned: () => this.active,
    });
    if (place.text) this.#run();
  }

  #scopeText() {
    const { database, objectStore } = lookUp(this.within);
    if (this.within.store === undefined) return "in all stores";
    const parts = [model.stores.get(this.within.store)?.info.origin];
    if (database) parts.push(nameLabel(database.name));
    if (objectStore) parts.push(nameLabel(objectStore.name));
    return `in ${parts.join(" › ")}`;
  }

  #form() {
    const [text, kind, scope, types] = ["text", "kind", "scope", "types"].map(newId);
    const help = h("p", { class: "dim field-help", id: newId("help") }, HELP[this.place.kind ?? "text"]);
    const field = h("input", {
      id: text,
      type: "search",
      value: this.place.text ?? "",
      autocomplete: "off",
      spellcheck: "false",
      "aria-describedby": help.id,
      list: this.place.kind === "type" ? types : undefined,
    });
    const chosen = h(
      "select",
      {
        id: kind,
        onchange: () => {
          fill(help, HELP[chosen.value]);
          field.toggleAttribute("list", false);
          if (chosen.value === "type") field.setAttribute("list", types);
        },
      },
      KINDS.map(([name, label]) => h("option", { value: name, selected: name === (this.place.kind ?? "text") }, label)),
    );
    const ignoreCase = h("input", { type: "checkbox", checked: this.place.ignoreCase !== "no" });
    const where = h(
      "select",
      { id: scope },
      this.#scopes().map(([value, label], at) =>
        h("option", { value: at, selected: value === this.#scopeName() }, label),
      ),
    );
    return h(
      "form",
      {
        class: "tools",
        role: "search",
        onsubmit: (event) => {
          event.preventDefault();
          const within = this.#scopes()[Number(where.value)][2];
          go({
            view: "search",
            ...within,
            text: field.value,
            kind: chosen.value === "text" ? undefined : chosen.value,
            ignoreCase: ignoreCase.checked ? undefined : "no",
          });
        },
      },
      h("div", { class: "field wide" }, h("label", { for: text }, "Look for"), field),
      h("div", { class: "field" }, h("label", { for: kind }, "As"), chosen),
      h("div", { class: "field" }, h("label", { for: scope }, "Where"), where),
      h("label", { class: "choice" }, ignoreCase, " upper and lower case alike"),
      h("button", { type: "submit" }, "Search"),
      h(
        "datalist",
        { id: types },
        SEARCHED.map((name) => h("option", { value: name }, name)),
      ),
      help,
    );
  }

  #scopeName() {
    return Object.values(this.within).filter((id) => id !== undefined).length;
  }

  #scopes() {
    const { store, database, objectStore } = this.within;
    const found = lookUp(this.within);
    const scopes = [[0, "everything", {}]];
    if (store !== undefined) scopes.push([1, `store ${model.stores.get(store)?.info.origin ?? store}`, { store }]);
    if (found.database) scopes.push([2, `database ${nameLabel(found.database.name)}`, { store, database }]);
    if (found.objectStore)
      scopes.push([3, `object store ${nameLabel(found.objectStore.name)}`, { store, database, objectStore }]);
    return scopes;
  }

  async #run() {
    const asked = {
      ...this.within,
      text: this.place.text,
      kind: this.place.kind ?? "text",
      ignoreCase: this.place.ignoreCase !== "no",
    };
    const progress = running(this.status, "Searching…", () => this.stop.abort());
    let records = 0;
    let drawn = 0;
    const draw = () => {
      if (performance.now() - drawn < 120) return;
      drawn = performance.now();
      progress.textContent = `Searching… ${records ? `${counted(records, "record")} looked at, ` : ""}${counted(this.hits.length, "place")} found.`;
      this.list.setCount(this.hits.length);
    };
    try {
      for await (const line of lines("search", asked, { signal: this.stop.signal })) {
        if (line.hit) this.hits.push(line.hit);
        else if (line.progress) ({ records } = line.progress);
        else if (line.problem) append(this.problems, [appendText(h("li", {}), line.problem)]);
        else if (line.done) this.#ended(line);
        if (!line.done) draw();
      }
    } catch (error) {
      if (error.name === "AbortError")
        fill(this.status, `Stopped. ${counted(this.hits.length, "place")} found until then.`);
      failed(this.status, error);
    }
    this.list.setCount(this.hits.length);
  }

  #ended({ hits, cut }) {
    fill(
      this.status,
      hits === 0
        ? "Nothing was found. What was deleted or overwritten is not searched: it is among the hidden rows of each store."
        : cut
          ? `The first ${numberText(hits)} places are shown; there are more. A longer text finds fewer.`
          : `${counted(hits, "place")} found.`,
    );
  }

  #row(index) {
    const hit = this.hits[index];
    const [origin, database, objectStore] = hit.names;
    return h(
      "div",
      {
        class: `hit${index === this.active ? " active" : ""}`,
        role: "option",
        id: `${this.id}-${index}`,
        "data-row": index,
        "aria-selected": String(index === this.active),
        "aria-posinset": index + 1,
        "aria-setsize": this.hits.length,
      },
      h(
        "div",
        { class: "hit-where" },
        nameElement(origin),
        " › ",
        nameElement(database),
        " › ",
        nameElement(objectStore),
        " › ",
        keyElement(hit.primaryKey),
        " ",
        appendText(h("bdi", { class: "hit-place" }), hit.place),
      ),
      h("div", { class: "hit-text" }, h("span", { class: "type" }, hit.kind), this.#marked(hit.text)),
    );
  }

  /** The text of a hit, with what was looked for marked. */
  #marked(text) {
    const element = h("bdi", { class: "mono" });
    const { text: wanted, kind = "text", ignoreCase } = this.place;
    const at =
      kind !== "text"
        ? -1
        : ignoreCase === "no"
          ? text.indexOf(wanted)
          : text.toLowerCase().indexOf(wanted.toLowerCase());
    if (at < 0) return appendText(element, text);
    const from = Math.max(0, at - (isNarrow() ? 12 : 60));
    appendText(element, `${from > 0 ? "…" : ""}${text.slice(from, at)}`);
    element.append(appendText(h("mark", {}), text.slice(at, at + wanted.length)));
    return appendText(element, text.slice(at + wanted.length));
  }

  #choose(index) {
    if (this.hits.length === 0) return;
    this.active = Math.max(0, Math.min(index, this.hits.length - 1));
    this.list.show(this.active);
    for (const [at, element] of this.list.rows) {
      element.classList.toggle("active", at === this.active);
      element.setAttribute("aria-selected", String(at === this.active));
    }
    this.scroller.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
    this.open(this.hits[this.active]);
  }

  #key(event) {
    const moves = {
      ArrowDown: this.active + 1,
      ArrowUp: this.active - 1,
      Home: 0,
      End: this.hits.length - 1,
      PageDown: this.active + 8,
      PageUp: this.active - 8,
      Enter: this.active,
    };
    if (!(event.key in moves) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.#choose(moves[event.key]);
  }

  /** Goes from the field to what was found. */
  focus() {
    this.scroller.focus();
    if (this.active < 0) this.#choose(0);
  }

  end() {
    this.stop.abort();
    this.list.end();
  }
}
