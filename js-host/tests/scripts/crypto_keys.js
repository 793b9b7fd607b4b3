// Web Cryptography: keys made, read, given away and stored. Holds in a page, too, but for two that Chromium has otherwise (named there).
const { subtle } = crypto;
const hexOf = (buffer) => new Uint8Array(buffer).toHex();
const ofHex = (hex) => Uint8Array.fromHex(hex);
const e65537 = new Uint8Array([1, 0, 1]);
const rejects = async (name, promise, what = "") => {
  check(promise instanceof Promise, "no promise");
  same(await promise.then(() => "no error", (error) => error.name), name, what);
};
const SIGN = ["sign", "verify"];
const rsa = (name, hash = "SHA-256") => ({ name, hash, modulusLength: 1024, publicExponent: e65537 });

// Algorithm, usages, what the private key is for, what the public one is for, and its algorithm as a script sees it.
const PAIRS = [
  [rsa("RSASSA-PKCS1-v1_5", "SHA-1"), SIGN, ["sign"], ["verify"]],
  [rsa("RSA-PSS", { name: "sha-384" }), SIGN, ["sign"], ["verify"]],
  [rsa("RSA-OAEP"), ["wrapKey", "decrypt", "encrypt", "unwrapKey"], ["decrypt", "unwrapKey"], ["encrypt", "wrapKey"]],
  [{ name: "ECDSA", namedCurve: "P-256" }, SIGN, ["sign"], ["verify"]],
  [{ name: "ECDSA", namedCurve: "P-384" }, SIGN, ["sign"], ["verify"]],
  [{ name: "ECDH", namedCurve: "P-521" }, ["deriveBits", "deriveKey"], ["deriveKey", "deriveBits"], []],
  [{ name: "Ed25519" }, SIGN, ["sign"], ["verify"]],
  [{ name: "X25519" }, ["deriveBits"], ["deriveBits"], []],
];
const SECRETS = [
  [{ name: "AES-GCM", length: 256 }, ["unwrapKey", "encrypt"], { name: "AES-GCM", length: 256 }],
  [{ name: "aes-cbc", length: 128 }, ["decrypt"], { name: "AES-CBC", length: 128 }],
  [{ name: "AES-CTR", length: 128 }, ["decrypt"], { name: "AES-CTR", length: 128 }],
  [{ name: "AES-KW", length: 256 }, ["wrapKey"], { name: "AES-KW", length: 256 }],
  [{ name: "HMAC", hash: "SHA-384" }, ["verify"], { name: "HMAC", hash: { name: "SHA-384" }, length: 1024 }],
  [{ name: "HMAC", hash: "SHA-1", length: 160 }, SIGN, { name: "HMAC", hash: { name: "SHA-1" }, length: 160 }],
];

// The forms of a key, by name, each in text.
async function formsOf(key) {
  const forms = {};
  for (const format of ["raw", "spki", "pkcs8", "jwk"]) {
    const form = await subtle.exportKey(format, key).catch((error) => error.name);
    forms[format] = form instanceof ArrayBuffer ? hexOf(form) : JSON.stringify(form);
  }
  return forms;
}

const shown = (key) => JSON.stringify([key.type, key.extractable, key.usages, key.algorithm]);

// Reads every form of a key, which must be the key again.
async function readAgain(key) {
  const algorithm = { ...key.algorithm };
  const forms = await formsOf(key);
  let count = 0;
  for (const format of Object.keys(forms)) {
    if (/Error/.test(forms[format])) continue;
    const data = format === "jwk" ? JSON.parse(forms.jwk) : ofHex(forms[format]);
    const again = await subtle.importKey(format, data, algorithm, true, key.usages);
    same(shown(again), shown(key), format);
    same(JSON.stringify(await formsOf(again)), JSON.stringify(forms), format);
    count += 1;
  }
  return count;
}

test("new key pairs have their usages, and are themselves in every form", async () => {
  for (const [algorithm, usages, privateUsages, publicUsages] of PAIRS) {
    const made = await subtle.generateKey(algorithm, true, usages);
    list(Object.keys(made), ["privateKey", "publicKey"]);
    const { privateKey, publicKey } = made;
    check(privateKey instanceof CryptoKey && publicKey instanceof CryptoKey);
    list([privateKey.type, publicKey.type], ["private", "public"]);
    list(privateKey.usages, privateUsages);
    list(publicKey.usages, publicUsages);
    same(JSON.stringify(privateKey.algorithm), JSON.stringify(publicKey.algorithm));
    same(await readAgain(privateKey), 2, algorithm.name);
    same(await readAgain(publicKey), algorithm.modulusLength === undefined ? 3 : 2, algorithm.name);
    const hidden = await subtle.generateKey(algorithm, false, usages);
    list([hidden.privateKey.extractable, hidden.publicKey.extractable], [false, true]);
    await rejects("InvalidAccessError", subtle.exportKey("pkcs8", hidden.privateKey));
    await rejects("InvalidAccessError", subtle.exportKey("jwk", hidden.privateKey));
    check((await subtle.exportKey("spki", hidden.publicKey)).byteLength > 40);
  }
});

test("an RSA key's algorithm has what it was made with", async () => {
  const { publicKey } = await subtle.generateKey({ ...rsa("RSA-PSS"), publicExponent: new Uint8Array([0, 3]) }, true, ["sign"]);
  const { algorithm } = publicKey;
  list(Object.keys(algorithm), ["name", "hash", "modulusLength", "publicExponent"]);
  list([algorithm.name, algorithm.hash.name, algorithm.modulusLength], ["RSA-PSS", "SHA-256", 1024]);
  check(algorithm.publicExponent instanceof Uint8Array);
  list(algorithm.publicExponent, [3]);
  algorithm.hash.name = "SHA-1";
  algorithm.publicExponent[0] = 7;
  const jwk = await subtle.exportKey("jwk", publicKey);
  list([jwk.alg, jwk.e, jwk.kty, jwk.ext], ["PS256", "Aw", "RSA", true]);
});

test("new secret keys have their usages, and are themselves in every form", async () => {
  for (const [algorithm, usages, expected] of SECRETS) {
    const key = await subtle.generateKey(algorithm, true, usages);
    same(key.type, "secret");
    list([...key.usages].sort(), [...usages].sort());
    same(JSON.stringify(key.algorithm), JSON.stringify(expected));
    same((await subtle.exportKey("raw", key)).byteLength * 8, expected.length);
    same(await readAgain(key), 2, algorithm.name);
    check(hexOf(await subtle.exportKey("raw", key)) !== hexOf(await subtle.exportKey("raw", await subtle.generateKey(algorithm, true, usages))));
    await rejects("InvalidAccessError", subtle.exportKey("raw", await subtle.generateKey(algorithm, false, usages)));
  }
});

// Made by Chromium 156: the private key in PKCS #8, the public one in SPKI, the JSON Web Key of both.
const THEIRS = [
  [
    { name: "ECDSA", namedCurve: "P-256" }, ["sign"], ["verify"],
    "308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420d81c9be873f04b68c8dabc9b894a2c6de5c224e7beb5a3287dd971f7bf95033fa14403420004d0c1604973a64aa294958817edf900086d256c462085cf3a58ff3f86ce204b074aa2b6835d0c89d99612dd31dae95f1d03554b315d7cbb2f9d51c22986ab76dc",
    "3059301306072a8648ce3d020106082a8648ce3d03010703420004d0c1604973a64aa294958817edf900086d256c462085cf3a58ff3f86ce204b074aa2b6835d0c89d99612dd31dae95f1d03554b315d7cbb2f9d51c22986ab76dc",
    { crv: "P-256", d: "2Byb6HPwS2jI2rybiUosbeXCJOe-taMofdlx97-VAz8", ext: true, key_ops: ["sign"], kty: "EC", x: "0MFgSXOmSqKUlYgX7fkACG0lbEYghc86WP8_hs4gSwc", y: "SqK2g10MidmWEt0x2ulfHQNVSzFdfLsvnVHCKYardtw" },
  ],
  [
    { name: "Ed25519" }, ["sign"], ["verify"],
    "302e020100300506032b657004220420539ae645b5ac4abbdef932b23c3e5cf3ecd34c0759f39a68aac948a173d75721",
    "302a300506032b65700321009b4c4f3de08c5a7ae991a997b188fb7947544ae1c6dbd55068876f0e8a42be93",
    { alg: "Ed25519", crv: "Ed25519", d: "U5rmRbWsSrve-TKyPD5c8-zTTAdZ85poqslIoXPXVyE", ext: true, key_ops: ["sign"], kty: "OKP", x: "m0xPPeCMWnrpkamXsYj7eUdUSuHG29VQaIdvDopCvpM" },
  ],
  [
    { name: "X25519" }, ["deriveBits"], [],
    "302e020100300506032b656e042204200f462baf9100b7b517578f6b08f70011e8fd4acae128c0d6957618fa1cbd84ac",
    "302a300506032b656e032100631ead3751230e92d9afff42c4b26cb31cb86320f5623b1a054b024f85a9cb1d",
    { crv: "X25519", d: "D0Yrr5EAt7UXV49rCPcAEej9SsrhKMDWlXYY-hy9hKw", ext: true, key_ops: ["deriveBits"], kty: "OKP", x: "Yx6tN1EjDpLZr_9CxLJssxy4YyD1YjsaBUsCT4Wpyx0" },
  ],
];

test("keys of Chromium have the same forms here", async () => {
  for (const [algorithm, privateUsages, publicUsages, pkcs8, spki, jwk] of THEIRS) {
    const privateKey = await subtle.importKey("pkcs8", ofHex(pkcs8), algorithm, true, privateUsages);
    same(JSON.stringify(await subtle.exportKey("jwk", privateKey)), JSON.stringify(jwk));
    same(hexOf(await subtle.exportKey("pkcs8", await subtle.importKey("jwk", jwk, algorithm, true, privateUsages))), pkcs8);
    const { d, key_ops, ...publicJwk } = jwk;
    const publicKey = await subtle.importKey("jwk", publicJwk, algorithm, true, publicUsages);
    same(hexOf(await subtle.exportKey("spki", publicKey)), spki);
  }
});

test("keys to derive from are raw and never given away", async () => {
  for (const name of ["HKDF", "PBKDF2"]) {
    const key = await subtle.importKey("raw", new Uint8Array(5), name, false, ["deriveBits", "deriveKey"]);
    same(shown(key), JSON.stringify(["secret", false, ["deriveKey", "deriveBits"], { name }]));
    await rejects("NotSupportedError", subtle.exportKey("raw", key));
    await rejects("NotSupportedError", subtle.generateKey(name, false, ["deriveBits"]));
    await rejects("SyntaxError", subtle.importKey("raw", new Uint8Array(5), name, true, ["deriveBits"]));
    await rejects("SyntaxError", subtle.importKey("raw", new Uint8Array(5), name, false, ["sign"]));
    await rejects("SyntaxError", subtle.importKey("raw", new Uint8Array(5), name, false, []));
    await rejects("NotSupportedError", subtle.importKey("jwk", { kty: "oct", k: "AAAA" }, name, false, ["deriveBits"]));
  }
});

test("what no key can be made of is refused as the specification says", async () => {
  const make = (algorithm, usages = ["sign"]) => subtle.generateKey(algorithm, true, usages);
  await rejects("NotSupportedError", make("FOO"));
  await rejects("NotSupportedError", make("SHA-1"));
  await rejects("TypeError", make("AES-GCM", ["encrypt"]));
  await rejects("TypeError", make({}));
  await rejects("TypeError", make({ name: "AES-GCM", length: 70000 }, ["encrypt"]));
  await rejects("TypeError", make({ name: "AES-GCM", length: 128 }, ["open"]));
  await rejects("TypeError", make({ name: "AES-GCM", length: 128 }, "encrypt"));
  await rejects("TypeError", make({ ...rsa("RSA-PSS"), publicExponent: [1, 0, 1] }));
  await rejects("TypeError", subtle.generateKey("Ed25519", true));
  await rejects("OperationError", make({ name: "AES-GCM", length: 13 }, ["encrypt"]));
  // As Chromium, which cannot read such a key.
  await rejects("OperationError", make({ name: "AES-GCM", length: 192 }, ["encrypt"]));
  await rejects("OperationError", make({ name: "HMAC", hash: "SHA-1", length: 0 }));
  await rejects("NotSupportedError", make({ name: "HMAC", hash: "MD5" }));
  await rejects("OperationError", make({ ...rsa("RSA-PSS"), modulusLength: 1001 }));
  await rejects("OperationError", make({ ...rsa("RSA-PSS"), modulusLength: 128 }));
  await rejects("OperationError", make({ ...rsa("RSA-PSS"), modulusLength: 16384 }));
  await rejects("OperationError", make({ ...rsa("RSA-PSS"), publicExponent: new Uint8Array([4]) }));
  await rejects("NotSupportedError", make({ name: "ECDSA", namedCurve: "K-256" }));
  for (const [algorithm] of [...PAIRS, ...SECRETS]) {
    await rejects("SyntaxError", make(algorithm, []), algorithm.name);
    await rejects("SyntaxError", make(algorithm, ["sign", "encrypt"]), algorithm.name);
  }
  await rejects("SyntaxError", make({ name: "ECDSA", namedCurve: "P-256" }, ["verify"]));
});

test("bytes that are no such key are refused, and forms that it does not have", async () => {
  const [[algorithm, , , pkcs8, spki]] = THEIRS;
  const read = (format, data, wanted = algorithm, usages = [format === "pkcs8" ? "sign" : "verify"]) =>
    subtle.importKey(format, data, wanted, true, usages);
  await rejects("DataError", read("pkcs8", ofHex(`${pkcs8}00`)));
  await rejects("DataError", read("pkcs8", ofHex(pkcs8.slice(0, -2))));
  await rejects("DataError", read("pkcs8", ofHex(pkcs8.replace(/dc$/, "dd"))));
  await rejects("DataError", read("pkcs8", ofHex(pkcs8), { name: "ECDSA", namedCurve: "P-384" }));
  await rejects("DataError", read("pkcs8", ofHex(pkcs8), rsa("RSA-PSS")));
  await rejects("DataError", read("pkcs8", ofHex(pkcs8), "Ed25519"));
  await rejects("SyntaxError", read("pkcs8", ofHex(pkcs8), algorithm, []));
  await rejects("SyntaxError", read("pkcs8", new Uint8Array(3), algorithm, ["verify"]));
  await rejects("DataError", read("spki", ofHex(pkcs8)));
  const raw = ofHex(spki.slice(-130));
  const compressed = ofHex(`0${2 + (raw[64] & 1)}${hexOf(raw.slice(1, 33))}`);
  same(hexOf(await subtle.exportKey("spki", await read("raw", compressed))), spki);
  await rejects("DataError", read("raw", raw.slice(0, 64)));
  await rejects("DataError", read("raw", new Uint8Array(1)));
  raw[64] ^= 1;
  await rejects("DataError", read("raw", raw));
  await rejects("NotSupportedError", read("raw", raw, rsa("RSA-PSS")));
  await rejects("TypeError", read("open", raw));
  await rejects("TypeError", read("raw", {}));
  await rejects("TypeError", read("jwk", raw));
  const secret = (bytes, algorithm, usages) => subtle.importKey("raw", new Uint8Array(bytes), algorithm, true, usages);
  await rejects("DataError", secret(5, "AES-CBC", ["encrypt"]));
  await rejects("OperationError", secret(24, "AES-CBC", ["encrypt"]));
  await rejects("NotSupportedError", subtle.importKey("spki", new Uint8Array(5), "AES-CBC", true, ["encrypt"]));
  await rejects("DataError", secret(0, { name: "HMAC", hash: "SHA-1" }, ["sign"]));
  for (const length of [0, 8, 17]) await rejects("DataError", secret(2, { name: "HMAC", hash: "SHA-1", length }, ["sign"]));
  const key = await subtle.importKey("raw", new Uint8Array([255, 255]), { name: "HMAC", hash: "SHA-1", length: 12 }, true, ["sign"]);
  same(hexOf(await subtle.exportKey("raw", key)), "fff0");
  const { publicKey, privateKey } = await subtle.generateKey("Ed25519", true, ["sign"]);
  await rejects("InvalidAccessError", subtle.exportKey("spki", privateKey));
  await rejects("InvalidAccessError", subtle.exportKey("raw", privateKey));
  await rejects("InvalidAccessError", subtle.exportKey("pkcs8", publicKey));
  await rejects("NotSupportedError", subtle.exportKey("pkcs8", key));
  await rejects("TypeError", subtle.exportKey("raw", {}));
});

test("JSON Web Keys that are not what the key is to be are refused", async () => {
  const aes = (change, usages = ["encrypt"]) =>
    subtle.importKey("jwk", { kty: "oct", k: "AAAAAAAAAAAAAAAAAAAAAA", ...change }, "AES-CBC", true, usages);
  check((await aes({ alg: "A128CBC", use: "enc", ext: true, key_ops: ["encrypt", "x"] })).algorithm.length === 128);
  for (const change of [
    { kty: "RSA" }, { kty: undefined }, { k: undefined }, { k: "AAAAAAAAAAAAAAAAAAAAAA==" }, { k: "A A" }, { k: "+/+/+/+/+/+/+/+/+/+/+w" },
    { k: "A" }, { k: "AAA" }, { alg: "A256CBC" }, { alg: "A128GCM" }, { use: "sig" }, { ext: false }, { key_ops: ["decrypt"] }, { key_ops: ["encrypt", "encrypt"] },
  ]) {
    await rejects("DataError", aes(change), JSON.stringify(change));
  }
  await rejects("DataError", subtle.importKey("jwk", null, "AES-CBC", true, ["encrypt"]));
  const [[ecdsa, , , , , ec], [, , , , , okp]] = THEIRS;
  const read = (jwk, change, algorithm, usages = ["sign"]) => subtle.importKey("jwk", { ...jwk, ...change }, algorithm, true, usages);
  check((await read(ec, { alg: "ES256", use: "sig" }, ecdsa)) instanceof CryptoKey);
  for (const change of [{ alg: "ES384" }, { crv: "P-384" }, { y: ec.x }, { x: "AAAA" }, { d: ec.x }, { y: undefined }, { use: "enc" }, { d: `AA${ec.d}` }]) {
    await rejects("DataError", read(ec, change, ecdsa), JSON.stringify(change));
  }
  for (const change of [{ alg: "X" }, { crv: "X25519" }, { x: okp.d }, { d: "AAAA" }]) {
    await rejects("DataError", read(okp, change, "Ed25519"), JSON.stringify(change));
  }
  const pss = rsa("RSA-PSS");
  const { privateKey, publicKey } = await subtle.generateKey(pss, true, SIGN);
  const [whole, open] = [await subtle.exportKey("jwk", privateKey), await subtle.exportKey("jwk", publicKey)];
  list(Object.keys(whole), ["alg", "d", "dp", "dq", "e", "ext", "key_ops", "kty", "n", "p", "q", "qi"]);
  for (const change of [{ p: undefined }, { qi: whole.dp }, { dp: whole.dq }, { d: whole.p }, { p: whole.q }, { alg: "PS384" }, { n: `AA${whole.n}` }, { e: "AA" }]) {
    await rejects("DataError", read(whole, change, pss), JSON.stringify(change));
  }
  await rejects("NotSupportedError", read(whole, { oth: [] }, pss));
  await rejects("SyntaxError", read(whole, {}, pss, []));
  await rejects("SyntaxError", read(open, {}, pss, ["sign"]));
  same((await read({ ...open, alg: undefined }, {}, rsa("RSA-PSS", "SHA-1"), [])).usages.length, 0);
});

test("keys are stored and cloned whole, and stay as hidden as they are", async () => {
  const db = await openWith("keys", 1, (db) => db.createObjectStore("all"));
  const keys = [];
  for (const [algorithm, usages] of [...PAIRS, ...SECRETS]) {
    for (const extractable of [true, false]) {
      const made = await subtle.generateKey(algorithm, extractable, usages);
      keys.push(...(made instanceof CryptoKey ? [made] : [made.privateKey, made.publicKey]));
    }
  }
  keys.push(await subtle.importKey("raw", new Uint8Array(5), "PBKDF2", false, ["deriveKey"]));
  await ended((() => {
    const transaction = db.transaction("all", "readwrite");
    keys.forEach((key, at) => transaction.objectStore("all").put({ key, twice: [key] }, at));
    return transaction;
  })());
  const found = await done(db.transaction("all").objectStore("all").getAll());
  same(found.length, keys.length);
  for (const [at, { key, twice }] of found.entries()) {
    check(key instanceof CryptoKey && key === twice[0] && key !== keys[at]);
    for (const again of [key, structuredClone(key)]) {
      same(shown(again), shown(keys[at]));
      same(JSON.stringify(await formsOf(again)), JSON.stringify(await formsOf(keys[at])), shown(key));
    }
  }
  // Chromium stores it, and has lost the record.
  const odd = await subtle.generateKey({ name: "HMAC", hash: "SHA-1", length: 20 }, true, ["sign"]);
  throws("DataCloneError", () => structuredClone(odd));
  db.close();
});

test("a key is no object that scripts can make or look into", async () => {
  throws("TypeError", () => new CryptoKey());
  throws("TypeError", () => Object.getOwnPropertyDescriptor(CryptoKey.prototype, "type").get.call({}));
  const key = await subtle.generateKey({ name: "HMAC", hash: "SHA-1" }, false, ["sign"]);
  same(Object.prototype.toString.call(key), "[object CryptoKey]");
  list(Reflect.ownKeys(key), []);
  list(Object.keys(CryptoKey.prototype), ["type", "extractable", "algorithm", "usages"]);
  await rejects("NotSupportedError", subtle.sign("HMAC", key, new Uint8Array(1)));
});
