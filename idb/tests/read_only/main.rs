//! Storages that only read: what they show, what they refuse, and that nothing is written, made, locked or removed by them.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "helpers of tests fail like tests, and look at files beside the crate"
)]

#[path = "../damage/look.rs"]
mod look;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use larder_fixtures::{Fixture, OpenFixture};
use larder_idb::{
    Connection, DiskFileSystem, ErrorKind, ErrorName, Executor, Factory, FileSystem, FixedClock,
    JsString, Key, Maintenance, MemoryFileSystem, ObjectStoreParameters, Origin, Result,
    RowsInDoubt, Storage, StorageOptions, Transaction, TransactionMode, TransactionOptions, Value,
};
use larder_leveldb::storage::RecordingFileSystem;
use look::{Found, look};

fn storage(fs: Arc<dyn FileSystem>, folder: &Path, read_only: bool) -> Storage {
    let mut options = StorageOptions::new(fs, folder, Arc::new(FixedClock::default()));
    options.executor = Executor::Driven { seed: None };
    options.read_only = read_only;
    Storage::new(options).unwrap()
}

/// Contents and times of all files and folders below one.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut tree = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = std::fs::metadata(&path).unwrap();
            let bytes = match metadata.is_dir() {
                true => Vec::new(),
                false => std::fs::read(&path).unwrap(),
            };
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            tree.insert(path, (bytes, metadata.modified().unwrap()));
        }
    }
    tree
}

/// The folder of the store's folder, and the databases' names by a storage that writes to a copy.
struct Golden {
    origin: Origin,
    names: BTreeSet<JsString>,
    whole: look::Contents,
}

impl Golden {
    fn of(fixture: &Fixture, copy: &OpenFixture) -> Self {
        let origin = Origin::from_url(&fixture.origin).unwrap();
        let storage = storage(Arc::new(DiskFileSystem::new()), folder(copy), false);
        let factory = storage.factory(&origin);
        let listed = look::done(&storage, factory.databases()).unwrap();
        let names = listed.into_iter().map(|info| info.name).collect();
        let whole = look(&storage, &factory, &names);
        storage.close().unwrap();
        Self {
            origin,
            names,
            whole,
        }
    }
}

fn folder(copy: &OpenFixture) -> &Path {
    Box::leak(copy.leveldb().into_boxed_path())
        .parent()
        .unwrap()
}

#[test]
fn every_golden_store_shows_what_it_shows_a_writer_and_not_a_byte_or_time_of_it_changes() {
    let mut count = 0;
    for fixture in larder_fixtures::all() {
        let golden = Golden::of(&fixture, &fixture.copy());
        // As the browser left it, with what a crash may have left unfinished.
        let copy = fixture.copy();
        let before = tree(copy.dir());
        let recording = Arc::new(RecordingFileSystem::new(Arc::new(DiskFileSystem::new())));
        let reader = storage(recording.clone(), folder(&copy), true);
        let factory = reader.factory(&golden.origin);
        assert_eq!(
            look(&reader, &factory, &golden.names),
            golden.whole,
            "{}",
            fixture.name
        );
        reader.close().unwrap();
        assert_eq!(recording.steps(), [], "{}", fixture.name);
        assert!(
            tree(copy.dir()) == before,
            "{}: files have changed",
            fixture.name
        );
        count += golden.names.len();
    }
    println!("{count} databases");
    assert!(count > 100, "{count}");
}

/// An origin with a database "db" of an object store "a" with one record, open for writing.
fn writer(fs: &Arc<MemoryFileSystem>) -> (Storage, Connection) {
    let storage = storage(fs.clone(), Path::new("idb"), false);
    let request = factory(&storage).open("db", None).unwrap();
    let request = request.with_upgrade(|upgrade| {
        let parameters = ObjectStoreParameters::default();
        let transaction = &upgrade.transaction;
        transaction.create_object_store("a", parameters).map(drop)
    });
    let connection = request.wait().unwrap();
    write(&connection, "first");
    (storage, connection)
}

fn factory(storage: &Storage) -> Factory {
    storage.factory(&Origin::from_url("https://a.example").unwrap())
}

fn begin(connection: &Connection, mode: TransactionMode) -> Result<Transaction> {
    connection.transaction(["a"], mode, TransactionOptions::default())
}

fn write(connection: &Connection, text: &str) {
    let transaction = begin(connection, TransactionMode::ReadWrite).unwrap();
    let store = transaction.object_store("a").unwrap();
    let value = Value::serialize(text).unwrap();
    store.put(value, Some(Key::Number(1.0))).unwrap().detach();
    transaction.commit().unwrap().wait().unwrap();
}

fn read(connection: &Connection) -> String {
    let transaction = begin(connection, TransactionMode::ReadOnly).unwrap();
    let store = transaction.object_store("a").unwrap();
    let found = store.get(Key::Number(1.0)).unwrap().wait().unwrap();
    found.unwrap().deserialize().unwrap()
}

fn open(storage: &Storage, version: Option<u64>) -> Result<Connection> {
    let request = factory(storage).open("db", version)?;
    look::done(storage, request.connection())
}

#[test]
fn a_store_that_is_open_for_writing_is_read_as_it_was_when_it_was_opened_and_anew_later() {
    let fs = Arc::new(MemoryFileSystem::new());
    let (writing, written) = writer(&fs);
    let mut options = StorageOptions::new(fs, "idb", Arc::new(FixedClock::default()));
    options.executor = Executor::Driven { seed: None };
    options.read_only = true;
    options.idle_grace = std::time::Duration::ZERO;
    let storage = Storage::new(options).unwrap();
    let connection = open(&storage, None).unwrap();
    assert_eq!(read(&connection), "first");
    write(&written, "second");
    assert_eq!(read(&connection), "first");
    connection.close();
    storage.run_until_idle();
    assert_eq!(read(&open(&storage, Some(1)).unwrap()), "second");
    write(&written, "third");
    writing.close().unwrap();
    storage.close().unwrap();
}

#[test]
fn whatever_would_write_is_refused_with_read_only_error_before_any_event() {
    let fs = Arc::new(MemoryFileSystem::new());
    writer(&fs).0.close().unwrap();
    let recording = Arc::new(RecordingFileSystem::new(fs));
    let storage = storage(recording.clone(), Path::new("idb"), true);
    let (factory, origin) = (
        factory(&storage),
        Origin::from_url("https://a.example").unwrap(),
    );
    let none = storage.factory(&Origin::from_url("https://none.example").unwrap());
    let connection = open(&storage, None).unwrap();
    let is_refused = |what: &str, error: Option<larder_idb::Error>| {
        let name = error.map(|error| error.name());
        assert_eq!(name, Some(ErrorName::ReadOnlyError), "{what}");
    };
    is_refused(
        "a transaction",
        begin(&connection, TransactionMode::ReadWrite).err(),
    );
    is_refused("an upgrade", open(&storage, Some(2)).err());
    let new = |factory: &Factory| factory.open("new", None).unwrap().connection().wait();
    is_refused("a new database", new(&factory).err());
    is_refused("a new store", new(&none).err());
    let delete = |name: &str| factory.delete_database(name).done().wait();
    is_refused("a deletion", delete("db").err());
    assert_eq!(delete("new").unwrap(), 0, "there is nothing to delete");
    assert_eq!(none.delete_database("db").done().wait().unwrap(), 0);
    is_refused(
        "repair",
        factory.repair(RowsInDoubt::BringBack).wait().err(),
    );
    is_refused("a flag", factory.set_persisted(true).wait().err());
    is_refused(
        "the origin's deletion",
        storage.delete_origin(&origin).wait().err(),
    );
    let evicted = storage.evict(0, |_| {}).wait().unwrap();
    assert!(evicted.is_empty(), "it is in use");
    assert!(connection.events().try_next().is_none());

    // A page's own mistakes come first, as elsewhere.
    let options = TransactionOptions::default();
    let unknown = connection.transaction(["b"], TransactionMode::ReadWrite, options);
    assert_eq!(unknown.err().unwrap().name(), ErrorName::NotFoundError);
    let lower = factory.open("db", Some(0)).err().unwrap();
    assert_eq!(lower.name(), ErrorName::TypeError);

    // What only looks works.
    assert_eq!(factory.databases().wait().unwrap().len(), 1);
    assert!(none.databases().wait().unwrap().is_empty());
    assert_eq!(factory.maintain().wait().unwrap(), Maintenance::Idle);
    assert!(!factory.persisted().wait().unwrap());
    let infos = storage.origins().wait().unwrap();
    assert_eq!(infos.len(), 1);
    assert_eq!(infos[0].usage, factory.estimate().wait().unwrap().usage);
    assert_eq!(read(&connection), "first");
    connection.close();
    let evicted = storage.evict(0, |_| {}).wait().unwrap();
    is_refused("eviction", evicted.into_iter().next().unwrap().result.err());
    storage.close().unwrap();
    assert_eq!(recording.steps(), []);
}

#[test]
fn a_private_session_of_a_storage_that_only_reads_is_written_in_memory() {
    let recording = Arc::new(RecordingFileSystem::new(Arc::new(MemoryFileSystem::new())));
    let storage = storage(recording.clone(), Path::new("idb"), true);
    let session = storage.private_session();
    let factory = session.factory(&Origin::from_url("https://a.example").unwrap());
    let request = factory.open("db", None).unwrap();
    assert_eq!(request.connection().wait().unwrap().version(), 1);
    storage.close().unwrap();
    assert_eq!(recording.steps(), []);
}

#[test]
fn a_damaged_store_fails_where_it_is_damaged_or_shows_what_is_whole() {
    let fixture = larder_fixtures::get("c156-lite");
    let golden = Golden::of(&fixture, &fixture.copy());
    let mut told = 0;
    for step in 0..40 {
        let copy = fixture.copy();
        let mut files: Vec<_> = tree(&copy.leveldb()).into_iter().collect();
        files.retain(|(path, (bytes, _))| {
            let name = path.to_string_lossy();
            !bytes.is_empty() && (name.ends_with("ldb") || name.ends_with("log"))
        });
        let (path, (mut bytes, _)) = files.swap_remove(step % files.len());
        let at = bytes.len() * (step + 1) / 42;
        bytes[at] ^= 0x55;
        std::fs::write(&path, bytes).unwrap();
        let before = tree(copy.dir());
        let reader = storage(Arc::new(DiskFileSystem::new()), folder(&copy), true);
        let factory = reader.factory(&golden.origin);
        match look::done(&reader, factory.databases()) {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
                told += 1;
            }
            Ok(_) => {
                let found = look(&reader, &factory, &golden.names);
                let differs = |(name, found): (&JsString, &Found)| golden.whole[name] != *found;
                let is_told = |found: &Found| format!("{found:?}").contains("UnknownError");
                for (name, found) in &found {
                    assert!(
                        !differs((name, found)) || is_told(found),
                        "{path:?} {at}: {name:?}"
                    );
                }
                told += usize::from(found.iter().any(differs));
            }
        }
        reader.close().unwrap();
        assert!(tree(copy.dir()) == before);
    }
    println!("{told} of 40 told");
    assert!(told > 20, "{told}");
}
