//! Keys, images, handles and geometry that Chromium stored go through a script of `larder run`, and Chromium finds them whole.

use std::process::Command;

use larder_fixtures::canonical::{first_difference, with_large_stack};
use larder_fixtures::chromium;
use serde_json::{Value, json};

use crate::golden::store_of;
use crate::scripts::write_script;
use crate::{dumped, lose_errors};

/// Stores every value anew in its place, and once more in a database of its own.
const SCRIPT: &str = r#"
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
const ended = (transaction) => new Promise((resolve, reject) => {
  transaction.oncomplete = resolve;
  transaction.onabort = () => reject(transaction.error);
});
(async () => {
  const databases = await indexedDB.databases();
  const opening = indexedDB.open("passed", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("all", { autoIncrement: true });
  const passed = await done(opening);
  const seen = {};
  const look = (root) => {
    const all = new Set([root]);
    for (const value of all) {
      if (value === null || typeof value !== "object") continue;
      const name = Object.prototype.toString.call(value).slice(8, -1);
      seen[name] = (seen[name] ?? 0) + 1;
      if (name === "Object" || name === "Array") for (const inner of Object.values(value)) all.add(inner);
    }
  };
  for (const { name } of databases) {
    const db = await done(indexedDB.open(name));
    for (const storeName of db.objectStoreNames) {
      const values = [];
      const transaction = db.transaction(storeName, "readwrite");
      transaction.objectStore(storeName).openCursor().onsuccess = ({ target: { result: cursor } }) => {
        if (cursor === null) return;
        cursor.update(cursor.value);
        values.push(cursor.value);
        cursor.continue();
      };
      await ended(transaction);
      values.forEach(look);
      const copying = passed.transaction("all", "readwrite");
      for (const value of values) copying.objectStore("all").put(structuredClone(value));
      await ended(copying);
    }
    db.close();
  }
  passed.close();
  console.log(JSON.stringify(seen));
})();
"#;

/// Signs and encrypts with every key of the copies that is for that.
const USE: &str = r#"
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
const db = await done(indexedDB.open("passed"));
const keys = [];
let handles = 0;
const look = (root) => {
  const all = new Set([root]);
  for (const value of all) {
    if (value instanceof CryptoKey) keys.push(value);
    else if (value instanceof FileSystemHandle) handles += 1;
    else if (value !== null && typeof value === "object" && ["Object", "Array"].includes(Object.prototype.toString.call(value).slice(8, -1))) {
      for (const inner of Object.values(value)) all.add(inner);
    }
  }
};
for (const value of await done(db.transaction("all").objectStore("all").getAll())) look(value);
db.close();
const bytes = new Uint8Array(32);
let signed = 0, encrypted = 0;
for (const key of keys) {
  if (key.algorithm.name === "HMAC" && key.usages.includes("sign")) {
    signed += (await crypto.subtle.sign("HMAC", key, bytes)).byteLength > 0;
  }
  if (key.algorithm.name === "AES-GCM" && key.usages.includes("encrypt")) {
    const algorithm = { name: "AES-GCM", iv: new Uint8Array(12) };
    encrypted += (await crypto.subtle.encrypt(algorithm, key, bytes)).byteLength > 32;
  }
}
return { keys: keys.length, signed, encrypted, handles };
"#;

/// The page's own words, with keys exported and pixels drawn; but for stacks, which scripts have otherwise.
fn databases(mut document: Value, name: &str) -> Vec<Value> {
    fn leave_out_stacks(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(leave_out_stacks),
            Value::Object(members) => {
                members.remove("has_stack");
                members.values_mut().for_each(leave_out_stacks);
            }
            _ => {}
        }
    }
    let mut databases = document["databases"].take();
    leave_out_stacks(&mut databases);
    let databases = databases.as_array().cloned().unwrap_or_default();
    let without = |database: &Value| database["name"] != json!(name);
    databases.into_iter().filter(without).collect()
}

#[test]
fn objects_that_a_script_cannot_use_go_through_it_and_a_page_can_use_them() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        for name in ["c156", "c143-lite", "c110-lite", "c92-lite"] {
            let fixtures = larder_fixtures::all();
            let fixture = fixtures
                .iter()
                .find(|fixture| fixture.name == name)
                .unwrap();
            let opened = fixture.copy();
            let store = store_of(fixture, &opened.leveldb());
            let before = chromium.dump(&store).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let script = folder.path().join("script.js");
            write_script(&script, SCRIPT);
            let ran = Command::new(env!("CARGO_BIN_EXE_larder"))
                .args(["run", "--storage"])
                .arg(opened.leveldb().parent().unwrap())
                .args(["--origin", &fixture.origin])
                .arg(&script)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success(), "{name}: {said}");
            let seen: Value = serde_json::from_slice(&ran.stdout).unwrap();
            for class in ["CryptoKey", "ImageBitmap", "DOMMatrix", "ImageData"] {
                assert!(seen[class].as_u64() > Some(0), "{name}, {class}: {seen}");
            }
            let after = chromium.dump(&store).unwrap();
            let [before, mut after] =
                [before, after].map(|all| Value::Array(databases(all, "passed")));
            // A page of today reads no Errors of some Chromiums; what was stored anew, it does.
            lose_errors(&mut after, &before);
            let difference = first_difference(&before, &after, "databases");
            assert_eq!(difference, None, "{name}: before, then after the script");
            dumped(&store);
            let out = folder.path().join("out");
            let used = chromium.run(&store, USE, &json!(null), &out).unwrap().value;
            let number = |what: &str| used[what].as_u64().unwrap();
            assert_eq!(used["keys"], seen["CryptoKey"], "{name}: {used}, {seen}");
            assert!(number("signed") + number("encrypted") > 0, "{name}: {used}");
            println!("{name}: {seen}, used: {used}");
        }
    });
}
