// Whether two values are the same: the same primitives in the same places, objects of the same classes, and the same object wherever it is
// the same object there. Of this project's own alone for that: Node's comparison runs into its stack's end where a Set is in itself.

const { prototype } = Object;
const tagOf = (object) => prototype.toString.call(object);
const ownValue = (object, name) => Object.getOwnPropertyDescriptor(object, name)?.value;

export function isSame(a, b, pairs = [new Map(), new Map()]) {
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return Object.is(a, b);
  const [there, back] = pairs;
  if (there.has(a) || back.has(b)) return there.get(a) === b && back.get(b) === a;
  there.set(a, b);
  back.set(b, a);
  const inside = (x, y) => isSame(x, y, pairs);
  const lists = (x, y) => x.length === y.length && x.every((one, at) => inside(one, y[at]));
  // An object without a prototype becomes one with.
  if (tagOf(a) !== tagOf(b) || (Object.getPrototypeOf(a) ?? prototype) !== (Object.getPrototypeOf(b) ?? prototype)) return false;
  if (ArrayBuffer.isView(a)) {
    return a.byteOffset === b.byteOffset && a.byteLength === b.byteLength && inside(a.buffer, b.buffer);
  }
  switch (tagOf(a)) {
    case "[object Date]":
    case "[object Number]":
    case "[object BigInt]":
    case "[object Boolean]":
    case "[object String]":
      return Object.is(a.valueOf(), b.valueOf());
    case "[object RegExp]":
      return a.source === b.source && a.flags === b.flags;
    case "[object Map]":
      return lists([...a].flat(1), [...b].flat(1));
    case "[object Set]":
      return lists([...a], [...b]);
    case "[object ArrayBuffer]":
      return a.maxByteLength === b.maxByteLength && a.resizable === b.resizable && Buffer.compare(Buffer.from(a), Buffer.from(b)) === 0;
    case "[object Error]":
      return (
        a.stack === b.stack &&
        ownValue(a, "message") === ownValue(b, "message") &&
        Object.hasOwn(a, "cause") === Object.hasOwn(b, "cause") &&
        inside(a.cause, b.cause)
      );
    case "[object Array]":
      if (a.length !== b.length) return false;
  }
  const names = Object.keys(a);
  return lists(names, Object.keys(b)) && names.every((name) => inside(ownValue(a, name), ownValue(b, name)));
}
