// Lists that no setter of a script's on `Array.prototype` or `Object.prototype` can get between.

const { defineProperty, setPrototypeOf } = Reflect;

// An array without a prototype, for the codec's own: `list[list.length] = item` goes by no setter.
export const newList = () => {
  const list = [];
  setPrototypeOf(list, null);
  return list;
};

// Lets go of the first items of a list that is used again. One that has grown long is given up.
export function cleared(list, count) {
  if (count > 1024) return newList();
  for (let i = 0; i < count; i++) list[i] = undefined;
  return list;
}

// Appends to an array that others will see; the place.
export function append(array, value) {
  const { length } = array;
  defineProperty(array, length, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  return length;
}
