// What is said of all stores, and of one.
import { Check } from "./check.js";
import { fill, h, icon, refill } from "./dom.js";
import { backButton, follow, middleHead, tabs } from "./heading.js";
import { HiddenRows } from "./hidden.js";
import { model } from "./model.js";
import { archiveButton, fact, textList } from "./parts.js";
import { address } from "./route.js";
import { openingProblems } from "./troubles.js";
import { appendText, counted, nameElement, sizeText } from "./text.js";

/** How much the files of blobs have, behind what the store itself has. */
const blobsText = ({ blobFiles, blobBytes }) =>
  blobFiles > 0 ? `, and ${counted(blobFiles, "file")} of blobs with ${sizeText(blobBytes)}` : "";

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
        model.notes.length > 0 && h("section", { class: "notes" }, h("h2", {}, "Notes"), textList(model.notes)),
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
    info.unreadable
      ? appendText(h("span", { class: "bad card-size" }), `It cannot be read: ${info.unreadable}. Run larder as the user that owns it.`)
      : h("span", { class: "dim card-size" }, `${sizeText(info.bytes)} in ${info.form}${blobsText(info)}`),
  );
}

/** One store: what it is, its databases, what is wrong with it, what it hides. */
export class StoreView {
  constructor(root, place) {
    this.place = place;
    this.info = model.stores.get(place.store).info;
    fill(
      root,
      middleHead(
        place,
        [h("h1", {}, nameElement(this.info.origin)), appendText(h("p", { class: "dim mono break" }), this.info.path)],
        tabs(place, [
          [undefined, "Overview"],
          ["problems", "Problems"],
          ["hidden", "Hidden rows"],
        ]),
      ),
    );
    if (place.view === "problems") this.part = new Check(place.store);
    else if (place.view === "hidden") this.part = new HiddenRows({ store: place.store });
    else
      this.overview = h("div", {
        class: "scrolled overview",
        tabindex: "0",
        role: "region",
        "aria-label": "Overview of this store",
      });
    root.append(this.overview ?? this.part.element);
    this.redraw();
  }

  /** Shows what is known since the store was opened again. */
  redraw() {
    if (this.overview) refill(this.overview, this.#overview());
  }

  #overview() {
    const { info } = this;
    const { opened } = model.stores.get(this.place.store);
    const problems = openingProblems(this.place.store);
    return [
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
          textList(problems),
          h("p", {}, "Everything that does not depend on it is shown. The tab “Problems” checks the store."),
        ),
      h(
        "dl",
        { class: "facts" },
        fact("Size", `${sizeText(info.bytes)}${blobsText(info)}`),
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
      archiveButton("Save all of this store as an archive", { store: this.place.store }),
    ];
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
    this.redraw();
    this.part?.renew?.();
  }
  end() {
    this.part?.end();
  }
}
