//! A database with a change feed is an ordinary one for Chromium, the feed's object stores included: a page reads its own feed, and what it
//! writes harms nothing.

mod history;
mod turns;

use std::sync::Arc;

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Store};
use larder_fixtures::random::Random;
use larder_idb::{
    Connection, FixedClock, GetAllOptions, Key, KeyRange, NewExternalObject, ObjectStoreParameters,
    Origin, Storage, StorageOptions, TransactionMode, TransactionOptions, Value,
};
use serde_json::json;

use crate::entries::check_entries;
use crate::{ORIGIN, agree, dumped};

fn key(random: &mut Random) -> Key {
    match random.below(6) {
        0 => Key::Date(random.below(9) as f64 * 1000.0),
        1 => Key::from(format!("k{}\u{e9}\u{4e2d}", random.below(5))),
        2 => Key::Binary(vec![random.below(4) as u8]),
        3 => Key::array(vec![Key::from(1), Key::from("x")]).unwrap(),
        _ => Key::Number(random.below(12) as f64 / 2.0),
    }
}

fn value(random: &mut Random) -> Value {
    let long = "long ".repeat(if random.one_in(9) { 20_000 } else { 1 });
    let value = Value::serialize(&json!({ "a": random.below(9), "long": long })).unwrap();
    match random.one_in(4) {
        false => value,
        true => value.and_objects(vec![NewExternalObject::Blob {
            mime_type: "text/plain".into(),
            content: Arc::new(format!("content {}", random.below(99)).into_bytes()),
        }]),
    }
}

fn open(store: &Store, spills: bool) -> (Storage, Connection) {
    let folder = store.leveldb.parent().unwrap();
    let mut options = StorageOptions::on_disk(folder);
    options.clock = Arc::new(FixedClock::default());
    if spills {
        options.transaction_memory_bytes = 4000;
    }
    let storage = Storage::new(options).unwrap();
    let factory = storage.factory(&Origin::from_url(ORIGIN).unwrap());
    // A page may have given it a greater version.
    let opening = match store.leveldb.exists() {
        true => factory.open("tracked", None).unwrap(),
        false => factory.open("tracked", Some(2)).unwrap(),
    };
    let opening = opening.with_upgrade(|upgrade| {
        for name in ["s", "inline"] {
            let parameters = match name {
                "s" => ObjectStoreParameters::new(),
                _ => ObjectStoreParameters::new()
                    .key_path("id")
                    .auto_increment(true),
            };
            let made = upgrade.transaction.create_object_store(name, parameters)?;
            made.create_index("by a", "a", larder_idb::IndexParameters::new())?;
        }
        upgrade.transaction.set_change_feed(true)
    });
    (storage, opening.wait().unwrap())
}

/// Some transactions, and the number of the last revision.
fn change(store: &Store, random: &mut Random) -> u64 {
    let (storage, connection) = open(store, random.one_in(2));
    for _ in 0..6 {
        let options = TransactionOptions::new();
        let transaction = connection
            .transaction(["s", "inline"], TransactionMode::ReadWrite, options)
            .unwrap();
        let (plain, inline) = (
            transaction.object_store("s").unwrap(),
            transaction.object_store("inline").unwrap(),
        );
        for _ in 0..12 {
            match random.below(8) {
                0 => plain.delete(key(random)).unwrap().detach(),
                1 => {
                    let range = KeyRange::bound(1, 3, false, true).unwrap();
                    plain.delete(range).unwrap().detach();
                }
                2 => inline.delete(random.below(9) as f64).unwrap().detach(),
                3 if random.one_in(3) => inline.clear().unwrap().detach(),
                3 | 4 => inline.put(value(random), None).unwrap().detach(),
                _ => plain
                    .put(value(random), Some(key(random)))
                    .unwrap()
                    .detach(),
            }
        }
        match random.one_in(5) {
            true => transaction.abort(None).unwrap(),
            false => transaction.commit().unwrap().wait().unwrap(),
        }
    }
    let options = TransactionOptions::new().reserved(true);
    let reading = connection
        .transaction("larder.feed.revisions", TransactionMode::ReadOnly, options)
        .unwrap();
    let revisions = reading.object_store("larder.feed.revisions").unwrap();
    let keys = revisions.get_all_keys(KeyRange::all(), GetAllOptions::new());
    let keys = keys.unwrap().wait().unwrap();
    let last = keys.iter().next_back().map(|entry| entry.primary_key());
    drop(reading);
    storage.close().unwrap();
    match last {
        Some(Key::Number(number)) => number as u64,
        other => panic!("no revision: {other:?}"),
    }
}

/// The body of an async function: the page goes through its feed, then changes something.
const SCRIPT: &str = r#"
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
const db = await done(indexedDB.open("tracked"));
const names = Array.from(db.objectStoreNames);
const transaction = db.transaction(names, "readwrite");
const revisions = transaction.objectStore("larder.feed.revisions");
const history = transaction.objectStore("larder.feed.history");
const byVersion = revisions.index("by version");
const records = await done(revisions.getAll());
const numbers = await done(revisions.getAllKeys());
const all = [];
for (const [at, record] of records.entries()) {
  for (const [back, operation, store, version, before, key] of record.changes) {
    const name = record.names[record.ends.findIndex(([id]) => id === store)];
    all.push({ number: numbers[at] - back, operation, store, version, before, key, name, ends: back === 0 && record.committed !== undefined });
  }
}
const found = { names, version: db.version, revisions: all.length, ends: 0, wrong: [] };
for (const [at, revision] of all.entries()) {
  if (revision.ends) found.ends++;
  if (revision.number !== at + 1) found.wrong.push(["number", at + 1]);
  const { store, key, version, before } = revision;
  const place = await done(byVersion.getKey(IDBKeyRange.bound([store, version], [store, []])));
  const at_place = numbers.indexOf(place);
  if (!records[at_place].changes.some((change) => change[2] === store && change[3] === version)) found.wrong.push(["index", at + 1]);
  const later = all.slice(at + 1).find((other) => other.store === store && indexedDB.cmp(other.key, key) === 0);
  if (later && later.operation !== 1 && later.before !== version) found.wrong.push(["before", at + 1]);
  if ((revision.operation === 1) !== (before === 0)) found.wrong.push(["creation", at + 1]);
  const was = await done(history.getAllKeys(IDBKeyRange.bound([store, key, version], [store, key, version, []])));
  const record = await done(transaction.objectStore(revision.name).getKey(key));
  const expected = revision.operation === 3 || !later ? 0 : 1;
  if (was.length !== expected) found.wrong.push(["history", at + 1, was.length]);
  if (!later && (record !== undefined) !== (revision.operation !== 3)) found.wrong.push(["record", at + 1]);
}
transaction.objectStore("s").put({ a: 1, by: "Chromium" }, "a page's");
await new Promise((resolve) => { transaction.oncomplete = resolve; });
db.close();
return JSON.stringify(found);
"#;

#[test]
fn a_page_reads_its_own_feed_and_chromium_and_larder_agree_about_everything() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        for seed in 1..=crate::setting("LARDER_TRACKED", 2) {
            let mut random = Random::new(seed);
            let what = format!("tracked, seed {seed}");
            let dir = tempfile::tempdir().unwrap();
            let store = Store::within(dir.path(), ORIGIN);
            let count = change(&store, &mut random);
            let ours = dumped(&store);
            let theirs = databases_of(chromium.dump(&store).unwrap());
            agree(&ours, &theirs, &what);
            check_entries(&ours, &what);
            let out = dir.path().join("after");
            let page = chromium.run(&store, SCRIPT, &json!(null), &out).unwrap();
            let found: serde_json::Value =
                serde_json::from_str(page.value.as_str().unwrap()).unwrap();
            assert_eq!(found["revisions"], json!(count), "{what}: {found}");
            assert_eq!(found["wrong"], json!([]), "{what}");
            let names = [
                "inline",
                "larder.feed.consumers",
                "larder.feed.history",
                "larder.feed.revisions",
                "s",
            ];
            assert_eq!(found["names"], json!(names), "{what}");
            // Nothing was reset: all is there after the page's turn, and the feed goes on.
            let theirs = databases_of(chromium.dump(&page.store).unwrap());
            agree(&dumped(&page.store), &theirs, &what);
            assert!(change(&page.store, &mut random) > count, "{what}");
            let theirs = databases_of(chromium.dump(&page.store).unwrap());
            agree(&dumped(&page.store), &theirs, &what);
            println!("{what}: {count} revisions agreed");
        }
    });
}
