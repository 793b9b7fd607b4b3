// What an object is, by its internal slots: prototypes and tags are a script's to change. Everything is taken from the realm that this
// module runs in; slots answer for objects of other realms as well.
import { types } from "node:util";
import { newList } from "./list.js";
import { quietly } from "./realm.js";
import { REGEXP_FLAGS } from "./tags.js";

const { apply, getPrototypeOf } = Reflect;
const { getOwnPropertyDescriptor } = Object;
const {
  isAnyArrayBuffer, isArrayBuffer, isBigIntObject, isBooleanObject, isDate, isExternal, isGeneratorObject, isMap, isMapIterator,
  isModuleNamespaceObject, isNativeError, isNumberObject, isPromise, isRegExp, isSet, isSetIterator, isStringObject, isSymbolObject,
  isWeakMap, isWeakSet,
} = types;
export const { isProxy } = types;
export const { isView } = ArrayBuffer;
const getter = (object, name) => getOwnPropertyDescriptor(object, name)?.get;
const call = (method) => (value) => apply(method, value, []);

export const PLAIN = 0;
export const DATE = 1;
export const REGEXP = 2;
export const MAP = 3;
export const SET = 4;
export const BOOLEAN = 5;
export const NUMBER = 6;
export const STRING = 7;
export const BIGINT = 8;
export const BUFFER = 9;
export const VIEW = 10;
export const ERROR = 11;

// Error.isError (ECMAScript 2026) says so of objects of other realms and of DOMExceptions as well.
export const isError = Error.isError ?? isNativeError;

// The kind of an object that is neither an array nor a proxy: one of the numbers above, or a sentence if it cannot be cloned.
export function kindOf(value) {
  if (isView(value)) return VIEW;
  if (isError(value)) return ERROR;
  if (isMap(value)) return MAP;
  if (isSet(value)) return SET;
  if (isDate(value)) return DATE;
  if (isRegExp(value)) return REGEXP;
  if (isAnyArrayBuffer(value)) return isArrayBuffer(value) ? BUFFER : "A SharedArrayBuffer could not be cloned.";
  if (isStringObject(value)) return STRING;
  if (isNumberObject(value)) return NUMBER;
  if (isBooleanObject(value)) return BOOLEAN;
  if (isBigIntObject(value)) return BIGINT;
  for (const [is, name] of REFUSED) if (is(value)) return `A ${name} could not be cloned.`;
  return PLAIN;
}

const REFUSED = [
  [isPromise, "promise"],
  [isWeakMap, "WeakMap"],
  [isWeakSet, "WeakSet"],
  [isSymbolObject, "Symbol object"],
  [isGeneratorObject, "generator"],
  [isMapIterator, "Map Iterator"],
  [isSetIterator, "Set Iterator"],
  [isModuleNamespaceObject, "module"],
  [isExternal, "value of the runtime"],
  // Deno has not all of them.
].filter(([is]) => is !== undefined);

// Classes of the language that are known by a method alone, which throws for other objects.
const BRANDS = {
  __proto__: null,
  WeakRef: WeakRef.prototype.deref,
  FinalizationRegistry: FinalizationRegistry.prototype.unregister,
};
// Those that have been asked above, by slot: what only inherits from them is a plain object.
const ASKED = new Set([
  "Map", "Set", "Promise", "WeakMap", "WeakSet", "ArrayBuffer", "SharedArrayBuffer", "DataView", "Symbol", "BigInt", "Iterator",
  "Object", "Array", "Function", "Date", "RegExp", "Error", "String", "Number", "Boolean",
]);
// Namespaces of classes of the language.
const NAMESPACE = /^(Intl|WebAssembly|Temporal)\./;
const ITERATOR = /^(?:Generator|AsyncGenerator|.+ Iterator|Iterator Helper|Wrap for Iterator)$/;

// The name of the runtime's class that an object, which is `PLAIN` by its slots, is of; undefined if it is of none. A class counts if
// its prototype has a tag, and the global object has it by its name: so are all interfaces of the web platform.
export function classOf(value, global) {
  for (let proto = getPrototypeOf(value); proto !== null; proto = getPrototypeOf(proto)) {
    const tag = ownString(proto, Symbol.toStringTag);
    if (tag === undefined) continue;
    const constructor = getOwnPropertyDescriptor(proto, "constructor")?.value;
    if (typeof constructor !== "function") {
      // Iterators have no constructor.
      if (apply(test, ITERATOR, [tag])) return tag;
      continue;
    }
    const name = ownString(constructor, "name");
    if (name === undefined || ASKED.has(name)) continue;
    if (apply(test, NAMESPACE, [tag])) return tag;
    if (!has(globalThis, name, constructor) && !has(global, name, constructor)) continue;
    const brand = BRANDS[name];
    if (brand === undefined || quietly(() => answers(brand, value))) return name;
  }
  return undefined;
}

const { test } = RegExp.prototype;

// Whether an object with properties, of which that is the first one's name, is a view or a String object: their elements are properties.
export function hasElements(object, name) {
  const first = name.charCodeAt(0);
  return first >= 0x30 && first <= 0x39 && (isView(object) || isStringObject(object));
}

// Whether a prototype may be one of the language or the runtime, in whatever realm: it has a tag, or a constructor without a source.
export function isOfTheRuntime(prototype) {
  if (getOwnPropertyDescriptor(prototype, Symbol.toStringTag) !== undefined) return true;
  const constructor = getOwnPropertyDescriptor(prototype, "constructor")?.value;
  return typeof constructor !== "function" || apply(sourceTextOf, constructor, []).includes("[native code]");
}

const { toString: sourceTextOf } = Function.prototype;

function ownString(object, name) {
  const found = getOwnPropertyDescriptor(object, name)?.value;
  return typeof found === "string" ? found : undefined;
}

// Whether the global object has a class by this name. A getter of the runtime's may be asked: there is an object of the class already.
function has(global, name, constructor) {
  const found = getOwnPropertyDescriptor(global, name);
  if (found === undefined) return false;
  return (found.get === undefined ? found.value : apply(found.get, global, [])) === constructor;
}

function answers(method, value) {
  try {
    apply(method, value, [{}]);
    return true;
  } catch {
    return false;
  }
}

export const timeOf = call(Date.prototype.getTime);
export const booleanOf = call(Boolean.prototype.valueOf);
export const numberOf = call(Number.prototype.valueOf);
export const stringOf = call(String.prototype.valueOf);
export const bigintOf = call(BigInt.prototype.valueOf);
export const sourceOf = call(getter(RegExp.prototype, "source"));

const flagGetters = ["hasIndices", "global", "ignoreCase", "multiline", "dotAll", "unicode", "unicodeSets", "sticky"].map((name) =>
  getter(RegExp.prototype, name),
);

// A regular expression's flags, as bits.
export function flagsOf(value) {
  let bits = 0;
  flagGetters.forEach((get, at) => {
    if (get !== undefined && apply(get, value, [])) bits |= REGEXP_FLAGS[at][1];
  });
  return bits;
}

const { forEach: mapForEach } = Map.prototype;
const { forEach: setForEach } = Set.prototype;

// Keys and values in turn.
export function entriesOf(map) {
  const parts = newList();
  apply(mapForEach, map, [
    (value, key) => {
      parts[parts.length] = key;
      parts[parts.length] = value;
    },
  ]);
  return parts;
}

export function membersOf(set) {
  const parts = newList();
  apply(setForEach, set, [(value) => (parts[parts.length] = value)]);
  return parts;
}

const bufferGet = {};
for (const name of ["byteLength", "detached", "resizable", "maxByteLength", "immutable"]) {
  const get = getter(ArrayBuffer.prototype, name);
  bufferGet[name] = get === undefined ? undefined : call(get);
}
export const byteLengthOf = bufferGet.byteLength;
export const isResizable = bufferGet.resizable ?? (() => false);
export const maxByteLengthOf = bufferGet.maxByteLength;
export const isImmutable = bufferGet.immutable ?? (() => false);
// Runtimes without the attribute (Node 20) let no view be made of such a buffer.
export const isDetached =
  bufferGet.detached ??
  ((buffer) => {
    if (byteLengthOf(buffer) !== 0) return false;
    return quietly(() => {
      try {
        new Uint8Array(buffer);
        return false;
      } catch {
        return true;
      }
    });
  });

const TypedArray = getPrototypeOf(Uint8Array);
const typed = {};
const data = {};
for (const name of ["buffer", "byteOffset", "byteLength"]) {
  typed[name] = call(getter(TypedArray.prototype, name));
  data[name] = call(getter(DataView.prototype, name));
}
const tagOf = call(getter(TypedArray.prototype, Symbol.toStringTag));
const { at: elementAt } = TypedArray.prototype;
const { resize } = ArrayBuffer.prototype;

// The class, buffer and place of a view; a sentence if it cannot be cloned.
export function viewOf(value) {
  const tag = tagOf(value);
  const get = tag === undefined ? data : typed;
  const buffer = get.buffer(value);
  if (!isArrayBuffer(buffer)) return "A SharedArrayBuffer could not be cloned.";
  if (isDetached(buffer)) return "An ArrayBuffer is detached and could not be cloned.";
  const resizable = isResizable(buffer);
  if (resizable && isOutOfBounds(value, tag)) return "A view is out of its buffer's bounds and could not be cloned.";
  const name = tag ?? "DataView";
  const offset = get.byteOffset(value);
  const length = get.byteLength(value);
  return { name, buffer, offset, length, tracks: resizable && tracksLength(value, tag, buffer, offset, length) };
}

function isOutOfBounds(value, tag) {
  return quietly(() => {
    try {
      if (tag === undefined) data.byteLength(value);
      else apply(elementAt, value, [0]);
      return false;
    } catch {
      return true;
    }
  });
}

const ELEMENT = { __proto__: null, Int16Array: 2, Uint16Array: 2, Float16Array: 2, Int32Array: 4, Uint32Array: 4, Float32Array: 4 };
for (const name of ["Float64Array", "BigInt64Array", "BigUint64Array"]) ELEMENT[name] = 8;

// Whether a view tracks the length of its resizable buffer. Reflection does not show whether a view does so or just ends where the
// buffer ends. Shrinking the buffer by an element does: a view of fixed length is out of bounds then. Length and bytes are put back
// before any script runs. Where a view without elements stands at the very end, nothing shows the difference.
function tracksLength(value, tag, buffer, offset, length) {
  const end = byteLengthOf(buffer);
  const element = ELEMENT[tag] ?? 1;
  const at = end - element;
  if (at < offset || at >= offset + length) return false;
  const lost = new Uint8Array(buffer, at).slice();
  apply(resize, buffer, [at]);
  const tracks = !isOutOfBounds(value, tag);
  apply(resize, buffer, [end]);
  new Uint8Array(buffer, at).set(lost);
  return tracks;
}
