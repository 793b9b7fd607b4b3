//! Databases that are damaged are deleted when the host asks for it. Only they are deleted, whatever it is that is damaged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::IdbComparator;
use larder_codec::KeyPrefix;
use larder_idb::{
    Connection, ErrorKind, Factory, JsString, Maintenance, ObjectStore, Transaction,
    TransactionMode, TransactionOptions, Value,
};
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};
use larder_leveldb::{Background, Db, Options};

use super::contradictions::{cases, look, name_row, origin, set_up, storage, store_with};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn folder() -> PathBuf {
    Path::new("idb").join(origin().leveldb_folder_name())
}

fn options() -> Options {
    let mut options = Options::new(Arc::new(IdbComparator));
    options.background = Background::Caller;
    options
}

/// The rows of a database.
fn rows_of(fs: &MemoryFileSystem, database: u64) -> Rows {
    let db = Db::open_read_only(Arc::new(fs.clone()), &folder(), options()).unwrap();
    let mut rows = Rows::new();
    let mut iter = db.iter();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        let (prefix, _) = KeyPrefix::decode(iter.key()).unwrap();
        if prefix.database == database {
            rows.insert(iter.key().to_vec(), iter.value().unwrap().to_vec());
        }
        iter.next().unwrap();
    }
    rows
}

fn delete(factory: &Factory) -> larder_idb::Result<u64> {
    delete_named(factory, "db")
}

fn delete_named(factory: &Factory, name: &str) -> larder_idb::Result<u64> {
    factory.delete_database(name).done().wait()
}

/// The names and versions of the databases.
fn names(factory: &Factory) -> Vec<(JsString, u64)> {
    let databases = factory.databases().wait().unwrap().into_iter();
    databases.map(|one| (one.name, one.version)).collect()
}

fn only_other() -> [(JsString, u64); 1] {
    [("other".into(), 3)]
}

/// Makes "db" anew, with what a new one has and nothing of before.
fn make_anew(factory: &Factory) {
    let request = factory.open("db", Some(1)).unwrap();
    request.with_upgrade(set_up).wait().unwrap();
    assert_eq!(look(factory, "db").unwrap(), 1);
}

/// A transaction that writes to one object store of a database.
fn writing(factory: &Factory, name: &str, store: &str) -> (Connection, Transaction, ObjectStore) {
    let request = factory.open(name, None).unwrap();
    let connection = request.connection().wait().unwrap();
    let names: [JsString; 1] = [store.into()];
    let options = TransactionOptions::default();
    let transaction = connection.transaction(&names, TransactionMode::ReadWrite, options);
    let transaction = transaction.unwrap();
    let store = transaction.object_store(&names[0]).unwrap();
    (connection, transaction, store)
}

/// Puts a record into "s" of "other".
fn write_other(factory: &Factory) {
    let (_connection, transaction, store) = writing(factory, "other", "s");
    let put = store.put(Value::serialize("more").unwrap(), None).unwrap();
    put.wait().unwrap();
    transaction.commit().unwrap().wait().unwrap();
}

#[test]
fn a_database_of_damaged_metadata_can_be_deleted_and_made_anew_and_no_other_changes() {
    for (key, value, told) in cases() {
        let is_name = key == name_row("db");
        let is_version = told.contains("no version row") || told.contains("and no version");
        let fs = store_with(vec![(key, value)]);
        let (own, others) = (rows_of(&fs, 1), rows_of(&fs, 2));
        let (storage_of_one, factory) = storage(&fs);
        assert!(look(&factory, "db").is_err(), "{told}");
        let version = if is_name || is_version { 0 } else { 3 };
        assert_eq!(delete(&factory).unwrap(), version, "{told}");
        assert_eq!(names(&factory), only_other(), "{told}");
        assert_eq!(delete(&factory).unwrap(), 0, "{told}: it is gone");
        storage_of_one.close().unwrap();
        // Without its id, its own rows cannot be found.
        let left = if is_name { own } else { Rows::new() };
        assert_eq!(rows_of(&fs, 1), left, "{told}");
        assert_eq!(rows_of(&fs, 2), others, "{told}");
        let (_storage, factory) = storage(&fs);
        make_anew(&factory);
        assert_eq!(look(&factory, "other").unwrap(), 1, "{told}");
    }
}

/// A database with so many records that tables have blocks of nothing else, one of which is damaged: where, and its bytes before.
fn with_damaged_records(name: &str) -> (MemoryFileSystem, PathBuf, Vec<u8>) {
    let fs = store_with(Vec::new());
    let (storage, factory) = storage(&fs);
    put_many(&factory, name);
    storage.close().unwrap();
    let db = Db::open(Arc::new(fs.clone()), &folder(), options()).unwrap();
    db.compact_range(None, None).unwrap();
    db.close().unwrap();
    let tables = fs.list(&folder()).unwrap().into_iter();
    let tables = tables.map(|name| folder().join(name));
    let table = tables.filter(|path| path.extension().is_some_and(|end| end == "ldb"));
    let table = table.max_by_key(|path| fs.metadata(path).unwrap().len_bytes);
    let table = table.unwrap();
    let whole = read_file(&fs, &table);
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    write_file(&fs, &table, &damaged);
    (fs, table, whole)
}

fn put_many(factory: &Factory, name: &str) {
    let (_connection, transaction, store) = writing(factory, name, "t");
    let mut random = larder_fixtures::random::Random::new(1);
    let mut value = || {
        let letters = (0..200).map(|_| char::from(b'a' + random.below(26) as u8));
        Value::serialize(&letters.collect::<String>()).unwrap()
    };
    let items: Vec<_> = (0..2000).map(|_| (value(), None)).collect();
    drop(store.put_many(items).unwrap().wait().unwrap());
    transaction.commit().unwrap().wait().unwrap();
}

fn read_file(fs: &MemoryFileSystem, path: &Path) -> Vec<u8> {
    let file = fs.open_random(path).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    assert_eq!(file.read_at(0, &mut bytes).unwrap(), bytes.len());
    bytes
}

fn write_file(fs: &MemoryFileSystem, path: &Path, bytes: &[u8]) {
    let mut file = fs.create(path).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

/// Does what is to be done in quiet times until damage is met, and a step more.
fn check_reported(factory: &Factory) {
    let error = loop {
        match factory.maintain().wait() {
            Ok(step) => assert_eq!(step, Maintenance::Step),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert_eq!(factory.maintain().wait().unwrap(), Maintenance::Step);
}

#[test]
fn a_database_of_damaged_records_can_be_deleted_and_the_others_go_on() {
    let (fs, table, whole) = with_damaged_records("db");
    let others = rows_of(&healed(&fs, &table, &whole), 2);
    let (first, factory) = storage(&fs);
    assert_eq!(delete(&factory).unwrap(), 3);
    assert_eq!(names(&factory), only_other());
    // Rows are taken away when others write: what they cannot read is none of their business.
    for _ in 0..8 {
        write_other(&factory);
    }
    make_anew(&factory);
    first.close().unwrap();
    let (second, factory) = storage(&fs);
    assert_eq!(look(&factory, "other").unwrap(), 9);
    assert_eq!(look(&factory, "db").unwrap(), 1);
    second.close().unwrap();
    // With the damage mended nothing is left of it, and nothing of others is gone.
    let fs = healed(&fs, &table, &whole);
    let (third, factory) = storage(&fs);
    assert_eq!(look(&factory, "db").unwrap(), 1);
    // The first write finishes what could not be taken away.
    write_other(&factory);
    third.close().unwrap();
    assert_eq!(rows_of(&fs, 1), Rows::new());
    let now = rows_of(&fs, 2);
    assert!(others.keys().all(|key| now.contains_key(key)));
}

#[test]
fn what_damage_keeps_from_being_deleted_is_reported_once_by_maintenance() {
    let (fs, ..) = with_damaged_records("db");
    let (first, factory) = storage(&fs);
    assert_eq!(delete(&factory).unwrap(), 3);
    write_other(&factory);
    check_reported(&factory);
    first.close().unwrap();
    let (_second, factory) = storage(&fs);
    write_other(&factory);
    check_reported(&factory);
}

/// The database before it, in the order of rows: nothing of its own lies between the last of its object stores and the damage.
#[test]
fn damage_behind_the_last_object_store_is_none_of_its_business_once_its_database_is_deleted() {
    let (fs, ..) = with_damaged_records("other");
    let (_storage, factory) = storage(&fs);
    assert_eq!(delete_named(&factory, "other").unwrap(), 3);
    // Takes the rows away up to the damage.
    for _ in 0..8 {
        let (_connection, transaction, store) = writing(&factory, "db", "t");
        let put = || store.put(Value::serialize("x").unwrap(), None).unwrap();
        let key = put().wait().unwrap();
        assert!(store.get(key).unwrap().wait().unwrap().is_some());
        transaction.commit().unwrap().wait().unwrap();
    }
}

/// A copy of the files, with the table whole again.
fn healed(fs: &MemoryFileSystem, table: &Path, whole: &[u8]) -> MemoryFileSystem {
    let healed = fs.crash_image(larder_leveldb::storage::CrashImage::KeepWritten);
    write_file(&healed, table, whole);
    healed
}
