// Elements, made without markup: what a store has is text here, never anything else.

/** An element with attributes (`on…` are listeners, `true` sets an attribute without a value, absent ones are left out) and children. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "checked") element.checked = true;
    else element.setAttribute(name, value === true ? "" : value);
  }
  append(element, children);
  return element;
}

/** Appends texts and elements; absent ones are left out. */
export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false) element.append(child);
  }
}

/** Puts children in the place of what an element has. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

const drawn = new WeakMap();
/** As `fill`, but leaves the element alone if it would look the same: what is focused, chosen and open in it stays so. */
export function refill(element, ...children) {
  const made = h("div", {}, children);
  if (drawn.get(element) === made.innerHTML) return;
  drawn.set(element, made.innerHTML);
  element.replaceChildren(...made.childNodes);
}

/** Whether one panel takes the whole screen. */
export const isNarrow = () => matchMedia("(max-width: 760px)").matches;

export const byId = (id) => document.getElementById(id);

const SHAPES = {
  origin:
    "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M1.8 8h12.4M8 1.8c2 1.8 2.7 4 2.7 6.2S10 12.4 8 14.2M8 1.8C6 3.6 5.3 5.8 5.3 8S6 12.4 8 14.2",
  database:
    "M2.8 4c0-1.1 2.3-2 5.2-2s5.2.9 5.2 2-2.3 2-5.2 2-5.2-.9-5.2-2v8c0 1.1 2.3 2 5.2 2s5.2-.9 5.2-2V4M2.8 8c0 1.1 2.3 2 5.2 2s5.2-.9 5.2-2",
  objectStore: "M2 3h12v10H2zM2 6.3h12M2 9.6h12M6 6.3V13",
  index: "M3 4h10M3 8h7M3 12h4",
  warning: "M8 2.2 14.4 13.4H1.6zM8 6.4v3.2M8 11.2v.6",
  feed: "M8 2v12M8 4.5h4M8 8H4.2M8 11.5h4",
};

/** A small picture, hidden from screen readers. */
export function icon(kind) {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(namespace, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", `icon icon-${kind}`);
  const path = document.createElementNS(namespace, "path");
  path.setAttribute("d", SHAPES[kind]);
  svg.append(path);
  return svg;
}

/** Says something to screen readers when they have time. */
export function say(text) {
  byId("polite").textContent = text;
}

let ids = 0;
/** An id that no other element has. */
export const newId = (prefix) => `${prefix}-${ids++}`;
