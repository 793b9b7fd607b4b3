// The window of help: what words mean, and keys.
import { byId, h } from "./dom.js";
import { STATES } from "./hidden.js";

const WORDS = [
  ["Store", "All databases that one website (its origin) keeps in this browser."],
  [
    "Database, object store",
    "A website has databases by name. In each, object stores have records: a key and a value.",
  ],
  ["Index", "Another order of the records of an object store, by something inside their values."],
  ["Key path", "Where in a value its key stands."],
  ...Object.entries(STATES).map(([word, help]) => [`${word[0].toUpperCase()}${word.slice(1)} row`, help]),
  [
    "Envelope",
    "What the browser puts around a value: versions, compression, or the name of a file that has the value.",
  ],
  [
    "Withheld",
    "A record that is not shown because a newer one may have been lost to damage: what is left could be outdated.",
  ],
  ["Live", "While it is on, the page looks every two seconds whether the files have changed, and marks what is new."],
];
const KEYS = [
  ["↑ ↓ PageUp PageDown", "from row to row"],
  ["Home, End", "the first and the last record"],
  ["Enter", "open what is chosen"],
  ["← →", "close and open a branch of a tree"],
  ["/", "to the search"],
  ["↓", "in the search: to the first place found"],
  ["letters", "in the list of stores: to a name that begins so"],
];

/** The window of help. */
export function startHelp() {
  const close = h("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Close");
  const dialog = h(
    "dialog",
    { class: "help-dialog", "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, "What the words mean"),
    h("p", {}, "Larder reads the files in which a browser keeps what websites store. It changes nothing."),
    h(
      "dl",
      { class: "help-list" },
      WORDS.map(([word, text]) => [h("dt", {}, word), h("dd", {}, text)]),
    ),
    h("h2", {}, "Keys"),
    h(
      "dl",
      { class: "help-list" },
      KEYS.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)]),
    ),
    h("p", {}, close),
  );
  document.body.append(dialog);
  byId("help-button").addEventListener("click", () => dialog.showModal());
}
