// console: what it is given, as text, one line each.
import { native } from "./native.js";
import { describe } from "./report_error.js";

const DEPTH_MAX = 4;

function show(value, depth, seen) {
  if (typeof value === "string") return depth === 0 ? value : JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return `[function ${value.name}]`;
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Error || value instanceof DOMException) return describe(value);
  if (seen.includes(value) || depth >= DEPTH_MAX) return "…";
  const inner = (part) => show(part, depth + 1, seen.concat([value]));
  if (Array.isArray(value)) return `[${value.map(inner).join(", ")}]`;
  if (value instanceof Date) return Number.isNaN(+value) ? "Invalid Date" : value.toISOString();
  if (value instanceof Map) return `Map {${[...value].map(([k, v]) => `${inner(k)} => ${inner(v)}`).join(", ")}}`;
  if (value instanceof Set) return `Set {${[...value].map(inner).join(", ")}}`;
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return `${value.constructor.name} [${value.join(", ")}]`;
  const name = Object.prototype.toString.call(value).slice(8, -1);
  const parts = Object.keys(value).map((key) => `${key}: ${inner(value[key])}`);
  return `${name === "Object" ? "" : `${name} `}{${parts.join(", ")}}`;
}

function text(values) {
  return values
    .map((value) => {
      try {
        return show(value, 0, []);
      } catch {
        return "[cannot be shown]";
      }
    })
    .join(" ");
}

const counts = new Map();
const times = new Map();
let indent = "";
const out = (values) => native.print(false, indent + text(values));
const err = (values) => native.print(true, indent + text(values));

export const console = {
  log: (...values) => out(values),
  info: (...values) => out(values),
  debug: (...values) => out(values),
  clear: () => {},
  dir: (value) => out([value]),
  dirxml: (...values) => out(values),
  table: (value) => out([value]),
  warn: (...values) => err(values),
  error: (...values) => err(values),
  trace: (...values) => err([...values, `\n${new Error().stack}`]),
  assert(condition, ...values) {
    if (!condition) err(["Assertion failed", ...values]);
  },
  count(label = "default") {
    counts.set(label, (counts.get(label) ?? 0) + 1);
    out([`${label}: ${counts.get(label)}`]);
  },
  countReset: (label = "default") => void counts.delete(label),
  time: (label = "default") => void times.set(label, native.now()),
  timeLog: (label = "default") => out([`${label}: ${native.now() - (times.get(label) ?? native.now())} ms`]),
  timeEnd(label = "default") {
    console.timeLog(label);
    times.delete(label);
  },
  group(...values) {
    if (values.length > 0) out(values);
    indent += "  ";
  },
  groupCollapsed: (...values) => console.group(...values),
  groupEnd() {
    indent = indent.slice(2);
  },
};
