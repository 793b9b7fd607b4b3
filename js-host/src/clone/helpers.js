// What structured clone (clone/*.rs) leaves to JavaScript: finding out an object's class among the engine's own,
// and making such objects. Everything is taken from the realm before any script runs.
import { peek } from "../binding/slot.js";

const { apply, getPrototypeOf } = Reflect;
const { getOwnPropertyDescriptor, defineProperty } = Object;
const toTag = Object.prototype.toString;
const getter = (object, name) => getOwnPropertyDescriptor(object, name).get;

const TypedArray = getPrototypeOf(Uint8Array);
const taGet = Object.fromEntries(
  ["buffer", "byteOffset", "byteLength", "length"].map((name) => [name, getter(TypedArray.prototype, name)]),
);
const taTag = getter(TypedArray.prototype, Symbol.toStringTag);
const dvGet = Object.fromEntries(
  ["buffer", "byteOffset", "byteLength"].map((name) => [name, getter(DataView.prototype, name)]),
);
const abGet = Object.fromEntries(
  ["byteLength", "detached", "resizable", "maxByteLength", "immutable"].map((name) => [
    name,
    getter(ArrayBuffer.prototype, name),
  ]),
);
const { toBase64 } = Uint8Array.prototype;
const { fromBase64 } = Uint8Array;
const { sliceToImmutable } = ArrayBuffer.prototype;
const { isView } = ArrayBuffer;
const { isError } = Error;
const regexpSource = getter(RegExp.prototype, "source");
const regexpFlags = Object.fromEntries(
  ["hasIndices", "global", "ignoreCase", "multiline", "dotAll", "unicode", "unicodeSets", "sticky"].map((name) => [
    name,
    getter(RegExp.prototype, name),
  ]),
);
const mapSize = getter(Map.prototype, "size");
const mapForEach = Map.prototype.forEach;
const mapSet = Map.prototype.set;
const setSize = getter(Set.prototype, "size");
const setForEach = Set.prototype.forEach;
const setAdd = Set.prototype.add;
const domName = getter(DOMException.prototype, "name");
const domMessage = getter(DOMException.prototype, "message");
const bigintToString = BigInt.prototype.toString;
const { fromCharCode } = String;
const Units = Uint16Array;
const { charCodeAt } = String.prototype;

// Kinds, as clone/serialize.rs numbers them.
const DATE = 1;
const REGEXP = 2;
const MAP = 3;
const SET = 4;
const BOOLEAN = 5;
const NUMBER = 6;
const STRING = 7;
const BIGINT = 8;
const BUFFER = 9;
const VIEW = 10;
const ERROR = 11;
const DOM_EXCEPTION = 12;
const PLATFORM = 13;

const base64 = (bytes) => apply(toBase64, bytes, []);

function push(list, value) {
  defineProperty(list, list.length, { value, writable: true, enumerable: true, configurable: true });
}

function regexp(value) {
  // `source` alone answers for RegExp.prototype, which is no regular expression.
  if (value === RegExp.prototype) return undefined;
  const source = apply(regexpSource, value, []);
  let flags = "";
  const letters = "dgimsuvy";
  let at = 0;
  for (const name in regexpFlags) {
    if (apply(regexpFlags[name], value, [])) flags += letters[at];
    at += 1;
  }
  return [REGEXP, source, flags];
}

function entries(map) {
  apply(mapSize, map, []);
  const flat = [];
  apply(mapForEach, map, [
    (value, key) => {
      push(flat, key);
      push(flat, value);
    },
  ]);
  return [MAP, flat];
}

function members(set) {
  apply(setSize, set, []);
  const all = [];
  apply(setForEach, set, [(value) => push(all, value)]);
  return [SET, all];
}

function buffer(value) {
  if (apply(abGet.detached, value, [])) return "An ArrayBuffer is detached and could not be cloned.";
  const max = apply(abGet.resizable, value, []) ? apply(abGet.maxByteLength, value, []) : undefined;
  return [BUFFER, base64(new Bytes(value)), max, apply(abGet.immutable, value, [])];
}

// Whether a view tracks the length of its resizable buffer. Reflection does not show whether a view does so or just ends
// where the buffer ends. Shrinking the buffer by an element does: a view of fixed length is out of bounds then. Length and bytes are
// put back before any script runs. Where a view without elements stands at the very end, nothing shows the difference.
const { resize } = ArrayBuffer.prototype;
const { set: taSet } = TypedArray.prototype;
function tracksLength(value, tag, bytes, offset, length) {
  if (!apply(abGet.resizable, bytes, [])) return false;
  const end = apply(abGet.byteLength, bytes, []);
  const element = tag === undefined ? 1 : makers[tag].BYTES_PER_ELEMENT;
  const at = end - element;
  if (at < offset || at >= offset + length) return false;
  const lost = new Bytes(element);
  apply(taSet, lost, [new Bytes(bytes, at)]);
  apply(resize, bytes, [at]);
  const tracks = !isOutOfBounds(value, tag);
  apply(resize, bytes, [end]);
  apply(taSet, new Bytes(bytes, at), [lost]);
  return tracks;
}

function view(value) {
  const tag = apply(taTag, value, []);
  const get = tag === undefined ? dvGet : taGet;
  const bytes = apply(get.buffer, value, []);
  if (!isBuffer(bytes)) return "A SharedArrayBuffer could not be cloned.";
  if (apply(abGet.detached, bytes, [])) return "An ArrayBuffer is detached and could not be cloned.";
  if (isOutOfBounds(value, tag)) return "A view is out of its buffer's bounds and could not be cloned.";
  const length = apply(get.byteLength, value, []);
  const offset = apply(get.byteOffset, value, []);
  return [VIEW, tag ?? "DataView", bytes, offset, length, tracksLength(value, tag, bytes, offset, length)];
}

const { at: taAt } = TypedArray.prototype;
function isOutOfBounds(value, tag) {
  try {
    if (tag === undefined) apply(dvGet.byteLength, value, []);
    else apply(taAt, value, [0]);
    return false;
  } catch {
    return true;
  }
}

function isBuffer(value) {
  try {
    apply(abGet.byteLength, value, []);
    return true;
  } catch {
    return false;
  }
}

function error(value) {
  const name = value.name;
  const own = (key) => {
    const descriptor = getOwnPropertyDescriptor(value, key);
    return descriptor !== undefined && "value" in descriptor ? descriptor : undefined;
  };
  const message = own("message");
  const cause = own("cause");
  const stack = value.stack;
  return [
    ERROR,
    name === undefined ? "Error" : `${name}`,
    message === undefined ? undefined : `${message.value}`,
    typeof stack === "string" ? stack : undefined,
    cause !== undefined,
    cause?.value,
  ];
}

const boxed = (kind, valueOf) => (value) => [kind, apply(valueOf, value, [])];
const refused = (name, method) => (value) => {
  apply(method, value, [{}]);
  return `A ${name} could not be cloned.`;
};

// What objects with an internal slot are. Each throws for others.
const date = boxed(DATE, Date.prototype.getTime);
const boolean = boxed(BOOLEAN, Boolean.prototype.valueOf);
const number = boxed(NUMBER, Number.prototype.valueOf);
const string = boxed(STRING, String.prototype.valueOf);
const { valueOf: symbolValue } = Symbol.prototype;
const silent = [
  [Map.prototype, entries],
  [Set.prototype, members],
  [ArrayBuffer.prototype, buffer],
  [BigInt.prototype, boxed(BIGINT, BigInt.prototype.valueOf)],
  [
    DOMException.prototype,
    (value) => [DOM_EXCEPTION, apply(domName, value, []), apply(domMessage, value, []), `${value.stack}`],
  ],
  [Symbol.prototype, (value) => (apply(symbolValue, value, []), "A Symbol object could not be cloned.")],
  [WeakMap.prototype, refused("WeakMap", WeakMap.prototype.has)],
  [WeakSet.prototype, refused("WeakSet", WeakSet.prototype.has)],
  [WeakRef.prototype, refused("WeakRef", WeakRef.prototype.deref)],
  [FinalizationRegistry.prototype, refused("FinalizationRegistry", FinalizationRegistry.prototype.unregister)],
  [SharedArrayBuffer.prototype, refused("SharedArrayBuffer", getter(SharedArrayBuffer.prototype, "byteLength"))],
];
// By prototype, for those that are what they look like.
const byPrototype = new Map([
  [Date.prototype, date],
  [RegExp.prototype, regexp],
  [Boolean.prototype, boolean],
  [Number.prototype, number],
  [String.prototype, string],
  ...silent,
]);
// By what Object.prototype.toString says of their slot, if nothing else speaks for them.
const byTag = {
  __proto__: null,
  "[object Date]": date,
  "[object RegExp]": regexp,
  "[object Boolean]": boolean,
  "[object Number]": number,
  "[object String]": string,
};
const { toStringTag } = Symbol;
const ITERATORS = /^\[object (Generator|AsyncGenerator|.* Iterator|Iterator Helper|Module)\]$/;
const { exec } = RegExp.prototype;
const mapGet = Map.prototype.get;

function check(how, value) {
  try {
    return how(value);
  } catch {
    return undefined;
  }
}

// By the slot alone, whatever the prototypes are.
function bySlot(value) {
  const speaks = toStringTag in value;
  if (speaks) {
    for (const tag in byTag) {
      const found = check(byTag[tag], value);
      if (found !== undefined) return found;
    }
  } else {
    const how = byTag[apply(toTag, value, [])];
    if (how !== undefined) return check(how, value);
  }
  for (let i = 0; i < silent.length; i++) {
    const found = check(silent[i][1], value);
    if (found !== undefined) return found;
  }
  const tag = speaks ? apply(toTag, value, []) : "";
  return apply(exec, ITERATORS, [tag]) !== null ? `${tag} could not be cloned.` : 0;
}

// The exceptions of failed checks are never seen: without stacks they take half the time.
const { get: stackLimit, set: setStackLimit } = getOwnPropertyDescriptor(Error, "stackTraceLimit");
function quietly(run, value) {
  const limit = apply(stackLimit, Error, []);
  if (typeof limit !== "number") return run(value);
  apply(setStackLimit, Error, [0]);
  try {
    return run(value);
  } finally {
    apply(setStackLimit, Error, [limit]);
  }
}

// The versions that objects were read in (clone/read_in.rs). `compile` can make another regular expression of one: then it is new.
const { get: weakGet, set: weakSet } = WeakMap.prototype;
const versionsRead = new WeakMap();
const flagsOf = (value) => check(regexp, value)?.[2];

export function noteReadIn(value, v8, blink) {
  apply(weakSet, versionsRead, [value, { versions: [v8, blink], flags: flagsOf(value) }]);
}

export function readIn(value) {
  const found = apply(weakGet, versionsRead, [value]);
  return found !== undefined && found.flags === flagsOf(value) ? found.versions : undefined;
}

// What an object is: 0 for a plain one, a sentence if it cannot be cloned, else kind and content.
export function inspect(value) {
  const state = peek(value);
  if (state !== undefined) {
    if (state.cloneKind === undefined) return "A platform object could not be cloned.";
    // A sentence if it cannot be cloned.
    const fields = state.cloneFields?.();
    return typeof fields === "string" ? fields : [PLATFORM, state.cloneKind, fields];
  }
  if (isView(value)) return view(value);
  if (isError(value)) return error(value);
  for (let proto = getPrototypeOf(value); proto !== null; proto = getPrototypeOf(proto)) {
    const how = apply(mapGet, byPrototype, [proto]);
    const found = how === undefined ? undefined : check(how, value);
    if (found !== undefined) return found;
  }
  return quietly(bySlot, value);
}

const makers = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float16Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
  DataView,
};
const errors = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

function hidden(object, name, value) {
  defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });
}

const ArrayBufferOf = ArrayBuffer;
const Bytes = Uint8Array;
const NativeDate = Date;
const Exception = DOMException;

// Objects of the engine's classes, by clone/deserialize.rs.
export const make = {
  date: (time) => new NativeDate(time),
  regexp: (source, flags) => new RegExp(source, flags),
  boxed: (value) => Object(value),
  hex: (value) => apply(bigintToString, value, [16]),
  bigint: (digits, negative) => (negative ? -BigInt(digits) : BigInt(digits)),
  map: () => new Map(),
  set: () => new Set(),
  fillMap(map, flat) {
    for (let i = 0; i < flat.length; i += 2) apply(mapSet, map, [flat[i], flat[i + 1]]);
  },
  fillSet(set, all) {
    for (let i = 0; i < all.length; i++) apply(setAdd, set, [all[i]]);
  },
  resizable(bytes, maxByteLength) {
    const made = new ArrayBufferOf(bytes.byteLength, { maxByteLength });
    new Bytes(made).set(new Bytes(bytes));
    return made;
  },
  immutable: (bytes) => apply(sliceToImmutable, bytes, []),
  view: (kind, bytes, offset, length) =>
    length === undefined ? new makers[kind](bytes, offset) : new makers[kind](bytes, offset, length),
  error(type, message, stack) {
    const made = new errors[type]();
    delete made.message;
    if (message !== undefined) hidden(made, "message", message);
    hidden(made, "stack", stack);
    return made;
  },
  cause: (made, cause) => hidden(made, "cause", cause),
  domException: (name, message) => new Exception(message, name),
  typeError: (message) => new TypeError(message),
};

// Strings that have no UTF-8: their units, little-endian, in Base64.
export function unitsOf(string) {
  const units = new Units(string.length);
  for (let i = 0; i < string.length; i++) units[i] = apply(charCodeAt, string, [i]);
  return base64(new Bytes(apply(taGet.buffer, units, [])));
}

// The string with more units behind it, which one call makes into text: one call for each would take minutes for long strings.
export function withUnits(string, encoded) {
  const buffer = apply(taGet.buffer, apply(fromBase64, Bytes, [encoded]), []);
  // Its own, since the list of arguments is read by it.
  const length = { value: apply(abGet.byteLength, buffer, []) / 2 };
  const units = defineProperty(new Units(buffer), "length", length);
  return string + apply(fromCharCode, undefined, units);
}

export function bytesOf(buffer) {
  return base64(new Bytes(buffer));
}

// Whether a property that was there is there still.
export function hasOwn(object, key) {
  return getOwnPropertyDescriptor(object, key) !== undefined;
}
