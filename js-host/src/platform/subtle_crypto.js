// crypto.subtle (Web Cryptography, 14): digests. There are no keys: what needs one is refused as not supported.
import { exposeInterface, INTERNAL, requireArguments, stamp, stateOf, webidl } from "../binding/mod.js";
import { native } from "./native.js";

class SubtleState {}
const DIGESTS = ["SHA-1", "SHA-256", "SHA-384", "SHA-512"];

const notSupported = (what) => new DOMException(what, "NotSupportedError");

// The name of a digest.
function toDigest(algorithm) {
  const isObject = algorithm !== null && (typeof algorithm === "object" || typeof algorithm === "function");
  if (isObject && algorithm.name === undefined) throw new TypeError("The algorithm has no name.");
  const name = webidl.toDOMString(isObject ? algorithm.name : algorithm);
  const found = DIGESTS.find((known) => known === name.toUpperCase());
  if (found === undefined) throw notSupported(`The algorithm '${name}' is no digest of this host's.`);
  return found;
}

function toBytes(data) {
  if (ArrayBuffer.isView(data)) return data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
  if (data instanceof ArrayBuffer) return data.slice();
  throw new TypeError("The data are neither an ArrayBuffer nor a view of one.");
}

export class SubtleCrypto {
  constructor(token = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor: SubtleCrypto");
    stamp(this, new SubtleState());
  }
  async digest(algorithm, data) {
    stateOf(this, SubtleState);
    requireArguments(arguments.length, 2, "digest");
    return native.digest(toDigest(algorithm), toBytes(data));
  }
}
const KEYED = {
  encrypt: 3, decrypt: 3, sign: 3, verify: 4, generateKey: 3, deriveKey: 5, deriveBits: 2, importKey: 5, exportKey: 2, wrapKey: 4, unwrapKey: 7,
};
for (const [name, count] of Object.entries(KEYED)) {
  const method = {
    async [name](...values) {
      stateOf(this, SubtleState);
      requireArguments(values.length, count, name);
      throw notSupported(`crypto.subtle.${name}: this host has no keys.`);
    },
  }[name];
  Object.defineProperty(method, "length", { value: count, configurable: true });
  Object.defineProperty(SubtleCrypto.prototype, name, { value: method, writable: true, configurable: true });
}
exposeInterface(SubtleCrypto, "SubtleCrypto");

export const subtle = new SubtleCrypto(INTERNAL);
