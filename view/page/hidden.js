// Rows that a page does not see: what is left of earlier writes, and why each is not shown.
import { h, newId } from "./dom.js";
import { showVersion } from "./model.js";
import { MoreList } from "./more-list.js";
import { explained, plainTable } from "./parts.js";
import { appendText, counted, numberText } from "./text.js";

/** What the states of rows mean, in plain words. */
export const STATES = {
  stale:
    "An entry of an index whose record has changed since it was written. A page skips it. The browser removes it later.",
  overwritten:
    "An earlier version of a row: a newer one with the same key is in the store, and the old bytes have not been cleaned up yet.",
  deleted: "The row was deleted, and its bytes have not been cleaned up yet.",
  deletion: "A note that a row was deleted. Earlier versions of the row may still be there.",
  undone: "It was written in a transaction that had not ended when the browser did. The browser takes such transactions back.",
  undo: "What the browser has noted to take back a transaction that may not end. If the browser was killed in the middle, it puts these rows back.",
};

/** What sorts of rows are, where their name alone does not say it. */
const CLASSES = {
  data: "record",
  exists: "version of a record",
  "external objects": "blobs of a record",
  "index data": "entry of an index",
};

/** The state of a row, with what it means. */
export const stateTag = (state) => appendText(h("span", { class: `tag state-${state}`, title: STATES[state] }), state);

export class HiddenRows {
  constructor(where) {
    this.rows = h("tbody");
    this.notice = h("div");
    this.list = new MoreList("hidden", { ...where, records: true }, {
      take: ({ rows, after }) => {
        this.rows.append(...rows.map((row) => this.#row(row)));
        return { count: rows.length, after };
      },
      say: (count, more) => {
        const what = this.list.where.records ? "earlier record" : "hidden row";
        return count === 0 && !more ? `There are no ${what}s here.` : `${counted(count, what)}${more ? " so far" : ""}.`;
      },
      next: "Look for more",
    });
    this.element = h(
      "div",
      { class: "scrolled hidden-rows", tabindex: "0", role: "region", "aria-label": "Hidden rows" },
      this.notice,
      h(
        "p",
        { class: "lead" },
        "What the files still have, and a page does not see: records as they were before they were overwritten or deleted. Choose a key to see all of one. They are there only until the browser cleans up: copy what you need.",
      ),
      this.#chooser(),
      h(
        "div",
        { class: "legend" },
        Object.entries(STATES).map(([word, help]) => explained(word, help)),
      ),
      plainTable(["State", "Where", "Key", "Value", "Number", "File", "Why it is hidden"], this.rows),
      this.list.status,
      this.list.more,
    );
  }

  /** Records, or all. */
  #chooser() {
    const id = newId("hidden");
    return h(
      "div",
      { class: "tools" },
      h(
        "div",
        { class: "field" },
        h("label", { for: id }, "Show"),
        h(
          "select",
          {
            id,
            onchange: (event) => {
              this.list.where = { ...this.list.where, records: event.target.value === "records" };
              this.#again();
            },
          },
          h("option", { value: "records" }, "records that were deleted or overwritten"),
          h("option", { value: "all" }, "all hidden rows"),
        ),
      ),
    );
  }

  /** A record's key opens it. */
  #key({ key, record, sequence }) {
    const cell = h("td", { class: "mono" });
    if (!record) return appendText(cell, key);
    const { value, ...where } = record;
    const open = () => showVersion({ ...where, sequence });
    cell.append(appendText(h("button", { type: "button", class: "inline", onclick: open }), key));
    return cell;
  }

  #again() {
    this.notice.replaceChildren();
    this.rows.replaceChildren();
    this.list.begin();
  }

  #row(row) {
    const text = (string, attributes = {}) => appendText(h("td", attributes), string ?? "");
    return h(
      "tr",
      {},
      h("td", {}, stateTag(row.state)),
      appendText(h("td", {}), `${CLASSES[row.class] ?? row.class}, ${row.place}`),
      this.#key(row),
      text(row.record?.value?.text ?? row.value, { class: "mono" }),
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
    this.notice.append(
      h(
        "p",
        { class: "notice" },
        "The files have changed since. ",
        h("button", { type: "button", onclick: () => this.#again() }, "Look again"),
      ),
    );
  }

  end() {
    this.list.end();
  }
}
