// The memory that JavaScript and the native half share: sixteen words of 32 bits, the head, and a body. What is asked is written there, `exchange()` does
// it, and the answer lies there. `node/src/wire.rs` is the other side.
//
// Keys are in Chromium's form (docs/FORMAT.md, section 2), strings their length and units of UTF-16, lists a count and what is in them.
import { Buffer } from "node:buffer";

import { CALL } from "./calls.js";

const BODY = 64;
// What the memory has at first, and again after something large.
const USUAL = 1 << 16;
// Up to so many bytes are copied one by one.
const FEW = 256;
// What `exchange` gives that is no answer.
const FAILED = -1;
const TOO_SMALL = -2;
// The answer does not fit, the memory has grown, and nothing has happened: to be asked again.
export const AGAIN = -2;

const STRING = 1;
const DATE = 2;
const NUMBER = 3;
const ARRAY = 4;
const BINARY = 6;

const { isArray } = Array;
const { fromCharCode } = String;

// The native half keeps the memory, and with it all of the realm that it is of: the runtime's own, of which modules in jest are not.
const newBuffer = (length) => Buffer.alloc(length).buffer;

export class Wire {
  // Head and body, as views of one buffer. `at` is where in the body the next thing is written or read.
  constructor(start, wake) {
    this.#take(newBuffer(USUAL));
    // The native half does not keep it.
    this.wake = wake;
    this.exchange = start(this.bytes.buffer, wake);
    if (this.exchange === undefined) throw new Error("larder-idb: the native module cannot be started");
  }

  #take(buffer) {
    this.bytes = new Uint8Array(buffer);
    this.view = new DataView(buffer);
    this.words = new Uint32Array(buffer, 0, BODY / 4);
    this.at = BODY;
  }

  // Room for so many more bytes.
  #grow(count) {
    const before = this.bytes;
    const { at } = this;
    let size = before.length;
    while (size < at + count) size *= 2;
    this.#take(newBuffer(size));
    this.bytes.set(before);
    this.at = at;
    this.exchange(this.bytes.buffer);
  }

  ensure(count) {
    if (this.at + count > this.bytes.length) this.#grow(count);
  }

  // After something large: memory is not kept for it.
  shrink() {
    if (this.bytes.length <= 16 * USUAL) return;
    this.#take(newBuffer(USUAL));
    this.exchange(this.bytes.buffer);
  }

  // Begins a request, with what its head has.
  begin(what, a = 0, b = 0, c = 0, d = 0, e = 0, f = 0) {
    const { words } = this;
    words[0] = what;
    words[1] = a;
    words[2] = b;
    words[3] = c;
    words[4] = d;
    words[5] = e;
    words[6] = f;
    this.at = BODY;
  }

  // Asks for the next answer. Gives its kind, or AGAIN.
  next() {
    this.words[0] = CALL.NEXT;
    return this.ask();
  }

  // Does what was asked. Gives a number, or AGAIN; throws the exception that is the answer, made by `fail(name, message)`.
  ask(fail) {
    const answered = this.exchange();
    this.at = BODY;
    if (answered >= 0) return answered;
    if (answered === TOO_SMALL) {
      this.#grow(this.words[0]);
      this.at = BODY;
      return AGAIN;
    }
    if (answered === FAILED) {
      const name = this.string();
      throw fail(name, this.string());
    }
    throw new Error("larder-idb: internal error (see the message on standard error)");
  }

  putU32(value) {
    this.ensure(4);
    this.view.setUint32(this.at, value, true);
    this.at += 4;
  }

  putNumber(value) {
    this.ensure(8);
    this.view.setFloat64(this.at, value, true);
    this.at += 8;
  }

  putByte(value) {
    this.ensure(1);
    this.bytes[this.at++] = value;
  }

  putBytes(bytes) {
    this.ensure(bytes.length);
    this.bytes.set(bytes, this.at);
    this.at += bytes.length;
  }

  // The first bytes of more. A view costs more than copying a few.
  putFirst(from, length) {
    if (length > FEW) {
      this.putBytes(from.subarray(0, length));
      return;
    }
    this.ensure(length);
    const { bytes, at } = this;
    for (let i = 0; i < length; i++) bytes[at + i] = from[i];
    this.at = at + length;
  }

  putString(text) {
    const { length } = text;
    this.ensure(4 + 2 * length);
    const { view } = this;
    let { at } = this;
    view.setUint32(at, length, true);
    at += 4;
    for (let i = 0; i < length; i++, at += 2) view.setUint16(at, text.charCodeAt(i), true);
    this.at = at;
  }

  putStrings(list) {
    this.putU32(list.length);
    for (let i = 0; i < list.length; i++) this.putString(list[i]);
  }

  putKeyPath(path) {
    if (path === null) {
      this.putByte(0);
    } else if (typeof path === "string") {
      this.putByte(1);
      this.putString(path);
    } else {
      this.putByte(2);
      this.putStrings(path);
    }
  }

  #putVarint(value) {
    while (value > 0x7f) {
      this.bytes[this.at++] = (value & 0x7f) | 0x80;
      value >>>= 7;
    }
    this.bytes[this.at++] = value;
  }

  // A key of the binding's (key.js there). It has bounded the nesting.
  putKey(key) {
    if (typeof key === "number") {
      this.ensure(9);
      this.bytes[this.at] = NUMBER;
      this.view.setFloat64(this.at + 1, key, true);
      this.at += 9;
    } else if (typeof key === "string") {
      this.#putStringKey(key);
    } else if (isArray(key)) {
      this.ensure(6);
      this.bytes[this.at++] = ARRAY;
      this.#putVarint(key.length);
      for (let i = 0; i < key.length; i++) this.putKey(key[i]);
    } else if (key.date !== undefined) {
      this.ensure(9);
      this.bytes[this.at] = DATE;
      this.view.setFloat64(this.at + 1, key.date, true);
      this.at += 9;
    } else {
      const bytes = new Uint8Array(key);
      this.ensure(6 + bytes.length);
      this.bytes[this.at++] = BINARY;
      this.#putVarint(bytes.length);
      this.putBytes(bytes);
    }
  }

  #putStringKey(text) {
    const { length } = text;
    this.ensure(6 + 2 * length);
    const { bytes } = this;
    bytes[this.at++] = STRING;
    this.#putVarint(length);
    let { at } = this;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      bytes[at++] = unit >> 8;
      bytes[at++] = unit;
    }
    this.at = at;
  }

  u32() {
    const value = this.view.getUint32(this.at, true);
    this.at += 4;
    return value;
  }

  number() {
    const value = this.view.getFloat64(this.at, true);
    this.at += 8;
    return value;
  }

  byte() {
    return this.bytes[this.at++];
  }

  string() {
    const length = this.u32();
    const text = this.#units(length, 0);
    return text;
  }

  // Units of two bytes each; `high` is where in a unit the high byte stands, 0 for little-endian.
  #units(length, bigEndian) {
    const { bytes } = this;
    let { at } = this;
    let text = "";
    const end = at + 2 * length;
    const low = bigEndian;
    for (; at < end; at += 2) text += fromCharCode(bytes[at + low] | (bytes[at + 1 - low] << 8));
    this.at = end;
    return text;
  }

  strings() {
    const list = new Array(this.u32());
    for (let i = 0; i < list.length; i++) list[i] = this.string();
    return list;
  }

  keyPath() {
    const kind = this.byte();
    if (kind === 0) return null;
    return kind === 1 ? this.string() : this.strings();
  }

  // The bytes of a length that stands before them: a view, for now.
  slice() {
    const length = this.u32();
    const start = this.at;
    this.at = start + length;
    return this.bytes.subarray(start, start + length);
  }

  #varint() {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.bytes[this.at++];
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }

  // A key as the value of a realm's that a script gets.
  key(realm) {
    const { bytes } = this;
    switch (bytes[this.at++]) {
      case NUMBER:
        return this.number();
      case STRING:
        return this.#units(this.#varint(), 1);
      case DATE:
        return new realm.Date(this.number());
      case BINARY: {
        const length = this.#varint();
        const copy = new realm.Uint8Array(length);
        copy.set(bytes.subarray(this.at, this.at + length));
        this.at += length;
        return copy.buffer;
      }
      default: {
        const length = this.#varint();
        const array = realm.newArray();
        for (let i = 0; i < length; i++) realm.append(array, this.key(realm));
        return array;
      }
    }
  }
}
