// Strings out of bytes and into them. Short ones are made here, since a call out of JavaScript costs more than they do; long ones by the runtime.
import { Buffer } from "node:buffer";
// The global object of jest's jsdom has neither.
import { TextDecoder, TextEncoder } from "node:util";

const { apply } = Reflect;
const { fromCharCode } = String;
const { latin1Slice, ucs2Slice, latin1Write, ucs2Write } = Buffer.prototype;

// Up to so many units a string is made, or taken apart, unit by unit.
const SHORT = 24;
const lossy = new TextDecoder("utf-8", { ignoreBOM: true });
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
const encoder = new TextEncoder();

// Names of properties come again and again: the last string of each fingerprint is kept. It is the one that V8 has in its own table
// of names, which makes it a faster name as well.
const NAMES = 1024;
const NAME_LENGTH_MAX = 32;
const names = new Array(NAMES).fill("");

// A property's name of one-byte units.
export function nameOf(bytes, at, length) {
  if (length === 0 || length > NAME_LENGTH_MAX) return latin1(bytes, at, length);
  const slot = (bytes[at] * 31 + bytes[at + (length >> 1)] * 7 + bytes[at + length - 1] + length * 131) & (NAMES - 1);
  const known = names[slot];
  if (known.length === length) {
    let i = 0;
    while (i < length && known.charCodeAt(i) === bytes[at + i]) i++;
    if (i === length) return known;
  }
  const name = latin1(bytes, at, length);
  names[slot] = name;
  return name;
}

// Units of one byte each.
export function latin1(bytes, at, length) {
  if (length > SHORT) return apply(latin1Slice, bytes, [at, at + length]);
  let text = "";
  const end = at + length;
  while (end - at >= 4) {
    text += fromCharCode(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
    at += 4;
  }
  switch (end - at) {
    case 1:
      return text + fromCharCode(bytes[at]);
    case 2:
      return text + fromCharCode(bytes[at], bytes[at + 1]);
    case 3:
      return text + fromCharCode(bytes[at], bytes[at + 1], bytes[at + 2]);
    default:
      return text;
  }
}

// Units of two bytes each, low byte first.
export function utf16(bytes, at, length) {
  if (length > 2 * SHORT) return apply(ucs2Slice, bytes, [at, at + length]);
  let text = "";
  for (const end = at + length; at < end; at += 2) text += fromCharCode(bytes[at] | (bytes[at + 1] << 8));
  return text;
}

// UTF-8 with U+FFFD for what is not well formed.
export const utf8 = (bytes, at, length) => lossy.decode(bytes.subarray(at, at + length));

// UTF-8 that has to be well formed; undefined if it is not.
export function strictUtf8(bytes, at, length) {
  try {
    return strict.decode(bytes.subarray(at, at + length));
  } catch {
    return undefined;
  }
}

// UTF-8 of a string, with U+FFFD for lone surrogates.
export const toUtf8 = (text) => encoder.encode(text);

// Whether every unit fits a byte.
export function isLatin1(text) {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0xff) return false;
  return true;
}

// Writes the units of a string, all of which fit a byte; there is room.
export function putLatin1(text, bytes, at) {
  if (text.length > 2 * SHORT) {
    apply(latin1Write, bytes, [text, at, text.length]);
    return;
  }
  for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
}

// Writes the units of a string, two bytes each; there is room.
export function putUtf16(text, bytes, at) {
  if (text.length > SHORT) {
    apply(ucs2Write, bytes, [text, at, 2 * text.length]);
    return;
  }
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    bytes[at + 2 * i] = unit;
    bytes[at + 2 * i + 1] = unit >> 8;
  }
}
