//! Stores in SQLite files: which form lies where, and what a host sees of them. What every store does is tested by the other tests, on both
//! (`LARDER_STORE_FORM`).
#![cfg(feature = "sqlite")]
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "helpers of tests fail like tests, and look at real folders"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_idb::{
    BucketId, Connection, DiskFileSystem, ErrorKind, ErrorName, Factory, FixedClock, Key,
    NewExternalObject, ObjectStoreParameters, Origin, Storage, StorageOptions, StoreForm,
    TransactionMode, TransactionOptions, Value,
};

const IDENTIFIER: &str = "https_a.example_0";

fn options(folder: &Path, form: StoreForm) -> StorageOptions {
    let fs = Arc::new(DiskFileSystem::new());
    let clock = Arc::new(FixedClock::default());
    let mut options = StorageOptions::new(fs, folder.join("IndexedDB"), clock);
    options.new_store_form = form;
    options
}

fn storage(folder: &Path, form: StoreForm) -> Storage {
    Storage::new(options(folder, form)).unwrap()
}

fn origin() -> Origin {
    Origin::from_url("https://a.example").unwrap()
}

fn open(factory: &Factory) -> Connection {
    let request = factory.open("db", None).unwrap();
    let opened = request.with_upgrade(|upgrade| {
        let parameters = ObjectStoreParameters::default();
        upgrade
            .transaction
            .create_object_store("s", parameters)
            .map(drop)
    });
    opened.wait().unwrap()
}

fn put(connection: &Connection, key: f64, value: Value) {
    let options = TransactionOptions::default();
    let transaction = connection.transaction("s", TransactionMode::ReadWrite, options);
    let transaction = transaction.unwrap();
    let store = transaction.object_store("s").unwrap();
    let put = store.put(value, Some(key.into())).unwrap();
    transaction.commit().unwrap().wait().unwrap();
    put.wait().unwrap();
}

fn text(text: &str) -> Value {
    Value::from_bytes([&[0xff, 0x0f, b'"', text.len() as u8], text.as_bytes()].concat())
}

fn get(connection: &Connection, key: f64) -> Option<Vec<u8>> {
    let options = TransactionOptions::default();
    let transaction = connection.transaction("s", TransactionMode::ReadOnly, options);
    let transaction = transaction.unwrap();
    let store = transaction.object_store("s").unwrap();
    let found = store.get(Key::from(key)).unwrap().wait().unwrap();
    found.map(|value| value.bytes().to_vec())
}

fn names(folder: PathBuf) -> Vec<String> {
    let listed = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = listed
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_form_that_lies_there_is_opened_whichever_a_new_store_has() {
    for (made, other, name) in [
        (StoreForm::Sqlite, StoreForm::LevelDb, IDENTIFIER),
        (
            StoreForm::LevelDb,
            StoreForm::Sqlite,
            "https_a.example_0.indexeddb.leveldb",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        for (form, n) in [(made, 1.0), (other, 2.0), (other, 3.0)] {
            let storage = storage(folder.path(), form);
            let connection = open(&storage.factory(&origin()));
            put(&connection, n, text("value"));
            for key in 1..=n as u32 {
                assert!(get(&connection, f64::from(key)).is_some(), "{key}");
            }
            connection.close();
            storage.close().unwrap();
            assert_eq!(names(folder.path().join("IndexedDB")), [name]);
        }
    }
}

#[test]
fn two_forms_at_one_place_are_an_error_that_names_them() {
    let folder = tempfile::tempdir().unwrap();
    for form in [StoreForm::Sqlite, StoreForm::LevelDb] {
        let place = tempfile::tempdir().unwrap();
        let storage = storage(place.path(), form);
        open(&storage.factory(&origin())).close();
        storage.close().unwrap();
        for name in names(place.path().join("IndexedDB")) {
            fs::create_dir_all(folder.path().join("IndexedDB")).unwrap();
            let from = place.path().join("IndexedDB").join(&name);
            fs::rename(from, folder.path().join("IndexedDB").join(&name)).unwrap();
        }
    }
    let before = names(folder.path().join("IndexedDB").join(IDENTIFIER));
    for read_only in [false, true] {
        let mut options = options(folder.path(), StoreForm::Sqlite);
        options.read_only = read_only;
        let storage = Storage::new(options).unwrap();
        let error = storage.factory(&origin()).databases().wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        let said = error.to_string();
        let leveldb = format!("{IDENTIFIER}.indexeddb.leveldb");
        assert!(
            said.contains(&leveldb) && said.contains(&format!("{IDENTIFIER} ")),
            "{said}"
        );
    }
    assert_eq!(
        names(folder.path().join("IndexedDB").join(IDENTIFIER)),
        before
    );
}

#[test]
fn origins_and_buckets_are_listed_measured_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let storage = storage(folder.path(), StoreForm::Sqlite);
    let bucket = BucketId::new(7).unwrap();
    for factory in [
        storage.factory(&origin()),
        storage.bucket(&origin(), bucket),
    ] {
        let connection = open(&factory);
        put(&connection, 1.0, text("value"));
        connection.close();
        factory.close().wait().unwrap();
    }
    let infos = storage.origins().wait().unwrap();
    let found: Vec<_> = infos
        .iter()
        .map(|info| {
            (
                info.origin.clone(),
                info.bucket,
                info.usage.total() > 40_000,
            )
        })
        .collect();
    assert_eq!(
        found,
        [(origin(), None, true), (origin(), Some(bucket), true)]
    );
    let in_bucket = folder.path().join("WebStorage").join("7").join("IndexedDB");
    assert!(names(in_bucket.clone()).len() >= 2);
    // What is called like an origin and has no store is none.
    let foreign = folder.path().join("IndexedDB").join("log_backup_1");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("notes.txt"), b"mine").unwrap();
    fs::write(folder.path().join("IndexedDB").join("a_file_2"), b"mine").unwrap();
    assert_eq!(storage.origins().wait().unwrap().len(), 2);
    storage.delete_bucket(&origin(), bucket).wait().unwrap();
    assert!(!in_bucket.exists());
    storage.delete_origin(&origin()).wait().unwrap();
    let left = names(folder.path().join("IndexedDB"));
    assert_eq!(left, ["a_file_2", "log_backup_1"]);
    assert!(storage.origins().wait().unwrap().is_empty());
    // What is made then is new.
    let connection = open(&storage.factory(&origin()));
    assert_eq!(get(&connection, 1.0), None);
}

#[test]
fn a_storage_that_only_reads_leaves_the_files_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let writing = storage(folder.path(), StoreForm::Sqlite);
    let connection = open(&writing.factory(&origin()));
    let blob = NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content: Arc::new(b"content".to_vec()),
    };
    let bytes = vec![0xff, 0x0f, b'o', b'"', 1, b'b', b'\\', b'i', 0, b'{', 1];
    put(&connection, 1.0, Value::with_objects(bytes, vec![blob]));
    put(&connection, 2.0, text("value"));
    // The writer goes on.
    let mut options = options(folder.path(), StoreForm::LevelDb);
    options.read_only = true;
    let reading = Storage::new(options).unwrap();
    let read = reading.factory(&origin()).open("db", None).unwrap();
    let read = read.connection().wait().unwrap();
    assert!(get(&read, 2.0).is_some());
    let transaction = read.transaction(
        "s",
        TransactionMode::ReadOnly,
        TransactionOptions::default(),
    );
    let store = transaction.unwrap().object_store("s").unwrap();
    let value = store.get(Key::from(1.0)).unwrap().wait().unwrap().unwrap();
    let object = &value.objects()[0];
    assert_eq!(
        reading.read_blob(object, 0..100).wait().unwrap(),
        b"content"
    );
    let error = read
        .transaction(
            "s",
            TransactionMode::ReadWrite,
            TransactionOptions::default(),
        )
        .unwrap_err();
    assert_eq!(error.name(), ErrorName::ReadOnlyError);
    put(&connection, 3.0, text("later"));
    assert_eq!(get(&read, 3.0), None);
}

#[test]
fn a_change_feed_is_refused_and_the_database_is_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let storage = storage(folder.path(), StoreForm::Sqlite);
    let factory = storage.factory(&origin());
    open(&factory).close();
    let request = factory.open_to_change("db").unwrap();
    let opened = request.with_upgrade(|upgrade| upgrade.transaction.set_change_feed(true));
    let error = opened.wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let connection = open(&factory);
    assert_eq!(connection.object_store_names().len(), 1);
}
