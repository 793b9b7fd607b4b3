// Values to keys (specification, 7.3 "convert a value to a key").
//
// A converted key is a plain value that no script can reach: a number, a string, `{date: ms}`, an
// ArrayBuffer of its own, or an array of converted keys. Keys to values is the engine's work.
export function key(binding) {
  const { apply, isArray, list, OwnMap } = binding.builtIns;
  const { domException } = binding.internals;
  const { host } = binding;

  const { isView } = ArrayBuffer;
  const { getPrototypeOf } = Reflect;
  const hasOwn = Object.prototype.hasOwnProperty;
  const { getTime } = Date.prototype;
  const getter = (object, name) => Object.getOwnPropertyDescriptor(object, name)?.get;
  const bufferDetached = getter(ArrayBuffer.prototype, "detached");
  const bufferLength = getter(ArrayBuffer.prototype, "byteLength");
  const TypedArray = getPrototypeOf(Uint8Array.prototype);
  const OF_ARRAY = ["buffer", "byteOffset", "byteLength"].map((name) => getter(TypedArray, name));
  const OF_DATA_VIEW = ["buffer", "byteOffset", "byteLength"].map((name) => getter(DataView.prototype, name));
  const { set: setBytes } = TypedArray;
  const bufferOf = OF_ARRAY[0];
  const Bytes = Uint8Array;
  const arrayTag = getter(TypedArray, Symbol.toStringTag);

  const INVALID = Symbol("invalid");
  const ARRAY = Symbol("array");
  // Arrays within one another: as many as a page in a browser may have, and keys in the store.
  const ARRAYS_MAX = 2000;

  function dateOf(value) {
    try {
      return apply(getTime, value, []);
    } catch {
      return undefined;
    }
  }

  // Undefined for what is no ArrayBuffer.
  function isDetached(value) {
    try {
      if (bufferDetached !== undefined) return apply(bufferDetached, value, []);
      // Node 20 has no such attribute: no view can be made of a buffer that is.
      if (apply(bufferLength, value, []) !== 0) return false;
    } catch {
      return undefined;
    }
    try {
      new Bytes(value);
      return false;
    } catch {
      return true;
    }
  }

  // A buffer with a copy of them.
  function copyOf(buffer, start, length) {
    const copy = new Bytes(length);
    apply(setBytes, copy, [new Bytes(buffer, start, length)]);
    return apply(bufferOf, copy, []);
  }

  function bytesOfView(view) {
    const getters = apply(arrayTag, view, []) === undefined ? OF_DATA_VIEW : OF_ARRAY;
    const bytes = apply(getters[0], view, []);
    const detached = isDetached(bytes);
    // A view of shared memory is no BufferSource.
    if (detached !== false) return INVALID;
    try {
      return copyOf(bytes, apply(getters[1], view, []), apply(getters[2], view, []));
    } catch {
      // Out of its buffer's bounds.
      return INVALID;
    }
  }

  // The key of a value that is no array; `ARRAY` for an array.
  function convertScalar(value) {
    if (typeof value === "string") return value;
    if (typeof value === "number") return value === value ? value : INVALID;
    if (typeof value !== "object" || value === null || host.isProxy(value)) return INVALID;
    if (isArray(value)) return ARRAY;
    if (isView(value)) return bytesOfView(value);
    const detached = isDetached(value);
    if (detached !== undefined) return detached ? INVALID : copyOf(value, 0, apply(bufferLength, value, []));
    const date = dateOf(value);
    return date === undefined || date !== date ? INVALID : { date };
  }

  // An array whose elements are being converted, and the one around it.
  function begin(array, outer) {
    return { array, length: array.length, at: 0, keys: list(), outer, depth: outer === undefined ? 1 : outer.depth + 1 };
  }

  // Nesting costs no stack.
  function convertArray(outermost) {
    // The arrays that are open.
    const seen = new OwnMap();
    seen.set(outermost, true);
    let inner = begin(outermost, undefined);
    for (;;) {
      const { array, at, keys, outer } = inner;
      if (at === inner.length) {
        if (outer === undefined) return keys;
        seen.delete(array);
        outer.keys[outer.at++] = keys;
        inner = outer;
        continue;
      }
      if (!apply(hasOwn, array, [at])) return INVALID;
      const element = array[at];
      const key = convertScalar(element);
      if (key === INVALID) return INVALID;
      if (key === ARRAY) {
        if (inner.depth >= ARRAYS_MAX || seen.has(element)) return INVALID;
        seen.set(element, true);
        inner = begin(element, inner);
      } else {
        keys[inner.at++] = key;
      }
    }
  }

  // Throws what the value's getters throw, or DataError.
  function toKey(value) {
    const scalar = convertScalar(value);
    const key = scalar === ARRAY ? convertArray(value) : scalar;
    if (key === INVALID) throw domException("DataError", "The parameter is not a valid key.");
    return key;
  }

  // Whether something may be meant as a key or a key range, though maybe a bad one
  // (specification, "is a potentially valid key range").
  function isPotentialKey(value) {
    if (typeof value !== "object" || value === null) return typeof value !== "function" || value === null;
    // To the specification an array is an exotic object of its own, and a proxy of one is none.
    if (host.isProxy(value)) return false;
    return isArray(value) || isView(value) || isDetached(value) !== undefined || dateOf(value) !== undefined;
  }

  return { toKey, isPotentialKey };
}
