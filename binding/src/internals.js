// What WebIDL asks of interface objects.
import { attach, INTERNAL, peek, stamp } from "./slot.js";

export function internals(binding) {
  const { DOMException, TypeError } = binding.builtIns;

  // The brand check: the state of `this`, which must be of a given class.
  function stateOf(object, State) {
    const state = peek(object);
    // Most often of this very class, which is sooner found out than by instanceof.
    if (state !== undefined && (state.constructor === State || state instanceof State)) return state;
    throw new TypeError("Illegal invocation");
  }

  function requireArguments(given, needed, what) {
    if (given < needed) {
      throw new TypeError(what + ": " + needed + " argument" + (needed === 1 ? "" : "s") + " required, but only " + given + " present");
    }
  }

  function checkConstructor(token, name) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor: " + name);
  }

  // Members become enumerable, the prototype gets its tag, constants go where they belong.
  function exposeInterface(Interface, name, constants = {}) {
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

  // A class with the members of another's prototype.
  function withMembers(Class, Other) {
    for (const key of Reflect.ownKeys(Other.prototype)) {
      if (key !== "constructor") Object.defineProperty(Class.prototype, key, Object.getOwnPropertyDescriptor(Other.prototype, key));
    }
    return Class;
  }

  function exposeGlobal(global, name, value) {
    Object.defineProperty(global, name, { value, writable: true, enumerable: false, configurable: true });
  }

  function domException(name, message) {
    return new DOMException(message, name);
  }

  return { INTERNAL, stamp, attach, peek, stateOf, requireArguments, checkConstructor, exposeInterface, exposeGlobal, withMembers, domException };
}
