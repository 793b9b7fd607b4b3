//! Row for row: what pages did in Chromium, done here; then the rows are the same, byte for byte.
//!
//! What the pages did is in `fixtures/generate/page`. Of serialised values only the versions before them are compared; they
//! are not made here.

mod blobs;
mod generators;
mod indexes;
mod lifecycle;
mod many;

use std::collections::BTreeMap;
use std::sync::Arc;

use larder_backing_store::{
    BackingStore, CursorDirection, Durability, IndexKeys, IndexParameters, KeyRange,
    ObjectStoreParameters, OpenOptions, Put, PutKey, PutMode, Scope, Store, StorePaths,
    WriteTransaction,
};
use larder_codec::row_key::{RecordTable, RowKey};
use larder_codec::versioned::{DataRow, IndexRow};
use larder_codec::{DatabaseId, IndexId, JsString, Key, KeyPath, ObjectStoreId, RawKey, range};
use larder_fixtures::OpenFixture;
use larder_leveldb::Snapshot;
use larder_leveldb::storage::{DiskFileSystem, MemoryFileSystem};

use crate::operations::{bytes, open};

/// Stores of clean exits that the pages in this repository made.
const FIXTURES: [&str; 3] = ["c119-lite", "c143-lite", "c156-linger"];

/// Key and value.
pub(crate) type Row = (Vec<u8>, Vec<u8>);

/// One database as a Chromium wrote it.
struct Written {
    store: Store,
    id: DatabaseId,
    fixture: OpenFixture,
}

/// The index keys of one put: index and key.
pub(crate) type PutIndexKeys = Vec<(i64, Key)>;

impl Written {
    fn new(fixture: &str, database: &str) -> Self {
        let fixture = larder_fixtures::get(fixture).open();
        let paths = StorePaths::of_leveldb(&fixture.leveldb());
        let fs = Arc::new(DiskFileSystem::new());
        let store = Store::open_read_only(fs, paths, OpenOptions::default()).unwrap();
        let databases = store.databases(&mut Vec::new()).unwrap();
        let found = databases.iter().find(|found| found.name == *database);
        Self {
            id: found.unwrap().id,
            store,
            fixture,
        }
    }

    /// The primary keys of a store's records, in the order in which they were put.
    fn puts(&self, store: i64) -> Vec<Key> {
        let mut puts = Vec::new();
        let mut records = self
            .store
            .records(self.id, store_id(store), CursorDirection::Next);
        while records.next().unwrap() {
            let key = records.primary_key().unwrap().to_key();
            puts.push((records.version().unwrap(), key));
        }
        puts.sort_by_key(|(version, _)| *version);
        puts.into_iter().map(|(_, key)| key).collect()
    }

    /// The index rows that are there, stale ones too: by version of the put, index and key.
    fn index_rows(&self, store: i64) -> BTreeMap<i64, PutIndexKeys> {
        let mut rows: BTreeMap<i64, PutIndexKeys> = BTreeMap::new();
        for (key, value) in database_rows(self.store.snapshot().unwrap(), self.id) {
            if let RowKey::IndexData(row) = RowKey::decode_exact(&key).unwrap()
                && row.object_store_id == store_id(store)
            {
                let version = IndexRow::decode_exact(&value).unwrap().version.get();
                let entry = (row.index_id.get(), row.index_key.to_key());
                rows.entry(version).or_default().push(entry);
            }
        }
        rows
    }
}

/// A database of ours, with the id of the one that Chromium wrote.
struct Ours {
    store: BackingStore,
    id: DatabaseId,
    fs: MemoryFileSystem,
}

impl Ours {
    fn new(id: DatabaseId) -> Self {
        let fs = MemoryFileSystem::new();
        let store = open(&fs);
        for number in 1..=id.get() {
            let name = JsString::from(&*format!("database {number}"));
            assert_eq!(store.create_database(&name).unwrap().get(), number);
        }
        Self { store, id, fs }
    }

    fn version_change(&self, version: i64, work: impl FnOnce(&mut WriteTransaction)) {
        let scope = Scope::VersionChange(self.id);
        let mut transaction = self.store.begin(scope, Durability::Strict).unwrap();
        transaction.set_version(version).unwrap();
        work(&mut transaction);
        transaction.commit().unwrap();
    }

    fn begin(&self, stores: &[i64]) -> WriteTransaction {
        let ids = stores.iter().map(|id| store_id(*id));
        let scope = Scope::Stores(self.id, ids.collect());
        self.store.begin(scope, Durability::Relaxed).unwrap()
    }

    fn transact(&self, stores: &[i64], work: impl FnOnce(&mut WriteTransaction)) {
        let mut transaction = self.begin(stores);
        work(&mut transaction);
        transaction.commit().unwrap();
    }

    /// All rows of the database are those that Chromium wrote.
    fn assert_same(self, written: &Written) {
        self.store.close().unwrap();
        let paths = StorePaths::of_leveldb("https_a.example_0.indexeddb.leveldb".as_ref());
        let fs = Arc::new(self.fs);
        let store = Store::open_read_only(fs, paths, OpenOptions::default()).unwrap();
        let ours = comparable(database_rows(store.snapshot().unwrap(), self.id));
        let theirs = comparable(database_rows(written.store.snapshot().unwrap(), written.id));
        assert!(theirs.len() > 10);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs, "ours and Chromium's");
        }
        assert_eq!(ours.len(), theirs.len());
    }
}

pub(crate) fn database_rows(snapshot: &Snapshot, id: DatabaseId) -> Vec<Row> {
    let end = range::database_end(id);
    let mut rows = Vec::new();
    let mut iter = snapshot.iter();
    iter.seek(&range::database_low(id)).unwrap();
    while iter.valid() && larder_codec::compare(iter.key(), &end).is_lt() {
        rows.push((iter.key().to_vec(), iter.value().unwrap().to_vec()));
        iter.next().unwrap();
    }
    rows
}

/// Without what is not compared.
fn comparable(rows: Vec<Row>) -> Vec<Row> {
    let mut kept = Vec::new();
    for (key, mut value) in rows {
        if let RowKey::Record(row) = RowKey::decode_exact(&key).unwrap()
            && row.table == RecordTable::Data
        {
            let len = DataRow::decode_exact(&value).unwrap().value.len();
            value.truncate(value.len() - len);
        }
        kept.push((key, value));
    }
    kept
}

pub(crate) fn store_id(id: i64) -> ObjectStoreId {
    ObjectStoreId::new(id).unwrap()
}

pub(crate) fn index_id(id: i64) -> IndexId {
    IndexId::new(id).unwrap()
}

pub(crate) fn path(path: &str) -> KeyPath {
    KeyPath::String(path.into())
}

fn paths(paths: &[&str]) -> KeyPath {
    KeyPath::Array(paths.iter().map(|path| JsString::from(*path)).collect())
}

pub(crate) fn create_store(
    transaction: &mut WriteTransaction,
    name: impl Into<JsString>,
    key_path: KeyPath,
    auto_increment: bool,
) -> i64 {
    let parameters = ObjectStoreParameters {
        id: None,
        name: name.into(),
        key_path,
        auto_increment,
    };
    transaction.create_object_store(&parameters).unwrap().get()
}

/// Creates an index; `kind` may say unique and multi-entry.
pub(crate) fn create_index(
    transaction: &mut WriteTransaction,
    store: i64,
    name: &str,
    key_path: KeyPath,
    kind: &str,
) -> i64 {
    let parameters = IndexParameters {
        id: None,
        name: name.into(),
        key_path,
        unique: kind.contains("unique"),
        multi_entry: kind.contains("multi"),
    };
    let created = transaction.create_index(store_id(store), &parameters);
    created.unwrap().get()
}

/// Calls `work` with keys in bytes, one list for each.
pub(crate) fn with_raw<T>(
    index_keys: &PutIndexKeys,
    work: impl FnOnce(&[IndexKeys<'_>]) -> T,
) -> T {
    let encoded: Vec<Vec<u8>> = index_keys.iter().map(|(_, key)| bytes(key)).collect();
    let raw: Vec<RawKey<'_>> = encoded
        .iter()
        .map(|key| RawKey::decode_exact(key).unwrap())
        .collect();
    let lists: Vec<IndexKeys<'_>> = index_keys
        .iter()
        .zip(raw.chunks(1))
        .map(|((id, _), keys)| IndexKeys {
            index_id: index_id(*id),
            keys,
        })
        .collect();
    work(&lists)
}

/// Puts a record with some value; `None` for a generated key.
pub(crate) fn put(
    transaction: &mut WriteTransaction,
    store: i64,
    key: Option<&Key>,
    mode: PutMode,
    index_keys: &PutIndexKeys,
) -> larder_backing_store::Result<Option<i64>> {
    let key_bytes = key.map(bytes);
    let raw = key_bytes.as_ref();
    let raw = raw.map(|key| RawKey::decode_exact(key).unwrap());
    with_raw(index_keys, |index_keys| {
        let put = Put {
            key: raw.map_or(PutKey::Generated, PutKey::Given),
            value: b"not compared",
            mode,
            index_keys,
            external_objects: &[],
        };
        transaction.put(store_id(store), &put)
    })
}

/// Puts a record that must be put.
pub(crate) fn put_ok(
    transaction: &mut WriteTransaction,
    store: i64,
    key: impl Into<Key>,
    index_keys: &PutIndexKeys,
) {
    put(
        transaction,
        store,
        Some(&key.into()),
        PutMode::Put,
        index_keys,
    )
    .unwrap();
}

/// Deletes a range of numbers, both ends included.
fn delete(transaction: &mut WriteTransaction, store: i64, lower: f64, upper: f64) {
    let (lower, upper) = (bytes(&lower.into()), bytes(&upper.into()));
    let bound = |bytes| std::ops::Bound::Included(RawKey::decode_exact(bytes).unwrap());
    let range = KeyRange {
        lower: bound(&lower),
        upper: bound(&upper),
    };
    transaction.delete(store_id(store), &range).unwrap();
}
