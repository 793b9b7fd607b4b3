// Blink's envelope around V8's bytes, of every age (docs/format/values.md, part 1). Reading: `open` finds the value's bytes and versions.
// Writing is writer.js. Fetching a value that lies in a blob is the caller's work, and so are compressing and moving to a blob.
import { CodecError, invalid, truncated, unknownTag } from "./error.js";
import { Reader } from "./reader.js";
import { unpack } from "./snappy.js";
import { VERSION } from "./tags.js";

// The newest versions known.
export const BLINK_MAX = 21;
export const V8_MAX = 16;
// What stands where wrapped and compressed values begin. A true version 17 has V8's header behind it.
const PSEUDO_VERSION = 17;
const IN_BLOB = 1;
const SNAPPY = 2;
// Blink has a version of its own from here on.
const SEPARATE_VERSION_MIN = 16;
export const TRAILER_VERSION_MIN = 21;
export const TRAILER_OFFSET = 0xfe;

// The blob that a record's value lies in, if its bytes say so: its size in bytes and its place among the record's external objects.
// `undefined` if the value is in the bytes themselves. Throws a CodecError if they say it badly.
export function blobOf(bytes) {
  if (!isPseudo(bytes, IN_BLOB)) return undefined;
  const reader = new Reader();
  reader.aim(bytes, 3, bytes.length);
  const size = reader.wideVarint("wrapped value size");
  const index = reader.varint("wrapped value index");
  if (reader.left > 0) throw new CodecError("Trailing", reader.at, "blob wrapper", reader.left);
  return { size, index };
}

const isPseudo = (bytes, kind) => bytes.length >= 3 && bytes[0] === VERSION && bytes[1] === PSEUDO_VERSION && bytes[2] === kind;

// Aims a reader at V8's bytes; the versions, as one number: Blink's times 256, plus V8's.
export function open(bytes, reader) {
  // What is written now, unless the value needs interfaces.
  if (bytes.length > 17 && bytes[0] === VERSION && bytes[1] === BLINK_MAX && bytes[2] === TRAILER_OFFSET && hasNoTrailer(bytes)) {
    const v8 = bytes[16];
    if (bytes[15] === VERSION && v8 >= 1 && v8 <= V8_MAX) {
      reader.aim(bytes, 17, bytes.length);
      return BLINK_MAX * 256 + v8;
    }
  }
  return openAny(bytes, reader);
}

function hasNoTrailer(bytes) {
  for (let i = 3; i < 15; i++) if (bytes[i] !== 0) return false;
  return true;
}

// The naive twin of what stands above.
export function openAny(given, reader) {
  let bytes = given;
  if (bytes.length === 0) throw truncated(0, "value");
  if (isPseudo(bytes, IN_BLOB)) throw new CodecError("Elsewhere", 0, "value");
  if (isPseudo(bytes, SNAPPY)) bytes = unpack(bytes, 3);
  else if (bytes[0] !== VERSION) bytes = swapped(bytes);
  reader.aim(bytes, 0, bytes.length);
  const blink = version(reader, BLINK_MAX, "Blink wire format version");
  let end = bytes.length;
  if (blink >= TRAILER_VERSION_MIN) end = trailerOffset(reader);
  const v8 = blink >= SEPARATE_VERSION_MIN ? version(reader, V8_MAX, "V8 wire format version") : blink;
  // V8's header may reach beyond a place that no writer gives; then nothing is left for the value.
  reader.aim(bytes, Math.min(reader.at, end), end);
  return blink * 256 + v8;
}

function version(reader, max, what) {
  const start = reader.at;
  const tag = reader.byte(what);
  if (tag !== VERSION) throw unknownTag(start, what, tag);
  const found = reader.varint(what);
  if (found < 1 || found > max) throw invalid(start + 1, what, found);
  return found;
}

// `fe`, offset, size, both big-endian. Where V8's bytes end.
function trailerOffset(reader) {
  const WHAT = "trailer offset";
  const start = reader.at;
  const tag = reader.byte(WHAT);
  if (tag !== TRAILER_OFFSET) throw unknownTag(start, WHAT, tag);
  const offset = big(reader, 8, WHAT);
  const size = big(reader, 4, WHAT);
  if (offset === 0 && size === 0) return reader.end;
  if (offset < reader.at || offset + size > reader.end) throw invalid(start, WHAT, offset);
  return offset;
}

function big(reader, count, what) {
  let value = 0;
  for (let i = 0; i < count; i++) value = value * 256 + reader.byte(what);
  return value;
}

// Blink before version 17 wrote 16-bit units in network order.
function swapped(bytes) {
  if (bytes.length % 2 !== 0) throw invalid(0, "Blink wire format version", bytes[0]);
  const out = new Uint8Array(bytes.length);
  for (let i = 0; i < bytes.length; i += 2) {
    out[i] = bytes[i + 1];
    out[i + 1] = bytes[i];
  }
  return out;
}
