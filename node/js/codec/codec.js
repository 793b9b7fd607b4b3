// `Codec`: values of a realm to bytes and back.
import { Decoder } from "./decode.js";
import { Encoder } from "./encode.js";
import { blinkOf, fits, GREATEST, greater, LEAST, lesser, USUAL, v8Of, version } from "./needs.js";
import { Platform } from "./platform.js";
import { ReadIn } from "./read_in.js";
import { Realm } from "./realm.js";

const asNumber = ({ v8, blink }) => version(v8, blink);
const asObject = (number) => ({ v8: v8Of(number), blink: blinkOf(number) });

export class Codec {
  #realm;
  #platform;
  #readIn = new ReadIn();
  // One of each that is not in use: a getter that runs while a value is encoded may have another one encoded. One that has thrown is given up, with the objects that
  // it keeps: code that runs whether or not something was thrown takes V8 several times as long to compile.
  #encoder = undefined;
  #decoder = undefined;

  // `global` is the realm's global object, whose constructors make what is decoded. `describe` and `make` are hooks for classes of a
  // host's own (platform.js).
  constructor({ global = globalThis, describe, make } = {}) {
    this.#realm = new Realm(global);
    this.#platform = new Platform(this.#realm, { describe, make });
  }

  // Bytes of a value with its envelope, in the usual versions (Chromium 110 and later), or in those given, which are raised to the least
  // in which anything is written. Gives
  //   bytes           the value, neither compressed nor in a blob
  //   needs           the least versions that have a form for it, {v8, blink, what}; `what` is what needs them
  //   blobs, tokens   its Blobs and Files, and the tokens of its file system handles: the bytes refer to both by position
  // Throws a DataCloneError for what has no form, a RangeError for more than 100,000 containers one inside the other, and what getters throw.
  // In given versions that are less than `needs` the bytes are not to be used.
  encode(value, given = undefined) {
    const encoder = this.encoded(value, given === undefined ? USUAL : lesser(greater(asNumber(given), LEAST), GREATEST));
    const bytes = encoder.bytes.slice(0, encoder.at);
    const { blobs, tokens } = encoder;
    const needs = { ...asObject(encoder.needed), what: encoder.what };
    this.reuse(encoder);
    return { bytes, needs, blobs, tokens };
  }

  // The encoder that has encoded a value in a version, as one number: its `bytes` are the value's up to `at`. Nothing is copied. It may be given back by `reuse`.
  encoded(value, version = USUAL) {
    const encoder = this.#encoder ?? new Encoder(this.#realm, this.#platform, this.#readIn);
    this.#encoder = undefined;
    encoder.encode(value, version);
    return encoder;
  }

  reuse(encoder) {
    this.#encoder = encoder;
  }

  // The value of bytes (a Uint8Array), which may be compressed, but not lie in a blob (`blobOf`).
  // `beside` has `blobs` and `tokens` as `encode` gives them, and `readIn`, the versions that the value was in before, if these are others.
  // Throws a CodecError for bytes that are no value, and for what this runtime has no class for.
  decode(bytes, beside = undefined) {
    const decoder = this.#decoder ?? new Decoder(this.#realm, this.#platform, this.#readIn);
    this.#decoder = undefined;
    const value = decoder.decode(bytes, beside?.readIn === undefined ? beside : { ...beside, readIn: asNumber(beside.readIn) });
    this.#decoder = decoder;
    return value;
  }
}

// Whether versions have a form for a value that needs others, as `encode` says.
export const fit = (needs, given) => fits(asNumber(needs), asNumber(given));
