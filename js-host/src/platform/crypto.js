// crypto.getRandomValues and randomUUID (Web Cryptography, 10.1).
import { exposeInterface, INTERNAL, requireArguments, stamp, stateOf } from "./binding.js";
import { native } from "./native.js";
import { subtle } from "./subtle_crypto.js";

class CryptoState {}
const INTEGERS = /^(Int8|Uint8|Uint8Clamped|Int16|Uint16|Int32|Uint32|BigInt64|BigUint64)Array$/;
const BYTES_MAX = 65536;

export class Crypto {
  constructor(token = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor: Crypto");
    stamp(this, new CryptoState());
  }
  getRandomValues(array) {
    stateOf(this, CryptoState);
    requireArguments(arguments.length, 1, "getRandomValues");
    if (!ArrayBuffer.isView(array)) throw new TypeError("getRandomValues: not a typed array");
    if (!INTEGERS.test(array[Symbol.toStringTag])) {
      throw new DOMException("The array is not of integers.", "TypeMismatchError");
    }
    if (array.byteLength > BYTES_MAX) {
      throw new DOMException(`More than ${BYTES_MAX} bytes were asked for.`, "QuotaExceededError");
    }
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(new Uint8Array(native.randomBytes(array.byteLength)));
    return array;
  }
  get subtle() {
    stateOf(this, CryptoState);
    return subtle;
  }
  randomUUID() {
    stateOf(this, CryptoState);
    const bytes = new Uint8Array(native.randomBytes(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = bytes.toHex();
    return [0, 8, 12, 16, 20].map((at, i, all) => hex.slice(at, all[i + 1])).join("-");
  }
}
exposeInterface(Crypto, "Crypto");

export const crypto = new Crypto(INTERNAL);
