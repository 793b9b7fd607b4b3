// Values to keys (specification, 7.3 "convert a value to a key").
//
// A converted key is a plain value that no script can reach: a number, a string, `{date: ms}`, an
// ArrayBuffer of its own, or an array of converted keys. Keys to values is the engine's work.
import { domException } from "./internals.js";
import { hooks } from "./hooks.js";

const { isArray } = Array;
const { isView } = ArrayBuffer;
const { apply, getPrototypeOf } = Reflect;
const hasOwn = Object.prototype.hasOwnProperty;
const { getTime } = Date.prototype;
const getter = (object, name) => Object.getOwnPropertyDescriptor(object, name).get;
const bufferDetached = getter(ArrayBuffer.prototype, "detached");
const bufferSlice = ArrayBuffer.prototype.slice;
const TypedArray = getPrototypeOf(Uint8Array.prototype);
const OF_ARRAY = ["buffer", "byteOffset", "byteLength"].map((name) => getter(TypedArray, name));
const OF_DATA_VIEW = ["buffer", "byteOffset", "byteLength"].map((name) => getter(DataView.prototype, name));
const arrayTag = getter(TypedArray, Symbol.toStringTag);

const INVALID = Symbol("invalid");
// What has been seen on the way to a key that is not within another.
const NOTHING = [];
// Elements within one another: what the store's keys can have.
const DEPTH_MAX = 2000;

function dateOf(value) {
  try {
    return apply(getTime, value, []);
  } catch {
    return undefined;
  }
}

function isDetached(value) {
  try {
    return apply(bufferDetached, value, []);
  } catch {
    return undefined;
  }
}

function bytesOfView(view) {
  const [buffer, offset, length] = apply(arrayTag, view, []) === undefined ? OF_DATA_VIEW : OF_ARRAY;
  const bytes = apply(buffer, view, []);
  const detached = isDetached(bytes);
  // A view of shared memory is no BufferSource.
  if (detached !== false) return INVALID;
  try {
    const start = apply(offset, view, []);
    return apply(bufferSlice, bytes, [start, start + apply(length, view, [])]);
  } catch {
    // Out of its buffer's bounds.
    return INVALID;
  }
}

function convertArray(array, seen) {
  if (seen.length >= DEPTH_MAX) return INVALID;
  seen = seen.concat([array]);
  const { length } = array;
  const keys = [];
  for (let i = 0; i < length; i++) {
    if (!apply(hasOwn, array, [i])) return INVALID;
    const key = convert(array[i], seen);
    if (key === INVALID) return INVALID;
    keys[i] = key;
  }
  return keys;
}

function convert(value, seen) {
  if (typeof value === "string") return value;
  if (typeof value === "number") return value === value ? value : INVALID;
  if (typeof value !== "object" || value === null || hooks.isProxy(value)) return INVALID;
  if (isArray(value)) return seen.includes(value) ? INVALID : convertArray(value, seen);
  if (isView(value)) return bytesOfView(value);
  const detached = isDetached(value);
  if (detached !== undefined) return detached ? INVALID : apply(bufferSlice, value, [0]);
  const date = dateOf(value);
  return date === undefined || date !== date ? INVALID : { date };
}

// Throws what the value's getters throw, or DataError.
export function toKey(value) {
  const key = convert(value, NOTHING);
  if (key === INVALID) throw domException("DataError", "The parameter is not a valid key.");
  return key;
}

// Whether something may be meant as a key or a key range, though maybe a bad one
// (specification, "is a potentially valid key range").
export function isPotentialKey(value) {
  if (typeof value !== "object" || value === null) return typeof value !== "function" || value === null;
  // To the specification an array is an exotic object of its own, and a proxy of one is none.
  if (hooks.isProxy(value)) return false;
  return isArray(value) || isView(value) || isDetached(value) !== undefined || dateOf(value) !== undefined;
}
