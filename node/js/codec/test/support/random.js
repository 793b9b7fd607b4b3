// Seeded randomness (mulberry32) and random values. LARDER_SEED starts elsewhere.

export const SEED = Number(process.env.LARDER_SEED ?? 1);

export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }
  below(n) {
    return Math.floor(this.next() * n);
  }
  pick(list) {
    return list[this.below(list.length)];
  }
}

const NUMBERS = [0, -0, 1, -1, 127, 128, 2 ** 30 - 1, 2 ** 30, -(2 ** 30), -(2 ** 30) - 1, 2 ** 31, 2 ** 32, 2 ** 53, 0.5, 1e300, 5e-324, NaN, Infinity, -Infinity];
const NAMES = ["a", "name", "0", "7", "00", "4294967294", "4294967295", "-1", "1.5", "", "é", "🙊", "\ud800", "__proto__", "constructor", "length", "toString"];
const VIEWS = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array, DataView];
const ERRORS = [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];

function string(random) {
  const kind = random.below(4);
  const length = random.pick([0, 1, 5, 23, 24, 25, 48, 49, 63, 64, 127, 128, 129, 1000]);
  const top = [0x80, 0x100, 0x3000, 0x10000][kind];
  let out = "";
  for (let i = 0; i < length; i++) out += String.fromCharCode(random.below(top));
  return out;
}

const define = (object, name, value) => Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });

// A value of every kind that V8 has a form for; objects come up again, and inside themselves.
export function value(random, depth = 4, seen = []) {
  const leaf = depth === 0 || random.below(3) === 0;
  const inner = () => value(random, depth - 1, seen);
  const known = (object) => {
    seen.push(object);
    return object;
  };
  switch (random.below(leaf ? 13 : 18)) {
    case 0:
      return random.pick([undefined, null, true, false]);
    case 1:
    case 2:
      return random.pick(NUMBERS);
    case 3:
      return random.below(1000) - 500;
    case 4:
    case 5:
      return string(random);
    case 6:
      return BigInt(random.pick([0, 1, -1, 2 ** 53, -(2 ** 60)])) ** BigInt(random.pick([1, 1, 3, 40]));
    case 7:
      return known(new Date(random.pick([0, NaN, 8.64e15, -1, 1.5])));
    case 8:
      return known(Object(random.pick([true, false, 1.5, -0, "", "boxed ✓", 12345678901234567890n])));
    case 9:
      return known(new RegExp(random.pick(["a+", "", "é/", "🙊"]), random.pick(["", "g", "dgimsuy", "v"])));
    case 10: {
      const View = random.pick(VIEWS);
      const buffer = known(new ArrayBuffer(8 * random.below(40)));
      new Uint8Array(buffer).forEach((_, at, bytes) => (bytes[at] = random.below(256)));
      const offset = 8 * random.below(buffer.byteLength / 8 + 1);
      if (random.below(3) === 0) return buffer;
      const view = new View(buffer, offset);
      return random.below(4) === 0 ? [view, buffer, new Uint8Array(buffer)] : known(view);
    }
    case 11:
      return seen.length > 0 ? random.pick(seen) : 0;
    case 12: {
      const resizable = known(new ArrayBuffer(random.below(20), { maxByteLength: 32 }));
      return random.pick([resizable, new Uint8Array(resizable), new Uint8Array(resizable, 0, Math.min(1, resizable.byteLength))]);
    }
    case 13: {
      const object = known(random.below(8) === 0 ? Object.create(null) : {});
      for (let n = random.below(8); n > 0; n--) define(object, random.pick(NAMES) + (random.below(2) ? random.below(20) : ""), inner());
      return object;
    }
    case 14: {
      const array = known([]);
      for (let n = random.below(8); n > 0; n--) array.push(inner());
      if (random.below(4) === 0) array.length += random.pick([1, 3, 2000]);
      if (random.below(4) === 0) delete array[0];
      if (random.below(4) === 0) define(array, "name", inner());
      return array;
    }
    case 15: {
      const map = known(new Map());
      for (let n = random.below(5); n > 0; n--) map.set(inner(), inner());
      return map;
    }
    case 16: {
      const set = known(new Set());
      for (let n = random.below(5); n > 0; n--) set.add(inner());
      return set;
    }
    default: {
      const error = known(new (random.pick(ERRORS))(random.below(2) ? string(random) : undefined));
      if (random.below(2)) error.stack = random.pick(["", "a stack", "über ✓"]);
      if (random.below(2)) Object.defineProperty(error, "cause", { value: inner(), writable: true, configurable: true });
      return error;
    }
  }
}
