// Bytes that say anything: each is a value or an error, and both soon, without much memory and without the end of the stack.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Codec, CodecError } from "../index.js";
import { unpack } from "../snappy.js";
import { beside, describe, plenty } from "./support/beside.js";
import { fixtures, judge, missing, vectors } from "./support/judge.js";
import { Random, SEED } from "./support/random.js";

const TODAY = Buffer.from("ff15fe000000000000000000000000ff10", "hex");
const MUTATIONS = Number(process.env.LARDER_MUTATIONS ?? 30_000);
const codec = new Codec({ describe });
const wire = (...parts) => Buffer.concat([TODAY, ...parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : part))]);
const varint = (number) => {
  const bytes = [];
  for (; number > 0x7f; number = Math.floor(number / 128)) bytes.push((number % 128) | 0x80);
  return Buffer.from([...bytes, number]);
};

function errorOf(bytes) {
  try {
    codec.decode(bytes, plenty());
  } catch (error) {
    assert.ok(error instanceof CodecError, `${error.stack}`);
    return error;
  }
  return undefined;
}

// One change or a few: bits, bytes, places where numbers and tags are likely, pieces that go or come twice.
function mutated(random, bytes, other) {
  let out = Buffer.from(bytes);
  for (let changes = 1 + random.below(3); changes > 0 && out.length > 0; changes--) {
    const at = random.below(out.length);
    switch (random.below(6)) {
      case 0:
        out[at] ^= 1 << random.below(8);
        break;
      case 1:
        out[at] = random.below(256);
        break;
      case 2:
        out[at] = random.pick([0, 1, 0x7f, 0x80, 0xff, ...Buffer.from('_0TFIUNZ"cSoaA{@$;:\',DyxnzsRBC~V^r.\\mE')]);
        break;
      case 3:
        out = out.subarray(0, at);
        break;
      case 4: {
        const end = Math.min(out.length, at + 1 + random.below(16));
        out = Buffer.concat([out.subarray(0, end), out.subarray(at)]);
        break;
      }
      default: {
        const from = random.below(other.length);
        out = Buffer.concat([out.subarray(0, at), other.subarray(from, from + random.below(24)), out.subarray(at)]);
      }
    }
  }
  return out;
}

test("changed bytes are taken or refused as larder-codec does, and taken for the same value", { skip: missing(), timeout: 60_000 }, () => {
  console.log(`seed ${SEED}, ${MUTATIONS} changed values`);
  const random = new Random(SEED);
  const small = vectors().map(({ bytes }) => bytes);
  // Of values that are alike one.
  const kinds = new Set();
  for (const { fixture, payload, stored } of fixtures()) {
    if (payload.length > 600) continue;
    const kind = `${fixture} ${payload.toString("latin1").replace(/[0-9 ]/g, "")}`;
    if (kinds.size > 6000 || kinds.has(kind)) continue;
    kinds.add(kind);
    small.push(random.below(2) ? payload : stored);
  }
  const values = Array.from({ length: MUTATIONS }, () => mutated(random, random.pick(small), random.pick(small)));
  const count = { refused: 0, taken: 0, otherwise: 0, here: 0 };
  judge(values).forEach(({ error, anew }, at) => {
    const bytes = values[at];
    const name = `${at}: ${bytes.toString("hex")}`;
    let decoded;
    try {
      decoded = codec.decode(bytes, plenty());
    } catch (ours) {
      assert.ok(ours instanceof CodecError, `${name}: ${ours.stack}`);
      if (error === undefined) {
        // What this runtime has no class for, or no pattern, or lies beside no value.
        assert.ok(ours.kind === "Unsupported" || /size$/.test(ours.what), `${name}: ${ours} where it is ${anew?.toString("hex")}`);
        count.here += 1;
      } else {
        count.refused += 1;
      }
      return;
    }
    assert.equal(error, undefined, `${name}: taken`);
    count.taken += 1;
    const again = codec.encode(decoded).bytes;
    if (Buffer.compare(again, anew) === 0) return;
    count.otherwise += 1;
    assert.ok(isKnown(bytes), `${name}: ${Buffer.from(again).toString("hex")}, not ${anew.toString("hex")}`);
  });
  console.log(JSON.stringify(count));
  assert.ok(count.refused > MUTATIONS / 3 && count.taken > MUTATIONS / 10 && count.here + count.otherwise < MUTATIONS / 100, JSON.stringify(count));
});

// The bits of a NaN are no script's to see; what stands in for Blobs is of one class, and places of tokens are counted anew.
const isKnown = (bytes) => /f[0-9a-f][7f]f/.test(bytes.toString("hex")) || /\\[ieLnN]/.test(bytes.toString("latin1"));

test("nesting costs no stack, and ends at its limit", () => {
  const deep = (depth) => wire("A\x01".repeat(depth), "_", "$\x00\x01".repeat(depth));
  let value = codec.decode(deep(100_000));
  let depth = 0;
  for (; Array.isArray(value); value = value[0]) depth += 1;
  assert.equal(depth, 100_000);
  assert.equal(errorOf(deep(100_001)).kind, "LimitExceeded");
  const maps = wire(";".repeat(50_000), "_", "_:\x02".repeat(50_000));
  assert.ok(codec.decode(maps) instanceof Map);
  // Written as it was read.
  const bytes = deep(100_000);
  assert.deepEqual(Buffer.from(codec.encode(codec.decode(bytes)).bytes.subarray(17)), bytes.subarray(17));
  assert.throws(() => codec.encode([codec.decode(bytes)]), RangeError);
});

test("nothing is reserved on the word of a length", () => {
  const before = process.memoryUsage().rss;
  const most = varint(0xffff_ffff);
  for (const tag of ["A", "B", '"', "c", "S", "Z", "C", "\\L", "\\#\x00", "\\K\x01\x01"]) {
    const error = errorOf(wire(tag, most, "_".repeat(100)));
    assert.ok(["Truncated", "Invalid", "UnknownTag"].includes(error?.kind), `${tag}: ${error}`);
  }
  // A length without elements: a million of them would be gigabytes.
  const sparse = (length) => Buffer.concat([Buffer.from("a"), varint(length), Buffer.from("@\0"), varint(length)]);
  for (const length of [1025, 30_000_000, 0xffff_ffff]) {
    const array = codec.decode(wire(sparse(length)));
    assert.equal(array.length, length);
    assert.deepEqual(Object.keys(array), []);
  }
  const many = wire("A", varint(1000), ...Array.from({ length: 1000 }, () => sparse(30_000_000)), "$\x00", varint(1000));
  assert.equal(codec.decode(many)[999].length, 30_000_000);
  // A dense array within a dense array, each said to be as long as all that is left.
  const nested = Buffer.concat([...Array.from({ length: 50_000 }, (_, at) => Buffer.concat([Buffer.from("A"), varint(200_000 - 4 * at)])), Buffer.from("_")]);
  assert.ok(["Truncated", "Invalid"].includes(errorOf(wire(nested)).kind));
  const grown = (process.memoryUsage().rss - before) / 2 ** 20;
  assert.ok(grown < 300, `${grown} MiB`);
});

test("compressed bytes grow by what Snappy can make of them at most", () => {
  const packed = (length, rest) => Buffer.concat([Buffer.from("ff1102", "hex"), varint(length), rest]);
  assert.equal(errorOf(packed(0xffff_ffff, Buffer.alloc(10))).kind, "Invalid");
  // "aaaaa": one byte, and a copy of four at distance 1. At distance 2 that reaches in front of the beginning, at 0 nowhere.
  const block = (hex) => unpack(Buffer.from(hex, "hex"), 0);
  assert.deepEqual(block("0500610101"), new Uint8Array(5).fill(0x61));
  for (const hex of ["0500610102", "0500610100", "0400610101", "0600610101", "01046161", "0504", "05f0ff", "05fcffffffff61", "05006101"]) {
    assert.throws(() => block(hex), CodecError, hex);
  }
});

test("many names and keys take no more than their time", { timeout: 20_000 }, () => {
  // Names of one fingerprint, entries of one hash for a poor one, an object referred to from everywhere.
  const names = Array.from({ length: 60_000 }, (_, at) => `a${String(at).padStart(9, "0")}z`);
  const object = wire("o", ...names.map((name) => Buffer.from(`"\x0b${name}_`, "latin1")), "{", varint(names.length));
  assert.equal(Object.keys(codec.decode(object)).length, names.length);
  const twice = wire("o", ...[...names, names[7]].map((name) => Buffer.from(`"\x0b${name}_`, "latin1")), "{", varint(names.length + 1));
  assert.equal(errorOf(twice).what, "object with a property name twice");
  const references = wire("A", varint(300_001), "o{\x00", "^\x01".repeat(300_000), "$\x00", varint(300_001));
  const [first, ...rest] = codec.decode(references);
  assert.ok(rest.every((object) => object === first));
});

test("fields that contradict each other are refused", () => {
  const buffer = "B\x08abcdefgh";
  const resizable = "~\x08\x10abcdefgh";
  assert.deepEqual(codec.decode(wire(buffer, "VW\x02\x06\x00")), new Uint16Array([0x6463, 0x6665, 0x6867]));
  const key = (length, data) => `\\K\x01\x09${String.fromCharCode(length)}\x07${String.fromCharCode(data)}${"k".repeat(data)}`;
  assert.equal(errorOf(wire(key(16, 16))), undefined);
  const image = (width, length) => `\\#\x01\x01\x03\x00\x00${String.fromCharCode(width)}\x01${String.fromCharCode(length)}${"p".repeat(length)}`;
  assert.equal(errorOf(wire(image(1, 4))), undefined);
  const refused = {
    "half an element in": buffer + "VW\x01\x02\x00",
    "one and a half long": buffer + "VW\x02\x03\x00",
    "past the end": buffer + "VW\x02\x08\x00",
    "starts past the end": buffer + "VW\x0a\x00\x00",
    "no such kind of view": buffer + "VX\x00\x00\x00",
    "no such flag": buffer + "VW\x00\x00\x04",
    "a fixed buffer said to be resizable": buffer + "VW\x00\x00\x02",
    "a resizable buffer said to be fixed": resizable + "VW\x00\x00\x00",
    "a resizable buffer longer than it can be": "~\x08\x07abcdefgh",
    "a view of no buffer": "VW\x00\x00\x00",
    "a key of another length": key(16, 15),
    "pixels that do not fill the picture": image(2, 4),
    "an object that was not": "^\x00",
    "both modes of Unicode": 'R"\x01a\x90\x02',
    "a pattern that is none": 'R"\x01(\x00',
    "a negative zero": "Z\x01",
    "elements that come twice": 'A\x01TI\x00T$\x01\x01',
    "a length of its own": 'a\x01"\x06lengthT@\x01\x01',
    "another length at the end": "a\x01@\x00\x02",
    "properties that were not": "o{\x01",
    "a map without a value": ";T:\x01",
    "a second value": "TT",
    "a trailer where there is none": "T\xa0\x00",
    "a message's tag": "t\x00",
  };
  for (const name in refused) assert.ok(errorOf(wire(refused[name])) instanceof CodecError, name);
});

test("short bytes are refused wherever they end", () => {
  const { bytes } = codec.encode({ a: [1, 2.5, "x", "✓".repeat(100)], b: new Map([[new Date(0), /a/g]]), c: new TypeError("x", { cause: 1n }), d: new Uint8Array(9) });
  assert.equal(errorOf(bytes), undefined);
  for (let length = 0; length < bytes.length; length++) assert.ok(errorOf(bytes.subarray(0, length)) instanceof CodecError, `${length}`);
});

test("what lies beside a value and does not is an error", () => {
  const error = (text, given) => {
    try {
      codec.decode(wire(text), given);
    } catch (found) {
      return found.kind;
    }
    return undefined;
  };
  assert.equal(error("\\i\x00", undefined), "Unsupported");
  assert.equal(error("\\i\x01", beside([{ type: "" }])), "Unsupported");
  assert.equal(error("\\L\x02\x00\x01", beside([{ type: "" }])), "Unsupported");
  assert.equal(error("\\n\x01a\x00", beside([{ type: "" }])), "Unsupported");
  assert.equal(error("\\i\x00", beside([{ type: "" }])), undefined);
});
