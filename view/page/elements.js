// The elements of a typed array, read from the bytes of its buffer.
import { h } from "./dom.js";
import { VIEWS } from "./shape.js";
import { VirtualList } from "./virtual.js";

const ROW = 22;
const ROWS_SHOWN = 12;

/** A half-precision number from its 16 bits. */
export function float16(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** A number as JavaScript's source has it: -0 too. */
const numberSource = (number) =>
  Object.is(number, -0) ? "-0" : typeof number === "bigint" ? `${number}n` : String(number);

/** An element, or undefined if its bytes are not there. */
function elementAt(view, bytes, index) {
  const [width, reader] = VIEWS[view.t];
  const at = view.byteOffset + index * width;
  if (at + width > bytes.length) return undefined;
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return reader ? data[reader](at, true) : float16(data.getUint16(at, true));
}

/** The elements of a view as a list. */
export function elementsView(view, bytes) {
  const body = h("div", { class: "elements-body" });
  const element = h(
    "div",
    { class: "elements", tabindex: "0", role: "group", "aria-label": `Elements of this ${view.t}` },
    body,
  );
  element.style.height = `${Math.min(ROWS_SHOWN, Math.max(1, view.length)) * ROW + 8}px`;
  const row = (index) => {
    const value = elementAt(view, bytes, index);
    return h(
      "div",
      { class: "element-row" },
      h("span", { class: "element-index" }, String(index)),
      h("span", { class: "value-number element-value" }, value === undefined ? "not loaded" : numberSource(value)),
    );
  };
  const list = new VirtualList({ scroller: element, body, rowHeight: ROW, inset: 8, row });
  list.setCount(view.length);
  return element;
}
