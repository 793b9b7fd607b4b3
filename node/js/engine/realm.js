// What a realm's scripts get is made of the realm's own classes: this module's realm, a vm context, a window of jsdom. What the realm has not, is this one's.
const { defineProperty, getPrototypeOf } = Object;

const NAMES = [
  "Array", "ArrayBuffer", "BigInt", "BigInt64Array", "BigUint64Array", "Blob", "DOMException", "DataView", "Date", "Error", "EvalError", "File",
  "Float16Array", "Float32Array", "Float64Array", "Int16Array", "Int32Array", "Int8Array", "Map", "Number", "Object", "Promise", "QuotaExceededError",
  "RangeError", "ReferenceError", "RegExp", "Set", "String", "SyntaxError", "TypeError", "URIError", "Uint16Array", "Uint32Array", "Uint8Array",
  "Uint8ClampedArray",
];

export class Realm {
  constructor(target) {
    this.target = target;
    this.global = target === globalThis ? globalThis : classesOf(target);
    const { Array: ArrayOf, Date, DOMException, TypeError, Uint8Array } = this.global;
    this.Date = Date;
    this.Uint8Array = Uint8Array;
    this.DOMException = DOMException;
    this.TypeError = TypeError;
    // A literal takes less time than a call.
    this.newArray = ArrayOf === Array ? () => [] : () => new ArrayOf();
    // A setter of a script's on the prototype must not see what is put there.
    this.append = append;
    const { File } = this.global;
    this.fileOf = (blob) => (blob instanceof File || blob[Symbol.toStringTag] === "File" ? blob : undefined);
    this.fail = (name, message) => (name === "TypeError" ? new TypeError(message) : new DOMException(message, name));
  }
}

function append(array, value) {
  const at = array.length;
  if (at in getPrototypeOf(array)) defineProperty(array, at, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  else array[at] = value;
}

function classesOf(target) {
  const global = { __proto__: null };
  for (const name of NAMES) {
    const found = target[name];
    global[name] = typeof found === "function" ? found : globalThis[name];
  }
  return global;
}
