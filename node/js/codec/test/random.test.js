// Random values both ways, beside the codec in Rust and V8's own serialiser. LARDER_SEED starts elsewhere, LARDER_VALUES tries more.
import assert from "node:assert/strict";
import { test } from "node:test";
import v8 from "node:v8";

import { Codec, fit } from "../index.js";
import { describe, plenty } from "./support/beside.js";
import { judge, missing, vectors } from "./support/judge.js";
import { Random, SEED, value } from "./support/random.js";
import { isSame } from "./support/same.js";

const VALUES = Number(process.env.LARDER_VALUES ?? 3000);
const ENVELOPE = 15;
// Before V8 13.1 an error's cause stood in front of its stack, and has to.
const READS = parseFloat(process.versions.v8) < 13.1 ? 14 : v8.serialize(0)[1];

console.log(`seeds ${SEED} to ${SEED + VALUES - 1}`);
const codec = new Codec({ describe });
const values = [];
for (let seed = SEED; seed < SEED + VALUES; seed++) values.push({ seed, given: value(new Random(seed)) });

test("random values come back as they were", () => {
  for (const { seed, given } of values) assert.ok(isSame(codec.decode(codec.encode(given).bytes), given), `seed ${seed}`);
});

test("larder-codec reads random values and writes them by the same bytes", { skip: missing() }, () => {
  const encoded = values.map(({ given }) => codec.encode(given).bytes);
  judge(encoded).forEach(({ error, anew }, at) => {
    const name = `seed ${values[at].seed}`;
    assert.equal(error, undefined, name);
    assert.ok(anew.equals(encoded[at]), `${name}: ${Buffer.from(encoded[at]).toString("hex")}, not ${anew.toString("hex")}`);
  });
});

test("random values in older versions are the same values", () => {
  const versions = [
    { v8: 13, blink: 17 },
    { v8: 13, blink: 20 },
    { v8: 14, blink: 20 },
    { v8: 15, blink: 21 },
    { v8: 16, blink: 21 },
  ];
  const written = versions.map(() => 0);
  for (const { seed, given } of values) {
    versions.forEach((version, at) => {
      const { bytes, needs } = codec.encode(given, version);
      if (!fit(needs, version)) return;
      written[at] += 1;
      assert.equal(bytes[1], version.blink);
      assert.ok(isSame(codec.decode(bytes), given), `seed ${seed} in version ${version.v8} of V8`);
    });
  }
  console.log(`written in each version: ${written}`);
  assert.ok(written.every((count) => count > VALUES / 4));
});

test("V8 reads what is written, and what it writes is read", () => {
  let read = 0;
  for (const { seed, given } of values) {
    const { bytes, needs } = codec.encode(given);
    const name = `seed ${seed}`;
    if (needs.v8 <= READS) {
      assert.ok(isSame(v8.deserialize(bytes.subarray(ENVELOPE)), given), name);
      read += 1;
    }
    const theirs = ownFormat(given);
    if (theirs === undefined) continue;
    const envelope = Buffer.concat([Buffer.from("ff15fe000000000000000000000000", "hex"), theirs]);
    assert.ok(isSame(codec.decode(envelope), given), name);
  }
  console.log(`V8 read ${read} of them`);
  assert.ok(read > VALUES / 2);
});

// V8's own bytes: Node's `serialize` writes views in a form of Node's; this takes V8's. Undefined for what it refuses.
function ownFormat(given) {
  const serializer = new v8.Serializer();
  serializer._setTreatArrayBufferViewsAsHostObjects?.(false);
  serializer.writeHeader();
  try {
    serializer.writeValue(given);
  } catch {
    return undefined;
  }
  return serializer.releaseBuffer();
}

test("every vector of docs/format/values.md is read, and written as larder-codec does", { skip: missing() }, () => {
  const all = vectors();
  assert.ok(all.length > 55);
  judge(all.map(({ bytes }) => bytes)).forEach(({ error, anew }, at) => {
    const { part, first, bytes } = all[at];
    const name = `part ${part}, ${first}`;
    assert.equal(error, undefined, name);
    let decoded;
    try {
      decoded = codec.decode(bytes, plenty(/`[eL]`/.test(first) ? "f" : undefined));
    } catch (refused) {
      // No runtime has these yet; they are read where there is one.
      assert.equal(refused.kind, "Unsupported", `${name}: ${refused}`);
      assert.ok(/Float16Array|immutable/.test(refused.what), name);
      return;
    }
    const again = codec.encode(decoded).bytes;
    assert.ok(positionless(anew).equals(positionless(again)), `${name}: ${Buffer.from(again).toString("hex")}, not ${anew.toString("hex")}`);
  });
});

// Positions of blobs and tokens are counted anew.
const positionless = (bytes) => (/\\[ienLN]/.test(String.fromCharCode(bytes[17], bytes[18])) ? Buffer.from(bytes).subarray(0, 19) : Buffer.from(bytes));
