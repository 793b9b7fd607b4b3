// The columns of a table of records: key, type, size, and the top-level properties of the rows that have been seen.
import { h } from "./dom.js";
import { nameElement, nameLabel, nameText } from "./text.js";

const SHOWN_AT_FIRST = 8;
// A property is shown at first if so great a part of the rows has it.
const SHARE_SHOWN = 0.2;
const NAMES_MAX = 200;
const WIDTH = { key: 150, primaryKey: 130, type: 92, size: 84, value: 420, property: 140 };
const WIDTH_MIN = 56;

export class Columns {
  /** `hasIndex`: whether index keys stand before primary keys. `changed` is called when other columns are shown, or in another width. */
  constructor(hasIndex, changed) {
    this.changed = changed;
    this.fixed = [
      ...(hasIndex
        ? [
            { kind: "key", label: "Index key" },
            { kind: "primaryKey", label: "Primary key" },
          ]
        : [{ kind: "primaryKey", label: "Key" }]),
      { kind: "type", label: "Type" },
    ];
    if (!hasIndex) this.fixed[0].width = WIDTH.key;
    this.properties = new Map();
    this.value = { kind: "value", label: "Value", shown: true };
    this.size = { kind: "size", label: "Size" };
    for (const column of [...this.fixed, this.value, this.size]) {
      column.width ??= WIDTH[column.kind];
      column.shown ??= true;
    }
    this.hasOthers = false;
  }

  /** Notes the properties of rows; true if a column has come. Those that many rows have are shown, the first of them. */
  see(rows) {
    const counts = new Map();
    const names = new Map();
    for (const row of rows) {
      for (const [name] of row.value?.cells ?? []) {
        const text = nameText(name);
        names.set(text, name);
        counts.set(text, (counts.get(text) ?? 0) + 1);
      }
    }
    let isNew = false;
    let shown = [...this.properties.values()].filter((column) => column.shown).length;
    for (const [text, name] of names) {
      if (this.properties.has(text)) continue;
      if (this.properties.size >= NAMES_MAX) {
        this.hasOthers = true;
        continue;
      }
      const isShown = shown < SHOWN_AT_FIRST && counts.get(text) >= rows.length * SHARE_SHOWN;
      if (isShown) shown++;
      this.properties.set(text, {
        kind: "property",
        name,
        text,
        label: nameLabel(name),
        width: WIDTH.property,
        shown: isShown,
      });
      isNew = true;
    }
    if (isNew && !this.value.chosen) this.value.shown = shown === 0;
    return isNew;
  }

  get all() {
    return [...this.fixed, ...this.properties.values(), this.value, this.size];
  }
  get shown() {
    return this.all.filter((column) => column.shown);
  }

  /** The widths, as a grid has them. The last one but size takes the room that is left. */
  get template() {
    const { shown } = this;
    const last = shown.findLastIndex((column) => column.kind !== "size");
    return shown.map(({ width }, at) => (at === last ? `minmax(${width}px, 1fr)` : `${width}px`)).join(" ");
  }

  get width() {
    return this.shown.reduce((sum, { width }) => sum + width, 0);
  }

  /** The cells of the header, with handles to make columns wider. */
  header() {
    return this.shown.map((column, at) =>
      h(
        "div",
        { class: `cell head-cell cell-${column.kind}`, role: "columnheader", "aria-colindex": at + 1 },
        column.kind === "property" ? nameElement(column.name) : h("span", {}, column.label),
        h("span", {
          class: "column-handle",
          "aria-hidden": "true",
          onpointerdown: (event) => this.#drag(event, column),
        }),
      ),
    );
  }

  #drag(event, column) {
    event.preventDefault();
    const handle = event.currentTarget;
    const [from, before] = [event.clientX, handle.parentElement.getBoundingClientRect().width];
    handle.setPointerCapture(event.pointerId);
    handle.onpointermove = (move) => {
      column.width = Math.max(WIDTH_MIN, Math.round(before + move.clientX - from));
      this.changed("width");
    };
    handle.onpointerup = () => {
      handle.onpointermove = null;
    };
  }

  /** A list of boxes to choose columns by. */
  chooser() {
    const box = (column) =>
      h(
        "label",
        { class: "choice" },
        h("input", {
          type: "checkbox",
          checked: column.shown,
          onchange: (event) => {
            column.shown = event.target.checked;
            column.chosen = true;
            this.changed("columns");
          },
        }),
        " ",
        column.kind === "property" ? nameElement(column.name) : column.label,
      );
    return h(
      "div",
      { class: "choices" },
      this.all.map(box),
      this.hasOthers && h("p", { class: "dim" }, `Only the first ${NAMES_MAX} names of properties can be chosen.`),
    );
  }
}
