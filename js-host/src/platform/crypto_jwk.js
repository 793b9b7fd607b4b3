// JSON Web Keys (RFC 7517; Web Cryptography, 15), as `importKey` takes and `exportKey` gives them.
import { webidl } from "./binding.js";
import { fail } from "./crypto_algorithms.js";

const { toDictionary, toDOMString, toStringOrSequence } = webidl;
const MEMBERS = ["alg", "crv", "d", "dp", "dq", "e", "ext", "k", "key_ops", "kty", "n", "oth", "p", "q", "qi", "use", "x", "y"];

function toStrings(value) {
  const strings = toStringOrSequence(value);
  if (!Array.isArray(strings)) throw new TypeError("key_ops is not iterable");
  return strings;
}

// The dictionary, with the members that are there.
export function toJwk(value) {
  const given = toDictionary(value, "keyData");
  const jwk = { __proto__: null };
  for (const member of MEMBERS) {
    const found = given[member];
    if (found === undefined) continue;
    if (member === "ext") jwk.ext = Boolean(found);
    else if (member === "key_ops") jwk.key_ops = toStrings(found);
    else jwk[member] = member === "oth" ? found : toDOMString(found);
  }
  return jwk;
}

const toBase64Url = (bytes) => new Uint8Array(bytes).toBase64({ alphabet: "base64url", omitPadding: true });

// The bytes of a member that has to be there.
export function bytesOf(jwk, member) {
  const text = jwk[member];
  if (text === undefined) fail("DataError", `The JSON Web Key has no "${member}".`);
  if (!/^[\w-]*$/.test(text) || text.length % 4 === 1) fail("DataError", `The JSON Web Key's "${member}" is no base64url.`);
  return Uint8Array.fromBase64(text, { alphabet: "base64url" });
}

// Whether it is of this type, and allows what the key is to be for.
export function checkJwk(jwk, kty, use, usages, extractable) {
  const refuse = (member) => fail("DataError", `The JSON Web Key's "${member}" is not what the key is to be.`);
  if (jwk.kty !== kty) refuse("kty");
  if (usages.length > 0 && jwk.use !== undefined && jwk.use !== use) refuse("use");
  if (jwk.key_ops !== undefined) {
    const allowed = new Set(jwk.key_ops);
    if (allowed.size < jwk.key_ops.length || usages.some((usage) => !allowed.has(usage))) refuse("key_ops");
  }
  if (jwk.ext === false && extractable) refuse("ext");
}

// If it names an algorithm, it must be one of these.
export function checkAlg(jwk, ...allowed) {
  if (jwk.alg !== undefined && !allowed.includes(jwk.alg)) {
    fail("DataError", `The JSON Web Key is for ${jwk.alg}, the key to be made for ${allowed.join(" or ")}.`);
  }
}

// A key's JSON Web Key: members that are bytes and others, those that are undefined left out, in the order of their names.
export function jwkOf(bytes, members, usages, extractable) {
  const all = { ...members, key_ops: [...usages], ext: extractable };
  for (const [member, value] of Object.entries(bytes)) all[member] = toBase64Url(value);
  const present = MEMBERS.filter((member) => all[member] !== undefined);
  return Object.fromEntries(present.map((member) => [member, all[member]]));
}
