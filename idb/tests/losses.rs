//! What a host hears of damage, and that it can have a store repaired while it is in use.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use larder_backing_store::IdbComparator;
use larder_codec::row_key::RowKey;
use larder_idb::{
    Connection, ConnectionEvent, ErrorKind, ErrorName, Executor, Factory, FileSystem, FixedClock,
    JsString, Key, KeyRange, Loss, LossCallback, LossKind, MemoryFileSystem, ObjectStoreParameters,
    Origin, Result, RowsInDoubt, Storage, StorageOptions, StoredValue, Transaction,
    TransactionMode, TransactionOptions, Value,
};
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Background, Db, Durability, Options};

const FOLDER: &str = "idb/https_a.example_0.indexeddb.leveldb";

/// Two threads, and the caller.
const EXECUTORS: [Executor; 2] = [
    Executor::Threads(std::num::NonZeroUsize::MIN.saturating_add(1)),
    Executor::Driven { seed: None },
];

type Heard = Arc<Mutex<Vec<Loss>>>;

fn storage(fs: &Arc<MemoryFileSystem>, executor: Executor) -> (Storage, Factory, Heard) {
    let heard = Heard::default();
    let mut options = StorageOptions::new(fs.clone(), "idb", Arc::new(FixedClock::default()));
    options.executor = executor;
    let log = Arc::clone(&heard);
    options.on_loss = Some(LossCallback::new(move |loss| {
        log.lock().unwrap().push(loss.clone());
    }));
    let storage = Storage::new(options).unwrap();
    let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
    (storage, factory, heard)
}

fn open(factory: &Factory, name: &str) -> Result<Connection> {
    let request = factory.open(name, None)?;
    let request = request.with_upgrade(|upgrade| {
        let parameters = ObjectStoreParameters::default();
        let transaction = &upgrade.transaction;
        transaction
            .create_object_store("notes", parameters)
            .map(drop)
    });
    request.wait()
}

fn begin(connection: &Connection, mode: TransactionMode) -> Transaction {
    let names: [JsString; 1] = ["notes".into()];
    let options = TransactionOptions::default();
    connection.transaction(&names, mode, options).unwrap()
}

fn get(connection: &Connection, key: f64) -> Result<Option<StoredValue>> {
    let transaction = begin(connection, TransactionMode::ReadOnly);
    let store = transaction.object_store("notes").unwrap();
    store.get(Key::Number(key)).unwrap().wait()
}

/// A store with database "db" and keys 1 to 3 in its object store "notes".
fn written() -> Arc<MemoryFileSystem> {
    let fs = Arc::new(MemoryFileSystem::new());
    let (storage, factory, heard) = storage(&fs, EXECUTORS[1]);
    let connection = open(&factory, "db").unwrap();
    let transaction = begin(&connection, TransactionMode::ReadWrite);
    let store = transaction.object_store("notes").unwrap();
    for key in [1.0, 2.0, 3.0] {
        let value = Value::serialize(&key).unwrap();
        store.put(value, Some(Key::Number(key))).unwrap().detach();
    }
    transaction.commit().unwrap().wait().unwrap();
    storage.close().unwrap();
    assert!(heard.lock().unwrap().is_empty());
    fs
}

/// Gives the rows that `is_it` chooses a value that means nothing.
fn spoil(fs: &Arc<MemoryFileSystem>, is_it: impl Fn(&RowKey<'_>) -> bool) {
    let mut options = Options::new(Arc::new(IdbComparator));
    options.background = Background::Caller;
    let db = Db::open(fs.clone(), Path::new(FOLDER), options).unwrap();
    let mut batch = BatchWriter::new();
    let mut iter = db.iter();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        if RowKey::decode_exact(iter.key()).is_ok_and(|row| is_it(&row)) {
            batch.put(iter.key(), b"");
        }
        iter.next().unwrap();
    }
    drop(iter);
    db.write(&mut batch, Durability::Relaxed).unwrap();
    db.close().unwrap();
}

fn is_record_2(row: &RowKey<'_>) -> bool {
    let key = Key::Number(2.0);
    matches!(row, RowKey::Record(record) if record.key.to_key() == key
        && record.table == larder_codec::row_key::RecordTable::Data)
}

/// Destroys the beginning of the youngest log.
fn spoil_log(fs: &MemoryFileSystem) {
    let folder = PathBuf::from(FOLDER);
    let names = fs.list(&folder).unwrap().into_iter();
    let logs = names.map(|name| folder.join(name));
    let log = logs
        .filter(|path| path.extension().is_some_and(|end| end == "log"))
        .max();
    let log = log.unwrap();
    let file = fs.open_random(&log).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes[..20].fill(0x55);
    fs.create(&log).unwrap().append(&bytes).unwrap();
}

/// What was heard when the storage had come to rest.
fn heard_by(storage: Storage, heard: &Heard) -> Vec<Loss> {
    storage.close().unwrap();
    std::mem::take(&mut *heard.lock().unwrap())
}

#[test]
fn a_record_that_cannot_be_read_is_reported_once_by_database_object_store_and_key() {
    for executor in EXECUTORS {
        let fs = written();
        spoil(&fs, is_record_2);
        let (storage, factory, heard) = storage(&fs, executor);
        let connection = open(&factory, "db").unwrap();
        for _ in 0..3 {
            assert_eq!(
                get(&connection, 2.0).unwrap_err().kind(),
                ErrorKind::Corruption
            );
        }
        assert!(get(&connection, 1.0).unwrap().is_some());
        let heard = heard_by(storage, &heard);
        assert_eq!(heard.len(), 1, "{executor:?}: {heard:?}");
        let place = heard[0].place.as_ref().unwrap();
        assert_eq!(place.database, Some("db".into()));
        assert_eq!(place.object_store, Some("notes".into()));
        assert_eq!((&place.index, &place.key), (&None, &Some(Key::Number(2.0))));
        assert!(matches!(heard[0].what, LossKind::Unreadable(_)));
        assert_eq!(
            heard[0].to_string(),
            "A part of the data of https://a.example is damaged and cannot be read: database \"db\", object store \
             \"notes\", key 2."
        );
    }
}

#[test]
fn a_database_whose_metadata_cannot_be_read_is_reported_when_it_is_opened() {
    for executor in EXECUTORS {
        let fs = written();
        spoil(&fs, |row| matches!(row, RowKey::ObjectStoreMetadata(_)));
        let (storage, factory, heard) = storage(&fs, executor);
        assert_eq!(
            open(&factory, "db").unwrap_err().kind(),
            ErrorKind::Corruption
        );
        assert!(open(&factory, "other").is_ok());
        let heard = heard_by(storage, &heard);
        assert_eq!(heard.len(), 1, "{executor:?}: {heard:?}");
        assert!(
            heard[0].to_string().contains("database \"db\""),
            "{}",
            heard[0]
        );
    }
}

#[test]
fn a_store_that_cannot_be_opened_is_reported_and_repaired_and_goes_on() {
    for executor in EXECUTORS {
        let fs = written();
        spoil_log(&fs);
        let (storage, factory, heard) = storage(&fs, executor);
        for _ in 0..2 {
            assert_eq!(
                open(&factory, "db").unwrap_err().kind(),
                ErrorKind::Corruption
            );
        }
        let repaired = factory.repair(RowsInDoubt::BringBack).wait().unwrap();
        assert!(!repaired.damage.is_empty() && !repaired.set_aside.is_empty());
        let words = repaired.to_string();
        assert!(
            words.contains("files were set aside, nothing was deleted"),
            "{words}"
        );
        assert!(open(&factory, "new").is_ok());
        let heard = heard_by(storage, &heard);
        assert_eq!(heard.len(), 1, "{executor:?}: {heard:?}");
        assert!(matches!(heard[0].what, LossKind::Unopenable(_)));
        let words = heard[0].to_string();
        assert!(
            words.starts_with("The data of https://a.example is damaged"),
            "{words}"
        );
    }
}

#[test]
fn a_store_in_use_is_repaired_after_its_connections_are_closed_by_force() {
    for executor in EXECUTORS {
        let fs = written();
        let (storage, factory, _) = storage(&fs, executor);
        let connection = open(&factory, "db").unwrap();
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        let store = transaction.object_store("notes").unwrap();
        let value = Value::serialize("never committed").unwrap();
        store.put(value, Some(Key::Number(4.0))).unwrap().detach();
        let repaired = factory.repair(RowsInDoubt::BringBack).wait().unwrap();
        assert!(repaired.rows > 3 && repaired.damage.is_empty());
        let ended = transaction.finished().wait().unwrap_err();
        assert_eq!(ended.name(), ErrorName::AbortError);
        let close = connection.events().wait_next();
        assert!(matches!(close, Some(ConnectionEvent::Close)), "{close:?}");
        let connection = open(&factory, "db").unwrap();
        let transaction = begin(&connection, TransactionMode::ReadOnly);
        let store = transaction.object_store("notes").unwrap();
        let count = store.count(KeyRange::all()).unwrap().wait();
        assert_eq!(count.unwrap(), 3, "{executor:?}");
        storage.close().unwrap();
    }
}

#[test]
fn a_host_may_ask_for_the_repair_in_the_callback_of_a_loss() {
    for executor in EXECUTORS {
        let fs = written();
        spoil_log(&fs);
        let mut options = StorageOptions::new(fs, "idb", Arc::new(FixedClock::default()));
        options.executor = executor;
        let known: Arc<Mutex<Option<Factory>>> = Arc::default();
        let (mine, done) = (Arc::clone(&known), Arc::new(Mutex::new(None)));
        let told = Arc::clone(&done);
        options.on_loss = Some(LossCallback::new(move |_| {
            let factory = mine.lock().unwrap().take().unwrap();
            let told = Arc::clone(&told);
            let repaired = factory.repair(RowsInDoubt::BringBack);
            repaired.on_done(move |result| *told.lock().unwrap() = Some(result.is_ok()));
        }));
        let storage = Storage::new(options).unwrap();
        let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
        *known.lock().unwrap() = Some(factory.clone());
        assert!(open(&factory, "db").is_err());
        while done.lock().unwrap().is_none() {
            storage.run_until_idle();
            std::thread::yield_now();
        }
        assert_eq!(*done.lock().unwrap(), Some(true));
        assert!(open(&factory, "new").is_ok(), "{executor:?}");
        storage.close().unwrap();
    }
}
