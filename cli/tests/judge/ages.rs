//! Chromiums of several ages, each as the producer of a store and as its judge after Larder: a store keeps its versions.
//!
//! A Chromium deletes a store whose schema or data version is greater than its own, and shows nothing then. `LARDER_CHROMIUMS`
//! lists browsers (`110=/path/to/chromium,143=/other`); without it the one of the other tests is asked alone.
//! `fixtures/generate/browsers.mjs` fetches them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use larder_backing_store::{OpenOptions, Store as Rows, StorePaths};
use larder_codec::DataVersion;
use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Chromium, Store};
use larder_leveldb::storage::DiskFileSystem;
use serde_json::{Value, json};

use crate::{ORIGIN, agree, dumped, records};

/// By a page of any age: no syntax younger than Chromium 64.
const PRODUCE: &str = r#"
const opening = indexedDB.open("theirs", 2);
opening.onupgradeneeded = () => {
  const plain = opening.result.createObjectStore("plain");
  const auto = opening.result.createObjectStore("auto", { keyPath: "id", autoIncrement: true });
  auto.createIndex("by tag", "tags", { multiEntry: true });
};
await new Promise((done, failed) => { opening.onsuccess = done; opening.onerror = failed; });
const db = opening.result;
const transaction = db.transaction(["plain", "auto"], "readwrite");
const plain = transaction.objectStore("plain");
const values = [null, true, -1.5, "text", "caf\u00e9 \u20ac", new Date(7), /a+/gi, [1, , 3], new Map([[1, new Set(["x"])]]),
  new Uint8Array([1, 2, 3]), new Float64Array([0.5]), new Uint16Array([7]).buffer, "large ".repeat(30000),
  new Blob(["some bytes"], { type: "text/plain" }), new File(["of a file"], "f.txt", { lastModified: 86400000 })];
values.forEach((value, key) => plain.put(value, key));
for (let n = 0; n < 300; n++) transaction.objectStore("auto").put({ tags: ["t" + (n % 7), n % 3], n });
await new Promise((done, failed) => { transaction.oncomplete = done; transaction.onabort = failed; });
db.close();
return fixture.dump(["theirs"]);
"#;

/// What not every browser of a version has, as far as this one has it.
const PRODUCE_NEWER: &str = r#"
const makers = [() => new Float16Array([0.5]), () => [new ArrayBuffer(8, { maxByteLength: 16 })], () => new Uint8Array(new ArrayBuffer(8, { maxByteLength: 16 })),
  () => new RegExp("a", "d"), () => new RegExp("a", "v"), () => BigInt(7), () => new DOMMatrix([1, 2, 3, 4, 5, 6]), () => new ImageData(1, 1),
  () => new ImageData(1, 1, { colorSpace: "display-p3" }), () => new ImageData(1, 1, { pixelFormat: "rgba-float16" }),
  () => createImageBitmap(new ImageData(2, 1)), () => createImageBitmap(new ImageData(2, 1, { colorSpace: "display-p3" })),
  () => crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, true, ["sign"]),
  () => crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]), () => crypto.subtle.generateKey("X25519", true, ["deriveBits"])];
const values = [];
for (const make of makers) {
  try { values.push(await make()); } catch (error) { /* It has none. */ }
}
const opening = indexedDB.open("newer", 1);
opening.onupgradeneeded = () => opening.result.createObjectStore("all");
await new Promise((done, failed) => { opening.onsuccess = done; opening.onerror = failed; });
const transaction = opening.result.transaction("all", "readwrite");
values.forEach((value, key) => {
  try { transaction.objectStore("all").put(value, key); } catch (error) { /* A key or image that cannot be stored yet. */ }
});
await new Promise((done, failed) => { transaction.oncomplete = done; transaction.onabort = failed; });
opening.result.close();
return fixture.dump(["newer"]);
"#;

/// Puts every value again that it has read, or its clone.
const AGAIN: &str = r#"
(async () => {
  const opening = indexedDB.open("newer");
  await new Promise((done, failed) => { opening.onsuccess = done; opening.onerror = failed; });
  const transaction = opening.result.transaction("all", "readwrite");
  let count = 0;
  transaction.objectStore("all").openCursor().onsuccess = ({ target: { result: cursor } }) => {
    if (cursor === null) return;
    cursor.update(COPY(cursor.value));
    count += 1;
    cursor.continue();
  };
  await new Promise((done, failed) => { transaction.oncomplete = done; transaction.onabort = failed; });
  console.log(count);
})();
"#;

const READ: &str = r#"
const done = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = reject; });
(async () => {
  const names = await indexedDB.databases();
  const db = await done(indexedDB.open("theirs"));
  for (const mode of ["readonly", "readwrite"]) {
    const transaction = db.transaction(["plain", "auto"], mode);
    const counted = await done(transaction.objectStore("auto").count());
    const all = await done(transaction.objectStore("plain").getAll());
    const tagged = await done(transaction.objectStore("auto").index("by tag").getAllKeys("t1"));
    console.log(names.length, db.version, counted, all.length, tagged.length);
  }
  db.close();
})();
"#;

/// Puts what it can under its name, says what was refused.
const WRITE: &str = r#"
const done = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
const noise = (count) => { let state = 7; return Uint8Array.from({ length: count }, () => (state = (state * 48271) % 2147483647) & 255); };
const bytes = new Uint8Array([1, 2, 3, 255, 0, 7, 8, 9]);
const shared = { shared: true };
const cycle = { list: [shared, shared] };
cycle.self = cycle;
const values = {
  "undefined": undefined, "number": 1 << 30, "minus zero": -0, "latin": "caf\u00e9", "wide": "x\u20ac\ud800", "wide in array": ["a", "\u20ac", "ab", "\u20ac\u20ac"],
  "date": new Date(5), "regexp": /a\/b/gimsuy, "sparse": [1, , "x"], "map": new Map([[1, new Set([shared])]]), "cycle": cycle,
  "boolean object": Object(false), "string object": Object("\u20ac"), "number object": Object(7),
  "buffer": bytes.buffer, "view": bytes, "views": [new Uint16Array(bytes.buffer, 2, 2), new DataView(bytes.buffer, 1, 3), new Float64Array([0.5]), new Uint8ClampedArray(3), bytes],
  "large": "large ".repeat(30000), "large bytes": noise(100000), "larger wide": "\u20ac".repeat(70000),
  "blob": new Blob(["ours"], { type: "a/b" }), "file": new File(["of ours"], "n\u00e4me.txt", { lastModified: 172800000 }),
  "empty file": new File([], "empty.txt", { lastModified: 172800000 }),
  "bigint": -(2n ** 70n), "bigint object": Object(1n),
  "error": new RangeError("message"), "dom exception": new DOMException("message", "AbortError"),
  "resizable": new ArrayBuffer(8, { maxByteLength: 16 }), "length tracking": new Uint8Array(new ArrayBuffer(8, { maxByteLength: 16 })),
  "regexp d": new RegExp("a", "d"), "cause": new Error("message", { cause: { why: 1 } }),
  "float16": new Float16Array([0.5]), "regexp v": new RegExp("a", "v"),
};
(async () => {
  const opening = indexedDB.open("ours", 1);
  opening.onupgradeneeded = () => { opening.result.createObjectStore("values"); opening.result.createObjectStore("gone"); };
  const db = await done(opening);
  const transaction = db.transaction("values", "readwrite");
  const end = new Promise((resolve, reject) => { transaction.oncomplete = resolve; transaction.onabort = () => reject(transaction.error); });
  const store = transaction.objectStore("values");
  const refused = [];
  for (const [name, value] of Object.entries(values)) {
    try { store.put(value, name); } catch (error) { refused.push(error.name === "DataCloneError" ? name : `${name}: ${error}`); }
  }
  await end;
  db.close();
  const theirs = await done(indexedDB.open("theirs", 3)).catch((error) => error);
  if (theirs.objectStoreNames.contains("plain")) {
    const change = theirs.transaction(["plain", "auto"], "readwrite");
    const over = new Promise((resolve, reject) => { change.oncomplete = resolve; change.onabort = () => reject(change.error); });
    change.objectStore("plain").put("changed \u20ac", 3);
    change.objectStore("plain").delete(13);
    change.objectStore("plain").put(new File(["another"], "g.txt", { lastModified: 259200000 }), 14);
    change.objectStore("auto").put({ tags: ["ours"], n: -1 });
    change.objectStore("auto").delete(IDBKeyRange.bound(10, 20));
    await over;
  }
  theirs.close();
  const other = await done(indexedDB.open("to be deleted", 1));
  other.close();
  await done(indexedDB.deleteDatabase("to be deleted"));
  console.log(JSON.stringify(refused));
})();
"#;

/// What is refused in a store of these versions.
fn refused_in(version: DataVersion) -> Vec<&'static str> {
    let DataVersion { v8, blink } = version;
    [
        ("bigint", blink < 19),
        ("bigint object", blink < 19),
        ("error", blink < 20),
        ("dom exception", blink < 20),
        ("resizable", v8 < 16),
        ("length tracking", v8 < 16),
        ("regexp d", v8 < 14),
        ("cause", v8 < 15),
        ("float16", v8 < 16),
        ("regexp v", v8 < 16),
    ]
    .into_iter()
    .filter_map(|(name, is_refused)| is_refused.then_some(name))
    .collect()
}

/// What is found in a store: schema, data version, and every row.
type Found = (Option<i64>, Option<DataVersion>, Vec<(Vec<u8>, Vec<u8>)>);

fn found(store: &Store) -> Found {
    let fs = Arc::new(DiskFileSystem::new());
    let paths = StorePaths::of_leveldb(&store.leveldb);
    let rows = Rows::open_read_only(fs, paths, OpenOptions::default()).unwrap();
    let (mut iter, mut all) = (rows.snapshot().unwrap().iter(), Vec::new());
    iter.seek_to_first().unwrap();
    while iter.valid() {
        all.push((iter.key().to_vec(), iter.value().unwrap().to_vec()));
        iter.next().unwrap();
    }
    (rows.schema_version(), rows.data_version(), all)
}

/// A store's schema version.
pub(crate) fn schema(store: &Store) -> i64 {
    versions(&found(store)).0
}

fn versions(found: &Found) -> (i64, DataVersion) {
    (found.0.unwrap(), found.1.unwrap())
}

/// Runs a script on the folder that the store lies in: what it prints.
fn run(folder: &Path, script: &str, options: &[&str]) -> String {
    let path = folder.join("script.js");
    std::io::Write::write_all(&mut new_file(&path), script.as_bytes()).unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_larder"))
        .arg("run")
        .args(options)
        .arg("--storage")
        .arg(folder)
        .args(["--origin", ORIGIN])
        .arg(&path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    String::from_utf8(ran.stdout).unwrap()
}

fn new_file(path: &Path) -> std::fs::File {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    options.open(path).unwrap()
}

/// The browsers to ask: name and program.
pub(crate) fn browsers() -> Vec<(String, PathBuf)> {
    let list = std::env::var("LARDER_CHROMIUMS").unwrap_or_default();
    let items = list.split(',').filter(|item| !item.is_empty());
    items
        .map(|item| {
            let (name, path) = item
                .split_once('=')
                .expect("LARDER_CHROMIUMS is NAME=PATH,…");
            (name.to_owned(), PathBuf::from(path))
        })
        .collect()
}

/// What a new browser finds in the store.
fn shown(chromium: &Chromium, store: &Store) -> Value {
    let out = tempfile::tempdir().unwrap();
    // Before 72 a page cannot list databases.
    let script = "return fixture.dump(['ours', 'theirs']);";
    let found = chromium.run(store, script, &json!(null), out.path());
    databases_of(found.unwrap().value)
}

fn judge(name: &str, chromium: &Chromium) {
    let folder = tempfile::tempdir().unwrap();
    let made = chromium.create(ORIGIN, PRODUCE, &json!(null), folder.path());
    let made = made.unwrap_or_else(|error| panic!("{name}: {error}"));
    let (store, said) = (made.store, databases_of(made.value));
    let before = found(&store);
    let (schema, data) = versions(&before);
    assert_eq!(records(&said), 315, "{name}");

    // Reading changes no row, and the producer finds its store.
    let read = run(folder.path(), READ, &[]);
    assert_eq!(read, "1 2 300 15 43\n1 2 300 15 43\n", "{name}");
    let after = found(&store);
    assert_eq!(versions(&after), (schema, data), "{name}");
    assert!(after.2 == before.2, "{name}: a row has changed");
    let theirs = shown(chromium, &store);
    agree(&said, &theirs, &format!("{name}, after reading"));

    // Writing keeps the versions. What they have no form for is refused, the rest the producer finds.
    let refused: Vec<String> = serde_json::from_str(&run(folder.path(), WRITE, &[])).unwrap();
    assert_eq!(refused, refused_in(data), "{name}: refused in {data:?}");
    let after = found(&store);
    assert_eq!(versions(&after), (schema, data), "{name}");
    let ours = dumped(&store);
    let theirs = shown(chromium, &store);
    agree(&ours, &theirs, &format!("{name}, after writing"));
    let count = records(&theirs);
    assert!(count > 310, "{name}: {count} records");

    let raised = raise(name, chromium, folder.path(), &store, data);
    let DataVersion { v8, blink } = data;
    println!(
        "{name}: schema {schema}, V8 {v8}, Blink {blink}; {} rows as they were after reading, {count} records agreed after writing, \
         {} values refused{raised}",
        before.2.len(),
        refused.len(),
    );
}

/// A raise that was asked for does what the help text says: a browser with lesser versions deletes the store.
fn raise(
    name: &str,
    chromium: &Chromium,
    folder: &Path,
    store: &Store,
    data: DataVersion,
) -> &'static str {
    let greatest = DataVersion { v8: 16, blink: 21 };
    let said = run(folder, WRITE, &["--raise-data-version"]);
    assert_eq!(said.trim(), "[]", "{name}: nothing is refused any more");
    assert_eq!(found(store).1, Some(greatest), "{name}");
    let theirs = shown(chromium, store);
    if data == greatest {
        agree(&dumped(store), &theirs, &format!("{name}, after raising"));
        return "";
    }
    assert_eq!(theirs, json!([]), "{name}: it has lesser versions");
    "; deleted by it once raised"
}

/// A store that Larder made, under a Chromium that opens its schema.
fn judge_new(name: &str, chromium: &Chromium, schema_max: i64) {
    let folder = tempfile::tempdir().unwrap();
    let plain = WRITE.replace("\"resizable\": ", "}; const newer = { \"resizable\": ");
    run(folder.path(), &plain, &[]);
    let store = Store::within(folder.path(), ORIGIN);
    let (schema, data) = versions(&found(&store));
    assert_eq!((schema, data), (5, DataVersion { v8: 13, blink: 20 }));
    if schema > schema_max {
        return;
    }
    let theirs = shown(chromium, &store);
    agree(
        &dumped(&store),
        &theirs,
        &format!("{name}, a new store of ours"),
    );
    println!(
        "{name}: a new store of V8 13 and Blink 20 with {} records agreed",
        records(&theirs)
    );
}

/// Whatever a browser has written, a script puts again in the store's versions, and the browser finds it as it was.
fn judge_again(name: &str, chromium: &Chromium) {
    let folder = tempfile::tempdir().unwrap();
    let made = chromium.create(ORIGIN, PRODUCE_NEWER, &json!(null), folder.path());
    let made = made.unwrap_or_else(|error| panic!("{name}: {error}"));
    let (store, said) = (made.store, databases_of(made.value));
    let (schema, data) = versions(&found(&store));
    for copy in ["", "structuredClone"] {
        let count = run(folder.path(), &AGAIN.replace("COPY", copy), &[]);
        assert_eq!(count.trim(), records(&said).to_string(), "{name}");
        assert_eq!(versions(&found(&store)), (schema, data), "{name}");
        let out = tempfile::tempdir().unwrap();
        let script = "return fixture.dump(['newer']);";
        let theirs = chromium.run(&store, script, &json!(null), out.path());
        let theirs = databases_of(theirs.unwrap().value);
        agree(&said, &theirs, &format!("{name}, put again, {copy}"));
    }
    println!(
        "{name}: {} newer values of {data:?} put again",
        records(&said)
    );
}

/// The schema version of the stores that a browser makes.
pub(crate) fn schema_of(chromium: &Chromium) -> i64 {
    let folder = tempfile::tempdir().unwrap();
    let made = chromium
        .create(ORIGIN, PRODUCE, &json!(null), folder.path())
        .unwrap();
    schema(&made.store)
}

#[test]
fn what_a_chromium_of_any_age_has_written_goes_back_in_its_own_versions() {
    with_large_stack(|| {
        let list = browsers();
        for (name, path) in &list {
            let chromium =
                Chromium::start_of(path).unwrap_or_else(|error| panic!("{name}: {error}"));
            judge_again(name, &chromium);
        }
        if list.is_empty()
            && let Some(chromium) = chromium::shared()
        {
            judge_again("this machine's Chromium", chromium);
        }
    });
}

#[test]
fn a_chromium_of_any_age_keeps_its_store_when_larder_has_read_and_written_it() {
    with_large_stack(|| {
        let list = browsers();
        for (name, path) in &list {
            let chromium =
                Chromium::start_of(path).unwrap_or_else(|error| panic!("{name}: {error}"));
            judge(name, &chromium);
            judge_new(name, &chromium, schema_of(&chromium));
        }
        if list.is_empty()
            && let Some(chromium) = chromium::shared()
        {
            judge("this machine's Chromium", chromium);
            judge_new("this machine's Chromium", chromium, 5);
        }
    });
}
