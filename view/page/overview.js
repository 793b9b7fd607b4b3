// What is said of all stores, of one store, and of a database.
import { download } from "./api.js";
import { append, fill, h, icon } from "./dom.js";
import { Feed } from "./feed.js";
import { backButton, crumbs, explained, follow, tabs } from "./heading.js";
import { HiddenRows } from "./hidden.js";
import { countsOf, model } from "./model.js";
import { Check } from "./check.js";
import { address } from "./route.js";
import { openingProblems } from "./troubles.js";
import { appendText, counted, keyPathText, nameElement, nameLabel, numberText, sizeText } from "./text.js";

const ROWS_MAX = 200;

const fact = (name, value, help) =>
  value === undefined || value === null || value === ""
    ? null
    : [h("dt", {}, help ? explained(name, help) : name), h("dd", {}, value)];

/** All stores: where the page begins. */
export class StoresView {
  constructor(root) {
    const stores = [...model.stores.values()];
    fill(
      root,
      h(
        "div",
        { class: "scrolled overview", tabindex: "0", role: "region", "aria-label": "All stores" },
        backButton("places", "Stores"),
        h(
          "div",
          { class: "title-line" },
          h("h1", {}, stores.length === 0 ? "No stores were found" : counted(stores.length, "store")),
          appendText(h("p", { class: "dim mono break" }), model.path),
        ),
        h(
          "p",
          { class: "lead" },
          "A store has the databases that one website or app has kept in the browser. Choose one, or search in all of them with the field above.",
        ),
        h(
          "ul",
          { class: "cards" },
          stores.map(({ info }) => h("li", {}, card(info))),
        ),
        model.notes.length > 0 &&
          h(
            "section",
            { class: "notes" },
            h("h2", {}, "Notes"),
            h(
              "ul",
              {},
              model.notes.map((note) => appendText(h("li", {}), note)),
            ),
          ),
      ),
    );
  }

  renew() {}
  end() {}
}

function card(info) {
  const to = { store: info.store };
  return h(
    "a",
    { class: "card", href: address(to), onclick: follow(to) },
    icon("origin"),
    nameElement(info.origin, { class: "card-title" }),
    (info.bucketName ?? info.bucket) &&
      h("span", { class: "tag" }, "bucket ", nameElement(info.bucketName ?? info.bucket)),
    info.topLevelSite && h("span", { class: "tag" }, "in ", nameElement(info.topLevelSite)),
    h(
      "span",
      { class: "dim card-size" },
      `${sizeText(info.bytes)} in ${info.form}`,
      info.blobFiles > 0 ? `, ${counted(info.blobFiles, "file")} of blobs with ${sizeText(info.blobBytes)}` : "",
    ),
  );
}

/** One store: what it is, its databases, what is wrong with it, what it hides. */
export class StoreView {
  constructor(root, place) {
    this.place = place;
    const { info, opened } = model.stores.get(place.store);
    fill(
      root,
      h(
        "div",
        { class: "middle-head" },
        backButton("places", "Stores"),
        crumbs(place),
        h(
          "div",
          { class: "title-line" },
          h("h1", {}, nameElement(info.origin)),
          appendText(h("p", { class: "dim mono break" }), info.path),
        ),
        tabs(place, [
          [undefined, "Overview"],
          ["problems", "Problems"],
          ["hidden", "Hidden rows"],
        ]),
      ),
    );
    if (place.view === "problems") this.part = new Check(place.store);
    else if (place.view === "hidden") this.part = new HiddenRows({ store: place.store });
    else this.part = { element: this.#overview(info, opened), end() {} };
    root.append(this.part.element);
  }

  #overview(info, opened) {
    const problems = openingProblems(this.place.store);
    const exporting = h("p", { role: "status" });
    return h(
      "div",
      { class: "scrolled overview", tabindex: "0", role: "region", "aria-label": "Overview of this store" },
      opened.inUse &&
        h(
          "p",
          { class: "notice" },
          "In use: ",
          appendText(h("bdi"), opened.inUse),
          ". What it writes is shown here by itself.",
        ),
      opened.notes.map((note) => appendText(h("p", { class: "notice" }), note)),
      problems.length > 0 &&
        h(
          "section",
          { class: "notice bad-notice" },
          h("h2", {}, icon("warning"), "Something is wrong with this store"),
          h(
            "ul",
            {},
            problems.map((problem) => appendText(h("li", {}), problem)),
          ),
          h("p", {}, "Everything that does not depend on it is shown. The tab “Problems” checks the store."),
        ),
      h(
        "dl",
        { class: "facts" },
        fact(
          "Size",
          `${sizeText(info.bytes)}${info.blobFiles ? `, and ${counted(info.blobFiles, "file")} of blobs with ${sizeText(info.blobBytes)}` : ""}`,
        ),
        fact(
          "Form",
          info.form,
          "How the browser keeps it: LevelDB, a folder of tables and logs, or SQLite, a file for each database.",
        ),
        fact("Bucket", info.bucketName ?? info.bucket, "A part of a website’s storage with a name of its own."),
        fact(
          "Inside of",
          info.topLevelSite,
          "The website that this one was embedded in: browsers keep the data apart for each.",
        ),
        fact(
          "Version of the store",
          opened.schemaVersion,
          "The version of the form of rows. Browsers raise it when they open a store.",
        ),
        fact(
          "Versions of values",
          [opened.blinkVersion && `Blink ${opened.blinkVersion}`, opened.v8Version && `V8 ${opened.v8Version}`]
            .filter(Boolean)
            .join(", "),
          "The versions of the two formats that values are written in.",
        ),
      ),
      h("h2", {}, counted(opened.databases.length, "database")),
      h(
        "ul",
        { class: "cards" },
        opened.databases.map((database) => h("li", {}, this.#database(database))),
      ),
      h("h2", {}, "Save"),
      h(
        "p",
        {},
        h(
          "button",
          {
            type: "button",
            onclick: () =>
              download({ what: "archive", store: this.place.store }).catch((error) => fill(exporting, error.message)),
          },
          "Save all of this store as an archive",
        ),
      ),
      exporting,
    );
  }

  #database(database) {
    const to = { store: this.place.store, database: database.id };
    return h(
      "a",
      { class: "card", href: address(to), onclick: follow(to) },
      icon("database"),
      nameElement(database.name, { class: "card-title" }),
      database.version === null && h("span", { class: "tag" }, "pages do not see it"),
      h(
        "span",
        { class: "dim card-size" },
        [database.version !== null && `version ${database.version}`, counted(database.count, "object store")]
          .filter(Boolean)
          .join(", "),
      ),
    );
  }

  renew() {
    this.part.outdated?.();
  }
  end() {
    this.part.end();
  }
}

/** A database: its object stores, and its change feed if it has one. */
export class DatabaseView {
  constructor(root, place, { database }) {
    Object.assign(this, { place, database });
    const views = [[undefined, "Object stores"], ...(database.feed ? [["feed", "Changes"]] : [])];
    fill(
      root,
      h(
        "div",
        { class: "middle-head" },
        backButton("places", "Stores"),
        crumbs(place),
        h(
          "div",
          { class: "title-line" },
          h("h1", {}, h("span", { class: "hidden-label" }, "Database "), nameLabel(database.name)),
          h(
            "p",
            { class: "dim" },
            [
              database.version === null ? "without a version: pages do not see it" : `Version ${database.version}`,
              counted(database.count, "object store"),
              database.origin && `of ${database.origin}`,
            ]
              .filter(Boolean)
              .join(" · "),
          ),
        ),
        views.length > 1 && tabs(place, views),
      ),
    );
    if (place.view === "feed" && database.feed) {
      this.feed = new Feed({ store: place.store, database: database.id });
      root.append(this.feed.element);
    } else root.append(this.#objectStores());
  }

  #objectStores() {
    const { objectStores, count } = this.database;
    const status = h("p", { role: "status" });
    const shown = objectStores.slice(0, ROWS_MAX);
    return h(
      "div",
      { class: "scrolled overview", tabindex: "0", role: "region", "aria-label": "Object stores" },
      h(
        "table",
        { class: "plain-table" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["Object store", "Key path", "Indexes", "Records", "Size"].map((label, at) =>
              h("th", { scope: "col", class: at > 1 ? "number" : undefined }, label),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          shown.map((objectStore) => this.#row(objectStore)),
        ),
      ),
      count > shown.length &&
        h(
          "p",
          { class: "dim" },
          `These are the first ${numberText(shown.length)} of ${numberText(count)}. The list of stores has all of them; typing there goes to a name.`,
        ),
      h(
        "p",
        {},
        h(
          "button",
          {
            type: "button",
            onclick: () =>
              download({ what: "archive", store: this.place.store, database: this.database.id }).catch((error) =>
                fill(status, error.message),
              ),
          },
          "Save this database as an archive",
        ),
      ),
      status,
    );
  }

  #row(objectStore) {
    const to = { store: this.place.store, database: this.database.id, objectStore: objectStore.id };
    const counts = countsOf(this.place.store, this.database.id, objectStore.id);
    const row = h("tr", {});
    append(row, [
      h("td", {}, h("a", { href: address(to), onclick: follow(to) }, nameElement(objectStore.name))),
      h("td", {}, keyPathText(objectStore.keyPath)),
      h("td", { class: "number" }, String(objectStore.indexes.length)),
      h(
        "td",
        { class: "number" },
        counts.records === undefined ? "…" : `${numberText(counts.records)}${counts.done ? "" : "+"}`,
      ),
      h("td", { class: "number" }, counts.bytes === undefined ? "…" : sizeText(counts.bytes)),
    ]);
    return row;
  }

  counted(root) {
    if (this.place.view === "feed") return;
    const old = root.querySelector(".overview tbody");
    if (old)
      fill(
        old,
        this.database.objectStores.slice(0, ROWS_MAX).map((objectStore) => this.#row(objectStore)),
      );
  }

  renew() {
    this.feed?.renew();
  }
  end() {
    this.feed?.end();
  }
}
