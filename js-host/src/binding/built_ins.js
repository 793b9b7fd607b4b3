// Built-ins as they are before any script runs, and what is made of them. A script can replace what hangs on global objects and
// prototypes: the binding calls none of that, and goes through no iterator.
const {
  Array: NativeArray,
  BigInt: NativeBigInt,
  DOMException: NativeDOMException,
  FinalizationRegistry,
  Map: NativeMap,
  Math: NativeMath,
  Number: NativeNumber,
  Object: NativeObject,
  Promise: NativePromise,
  Reflect: NativeReflect,
  RegExp: NativeRegExp,
  String: NativeString,
  TypeError: NativeTypeError,
} = globalThis;
export {
  NativeDOMException as DOMException,
  NativeMap as Map,
  NativeNumber as Number,
  NativePromise as Promise,
  NativeString as String,
  NativeTypeError as TypeError,
};
export const realm = globalThis;
export const { apply } = NativeReflect;
export const { asUintN } = NativeBigInt;
export const BigInt = NativeBigInt;
export const { isArray } = NativeArray;
export const { isFinite, MAX_SAFE_INTEGER } = NativeNumber;
export const { trunc } = NativeMath;
export const { iterator } = Symbol;
const { defineProperty, getOwnPropertyDescriptor, getOwnPropertyDescriptors, setPrototypeOf } = NativeObject;
export { defineProperty, getOwnPropertyDescriptor };

// A list of the binding's own: no setter on a prototype sees what is put into it.
export const list = () => setPrototypeOf([], null);

// Puts something at the end of an array that script gets.
export function append(array, value) {
  defineProperty(array, array.length, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

// A copy that script gets.
export function copyOf(array) {
  const copy = [];
  for (let i = 0; i < array.length; i++) append(copy, array[i]);
  return copy;
}

export function includes(array, value) {
  for (let i = 0; i < array.length; i++) if (array[i] === value) return true;
  return false;
}

// Objects of a class of the binding's have nothing of Object.prototype, which scripts can add to.
export function setApart(Class) {
  setPrototypeOf(Class.prototype, null);
}

// A map of the binding's own, with its methods beside it.
export class OwnMap extends NativeMap {}
for (const name of ["get", "set", "has", "delete"]) {
  defineProperty(OwnMap.prototype, name, getOwnPropertyDescriptor(NativeMap.prototype, name));
}
setPrototypeOf(OwnMap.prototype, null);

// Calls back with what is held for an object when that has been collected.
export function onCollected(callback) {
  const registry = new FinalizationRegistry(callback);
  const { register } = FinalizationRegistry.prototype;
  return (object, held) => apply(register, registry, [object, held]);
}

const { exec } = NativeRegExp.prototype;
export const matches = (expression, text) => apply(exec, expression, [text]) !== null;

const { charCodeAt, slice } = NativeString.prototype;
export const codeUnitAt = (text, at) => apply(charCodeAt, text, [at]);
export const partOf = (text, start, end) => apply(slice, text, [start, end]);

// What an exception of the engine's or the binding's says of itself; of others nothing.
const { name: nameGetter, message: messageGetter } = getOwnPropertyDescriptors(NativeDOMException.prototype);
export const nameOf = (error) => (error instanceof NativeDOMException ? apply(nameGetter.get, error, []) : "");
export const messageOf = (error) => (error instanceof NativeDOMException ? apply(messageGetter.get, error, []) : "");
