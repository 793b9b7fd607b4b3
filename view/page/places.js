// The tree of origins, databases, object stores and indexes. Only the rows that are seen are in the document.
import { append, fill, h, icon } from "./dom.js";
import { showPanel } from "./frame.js";
import { countsOf, events, model, moreObjectStores, openStore } from "./model.js";
import { go, place, changed } from "./route.js";
import {
  appendText,
  countText,
  counted,
  keyPathText,
  nameElement,
  nameLabel,
  nameText,
  numberText,
  plain,
  sizeText,
} from "./text.js";
import { problemCount } from "./troubles.js";
import { VirtualList } from "./virtual.js";

const ROW = 30;

const nodeKey = (node) => [node.kind, node.store, node.database?.id, node.objectStore?.id, node.index?.id].join(" ");

export class Places {
  constructor(root) {
    this.expanded = new Set();
    this.active = 0;
    this.rows = [];
    this.tree = h("div", {});
    this.scroller = h(
      "div",
      {
        class: "tree",
        role: "tree",
        tabindex: "0",
        "aria-label": "Stores, databases and object stores",
        onkeydown: (event) => this.#key(event),
        onclick: (event) => this.#click(event),
        ondblclick: (event) => this.#click(event, true),
      },
      this.tree,
    );
    this.head = h("div", { class: "places-head" });
    fill(root, this.head, this.scroller);
    this.list = new VirtualList({
      scroller: this.scroller,
      body: this.tree,
      rowHeight: ROW,
      row: (index) => this.#row(index),
      pinned: () => this.active,
      ranged: (from, to) => this.#ranged(from, to),
    });
    for (const name of ["stores", "store", "objectStores", "problems"])
      events.addEventListener(name, () => (this.isSought ? this.reveal() : this.rebuild()));
    events.addEventListener("counts", () => this.#redraw());
    changed.addEventListener("place", () => this.reveal());
  }

  /** Opens what leads to the place that is shown. */
  reveal() {
    const now = place();
    if (now.store !== undefined && now.view !== "search") {
      this.expanded.add(`store ${now.store}   `);
      if (now.objectStore !== undefined) this.expanded.add(`database ${now.store} ${now.database}  `);
      if (now.index !== undefined) this.expanded.add(`objectStore ${now.store} ${now.database} ${now.objectStore} `);
    }
    this.rebuild();
    const at = this.rows.findIndex((node) => this.#isCurrent(node));
    // What is not loaded yet is looked for again when more is.
    this.isSought = at < 0 && now.store !== undefined && now.view !== "search";
    if (at >= 0) {
      this.active = at;
      this.list.show(at);
      this.#mark();
    }
  }

  expand(kind, ids) {
    this.expanded.add([kind, ids.store, ids.database, ids.objectStore, undefined].join(" "));
  }

  #isOpen(node) {
    return this.expanded.has(nodeKey(node));
  }

  #isCurrent(node) {
    const now = place();
    if (now.view === "search" || now.store === undefined) return false;
    return (
      node.kind !== "more" &&
      node.store === now.store &&
      node.database?.id === now.database &&
      node.objectStore?.id === now.objectStore &&
      node.index?.id === now.index
    );
  }

  /** Makes the list of rows from what is loaded and what is open. */
  rebuild() {
    const activeKey = this.rows[this.active] && nodeKey(this.rows[this.active]);
    const rows = [];
    const stores = [...model.stores.values()];
    stores.forEach(({ info, opened, failed }, at) => {
      const node = { kind: "store", level: 1, store: info.store, at: at + 1, of: stores.length, hasChildren: true };
      rows.push(node);
      if (!this.#isOpen(node)) return;
      if (!opened) {
        if (!failed) openStore(info.store).catch(() => {});
        rows.push({
          kind: "note",
          level: 2,
          store: info.store,
          at: 1,
          of: 1,
          text: failed ? failed.message : "Opening…",
        });
        return;
      }
      if (opened.databases.length === 0)
        rows.push({ kind: "note", level: 2, store: info.store, at: 1, of: 1, text: "No databases" });
      opened.databases.forEach((database, databaseAt) =>
        this.#database(rows, info.store, database, databaseAt + 1, opened.databases.length),
      );
    });
    this.rows = rows;
    const again = activeKey === undefined ? -1 : rows.findIndex((node) => nodeKey(node) === activeKey);
    this.active = again >= 0 ? again : Math.min(this.active, Math.max(0, rows.length - 1));
    fill(
      this.head,
      h("h2", {}, "Stores"),
      h("span", { class: "dim", title: plain(model.path) }, counted(stores.length, "store")),
    );
    this.list.setCount(rows.length);
    this.#mark();
  }

  #database(rows, store, database, at, of) {
    const node = { kind: "database", level: 2, store, database, at, of, hasChildren: database.count > 0 };
    rows.push(node);
    if (!this.#isOpen(node)) return;
    database.objectStores.forEach((objectStore, storeAt) => {
      const child = {
        kind: "objectStore",
        level: 3,
        store,
        database,
        objectStore,
        at: storeAt + 1,
        of: database.count,
        hasChildren: objectStore.indexes.length > 0,
      };
      rows.push(child);
      if (this.#isOpen(child)) {
        objectStore.indexes.forEach((index, indexAt) => {
          rows.push({
            kind: "index",
            level: 4,
            store,
            database,
            objectStore,
            index,
            at: indexAt + 1,
            of: objectStore.indexes.length,
          });
        });
      }
    });
    if (database.more)
      rows.push({ kind: "more", level: 3, store, database, at: database.objectStores.length + 1, of: database.count });
  }

  #redraw() {
    this.list.setCount(this.rows.length);
    this.#mark();
  }

  #ranged(from, to) {
    for (const node of this.rows.slice(from, to + 20)) {
      if (node.kind === "more") moreObjectStores(node.store, node.database).catch(() => {});
    }
  }

  #mark() {
    if (this.rows.length > 0) this.scroller.setAttribute("aria-activedescendant", `place-${this.active}`);
    for (const [index, element] of this.list.rows) element.classList.toggle("active", index === this.active);
  }

  #row(index) {
    const node = this.rows[index];
    const isCurrent = this.#isCurrent(node);
    const row = h("div", {
      role: "treeitem",
      id: `place-${index}`,
      class: `place level-${node.level} is-${node.kind}${isCurrent ? " current" : ""}${index === this.active ? " active" : ""}`,
      "aria-level": node.level,
      "aria-posinset": node.at,
      "aria-setsize": node.of,
      "aria-selected": String(isCurrent),
      "aria-expanded": node.hasChildren ? String(this.#isOpen(node)) : undefined,
      "data-row": index,
    });
    append(row, [
      h("span", { class: node.hasChildren ? "twist" : "twist none", "aria-hidden": "true" }),
      ...this.#content(node),
    ]);
    return row;
  }

  #content(node) {
    switch (node.kind) {
      case "store":
        return this.#storeContent(node);
      case "database": {
        const { database } = node;
        return [
          icon("database"),
          nameElement(database.name, { class: "place-name" }),
          h(
            "span",
            { class: "place-end" },
            database.version === null &&
              h(
                "span",
                {
                  class: "tag",
                  title:
                    "Pages do not see this database: it has no version, so it is not finished or is being deleted.",
                },
                "unseen",
              ),
            database.feed &&
              h(
                "span",
                { class: "tag", title: "This database has a change feed: what changed in it, and when." },
                "feed",
              ),
            h("span", { class: "count", title: counted(database.count, "object store") }, numberText(database.count)),
          ),
        ];
      }
      case "objectStore": {
        const counts = countsOf(node.store, node.database.id, node.objectStore.id);
        return [
          icon("objectStore"),
          nameElement(node.objectStore.name, { class: "place-name" }),
          h("span", { class: "place-end" }, countElement(counts)),
        ];
      }
      case "index": {
        const counts = countsOf(node.store, node.database.id, node.objectStore.id);
        const number = counts.indexes?.get(node.index.id);
        return [
          icon("index"),
          nameElement(node.index.name, { class: "place-name", title: `Index over ${keyPathText(node.index.keyPath)}` }),
          h(
            "span",
            { class: "place-end" },
            number !== undefined &&
              h("span", { class: "count", title: counted(number, "entry", "entries") }, numberText(number)),
          ),
        ];
      }
      case "more":
        return [h("span", { class: "place-name dim" }, `${counted(node.of - node.at + 1, "object store")} more…`)];
      default:
        return [appendText(h("span", { class: "place-name dim" }), node.text)];
    }
  }

  #storeContent(node) {
    const { info } = model.stores.get(node.store);
    const inside = [info.bucketName ?? info.bucket, info.topLevelSite && `in ${info.topLevelSite}`]
      .filter(Boolean)
      .join(" ");
    const problems = problemCount(node.store);
    return [
      icon("origin"),
      nameElement(info.origin, { class: "place-name", title: plain(info.path) }),
      inside && nameElement(inside, { class: "dim place-inside" }),
      h(
        "span",
        { class: "place-end" },
        problems > 0 &&
          h(
            "span",
            { class: "badge", title: `${counted(problems, "problem")} found in this store` },
            icon("warning"),
            numberText(problems),
            h("span", { class: "hidden-label" }, " problems"),
          ),
        h("span", { class: "count" }, sizeText(info.bytes + info.blobBytes)),
      ),
    ];
  }

  #toggle(index, open) {
    const node = this.rows[index];
    if (!node?.hasChildren) return;
    const key = nodeKey(node);
    if (open ?? !this.expanded.has(key)) this.expanded.add(key);
    else this.expanded.delete(key);
    this.rebuild();
  }

  #open(index) {
    const node = this.rows[index];
    if (!node || node.kind === "note" || node.kind === "more") return;
    if (node.kind === "store" || node.kind === "database") this.expanded.add(nodeKey(node));
    showPanel("middle");
    go({ store: node.store, database: node.database?.id, objectStore: node.objectStore?.id, index: node.index?.id });
  }

  #click(event, isDouble = false) {
    const row = event.target.closest("[data-row]");
    if (!row) return;
    const index = Number(row.dataset.row);
    this.active = index;
    if (isDouble) return;
    const isTwist = event.target.classList.contains("twist") && this.rows[index].hasChildren;
    if (isTwist) this.#toggle(index);
    else this.#open(index);
    this.#mark();
  }

  #move(index) {
    this.active = Math.max(0, Math.min(index, this.rows.length - 1));
    this.list.show(this.active);
    this.#mark();
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const node = this.rows[this.active];
    if (!node) return;
    const page = Math.max(1, Math.floor(this.list.viewHeight / ROW) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves) this.#move(this.active + moves[event.key]);
    else if (event.key === "ArrowRight") {
      if (node.hasChildren && !this.#isOpen(node)) this.#toggle(this.active, true);
      else if (node.hasChildren) this.#move(this.active + 1);
    } else if (event.key === "ArrowLeft") {
      if (node.hasChildren && this.#isOpen(node)) this.#toggle(this.active, false);
      else this.#move(this.rows.findLastIndex((other, at) => at < this.active && other.level < node.level));
    } else if (event.key === "Enter" || (event.key === " " && !this.typed)) this.#open(this.active);
    else if (event.key.length === 1) this.#type(event.key);
    else return;
    event.preventDefault();
  }

  /** Goes to the next row whose name begins with what is typed. */
  #type(character) {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => {
      this.typed = "";
    }, 700);
    this.typed = (this.typed ?? "") + character.toLowerCase();
    const label = (node) => {
      const name =
        node.index?.name ??
        node.objectStore?.name ??
        node.database?.name ??
        (node.kind === "store" ? model.stores.get(node.store).info.origin : "");
      return (nameText(name) || nameLabel(name)).toLowerCase();
    };
    const from = this.typed.length === 1 ? this.active + 1 : this.active;
    for (let step = 0; step < this.rows.length; step++) {
      const at = (from + step) % this.rows.length;
      if (this.rows[at].kind !== "more" && label(this.rows[at]).startsWith(this.typed)) return this.#move(at);
    }
    return undefined;
  }
}

function countElement(counts) {
  if (counts.failed) return h("span", { class: "count", title: plain(counts.failed.message) }, "?");
  if (counts.records === undefined) return h("span", { class: "count dim", title: "being counted" }, "…");
  const title = `${counted(counts.records, "record")}, ${sizeText(counts.bytes ?? 0)}${counts.done ? "" : " so far"}`;
  return h("span", { class: "count", title }, countText(counts.records, counts.done));
}
