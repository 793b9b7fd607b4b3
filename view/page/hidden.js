// Rows that a page does not see: what is left of earlier writes, and why each is not shown.
import { h } from "./dom.js";
import { MoreList } from "./more-list.js";
import { explained, plainTable } from "./parts.js";
import { appendText, counted, numberText } from "./text.js";

/** What the states of rows mean, in plain words. */
export const STATES = {
  stale:
    "An entry of an index whose record has changed since it was written. A page skips it. The browser removes it later.",
  overwritten:
    "An earlier version of a row: a newer one with the same key is in the store, and the old bytes have not been cleaned up yet.",
  deletion: "A note that a row was deleted. Earlier versions of the row may still be there.",
  undo: "What the browser has noted to take back a transaction that may not end. If the browser was killed in the middle, it puts these rows back.",
};

/** The state of a row, with what it means. */
export const stateTag = (state) => appendText(h("span", { class: `tag state-${state}`, title: STATES[state] }), state);

export class HiddenRows {
  constructor(where) {
    this.rows = h("tbody");
    this.notice = h("div");
    this.list = new MoreList("hidden", where, {
      take: ({ rows, after }) => {
        this.rows.append(...rows.map((row) => this.#row(row)));
        return { count: rows.length, after };
      },
      say: (count, more) =>
        count === 0 && !more
          ? "There are no hidden rows here."
          : `${counted(count, "hidden row")}${more ? " so far" : ""}.`,
      next: "Look for more",
    });
    this.element = h(
      "div",
      { class: "scrolled hidden-rows", tabindex: "0", role: "region", "aria-label": "Hidden rows" },
      this.notice,
      h(
        "p",
        { class: "lead" },
        "Rows that the files still have, and that a page does not see. Lost data may be among them.",
      ),
      h(
        "div",
        { class: "legend" },
        Object.entries(STATES).map(([word, help]) => explained(word, help)),
      ),
      plainTable(["State", "What", "Key", "Value", "Number", "File", "Why it is hidden"], this.rows),
      this.list.status,
      this.list.more,
    );
  }

  #row(row) {
    const text = (string, attributes = {}) => appendText(h("td", attributes), string ?? "");
    return h(
      "tr",
      {},
      h("td", {}, stateTag(row.state)),
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

  /** Says that the files have changed. What is listed stays until it is asked for again. */
  renew() {
    if (this.notice.firstChild) return;
    const again = () => {
      this.notice.replaceChildren();
      this.rows.replaceChildren();
      this.list.begin();
    };
    this.notice.append(
      h(
        "p",
        { class: "notice" },
        "The files have changed since. ",
        h("button", { type: "button", onclick: again }, "Look again"),
      ),
    );
  }

  end() {
    this.list.end();
  }
}
