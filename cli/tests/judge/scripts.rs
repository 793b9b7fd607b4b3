//! One script, run by a page and by `larder run`: both stores have the same in them, for both.

use std::path::Path;
use std::process::Command;

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Store};
use serde_json::json;

use crate::{ORIGIN, agree, dumped};

/// The body of an async function. Nothing in it depends on time or chance.
const SCRIPT: &str = r#"
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = (event) => { event.preventDefault(); resolve(request.error.name); };
});
const ended = (transaction) => new Promise((resolve) => { transaction.oncomplete = transaction.onabort = resolve; });
const opening = indexedDB.open("values \ud83d\ude00", 3);
opening.onupgradeneeded = () => {
  const db = opening.result;
  db.createObjectStore("plain");
  const store = db.createObjectStore("inline", { keyPath: "a.id", autoIncrement: true });
  store.createIndex("tags", "tags", { multiEntry: true });
  store.createIndex("pair", ["x", "y"]);
  store.createIndex("unique", "u", { unique: true });
  db.createObjectStore("gone").put(1, 1);
  db.deleteObjectStore("gone");
};
const db = await done(opening);
const shared = { shared: true };
const cycle = { list: [shared, shared], map: new Map([[1, shared], ["k", new Set([1n, -(2n ** 70n)])]]) };
cycle.self = cycle;
const bytes = new Uint8Array([1, 2, 3, 255, 0, 7, 8, 9]);
const sparse = [1, , "x"];
sparse.length = 7;
sparse.name = "n";
const values = [
  undefined, null, true, 0, -0, 1.5, NaN, -Infinity, 2 ** 31, 1 << 30, "", "é", "€\ud800", "a".repeat(3000), 12345678901234567890n,
  new Date(5), new Date(NaN), /a\/b/giu, Object(false), Object("s"), Object(7), Object(1n), [1, 2.5, 3], [1, 2, 3], sparse, cycle,
  bytes.buffer, bytes, new Uint16Array(bytes.buffer, 2, 2), new DataView(bytes.buffer, 1, 3), new Float64Array([0.5]),
  { 10: 1, 2: 2, z: 1, a: 2, "\ud800": 3, nested: { deep: [[[{}]]] } },
  new Blob(["some bytes"], { type: "text/plain" }), new File(["of a file"], "näme.txt", { type: "a/b", lastModified: 1234567890123 }),
  "large ".repeat(20000),
];
let transaction = db.transaction("plain", "readwrite");
let end = ended(transaction);
values.forEach((value, i) => transaction.objectStore("plain").put(value, i));
const keys = [-1.5, new Date(0), "k\udc00", [], [1, ["x", new Date(9)]], bytes, bytes.buffer];
for (const key of keys) transaction.objectStore("plain").put("by key", key);
await end;
transaction = db.transaction("inline", "readwrite");
end = ended(transaction);
const store = transaction.objectStore("inline");
const results = [];
for (let i = 0; i < 40; i++) store.put({ tags: ["t" + (i % 3), i % 5], x: i % 4, y: String(i), u: i });
results.push(await done(store.add({ u: 7 })));
store.put({ a: { id: 100.5, more: 1 }, tags: "single" });
store.delete(IDBKeyRange.bound(10, 14, true));
await new Promise((resolve) => {
  store.index("tags").openCursor("t1", "prev").onsuccess = ({ target: { result: cursor } }) => {
    if (cursor === null) return resolve();
    if (cursor.primaryKey % 2 === 0) cursor.update({ ...cursor.value, changed: true });
    else if (cursor.primaryKey % 5 === 0) cursor.delete();
    cursor.continue();
  };
});
await end;
transaction = db.transaction("inline", "readwrite");
end = ended(transaction);
transaction.objectStore("inline").clear();
transaction.abort();
await end;
results.push(await done(db.transaction("inline").objectStore("inline").count()));
db.close();
return JSON.stringify(results);
"#;

pub(crate) fn write_script(file: &Path, text: &str) {
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).open(file).unwrap();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
}

#[test]
fn a_script_leaves_the_same_in_a_page_and_under_larder_run() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("chromium");
        let page = chromium.create(ORIGIN, SCRIPT, &json!(null), &out).unwrap();
        let script = folder.path().join("script.js");
        let report = format!("(async () => {{ {SCRIPT} }})().then((said) => console.log(said));");
        write_script(&script, &report);
        let storage = folder.path().join("IndexedDB");
        let ran = Command::new(env!("CARGO_BIN_EXE_larder"))
            .arg("run")
            .arg("--storage")
            .arg(&storage)
            .args(["--origin", ORIGIN])
            .arg(&script)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{said}");
        let answer = String::from_utf8_lossy(&ran.stdout);
        assert_eq!(page.value.as_str(), Some(answer.trim()));
        let store = Store::within(&storage, ORIGIN);
        let ours = dumped(&store);
        agree(
            &ours,
            &databases_of(chromium.dump(&store).unwrap()),
            "larder run's store",
        );
        agree(
            &ours,
            &dumped(&page.store),
            "larder run's store and the page's",
        );
    });
}
