// Algorithms as scripts name them (Web Cryptography, 18): names in any case, and the parameters that an operation needs.
import { webidl } from "./binding.js";

const { toDOMString, toUnsignedLong } = webidl;

export function fail(name, what) {
  throw new DOMException(what, name);
}

function required(value, what) {
  if (value === undefined) throw new TypeError(`The algorithm has no ${what}.`);
  return value;
}

function toUnsignedShort(value, what) {
  const number = toUnsignedLong(value, what);
  if (number > 0xffff) throw new TypeError(`${what} is out of range`);
  return number;
}

function toBigInteger(value) {
  if (!(value instanceof Uint8Array)) throw new TypeError("publicExponent is no Uint8Array");
  return value.slice();
}

// The dictionaries' members, in the order in which they are read.
const ofRsa = { modulusLength: toUnsignedLong, publicExponent: toBigInteger };
const ofHmac = { length: (value, what) => (value === undefined ? undefined : toUnsignedLong(value, what)) };
const ofAes = { length: toUnsignedShort };
const ofEc = { namedCurve: toDOMString };

const none = { members: {} };
const rsa = { generateKey: { members: ofRsa, hash: true }, importKey: { members: {}, hash: true } };
const aes = { generateKey: { members: ofAes }, importKey: none };
const ec = { generateKey: { members: ofEc }, importKey: { members: ofEc } };
const okp = { generateKey: none, importKey: none };
const derivation = { importKey: none };
const digest = { digest: none };

const ALGORITHMS = {
  __proto__: null,
  "RSASSA-PKCS1-v1_5": rsa,
  "RSA-PSS": rsa,
  "RSA-OAEP": rsa,
  ECDSA: ec,
  ECDH: ec,
  Ed25519: okp,
  X25519: okp,
  "AES-CTR": aes,
  "AES-CBC": aes,
  "AES-GCM": aes,
  "AES-KW": aes,
  HMAC: { generateKey: { members: ofHmac, hash: true }, importKey: { members: ofHmac, hash: true } },
  HKDF: derivation,
  PBKDF2: derivation,
  "SHA-1": digest,
  "SHA-256": digest,
  "SHA-384": digest,
  "SHA-512": digest,
};
const NAMES = Object.keys(ALGORITHMS);

const isObject = (value) => value !== null && (typeof value === "object" || typeof value === "function");

// The name in its own case, and the parameters that the operation needs.
export function normalize(algorithm, operation) {
  const given = isObject(algorithm) ? algorithm : { name: algorithm };
  const name = toDOMString(isObject(algorithm) ? required(given.name, "name") : algorithm);
  const known = NAMES.find((candidate) => candidate.toUpperCase() === name.toUpperCase());
  const wanted = known === undefined ? undefined : ALGORITHMS[known][operation];
  if (wanted === undefined) fail("NotSupportedError", `${operation}: this host does not have '${name}' for that.`);
  const parameters = { name: known };
  for (const [member, convert] of Object.entries(wanted.members)) {
    const value = given[member];
    parameters[member] = convert(convert === ofHmac.length ? value : required(value, member), member);
  }
  if (wanted.hash) {
    const hash = required(given.hash, "hash");
    parameters.hash = normalize(hash, "digest").name;
  }
  return parameters;
}

// A copy of the bytes of a BufferSource; undefined for all else.
export function toBytes(data) {
  if (ArrayBuffer.isView(data)) {
    if (!(data.buffer instanceof ArrayBuffer)) throw new TypeError("The data are in shared memory.");
    return data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
  }
  return data instanceof ArrayBuffer ? data.slice() : undefined;
}

export function checkUsages(usages, allowed) {
  const other = usages.find((usage) => !allowed.includes(usage));
  if (other !== undefined) fail("SyntaxError", `A key of this kind cannot be for '${other}'.`);
}

export function requireUsages(usages) {
  if (usages.length === 0) fail("SyntaxError", "The key would be for nothing: its usages are empty.");
}
