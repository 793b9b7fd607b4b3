// Keys for eyes, and as the command takes them.
import { h } from "./dom.js";
import { appendText, dateText, stringOf } from "./text.js";

const TYPES = { number: "number", date: "date", string: "text", binary: "bytes", array: "list" };
/** The type of a key in one word. */
export const keyType = (key) => TYPES[key.t] ?? key.t;

const SHOWN_MAX = 500;

/** A key as an element: texts in quotation marks, dates as dates, bytes in hex. `whole` shows long ones to their end. */
export function keyElement(key, { whole = false } = {}) {
  const element = h("bdi", { class: "key" });
  appendKey(element, key, whole ? Infinity : SHOWN_MAX);
  return element;
}

function appendKey(element, key, max) {
  const part = h("bdi", { class: `key-${key.t}` });
  element.append(part);
  if (key.cut) {
    appendText(part, key.text);
    part.append("…");
    return;
  }
  switch (key.t) {
    case "string": {
      const text = stringOf(key);
      appendText(part, `"${text.slice(0, max)}${text.length > max ? "…" : ""}"`);
      break;
    }
    case "date": {
      part.append(dateText(key.v) ?? "invalid date");
      part.title = `${key.v} ms since 1970`;
      break;
    }
    case "binary":
      part.append(key.hex.length > max ? `0x${key.hex.slice(0, max)}…` : `0x${key.hex}`);
      break;
    case "array":
      part.append("[");
      key.v.slice(0, max).forEach((item, at) => {
        if (at > 0) part.append(", ");
        appendKey(part, item, max);
      });
      if (key.v.length > max) part.append(", …");
      part.append("]");
      break;
    default:
      part.append(String(key.v));
  }
}

function jsonOf(key) {
  switch (key.t) {
    case "number": {
      const number = Number(key.v);
      if (Object.is(number, -0)) return { toJSON: () => 0 };
      return Number.isFinite(number) ? number : String(key.v);
    }
    case "date":
      return { date: Number(key.v) };
    case "binary":
      return { binary: key.hex };
    case "array":
      return key.v.map(jsonOf);
    default:
      return stringOf(key);
  }
}

/** A key as `--key`, and the fields of this page, take it. */
export const keyJson = (key) => (key.cut ? key.text : JSON.stringify(jsonOf(key)));
