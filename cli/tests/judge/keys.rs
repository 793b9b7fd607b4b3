//! Keys of `crypto.subtle`: what a script of `larder run` has made and stored, a page uses; what a page has made, a script reads,
//! gives away and stores again, and it is the page's still.

use std::path::Path;
use std::process::Command;

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Chromium, Store};
use serde_json::{Value, json};

use crate::ages::{browsers, schema, schema_of};
use crate::scripts::write_script;
use crate::{ORIGIN, agree, dumped};

/// In front of every script: all algorithms, the pairs first.
const COMMON: &str = r#"
const { subtle } = crypto;
const publicExponent = new Uint8Array([1, 0, 1]);
const rsa = (name, hash, modulusLength) => ({ name, hash, modulusLength, publicExponent });
const PAIRS = [
  [rsa("RSA-OAEP", "SHA-256", 1024), ["encrypt", "decrypt"]], [rsa("RSA-OAEP", "SHA-1", 2048), ["encrypt", "decrypt", "wrapKey", "unwrapKey"]],
  [rsa("RSASSA-PKCS1-v1_5", "SHA-512", 1024), ["sign", "verify"]], [{ ...rsa("RSA-PSS", "SHA-384", 2048), publicExponent: new Uint8Array([3]) }, ["sign", "verify"]],
  ...["P-256", "P-384", "P-521"].flatMap((namedCurve) => [[{ name: "ECDSA", namedCurve }, ["sign", "verify"]], [{ name: "ECDH", namedCurve }, ["deriveBits"]]]),
  [{ name: "Ed25519" }, ["sign", "verify"]], [{ name: "X25519" }, ["deriveBits"]],
];
const SECRETS = [
  ...["AES-CBC", "AES-CTR", "AES-GCM"].flatMap((name) => [128, 256].map((length) => [{ name, length }, ["encrypt", "decrypt"]])),
  [{ name: "AES-KW", length: 256 }, ["wrapKey", "unwrapKey"]],
  [{ name: "HMAC", hash: "SHA-1" }, ["sign", "verify"]], [{ name: "HMAC", hash: "SHA-512", length: 8 }, ["sign", "verify"]],
];
const done = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
const opened = (name) => {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => request.result.createObjectStore("all");
  return done(request);
};
const putAll = async (db, values) => {
  const transaction = db.transaction("all", "readwrite");
  values.forEach((value, key) => transaction.objectStore("all").put(value, key));
  await new Promise((resolve, reject) => { transaction.oncomplete = resolve; transaction.onabort = () => reject(transaction.error); });
};
const all = (db) => done(db.transaction("all").objectStore("all").getAll());
const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const described = (key) => [key.type, key.extractable, key.usages, key.algorithm.name, key.algorithm.hash, key.algorithm.length, key.algorithm.namedCurve,
  key.algorithm.modulusLength, key.algorithm.publicExponent && hex(key.algorithm.publicExponent)];
// Every form of a key that it has, or why it has it not.
const forms = async (key) => {
  const found = {};
  for (const format of ["raw", "spki", "pkcs8", "jwk"]) {
    found[format] = await subtle.exportKey(format, key).then((form) => (form instanceof ArrayBuffer ? hex(form) : form), (error) => error.name);
  }
  return found;
};
const facts = async (keys) => {
  const found = [];
  for (const key of keys) found.push([described(key), await forms(key)]);
  return found;
};
"#;

/// Makes keys of all algorithms, half of them not extractable, and stores them: what they are.
const MAKE: &str = r#"
const made = [];
for (const extractable of [true, false]) {
  for (const [algorithm, usages] of PAIRS) {
    const { privateKey, publicKey } = await subtle.generateKey(algorithm, extractable, usages);
    made.push(privateKey, publicKey);
  }
  for (const [algorithm, usages] of SECRETS) made.push(await subtle.generateKey(algorithm, extractable, usages));
}
for (const name of ["HKDF", "PBKDF2"]) made.push(await subtle.importKey("raw", new Uint8Array([1, 2, 3]), name, false, ["deriveBits"]));
const db = await opened("keys");
await putAll(db, made);
db.close();
return JSON.stringify(await facts(made));
"#;

/// Reads the keys, and stores in another database what was read again in each of its forms, and the keys themselves.
const PASS: &str = r#"
const db = await opened("keys");
const keys = await all(db);
db.close();
const found = await facts(keys);
const again = [];
for (const [at, key] of keys.entries()) {
  again.push(key);
  for (const format of ["raw", "spki", "pkcs8", "jwk"]) {
    const form = found[at][1][format];
    if (/Error$/.test(form)) continue;
    const data = format === "jwk" ? form : new Uint8Array(form.match(/../g).map((byte) => parseInt(byte, 16)));
    again.push(await subtle.importKey(format, data, key.algorithm, true, key.usages));
  }
}
const other = await opened("again");
await putAll(other, again);
other.close();
return JSON.stringify(found);
"#;

/// Uses every key of a database of a page's: one after the other, those of a pair together.
const USE: &str = r#"
const text = new Uint8Array(40).fill(7);
const same = (a, b) => { if (hex(a) !== hex(b)) throw new Error("not what it was"); };
const IVS = { "AES-CBC": { iv: new Uint8Array(16) }, "AES-GCM": { iv: new Uint8Array(12) }, "AES-CTR": { counter: new Uint8Array(16), length: 64 } };
const algorithmOf = ({ name }) => ({ name, hash: "SHA-256", saltLength: 20, ...IVS[name] });
const use = async (open, closed) => {
  const algorithm = algorithmOf(open.algorithm);
  if (closed.usages.includes("sign")) {
    if (!(await subtle.verify(algorithm, open, await subtle.sign(algorithm, closed, text), text))) throw new Error("not verified");
  } else if (closed.usages.includes("decrypt")) {
    same(await subtle.decrypt(algorithm, closed, await subtle.encrypt(algorithm, open, text)), text);
  } else if (closed.usages.includes("deriveBits") && closed !== open) {
    const another = await subtle.generateKey(closed.algorithm, false, ["deriveBits"]);
    const bits = [[closed, another.publicKey], [another.privateKey, open]].map(([key, other]) => subtle.deriveBits({ name: key.algorithm.name, public: other }, key, 248));
    same(...(await Promise.all(bits)));
  } else if (closed.usages.includes("deriveBits")) {
    await subtle.deriveBits({ ...algorithm, salt: text, info: text, iterations: 2 }, closed, 256);
  } else if (closed.usages.includes("unwrapKey")) {
    const key = await subtle.generateKey({ name: "AES-GCM", length: 128 }, true, ["encrypt"]);
    const wrapped = await subtle.wrapKey("raw", key, open, "AES-KW");
    await subtle.unwrapKey("raw", wrapped, closed, "AES-KW", "AES-GCM", true, ["encrypt"]);
  } else throw new Error("of no use");
};
const db = await opened(argument);
const keys = await all(db);
db.close();
let used = 0;
let closed = [];
for (const key of keys) {
  if (key.type === "private") closed.push(key);
  else if (key.type === "secret") { await use(key, key); used += 1; }
  else {
    for (const other of closed.filter((one) => one.algorithm.name === key.algorithm.name)) { await use(key, other); used += 1; }
  }
  // The forms of a public key stand together behind those of its private one.
  const next = keys[keys.indexOf(key) + 1];
  if (key.type === "public" && next !== undefined && next.type !== "public") closed = [];
}
return { used, facts: JSON.stringify(await facts(keys)) };
"#;

/// What a script of `larder run` says.
fn run(folder: &Path, name: &str, body: &str, options: &[&str]) -> Value {
    let script = folder.join(name);
    let main = "main().then((said) => console.log(said));";
    write_script(
        &script,
        &format!("const main = async () => {{ {COMMON} {body} }}; {main}"),
    );
    let ran = Command::new(env!("CARGO_BIN_EXE_larder"))
        .arg("run")
        .args(options)
        .arg("--storage")
        .arg(folder)
        .args(["--origin", ORIGIN])
        .arg(&script)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.is_empty(), "{said}");
    serde_json::from_slice(&ran.stdout).unwrap()
}

/// What a page says that uses all keys of a database, and how often it has used one.
fn used(chromium: &Chromium, store: &Store, database: &str) -> (Value, u64) {
    let out = tempfile::tempdir().unwrap();
    let body = format!("const argument = {}; {COMMON} {USE}", json!(database));
    let said = chromium.run(store, &body, &json!(null), out.path());
    let said = said.unwrap().value;
    let facts = serde_json::from_str(said["facts"].as_str().unwrap()).unwrap();
    (facts, said["used"].as_u64().unwrap())
}

fn without_names_of_errors(facts: Value) -> Value {
    match facts {
        Value::String(text) if text.ends_with("Error") => json!("Error"),
        Value::Array(items) => items.into_iter().map(without_names_of_errors).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            let all = members.map(|(name, value)| (name, without_names_of_errors(value)));
            Value::Object(all.collect())
        }
        other => other,
    }
}

/// Both sides say the same of the store.
fn agreed(store: &Store) {
    let theirs = chromium::shared().unwrap().dump(store).unwrap();
    agree(&dumped(store), &databases_of(theirs), "keys");
}

#[test]
fn keys_that_a_script_has_made_are_a_pages_to_use() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let ours = run(folder.path(), "make.js", MAKE, &[]);
        let store = Store::within(folder.path(), ORIGIN);
        let (theirs, count) = used(chromium, &store, "keys");
        agree(&ours, &theirs, "the keys");
        // Each key of two parts is used once, with the other part.
        assert_eq!(count, 2 * (12 + 9) + 2);
        agreed(&store);
        println!(
            "{} keys of ours, used {count} times",
            ours.as_array().unwrap().len()
        );
    });
}

#[test]
fn keys_that_a_page_has_made_are_read_given_away_and_stored_by_a_script() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let body = format!("{COMMON} {MAKE}");
        let made = chromium.create(ORIGIN, &body, &json!(null), folder.path());
        let made = made.unwrap();
        let theirs: Value = serde_json::from_str(made.value.as_str().unwrap()).unwrap();
        let ours = run(folder.path(), "pass.js", PASS, &["--raise-data-version"]);
        agree(&ours, &theirs, "the keys");
        // What we have read of every form is the same key for the page.
        let (again, count) = used(chromium, &made.store, "again");
        let again = again.as_array().unwrap();
        assert!(count > 150 && again.len() > 100, "{count}, {}", again.len());
        for fact in theirs.as_array().unwrap() {
            let of_it = again.iter().filter(|again| *again == fact).count();
            let extractable = fact[0][1] == true;
            assert!(of_it > usize::from(extractable), "{of_it} of {fact}");
        }
        agreed(&made.store);
        println!("{} keys of a page's, used {count} times", again.len());
    });
}

#[test]
fn keys_that_a_script_has_made_are_of_use_to_chromiums_of_any_age() {
    with_large_stack(|| {
        for (name, path) in browsers() {
            let chromium = Chromium::start_of(&path);
            let chromium = chromium.unwrap_or_else(|error| panic!("{name}: {error}"));
            // A new store of ours has schema 5.
            if schema_of(&chromium) < 5 {
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            // These two need versions of their own.
            let older = MAKE.replace(
                "of PAIRS",
                "of PAIRS.filter(([{ name }]) => !/25519/.test(name))",
            );
            let ours = run(folder.path(), "make.js", &older, &[]);
            let store = Store::within(folder.path(), ORIGIN);
            assert_eq!(schema(&store), 5, "{name}");
            let (theirs, count) = used(&chromium, &store, "keys");
            // Older ones name another error where there is no export at all.
            let [ours, theirs] = [ours, theirs].map(without_names_of_errors);
            agree(&ours, &theirs, &name);
            assert_eq!(count, 2 * (10 + 9) + 2, "{name}");
            println!("{name}: used keys of ours {count} times");
        }
    });
}
