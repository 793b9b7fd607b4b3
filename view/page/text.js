// Texts of a store, made harmless to look at: what cannot be seen, or turns the direction of writing, is shown as an escape.
import { h } from "./dom.js";

// Controls, soft hyphens, marks of direction, invisible operators and spaces, annotations, tags, and halves of pairs.
const UNSEEN = new RegExp(
  [
    "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f]",
    "[\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb]",
    "[\\u{e0000}-\\u{e0fff}]",
    "[\\ud800-\\udfff]",
  ].join("|"),
  "gu",
);
const SHORT = { 9: "\\t", 10: "\\n", 13: "\\r" };

const escapeOf = (character) => {
  const point = character.codePointAt(0);
  if (SHORT[point]) return SHORT[point];
  return point > 0xffff ? `\\u{${point.toString(16)}}` : `\\u${point.toString(16).padStart(4, "0")}`;
};

/** Appends text of a store to an element: escapes are elements of their own, so that they are not taken for text. */
export function appendText(element, text, { lines = false } = {}) {
  let from = 0;
  for (const found of text.matchAll(UNSEEN)) {
    element.append(text.slice(from, found.index));
    const mark = h("span", { class: "escape" }, escapeOf(found[0]));
    element.append(mark);
    if (lines && found[0] === "\n") element.append(h("br"));
    from = found.index + found[0].length;
  }
  element.append(text.slice(from));
  return element;
}

/** Text of a store where only text can be: in labels and titles. */
export const plain = (text) => text.replace(UNSEEN, escapeOf);

/** UTF-16 in hex digits, as text of JavaScript's. */
function fromUnits(hex) {
  let text = "";
  for (let at = 0; at < hex.length; at += 4) text += String.fromCharCode(parseInt(hex.slice(at, at + 4), 16));
  return text;
}

/** A name (text, or `utf16`) as text. */
export const nameText = (name) => (typeof name === "string" ? name : fromUnits(name.utf16));

/** The text of a value or key with `v` or `utf16`. */
export const stringOf = (node) => node.v ?? fromUnits(node.utf16 ?? "");

/** A name in an element of its own, isolated from what stands beside it. An empty one is said in words. */
export function nameElement(name, attributes = {}) {
  const text = nameText(name);
  if (text === "") return h("bdi", { ...attributes, class: `${attributes.class ?? ""} without-name` }, "(empty name)");
  return appendText(h("bdi", attributes), text.length > 300 ? `${text.slice(0, 300)}…` : text);
}

export const nameLabel = (name) => {
  const text = nameText(name);
  return text === "" ? "(empty name)" : plain(text.slice(0, 300));
};

/** A key path in words. */
export function keyPathText(path) {
  if (path === null || path === undefined) return "none";
  const one = (part) => (nameText(part) === "" ? "(the value itself)" : plain(nameText(part)));
  return Array.isArray(path) ? `[${path.map(one).join(", ")}]` : one(path);
}

const UNITS = ["KiB", "MiB", "GiB", "TiB"];
/** A number of bytes: `17 B`, `4.2 KiB`. */
export function sizeText(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  let size = bytes / 1024;
  let unit = 0;
  while (size >= 1023.95 && unit < UNITS.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${size.toFixed(1)} ${UNITS[unit]}`;
}

const grouped = new Intl.NumberFormat("en");
export const numberText = (number) => grouped.format(number);

/** A number that is being counted, with `+` while more may come. */
export const countText = (number, isDone) => `${numberText(number)}${isDone ? "" : "+"}`;

/** A number of things: `1 record`, `2,000 records`. */
export const counted = (number, thing, things = `${thing}s`) =>
  `${numberText(number)} ${number === 1 ? thing : things}`;

/** Milliseconds since 1970 as ISO text, or words where that is no date. */
export function dateText(milliseconds) {
  const date = new Date(Number(milliseconds));
  return Number.isNaN(date.getTime()) ? "invalid date" : date.toISOString();
}
