//! The history's records have no exists rows. For Chromium it is an object store like any other: it reads, counts, walks, overwrites,
//! deletes and clears what is there. What it leaves, with exists rows or without, Larder reads, and the feed goes on.

use std::process::Command;

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Chromium, Store};
use larder_fixtures::random::Random;
use serde_json::{Value, json};

use super::{change, open};
use crate::{ORIGIN, agree, dumped};

/// The body of an async function of `args`, the name of what is done to the history. Returns what each way of reading finds first.
const SCRIPT: &str = r#"
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
const walk = async (request) => {
  const keys = [];
  await new Promise((resolve) => {
    request.onsuccess = () => {
      const cursor = request.result;
      if (!cursor) return resolve();
      keys.push(cursor.primaryKey);
      cursor.continue();
    };
  });
  return keys;
};
const same = (a, b) => indexedDB.cmp(a.length ? a : [0], b.length ? b : [0]) === 0;
const db = await done(indexedDB.open("tracked"));
const transaction = db.transaction(["larder.feed.history"], "readwrite");
const history = transaction.objectStore("larder.feed.history");
const keys = await done(history.getAllKeys());
const middle = keys[keys.length >> 1];
const found = {
  count: keys.length,
  wrong: [],
};
const check = (what, holds) => { if (!holds) found.wrong.push(what); };
check("count", await done(history.count()) === keys.length);
check("count of one", await done(history.count(middle)) === 1);
check("count of a range", await done(history.count(IDBKeyRange.upperBound(middle))) === (keys.length >> 1) + 1);
check("getKey", indexedDB.cmp(await done(history.getKey(IDBKeyRange.lowerBound(middle))), middle) === 0);
check("getAll", (await done(history.getAll())).length === keys.length);
check("get", await done(history.get(middle)) !== undefined);
check("cursor", same(await walk(history.openCursor()), keys));
check("key cursor", same(await walk(history.openKeyCursor()), keys));
check("key cursor back", same((await walk(history.openKeyCursor(null, "prev"))).reverse(), keys));
const refused = await new Promise((resolve) => {
  const request = history.add(1, middle);
  request.onsuccess = () => resolve("added");
  request.onerror = (event) => { event.preventDefault(); resolve(request.error.name); };
});
check("add", refused === "ConstraintError");
switch (args) {
  case "overwrite": for (const key of keys.slice(0, 3)) history.put("a page's", key); break;
  case "delete": history.delete(keys[0]); history.delete(IDBKeyRange.bound(keys[1], middle)); break;
  case "delete by cursor": history.openCursor().onsuccess = (event) => { event.target.result?.delete(); }; break;
  case "clear": history.clear(); break;
}
await new Promise((resolve) => { transaction.oncomplete = resolve; transaction.onabort = resolve; });
const version = db.version;
db.close();
if (args === "index") {
  const request = indexedDB.open("tracked", version + 1);
  request.onupgradeneeded = () => request.transaction.objectStore("larder.feed.history").createIndex("by a", "a");
  const upgraded = await done(request);
  const index = upgraded.transaction("larder.feed.history").objectStore("larder.feed.history").index("by a");
  found.entries = await done(index.count());
  found.walked = (await walk(index.openCursor())).length;
  found.first = await done(index.getKey(IDBKeyRange.lowerBound(-1)));
  upgraded.close();
}
return JSON.stringify(found);
"#;

fn larder(arguments: &[&str], store: &Store) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_larder"));
    let output = command
        .args(arguments)
        .arg(&store.leveldb)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

/// The number of the last revision.
fn last(store: &Store) -> u64 {
    let line: Value = serde_json::from_str(&larder(&["feed", "ls"], store)).unwrap();
    line["last"].as_u64().unwrap()
}

/// A store with a feed, and what the page has found in it before it did this to the history.
fn judged(chromium: &Chromium, what: &str, seed: u64) -> (tempfile::TempDir, Store, Value) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::within(dir.path(), ORIGIN);
    let before = change(&store, &mut Random::new(seed));
    larder(&["verify", "--full"], &store);
    let out = dir.path().join("after");
    let page = chromium.run(&store, SCRIPT, &json!(what), &out).unwrap();
    let found: Value = serde_json::from_str(page.value.as_str().unwrap()).unwrap();
    assert_eq!(found["wrong"], json!([]), "{what}: {found}");
    assert!(found["count"].as_u64().unwrap() > 3, "{what}: {found}");
    // Other records were not changed: a comparison finds nothing.
    let (storage, connection) = open(&page.store, false);
    drop(connection);
    storage.close().unwrap();
    assert_eq!(last(&page.store), before, "{what}");
    (dir, page.store, found)
}

fn agreed(chromium: &Chromium, store: &Store, what: &str) {
    larder(&["verify", "--full"], store);
    let theirs = databases_of(chromium.dump(store).unwrap());
    agree(&dumped(store), &theirs, what);
}

#[test]
fn chromium_reads_and_writes_a_history_without_exists_rows() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let all = ["overwrite", "delete", "delete by cursor", "clear"];
        for (seed, what) in (1..).zip(all) {
            let (_dir, store, _) = judged(chromium, what, seed);
            agreed(chromium, &store, what);
            let before = last(&store);
            let after = change(&store, &mut Random::new(seed + 10));
            assert!(after > before, "{what}");
            agreed(chromium, &store, what);
            larder(&["feed", "clean"], &store);
            let rows = larder(&["rows"], &store);
            let mut history = rows
                .lines()
                .filter(|row| row.contains("larder.feed.history"));
            assert!(!history.any(|row| row.contains("exists")), "{what}");
            agreed(chromium, &store, what);
        }
    });
}

/// An index of a page's on the history: cursors go by the data rows and show its entries; a look-up goes by the exists rows, and takes
/// each entry that it meets for one of a record that is gone.
#[test]
fn an_index_that_a_page_makes_on_the_history_is_walked_and_finds_nothing() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let (_dir, store, found) = judged(chromium, "index", 7);
        assert!(found["entries"].as_u64().unwrap() > 0, "{found}");
        assert_eq!(found["walked"], found["entries"]);
        // JSON has no property for a key that is not found.
        assert!(found.get("first").is_none(), "{found}");
        let theirs = databases_of(chromium.dump(&store).unwrap());
        agree(&dumped(&store), &theirs, "index");
    });
}
