// The records of an object store or index as a table.
import { append, fill, h, isNarrow, newId, say } from "./dom.js";
import { Columns } from "./columns.js";
import { keyElement } from "./keys.js";
import { Pages, identity, positionOf } from "./pages.js";
import { failed, textList } from "./parts.js";
import { appendText, counted, nameText, numberText, plain, sizeText } from "./text.js";
import { typeName } from "./types.js";
import { VirtualList } from "./virtual.js";

const ROW = 30;
const HEAD = 32;
// How long a row is marked that is new or has changed.
const MARKED_MS = 6000;

export class Records {
  /** `query` as `records` takes it; `select(row)` hears which record is looked at, `open(row)` that it was chosen; `selected`: the primary key of the record to begin with. */
  constructor({ query, select, open, selected }) {
    this.query = query;
    this.select = select;
    this.open = open;
    this.selected = { primaryKey: selected };
    this.active = -1;
    this.marks = new Map();
    this.id = newId("records");
    this.columns = new Columns(query.index !== undefined, (what) => this.#columnsChanged(what));
    this.head = h("div", { class: "grid-row grid-head", role: "row", "aria-rowindex": 1 });
    this.body = h("div", { class: "grid-body", role: "rowgroup" });
    this.grid = h(
      "div",
      {
        class: "grid",
        role: "grid",
        tabindex: "0",
        "aria-label": "Records",
        "aria-rowcount": -1,
        onkeydown: (event) => this.#key(event),
        onclick: (event) => this.#click(event),
        ondblclick: () => this.#openActive(),
      },
      h("div", { role: "rowgroup", class: "grid-head-group" }, this.head),
      this.body,
    );
    this.notes = h("div", { class: "grid-notes", role: "status" });
    // What passes is said where it moves no row.
    this.passing = h("p", { class: "passing", role: "status" });
    this.summary = h("div", { class: "summary" });
    this.foot = h("div", { class: "grid-foot" }, this.summary, this.passing);
    this.element = h("div", { class: "records" }, this.notes, this.grid, this.foot);
    this.list = new VirtualList({
      scroller: this.grid,
      body: this.body,
      rowHeight: ROW,
      inset: HEAD,
      row: (index) => this.#row(index),
      pinned: () => this.active,
      ranged: (from, to) => this.pages?.need(from, to),
    });
    this.#columnsChanged("columns");
  }

  /** Loads the first page: at the beginning, at the `end`, or at a key. Refused keys are thrown; false where another beginning came before its end. */
  async begin(where = {}) {
    this.coming?.end();
    const pages = new Pages(this.query);
    this.coming = pages;
    this.body.setAttribute("aria-busy", "true");
    fill(this.passing, "Loading…");
    try {
      await pages.begin(where);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    } finally {
      if (this.coming === pages) {
        this.coming = undefined;
        this.body.removeAttribute("aria-busy");
        fill(this.passing);
        this.#note();
      }
    }
    if (pages.stop.signal.aborted) return false;
    this.pages?.end();
    this.pages = pages;
    pages.addEventListener("change", ({ detail }) => this.#pagesChanged(detail));
    pages.addEventListener("problem", ({ detail }) =>
      this.#note(
        h("span", { class: "bad" }, `The next records could not be loaded: ${detail.message} `),
        h(
          "button",
          {
            type: "button",
            onclick: () => {
              this.#note();
              this.list.draw();
            },
          },
          "Try again",
        ),
      ),
    );
    this.active = this.#indexOfSelected();
    this.#pagesChanged({ added: 0 });
    this.list.scrollTo(where.at === "end" ? Infinity : 0);
    if (this.active < 0 && pages.count > 0 && (where.key !== undefined || where.at))
      this.#activate(where.at === "end" ? pages.count - 1 : 0);
    if (where.key !== undefined) this.#noteOther(where.key);
    if (this.active >= 0) this.list.show(this.active);
    return true;
  }

  /** Says so where the first record has another key than the one that was asked for. */
  #noteOther(text) {
    const first = this.pages.row(0);
    const key = first && (this.query.index === undefined ? first.primaryKeyHex : first.keyHex);
    if (key === undefined || key === this.pages.asked) return;
    const words = `There is no ${text} here: this is the next key.`;
    this.#note(h("span", {}, appendText(h("bdi"), words)));
    say(words);
  }

  /** The index of the row that is looked at, if it is loaded. An address has only its primary key, which an index may have more than once. */
  #indexOfSelected() {
    const { primaryKey, key } = this.selected ?? {};
    return this.pages.findIndex((row) => row.primaryKeyHex === primaryKey && (key === undefined || row.keyHex === key));
  }

  #pagesChanged({ added }) {
    if (this.columns.see(this.pages.loaded)) this.#columnsChanged("columns");
    if (added > 0 && this.active >= 0) this.active += added;
    const top = this.list.top + added * ROW;
    this.#counted();
    this.list.setCount(this.pages.count);
    if (added > 0) this.list.scrollTo(top);
    this.#mark();
  }

  /** How many there are in all, when that has been counted. */
  set inAll(total) {
    this.total = total;
    if (this.pages) this.#counted();
  }

  #counted() {
    const { pages } = this;
    const isWhole = !pages.above && !pages.below;
    this.grid.setAttribute("aria-rowcount", isWhole ? pages.count + 1 : -1);
    const isNarrowed = this.query.filter || this.query.lower || this.query.upper;
    const said = !isWhole
      ? `${counted(pages.count, "record")} loaded, more ${pages.below ? "below" : "above"}`
      : pages.count > 0
        ? counted(pages.count, "record")
        : isNarrowed
          ? "No record fits the range and the filter."
          : "There are no records here.";
    fill(
      this.summary,
      h("span", {}, said),
      !isWhole && !isNarrowed && this.total !== undefined && h("span", {}, `${numberText(this.total)} in all`),
      pages.problems.length > 0 &&
        h(
          "details",
          { class: "withheld" },
          h("summary", {}, `${counted(pages.problems.length, "problem")} with these records`),
          textList(pages.problems),
        ),
    );
  }

  #note(...content) {
    fill(this.notes, ...content);
  }

  /** Says above the rows what has failed. */
  fault(error) {
    failed(this.notes, error);
  }

  #columnsChanged(what) {
    this.element.style.setProperty("--columns", this.columns.template);
    this.element.style.setProperty("--columns-width", `${this.columns.width}px`);
    if (what === "width") return;
    fill(this.head, ...this.columns.header());
    this.grid.setAttribute("aria-colcount", this.columns.shown.length);
    if (this.pages) {
      this.list.setCount(this.pages.count);
      this.#mark();
    }
  }

  #row(index) {
    const row = this.pages?.row(index);
    const element = h("div", {
      class: "grid-row",
      role: "row",
      id: `${this.id}-${index}`,
      "aria-rowindex": index + 2,
      "data-row": index,
    });
    const { shown } = this.columns;
    if (!row) {
      element.append(h("div", { class: "cell dim", role: "gridcell", "aria-colspan": shown.length }, "Loading…"));
      return element;
    }
    const mark = this.marks.get(identity(row));
    if (mark) element.classList.add("marked", `marked-${mark}`);
    if (row.problem) element.classList.add("unreadable");
    element.setAttribute("aria-selected", String(index === this.active));
    if (index === this.active) element.classList.add("active");
    const cells = new Map((row.value?.cells ?? []).map(([name, cell]) => [nameText(name), cell]));
    append(
      element,
      shown.map((column) => this.#cell(row, column, cells)),
    );
    return element;
  }

  #cell(row, column, cells) {
    const cell = h("div", { class: `cell cell-${column.kind}`, role: "gridcell" });
    switch (column.kind) {
      case "key":
        append(cell, [keyElement(row.key)]);
        break;
      case "primaryKey": {
        const mark = this.marks.get(identity(row));
        append(cell, [keyElement(row.primaryKey), mark && h("span", { class: "mark-word" }, mark)]);
        break;
      }
      case "type":
        append(cell, [
          row.problem
            ? h("span", { class: "bad", title: plain(row.problem) }, "unreadable")
            : h("span", { class: "type" }, typeName(row.value.t)),
        ]);
        break;
      case "size":
        append(cell, [sizeText(row.size)]);
        break;
      case "value":
        appendText(cell, row.problem ?? row.value.text);
        break;
      default: {
        const found = cells.get(column.text);
        if (found) {
          cell.classList.add(`value-${found.t}`);
          appendText(cell, found.text);
        } else if (row.problem && column === this.columns.shown.find(({ kind }) => kind === "property")) {
          cell.classList.add("bad");
          appendText(cell, row.problem);
        }
      }
    }
    return cell;
  }

  #mark() {
    if (this.active >= 0 && this.list.rows.has(this.active))
      this.grid.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
    else this.grid.removeAttribute("aria-activedescendant");
    for (const [index, element] of this.list.rows) {
      element.classList.toggle("active", index === this.active);
      if (element.hasAttribute("aria-selected")) element.setAttribute("aria-selected", String(index === this.active));
    }
  }

  #activate(index, { quietly = false } = {}) {
    const { count } = this.pages;
    if (count === 0) return;
    this.active = Math.max(0, Math.min(index, count - 1));
    this.list.show(this.active);
    this.#mark();
    const row = this.pages.row(this.active);
    if (!row) return;
    this.selected = positionOf(row);
    if (!quietly) this.select(row);
  }

  /** Marks a record that is loaded; one that is not leaves the table as it is. */
  lookAt(primaryKey) {
    this.selected = { primaryKey };
    if (!this.pages) return;
    this.active = this.#indexOfSelected();
    if (this.active >= 0) this.list.show(this.active);
    this.list.draw();
    this.#mark();
  }

  #openActive() {
    const row = this.active >= 0 && this.pages.row(this.active);
    if (row) this.open(row);
  }

  #click(event) {
    const element = event.target.closest("[data-row]");
    if (!element) return;
    // Where the record takes the place of the table, it is a step of its own, and the way back leads to the table.
    const quietly = isNarrow();
    this.#activate(Number(element.dataset.row), { quietly });
    if (quietly) this.#openActive();
  }

  #key(event) {
    if (!this.pages || event.altKey || event.metaKey || event.target !== this.grid) return;
    const page = Math.max(1, Math.floor(this.list.viewHeight / ROW) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.key in moves) this.#activate(this.active < 0 ? 0 : this.active + moves[event.key]);
    else if (event.key === "Home") this.#toEnd("begin");
    else if (event.key === "End") this.#toEnd("end");
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight")
      this.grid.scrollBy({ left: event.key === "ArrowLeft" ? -80 : 80 });
    else if (event.key === "Enter") this.#openActive();
    else return;
    event.preventDefault();
  }

  /** The first and the last record are asked for by key, not by passing all others. */
  #toEnd(which) {
    const isLoaded = which === "end" ? !this.pages.below : !this.pages.above;
    if (isLoaded) this.#activate(which === "end" ? this.pages.count - 1 : 0);
    else {
      this.selected = undefined;
      this.begin({ at: which }).catch((error) => this.fault(error));
    }
  }

  /** Asks again for what is seen, after the files have changed. Scroll position and selection stay; what is new or changed is marked. */
  async renew() {
    if (!this.pages || this.renewing) return;
    this.renewing = true;
    try {
      const { from, to } = this.list.seen;
      const anchor = this.pages.row(from);
      const offset = this.list.top - from * ROW;
      const { marks, gone } = await this.pages.renew(from, to);
      for (const [name, mark] of marks) this.marks.set(name, mark);
      if (this.columns.see(this.pages.loaded)) this.#columnsChanged("columns");
      const selected = this.#indexOfSelected();
      this.active = selected >= 0 ? selected : Math.min(this.active, this.pages.count - 1);
      this.#counted();
      this.list.setCount(this.pages.count);
      const again =
        anchor && offset + from > 0 ? this.pages.findIndex((row) => identity(row) === identity(anchor)) : -1;
      if (again >= 0) this.list.scrollTo(again * ROW + offset);
      this.#mark();
      this.#sayChanges(marks, gone);
    } catch (error) {
      if (error.name !== "AbortError")
        this.#note(h("span", { class: "bad" }, `The records could not be loaded again: ${error.message}`));
    } finally {
      this.renewing = false;
    }
  }

  #sayChanges(marks, gone) {
    const values = [...marks.values()];
    const news = values.filter((mark) => mark === "new").length;
    const parts = [];
    if (values.length > news) parts.push(`${counted(values.length - news, "record")} changed`);
    if (news > 0) parts.push(`${counted(news, "record")} new`);
    if (gone > 0) parts.push(`${counted(gone, "record")} gone`);
    if (parts.length === 0) return;
    say(`${parts.join(", ")}.`);
    fill(this.passing, h("b", { class: "changes" }, `${parts.join(", ")}.`));
    setTimeout(() => {
      for (const name of marks.keys()) this.marks.delete(name);
      fill(this.passing);
      if (this.pages) {
        this.list.setCount(this.pages.count);
        this.#mark();
      }
    }, MARKED_MS);
  }

  focus() {
    this.grid.focus();
  }

  end() {
    this.coming?.end();
    this.pages?.end();
    this.list.end();
  }
}
