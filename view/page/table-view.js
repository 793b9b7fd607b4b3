// An object store or index: its records in a chosen order and range, and what can be done with them.
import { ask, download } from "./api.js";
import { fill, h, newId, refill, say } from "./dom.js";
import { middleHead, tabs } from "./heading.js";
import { HiddenRows } from "./hidden.js";
import { knownCounts, lookUp } from "./model.js";
import { Records } from "./records.js";
import { change, go } from "./route.js";
import { keyPathText, nameLabel } from "./text.js";
import { menu, menuOf } from "./menu.js";

const DIRECTIONS = [
  ["next", "first to last"],
  ["prev", "last to first"],
  ["nextunique", "first to last, each key once"],
  ["prevunique", "last to first, each key once"],
];
const KEY_HELP =
  'A key as JSON: 7, "text", ["a", 1], {"date": "2026-01-31T12:00:00Z"}, {"binary": "00ff"}. What is no JSON is taken as a text.';

/** A day, or a moment of it; a year. */
const DATE = /^\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d.*)?)?)?$/;

/** `>` before a bound of the address means that the key itself is left out. */
const boundOf = (text) =>
  text === undefined ? undefined : { text: text.replace(/^[>=]/, ""), open: text.startsWith(">") };

export class TableView {
  constructor(root, place, found, { showRecord, openRecord }) {
    Object.assign(this, { root, place, found, showRecord, openRecord });
    this.where = { store: place.store, database: place.database, objectStore: place.objectStore };
    const direction = DIRECTIONS.some(([name]) => name === place.direction) ? place.direction : "next";
    this.query = {
      ...this.where,
      index: place.index,
      direction,
      lower: boundOf(place.lower),
      upper: boundOf(place.upper),
      filter: place.filter,
    };
    fill(
      root,
      middleHead(
        place,
        this.#title(),
        tabs(
          place,
          [
            [undefined, "Records"],
            ["hidden", "Hidden rows"],
          ],
          ...this.#menus(),
        ),
      ),
    );
    if (place.view === "hidden") {
      this.hidden = new HiddenRows({ ...this.where, index: place.index });
      root.append(this.hidden.element);
    } else this.#table();
  }

  #title() {
    const { objectStore, index } = this.found;
    const details = index
      ? [
          `Index over ${keyPathText(index.keyPath)}`,
          index.unique && "each key once (unique)",
          index.multiEntry && "an entry for each item of a list (multi-entry)",
        ]
      : [
          objectStore.keyPath === null
            ? "Keys stand beside the values"
            : `Key path: ${keyPathText(objectStore.keyPath)}`,
          objectStore.autoIncrement &&
            `keys are generated${objectStore.nextKey ? `, the next is ${objectStore.nextKey}` : ""}`,
        ];
    return [
      h(
        "h1",
        {},
        h("span", { class: "hidden-label" }, index ? "Index " : "Object store "),
        nameLabel((index ?? objectStore).name),
      ),
      h("p", { class: "dim" }, details.filter(Boolean).join(" · ")),
    ];
  }

  #table() {
    this.records = new Records({
      query: this.query,
      selected: this.place.key,
      select: (row) => {
        this.showRecord(row);
        change({ key: row.primaryKeyHex }, { replace: true });
      },
      open: (row) => {
        change({ key: row.primaryKeyHex });
        this.openRecord(row);
      },
    });
    this.root.append(this.#tools(), this.records.element);
    this.#begin().catch((error) => this.#refused(error));
    this.counted();
  }

  /** At the record of the address, if it is not on the first page. An index may have it anywhere, and more than once. */
  async #begin() {
    const { key, index } = this.place;
    if (!(await this.records.begin())) return;
    if (key !== undefined && index === undefined && this.records.active < 0 && this.records.pages.below)
      await this.records.begin({ hex: key });
  }

  /** Takes what has been counted meanwhile. */
  counted() {
    const { store, database, objectStore, index } = this.place;
    const counts = knownCounts({ store, database, objectStore });
    if (this.records && counts?.done) this.records.inAll = index === undefined ? counts.records : counts.indexes?.get(index);
  }

  #refused(error) {
    if (error.name === "AbortError") return;
    if (error.status === 400 && (this.query.lower || this.query.upper)) this.#checkBounds(error);
    else if (error.status === 400 && this.query.filter) this.#fault(this.filter, error.message);
    else this.records.fault(error);
  }

  /** Which of the two keys the server does not take is found out by asking with each alone. */
  async #checkBounds(error) {
    for (const [field, name] of [
      [this.lower, "lower"],
      [this.upper, "upper"],
    ]) {
      if (!this.query[name]) continue;
      try {
        await ask("records", {
          ...this.where,
          index: this.place.index,
          direction: "next",
          [name]: this.query[name],
          limit: 1,
        });
      } catch (refused) {
        if (refused.status === 400) return this.#fault(field, refused.message);
      }
    }
    return this.#fault(this.lower, error.message);
  }

  #fault(field, text) {
    this.range.open ||= field !== this.filter && field !== this.jump;
    field.setAttribute("aria-invalid", "true");
    const said = document.getElementById(field.getAttribute("aria-describedby"));
    fill(said, text);
    field.focus();
  }

  #field(label, { value, placeholder, help }) {
    const [id, said] = [newId("field"), newId("said")];
    const input = h("input", {
      id,
      type: "text",
      value: value ?? "",
      placeholder,
      autocomplete: "off",
      spellcheck: "false",
      "aria-describedby": said,
      title: help,
    });
    const element = h(
      "div",
      { class: "field" },
      h("label", { for: id }, label),
      input,
      h("p", { class: "field-error", id: said, role: "alert" }),
    );
    input.addEventListener("input", () => {
      input.removeAttribute("aria-invalid");
      fill(document.getElementById(said));
    });
    return { element, input };
  }

  #tools() {
    const jump = this.#field("Jump to key", { placeholder: "a key", help: KEY_HELP });
    const filter = this.#field("Filter", { value: this.place.filter, placeholder: "a text" });
    const lower = this.#field("From", { value: this.query.lower?.text, placeholder: "first key", help: KEY_HELP });
    const upper = this.#field("To", { value: this.query.upper?.text, placeholder: "last key", help: KEY_HELP });
    Object.assign(this, { jump: jump.input, filter: filter.input, lower: lower.input, upper: upper.input });
    const lowerOpen = h("input", { type: "checkbox", checked: this.query.lower?.open });
    const upperOpen = h("input", { type: "checkbox", checked: this.query.upper?.open });
    const bound = (input, open) =>
      input.value.trim() === "" ? undefined : `${open.checked ? ">" : "="}${this.#keyText(input.value)}`;
    this.range = h(
      "details",
      { class: "range", open: Boolean(this.query.lower ?? this.query.upper) },
      h("summary", {}, "Range of keys"),
      h(
        "form",
        {
          class: "tools",
          onsubmit: (event) => {
            event.preventDefault();
            change({ lower: bound(lower.input, lowerOpen), upper: bound(upper.input, upperOpen), key: undefined });
          },
        },
        lower.element,
        h("label", { class: "choice" }, lowerOpen, " without this key"),
        upper.element,
        h("label", { class: "choice" }, upperOpen, " without this key"),
        h("button", { type: "submit" }, "Show range"),
        h(
          "button",
          { type: "button", class: "quiet", onclick: () => change({ lower: undefined, upper: undefined }) },
          "All keys",
        ),
        h("p", { class: "dim field-help" }, KEY_HELP),
      ),
    );
    return h(
      "div",
      { class: "toolbar" },
      h(
        "div",
        { class: "tools" },
        this.#orders(),
        h(
          "form",
          {
            onsubmit: (event) => {
              event.preventDefault();
              this.#jump();
            },
          },
          jump.element,
          h("button", { type: "submit", class: "hidden-label", tabindex: "-1" }, "Jump"),
        ),
        h(
          "form",
          {
            onsubmit: (event) => {
              event.preventDefault();
              change({ filter: filter.input.value || undefined, key: undefined });
            },
          },
          filter.element,
          h("button", { type: "submit", class: "hidden-label", tabindex: "-1" }, "Filter"),
        ),
      ),
      this.range,
    );
  }

  #menus() {
    if (this.place.view === "hidden") return [];
    return [
      menu("Columns", () => this.records.columns.chooser(), { class: "menu-button quiet" }),
      menuOf("Export", this.#exports(), { class: "menu-button quiet" }),
    ];
  }

  #orders() {
    const [by, direction] = [newId("by"), newId("direction")];
    const { objectStore } = this.found;
    return [
      h(
        "div",
        { class: "field" },
        h("label", { for: by }, "Order by"),
        h(
          "select",
          {
            id: by,
            onchange: (event) =>
              go({
                ...this.where,
                index: event.target.value === "" ? undefined : Number(event.target.value),
                direction: this.place.direction,
                filter: this.place.filter,
              }),
          },
          h("option", { value: "" }, "primary key"),
          objectStore.indexes.map((index) =>
            h("option", { value: index.id, selected: index.id === this.place.index }, `index ${nameLabel(index.name)}`),
          ),
        ),
      ),
      h(
        "div",
        { class: "field" },
        h("label", { for: direction }, "Direction"),
        h(
          "select",
          {
            id: direction,
            onchange: (event) => change({ direction: event.target.value === "next" ? undefined : event.target.value }),
          },
          DIRECTIONS.map(([name, label]) =>
            h("option", { value: name, selected: name === this.query.direction }, label),
          ),
        ),
      ),
    ];
  }

  /** A key as it was typed; where the keys are dates, a date by itself is one. */
  #keyText(typed) {
    const text = typed.trim();
    const first = this.records.pages?.row(0);
    const key = this.place.index === undefined ? first?.primaryKey : first?.key;
    const isDate = key?.t === "date" && DATE.test(text);
    return isDate ? JSON.stringify({ date: text + "-01-01".slice(0, Math.max(0, 10 - text.length)) }) : text;
  }

  async #jump() {
    const text = this.#keyText(this.jump.value);
    if (text === "") return;
    try {
      this.records.selected = undefined;
      if (!(await this.records.begin({ key: text }))) return;
      if (this.records.pages.count === 0) say("There is no record from this key on.");
      else this.records.focus();
    } catch (error) {
      this.#fault(this.jump, error.message);
    }
  }

  #exports() {
    const { lower, upper, direction, index, filter } = this.query;
    const save = (what) => () => download(what).catch((error) => this.records.fault(error));
    return [
      ["Records of this table, as JSON Lines", save({ what: "jsonl", ...this.where, index, direction, lower, upper, filter })],
      "In this order and range, and what the filter leaves.",
      ["This object store, as an archive", save({ what: "archive", ...this.where })],
      "An archive loses nothing, has the blobs in it, and can be imported again.",
    ];
  }

  /** Follows the way back and forward to a record. */
  lookAt(key) {
    this.records?.lookAt(key);
  }

  renew() {
    this.found = lookUp(this.place);
    if (this.found.objectStore) refill(this.root.querySelector(".title-line"), this.#title());
    this.records?.renew();
    this.hidden?.renew();
  }

  end() {
    this.records?.end();
    this.hidden?.end();
  }
}
