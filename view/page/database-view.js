// What is said of a database: its object stores, and its change feed if it has one.
import { fill, h, refill } from "./dom.js";
import { Feed } from "./feed.js";
import { follow, middleHead, tabs } from "./heading.js";
import { countsOf, lookUp } from "./model.js";
import { archiveButton, plainTable } from "./parts.js";
import { address } from "./route.js";
import { countText, counted, keyPathText, nameElement, nameLabel, numberText, sizeText } from "./text.js";

const ROWS_MAX = 200;

export class DatabaseView {
  constructor(root, place) {
    this.place = place;
    const { database } = this;
    const views = [[undefined, "Object stores"], ...(database.feed ? [["feed", "Changes"]] : [])];
    fill(root, middleHead(place, this.#title(), views.length > 1 && tabs(place, views)));
    if (place.view === "feed" && database.feed) {
      this.feed = new Feed({ store: place.store, database: database.id });
      root.append(this.feed.element);
    } else {
      this.list = h("div", {
        class: "scrolled overview",
        tabindex: "0",
        role: "region",
        "aria-label": "Object stores",
      });
      root.append(this.list);
      this.#objectStores();
    }
  }

  /** As it was opened last. */
  get database() {
    return lookUp(this.place).database;
  }

  #title() {
    const { name, version, count, origin } = this.database;
    const details = [
      version === null ? "without a version: pages do not see it" : `Version ${version}`,
      counted(count, "object store"),
      origin && `of ${origin}`,
    ];
    return [
      h("h1", {}, h("span", { class: "hidden-label" }, "Database "), nameLabel(name)),
      h("p", { class: "dim" }, details.filter(Boolean).join(" · ")),
    ];
  }

  #objectStores() {
    const { objectStores, count } = this.database;
    const shown = objectStores.slice(0, ROWS_MAX);
    refill(
      this.list,
      plainTable(
        ["Object store", "Key path", "Indexes", "Records", "Size"],
        h(
          "tbody",
          {},
          shown.map((objectStore) => this.#row(objectStore)),
        ),
        ["Indexes", "Records", "Size"],
      ),
      count > shown.length &&
        h(
          "p",
          { class: "dim" },
          `These are the first ${numberText(shown.length)} of ${numberText(count)}. The list of stores has all of them; typing there goes to a name.`,
        ),
      archiveButton("Save this database as an archive", { store: this.place.store, database: this.place.database }),
    );
  }

  #row(objectStore) {
    const to = { store: this.place.store, database: this.place.database, objectStore: objectStore.id };
    const { records, bytes, done } = countsOf(to.store, to.database, to.objectStore);
    return h(
      "tr",
      {},
      h("td", {}, h("a", { href: address(to), onclick: follow(to) }, nameElement(objectStore.name))),
      h("td", {}, keyPathText(objectStore.keyPath)),
      h("td", { class: "number" }, String(objectStore.indexes.length)),
      h("td", { class: "number" }, records === undefined ? "…" : countText(records, done)),
      h("td", { class: "number" }, bytes === undefined ? "…" : sizeText(bytes)),
    );
  }

  /** More is known of how many records there are. */
  counted() {
    if (this.list && this.database) this.#objectStores();
  }

  renew() {
    this.feed?.renew();
    this.counted();
  }
  end() {
    this.feed?.end();
  }
}
