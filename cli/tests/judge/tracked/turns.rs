//! Larder and Chromium write a tracked database by turns. Chromium writes without the feed: when Larder opens the store after its turn, the
//! revisions that are appended must be what a comparison of the dumps before and after finds.

use std::collections::BTreeMap;
use std::process::Command;

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Store};
use larder_fixtures::random::Random;
use serde_json::{Value, json};

use super::{change, open};
use crate::{ORIGIN, agree, dumped, setting};

/// The body of an async function of `args`: some transactions and sometimes an upgrade. Each value is another, so that a dump shows every
/// change. Keys are never -0, whose index entries Chromium does not find in its own tables (decision 54). Returns the object stores that have another name now.
const SCRIPT: &str = r"
let state = args.seed;
const below = (n) => { state = (state * 48271) % 2147483647; return state % n; };
const pick = (items) => items[below(items.length)];
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
let count = 0;
const key = () => pick([below(12), below(24) / 2, 'k' + below(5) + '\u00e9\u4e2d', new Date(below(9) * 1000), new Uint8Array([below(4)]), [1, 'x']]);
const value = () => {
  const out = { a: below(9), turn: args.seed + ' ' + (count += 1) };
  if (!below(5)) out.blob = new Blob(['content ' + below(1000)], { type: 'text/plain' });
  if (!below(9)) out.long = 'long '.repeat(20000);
  return out;
};
const put = (store) => {
  const record = value();
  if (store.keyPath === null) store.put(record, key());
  else { if (!below(3)) record.id = below(9); store.put(record); }
};
const change = (store) => {
  const sort = below(20);
  if (sort < 12) put(store);
  else if (sort < 15) store.delete(key());
  else if (sort < 16) store.delete(IDBKeyRange.bound(below(4), 4 + below(4)));
  else if (sort < 18) store.openCursor().onsuccess = (event) => {
    const cursor = event.target.result;
    if (!cursor) return;
    const record = value();
    if (store.keyPath !== null) record.id = cursor.primaryKey;
    if (below(2)) cursor.update(record); else cursor.delete();
    if (below(3)) cursor.continue();
  };
  else if (sort < 19) { const low = below(9); store.put(value(), store.keyPath === null ? low : undefined); store.delete(low); }
  else if (!below(3)) store.clear();
};
const own = (names) => Array.from(names).filter((name) => !name.startsWith('larder.feed.'));
const renamed = {};
if (!below(4)) {
  const before = await done(indexedDB.open('tracked'));
  const version = before.version;
  before.close();
  const request = indexedDB.open('tracked', version + 1);
  request.onupgradeneeded = () => {
    const [db, transaction] = [request.result, request.transaction];
    const fresh = db.createObjectStore('made ' + args.seed);
    for (let n = below(4); n > 0; n--) put(fresh);
    const others = own(db.objectStoreNames).filter((name) => name.startsWith('made ') && name !== fresh.name);
    if (others.length > 0 && below(2)) db.deleteObjectStore(pick(others));
    else if (others.length > 0) {
      const store = transaction.objectStore(pick(others));
      const name = 'made, renamed ' + args.seed;
      renamed[name] = store.name;
      store.name = name;
      put(store);
    }
  };
  (await done(request)).close();
}
const db = await done(indexedDB.open('tracked'));
for (let n = below(4); n > 0; n--) {
  const names = own(db.objectStoreNames);
  const transaction = db.transaction(names, 'readwrite');
  for (let m = below(8); m > 0; m--) change(transaction.objectStore(pick(names)));
  const aborts = !below(5);
  await new Promise((resolve) => {
    transaction.oncomplete = resolve;
    transaction.onabort = resolve;
    if (aborts) setTimeout(() => { try { transaction.abort(); } catch (error) { /* It has ended. */ } }, 0);
  });
}
db.close();
return renamed;
";

fn lines(arguments: &[&str], store: &Store) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_larder"));
    let output = command
        .args(arguments)
        .arg(&store.leveldb)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// An object store's name and a key.
type Place = (String, String);

/// The records of the database, by their places: values and external objects, without those of the feed itself.
fn records(store: &Store) -> BTreeMap<Place, Value> {
    let mut records = BTreeMap::new();
    for line in lines(&["dump", "--format", "jsonl"], store) {
        let name = line["store"].as_str().unwrap().to_owned();
        if !name.starts_with("larder.feed.") {
            // Blobs have numbers that differ with each put.
            let value = json!([line["value"], line["external"]]);
            records.insert((name, line["key"].to_string()), value);
        }
    }
    records
}

/// What a comparison of two dumps finds: operation, place and value of each record that is otherwise.
fn compared(
    before: &BTreeMap<Place, Value>,
    after: &BTreeMap<Place, Value>,
) -> BTreeMap<Place, (String, Value)> {
    let mut found = BTreeMap::new();
    for (place, value) in after {
        let operation = match before.get(place) {
            None => "creation",
            Some(was) if was != value => "modification",
            Some(_) => continue,
        };
        found.insert(place.clone(), (operation.to_owned(), value[0].clone()));
    }
    for place in before.keys().filter(|place| !after.contains_key(*place)) {
        found.insert(place.clone(), ("removal".to_owned(), Value::Null));
    }
    found
}

/// The revisions behind a number, as `larder feed replay` prints them: each record at most once, all of one transaction.
fn appended(store: &Store, from: u64) -> BTreeMap<Place, (String, Value)> {
    let from_text = from.to_string();
    let lines = lines(&["feed", "replay", "--values", "--from", &from_text], store);
    let count = lines.len();
    let mut found = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        assert_eq!(line["revision"], json!(from + at as u64 + 1));
        assert_eq!(line.get("committed").is_some(), at + 1 == count, "{line}");
        let place = (
            line["store"].as_str().unwrap().to_owned(),
            line["key"].to_string(),
        );
        let operation = line["operation"].as_str().unwrap().to_owned();
        let value = line.get("value").cloned().unwrap_or(Value::Null);
        let twice = found.insert(place, (operation, value));
        assert!(twice.is_none(), "two revisions of one record: {line}");
    }
    found
}

#[test]
fn what_chromium_changes_becomes_the_revisions_that_a_comparison_of_dumps_finds() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let (turns, seed) = (
            setting("LARDER_TRACKED_TURNS", 6),
            setting("LARDER_SEED", 1),
        );
        let mut random = Random::new(seed);
        let mut dir = tempfile::tempdir().unwrap();
        let mut store = Store::within(dir.path(), ORIGIN);
        let (mut revisions, mut unchanged) = (BTreeMap::new(), 0);
        for turn in 0..turns {
            if turn > 0 && turn.is_multiple_of(25) {
                // From nothing again.
                dir = tempfile::tempdir().unwrap();
                store = Store::within(dir.path(), ORIGIN);
            }
            let what = format!("tracked, seed {seed}, turn {turn}");
            let last = change(&store, &mut random);
            if random.one_in(3) {
                drop(lines(&["feed", "clean", "--keep", "20"], &store));
            }
            let mut before = records(&store);
            let arguments = json!({ "seed": (random.next() % 0x7fff_ffff) + 1 });
            let out = dir.path().join(format!("after {turn}"));
            let changed = chromium.run(&store, SCRIPT, &arguments, &out).unwrap();
            store = changed.store;
            let names: BTreeMap<String, String> = serde_json::from_value(changed.value).unwrap();
            for (new, old) in names {
                let of_it = |(place, _): &(Place, Value)| place.0 == old;
                let all = std::mem::take(&mut before).into_iter();
                let (moved, rest): (Vec<_>, Vec<_>) = all.partition(of_it);
                before.extend(rest);
                let moved = moved.into_iter();
                before.extend(moved.map(|((_, key), value)| ((new.clone(), key), value)));
            }
            let after = records(&store);
            // The next opening that could write appends what there is.
            let (storage, connection) = open(&store, false);
            drop(connection);
            storage.close().unwrap();
            let (expected, found) = (compared(&before, &after), appended(&store, last));
            assert_eq!(found, expected, "{what}");
            let theirs = databases_of(chromium.dump(&store).unwrap());
            agree(&dumped(&store), &theirs, &what);
            if (turn + 1).is_multiple_of(25) {
                println!("tracked: {} turns agreed", turn + 1);
            }
            unchanged += u64::from(found.is_empty());
            for (operation, _) in found.into_values() {
                *revisions.entry(operation).or_insert(0) += 1;
            }
        }
        println!(
            "tracked: seed {seed}, {turns} turns of Chromium's, {unchanged} of them without a change: {revisions:?}"
        );
        assert!(
            revisions.len() == 3,
            "too few changes to tell anything: {revisions:?}"
        );
    });
}
