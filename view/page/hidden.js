// Rows that a page does not see: what is left of earlier writes, and why each is not shown.
import { ask } from "./api.js";
import { fill, h } from "./dom.js";
import { explained } from "./heading.js";
import { appendText, counted, numberText } from "./text.js";

const LIMIT = 100;
/** What the states of rows mean, in plain words. */
export const STATES = {
  stale: [
    "stale",
    "An entry of an index whose record has changed since it was written. A page skips it. The browser removes it later.",
  ],
  overwritten: [
    "overwritten",
    "An earlier version of a row: a newer one with the same key is in the store, and the old bytes have not been cleaned up yet.",
  ],
  deletion: ["deletion", "A note that a row was deleted. Earlier versions of the row may still be there."],
  undo: [
    "undo",
    "What the browser has noted to take back a transaction that may not end. If the browser was killed in the middle, it puts these rows back.",
  ],
};

export class HiddenRows {
  constructor(where) {
    this.where = where;
    this.stop = new AbortController();
    this.status = h("p", { role: "status", class: "dim" });
    this.rows = h("tbody");
    this.more = h("div", { class: "more" });
    this.count = 0;
    this.element = h(
      "div",
      { class: "scrolled hidden-rows", tabindex: "0", role: "region", "aria-label": "Hidden rows" },
      h(
        "p",
        { class: "lead" },
        "Rows that the files still have, and that a page does not see. Lost data may be among them.",
      ),
      h(
        "div",
        { class: "legend" },
        Object.values(STATES).map(([word, help]) => explained(word, help)),
      ),
      h(
        "table",
        { class: "plain-table" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["State", "What", "Key", "Value", "Number", "File", "Why it is hidden"].map((label) =>
              h("th", { scope: "col" }, label),
            ),
          ),
        ),
        this.rows,
      ),
      this.status,
      this.more,
    );
    this.load();
  }

  async load() {
    fill(this.more);
    fill(this.status, "Looking for hidden rows…");
    try {
      const answer = await ask(
        "hidden",
        { ...this.where, after: this.after, limit: LIMIT },
        { signal: this.stop.signal },
      );
      this.after = answer.after;
      this.count += answer.rows.length;
      this.rows.append(...answer.rows.map((row) => this.#row(row)));
      fill(
        this.status,
        this.count === 0 && !answer.more
          ? "There are no hidden rows here."
          : `${counted(this.count, "hidden row")}${answer.more ? " so far" : ""}.`,
      );
      if (answer.more) fill(this.more, h("button", { type: "button", onclick: () => this.load() }, "Look for more"));
    } catch (error) {
      if (error.name !== "AbortError") fill(this.status, h("span", { class: "bad" }, error.message));
    }
  }

  #row(row) {
    const text = (string, attributes = {}) => appendText(h("td", attributes), string ?? "");
    return h(
      "tr",
      {},
      h("td", {}, h("span", { class: `tag state-${row.state}`, title: STATES[row.state]?.[1] }, row.state)),
      text(row.class),
      text(row.key, { class: "mono" }),
      text(row.value, { class: "mono" }),
      h(
        "td",
        { class: "number", title: "The number of the write: later writes have greater ones." },
        numberText(row.sequence),
      ),
      text(row.file, { class: "mono file" }),
      text(row.why),
    );
  }

  outdated() {
    if (this.isOutdated) return;
    this.isOutdated = true;
    this.element.prepend(
      h(
        "p",
        { class: "notice" },
        "The files have changed since. ",
        h(
          "button",
          {
            type: "button",
            onclick: () => {
              this.isOutdated = false;
              this.element.firstChild.remove();
              this.rows.replaceChildren();
              this.after = undefined;
              this.count = 0;
              this.load();
            },
          },
          "Look again",
        ),
      ),
    );
  }

  end() {
    this.stop.abort();
  }
}
