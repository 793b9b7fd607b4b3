// CryptoKey: algorithm, type, usages, and the key itself (raw, SPKI or PKCS #8), which is not looked into.
import { invalid, unknownTag } from "../error.js";

// By number: family and name.
const ALGORITHMS = [
  undefined,
  ["AES", "AES-CBC"],
  ["HMAC", "HMAC"],
  ["RSA", "RSASSA-PKCS1-v1_5"],
  undefined,
  ["hash", "SHA-1"],
  ["hash", "SHA-256"],
  ["hash", "SHA-384"],
  ["hash", "SHA-512"],
  ["AES", "AES-GCM"],
  ["RSA", "RSA-OAEP"],
  ["AES", "AES-CTR"],
  ["AES", "AES-KW"],
  ["RSA", "RSA-PSS"],
  ["EC", "ECDSA"],
  ["EC", "ECDH"],
  ["derivation", "HKDF"],
  ["derivation", "PBKDF2"],
  ["curve 25519", "Ed25519"],
  ["curve 25519", "X25519"],
  ["modern", "ChaCha20-Poly1305"],
  ["modern", "ML-DSA-44"],
  ["modern", "ML-DSA-65"],
  ["modern", "ML-DSA-87"],
  ["modern", "ML-KEM-768"],
  ["modern", "ML-KEM-1024"],
];
const CURVES = ["P-256", "P-384", "P-521"];
const TYPES = [undefined, "public", "private", "secret"];
// By bit, from 1 on. Bit 0 is extractable.
const USAGES = [
  "encrypt", "decrypt", "sign", "verify", "deriveKey", "wrapKey", "unwrapKey", "deriveBits",
  "encapsulateKey", "encapsulateBits", "decapsulateKey", "decapsulateBits",
];
const LENGTH_BITS_MAX = 0xffff;

export function readKey(reader) {
  const { algorithm, type } = readAlgorithm(reader);
  const start = reader.at;
  const bits = reader.varint("key usages");
  if (bits >= 2 ** (USAGES.length + 1)) throw invalid(start, "key usages", bits);
  const usages = USAGES.filter((_, at) => (bits & (2 << at)) !== 0);
  const at = reader.at;
  const length = reader.varint("key data length");
  const data = reader.take(length, "key data");
  // Chromium cannot read back HMAC keys whose bits do not fill their bytes.
  if (algorithm.length !== undefined && algorithm.length !== 8 * length) throw invalid(at, "key data length", length);
  return { class: "CryptoKey", type, extractable: (bits & 1) !== 0, usages, algorithm, data };
}

// Sub-tag and parameters.
function readAlgorithm(reader) {
  const start = reader.at;
  const tag = reader.byte("CryptoKey sub-tag");
  switch (tag) {
    case 1: {
      const name = readName(reader, "AES");
      const length = 8 * reader.varint("key length");
      if (length > LENGTH_BITS_MAX) throw invalid(start, "key length", length);
      return { algorithm: { name, length }, type: "secret" };
    }
    case 2: {
      const length = 8 * reader.varint("key length");
      return { algorithm: { name: "HMAC", hash: { name: readName(reader, "hash") }, length }, type: "secret" };
    }
    case 4: {
      const name = readName(reader, "RSA");
      const type = readType(reader, false);
      const modulusLength = reader.varint("modulus length");
      const publicExponent = reader.take(reader.varint("public exponent length"), "public exponent");
      return { algorithm: { name, modulusLength, publicExponent, hash: { name: readName(reader, "hash") } }, type };
    }
    case 5: {
      const name = readName(reader, "EC");
      const type = readType(reader, false);
      return { algorithm: { name, namedCurve: readCurve(reader) }, type };
    }
    case 6:
      return { algorithm: { name: readName(reader, "derivation") }, type: "secret" };
    case 7:
    case 8:
      return { algorithm: { name: readName(reader, "curve 25519") }, type: readType(reader, false) };
    case 9:
      return { algorithm: { name: readName(reader, "modern") }, type: readType(reader, true) };
    default:
      throw unknownTag(start, "CryptoKey sub-tag", tag);
  }
}

function readName(reader, family) {
  const start = reader.at;
  const id = reader.varint("key algorithm");
  const found = ALGORITHMS[id];
  if (found === undefined || found[0] !== family) throw invalid(start, "key algorithm", id);
  return found[1];
}

function readType(reader, maybeSecret) {
  const start = reader.at;
  const id = reader.varint("key type");
  const type = TYPES[id];
  if (type === undefined || (type === "secret" && !maybeSecret)) throw invalid(start, "key type", id);
  return type;
}

function readCurve(reader) {
  const start = reader.at;
  const id = reader.varint("named curve");
  if (id < 1 || id > CURVES.length) throw invalid(start, "named curve", id);
  return CURVES[id - 1];
}

const idOf = (name) => ALGORITHMS.findIndex((algorithm) => algorithm?.[1] === name);
const familyOf = (name) => ALGORITHMS[idOf(name)]?.[0];

// The least versions for it; null if values have no form for it.
export function needsOfKey({ algorithm, type, usages }) {
  const family = familyOf(algorithm.name);
  const hash = algorithm.hash === undefined || familyOf(algorithm.hash.name) === "hash";
  const curve = family !== "EC" || CURVES.includes(algorithm.namedCurve);
  const known = usages.every((usage) => USAGES.includes(usage)) && TYPES.includes(type);
  // Chromium writes an HMAC key of some bits more and cannot read it again, nor the value that it is in.
  const whole = algorithm.length === undefined || algorithm.length % 8 === 0;
  if (family === undefined || family === "hash" || !hash || !curve || !known || !whole) return null;
  return family === "curve 25519" || family === "modern" ? [16, 21, "a CryptoKey of a newer algorithm"] : undefined;
}

export function writeKey(writer, { algorithm, type, extractable, usages, data }) {
  writeAlgorithm(writer, algorithm, TYPES.indexOf(type));
  const bits = usages.reduce((all, usage) => all | (2 << USAGES.indexOf(usage)), Number(extractable));
  writer.varint(bits);
  writer.varint(data.length);
  writer.raw(data);
}

const SUB_TAGS = { __proto__: null, derivation: 6, Ed25519: 7, X25519: 8, modern: 9 };

function writeAlgorithm(writer, algorithm, type) {
  const { name } = algorithm;
  const family = familyOf(name);
  switch (family) {
    case "AES":
      writer.byte(1);
      writer.varint(idOf(name));
      writer.varint(algorithm.length / 8);
      break;
    case "HMAC":
      writer.byte(2);
      writer.varint(algorithm.length / 8);
      writer.varint(idOf(algorithm.hash.name));
      break;
    case "RSA":
      writer.byte(4);
      for (const number of [idOf(name), type, algorithm.modulusLength, algorithm.publicExponent.length]) writer.varint(number);
      writer.raw(algorithm.publicExponent);
      writer.varint(idOf(algorithm.hash.name));
      break;
    case "EC":
      writer.byte(5);
      for (const number of [idOf(name), type, CURVES.indexOf(algorithm.namedCurve) + 1]) writer.varint(number);
      break;
    default:
      writer.byte(SUB_TAGS[family] ?? SUB_TAGS[name]);
      writer.varint(idOf(name));
      if (family !== "derivation") writer.varint(type);
  }
}
