// What may be cloned, in which order scripts see it, and what is refused (HTML, StructuredSerializeForStorage).
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import v8 from "node:v8";
import vm from "node:vm";

import * as exported from "../index.js";
import { isSame } from "./support/same.js";

const { Codec, fit, Stored } = exported;
const codec = new Codec();
const clone = (value) => {
  const encoded = codec.encode(value);
  return codec.decode(encoded.bytes, encoded);
};
const refuses = (value, what) =>
  assert.throws(() => codec.encode({ inside: [value] }), (error) => error instanceof DOMException && error.name === "DataCloneError", what);

test("what has no form is refused, never stored as an empty object", async () => {
  const key = await crypto.subtle.generateKey({ name: "AES-GCM", length: 128 }, true, ["encrypt"]);
  const detached = new ArrayBuffer(8);
  const view = new Uint8Array(detached);
  structuredClone(detached, { transfer: [detached] });
  const shrunk = new ArrayBuffer(8, { maxByteLength: 8 });
  const outside = new Uint8Array(shrunk, 4);
  shrunk.resize(2);
  const all = {
    function: () => 1, class: class {}, symbol: Symbol("s"), "Symbol object": Object(Symbol("s")), proxy: new Proxy({ a: 1 }, {}),
    "proxy of an array": new Proxy([1], {}), promise: Promise.resolve(), WeakMap: new WeakMap(), WeakSet: new WeakSet(),
    WeakRef: new WeakRef({}), FinalizationRegistry: new FinalizationRegistry(() => {}), SharedArrayBuffer: new SharedArrayBuffer(1),
    "shared view": new Uint8Array(new SharedArrayBuffer(1)), detached, "detached view": view, "view out of bounds": outside,
    generator: (function* () {})(), "async generator": (async function* () {})(), "array iterator": [].values(),
    "map iterator": new Map().entries(), "string iterator": ""[Symbol.iterator](), "regexp iterator": "a".matchAll(/a/g),
    collator: new Intl.Collator(), module: new WebAssembly.Module(Buffer.from("0061736d01000000", "hex")),
    URL: new URL("http://a/"), URLSearchParams: new URLSearchParams(), Headers: new Headers(), Event: new Event("e"),
    EventTarget: new EventTarget(), AbortSignal: new AbortController().signal, port: new MessageChannel().port1,
    stream: new ReadableStream(), encoder: new TextEncoder(), "CryptoKey without a host's hook": key,
    "a class of the platform extended": new (class extends EventTarget { own = 1; })(),
  };
  for (const name in all) refuses(all[name], name);
});

test("the classes that V8 clones are cloned, whatever their prototypes and tags say", () => {
  const forged = (object, prototype) => Object.setPrototypeOf(object, prototype);
  const tagged = (object) => Object.defineProperty(object, Symbol.toStringTag, { value: "Other" });
  for (const change of [(object) => forged(object, null), (object) => forged(object, Object.prototype), tagged]) {
    assert.deepEqual(clone(change(new Map([[1, 2]]))), new Map([[1, 2]]));
    assert.deepEqual(clone(change(new Set([1]))), new Set([1]));
    assert.deepEqual(clone(change(new Date(7))), new Date(7));
    assert.deepEqual(clone(change(/a/g)), /a/g);
    assert.deepEqual(clone(change(Object("text"))), Object("text"));
    assert.deepEqual(clone(change(new Uint8Array([1, 2]))), new Uint8Array([1, 2]));
    assert.ok(clone(change(new ArrayBuffer(3))) instanceof ArrayBuffer);
    assert.ok(clone(change(new Error("e"))) instanceof Error);
  }
  class Sub extends Map {
    own = 1;
  }
  assert.deepEqual(clone(new Sub([[1, 2]])), new Map([[1, 2]]));
  class Point {
    x = 1;
    get length() {
      return 7;
    }
  }
  assert.deepEqual(clone(new Point()), { x: 1 });
  assert.deepEqual(clone(Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true }, hidden: { value: 3 } })), { own: 2 });
  assert.deepEqual(clone(Object.assign(Object.create(null), { a: 1 })), { a: 1 });
  assert.deepEqual(clone(Object.create(Map.prototype)), {});
  assert.deepEqual(clone((function () { return arguments; })(1, 2)), { 0: 1, 1: 2 });
  // As V8 has it.
  for (const value of [new Sub([[1, 2]]), new Point(), Object.create({ inherited: 1 })]) assert.ok(isSame(clone(value), v8.deserialize(v8.serialize(value))));
});

test("no setter or property of a script's prototypes is in the way of what is read", () => {
  const given = { own: [1, 2, { 3: 4 }], __proto__: null };
  const { bytes } = codec.encode(given);
  const named = codec.encode(Object.fromEntries([["__proto__", 1], ["toString", 2], ["constructor", 3]])).bytes;
  let called = 0;
  const setter = { configurable: true, set: () => (called += 1), get: () => "from a prototype" };
  const readOnly = { configurable: true, writable: false, value: "from a prototype" };
  for (const descriptor of [setter, readOnly]) {
    const places = [[Object.prototype, "own"], [Object.prototype, "3"], [Array.prototype, "0"], [Object.prototype, "1"]];
    const results = { __proto__: null };
    for (const [object, name] of places) Object.defineProperty(object, name, descriptor);
    try {
      results.read = codec.decode(bytes);
      results.bytes = codec.encode(given).bytes;
    } finally {
      for (const [object, name] of places) delete object[name];
    }
    assert.deepEqual(results.read, { own: [1, 2, { 3: 4 }] });
    assert.deepEqual(results.bytes, bytes);
  }
  assert.equal(called, 0);
  const read = codec.decode(named);
  assert.deepEqual(Object.entries(read), [["__proto__", 1], ["toString", 2], ["constructor", 3]]);
  assert.equal(Object.getPrototypeOf(read), Object.prototype);
});

test("getters run once each, in the order of properties, and may change what comes", () => {
  const log = [];
  const value = {
    get b() {
      log.push("b");
      delete value.c;
      value.d = "new";
      return [1];
    },
    get a() {
      log.push("a");
      return 1;
    },
    c: 1,
    d: "old",
  };
  assert.deepEqual(clone(value), { b: [1], a: 1, d: "new" });
  assert.deepEqual(log, ["b", "a"]);
  const array = [1, 2.5, 3];
  let reads = 0;
  Object.defineProperty(array, 1, { get: () => ((reads += 1), 2.5), enumerable: true });
  assert.deepEqual(clone(array), [1, 2.5, 3]);
  assert.equal(reads, 1);
  const thrown = new Error("from a getter");
  assert.throws(() => codec.encode([{ get a() { throw thrown; } }]), (error) => error === thrown);
  // What was begun is forgotten.
  assert.deepEqual(clone({ a: 1 }), { a: 1 });
});

test("a getter may have another value encoded and decoded", () => {
  const shared = { s: 1 };
  const value = {
    first: shared,
    get second() {
      assert.deepEqual(clone([shared, { deep: [shared, "x".repeat(10_000)] }]), [{ s: 1 }, { deep: [{ s: 1 }, "x".repeat(10_000)] }]);
      return shared;
    },
  };
  const read = clone(value);
  assert.equal(read.first, read.second);
});

test("another realm's values are the same bytes, and values are made of the realm that was asked for", () => {
  const context = vm.createContext({ DOMException });
  const source = `({ a: [1, , 2], d: new Date(1), r: /a/g, m: new Map([[1, new Set([2])]]), e: new RangeError("m"), b: new Uint8Array([1]), n: Object(1), x: new (class { own = 1 }) })`;
  const [theirs, ours] = [vm.runInContext(source, context), vm.runInThisContext(source)];
  for (const value of [theirs, ours]) value.e.stack = "stack";
  assert.deepEqual(codec.encode(theirs).bytes, codec.encode(ours).bytes);
  const inside = new Codec({ global: vm.runInContext("globalThis", context) });
  const read = inside.decode(codec.encode(ours).bytes);
  const isTheirs = vm.runInContext(`(value) => [value instanceof Object, value.a instanceof Array, value.d instanceof Date, value.r instanceof RegExp,
    value.m instanceof Map, value.m.get(1) instanceof Set, value.e instanceof RangeError, value.b instanceof Uint8Array, value.n instanceof Number, value.x instanceof Object]`, context);
  assert.deepEqual(Array.from(isTheirs(read)), Array(10).fill(true));
  assert.ok(!(read instanceof Object));
  assert.deepEqual(inside.encode(read).bytes, codec.encode(ours).bytes);
});

test("the same object is the same object, and a value may be inside of itself", () => {
  const value = { list: [] };
  for (let i = 0; i < 40; i++) value.list.push({ value, before: value.list[i >> 1], list: value.list });
  const read = clone(value);
  assert.equal(read.list[39].value, read);
  assert.equal(read.list[39].before, read.list[19]);
  const error = new Error("e");
  error.cause = { error };
  Object.defineProperty(error, "cause", { enumerable: false });
  assert.equal(clone(error).cause.error.message, "e");
});

test("blobs and files lie beside the value, by position", () => {
  const [blob, file] = [new Blob(["b"], { type: "text/plain" }), new File(["f"], "f.txt")];
  const { bytes, blobs, needs } = codec.encode({ blob, files: [file, blob] });
  assert.deepEqual(blobs, [blob, file]);
  assert.equal(needs.blink, 17);
  const read = codec.decode(bytes, { blobs: ["first", "second"] });
  assert.deepEqual(read, { blob: "first", files: ["second", "first"] });
});

test("exceptions keep name, message and stack", () => {
  const read = clone(new DOMException("gone", "AbortError"));
  assert.ok(read instanceof DOMException);
  assert.deepEqual([read.name, read.message, read.code], ["AbortError", "gone", 20]);
  assert.deepEqual(codec.encode(read).bytes, codec.encode(clone(read)).bytes);
  const quota = Buffer.from("ff15fe000000000000000000000000ff105c71036d736700010000000000002440010000000000003440", "hex");
  assert.deepEqual(Buffer.from(codec.encode(codec.decode(quota)).bytes.subarray(17, -6)), quota.subarray(17));
});

test("what a runtime has no class for passes through as it was", () => {
  const point = Buffer.from("ff15fe000000000000000000000000ff105c51000000000000f03f00000000000000400000000000000840000000000000f03f", "hex");
  const read = codec.decode(point);
  assert.ok(read instanceof Stored);
  assert.deepEqual([read.x, read.y, read.z, read.w, String(read)], [1, 2, 3, 1, "[object DOMPoint]"]);
  assert.deepEqual(Buffer.from(codec.encode(read).bytes.subarray(17, -6)), point.subarray(17));
});

test("what was read in a version can be written in that version again", () => {
  const regexp = codec.decode(Buffer.from("ff14ff0d522201618101", "hex"));
  assert.equal(regexp.flags, "dg");
  const old = { v8: 13, blink: 20 };
  const { bytes, needs } = codec.encode({ regexp }, old);
  assert.ok(fit(needs, old));
  assert.equal(codec.decode(bytes).regexp.flags, "dg");
  assert.ok(!fit(codec.encode({ regexp: /a/dg }).needs, old));
  regexp.compile("b", "d");
  assert.ok(!fit(codec.encode({ regexp }).needs, old));
  // Views have no flags in it.
  assert.deepEqual(codec.decode(codec.encode(new Uint16Array([1, 2]), old).bytes), new Uint16Array([1, 2]));
});

test("long values are whole", () => {
  for (const length of [0, 1, 127, 128, 4090, 4096, 70_000, 3_000_000]) {
    for (const text of ["x".repeat(length), "é".repeat(length), "✓".repeat(length)]) assert.equal(clone(text), text);
  }
  const value = Array.from({ length: 50_000 }, (_, at) => ({ at, text: `record ${at}`, half: at / 2 }));
  assert.deepEqual(clone(value), value);
});

test("the README's examples give what they say", () => {
  const blocks = fs.readFileSync(new URL("../README.md", import.meta.url), "utf8").split("```js\n").slice(1);
  let checks = 0;
  for (const block of blocks) {
    const code = block.split("```")[0].replace(/^import .*$/m, "const { Codec } = exported;");
    // An expression with its value behind it.
    const checked = code.replace(/^(\S.*); \/\/ (.+)$/gm, "check($1, $2);");
    const check = (is, says) => {
      checks += 1;
      assert.deepEqual(is, says);
    };
    new Function("exported", "Codec", "check", checked.includes("const { Codec }") ? `{ ${checked} }` : checked)(exported, Codec, check);
  }
  assert.equal(checks, 3);
});
