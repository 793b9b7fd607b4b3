// The internal slots of platform objects, and what WebIDL asks of interface objects.
import { DOMException, TypeError } from "./built_ins.js";

class Returned {
  constructor(object) {
    return object;
  }
}

// A private field stamped onto any object: cannot be seen, forged or removed by script.
class Slot extends Returned {
  #state;
  constructor(object, state) {
    super(object);
    this.#state = state;
  }
  static of(object) {
    return #state in object ? object.#state : undefined;
  }
}

// Passed to constructors that script must not call.
export const INTERNAL = Symbol("internal");

// Gives an object its state.
export function stamp(object, state) {
  new Slot(object, state);
}

// Gives an object its state, and the state a reference to the object. The two are a cycle then, which goes only when garbage is
// collected, not with the last reference from elsewhere.
export function attach(object, state) {
  new Slot(object, state);
  state.wrapper = object;
}

// The state of a platform object; undefined for all else.
export function peek(object) {
  return object !== null && (typeof object === "object" || typeof object === "function")
    ? Slot.of(object)
    : undefined;
}

// The brand check: the state of `this`, which must be of a given class.
export function stateOf(object, State) {
  const state = peek(object);
  // Most often of this very class, which is sooner found out than by instanceof.
  if (state !== undefined && (state.constructor === State || state instanceof State)) return state;
  throw new TypeError("Illegal invocation");
}

export function requireArguments(given, needed, what) {
  if (given < needed) {
    throw new TypeError(what + ": " + needed + " argument" + (needed === 1 ? "" : "s") + " required, but only " + given + " present");
  }
}

export function checkConstructor(token, name) {
  if (token !== INTERNAL) throw new TypeError("Illegal constructor: " + name);
}

// Members become enumerable, the prototype gets its tag, constants go where they belong.
export function exposeInterface(Interface, name, constants = {}) {
  for (const object of [Interface, Interface.prototype]) {
    for (const key of Object.getOwnPropertyNames(object)) {
      const own = object === Interface ? ["prototype", "length", "name"] : ["constructor"];
      if (own.includes(key)) continue;
      const descriptor = Object.getOwnPropertyDescriptor(object, key);
      descriptor.enumerable = true;
      Object.defineProperty(object, key, descriptor);
    }
    for (const constant of Object.keys(constants)) {
      Object.defineProperty(object, constant, {
        value: constants[constant],
        writable: false,
        enumerable: true,
        configurable: false,
      });
    }
  }
  Object.defineProperty(Interface.prototype, Symbol.toStringTag, {
    value: name,
    writable: false,
    enumerable: false,
    configurable: true,
  });
  Object.defineProperty(Interface, "name", { value: name, configurable: true });
  return Interface;
}

export function exposeGlobal(global, name, value) {
  Object.defineProperty(global, name, { value, writable: true, enumerable: false, configurable: true });
}

export function domException(name, message) {
  return new DOMException(message, name);
}
