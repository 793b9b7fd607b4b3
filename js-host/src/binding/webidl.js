// Conversions of arguments, as WebIDL orders and names them.

function enforceRange(value, max, what) {
  // A BigInt throws here, as ToNumber does.
  let number = +value;
  if (!Number.isFinite(number)) throw new TypeError(`${what} is not a finite number`);
  number = Math.trunc(number) + 0;
  if (number < 0 || number > max) throw new TypeError(`${what} is out of range`);
  return number;
}

export const toUnsignedLong = (value, what) => enforceRange(value, 0xffffffff, what);
export const toUnsignedLongLong = (value, what) => enforceRange(value, Number.MAX_SAFE_INTEGER, what);

export function toDOMString(value) {
  if (typeof value === "string") return value;
  if (typeof value === "symbol") throw new TypeError("a symbol is no string");
  return String(value);
}

export function toEnum(value, allowed, what) {
  const string = toDOMString(value);
  if (!allowed.includes(string)) throw new TypeError(`'${string}' is not a valid value of ${what}`);
  return string;
}

// undefined and null are the empty dictionary; other primitives are refused.
export function toDictionary(value, what) {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" && typeof value !== "function") {
    throw new TypeError(`${what} is not an object`);
  }
  return value;
}

function toStringSequence(value, method) {
  const strings = [];
  const iterator = method.call(value);
  if (iterator === null || (typeof iterator !== "object" && typeof iterator !== "function")) {
    throw new TypeError("an iterator is not an object");
  }
  const next = iterator.next;
  for (;;) {
    const step = next.call(iterator);
    if (step === null || (typeof step !== "object" && typeof step !== "function")) {
      throw new TypeError("an iterator's result is not an object");
    }
    if (step.done) return strings;
    strings.push(toDOMString(step.value));
  }
}

// (DOMString or sequence<DOMString>)
export function toStringOrSequence(value) {
  if (value !== null && (typeof value === "object" || typeof value === "function")) {
    const method = value[Symbol.iterator];
    if (method !== undefined && method !== null) {
      if (typeof method !== "function") throw new TypeError("an iterator method is not a function");
      return toStringSequence(value, method);
    }
  }
  return toDOMString(value);
}

export function toCallback(value) {
  return value !== null && (typeof value === "object" || typeof value === "function") ? value : null;
}
