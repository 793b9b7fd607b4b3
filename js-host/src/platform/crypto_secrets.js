// Keys that are bytes: AES, HMAC, and what HKDF and PBKDF2 derive from (Web Cryptography, 27 to 33).
import { checkUsages, fail, requireUsages } from "./crypto_algorithms.js";
import { bytesOf, checkAlg, checkJwk, jwkOf } from "./crypto_jwk.js";
import { newKey } from "./crypto_key.js";
import { native } from "./native.js";

const RANDOM_MAX = 65536;

function randomBytes(length) {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += RANDOM_MAX) {
    bytes.set(new Uint8Array(native.randomBytes(Math.min(RANDOM_MAX, length - at))), at);
  }
  return bytes;
}

function unsupported(format) {
  fail("NotSupportedError", `Keys of this algorithm have no form '${format}'.`);
}

const secret = (attributes, extractable, usages, bytes) => {
  requireUsages(usages);
  return newKey({ ...attributes, type: "secret", extractable, usages, data: bytes.buffer });
};

// The bytes of a raw key or of a JSON Web Key.
function imported(format, data, use, usages, extractable) {
  if (format === "raw") return new Uint8Array(data);
  if (format !== "jwk") unsupported(format);
  checkJwk(data, "oct", use, usages, extractable);
  return bytesOf(data, "k");
}

function exported(format, { data, usages, extractable }, alg) {
  if (format === "raw") return data.slice();
  if (format !== "jwk") unsupported(format);
  return jwkOf({ k: data }, { kty: "oct", alg }, usages, extractable);
}

function aes(usages) {
  // Chromium has no keys of 192 bits, and cannot read a value with one.
  const LENGTHS = [128, 256];
  const algOf = (name, length) => `A${length}${name.slice(4)}`;
  return {
    generate({ name, length }, extractable, wanted) {
      checkUsages(wanted, usages);
      if (!LENGTHS.includes(length)) fail("OperationError", "AES keys have 128 or 256 bits here.");
      return secret({ name, length }, extractable, wanted, randomBytes(length / 8));
    },
    import(format, data, { name }, extractable, wanted) {
      checkUsages(wanted, usages);
      const bytes = imported(format, data, "enc", wanted, extractable);
      const length = bytes.length * 8;
      if (!LENGTHS.includes(length)) {
        fail(length === 192 ? "OperationError" : "DataError", "AES keys have 128 or 256 bits here.");
      }
      if (format === "jwk") checkAlg(data, algOf(name, length));
      return secret({ name, length }, extractable, wanted, bytes);
    },
    export(format, key) {
      return exported(format, key, algOf(key.name, key.length));
    },
  };
}

const hmac = {
  BLOCK_BITS: { "SHA-1": 512, "SHA-256": 512, "SHA-384": 1024, "SHA-512": 1024 },
  algOf: (hash) => `HS${hash.slice(4)}`,

  // The bits behind the last are zero.
  made(hash, length, extractable, usages, bytes) {
    if (length % 8 !== 0) bytes[bytes.length - 1] &= 0xff << (8 - (length % 8));
    return secret({ name: "HMAC", hash, length }, extractable, usages, bytes);
  },

  generate({ hash, length = this.BLOCK_BITS[hash] }, extractable, usages) {
    checkUsages(usages, ["sign", "verify"]);
    requireUsages(usages);
    if (length === 0) fail("OperationError", "An HMAC key has at least one bit.");
    return this.made(hash, length, extractable, usages, randomBytes(Math.ceil(length / 8)));
  },

  import(format, data, { hash, length }, extractable, usages) {
    checkUsages(usages, ["sign", "verify"]);
    const bytes = imported(format, data, "sig", usages, extractable);
    if (format === "jwk") checkAlg(data, this.algOf(hash));
    const bits = bytes.length * 8;
    if (bits === 0) fail("DataError", "An HMAC key has at least one bit.");
    if (length !== undefined && (length > bits || length <= bits - 8)) {
      fail("DataError", "The key's length is not that of its bytes.");
    }
    return this.made(hash, length ?? bits, extractable, usages, bytes);
  },

  export(format, key) {
    return exported(format, key, this.algOf(key.hash));
  },
};

const derivation = {
  import(format, data, { name }, extractable, usages) {
    if (format !== "raw") unsupported(format);
    checkUsages(usages, ["deriveKey", "deriveBits"]);
    if (extractable) fail("SyntaxError", "Keys to derive from are not extractable.");
    return secret({ name }, false, usages, new Uint8Array(data));
  },
};

const cipher = aes(["encrypt", "decrypt", "wrapKey", "unwrapKey"]);

export const secrets = {
  __proto__: null,
  "AES-CBC": cipher,
  "AES-CTR": cipher,
  "AES-GCM": cipher,
  "AES-KW": aes(["wrapKey", "unwrapKey"]),
  HMAC: hmac,
  HKDF: derivation,
  PBKDF2: derivation,
};
