// TextEncoder and TextDecoder (Encoding): UTF-8, and decoding of UTF-16 and windows-1252.
import { exposeInterface, requireArguments, stamp, stateOf, webidl } from "./binding.js";

const { toDOMString } = webidl;

export function encodeUtf8(string) {
  const bytes = [];
  for (const character of string) {
    let code = character.codePointAt(0);
    if (code >= 0xd800 && code <= 0xdfff) code = 0xfffd;
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
  }
  return new Uint8Array(bytes);
}

class EncoderState {}

export class TextEncoder {
  constructor() {
    stamp(this, new EncoderState());
  }
  get encoding() {
    stateOf(this, EncoderState);
    return "utf-8";
  }
  encode(input = "") {
    stateOf(this, EncoderState);
    return encodeUtf8(toDOMString(input));
  }
  encodeInto(source, destination) {
    stateOf(this, EncoderState);
    requireArguments(arguments.length, 2, "encodeInto");
    let read = 0;
    let written = 0;
    for (const character of toDOMString(source)) {
      const bytes = encodeUtf8(character);
      if (written + bytes.length > destination.length) break;
      destination.set(bytes, written);
      written += bytes.length;
      read += character.length;
    }
    return { read, written };
  }
}
exposeInterface(TextEncoder, "TextEncoder");

const LABELS = {
  "utf-8": ["utf-8", "utf8", "unicode-1-1-utf-8"],
  "utf-16le": ["utf-16le", "utf-16", "ucs-2", "unicode"],
  "utf-16be": ["utf-16be"],
  "windows-1252": ["windows-1252", "latin1", "iso-8859-1", "ascii", "us-ascii", "l1"],
};

// The continuation of a UTF-8 sequence: how many bytes follow, and the range of the second.
function lead(byte) {
  if (byte >= 0xc2 && byte <= 0xdf) return [1, 0x80, 0xbf, byte & 0x1f];
  if (byte >= 0xe0 && byte <= 0xef) return [2, byte === 0xe0 ? 0xa0 : 0x80, byte === 0xed ? 0x9f : 0xbf, byte & 15];
  if (byte >= 0xf0 && byte <= 0xf4) return [3, byte === 0xf0 ? 0x90 : 0x80, byte === 0xf4 ? 0x8f : 0xbf, byte & 7];
  return null;
}

// Decodes whole sequences; gives the text and, if `stream`, the bytes of an unfinished last one.
function decodeUtf8(bytes, stream, malformed) {
  let text = "";
  let at = 0;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte < 0x80) {
      text += String.fromCharCode(byte);
      at += 1;
      continue;
    }
    const how = lead(byte);
    if (how === null) {
      text += malformed();
      at += 1;
      continue;
    }
    let [needed, low, high, code] = how;
    let next = at + 1;
    while (needed > 0 && next < bytes.length && bytes[next] >= low && bytes[next] <= high) {
      code = (code << 6) | (bytes[next] & 63);
      [low, high] = [0x80, 0xbf];
      needed -= 1;
      next += 1;
    }
    if (needed === 0) text += String.fromCodePoint(code);
    else if (next === bytes.length && stream) return [text, bytes.slice(at)];
    else text += malformed();
    at = next;
  }
  return [text, new Uint8Array()];
}

function decodeUtf16(bytes, bigEndian, stream, malformed) {
  const whole = bytes.length & ~1;
  const unit = (at) => (bigEndian ? (bytes[at] << 8) | bytes[at + 1] : bytes[at] | (bytes[at + 1] << 8));
  let text = "";
  for (let at = 0; at < whole; at += 2) {
    const high = unit(at);
    if ((high & 0xf800) !== 0xd800) {
      text += String.fromCharCode(high);
      continue;
    }
    const isHigh = high < 0xdc00;
    if (isHigh && at + 2 === whole && stream) return [text, bytes.slice(at)];
    const low = isHigh && at + 2 < whole ? unit(at + 2) : 0;
    if ((low & 0xfc00) === 0xdc00) {
      text += String.fromCharCode(high, low);
      at += 2;
    } else if (isHigh && at + 2 === whole && whole < bytes.length) {
      // What is unfinished at the end is one error.
      return [text + malformed(), new Uint8Array()];
    } else {
      text += malformed();
    }
  }
  if (whole === bytes.length) return [text, new Uint8Array()];
  return stream ? [text, bytes.slice(whole)] : [text + malformed(), new Uint8Array()];
}

// What windows-1252 has from 0x80 to 0x9f; all else is Latin-1.
const WINDOWS = "\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f"
  + "\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178";
const decodeWindows = (bytes) => latin1(bytes).replace(/[\x80-\x9f]/g, (c) => WINDOWS[c.charCodeAt(0) - 0x80]);

// Bytes as so many code units.
export function latin1(bytes) {
  let text = "";
  // A call takes so many arguments, not any number.
  for (let at = 0; at < bytes.length; at += 4096) text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  return text;
}

class DecoderState {
  constructor(encoding, fatal, ignoreBOM) {
    Object.assign(this, { encoding, fatal, ignoreBOM, rest: new Uint8Array(), started: false, goesOn: false });
  }

  decode(input, stream) {
    if (!this.goesOn) Object.assign(this, { rest: new Uint8Array(), started: false });
    this.goesOn = stream;
    const bytes = new Uint8Array(this.rest.length + input.length);
    bytes.set(this.rest);
    bytes.set(input, this.rest.length);
    const malformed = () => {
      if (this.fatal) throw new TypeError("The encoded data was not valid.");
      return "\ufffd";
    };
    let text;
    if (this.encoding === "utf-8") [text, this.rest] = decodeUtf8(bytes, stream, malformed);
    else if (this.encoding === "windows-1252") text = decodeWindows(bytes);
    else [text, this.rest] = decodeUtf16(bytes, this.encoding === "utf-16be", stream, malformed);
    const isFirst = !this.started;
    this.started ||= text.length > 0;
    return isFirst && !this.ignoreBOM && text.startsWith("\ufeff") ? text.slice(1) : text;
  }
}

const { apply } = Reflect;
const lengthOf = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength").get;
const sharedLengthOf = Object.getOwnPropertyDescriptor(SharedArrayBuffer.prototype, "byteLength").get;

// The bytes of an AllowSharedBufferSource.
function bytesOf(input) {
  if (input === undefined) return new Uint8Array();
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  try {
    apply(lengthOf, input, []);
  } catch {
    // Throws a TypeError for all else.
    apply(sharedLengthOf, input, []);
  }
  return new Uint8Array(input);
}

export class TextDecoder {
  constructor(label = "utf-8", options = undefined) {
    const wanted = toDOMString(label).trim().toLowerCase();
    const encoding = Object.keys(LABELS).find((name) => LABELS[name].includes(wanted));
    if (encoding === undefined) throw new RangeError(`The encoding label '${wanted}' is unknown to this host.`);
    stamp(this, new DecoderState(encoding, !!options?.fatal, !!options?.ignoreBOM));
  }
  get encoding() {
    return stateOf(this, DecoderState).encoding;
  }
  get fatal() {
    return stateOf(this, DecoderState).fatal;
  }
  get ignoreBOM() {
    return stateOf(this, DecoderState).ignoreBOM;
  }
  decode(input = undefined, options = undefined) {
    const state = stateOf(this, DecoderState);
    return state.decode(bytesOf(input), !!options?.stream);
  }
}
exposeInterface(TextDecoder, "TextDecoder");
