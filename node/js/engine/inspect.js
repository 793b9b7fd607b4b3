// What `console.log` and `util.inspect` show of the interfaces' objects. Nothing is asked of a script, and nothing of a request changes.
import { inspect } from "node:util";

import { peek } from "../../../binding/src/slot.js";

const { apply } = Reflect;
const CUSTOM = Symbol.for("nodejs.util.inspect.custom");
// Deno's own console.
const DENO = Symbol.for("Deno.customInspect");

// `placeOf` gives the folder and origin of a factory; undefined if it is in memory. Prototypes of the interfaces of a binding.
export function addInspection(interfaces, placeOf) {
  const shown = {
    __proto__: null,
    DOMStringList: ({ strings }) => Array.from(strings),
    IDBFactory: (_, factory) => placeOf(factory) ?? { inMemory: true },
    IDBDatabase: databaseOf,
    IDBTransaction: transactionOf,
    IDBObjectStore: storeOf,
    IDBIndex: ({ name, keyPathValue, unique, multiEntry }) => ({ name, keyPath: keyPathValue, unique, multiEntry }),
    IDBRequest: requestOf,
    IDBOpenDBRequest: requestOf,
    IDBKeyRange: rangeOf,
    IDBCursor: cursorOf,
    IDBCursorWithValue: (state) => ({ ...cursorOf(state), ...at(state, "value", "cursorValue") }),
    IDBRecord: ({ key, primaryKey, value }) => ({ key, primaryKey, value }),
    IDBVersionChangeEvent: ({ type, versions }) => ({ type, oldVersion: versions.oldVersion, newVersion: versions.newVersion }),
  };
  for (const name of Object.keys(shown)) define(interfaces[name].prototype, name, shown[name]);
}

function define(prototype, name, members) {
  function custom(depth, options) {
    const state = peek(this);
    // A prototype, for instance.
    if (state === undefined) return this;
    if (depth < 0) return `[${name}]`;
    return `${name} ${inspect(members(state, this), { ...options, depth })}`;
  }
  function denoCustom(_, options) {
    return apply(custom, this, [options.depth, options]);
  }
  const attributes = { writable: true, enumerable: false, configurable: true };
  Object.defineProperty(prototype, CUSTOM, { value: custom, ...attributes });
  if (globalThis.Deno !== undefined) Object.defineProperty(prototype, DENO, { value: denoCustom, ...attributes });
}

// What the engine does not give any more is left out: that the connection is closed, for instance, or the transaction has finished.
function given(name, get) {
  try {
    return { [name]: get() };
  } catch {
    return {};
  }
}

function databaseOf(state) {
  const { name, version, closing } = state;
  const names = given("objectStoreNames", () => Array.from(state.storeNames()));
  return { name, version, ...names, ...(closing ? { closed: true } : {}) };
}

function transactionOf({ mode, state, scope, database, error }) {
  const names = given("objectStoreNames", () => Array.from(scope ?? database.storeNames()));
  return { mode, state, ...names, ...(error === null ? {} : { error }) };
}

function storeOf(state) {
  const { name, keyPathValue, autoIncrement } = state;
  return { name, keyPath: keyPathValue, autoIncrement, ...given("indexNames", () => Array.from(state.indexNames())) };
}

function requestOf({ done, error, result }) {
  if (!done) return { readyState: "pending" };
  return error === null ? { readyState: "done", result } : { readyState: "done", error };
}

// The accessors of the range's own realm make the bounds.
function rangeOf(_, range) {
  const { lower, upper, lowerOpen, upperOpen } = range;
  return { ...(lower === undefined ? {} : { lower, lowerOpen }), ...(upper === undefined ? {} : { upper, upperOpen }) };
}

// One that is on its way, or past the end, stands nowhere.
function cursorOf(state) {
  const { direction } = state;
  return { direction, ...at(state, "key", "cursorKey"), ...at(state, "primaryKey", "cursorPrimaryKey") };
}

function at(state, name, call) {
  return state.gotValue ? given(name, () => state.at(call)) : {};
}
