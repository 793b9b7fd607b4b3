// What is around the panels: colours, widths, and the way back on narrow screens.
import { byId, fill, h } from "./dom.js";

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

/** A panel that says one thing. */
export const sayIn = (root, text, isBad = false) =>
  fill(root, h("p", { class: isBad ? "empty bad" : "empty", role: isBad ? "alert" : "status" }, text));
