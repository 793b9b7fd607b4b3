//! Storage buckets: Chromium makes them, Larder writes their stores in the browser's profile, and Chromium lists and opens them.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use std::sync::Arc;

use larder_fixtures::chromium;
use larder_idb::{
    BucketId, Connection, DiskFileSystem, Executor, Factory, Key, NewExternalObject,
    ObjectStoreParameters, Origin, Storage, StorageOptions, SystemClock, TransactionMode,
    TransactionOptions, Value,
};
use serde_json::json;

const ORIGIN: &str = "http://127.0.0.1:18917";

/// Makes two buckets, each with a database that says which it is.
const MAKE: &str = r#"
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
for (const name of args) {
  const bucket = await navigator.storageBuckets.open(name);
  const opening = bucket.indexedDB.open("theirs-" + name);
  opening.onupgradeneeded = () => opening.result.createObjectStore("s").put("by Chromium", 1);
  (await done(opening)).close();
}
return await navigator.storageBuckets.keys();
"#;

/// Everything that is in the buckets and in the default one: database, version, object store, key, value.
const TELL: &str = r#"
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
const tell = async (factory) => {
  const rows = [];
  for (const { name, version } of await factory.databases()) {
    const db = await done(factory.open(name));
    for (const store of db.objectStoreNames) {
      const records = db.transaction(store).objectStore(store);
      const [keys, values] = await Promise.all([done(records.getAllKeys()), done(records.getAll())]);
      for (let i = 0; i < keys.length; i++) {
        const value = values[i] instanceof Blob ? "blob " + await values[i].text() : values[i];
        rows.push([name, version, store, keys[i], value]);
      }
    }
    db.close();
  }
  return rows.sort((a, b) => (a[0] < b[0] ? -1 : 1));
};
const all = { default: await tell(indexedDB) };
for (const name of await navigator.storageBuckets.keys()) {
  const bucket = await navigator.storageBuckets.open(name);
  all[name] = await tell(bucket.indexedDB);
}
return all;
"#;

fn open(factory: &Factory, name: &str) -> Connection {
    let request = factory.open(name, Some(7)).unwrap();
    let request = request.with_upgrade(|upgrade| {
        let parameters = ObjectStoreParameters::default();
        let made = &upgrade.transaction;
        made.create_object_store("s", parameters).map(drop)
    });
    request.wait().unwrap()
}

/// A text under 1 and a blob under 2.
fn fill(connection: &Connection, text: &str) {
    let options = TransactionOptions::default();
    let transaction = connection.transaction(["s"], TransactionMode::ReadWrite, options);
    let transaction = transaction.unwrap();
    let store = transaction.object_store("s").unwrap();
    let blob = NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content: Arc::new(text.as_bytes().to_vec()),
    };
    let value = Value::serialize(text).unwrap();
    store.put(value, Some(Key::Number(1.0))).unwrap().detach();
    drop(
        store
            .put(
                Value::with_objects(blob_value(), vec![blob]),
                Some(Key::Number(2.0)),
            )
            .unwrap(),
    );
    transaction.commit().unwrap().wait().unwrap();
}

/// The value of a record that is a Blob and nothing else: Blink's tag for the first blob of the list.
fn blob_value() -> Vec<u8> {
    vec![0xff, 0x14, 0xff, 0x0d, b'\\', b'i', 0]
}

#[test]
fn chromium_lists_and_opens_stores_of_buckets_that_were_written_in_its_profile() {
    let Some(chromium) = chromium::shared() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let profile = dir.path().join("profile");
    let run = |script, args| {
        let answer = chromium.run_in_profile(&profile, ORIGIN, script, &args);
        answer.unwrap()
    };
    let made = run(MAKE, json!(["drafts", "inbox"]));
    assert_eq!(made, json!(["drafts", "inbox"]));

    let fs = Arc::new(DiskFileSystem::new());
    let folder = profile.join("Default/IndexedDB");
    let mut options = StorageOptions::new(fs, folder, Arc::new(SystemClock));
    options.executor = Executor::Driven { seed: None };
    let storage = Storage::new(options).unwrap();
    let origin = Origin::from_url(ORIGIN).unwrap();
    let infos = storage.origins().wait().unwrap();
    let buckets: Vec<BucketId> = infos
        .iter()
        .filter(|info| info.origin == origin)
        .filter_map(|info| info.bucket)
        .collect();
    assert_eq!(buckets.len(), 2, "{infos:?}");
    let databases = |id| {
        let databases = storage.bucket(&origin, id).databases().wait().unwrap();
        let names = databases
            .into_iter()
            .map(|info| info.name.to_string_lossy());
        names.collect::<Vec<_>>()
    };
    let of = |name: &str| {
        let mut ids = buckets.iter().copied();
        ids.find(|id| databases(*id) == [format!("theirs-{name}")])
            .unwrap()
    };
    let (drafts, inbox) = (of("drafts"), of("inbox"));
    // One store is gone on with, one is made anew, and so is that of the default bucket.
    fill(
        &open(&storage.bucket(&origin, inbox), "ours"),
        "in the inbox",
    );
    storage.delete_bucket(&origin, drafts).wait().unwrap();
    fill(
        &open(&storage.bucket(&origin, drafts), "ours"),
        "in the drafts",
    );
    fill(&open(&storage.factory(&origin), "ours"), "in none");
    storage.close().unwrap();

    let record = |key, text: String| json!(["ours", 7, "s", key, text]);
    let ours = |text: &str| {
        [
            record(1, text.to_owned()),
            record(2, format!("blob {text}")),
        ]
    };
    let [first, second] = ours("in the inbox");
    let theirs = json!(["theirs-inbox", 1, "s", 1, "by Chromium"]);
    let expected = json!({
        "default": ours("in none"),
        "drafts": ours("in the drafts"),
        "inbox": [first, second, theirs],
    });
    assert_eq!(run(TELL, json!(null)), expected);
}
