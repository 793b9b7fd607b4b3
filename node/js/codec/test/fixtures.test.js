// Every value of every golden store: the bytes that the codec in Rust gives, what V8 itself reads, and what the page in Chromium said.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import v8 from "node:v8";

import { differences, readDocument } from "../../../../fixtures/generate/lib/canonical.mjs";
import { Codec } from "../index.js";
import { beside, describe } from "./support/beside.js";
import { fixtures, missing, ROOT } from "./support/judge.js";
import { page, valueNode } from "./support/page.js";
import { isSame } from "./support/same.js";

const skip = missing();
const FIXTURES = path.join(ROOT, "fixtures");
// What this runtime has no class for.
const cannot = (error) => error.kind === "Unsupported" && error.what === "Float16Array" && typeof Float16Array === "undefined";

test("every value comes out as the bytes that larder-codec gives, and as V8 reads it", { skip }, () => {
  const codec = new Codec({ describe });
  const count = { values: 0, asRead: 0, unsupported: 0, v8: 0, refused: 0 };
  for (const { fixture, position, objects, stored, payload, anew, asRead } of fixtures()) {
    const name = `${fixture}, record ${position}`;
    count.values += 1;
    let value;
    try {
      value = codec.decode(stored, beside(objects));
    } catch (error) {
      if (!cannot(error)) throw new Error(name, { cause: error });
      count.unsupported += 1;
      continue;
    }
    const { bytes } = codec.encode(value);
    assert.ok(anew.equals(bytes), `${name}: ${Buffer.from(bytes.subarray(0, 200)).toString("hex")}, not ${anew.subarray(0, 200).toString("hex")}`);
    count.asRead += Number(asRead.equals(bytes));
    if (!v8Reads(payload)) continue;
    const theirs = deserialized(payload);
    if (theirs === REFUSED) {
      // Later versions refuse errors as Chromium 110 and 119 wrote them, with the cause in front of the stack.
      assert.ok(/^c11/.test(fixture) && payload.includes("rm"), name);
      count.refused += 1;
      continue;
    }
    assert.ok(isSame(theirs, value), name);
    count.v8 += 1;
  }
  console.log(JSON.stringify(count));
  assert.ok(count.values > 48_000 && count.unsupported < 20 && count.asRead > 0.95 * count.values, JSON.stringify(count));
  assert.ok(count.v8 > 20_000 && count.refused < 20, JSON.stringify(count));
});

// V8's part begins with its header. From version 21 on a place for the trailer is in front of that.
const v8Part = (bytes) => bytes.subarray(bytes[1] === 21 ? 15 : 2);

// Without Blink's objects or trailer, and of a version that this V8 has.
function v8Reads(payload) {
  if (payload[0] !== 0xff || payload[1] < 17) return false;
  if (payload[1] === 21 && payload.subarray(3, 15).some((byte) => byte !== 0)) return false;
  return v8Part(payload)[1] <= v8.serialize(0)[1] && !payload.includes(0x5c);
}

const REFUSED = Symbol("refused");

function deserialized(payload) {
  try {
    return v8.deserialize(v8Part(payload));
  } catch {
    return REFUSED;
  }
}

test("every value is what the page in Chromium said of it", { skip }, async () => {
  const { fixtures: entries } = JSON.parse(fs.readFileSync(path.join(FIXTURES, "MANIFEST.json"), "utf8"));
  const expected = new Map();
  for (const { name, expected: file } of entries) {
    if (file === undefined) continue;
    for (const database of readDocument(path.join(FIXTURES, file)).databases) {
      for (const store of database.stores) expected.set(JSON.stringify([name, textOf(database.name), textOf(store.name)]), store);
    }
  }
  const codec = new Codec(page);
  const count = { values: 0, stores: 0, unreadable: 0, unsupported: 0, without: 0 };
  const met = new Set();
  for (const { fixture, database, objectStore, position, objects, stored } of fixtures()) {
    const key = JSON.stringify([fixture, database, objectStore]);
    const told = expected.get(key);
    if (told === undefined) {
      count.without += 1;
      continue;
    }
    met.add(key);
    const name = `${key}, record ${position}`;
    const [primaryKey, node] = told.records[position];
    if (node.t === "UNREADABLE") {
      count.unreadable += 1;
      continue;
    }
    if (typeof Float16Array === "undefined" && JSON.stringify(node).includes('"Float16Array"')) {
      count.unsupported += 1;
      continue;
    }
    const value = codec.decode(stored, beside(objects));
    if (told.autoIncrement && typeof told.keyPath === "string") inject(value, told.keyPath, primaryKey);
    const ours = await valueNode(value);
    // Across versions: that of Chromium 64 does not say of what colour space an ImageData is.
    assert.deepEqual(differences({ databases: bare(node) }, { databases: bare(ours) }, { acrossVersions: true }), [], name);
    count.values += 1;
  }
  count.stores = met.size;
  console.log(JSON.stringify(count));
  assert.ok(count.values > 40_000 && count.stores > 600 && count.unreadable === 0, JSON.stringify(count));
});

const textOf = (node) => (typeof node === "string" ? node : Buffer.from(node.utf16, "hex").swap16().toString("utf16le"));

// The bytes of blobs and the times of files do not lie in values.
function bare(node) {
  return JSON.parse(JSON.stringify(node), (_, inner) => {
    if (inner?.t === "Blob" || inner?.t === "File") {
      delete inner.bytes;
      delete inner.lastModified;
    }
    return inner;
  });
}

// A generated key, which is not in the value.
function inject(value, keyPath, key) {
  if (value === null || typeof value !== "object" || key.t !== "number") return;
  const names = keyPath.split(".");
  const last = names.pop();
  let object = value;
  for (const name of names) object = object[name] ??= {};
  if (!Object.hasOwn(object, last)) object[last] = Number(key.v);
}
