// CryptoKey (Web Cryptography, 13). What can be done with one is in crypto_pairs.js and crypto_secrets.js.
import { checkConstructor, exposeInterface, INTERNAL, stamp, stateOf } from "./binding.js";
import { make } from "../clone/helpers.js";
import { native } from "./native.js";

// In the order in which Chromium lists them.
const USAGES = [
  "encrypt", "decrypt", "sign", "verify", "deriveKey", "deriveBits", "wrapKey", "unwrapKey",
  "encapsulateKey", "encapsulateBits", "decapsulateKey", "decapsulateBits",
];
const PARAMETERS = ["hash", "length", "modulusLength", "namedCurve", "publicExponent"];

class CryptoKeyState {
  #bytes;
  #algorithm;
  #usages;

  // Type, extractable, usages, the algorithm's name and parameters, and in `data` the key: raw, SPKI or PKCS #8. With `bytes` it was read.
  constructor(attributes, bytes) {
    this.attributes = { __proto__: null, ...attributes, usages: USAGES.filter((usage) => attributes.usages.includes(usage)) };
    this.#bytes = bytes;
  }

  // What scripts get may be changed by them; nothing here looks at it again.
  get algorithm() {
    if (this.#algorithm === undefined) {
      const algorithm = { name: this.attributes.name };
      for (const parameter of PARAMETERS) {
        const value = this.attributes[parameter];
        if (value === undefined) continue;
        if (parameter === "hash") algorithm.hash = { name: value };
        else algorithm[parameter] = parameter === "publicExponent" ? new Uint8Array(value.slice()) : value;
      }
      this.#algorithm = algorithm;
    }
    return this.#algorithm;
  }

  get usages() {
    this.#usages ??= [...this.attributes.usages];
    return this.#usages;
  }

  get cloneKind() {
    return "opaque";
  }

  // A serialised value that is this key alone, and no token beside it.
  cloneFields() {
    // Chromium writes such a key and cannot read it again, nor the value that it is in.
    if (this.attributes.name === "HMAC" && this.attributes.length % 8 !== 0) {
      return "An HMAC key whose length is not a whole number of bytes could not be cloned.";
    }
    this.#bytes ??= native.cryptoKey(this.attributes);
    return [this.#bytes, null];
  }
}

export class CryptoKey {
  constructor(token = undefined, state = undefined) {
    checkConstructor(token, "CryptoKey");
    stamp(this, state);
  }
  get type() {
    return stateOf(this, CryptoKeyState).attributes.type;
  }
  get extractable() {
    return stateOf(this, CryptoKeyState).attributes.extractable;
  }
  get algorithm() {
    return stateOf(this, CryptoKeyState).algorithm;
  }
  get usages() {
    return stateOf(this, CryptoKeyState).usages;
  }
}
exposeInterface(CryptoKey, "CryptoKey");

export const newKey = (attributes, bytes = undefined) => new CryptoKey(INTERNAL, new CryptoKeyState(attributes, bytes));

// What a key is made of; a TypeError for what is no key.
export const attributesOf = (key) => stateOf(key, CryptoKeyState).attributes;

make.cryptoKey = newKey;
