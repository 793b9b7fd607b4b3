// Keys for eyes, and as the command takes them.
import { h } from "./dom.js";
import { appendText, dateText, stringOf } from "./text.js";

const TYPES = { number: "number", date: "date", string: "text", binary: "bytes", array: "list" };
/** The type of a key in one word. */
export const keyType = (key) => TYPES[key.t] ?? key.t;

const SHOWN_MAX = 500;

/** A key as an element: texts in quotation marks, dates as dates, bytes in hex. Long ones are cut. */
export function keyElement(key) {
  const element = h("bdi", { class: "key" });
  appendKey(element, key);
  return element;
}

function appendKey(element, key) {
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
      appendText(part, `"${text.slice(0, SHOWN_MAX)}${text.length > SHOWN_MAX ? "…" : ""}"`);
      break;
    }
    case "date": {
      part.append(dateText(key.v));
      part.title = `${key.v} ms since 1970`;
      break;
    }
    case "binary":
      part.append(key.hex.length > SHOWN_MAX ? `0x${key.hex.slice(0, SHOWN_MAX)}…` : `0x${key.hex}`);
      break;
    case "array":
      part.append("[");
      key.v.slice(0, SHOWN_MAX).forEach((item, at) => {
        if (at > 0) part.append(", ");
        appendKey(part, item);
      });
      if (key.v.length > SHOWN_MAX) part.append(", …");
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

/** A key as `--key`, and the fields of this page, take it. The server gives only the beginning of a very long one. */
export function keyJson(key) {
  if (key.cut) throw new Error("only the beginning of this key is here. “Export” has all of it.");
  return JSON.stringify(jsonOf(key));
}
