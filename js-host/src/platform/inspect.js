// Values as text, for `console` (Console, 2.3: "optimally useful formatting").
import { describe } from "./report_error.js";

const DEPTH_MAX = 4;
// So many entries of a list, or properties of an object, are shown.
const ENTRIES_MAX = 100;

const isPlainName = (name) => /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name);

// The parts, of which the first are made.
function listed(count, part) {
  const parts = [];
  for (let i = 0; i < count && i < ENTRIES_MAX; i++) parts.push(part(i));
  if (count > ENTRIES_MAX) parts.push(`… ${count - ENTRIES_MAX} more`);
  return parts.join(", ");
}

function classOf(value) {
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  if (tag !== "Object") return tag;
  const prototype = Object.getPrototypeOf(value);
  if (prototype === null) return "[null prototype]";
  const name = prototype.constructor?.name;
  return typeof name === "string" && name !== "" ? name : "Object";
}

function properties(value, keys, inner) {
  return listed(keys.length, (i) => {
    const key = keys[i];
    const { get, set, value: plain } = Object.getOwnPropertyDescriptor(value, key) ?? {};
    const shown = get === undefined && set === undefined ? inner(plain) : "[accessor]";
    const name = typeof key === "symbol" ? `[${String(key)}]` : isPlainName(key) ? key : JSON.stringify(key);
    return `${name}: ${shown}`;
  });
}

function array(value, inner) {
  const parts = listed(value.length, (i) => (i in value ? inner(value[i]) : "empty"));
  const more = Object.keys(value).filter((key) => !/^\d+$/.test(key));
  return `[${parts}${more.length > 0 ? `, ${properties(value, more, inner)}` : ""}]`;
}

function object(value, inner) {
  if (Array.isArray(value)) return array(value, inner);
  if (value instanceof Date) return Number.isNaN(+value) ? "Invalid Date" : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (value instanceof Map) {
    const all = [...value];
    return `Map {${listed(all.length, (i) => `${inner(all[i][0])} => ${inner(all[i][1])}`)}}`;
  }
  if (value instanceof Set) {
    const all = [...value];
    return `Set {${listed(all.length, (i) => inner(all[i]))}}`;
  }
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    return `${value.constructor.name} [${listed(value.length, (i) => inner(value[i]))}]`;
  }
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return `[${classOf(value)}: ${inner(value.valueOf())}]`;
  }
  const name = classOf(value);
  const keys = Reflect.ownKeys(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
  return `${name === "Object" ? "" : `${name} `}{${properties(value, keys, inner)}}`;
}

function show(value, depth, around) {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (Object.is(value, -0)) return "-0";
  if (typeof value === "function") {
    return /^class\b/.test(Function.prototype.toString.call(value)) ? `[class ${value.name}]` : `[function ${value.name}]`;
  }
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Error || value instanceof DOMException) return describe(value);
  if (around.includes(value)) return "[circular]";
  if (depth >= DEPTH_MAX) return Array.isArray(value) ? "[…]" : "{…}";
  return object(value, (part) => show(part, depth + 1, [...around, value]));
}

// Any value; strings in quotes.
export function inspect(value) {
  try {
    return show(value, 0, []);
  } catch {
    return "[cannot be shown]";
  }
}

// A value as text; a string is its own text.
export const asText = (value) => (typeof value === "string" ? value : inspect(value));
