// Conversions of arguments, as WebIDL orders and names them.
export function webidl(binding) {
  const { append, apply, includes, isFinite, iterator: ITERATOR, MAX_SAFE_INTEGER, String, trunc, TypeError } = binding.builtIns;

  function enforceRange(value, max, what) {
    // A BigInt throws here, as ToNumber does.
    let number = +value;
    if (!isFinite(number)) throw new TypeError(what + " is not a finite number");
    number = trunc(number) + 0;
    if (number < 0 || number > max) throw new TypeError(what + " is out of range");
    return number;
  }

  const toUnsignedLong = (value, what) => enforceRange(value, 0xffffffff, what);
  const toUnsignedLongLong = (value, what) => enforceRange(value, MAX_SAFE_INTEGER, what);

  function toDOMString(value) {
    if (typeof value === "string") return value;
    if (typeof value === "symbol") throw new TypeError("a symbol is no string");
    return String(value);
  }

  function toEnum(value, allowed, what) {
    const string = toDOMString(value);
    if (!includes(allowed, string)) throw new TypeError("'" + string + "' is not a valid value of " + what);
    return string;
  }

  const NOTHING = { __proto__: null };

  // undefined and null are the empty dictionary; other primitives are refused.
  function toDictionary(value, what) {
    if (value === undefined || value === null) return NOTHING;
    if (typeof value !== "object" && typeof value !== "function") {
      throw new TypeError(what + " is not an object");
    }
    return value;
  }

  function toStringSequence(value, method) {
    const strings = [];
    const iterator = apply(method, value, []);
    if (iterator === null || (typeof iterator !== "object" && typeof iterator !== "function")) {
      throw new TypeError("an iterator is not an object");
    }
    const next = iterator.next;
    for (;;) {
      const step = apply(next, iterator, []);
      if (step === null || (typeof step !== "object" && typeof step !== "function")) {
        throw new TypeError("an iterator's result is not an object");
      }
      if (step.done) return strings;
      append(strings, toDOMString(step.value));
    }
  }

  // (DOMString or sequence<DOMString>)
  function toStringOrSequence(value) {
    if (value !== null && (typeof value === "object" || typeof value === "function")) {
      const method = value[ITERATOR];
      if (method !== undefined && method !== null) {
        if (typeof method !== "function") throw new TypeError("an iterator method is not a function");
        return toStringSequence(value, method);
      }
    }
    return toDOMString(value);
  }

  function toCallback(value) {
    return value !== null && (typeof value === "object" || typeof value === "function") ? value : null;
  }

  return { toUnsignedLong, toUnsignedLongLong, toDOMString, toEnum, toDictionary, toStringOrSequence, toCallback };
}
