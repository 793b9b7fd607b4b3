// Where a value came from: the row of the database beneath, its envelope, its history, its bytes.
import { ask } from "./api.js";
import { fill, h } from "./dom.js";
import { fromHex, hexView } from "./hex.js";
import { stateTag } from "./hidden.js";
import { showVersion } from "./model.js";
import { explained, fact, plainTable } from "./parts.js";
import { appendText, numberText, sizeText } from "./text.js";

const PIECE = 4096;

export class Provenance {
  constructor(where) {
    this.where = where;
    this.stop = new AbortController();
    this.pieces = new Map();
    this.element = h("div", { class: "provenance" }, h("p", { class: "dim" }, "Loading…"));
    this.#load();
  }

  async #load() {
    try {
      const row = await ask("row", this.where, { signal: this.stop.signal });
      this.#draw(row);
    } catch (error) {
      if (error.name !== "AbortError")
        fill(this.element, h("p", { class: "bad" }, `The row cannot be read: ${error.message}`));
    }
  }

  #draw(row) {
    this.row = row;
    this.pieces.set(0, fromHex(row.hex));
    const view = hexView({
      length: row.size,
      label: "Bytes of the row",
      need: (from, to) => this.#need(from, to),
      read: (offset, count) => {
        const piece = this.pieces.get(Math.floor(offset / PIECE));
        return piece?.subarray(offset % PIECE, (offset % PIECE) + count);
      },
    });
    this.list = view.list;
    fill(
      this.element,
      h(
        "dl",
        { class: "facts" },
        fact(
          "File",
          row.file && appendText(h("bdi", { class: "mono" }), row.file),
          "The file of the store that has this row. Numbers grow with time.",
        ),
        fact(
          "Number of the write",
          row.sequence !== undefined && numberText(row.sequence),
          "Every write to a store has a number (its sequence). A greater one is later.",
        ),
        fact(
          "Version",
          row.version !== undefined && numberText(row.version),
          "Counts how often this record was written: index entries with a smaller version are stale.",
        ),
        fact("Size", sizeText(row.size)),
        fact(
          "Key of the row",
          h(
            "span",
            { class: "mono break" },
            row.rowKeyHex.length > 400 ? `${row.rowKeyHex.slice(0, 400)}…` : row.rowKeyHex,
          ),
          "The key under which the database beneath has this row: ids of database and object store, then the record’s key.",
        ),
      ),
      row.envelope?.length > 0 && [
        h(
          "h3",
          {},
          explained(
            "Envelope",
            "What the browser puts around a value: the versions of its formats, whether it is compressed, and whether it lies in a file of its own.",
          ),
        ),
        h(
          "dl",
          { class: "facts" },
          row.envelope.map(([name, text]) => [appendText(h("dt", {}), name), appendText(h("dd", {}), text)]),
        ),
      ],
      row.history?.length > 0 && [
        h("h3", {}, explained("History", "All versions of this row that the files still have, the latest first.")),
        plainTable(
          ["Number", "State", "File", "Size", "Value"],
          h(
            "tbody",
            {},
            row.history.map((each) =>
              h(
                "tr",
                {},
                h("td", { class: "number" }, numberText(each.sequence)),
                h("td", {}, stateTag(each.state)),
                appendText(h("td", { class: "mono" }), each.file),
                h("td", { class: "number" }, sizeText(each.size)),
                h("td", {}, this.#shower(each)),
              ),
            ),
          ),
        ),
      ],
      h("h3", {}, "Bytes"),
      view.element,
    );
  }

  /** A button that shows another version. */
  #shower({ state, sequence }) {
    if (state === "deletion" || state === "lost") return null;
    if (sequence === this.row.sequence) return "this one";
    const { sequence: _, ...record } = this.where;
    const where = state === "live" ? record : { ...record, sequence };
    return h("button", { type: "button", class: "inline", onclick: () => showVersion(where) }, "Show");
  }

  async #need(from, to) {
    for (let piece = Math.floor(from / PIECE); piece * PIECE < to; piece++) {
      if (this.pieces.has(piece)) continue;
      this.pieces.set(piece, null);
      try {
        const row = await ask("row", { ...this.where, offset: piece * PIECE }, { signal: this.stop.signal });
        this.pieces.set(piece, fromHex(row.hex));
        this.list?.setCount(this.list.count);
      } catch {
        this.pieces.delete(piece);
        return;
      }
    }
  }

  end() {
    this.stop.abort();
  }
}
