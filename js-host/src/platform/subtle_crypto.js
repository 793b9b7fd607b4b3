// crypto.subtle (Web Cryptography, 14): digests, and keys made, read and given away. What would use a key is refused as not supported.
import { exposeInterface, INTERNAL, requireArguments, stamp, stateOf, webidl } from "./binding.js";
import { fail, normalize, toBytes } from "./crypto_algorithms.js";
import { toJwk } from "./crypto_jwk.js";
import { attributesOf } from "./crypto_key.js";
import { pairs } from "./crypto_pairs.js";
import { secrets } from "./crypto_secrets.js";
import { native } from "./native.js";

class SubtleState {}
const FORMATS = ["raw", "spki", "pkcs8", "jwk"];
const USAGES = ["encrypt", "decrypt", "sign", "verify", "deriveKey", "deriveBits", "wrapKey", "unwrapKey"];

// Without the host's numbers there are no keys of two parts.
const families = native.generateKeyPair === undefined ? secrets : { __proto__: null, ...secrets, ...pairs };

function familyOf(name, operation, method) {
  const family = families[name];
  if (family?.[operation] === undefined) fail("NotSupportedError", `${method}: this host does not have '${name}' for that.`);
  return family;
}

// sequence<KeyUsage>, each once.
function toUsages(value) {
  const usages = webidl.toStringOrSequence(value);
  if (!Array.isArray(usages)) throw new TypeError("keyUsages is not iterable");
  for (const usage of usages) webidl.toEnum(usage, USAGES, "KeyUsage");
  return [...new Set(usages)];
}

function toKeyData(format, data) {
  const bytes = toBytes(data);
  if (format !== "jwk") {
    if (bytes === undefined) throw new TypeError("The key data are neither an ArrayBuffer nor a view of one.");
    return bytes;
  }
  if (bytes !== undefined) throw new TypeError("The key data are no JSON Web Key.");
  return toJwk(data);
}

export class SubtleCrypto {
  constructor(token = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor: SubtleCrypto");
    stamp(this, new SubtleState());
  }
  async digest(algorithm, data) {
    stateOf(this, SubtleState);
    requireArguments(arguments.length, 2, "digest");
    const bytes = toBytes(data);
    if (bytes === undefined) throw new TypeError("The data are neither an ArrayBuffer nor a view of one.");
    return native.digest(normalize(algorithm, "digest").name, bytes);
  }
  async generateKey(algorithm, extractable, keyUsages) {
    stateOf(this, SubtleState);
    requireArguments(arguments.length, 3, "generateKey");
    const usages = toUsages(keyUsages);
    const parameters = normalize(algorithm, "generateKey");
    return familyOf(parameters.name, "generate", "generateKey").generate(parameters, Boolean(extractable), usages);
  }
  async importKey(format, keyData, algorithm, extractable, keyUsages) {
    stateOf(this, SubtleState);
    requireArguments(arguments.length, 5, "importKey");
    const known = webidl.toEnum(format, FORMATS, "KeyFormat");
    const data = toKeyData(known, keyData);
    const usages = toUsages(keyUsages);
    const parameters = normalize(algorithm, "importKey");
    return familyOf(parameters.name, "import", "importKey").import(known, data, parameters, Boolean(extractable), usages);
  }
  async exportKey(format, key) {
    stateOf(this, SubtleState);
    requireArguments(arguments.length, 2, "exportKey");
    const known = webidl.toEnum(format, FORMATS, "KeyFormat");
    const attributes = attributesOf(key);
    const family = familyOf(attributes.name, "export", "exportKey");
    if (!attributes.extractable) fail("InvalidAccessError", "The key is not extractable.");
    return family.export(known, attributes);
  }
}
const USES = { encrypt: 3, decrypt: 3, sign: 3, verify: 4, deriveKey: 5, deriveBits: 2, wrapKey: 4, unwrapKey: 7 };
for (const [name, count] of Object.entries(USES)) {
  const method = {
    async [name](...values) {
      stateOf(this, SubtleState);
      requireArguments(values.length, count, name);
      fail("NotSupportedError", `crypto.subtle.${name}: this host makes and keeps keys, and does not use them.`);
    },
  }[name];
  Object.defineProperty(method, "length", { value: count, configurable: true });
  Object.defineProperty(SubtleCrypto.prototype, name, { value: method, writable: true, configurable: true });
}
exposeInterface(SubtleCrypto, "SubtleCrypto");

export const subtle = new SubtleCrypto(INTERNAL);
