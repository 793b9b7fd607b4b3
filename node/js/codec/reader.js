// The cursor that values are read through: numbers and text as V8 and Blink write them, each bounds-checked. It has no tags but those of
// strings and allocates nothing on the word of a length.
import { invalid, truncated, unknownTag } from "./error.js";
import * as tags from "./tags.js";
import { latin1, strictUtf8, utf16, utf8 } from "./text.js";

const eight = new Uint8Array(8);
const double = new Float64Array(eight.buffer);

export class Reader {
  constructor() {
    this.bytes = eight;
    this.at = 0;
    this.end = 0;
  }

  // What is read next: `bytes` from `at` to `end`.
  aim(bytes, at, end) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get left() {
    return this.end - this.at;
  }

  byte(what) {
    if (this.at >= this.end) throw truncated(this.at, what);
    return this.bytes[this.at++];
  }

  // An unsigned LEB128 number of 32 bits: at most five bytes, no lost bits. Padded forms are taken, as V8 takes them.
  varint(what) {
    const first = this.at < this.end ? this.bytes[this.at] : 0xff;
    if (first < 0x80) {
      this.at += 1;
      return first;
    }
    return this.longVarint(5, 0xffff_ffff, what);
  }

  // One of 64 bits, of those a number holds exactly.
  wideVarint(what) {
    return this.longVarint(10, Number.MAX_SAFE_INTEGER, what);
  }

  longVarint(lengthMax, max, what) {
    const start = this.at;
    let value = 0;
    let unit = 1;
    for (let i = 0; i < lengthMax; i++) {
      const byte = this.byte(what);
      value += (byte & 0x7f) * unit;
      unit *= 128;
      if (byte < 0x80) {
        if (value > max) throw invalid(start, what, value);
        return value;
      }
    }
    throw invalid(start, what, value);
  }

  // A signed number of 32 bits.
  zigzag(what) {
    const zigzag = this.varint(what);
    return (zigzag >>> 1) ^ -(zigzag & 1);
  }

  f64(what) {
    const { bytes, at } = this;
    if (this.end - at < 8) throw truncated(at, what);
    for (let i = 0; i < 8; i++) eight[i] = bytes[at + i];
    this.at = at + 8;
    return double[0];
  }

  // A varint that must be 0 or 1.
  bool(what) {
    const start = this.at;
    const value = this.varint(what);
    if (value > 1) throw invalid(start, what, value);
    return value === 1;
  }

  // Passes over so many bytes; where they begin.
  skip(length, what) {
    const { at } = this;
    if (length > this.end - at) throw truncated(at, what);
    this.at = at + length;
    return at;
  }

  // A copy of so many bytes.
  take(length, what) {
    const at = this.skip(length, what);
    return this.bytes.slice(at, at + length);
  }

  // Blink's string: length in bytes, then well-formed UTF-8.
  utf8(what) {
    const length = this.varint(what);
    const at = this.skip(length, what);
    const text = strictUtf8(this.bytes, at, length);
    if (text === undefined) throw invalid(at, what);
    return text;
  }

  // V8's string, behind its tag.
  string(tag) {
    const length = this.varint("string length");
    const at = this.skip(length, "string");
    if (tag === tags.ONE_BYTE_STRING) return latin1(this.bytes, at, length);
    if (tag === tags.UTF8_STRING) return utf8(this.bytes, at, length);
    if (tag !== tags.TWO_BYTE_STRING) throw unknownTag(at, "string", tag);
    if (length % 2 !== 0) throw invalid(at, "two-byte string length", length);
    return utf16(this.bytes, at, length);
  }

  // The next tag that is not padding.
  tag() {
    const { bytes, end } = this;
    let { at } = this;
    while (at < end) {
      const tag = bytes[at++];
      if (tag !== tags.PADDING) {
        this.at = at;
        return tag;
      }
    }
    throw truncated(end, "tag");
  }
}
