// Built-ins of a realm as they are before any script runs, and what is made of them. A script can replace what hangs on global objects and
// prototypes: the binding calls none of that, and goes through no iterator.
const { apply, construct } = Reflect;
const { defineProperty, getOwnPropertyDescriptor, getOwnPropertyDescriptors, setPrototypeOf } = Object;
const { isFinite, MAX_SAFE_INTEGER } = Number;
const { trunc } = Math;
const { asUintN } = BigInt;
const { isArray } = Array;
const { exec } = RegExp.prototype;
const { charCodeAt, slice } = String.prototype;
const { register } = FinalizationRegistry.prototype;
const { iterator } = Symbol;

// A list of the binding's own: no setter on a prototype sees what is put into it.
const list = () => setPrototypeOf([], null);

// Puts something at the end of an array that script gets.
function append(array, value) {
  defineProperty(array, array.length, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

function includes(array, value) {
  for (let i = 0; i < array.length; i++) if (array[i] === value) return true;
  return false;
}

// Objects of a class of the binding's have nothing of Object.prototype, which scripts can add to.
function setApart(Class) {
  setPrototypeOf(Class.prototype, null);
}

// A map of the binding's own, with its methods beside it.
class OwnMap extends Map {}
for (const name of ["get", "set", "has", "delete"]) {
  defineProperty(OwnMap.prototype, name, getOwnPropertyDescriptor(Map.prototype, name));
}
setPrototypeOf(OwnMap.prototype, null);

// Calls back with what is held for an object when that has been collected.
function onCollected(callback) {
  const registry = new FinalizationRegistry(callback);
  return (object, held) => apply(register, registry, [object, held]);
}

const matches = (expression, text) => apply(exec, expression, [text]) !== null;
const codeUnitAt = (text, at) => apply(charCodeAt, text, [at]);
const partOf = (text, start, end) => apply(slice, text, [start, end]);

// `global` is the realm whose scripts get what is made: its arrays, promises and exceptions.
export function builtIns(global) {
  const { Array: ArrayOf, BigInt: BigIntOf, DOMException, Number: NumberOf, Object: ObjectOf, Promise: PromiseOf, String: StringOf, TypeError } = global;
  // A literal takes less time than a call.
  const newArray = ArrayOf === Array ? () => [] : () => new ArrayOf();
  const newObject = ObjectOf === Object ? () => ({}) : () => new ObjectOf();

  // A copy that script gets.
  function copyOf(array) {
    const copy = newArray();
    for (let i = 0; i < array.length; i++) append(copy, array[i]);
    return copy;
  }

  // What an exception of the engine's or the binding's says of itself; of others nothing.
  const { name, message } = getOwnPropertyDescriptors(DOMException.prototype);
  const nameOf = (error) => (error instanceof DOMException ? apply(name.get, error, []) : "");
  const messageOf = (error) => (error instanceof DOMException ? apply(message.get, error, []) : "");

  return {
    realm: global, DOMException, Promise: PromiseOf, TypeError, Map, Number: NumberOf, String: StringOf, BigInt: BigIntOf,
    apply, construct, defineProperty, getOwnPropertyDescriptor, isFinite, MAX_SAFE_INTEGER, trunc, asUintN, isArray, iterator,
    list, append, copyOf, newArray, newObject, includes, setApart, OwnMap, onCollected, matches, codeUnitAt, partOf, nameOf, messageOf,
  };
}
