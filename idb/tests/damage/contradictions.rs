//! Rows that contradict each other, one kind at a time: which call reports it, and for which row.

use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{BackingStore, IdbComparator, StorePaths, WriteOptions};
use larder_codec::primitive::{boolean, int, string, var_int};
use larder_codec::row_key::{
    DatabaseField, DatabaseKey, GlobalKey, IndexField, IndexMetadataKey, ObjectStoreField,
    ObjectStoreMetadataKey,
};
use larder_codec::{DatabaseId, IndexId, ObjectStoreId};
use larder_idb::{
    Executor, Factory, FileSystem, IndexParameters, JsString, KeyPath, KeyRange,
    ObjectStoreParameters, Origin, Storage, StorageOptions, TransactionMode, TransactionOptions,
    Upgrade, Value,
};
use larder_leveldb::storage::MemoryFileSystem;
use larder_leveldb::{Db, Durability, Options};

use super::FixedClock;

/// What stands in a row, if it is there.
pub(super) type Content = Option<Vec<u8>>;

pub(super) fn origin() -> Origin {
    Origin::from_url("https://a.example").unwrap()
}

pub(super) fn storage(fs: &MemoryFileSystem) -> (Storage, Factory) {
    let mut options =
        StorageOptions::new(Arc::new(fs.clone()), "idb", Arc::new(FixedClock::default()));
    options.executor = Executor::Driven { seed: None };
    let storage = Storage::new(options).unwrap();
    let factory = storage.factory(&origin());
    (storage, factory)
}

pub(super) fn set_up(upgrade: &Upgrade) -> larder_idb::Result<()> {
    let transaction = &upgrade.transaction;
    let parameters = || ObjectStoreParameters::new().auto_increment(true);
    let store = transaction.create_object_store("s", parameters())?;
    let path = || KeyPath::String("name".into());
    store.create_index("i", path(), IndexParameters::default())?;
    store.create_index("j", path(), IndexParameters::default())?;
    transaction.create_object_store("t", parameters())?;
    store.put(Value::serialize("kept")?, None)?.on_done(drop);
    Ok(())
}

/// Databases "db" (1) and "other" (2), each with object stores "s" (1), which has indexes "i" (31) and "j" (32), and "t" (2).
pub(super) fn store_with(rows: Vec<(Vec<u8>, Content)>) -> MemoryFileSystem {
    let fs = MemoryFileSystem::new();
    fs.create_dir(Path::new("idb")).unwrap();
    let (storage, factory) = storage(&fs);
    for name in ["db", "other"] {
        let request = factory.open(name, Some(3)).unwrap();
        request.with_upgrade(set_up).wait().unwrap();
    }
    storage.close().unwrap();
    let mut options = Options::new(Arc::new(IdbComparator));
    options.background = larder_leveldb::Background::Caller;
    let folder = Path::new("idb").join(origin().leveldb_folder_name());
    let db = Db::open(Arc::new(fs.clone()), &folder, options).unwrap();
    for (key, value) in rows {
        match value {
            Some(value) => db.put(&key, &value, Durability::Relaxed).unwrap(),
            None => db.delete(&key, Durability::Relaxed).unwrap(),
        }
    }
    db.close().unwrap();
    fs
}

pub(super) fn database_id() -> DatabaseId {
    DatabaseId::new(1).unwrap()
}

fn number(number: i64) -> Content {
    let mut value = Vec::new();
    int::encode(number, &mut value);
    Some(value)
}

fn text(text: &str) -> Content {
    let mut value = Vec::new();
    string::encode(&text.into(), &mut value);
    Some(value)
}

fn global(key: &GlobalKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}

pub(super) fn name_row(name: &str) -> Vec<u8> {
    global(&GlobalKey::DatabaseName {
        origin: origin().row_text(),
        name: name.into(),
    })
}

fn of_database(field: DatabaseField) -> Vec<u8> {
    let mut key = Vec::new();
    let database_id = database_id();
    DatabaseKey { database_id, field }.encode(&mut key);
    key
}

fn of_store(id: i64, field: ObjectStoreField) -> Vec<u8> {
    let mut key = Vec::new();
    ObjectStoreMetadataKey {
        database_id: database_id(),
        object_store_id: ObjectStoreId::new(id).unwrap(),
        field,
    }
    .encode(&mut key);
    key
}

fn of_index(store_id: i64, id: i64, field: IndexField) -> Vec<u8> {
    let mut key = Vec::new();
    IndexMetadataKey {
        database_id: database_id(),
        object_store_id: ObjectStoreId::new(store_id).unwrap(),
        index_id: IndexId::new(id).unwrap(),
        field,
    }
    .encode(&mut key);
    key
}

fn hex(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What "s" of a database holds, or why it does not.
pub(super) fn look(factory: &Factory, name: &str) -> Result<u64, larder_idb::Error> {
    let connection = factory.open(name, None)?.connection().wait()?;
    let names: [JsString; 1] = ["s".into()];
    let options = TransactionOptions::default();
    let transaction = connection.transaction(&names, TransactionMode::ReadOnly, options)?;
    let store = transaction.object_store("s")?;
    store.count(KeyRange::all())?.wait()
}

/// A row of "db", what stands in it instead, and what is reported then.
pub(super) fn cases() -> Vec<(Vec<u8>, Content, &'static str)> {
    let zero = || {
        let mut value = Vec::new();
        var_int::encode(0, &mut value);
        Some(value)
    };
    let version = of_database(DatabaseField::UserVersion);
    let store_name = |id| of_store(id, ObjectStoreField::Name);
    let index_name = |store, id| of_index(store, id, IndexField::Name);
    let mut boolean_true = Vec::new();
    boolean::encode(true, &mut boolean_true);
    let mut null = Vec::new();
    KeyPath::Null.encode(&mut null);
    vec![
        (version.clone(), zero(), "object stores and no version"),
        (version, None, "no version row"),
        (store_name(1), None, "no name row"),
        (
            store_name(2),
            text("s"),
            "another object store has the same name",
        ),
        (
            index_name(1, 32),
            text("i"),
            "another index has the same name",
        ),
        (
            index_name(7, 31),
            text("x"),
            "object store 7, which is not there",
        ),
        (
            of_index(1, 31, IndexField::KeyPath),
            Some(null),
            "no key path",
        ),
        (
            of_store(1, ObjectStoreField::KeyPath),
            Some(vec![0, 0, 9]),
            "key path",
        ),
        (
            of_store(1, ObjectStoreField::HasKeyPath),
            Some(boolean_true),
            "a row that says it has one",
        ),
        (
            of_store(1, ObjectStoreField::LastVersion),
            None,
            "no last version row",
        ),
        (name_row("db"), number(0), "database id"),
    ]
}

#[test]
fn rows_that_contradict_each_other_keep_their_database_closed_and_no_other() {
    for (key, value, told) in cases() {
        let fs = store_with(vec![(key.clone(), value)]);
        let (_storage, factory) = storage(&fs);
        let error = look(&factory, "db").unwrap_err().to_string();
        assert!(error.contains(told), "{told}: {error}");
        assert!(error.contains(&hex(&key)), "{}: {error}", hex(&key));
        assert_eq!(look(&factory, "other").unwrap(), 1, "{told}");
    }
}

#[test]
fn two_databases_of_one_id_are_neither_opened_nor_deleted() {
    let fs = store_with(vec![(name_row("db"), number(2))]);
    let (_storage, factory) = storage(&fs);
    for name in ["db", "other"] {
        let error = look(&factory, name).unwrap_err().to_string();
        assert!(error.contains("two databases have the id 2"), "{error}");
        assert!(error.contains(&hex(&name_row(name))[..64]), "{error}");
        let deleted = factory.delete_database(name).done().wait();
        assert!(deleted.is_err(), "{deleted:?}");
    }
    // Nor by the backing store, which looks at no more than the name.
    factory.close().wait().unwrap();
    let folder = Path::new("idb").join(origin().leveldb_folder_name());
    let options = WriteOptions::new(origin(), Arc::new(FixedClock::default()));
    let store = BackingStore::open(Arc::new(fs), StorePaths::of_leveldb(&folder), options).unwrap();
    let refused = store.delete_database(&"db".into()).unwrap_err();
    assert_eq!(refused.key(), Some(&*name_row("db")), "{refused}");
}

#[test]
fn databases_of_which_object_stores_are_damaged_are_listed_with_the_others() {
    let fs = store_with(vec![(of_store(1, ObjectStoreField::Name), None)]);
    let (_storage, factory) = storage(&fs);
    let listed = factory.databases().wait().unwrap();
    let listed: Vec<_> = listed
        .iter()
        .map(|info| (&info.name, info.version))
        .collect();
    assert_eq!(listed, [(&"db".into(), 3), (&"other".into(), 3)]);
}

/// The numbers that say which ids have been used, set back.
#[test]
fn ids_that_have_rows_are_not_given_again() {
    let used = |row: Vec<u8>, value: i64| {
        let fs = store_with(vec![(row.clone(), number(value))]);
        (storage(&fs), hex(&row), fs)
    };
    // A database: one that is there, one that has rows and no name, one that has a name and no rows.
    let max = || global(&GlobalKey::MaxDatabaseId);
    for rows in [
        vec![(max(), number(1))],
        vec![(max(), number(1)), (name_row("other"), None)],
        vec![(max(), number(6)), (name_row("ghost"), number(7))],
    ] {
        let is_there = rows.len() == 1 || rows[1].0 != name_row("other");
        let fs = store_with(rows);
        let (_storage, factory) = storage(&fs);
        let made = factory.open("new", None).unwrap().connection();
        let error = made.wait().unwrap_err().to_string();
        assert!(error.contains(&hex(&max())), "{error}");
        assert_eq!(look(&factory, "db").unwrap(), 1);
        if is_there {
            assert_eq!(look(&factory, "other").unwrap(), 1);
        }
    }
    // An object store, and an index.
    type Change = fn(&Upgrade) -> larder_idb::Result<()>;
    let make_store: Change = |upgrade| {
        let parameters = ObjectStoreParameters::default();
        upgrade.transaction.create_object_store("new", parameters)?;
        Ok(())
    };
    let make_index: Change = |upgrade| {
        let store = upgrade.transaction.object_store("s")?;
        let path = KeyPath::String("name".into());
        store.create_index("new", path, IndexParameters::default())?;
        Ok(())
    };
    for (row, value, change) in [
        (of_database(DatabaseField::MaxObjectStoreId), 0, make_store),
        (of_database(DatabaseField::MaxObjectStoreId), 1, make_store),
        (of_store(1, ObjectStoreField::MaxIndexId), 30, make_index),
        (of_store(1, ObjectStoreField::MaxIndexId), 31, make_index),
    ] {
        let ((_storage, factory), row, _) = used(row, value);
        let request = factory.open("db", Some(4)).unwrap();
        let error = request.with_upgrade(change).wait().unwrap_err().to_string();
        assert!(error.contains(&row), "{error}");
        for name in ["db", "other"] {
            assert_eq!(look(&factory, name).unwrap(), 1, "{name}");
        }
    }
}

/// A key generator beyond its end is used up; one that cannot be read is an error of the request that needs it.
#[test]
fn key_generators_that_make_no_sense_generate_nothing() {
    let row = || of_store(1, ObjectStoreField::KeyGenerator);
    for (value, told) in [
        (number((1 << 53) + 1), "ConstraintError"),
        (number(i64::MAX), "ConstraintError"),
        (Some(vec![1; 9]), "UnknownError"),
    ] {
        let fs = store_with(vec![(row(), value)]);
        let (_storage, factory) = storage(&fs);
        let connection = factory.open("db", None).unwrap().connection();
        let connection = connection.wait().unwrap();
        let names: [JsString; 1] = ["s".into()];
        let options = TransactionOptions::default();
        let transaction = connection.transaction(&names, TransactionMode::ReadWrite, options);
        let store = transaction.unwrap().object_store("s").unwrap();
        let put = || {
            store
                .put(Value::serialize("x").unwrap(), None)
                .unwrap()
                .wait()
        };
        let error = put().unwrap_err();
        assert_eq!(error.name().as_str(), told, "{error}");
        assert_eq!(store.count(KeyRange::all()).unwrap().wait().unwrap(), 1);
    }
}
