// The constructors that values are made with, and the prototypes by which objects are known: of the codec's own realm or of another
// (a vm context, a window of jsdom). Everything is taken once, before a script can change it.
import { VIEWS } from "./tags.js";

const { defineProperty, getOwnPropertyDescriptor } = Object;
const { deleteProperty } = Reflect;
const ERRORS = ["Error", "EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError"];

export class Realm {
  // `global` is the realm's global object. What it lacks of the web platform is missing here, and values that need it are refused or
  // become `Stored` objects (stored.js).
  constructor(global) {
    this.global = global;
    const { Object: ObjectOf, Array: ArrayOf, DOMException } = global;
    this.objectPrototype = ObjectOf.prototype;
    this.arrayPrototype = ArrayOf.prototype;
    // A literal is faster than a call.
    this.newObject = ObjectOf === Object ? () => ({}) : () => new ObjectOf();
    this.newArray = ArrayOf === Array ? () => [] : () => new ArrayOf();
    this.box = ObjectOf;
    for (const name of ["Date", "RegExp", "Map", "Set", "ArrayBuffer", "Uint8Array"]) this[name] = global[name];
    this.views = { __proto__: null };
    for (const [, name] of VIEWS) if (typeof global[name] === "function") this.views[name] = global[name];
    this.errors = { __proto__: null };
    for (const name of ERRORS) this.errors[name] = global[name];
    this.DOMException = DOMException;
    this.QuotaExceededError = constructorOf(global, "QuotaExceededError");
    this.sliceToImmutable = this.ArrayBuffer.prototype.sliceToImmutable;
  }

  // An error of the realm, without the time that a stack takes.
  newError(type, message, stack) {
    const made = quietly(() => new this.errors[type]());
    deleteProperty(made, "message");
    if (message !== undefined) hidden(made, "message", message);
    hidden(made, "stack", stack);
    return made;
  }

  cannotClone(why) {
    return new this.DOMException(why, "DataCloneError");
  }
}

// A function that a global has without a getter being run, or undefined. Getters of a runtime load what they stand for.
function constructorOf(global, name) {
  const found = getOwnPropertyDescriptor(global, name)?.value;
  return typeof found === "function" ? found : undefined;
}

// A property as errors have them.
export function hidden(object, name, value) {
  defineProperty(object, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
}

// Runs something that makes exceptions which will not be seen.
export function quietly(run) {
  const found = getOwnPropertyDescriptor(Error, "stackTraceLimit");
  if (found === undefined || !found.writable || typeof found.value !== "number") return run();
  Error.stackTraceLimit = 0;
  try {
    return run();
  } finally {
    Error.stackTraceLimit = found.value;
  }
}
