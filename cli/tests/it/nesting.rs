//! Records that are as deep as may be, and one that is deeper than anything that is read, as only a hostile store has it: every
//! way of reading shows the others, and says which one it was.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use larder_backing_store::{
    BackingStore, Durability, ObjectStoreParameters, Put, PutKey, PutMode, Scope, StorePaths,
    SystemClock, WriteOptions, WriteTransaction,
};
use larder_codec::value::{Builder, DEPTH_MAX};
use larder_codec::{Key, KeyPath, ObjectStoreId, Origin, RawKey};
use larder_leveldb::storage::DiskFileSystem;

use crate::support::{larder, stderr};

const ORIGIN: &str = "https://example.com";

/// Sets one inside the other, in the versions of Chromium 92 or of 64, whose values are read by way of a tree.
fn nested(depth: usize, is_old: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut builder = Builder::begin(&mut bytes);
    for _ in 0..depth {
        builder.begin_set();
    }
    builder.number(7.0);
    let needs = builder.end();
    assert!(!is_old || needs.restate(needs.version(), &mut bytes));
    bytes
}

/// Arrays one inside the other, the inmost empty.
fn nested_key(arrays: usize) -> Vec<u8> {
    [&[4, 1].repeat(arrays - 1)[..], &[4, 0]].concat()
}

fn put(transaction: &mut WriteTransaction, store: ObjectStoreId, key: &[u8], value: &[u8]) {
    let put = Put {
        key: PutKey::Given(RawKey::decode_exact(key).unwrap()),
        value,
        mode: PutMode::Add,
        index_keys: &[],
        external_objects: &[],
    };
    transaction.put(store, &put).unwrap();
}

fn number(number: f64) -> Vec<u8> {
    Key::encode_number(number).to_vec()
}

/// Object store "s": 1 is as deep as may be, 2 deeper, 3 short, a key of 2,001 arrays as Chromium can leave one.
/// "generated": the same values, whose keys are put into them when they are read.
fn make(folder: &Path) {
    let leveldb = folder.join("https_example.com_0.indexeddb.leveldb");
    let mut options = WriteOptions::new(Origin::from_url(ORIGIN).unwrap(), Arc::new(SystemClock));
    options.create_if_missing = true;
    let fs = Arc::new(DiskFileSystem::new());
    let store = BackingStore::open(fs, StorePaths::of_leveldb(&leveldb), options).unwrap();
    let id = store.create_database(&"d".into()).unwrap();
    let scope = Scope::VersionChange(id);
    let mut change = store.begin(scope, Durability::Strict).unwrap();
    change.set_version(1).unwrap();
    let mut object_store = |name: &str, key_path, auto_increment| {
        let parameters = ObjectStoreParameters {
            id: None,
            name: name.into(),
            key_path,
            auto_increment,
        };
        change.create_object_store(&parameters).unwrap()
    };
    let plain = object_store("s", KeyPath::Null, false);
    let generated = object_store("generated", KeyPath::String("id".into()), true);
    let records = [
        nested(DEPTH_MAX, false),
        nested(DEPTH_MAX + 1, false),
        nested(1, false),
    ];
    for (at, value) in (1..).zip(&records) {
        put(&mut change, plain, &number(f64::from(at)), value);
    }
    put(&mut change, plain, &nested_key(2001), &nested(2, false));
    for (at, depth) in [(1, DEPTH_MAX), (2, DEPTH_MAX + 1), (3, 1)] {
        put(
            &mut change,
            generated,
            &number(f64::from(at)),
            &nested(depth, true),
        );
    }
    change.commit().unwrap();
    store.close().unwrap();
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Text cuts values short.
const SETS_IN_TEXT: usize = 184;

#[test]
fn dumps_show_every_record_but_the_one_that_is_too_deep_and_name_that() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    // In "s" and in "generated".
    let sets = (DEPTH_MAX + 1 + 2) + (DEPTH_MAX + 1);
    for (format, set) in [
        ("text", "\"$set\""),
        ("jsonl", "\"$set\""),
        ("canonical", "\"t\":\"Set\""),
    ] {
        let output = larder([
            "dump".as_ref(),
            folder.path().as_os_str(),
            "--format".as_ref(),
            format.as_ref(),
        ]);
        let (out, reported) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(1), "{format}: {reported}");
        let sets = if format == "text" { SETS_IN_TEXT } else { sets };
        assert_eq!(out.matches(set).count(), sets, "{format}");
        for store in ["s", "generated"] {
            let place = format!("object store \"{store}\", key 2: ");
            assert_eq!(reported.matches(&place).count(), 1, "{format}: {reported}");
        }
        assert_eq!(
            reported.matches("nesting at offset").count(),
            2,
            "{format}: {reported}"
        );
        if format == "jsonl" {
            assert_eq!(out.lines().count(), 7);
            assert_eq!(
                out.lines()
                    .filter(|line| line.contains("\"error\""))
                    .count(),
                2
            );
        }
    }
}

/// What `larder run` prints for the body of an async function, to which `db` is open.
fn run(folder: &Path, body: &str) -> String {
    let scripts = tempfile::tempdir().unwrap();
    let script = scripts.path().join("script.js");
    let text = format!(
        r#"
const done = (request) => new Promise((resolve) => {{
  request.onsuccess = () => resolve(request.result);
  request.onerror = (event) => {{ event.preventDefault(); resolve(`${{request.error.name}}: ${{request.error.message}}`); }};
}});
const depth = (value) => {{
  let depth = 0;
  for (; typeof value === "object"; depth++) value = value instanceof Set ? value.values().next().value : value[0];
  return value === undefined || value === 7 ? depth : value;
}};
(async () => {{
  const db = await done(indexedDB.open("d"));
  {body}
}})();"#
    );
    fs::write(&script, text).unwrap();
    let output = larder([
        "run".as_ref(),
        "--storage".as_ref(),
        folder.as_os_str(),
        "--origin".as_ref(),
        ORIGIN.as_ref(),
        script.as_os_str(),
    ]);
    let reported = stderr(&output);
    assert!(output.status.success() && reported.is_empty(), "{reported}");
    stdout(&output)
}

const TOO_DEEP: &str = "more than the limit of 100000";

#[test]
fn scripts_get_every_record_but_the_one_that_is_too_deep_and_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let said = run(
        folder.path(),
        r#"
  for (const name of ["s", "generated"]) {
    const store = db.transaction(name).objectStore(name);
    for (const key of [1, 2, 3]) console.log(name, key, depth(await done(store.get(key))));
    console.log(name, "all", await done(store.getAll()));
    console.log(name, "records", await done(store.getAllRecords()));
    console.log(name, "some", (await done(store.getAll(IDBKeyRange.lowerBound(3)))).length);
    console.log(name, "keys", (await done(store.getAllKeys())).map(depth).join());
  }
  const cursors = db.transaction("s").objectStore("s").openCursor();
  for (let cursor = await done(cursors); cursor !== null; cursor = await done(cursors)) {
    let value;
    try { value = depth(cursor.value); } catch (error) { value = error.name; }
    console.log("cursor", depth(cursor.key), value);
    cursor.continue();
  }"#,
    );
    let lines: Vec<&str> = said.lines().collect();
    let expected = [
        ("s 1 100000", ""),
        (
            "s 2 DataError: The value could not be read: nesting",
            TOO_DEEP,
        ),
        ("s 3 1", ""),
        (
            "s all DataError: The value of the record with key 2 could not be read: nesting",
            TOO_DEEP,
        ),
        (
            "s records DataError: The value of the record with key 2 could not be read",
            TOO_DEEP,
        ),
        ("s some 2", ""),
        ("s keys 1,2,3,2001", ""),
        ("generated 1 100000", ""),
        ("generated 2 ", TOO_DEEP),
        ("generated 3 1", ""),
        ("generated all ", "the record with key 2: "),
        ("generated records ", "the record with key 2: "),
        ("generated some 1", ""),
        ("generated keys 1,2,3", ""),
        ("cursor 1 100000", ""),
        ("cursor 2 DataError", ""),
        ("cursor 3 1", ""),
        ("cursor 2001 2", ""),
    ];
    assert_eq!(lines.len(), expected.len(), "{said}");
    for (line, (start, part)) in lines.iter().zip(expected) {
        assert!(
            line.starts_with(start) && line.contains(part),
            "{line}: {start} … {part}"
        );
    }
}

#[test]
fn a_record_that_is_too_deep_is_named_where_it_is_in_the_way_and_can_be_deleted() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let said = run(
        folder.path(),
        r#"
  db.close();
  const upgrade = () => {
    const request = indexedDB.open("d", 2);
    request.onupgradeneeded = () => {
      request.transaction.addEventListener("abort", () => console.log(request.transaction.error.message));
      request.transaction.objectStore("s").createIndex("size", "size");
    };
    return done(request);
  };
  console.log(await upgrade());
  const before = await done(indexedDB.open("d"));
  const store = before.transaction("s", "readwrite").objectStore("s");
  await done(store.delete(2));
  console.log((await done(store.getAll())).map(depth).join());
  before.close();
  const after = await upgrade();
  console.log(await done(after.transaction("s").objectStore("s").index("size").count()));"#,
    );
    let lines: Vec<&str> = said.lines().collect();
    let [why, aborted, depths, entries] = lines.as_slice() else {
        panic!("{said}");
    };
    assert!(
        why.starts_with("the record with key 2: ") && why.contains(TOO_DEEP),
        "{why}"
    );
    assert!(aborted.starts_with("AbortError"), "{aborted}");
    assert_eq!((*depths, *entries), ("100000,1,2", "0"));
}
