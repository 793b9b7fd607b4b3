//! Values of other engines, put by `larder-idb`: a page of Chromium reads them all, counts them by indexes, changes records, and the
//! commands say the same.

use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Chromium, Store};
use larder_fixtures::random::Random;
use larder_idb::{
    Connection, DATA_VERSION_MAX, DataVersion, DiskFileSystem, FixedClock, Foreign, GetAllOptions,
    IndexParameters, JsString, Key, KeyPath, KeyRange, NEW_STORE_VERSION, NewExternalObject,
    ObjectStoreParameters, Origin, Storage, StorageOptions, TransactionMode, TransactionOptions,
    Upgrade, Value,
};
use serde_json::{Value as Json, json};

use super::{ORIGIN, ages, agree, dumped, records};

const COUNT: usize = 40;

/// A storage whose new stores have these versions.
fn storage(folder: &Path, version: DataVersion) -> Storage {
    let (fs, clock) = (
        Arc::new(DiskFileSystem::new()),
        Arc::new(FixedClock::default()),
    );
    let mut options = StorageOptions::new(fs, folder, clock);
    options.new_store_version = version;
    Storage::new(options).unwrap()
}

fn open(storage: &Storage, version: u64) -> Connection {
    let factory = storage.factory(&Origin::from_url(ORIGIN).unwrap());
    let request = factory.open("foreign", Some(version)).unwrap();
    request.with_upgrade(make).wait().unwrap()
}

/// Index "group" has the remainder by 4, "each", multiEntry, that by 2 and by 3.
fn keys_of(n: usize) -> [(&'static str, Vec<usize>); 2] {
    [
        ("group", vec![n % 4]),
        ("each", vec![10 + n % 2, 20 + n % 3]),
    ]
}

fn as_keys(numbers: &[usize]) -> Vec<Key> {
    numbers
        .iter()
        .map(|number| Key::from(*number as f64))
        .collect()
}

/// A blob beside the bytes of record 5, of which a page sees nothing.
fn note() -> NewExternalObject {
    NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content: Arc::new(b"a note".to_vec()),
    }
}

/// What record `n` holds: short, so long that it is compressed, so long that it lies in a blob.
fn bytes_of(n: usize) -> Vec<u8> {
    let mut random = Random::new(n as u64);
    let len = match n % 10 {
        7 => 70_000,
        8 => 100_000,
        _ => n * 7,
    };
    let is_even = n % 10 == 7;
    let mut next = || if is_even { 7 } else { random.next() as u8 };
    (0..len).map(|_| next()).collect()
}

fn make(upgrade: &Upgrade) -> larder_idb::Result<()> {
    let path = |text: &str| KeyPath::String(text.into());
    let stores = [
        ("out", KeyPath::Null, false),
        ("inline", path("id"), false),
        ("generated", path("a.id"), true),
    ];
    for (name, key_path, auto_increment) in stores {
        let parameters = ObjectStoreParameters::new()
            .key_path(key_path)
            .auto_increment(auto_increment);
        let store = upgrade.transaction.create_object_store(name, parameters)?;
        let plain = IndexParameters::default();
        store.create_index("group", path("group"), plain)?;
        let each = IndexParameters::new().multi_entry(true);
        store.create_index("each", path("each"), each)?;
        for n in 1..=COUNT {
            let keys = keys_of(n).map(|(name, keys)| (JsString::from(name), as_keys(&keys)));
            let mut value = Value::foreign("gecko", 8, &bytes_of(n), keys)?;
            if n == 5 {
                value = value.and_objects(vec![note()]);
            }
            let key = (!auto_increment).then(|| Key::from(n as f64));
            store.put(value, key)?.detach();
        }
        // An index over what is there.
        let keys_of = |key: &Key, value: &Foreign<'_>| {
            assert_eq!(value.engine(), "gecko");
            Ok(vec![key.clone()])
        };
        store.create_index_with_keys("late", path("late"), plain, keys_of)?;
    }
    Ok(())
}

/// What the page finds and does. It returns numbers of records by index keys, what it read, and what a new index of its own has.
/// No syntax younger than Chromium 64.
const SCRIPT: &str = r#"
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = (event) => { event.preventDefault(); reject(request.error); };
});
const opening = indexedDB.open("foreign", 2);
let made;
opening.onupgradeneeded = () => {
  made = ["out", "inline", "generated"].map((name) => {
    const index = opening.transaction.objectStore(name).createIndex("of the page", "larder");
    return done(index.count());
  });
};
const db = await done(opening);
const found = { made: await Promise.all(made), read: [], counts: [] };
const transaction = db.transaction(["out", "inline", "generated"], "readwrite");
for (const name of ["out", "inline", "generated"]) {
  const store = transaction.objectStore(name);
  const all = await done(store.getAll());
  found.read.push(all.every((value) =>
    value["larder:engine"] === "gecko" && value["larder:format"] === 8 && value["larder:bytes"] instanceof ArrayBuffer) ? all.length : -1);
  const counts = [];
  for (const [index, key] of [["group", 1], ["each", 11], ["each", 20], ["late", 7]]) {
    counts.push(await done(store.index(index).count(key)));
  }
  found.counts.push(counts);
  await done(store.delete(2));
  await done(store.delete(IDBKeyRange.bound(10, 12)));
  // A copy: under another key, or where it was, for its key is inside it.
  const value = await done(store.index("group").get(3));
  if (name === "out") await done(store.put(value, "copy"));
  if (name === "inline") await done(store.put({ ...value, id: "copy" }));
  if (name === "generated") await done(store.put(value));
}
await new Promise((resolve) => { transaction.oncomplete = resolve; });
db.close();
return found;
"#;

fn command(arguments: &[&str], store: &Store) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(arguments)
        .arg(&store.leveldb)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && told.is_empty(),
        "{arguments:?}: {told}"
    );
    String::from_utf8(output.stdout).unwrap()
}

/// What a page finds. Before 72 it cannot list databases.
fn shown(chromium: &Chromium, store: &Store) -> Json {
    let out = tempfile::tempdir().unwrap();
    let script = "return fixture.dump(['foreign']);";
    let found = chromium.run(store, script, &json!(null), out.path());
    databases_of(found.unwrap().value)
}

/// Larder's turn in the folder, then that of a page on a copy.
fn judge(what: &str, chromium: &Chromium, folder: &Path, version: DataVersion) {
    let larder = storage(folder, version);
    open(&larder, 1).close();
    larder.close().unwrap();
    let store = Store::within(folder, ORIGIN);
    for arguments in [
        &["dump", "--format", "text"][..],
        &["dump", "--format", "jsonl"],
    ] {
        assert!(command(arguments, &store).contains("gecko"));
    }
    assert!(command(&["ls"], &store).contains("values of gecko"));
    assert!(command(&["rows"], &store).contains("gecko (format 8), value of"));
    let theirs = shown(chromium, &store);
    agree(
        &dumped(&store),
        &theirs,
        &format!("{what}, before its turn"),
    );
    assert_eq!(records(&theirs), 3 * COUNT, "{what}");

    let after = tempfile::tempdir().unwrap();
    let changed = chromium.run(&store, SCRIPT, &json!(null), after.path());
    let changed = changed.unwrap();
    let counts = json!(vec![[10, 20, 13, 1]; 3]);
    let expected = json!({ "made": [0, 0, 0], "read": [COUNT, COUNT, COUNT], "counts": counts });
    assert_eq!(changed.value, expected, "{what}");
    let theirs = shown(chromium, &changed.store);
    agree(
        &dumped(&changed.store),
        &theirs,
        &format!("{what}, after its turn"),
    );
    check_changed(&changed.store, version);
    println!(
        "{what}: {} values agreed, {} after its turn",
        3 * COUNT,
        records(&theirs)
    );
}

#[test]
fn a_page_reads_counts_and_changes_values_of_another_engine_and_the_commands_find_no_damage() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        for version in [NEW_STORE_VERSION, DATA_VERSION_MAX] {
            let folder = tempfile::tempdir().unwrap();
            let what = format!("a new store of {version:?}");
            judge(&what, chromium, &folder.path().join("IndexedDB"), version);
        }
    });
}

/// A page of any age makes a store of its browser's versions.
const MAKE: &str = r#"
const opening = indexedDB.open("theirs", 1);
opening.onupgradeneeded = () => { opening.result.createObjectStore("s"); };
await new Promise((done, failed) => { opening.onsuccess = done; opening.onerror = failed; });
opening.result.close();
const deleting = indexedDB.deleteDatabase("theirs");
await new Promise((done, failed) => { deleting.onsuccess = done; deleting.onerror = failed; });
return null;
"#;

#[test]
fn a_chromium_of_any_age_reads_values_of_another_engine_in_a_store_that_it_has_made() {
    with_large_stack(|| {
        for (name, path) in ages::browsers() {
            let chromium =
                Chromium::start_of(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
            let folder = tempfile::tempdir().unwrap();
            let made = chromium.create(ORIGIN, MAKE, &json!(null), folder.path());
            made.unwrap_or_else(|error| panic!("{name}: {error}"));
            judge(&name, &chromium, folder.path(), NEW_STORE_VERSION);
        }
    });
}

/// What the page has left, as the host finds it: its bytes under the keys that are there, copies too.
fn check_changed(store: &Store, version: DataVersion) {
    let larder = storage(store.leveldb.parent().unwrap(), version);
    let connection = open(&larder, 2);
    let names = connection.object_store_names();
    let options = TransactionOptions::default();
    let transaction = connection
        .transaction(&names, TransactionMode::ReadOnly, options)
        .unwrap();
    for name in names {
        let store = transaction.object_store(&name).unwrap();
        let all = store.get_all(KeyRange::all(), GetAllOptions::default());
        let all = all.unwrap().wait().unwrap();
        let mut expected: Vec<(Key, usize)> = (1..=COUNT)
            .filter(|n| ![2, 10, 11, 12].contains(n))
            .map(|n| (Key::from(n as f64), n))
            .collect();
        if !store.auto_increment() {
            expected.push(("copy".into(), 3));
        }
        assert_eq!(all.len(), expected.len());
        for (entry, (key, n)) in all.iter().zip(expected) {
            assert_eq!(entry.key(), key);
            assert!(
                entry.foreign().unwrap().bytes() == bytes_of(n),
                "{name:?}: {n}"
            );
            assert_eq!(entry.objects().len(), usize::from(n == 5), "{name:?}: {n}");
            for object in entry.objects() {
                let mut text = String::new();
                object.open().unwrap().read_to_string(&mut text).unwrap();
                assert_eq!(text, "a note", "{name:?}: {n}");
            }
        }
    }
    drop(transaction);
    connection.close();
    larder.close().unwrap();
}
