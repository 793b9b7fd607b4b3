// Raw Snappy blocks, as Blink compresses long values with: unpacking alone. Format: google/snappy, format_description.txt.
import { invalid } from "./error.js";
import { Reader } from "./reader.js";

const WHAT = "Snappy block";
// A copy of three bytes makes at most 64, and nothing makes more of its bytes.
const GROWTH_MAX = 22;

// Unpacks bytes from `start` on.
export function unpack(bytes, start) {
  const reader = new Reader();
  reader.aim(bytes, start, bytes.length);
  const length = reader.varint(WHAT);
  if (length > (bytes.length - start) * GROWTH_MAX) throw invalid(start, WHAT, length);
  const out = new Uint8Array(length);
  let filled = 0;
  while (reader.left > 0) {
    const tag = reader.byte(WHAT);
    const kind = tag & 3;
    if (kind === 0) {
      filled = literal(reader, tag >> 2, out, filled);
      continue;
    }
    const count = kind === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
    const distance = kind === 1 ? ((tag >> 5) << 8) | reader.byte(WHAT) : little(reader, kind === 2 ? 2 : 4);
    if (distance === 0 || distance > filled || count > length - filled) throw invalid(reader.at, WHAT, distance);
    // What is copied may be what is being written.
    for (let i = 0; i < count; i++) out[filled + i] = out[filled - distance + i];
    filled += count;
  }
  if (filled !== length) throw invalid(start, WHAT, length);
  return out;
}

function literal(reader, code, out, filled) {
  const length = (code < 60 ? code : little(reader, code - 59)) + 1;
  if (length > out.length - filled) throw invalid(reader.at, WHAT, length);
  const at = reader.skip(length, WHAT);
  out.set(reader.bytes.subarray(at, at + length), filled);
  return filled + length;
}

function little(reader, count) {
  let value = 0;
  for (let i = 0; i < count; i++) value += reader.byte(WHAT) * 2 ** (8 * i);
  return value;
}
