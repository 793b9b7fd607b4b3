// Bytes as rows of sixteen: offset, hex digits, and what they are as ASCII. Only rows that are seen are in the document.
import { h } from "./dom.js";
import { VirtualList } from "./virtual.js";

const ROW = 20;
const WIDTH = 16;
const ROWS_SHOWN = 14;

/** Hex digits as bytes. */
export function fromHex(hex) {
  const bytes = new Uint8Array(hex.length >> 1);
  for (let at = 0; at < bytes.length; at++) bytes[at] = parseInt(hex.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}

const two = (byte) => byte.toString(16).padStart(2, "0");

/** `length` bytes, of which `read(offset, count)` gives some, or null where they are not there yet; `need(from, to)` hears what is seen. */
export function hexView({ length, read, need = () => {}, label = "Bytes" }) {
  const body = h("div", { class: "hex-body" });
  const element = h("div", { class: "hex", tabindex: "0", role: "group", "aria-label": label }, body);
  element.style.height = `${Math.min(ROWS_SHOWN, Math.max(1, Math.ceil(length / WIDTH))) * ROW + 10}px`;
  const row = (index) => {
    const offset = index * WIDTH;
    const bytes = read(offset, Math.min(WIDTH, length - offset));
    const digits = bytes ? [...bytes].map(two) : ["…"];
    const hex = [digits.slice(0, 8).join(" "), digits.slice(8).join(" ")].join("  ");
    const text = bytes
      ? [...bytes].map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·")).join("")
      : "";
    return h(
      "div",
      { class: "hex-row" },
      h("span", { class: "hex-offset" }, offset.toString(16).padStart(8, "0")),
      h("span", { class: "hex-bytes" }, hex),
      h("span", { class: "hex-text", "aria-hidden": "true" }, text),
    );
  };
  const list = new VirtualList({
    scroller: element,
    body,
    rowHeight: ROW,
    inset: 10,
    row,
    ranged: (from, to) => need(from * WIDTH, to * WIDTH),
  });
  list.setCount(Math.ceil(length / WIDTH));
  return { element, list };
}

/** A view of bytes that are all here. */
export const hexOf = (bytes, label) =>
  hexView({ length: bytes.length, read: (offset, count) => bytes.subarray(offset, offset + count), label }).element;
