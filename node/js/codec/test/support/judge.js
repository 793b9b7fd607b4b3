// The codec in Rust as judge: the program `stored_values` (sqlite-store/examples), which `cargo build -p larder-sqlite-store --examples` makes.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

export const ROOT = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../../../../..");
const TARGET = process.env.CARGO_TARGET_DIR ?? path.join(ROOT, "target");
const PROGRAM = process.env.LARDER_STORED_VALUES ?? path.join(TARGET, "debug/examples/stored_values");

// A reason to skip, or false. Where peers are required, their absence is a failure.
export function missing() {
  if (fs.existsSync(PROGRAM)) return false;
  const why = `no ${PROGRAM}: cargo build -p larder-sqlite-store --examples`;
  if (process.env.LARDER_REQUIRE_PEERS) throw new Error(why);
  return why;
}

function* frames(bytes) {
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32LE(at);
    yield bytes.subarray(at + 4, at + 4 + length);
    at += 4 + length;
  }
}

function run(args, input) {
  // Output may be longer than a pipe's buffer should be.
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "larder-codec-"));
  const [given, got] = ["in", "out"].map((name) => path.join(folder, name));
  fs.writeFileSync(given, input);
  const files = [fs.openSync(given, "r"), fs.openSync(got, "w")];
  try {
    const { status, error, signal } = spawnSync(PROGRAM, args, { stdio: [files[0], files[1], "inherit"] });
    if (status !== 0) throw new Error(`${PROGRAM} ${args}: ${error ?? signal ?? status}`);
    return fs.readFileSync(got);
  } finally {
    files.forEach((file) => fs.closeSync(file));
    fs.rmSync(folder, { recursive: true });
  }
}

const fromHex = (hex) => String.fromCharCode(...(hex.match(/.{4}/g) ?? []).map((unit) => parseInt(unit, 16)));

let written;

// Every value of every golden store, with its place and what lies beside it.
export function* fixtures() {
  written ??= run(["fixtures"], "");
  const all = frames(written);
  for (let next = all.next(); !next.done; next = all.next()) {
    const place = JSON.parse(next.value);
    const [stored, payload, anew, asRead] = [0, 1, 2, 3].map(() => all.next().value);
    const names = { database: fromHex(place.database), objectStore: fromHex(place.objectStore) };
    const objects = place.objects.map((object) => ({ ...object, type: text(object.type), name: text(object.name) }));
    yield { ...place, ...names, objects, stored, payload, anew, asRead };
  }
}

const text = (hex) => (hex === undefined ? undefined : fromHex(hex));

// What the judge makes of values: for each `{error, anew}`, of which one is undefined.
export function judge(values) {
  const input = values.flatMap((value) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(value.length);
    return [length, value];
  });
  const told = [];
  const all = frames(run(["judge"], Buffer.concat(input)));
  for (let next = all.next(); !next.done; next = all.next()) {
    const error = next.value.toString();
    const anew = all.next().value;
    told.push(error === "" ? { error: undefined, anew } : { error, anew: undefined });
  }
  if (told.length !== values.length) throw new Error(`${told.length} answers for ${values.length} values`);
  return told;
}

// The vectors of docs/format/values.md: part, first cell, bytes with an envelope.
export function vectors() {
  const TODAY = "ff15fe000000000000000000000000ff10";
  const document = fs.readFileSync(path.join(ROOT, "docs/format/values.md"), "utf8");
  const found = [];
  let part = 0;
  for (const line of document.split("\n")) {
    if (line.startsWith("## ")) part = Number(line[3]);
    const cells = line.replace(/^[| ]+|[| ]+$/g, "").split(" | ");
    const vector = cells.length === 5 ? cells[3].match(/^`([0-9a-f]+)`$/) : null;
    if (vector === null) continue;
    found.push({ part, first: cells[0], bytes: Buffer.from((part === 1 ? "" : TODAY) + vector[1], "hex") });
  }
  return found;
}
