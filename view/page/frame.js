// What is around the panels: colours, widths, the way back on narrow screens, and help.
import { byId, fill, h } from "./dom.js";
import { STATES } from "./hidden.js";

const THEMES = [
  ["auto", "Auto", "as the system has them"],
  ["light", "Light", "light"],
  ["dark", "Dark", "dark"],
];
const kept = (name) => {
  try {
    return localStorage.getItem(`larder-${name}`);
  } catch {
    return null;
  }
};
const keep = (name, value) => {
  try {
    localStorage.setItem(`larder-${name}`, value);
  } catch {
    /* Then it lasts as long as the page. */
  }
};

/** The switch between the system's colours, light and dark ones. */
export function startTheme() {
  const button = byId("theme-switch");
  let at = Math.max(
    0,
    THEMES.findIndex(([name]) => name === kept("theme")),
  );
  const draw = () => {
    const [name, label, words] = THEMES[at];
    document.documentElement.dataset.theme = name;
    fill(button, h("span", { class: "hidden-label" }, "Colours: "), label);
    button.title = `Colours: ${words}. Press to change.`;
  };
  button.addEventListener("click", () => {
    at = (at + 1) % THEMES.length;
    keep("theme", THEMES[at][0]);
    draw();
  });
  draw();
}

/** Which panel a narrow screen shows. */
export function showPanel(name) {
  document.body.dataset.panel = name;
}

export function startPanels() {
  document.addEventListener("click", (event) => {
    const back = event.target.closest("[data-back]");
    if (back) showPanel(back.dataset.back);
  });
}

/** A line between panels that can be moved with the mouse and the arrow keys. */
export function startSplitter(id, variable, { first, min, max, fromEnd = false }) {
  const line = byId(id);
  let width = Number(kept(variable)) || first;
  const set = (value) => {
    width = Math.max(min, Math.min(value, max));
    byId("panels").style.setProperty(`--${variable}`, `${width}px`);
    line.setAttribute("aria-valuenow", Math.round(width));
  };
  line.setAttribute("aria-valuemin", min);
  line.setAttribute("aria-valuemax", max);
  set(width);
  line.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    line.setPointerCapture(event.pointerId);
    const [from, before] = [event.clientX, width];
    line.onpointermove = (move) => set(before + (fromEnd ? from - move.clientX : move.clientX - from));
    line.onpointerup = () => {
      line.onpointermove = null;
      keep(variable, width);
    };
  });
  line.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -16, ArrowRight: 16 }[event.key];
    if (!step) return;
    event.preventDefault();
    set(width + (fromEnd ? -step : step));
    keep(variable, width);
  });
}

const WORDS = [
  ["Store", "All databases that one website (its origin) keeps in this browser."],
  [
    "Database, object store",
    "A website has databases by name. In each, object stores have records: a key and a value.",
  ],
  ["Index", "Another order of the records of an object store, by something inside their values."],
  ["Key path", "Where in a value its key stands."],
  ...Object.values(STATES).map(([word, help]) => [`${word[0].toUpperCase()}${word.slice(1)} row`, help]),
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

/** A panel that says one thing. */
export const sayIn = (root, text, isBad = false) =>
  fill(root, h("p", { class: isBad ? "empty bad" : "empty", role: isBad ? "alert" : "status" }, text));
