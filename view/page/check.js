// Checking a store: what is wrong, in words, quickly or in full.
import { lines } from "./api.js";
import { append, fill, h } from "./dom.js";
import { explained, failed, running, textList } from "./parts.js";
import { announceProblems, checkOf, openingProblems } from "./troubles.js";
import { appendText, counted } from "./text.js";

const SHOWN_MAX = 2000;

export class Check {
  constructor(store) {
    this.store = store;
    this.check = checkOf(store);
    this.status = h("div", { class: "search-status", role: "status" });
    this.list = h("ul", { class: "findings" });
    const opening = openingProblems(store);
    this.element = h(
      "div",
      { class: "scrolled overview", tabindex: "0", role: "region", "aria-label": "Problems of this store" },
      h(
        "p",
        { class: "lead" },
        "Damage is named here; everything that does not depend on it is shown as it is. Nothing is repaired or changed: ",
        h("code", {}, "larder repair --to FOLDER PATH"),
        " brings what can be saved into a new store.",
      ),
      opening.length > 0 &&
        h("section", { class: "notice bad-notice" }, h("h2", {}, "Seen on opening"), textList(opening)),
      h(
        "div",
        { class: "tools" },
        h("button", { type: "button", onclick: () => this.#run(false) }, "Check quickly"),
        h("button", { type: "button", onclick: () => this.#run(true) }, "Check in full"),
        explained(
          "What is checked",
          "Quickly: all checksums, the order of rows, the metadata, the blobs. In full: all values, key paths and indexes besides, which takes longer.",
        ),
      ),
      this.status,
      this.list,
    );
    this.#draw();
  }

  #draw() {
    const { findings, done } = this.check;
    fill(
      this.list,
      findings.slice(0, SHOWN_MAX).map((finding) => this.#finding(finding)),
    );
    if (done) this.#ended(done);
  }

  #finding({ severity, kind, where, what }) {
    return h(
      "li",
      { class: "finding" },
      h(
        "div",
        {},
        appendText(h("span", { class: `tag severity-${severity}` }), severity),
        " ",
        appendText(h("strong", {}), kind),
      ),
      appendText(h("p", {}), what),
      appendText(h("p", { class: "dim mono break" }), where),
    );
  }

  #ended({ sound, text }) {
    fill(this.status, appendText(h("p", { class: sound ? "good" : "bad" }), text));
  }

  async #run(full) {
    this.stop?.abort();
    const stop = new AbortController();
    this.stop = stop;
    const { check } = this;
    Object.assign(check, { findings: [], done: null });
    fill(this.list);
    const progress = running(this.status, "Checking…", () => stop.abort());
    try {
      for await (const line of lines("problems", { store: this.store, full }, { signal: stop.signal })) {
        if (line.finding) {
          check.findings.push(line.finding);
          if (check.findings.length <= SHOWN_MAX) append(this.list, [this.#finding(line.finding)]);
        } else if (line.progress) progress.textContent = `Checking… ${counted(line.progress.rows, "row")}`;
        else if (line.done) {
          check.done = line;
          this.#ended(line);
        }
      }
    } catch (error) {
      if (stop === this.stop && error.name === "AbortError")
        fill(this.status, "Stopped. What had been found until then is below.");
      failed(this.status, error);
    }
    announceProblems();
  }

  end() {
    this.stop?.abort();
  }
}
