// Web Cryptography: digests. Holds in a page, too.
const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const abc = new TextEncoder().encode("abc");

const rejects = async (name, promise) => {
  check(promise instanceof Promise, "no promise");
  same(await promise.then(() => "no error", (error) => error.name), name);
};

// FIPS 180-4's examples.
test("digests of abc and of nothing are the standard's", async () => {
  const expected = {
    "SHA-1": ["a9993e364706816aba3e25717850c26c9cd0d89d", "da39a3ee5e6b4b0d3255bfef95601890afd80709"],
    "SHA-256": ["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    "SHA-384": [
      "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
      "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b",
    ],
    "SHA-512": [
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
      "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
    ],
  };
  for (const [name, [ofAbc, ofNothing]] of Object.entries(expected)) {
    same(hex(await crypto.subtle.digest(name, abc)), ofAbc);
    same(hex(await crypto.subtle.digest({ name: name.toLowerCase() }, new ArrayBuffer(0))), ofNothing);
  }
});

test("the bytes are those of the call", async () => {
  const bytes = new Uint8Array([0, 97, 98, 99, 0]);
  const promise = crypto.subtle.digest("SHA-1", bytes.subarray(1, 4));
  bytes.fill(7);
  same(hex(await promise), "a9993e364706816aba3e25717850c26c9cd0d89d");
  const view = new DataView(new Uint8Array([97, 98, 99]).buffer);
  same(hex(await crypto.subtle.digest("sha-1", view)), "a9993e364706816aba3e25717850c26c9cd0d89d");
  check((await promise) instanceof ArrayBuffer, "no buffer");
});

test("what is no digest or no bytes is refused by the promise", async () => {
  await rejects("NotSupportedError", crypto.subtle.digest("MD5", abc));
  await rejects("NotSupportedError", crypto.subtle.digest({ name: "AES-GCM" }, abc));
  await rejects("TypeError", crypto.subtle.digest({}, abc));
  await rejects("TypeError", crypto.subtle.digest("SHA-1", "abc"));
  await rejects("TypeError", crypto.subtle.digest("SHA-1"));
  throws("TypeError", () => new SubtleCrypto());
  same(crypto.subtle, crypto.subtle);
  same(SubtleCrypto.prototype.digest.length, 2);
});
