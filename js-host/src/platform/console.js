// console (Console). What is logged goes to standard output; warnings, errors, failed assertions and traces to standard error.
import { native } from "./native.js";
import { format } from "./console_format.js";
import { table } from "./console_table.js";
import { inspect } from "./inspect.js";

const counts = new Map();
const times = new Map();
let indent = "";

const print = (isError, text) => native.print(isError, indent === "" ? text : text.replace(/^/gm, indent));
const out = (values) => print(false, format(values));
const err = (values) => print(true, format(values));

function elapsed(label, values) {
  const began = times.get(label);
  if (began === undefined) err([`Timer '${label}' does not exist`]);
  else out(["%s: %s ms", label, (native.now() - began).toFixed(3), ...values]);
}

export const console = {
  log: (...values) => out(values),
  info: (...values) => out(values),
  debug: (...values) => out(values),
  warn: (...values) => err(values),
  error: (...values) => err(values),
  clear: () => {},
  dir: (value = undefined) => print(false, inspect(value)),
  dirxml: (...values) => out(values),
  table(data = undefined, columns = undefined) {
    const drawn = table(data, columns === undefined ? undefined : [...columns].map(String));
    if (drawn === null) out([data]);
    else print(false, drawn);
  },
  trace(...values) {
    const stack = new Error().stack.split("\n").slice(1).join("\n").trimEnd();
    print(true, `Trace${values.length > 0 ? `: ${format(values)}` : ""}\n${stack}`);
  },
  assert(condition = false, ...values) {
    if (condition) return;
    const [first, ...rest] = values;
    if (values.length === 0) err(["Assertion failed"]);
    else if (typeof first === "string") err([`Assertion failed: ${first}`, ...rest]);
    else err(["Assertion failed", ...values]);
  },
  count(label = "default") {
    const name = String(label);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    print(false, `${name}: ${counts.get(name)}`);
  },
  countReset(label = "default") {
    if (!counts.delete(String(label))) err([`Count for '${String(label)}' does not exist`]);
  },
  time(label = "default") {
    const name = String(label);
    if (times.has(name)) err([`Timer '${name}' already exists`]);
    else times.set(name, native.now());
  },
  timeLog: (label = "default", ...values) => elapsed(String(label), values),
  timeEnd(label = "default") {
    elapsed(String(label), []);
    times.delete(String(label));
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
Object.defineProperty(console, Symbol.toStringTag, { value: "console", configurable: true });
