// Values on their way: bytes of the codec's, and the blobs beside them.
import { read, storedBlob } from "./blobs.js";

const NOTHING_BESIDE = undefined;
const BLOB = 0;
const FILE = 1;
const HANDLE = 2;

// A value that the native half has read.
export function readValue(engine, wire) {
  const count = wire.u32();
  if (count === 0) return engine.codec.decode(wire.slice(), NOTHING_BESIDE);
  const beside = { blobs: [], tokens: [] };
  for (let i = 0; i < count; i++) {
    const kind = wire.byte();
    if (kind === HANDLE) beside.tokens.push(wire.slice().slice());
    else beside.blobs.push(readBlob(engine, wire, kind));
  }
  return engine.codec.decode(wire.slice(), beside);
}

function readBlob({ realm }, wire, kind) {
  const type = wire.string();
  const file = kind === FILE ? { name: wire.string(), lastModified: wire.number() } : undefined;
  // What cannot be read has its size, and why.
  if (wire.byte() === 0) {
    const size = wire.number();
    return storedBlob(realm, type, file, undefined, { size, why: wire.string() });
  }
  return storedBlob(realm, type, file, wire.slice().slice());
}

// Writes the value that an encoder has encoded as the native half takes it. Gives what is to be done once it has been taken: blobs are read then.
export function writeValue(engine, wire, encoder) {
  const { blobs, tokens } = encoder;
  const count = blobs.length + tokens.length;
  wire.putU32(count);
  const later = count === 0 ? undefined : writeObjects(engine, wire, blobs, tokens);
  wire.putU32(encoder.at);
  wire.putFirst(encoder.bytes, encoder.at);
  engine.codec.reuse(encoder);
  return later;
}

let lastContent = 0;

function writeObjects(engine, wire, blobs, tokens) {
  const contents = [];
  for (const blob of blobs) {
    const file = engine.realm.fileOf(blob);
    wire.putByte(file === undefined ? BLOB : FILE);
    wire.putString(blob.type);
    wire.putNumber(blob.size);
    lastContent = (lastContent + 1) >>> 0;
    wire.putU32(lastContent);
    contents.push([lastContent, blob]);
    if (file !== undefined) {
      wire.putString(file.name);
      wire.putNumber(file.lastModified);
    }
  }
  for (const token of tokens) {
    wire.putByte(HANDLE);
    wire.putU32(token.length);
    wire.putBytes(token);
  }
  return () => contents.forEach(([number, blob]) => read(engine, number, blob));
}
