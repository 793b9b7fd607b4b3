// HTML, 2.7: structured clone.
const refused = (value, what) => throws("DataCloneError", () => structuredClone(value), what);

test("primitives and boxed primitives come out as they went in", () => {
  for (const value of [undefined, null, true, false, 0, -0, 1.5, NaN, Infinity, 2 ** 31, "", "é", "€\ud800", 0n, -1n, 2n ** 100n]) {
    same(structuredClone(value), value);
  }
  for (const value of [Object(true), Object(-0), Object("a\udc00"), Object(-(2n ** 70n))]) {
    const copy = structuredClone(value);
    check(copy !== value && Object.getPrototypeOf(copy) === Object.getPrototypeOf(value));
    same(copy.valueOf(), value.valueOf());
  }
});

test("long text with unpaired surrogates comes out as it went in", () => {
  // A pair lies across each multiple of 8,192 units, the length of the pieces that such text is made of.
  const text = "\ud800" + ("x".repeat(8190) + "\ud83d\ude00").repeat(3) + "\udc00".repeat(20000);
  same(structuredClone(text), text);
  for (const length of [8191, 8192, 8193]) {
    const text = "\ud800".repeat(length);
    same(structuredClone(text), text);
  }
});

test("objects keep the order of their properties and nothing that is not their own", () => {
  const value = Object.create({ inherited: 1 }, { hidden: { value: 2 } });
  Object.assign(value, { b: 1, 2: 2, a: 3, "-1": 4, "\ud800": 5, [Symbol()]: 6 });
  const copy = structuredClone(value);
  same(Object.getPrototypeOf(copy), Object.prototype);
  list(Object.keys(copy), ["2", "b", "a", "-1", "\ud800"]);
  list(Object.values(copy), [2, 1, 3, 4, 5]);
});

test("getters run once, in order, and what they throw comes out", () => {
  const seen = [];
  const value = {
    get a() {
      seen.push("a");
      delete this.b;
      return 1;
    },
    b: 2,
    get c() {
      seen.push("c");
      return 3;
    },
  };
  same(JSON.stringify(structuredClone(value)), '{"a":1,"c":3}');
  list(seen, ["a", "c"]);
  const mine = new RangeError("mine");
  const thrown = throws("RangeError", () =>
    structuredClone({
      get x() {
        throw mine;
      },
    }),
  );
  same(thrown, mine);
});

test("setters of prototypes see nothing of what is made", () => {
  let seen = 0;
  Object.defineProperty(Object.prototype, "trap", { set: () => (seen += 1), configurable: true });
  Object.defineProperty(Array.prototype, "0", { set: () => (seen += 1), configurable: true });
  const value = JSON.parse('{"trap": 1, "__proto__": [5]}');
  const copy = structuredClone(value);
  delete Object.prototype.trap;
  delete Array.prototype[0];
  same(seen, 0);
  list(Object.keys(copy), ["trap", "__proto__"]);
  same(Object.getPrototypeOf(copy), Object.prototype);
});

test("cycles and shared objects stay what they are", () => {
  const shared = {};
  const value = { shared, list: [shared], map: new Map([[shared, shared]]) };
  value.self = value;
  const copy = structuredClone(value);
  same(copy.self, copy);
  same(copy.list[0], copy.shared);
  same(copy.map.get(copy.shared), copy.shared);
});

test("arrays keep holes, length and names", () => {
  const value = [1, , "x"];
  value.length = 10;
  value.name = "n";
  const copy = structuredClone(value);
  same(copy.length, 10);
  list(Object.keys(copy), ["0", "2", "name"]);
  list(structuredClone([1, 2.5, -0, 3]), [1, 2.5, 0, 3]);
  same(Object.is(structuredClone([-0])[0], -0), true);
});

test("dates, regular expressions, maps, sets", () => {
  same(+structuredClone(new Date(5)), 5);
  same(+structuredClone(new Date(NaN)), NaN);
  same(String(structuredClone(/a\/b/dgimsuy)), "/a\\/b/dgimsuy");
  same(structuredClone(/[a--b]/v).flags, "v");
  list([...structuredClone(new Map([[1, "a"], ["b", 2]]))].flat(), [1, "a", "b", 2]);
  list(structuredClone(new Set(["x", 1])), ["x", 1]);
});

test("an object is what its slot says, whatever its prototype and its properties are", () => {
  const make = [
    () => [new Map([[1, 2]]), Map.prototype, (copy) => copy.get(1) === 2],
    () => [new Set([3]), Set.prototype, (copy) => copy.has(3)],
    () => [new Date(4), Date.prototype, (copy) => +copy === 4],
    () => [/x/g, RegExp.prototype, (copy) => String(copy) === "/x/g"],
    () => [Object(true), Boolean.prototype, (copy) => copy.valueOf()],
    () => [Object(5), Number.prototype, (copy) => copy.valueOf() === 5],
    () => [Object("s"), String.prototype, (copy) => copy.valueOf() === "s"],
    () => [Object(6n), BigInt.prototype, (copy) => copy.valueOf() === 6n],
    () => [new Uint8Array([7]).buffer, ArrayBuffer.prototype, (copy) => new Uint8Array(copy)[0] === 7],
    () => [new Uint8Array([8]), Uint8Array.prototype, (copy) => copy[0] === 8],
    () => [new RangeError("r"), Error.prototype, (copy) => copy.message === "r"],
    () => [[9], Array.prototype, (copy) => copy[0] === 9],
  ];
  class Other {
    get [Symbol.toStringTag]() {
      return "Other";
    }
  }
  for (const made of make) {
    for (const prototype of [Object.prototype, null, Other.prototype]) {
      const [value, its, holds] = made();
      Object.setPrototypeOf(value, prototype);
      if (!Array.isArray(value)) value.own = 1;
      const copy = structuredClone({ inside: value }).inside;
      const what = Object.prototype.toString.call(copy);
      same(Object.getPrototypeOf(copy), its, what);
      check(holds(copy), what);
      check(!Object.hasOwn(copy, "own"), what);
    }
  }
  for (const value of [new WeakMap(), new WeakSet(), new WeakRef({}), Object(Symbol()), new SharedArrayBuffer(1)]) {
    Object.setPrototypeOf(value, Object.prototype).own = 1;
    refused(value);
  }
  const plain = structuredClone(Object.assign(new Other(), { own: 1 }));
  same(Object.getPrototypeOf(plain), Object.prototype);
  same(plain.own, 1);
  // Finding out their classes throws and catches: the limit of stacks is put back.
  same(Error.stackTraceLimit, 10);
});

test("buffers and views share what they shared", () => {
  const buffer = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]).buffer;
  const value = [new Uint16Array(buffer, 2, 2), new DataView(buffer, 1), buffer];
  const copy = structuredClone(value);
  same(copy[0].buffer, copy[2]);
  same(copy[1].buffer, copy[2]);
  list(copy[0], [...value[0]]);
  same(copy[1].byteOffset + copy[1].byteLength, 8);
  const resizable = new ArrayBuffer(4, { maxByteLength: 16 });
  const grown = structuredClone([new Uint8Array(resizable), resizable]);
  grown[1].resize(12);
  same(grown[0].length, 12);
  same(grown[1].maxByteLength, 16);
  for (const View of [Int8Array, Uint8ClampedArray, Int32Array, Uint32Array, Float16Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array]) {
    const view = new View(3);
    same(structuredClone(view).constructor, View);
  }
});

test("a view tracks the length of its buffer in the copy if it did, at the greatest length, too", () => {
  for (const size of [8, 12]) {
    const buffer = new ArrayBuffer(8, { maxByteLength: size });
    new Uint8Array(buffer).set([1, 2, 3, 4, 5, 6, 7, 8]);
    const tracking = [new Uint8Array(buffer), new Uint32Array(buffer, 4), new Uint8Array(buffer, 7), new DataView(buffer, 3)];
    const fixed = [new Uint8Array(buffer, 0, 8), new Uint32Array(buffer, 4, 1), new Uint8Array(buffer, 7, 1), new DataView(buffer, 3, 5)];
    const short = new Uint8Array(buffer, 0, 2);
    const copy = structuredClone({ buffer, tracking, fixed, short });
    list(new Uint8Array(buffer), [1, 2, 3, 4, 5, 6, 7, 8]);
    list(tracking.map((view) => view.byteLength), [8, 4, 1, 5]);
    list(new Uint8Array(copy.buffer), [1, 2, 3, 4, 5, 6, 7, 8]);
    copy.buffer.resize(7);
    list(copy.tracking.map((view) => view.byteLength), [7, 0, 0, 4]);
    for (const view of copy.fixed) {
      if (view instanceof DataView) throws("TypeError", () => view.byteLength);
      else throws("TypeError", () => view.at(0));
    }
    same(copy.short.length, 2);
  }
});

test("errors keep type, message, stack and cause, and nothing else", () => {
  const value = Object.assign(new TypeError("m", { cause: { deep: [1] } }), { extra: 1 });
  const copy = structuredClone(value);
  same(Object.getPrototypeOf(copy), TypeError.prototype);
  same(copy.message, "m");
  same(copy.stack, value.stack);
  same(copy.cause.deep[0], 1);
  same("extra" in copy, false);
  class Mine extends Error {
    name = "Mine";
  }
  same(Object.getPrototypeOf(structuredClone(new Mine("x"))), Error.prototype);
  const exception = structuredClone(new DOMException("m", "AbortError"));
  same(exception.code, 20);
  same(exception.constructor, DOMException);
});

test("what cannot be cloned is refused", () => {
  for (const value of [() => {}, Symbol(), new Proxy({}, {}), new Proxy([], {}), new WeakMap(), new WeakSet(), Promise.resolve(), new Event("x"), new EventTarget(), globalThis, indexedDB, new MessageChannel(), Object(Symbol()), (function* () {})(), new WeakRef({}), new SharedArrayBuffer(1)]) {
    refused(value, Object.prototype.toString.call(value));
    refused({ inside: [value] });
  }
  const gone = new ArrayBuffer(1);
  gone.transfer();
  refused(gone, "detached");
});

test("a Map behind another prototype is still a Map", () => {
  const map = new Map([[1, 2]]);
  Object.setPrototypeOf(map, null);
  const copy = structuredClone(map);
  same(Object.getPrototypeOf(copy), Map.prototype);
});

test("nesting costs no native stack", () => {
  let deep = [];
  for (let i = 0; i < 20_000; i++) deep = [deep];
  let copy = structuredClone(deep);
  let depth = 0;
  while (copy.length > 0) {
    copy = copy[0];
    depth += 1;
  }
  same(depth, 20_000);
});
