// CryptoKeys are stored with what they are made of, and come back as keys that do the same.
import assert from "node:assert/strict";
import { KeyObject } from "node:crypto";
import { test } from "node:test";

import { IDBFactory } from "../js/index.js";

const { subtle } = globalThis.crypto;
const canMake = typeof KeyObject.prototype.toCryptoKey === "function";

// What a value is after it was stored.
function stored(value) {
  const request = new IDBFactory().open("keys");
  request.onupgradeneeded = () => request.result.createObjectStore("keys");
  return new Promise((resolve, reject) => {
    request.onsuccess = () => {
      const store = request.result.transaction("keys", "readwrite").objectStore("keys");
      store.put(value, 1).onerror = ({ target }) => reject(target.error);
      store.get(1).onsuccess = ({ target }) => (request.result.close(), resolve(target.result));
    };
  });
}

const text = new TextEncoder().encode("what is signed");
const iv = new Uint8Array(12);

const KEYS = {
  "AES-GCM": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  HMAC: [{ name: "HMAC", hash: "SHA-256" }, ["sign", "verify"]],
  ECDSA: [{ name: "ECDSA", namedCurve: "P-256" }, ["sign", "verify"]],
  "RSA-PSS": [{ name: "RSA-PSS", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" }, ["sign", "verify"]],
};
const SIGNING = { HMAC: "HMAC", ECDSA: { name: "ECDSA", hash: "SHA-256" }, "RSA-PSS": { name: "RSA-PSS", saltLength: 32 } };

for (const [name, [algorithm, usages]] of Object.entries(KEYS)) {
  for (const extractable of [true, false]) {
    test(`a key of ${name}, ${extractable ? "" : "not "}extractable`, async () => {
      const made = await subtle.generateKey(algorithm, extractable, usages);
      const given = made.privateKey === undefined ? { one: made } : { one: made.privateKey, other: made.publicKey };
      const found = await stored(given);
      for (const which of Object.keys(given)) {
        const { type, extractable, algorithm, usages } = given[which];
        const same = found[which];
        assert.equal(same.type, type);
        assert.equal(same.extractable, extractable);
        assert.deepEqual({ ...same.algorithm }, { ...algorithm });
        assert.deepEqual([...same.usages].sort(), [...usages].sort());
        assert.equal(Object.prototype.toString.call(same), "[object CryptoKey]");
      }
      if (!canMake) return;
      if (name === "AES-GCM") {
        const sealed = await subtle.encrypt({ name, iv }, found.one, text);
        assert.deepEqual(new Uint8Array(await subtle.decrypt({ name, iv }, given.one, sealed)), text);
      } else {
        const signature = await subtle.sign(SIGNING[name], found.one, text);
        assert.equal(await subtle.verify(SIGNING[name], given.other ?? given.one, signature, text), true);
      }
    });
  }
}
