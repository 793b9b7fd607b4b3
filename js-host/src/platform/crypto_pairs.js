// Keys of two parts: RSA, the NIST curves, Ed25519 and X25519 (Web Cryptography, 20 to 26). Their numbers are the host's matter.
import { checkUsages, fail, requireUsages } from "./crypto_algorithms.js";
import { bytesOf, checkAlg, checkJwk, jwkOf } from "./crypto_jwk.js";
import { newKey } from "./crypto_key.js";
import { native } from "./native.js";

const unsupported = (format) => fail("NotSupportedError", `Keys of this algorithm have no form '${format}'.`);

// By a family's JSON Web Keys: which of their members are the numbers that the host takes a key apart into.
const rsa = {
  kty: "RSA",
  members: { public: ["n", "e"], private: ["n", "e", "d", "p", "q", "dp", "dq", "qi"] },
  familyOf: () => "RSA",

  checkNew({ modulusLength, publicExponent }) {
    if (modulusLength % 8 !== 0 || modulusLength < 256 || modulusLength > 8192) {
      fail("OperationError", "An RSA modulus has 256 to 8192 bits, a multiple of 8.");
    }
    const exponent = publicExponent.toHex().replace(/^0+/, "");
    if (exponent !== "3" && exponent !== "10001") fail("OperationError", "The public exponent is neither 3 nor 65537.");
    return [modulusLength, parseInt(exponent, 16)];
  },

  // What the key itself says of its algorithm.
  parametersOf({ name, hash }, type, data) {
    const [n, e] = native.partsOfKey("RSA", type === "private", data);
    const [first] = new Uint8Array(n);
    const modulusLength = n.byteLength * 8 - Math.clz32(first) + 24;
    return { name, hash, modulusLength, publicExponent: e };
  },

  checkJwk(jwk, { name, hash }) {
    if (jwk.oth !== undefined) fail("NotSupportedError", "RSA keys have two primes here.");
    checkAlg(jwk, rsa.algOf(name, hash));
  },

  partOf(jwk, member) {
    const bytes = bytesOf(jwk, member);
    if (bytes.length === 0 || bytes[0] === 0) fail("DataError", `The JSON Web Key's "${member}" begins with zeros or is empty.`);
    return bytes.buffer;
  },

  algOf(name, hash) {
    const bits = hash.slice(4);
    if (name === "RSA-OAEP") return bits === "1" ? name : `${name}-${bits}`;
    return (name === "RSA-PSS" ? "PS" : "RS") + bits;
  },

  jwkMembers: ({ name, hash }) => ({ alg: rsa.algOf(name, hash) }),
};

const CURVES = { __proto__: null, "P-256": [32, "ES256"], "P-384": [48, "ES384"], "P-521": [66, "ES512"] };

const ec = {
  kty: "EC",
  members: { public: ["x", "y"], private: ["x", "y", "d"] },
  familyOf: ({ namedCurve }) => namedCurve,

  checkCurve({ namedCurve }) {
    if (CURVES[namedCurve] === undefined) fail("NotSupportedError", `This host has no curve '${namedCurve}'.`);
  },

  checkNew: () => [],

  parametersOf: ({ name, namedCurve }) => ({ name, namedCurve }),

  checkJwk(jwk, { name, namedCurve }) {
    if (jwk.crv !== namedCurve) fail("DataError", `The JSON Web Key's curve is not ${namedCurve}.`);
    if (name === "ECDSA") checkAlg(jwk, CURVES[namedCurve][1]);
  },

  partOf(jwk, member, { namedCurve }) {
    const bytes = bytesOf(jwk, member);
    const [length] = CURVES[namedCurve];
    if (bytes.length !== length) fail("DataError", `The JSON Web Key's "${member}" has not ${length} bytes.`);
    return bytes.buffer;
  },

  // A point with both coordinates.
  rawOf([x, y]) {
    return new Uint8Array([4, ...new Uint8Array(x), ...new Uint8Array(y)]).buffer;
  },

  jwkMembers: ({ namedCurve }) => ({ crv: namedCurve }),
};

const okp = {
  kty: "OKP",
  members: { public: ["x"], private: ["x", "d"] },
  familyOf: ({ name }) => name,
  checkNew: () => [],
  parametersOf: ({ name }) => ({ name }),

  checkJwk(jwk, { name }) {
    if (jwk.crv !== name) fail("DataError", `The JSON Web Key's curve is not ${name}.`);
    if (name === "Ed25519") checkAlg(jwk, "Ed25519", "EdDSA");
  },

  partOf: (jwk, member) => bytesOf(jwk, member).buffer,
  rawOf: ([x]) => x,
  jwkMembers: ({ name }) => ({ crv: name, alg: name === "Ed25519" ? name : undefined }),
};

function pair(family, use, publicUsages, privateUsages) {
  const usagesOf = { public: publicUsages, private: privateUsages };
  const made = (parameters, type, extractable, usages, data) =>
    newKey({ ...family.parametersOf(parameters, type, data), type, extractable, usages, data });

  return {
    generate(parameters, extractable, usages) {
      checkUsages(usages, [...publicUsages, ...privateUsages]);
      requireUsages(usages.filter((usage) => privateUsages.includes(usage)));
      family.checkCurve?.(parameters);
      const like = family.checkNew(parameters);
      const [publicData, privateData] = native.generateKeyPair(family.familyOf(parameters), like[0], like[1]);
      const of = (type) => usages.filter((usage) => usagesOf[type].includes(usage));
      return {
        privateKey: made(parameters, "private", extractable, of("private"), privateData),
        publicKey: made(parameters, "public", true, of("public"), publicData),
      };
    },

    import(format, data, parameters, extractable, usages) {
      if (format === "raw" && family.rawOf === undefined) unsupported(format);
      const isPrivate = format === "pkcs8" || (format === "jwk" && data.d !== undefined);
      const type = isPrivate ? "private" : "public";
      checkUsages(usages, usagesOf[type]);
      family.checkCurve?.(parameters);
      const name = family.familyOf(parameters);
      let key;
      if (format === "jwk") {
        checkJwk(data, family.kty, use, usages, extractable);
        family.checkJwk(data, parameters);
        const parts = family.members[type].map((member) => family.partOf(data, member, parameters));
        key = native.keyOfParts(name, isPrivate, parts);
      } else {
        key = format === "raw" ? native.keyOfParts(name, false, [data]) : native.readKey(name, isPrivate, data);
      }
      if (isPrivate) requireUsages(usages);
      return made(parameters, type, extractable, usages, key);
    },

    export(format, key) {
      const { type, data } = key;
      if (format === "raw" && family.rawOf === undefined) unsupported(format);
      if (format !== "jwk" && type !== (format === "pkcs8" ? "private" : "public")) {
        fail("InvalidAccessError", `A ${type} key has no form '${format}'.`);
      }
      if (format === "spki" || format === "pkcs8") return data.slice();
      const parts = native.partsOfKey(family.familyOf(key), type === "private", data);
      if (format === "raw") return family.rawOf(parts);
      const bytes = Object.fromEntries(family.members[type].map((member, at) => [member, parts[at]]));
      return jwkOf(bytes, { kty: family.kty, ...family.jwkMembers(key) }, key.usages, key.extractable);
    },
  };
}

const signing = (family) => pair(family, "sig", ["verify"], ["sign"]);
const agreement = (family) => pair(family, "enc", [], ["deriveKey", "deriveBits"]);

export const pairs = {
  __proto__: null,
  "RSASSA-PKCS1-v1_5": signing(rsa),
  "RSA-PSS": signing(rsa),
  "RSA-OAEP": pair(rsa, "enc", ["encrypt", "wrapKey"], ["decrypt", "unwrapKey"]),
  ECDSA: signing(ec),
  ECDH: agreement(ec),
  Ed25519: signing(okp),
  X25519: agreement(okp),
};
