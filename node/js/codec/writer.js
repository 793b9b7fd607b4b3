// What values are written through: the counterpart of reader.js. Numbers and text as V8 and Blink write them, and the headers and trailer
// around them. It has no tags but those of numbers and strings, and keeps no structure.
import { TRAILER_OFFSET, TRAILER_VERSION_MIN } from "./envelope.js";
import { blinkOf, fits, greater, LEAST, lesser, USUAL, v8Of, version } from "./needs.js";
import * as tags from "./tags.js";
import { isLatin1, putLatin1, putUtf16, toUtf8 } from "./text.js";

const TRAILER = 0xa0;
// V8's small integers, in builds with compressed pointers.
const SMALL_MAX = 2 ** 30 - 1;
const SMALL_MIN = -(2 ** 30);
// A longer buffer is given back when a value is done.
const KEPT_MAX = 1 << 20;

export const isSmall = (number) => (number | 0) === number && number >= SMALL_MIN && number <= SMALL_MAX && (number !== 0 || 1 / number > 0);

export class Writer {
  constructor() {
    this.take(new Uint8Array(4096));
    this.at = 0;
    // The versions whose headers stand in the bytes; 0 if none do.
    this.headed = 0;
    this.version = USUAL;
    this.needed = LEAST;
    this.what = "a value";
    // The versions in which what is being written was read, if it was: it needs no greater ones.
    this.readIn = 0;
    // Tags of Blink's objects, as letters, each once, in the order of first appearance.
    this.interfaces = "";
  }

  // What is written to.
  take(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer);
  }

  // Begins a value with its headers, in these versions.
  begin(told) {
    if (this.headed !== told || this.bytes.length > KEPT_MAX) this.#head(told);
    this.at = blinkOf(told) >= TRAILER_VERSION_MIN ? 17 : 4;
    this.version = told;
    this.needed = LEAST;
    this.what = "a value";
    this.readIn = 0;
    this.interfaces = "";
  }

  #head(told) {
    if (this.bytes.length > KEPT_MAX) this.take(new Uint8Array(4096));
    const { bytes } = this;
    bytes[0] = tags.VERSION;
    bytes[1] = blinkOf(told);
    let at = 2;
    if (bytes[1] >= TRAILER_VERSION_MIN) {
      bytes[2] = TRAILER_OFFSET;
      bytes.fill(0, 3, 15);
      at = 15;
    }
    bytes[at] = tags.VERSION;
    bytes[at + 1] = v8Of(told);
    this.headed = told;
  }

  // Ends it. Most values need nothing at their ends.
  end() {
    if (this.needed !== LEAST || this.interfaces !== "") this.#finish();
  }

  // In the usual versions V8's is raised where something in the value needs that.
  #finish() {
    if (blinkOf(this.version) < TRAILER_VERSION_MIN) return;
    if (v8Of(this.needed) > v8Of(this.version)) {
      this.headed = 0;
      this.bytes[16] = v8Of(this.needed);
    }
    if (this.interfaces.length > 0) this.#trailer();
  }

  #trailer() {
    const count = this.interfaces.length;
    this.headed = 0;
    this.room(5 + count);
    const { bytes, at } = this;
    big(bytes, 3, 8, at);
    big(bytes, 11, 4, 5 + count);
    bytes[at] = TRAILER;
    big(bytes, at + 1, 4, count);
    putLatin1(this.interfaces, bytes, at + 5);
    this.at = at + 5 + count;
  }

  // Something in the value that not every version has a form for.
  needs(v8, blink, what) {
    let needed = version(v8, blink);
    if (this.readIn !== 0) needed = lesser(needed, this.readIn);
    if (fits(needed, this.needed)) return;
    this.needed = greater(this.needed, needed);
    this.what = what;
  }

  // Makes room for so many bytes more.
  room(count) {
    const least = this.at + count;
    if (least <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(least, 2 * this.bytes.length));
    grown.set(this.bytes.subarray(0, this.at));
    this.take(grown);
  }

  byte(byte) {
    if (this.at === this.bytes.length) this.room(1);
    this.bytes[this.at++] = byte;
  }

  raw(bytes) {
    this.room(bytes.length);
    this.bytes.set(bytes, this.at);
    this.at += bytes.length;
  }

  // An unsigned LEB128 number, which a number holds exactly.
  varint(value) {
    if (this.at + 10 > this.bytes.length) this.room(10);
    const { bytes } = this;
    let { at } = this;
    while (value > 0x7f) {
      bytes[at++] = (value % 128) | 0x80;
      value = Math.floor(value / 128);
    }
    bytes[at++] = value;
    this.at = at;
  }

  // A length of a buffer or view: 64 bits wide in V8's version 16, 32 before.
  wideLength(length) {
    if (length > 0xffff_ffff) this.needs(16, 21, "a length of more than 32 bits");
    this.varint(length);
  }

  f64(number) {
    this.room(8);
    this.view.setFloat64(this.at, number, true);
    this.at += 8;
  }

  // A number with its tag: an integer where V8 has one, else a double.
  number(number) {
    if (!isSmall(number)) {
      this.double(number);
      return;
    }
    if (this.at + 6 > this.bytes.length) this.room(6);
    const { bytes } = this;
    let { at } = this;
    let zigzag = ((number << 1) ^ (number >> 31)) >>> 0;
    bytes[at++] = tags.INT32;
    while (zigzag > 0x7f) {
      bytes[at++] = (zigzag & 0x7f) | 0x80;
      zigzag >>>= 7;
    }
    bytes[at++] = zigzag;
    this.at = at;
  }

  // A number with its tag, as a double whatever it is.
  double(number) {
    this.byte(tags.DOUBLE);
    this.f64(number);
  }

  // V8 keeps magnitudes in words of eight bytes and writes all of them.
  bigint(value) {
    this.needs(13, 19, "a BigInt");
    const negative = value < 0n;
    const hex = (negative ? -value : value).toString(16);
    const used = value === 0n ? 0 : Math.ceil(hex.length / 2);
    const length = Math.ceil(used / 8) * 8;
    this.varint(length * 2 + (negative ? 1 : 0));
    this.room(length);
    const { bytes, at } = this;
    for (let i = 0; i < length; i++) {
      const end = hex.length - 2 * i;
      bytes[at + i] = end <= 0 ? 0 : parseInt(hex.slice(Math.max(0, end - 2), end), 16);
    }
    this.at = at + length;
  }

  // A string with its tag: of one byte per unit if all fit, else of two.
  string(text) {
    const { length } = text;
    if (length > 127) {
      this.longString(text);
      return;
    }
    if (this.at + length + 2 > this.bytes.length) this.room(length + 2);
    const { bytes, at } = this;
    const begin = at + 2;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0xff) {
        this.wideString(text);
        return;
      }
      bytes[begin + i] = unit;
    }
    bytes[at] = tags.ONE_BYTE_STRING;
    bytes[at + 1] = length;
    this.at = begin + length;
  }

  longString(text) {
    if (!isLatin1(text)) {
      this.wideString(text);
      return;
    }
    this.byte(tags.ONE_BYTE_STRING);
    this.varint(text.length);
    this.room(text.length);
    putLatin1(text, this.bytes, this.at);
    this.at += text.length;
  }

  // V8 puts the units at an even place.
  wideString(text) {
    const length = 2 * text.length;
    let head = 2;
    for (let rest = length; rest > 0x7f; rest = Math.floor(rest / 128)) head += 1;
    if ((this.at + head) % 2 === 1) this.byte(tags.PADDING);
    this.byte(tags.TWO_BYTE_STRING);
    this.varint(length);
    this.room(length);
    putUtf16(text, this.bytes, this.at);
    this.at += length;
  }

  // Blink's string: length in bytes, then UTF-8, with U+FFFD for what is not well formed.
  utf8(text) {
    const bytes = toUtf8(text);
    this.varint(bytes.length);
    this.raw(bytes);
  }

  // The tag of one of Blink's objects, which the trailer names.
  hostTag(tag) {
    this.byte(tags.HOST_OBJECT);
    this.byte(tag);
    const letter = String.fromCharCode(tag);
    if (!this.interfaces.includes(letter)) this.interfaces += letter;
  }
}

function big(bytes, at, count, value) {
  for (let i = count - 1; i >= 0; i--) {
    bytes[at + i] = value % 256;
    value = Math.floor(value / 256);
  }
}
