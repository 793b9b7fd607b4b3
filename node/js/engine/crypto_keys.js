// CryptoKeys of the runtime's, for the codec: what they are made of, and making them, which Web Cryptography has only asynchronously. Node's KeyObjects have both at
// once. Where a runtime has no such way, a key that is to be stored is a DataCloneError, and one that is read a `Stored` object.
import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, createSecretKey, KeyObject } from "node:crypto";

const { CryptoKey } = globalThis;

// Node 20 cannot make them.
const canMake = typeof KeyObject?.prototype?.toCryptoKey === "function";

// The description of a key (codec/stored.js); undefined for what is none.
export function describe(object) {
  if (typeof CryptoKey !== "function" || !(object instanceof CryptoKey)) return undefined;
  const key = keyObject(object);
  if (key === undefined) return "A CryptoKey of this runtime could not be cloned: its key cannot be had.";
  const { type, extractable, usages, algorithm } = object;
  return { class: "CryptoKey", type, extractable, usages: [...usages], algorithm: { ...algorithm }, data: bytesOf(key) };
}

function keyObject(key) {
  try {
    return KeyObject.from(key);
  } catch {
    return undefined;
  }
}

function bytesOf(key) {
  switch (key.type) {
    case "private":
      return new Uint8Array(key.export({ type: "pkcs8", format: "der" }));
    case "public":
      return new Uint8Array(key.export({ type: "spki", format: "der" }));
    default:
      return new Uint8Array(key.export());
  }
}

// A key of its description; undefined for other descriptions, and where none can be made.
export function make(description) {
  if (description.class !== "CryptoKey" || !canMake) return undefined;
  const { type, extractable, usages, algorithm, data } = description;
  try {
    return object(type, data).toCryptoKey(algorithm, extractable, usages);
  } catch {
    // An algorithm that this runtime has not.
    return undefined;
  }
}

function object(type, data) {
  switch (type) {
    case "private":
      return createPrivateKey({ key: Buffer.from(data), format: "der", type: "pkcs8" });
    case "public":
      return createPublicKey({ key: Buffer.from(data), format: "der", type: "spki" });
    default:
      return createSecretKey(data);
  }
}
