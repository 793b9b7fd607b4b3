// Array.prototype.join and toLocaleString of an array that is inside itself. ECMAScript goes round until the stack is used up; browsers have
// the empty string for an array that is being joined already, and pages rely on it.
//
// A proxy of the built-in is, to script, the built-in itself: name, length, no constructor, and `[native code]` as its text.
import { apply, defineProperty, getOwnPropertyDescriptor, list } from "./binding.js";

const { Proxy } = globalThis;

// Those that are being joined, outermost first, whichever of the two functions is at it.
const joined = list();

function isJoined(array) {
  for (let i = 0; i < joined.length; i++) if (joined[i] === array) return true;
  return false;
}

// Length and separator are read all the same, in this order, and may throw.
function joinedAgain(array, separator) {
  void +array.length;
  // Symbols throw here, as they do when joined.
  if (separator !== undefined) void `${separator}`;
  return "";
}

const handler = {
  __proto__: null,
  apply(native, array, args) {
    // Each join of a primitive makes an object of its own.
    if (array === null || typeof array !== "object") return apply(native, array, args);
    if (isJoined(array)) return joinedAgain(array, native === join ? args[0] : undefined);
    const depth = joined.length;
    joined[depth] = array;
    try {
      return apply(native, array, args);
    } finally {
      joined.length = depth;
    }
  },
};

const { join } = Array.prototype;
for (const name of ["join", "toLocaleString"]) {
  const descriptor = getOwnPropertyDescriptor(Array.prototype, name);
  descriptor.value = new Proxy(descriptor.value, handler);
  defineProperty(Array.prototype, name, descriptor);
}
