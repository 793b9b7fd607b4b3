//! A program without the feed: it writes a record's rows as Chromium does, with the engine alone, all in one batch.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use larder_backing_store::IdbComparator;
use larder_idb::FileSystem;
use larder_idb::codec::primitive::int;
use larder_idb::codec::row_key::{
    ObjectStoreField, ObjectStoreMetadataKey, RecordKey, RecordTable,
};
use larder_idb::codec::versioned::{DataRow, ExistsRow};
use larder_idb::codec::{DatabaseId, Key, ObjectStoreId, RawKey, RecordVersion, RowKey, range};
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Durability, Options};

use crate::host::written;
use crate::naive::Step;

pub(crate) const FOLDER: &str = "/store/https_a.example_0.indexeddb.leveldb";
const TABLES: [RecordTable; 3] = [
    RecordTable::Data,
    RecordTable::Exists,
    RecordTable::ExternalObject,
];

fn row(store: ObjectStoreId, table: RecordTable, key: RawKey<'_>) -> Vec<u8> {
    let mut row = Vec::new();
    RecordKey {
        database_id: DatabaseId::MIN,
        object_store_id: store,
        table,
        key,
    }
    .encode(&mut row);
    row
}

/// Does the steps to the store, whose object stores have these numbers.
pub(crate) fn write(fs: Arc<dyn FileSystem>, steps: &[Step], numbers: &BTreeMap<u64, i64>) {
    let options = Options::new(Arc::new(IdbComparator));
    let db = Db::open(fs, Path::new(FOLDER), options).unwrap();
    let mut batch = BatchWriter::new();
    let number = |store: &u64| ObjectStoreId::new(numbers[store]).unwrap();
    let snapshot = db.snapshot();
    let mut versions: BTreeMap<ObjectStoreId, i64> = BTreeMap::new();
    for step in steps {
        match step {
            Step::Put(store, key, value) => {
                let store = number(store);
                let mut version_key = Vec::new();
                ObjectStoreMetadataKey {
                    database_id: DatabaseId::MIN,
                    object_store_id: store,
                    field: ObjectStoreField::LastVersion,
                }
                .encode(&mut version_key);
                let last = versions.entry(store).or_insert_with(|| {
                    int::decode_exact(&snapshot.get(&version_key).unwrap().unwrap()).unwrap()
                });
                *last += 1;
                let version = RecordVersion::new(*last).unwrap();
                let mut bytes = Vec::new();
                int::encode(*last, &mut bytes);
                batch.put(&version_key, &bytes);
                let key = Key::encode_number(*key as f64);
                let key = RawKey::decode_exact(&key).unwrap();
                let value = written(*value).0;
                let mut data = Vec::new();
                DataRow {
                    version,
                    value: &value,
                }
                .encode(&mut data);
                batch.put(&row(store, RecordTable::Data, key), &data);
                let mut exists = Vec::new();
                ExistsRow { version }.encode(&mut exists);
                batch.put(&row(store, RecordTable::Exists, key), &exists);
                batch.delete(&row(store, RecordTable::ExternalObject, key));
            }
            Step::Delete(store, from, to) => {
                for key in *from..=*to {
                    let key = Key::encode_number(key as f64);
                    let key = RawKey::decode_exact(&key).unwrap();
                    TABLES
                        .iter()
                        .for_each(|table| batch.delete(&row(number(store), *table, key)));
                }
            }
            Step::Drop(store) => {
                let (id, mut iter) = (number(store), snapshot.iter());
                let places = [
                    (
                        range::object_store_low(DatabaseId::MIN, id),
                        range::object_store_high(DatabaseId::MIN, id),
                    ),
                    (
                        range::object_store_rows_low(DatabaseId::MIN, id),
                        range::object_store_rows_end(DatabaseId::MIN, id),
                    ),
                ];
                for (low, end) in places {
                    iter.seek(&low).unwrap();
                    while iter.valid() && larder_idb::codec::compare(iter.key(), &end).is_le() {
                        batch.delete(iter.key());
                        iter.next().unwrap();
                    }
                }
            }
            other => panic!("nothing of others: {other:?}"),
        }
    }
    if !steps.is_empty() {
        db.write(&mut batch, Durability::Strict).unwrap();
    }
    db.close().unwrap();
}

/// Gives rows of an object store another value, or takes them away: what is empty.
pub(crate) fn touch(
    fs: Arc<dyn FileSystem>,
    number: i64,
    touch: impl Fn(&[u8], &[u8]) -> Option<Vec<u8>>,
) {
    let options = Options::new(Arc::new(IdbComparator));
    let db = Db::open(fs, Path::new(FOLDER), options).unwrap();
    let store = ObjectStoreId::new(number).unwrap();
    let low = range::object_store_rows_low(DatabaseId::MIN, store);
    let end = range::object_store_rows_end(DatabaseId::MIN, store);
    let (mut batch, mut iter) = (BatchWriter::new(), db.snapshot().iter());
    let mut touched = 0;
    iter.seek(&low).unwrap();
    while iter.valid() && larder_idb::codec::compare(iter.key(), &end).is_lt() {
        if let Some(other) = touch(iter.key(), iter.value().unwrap()) {
            touched += 1;
            match other.is_empty() {
                true => batch.delete(iter.key()),
                false => batch.put(iter.key(), &other),
            }
        }
        iter.next().unwrap();
    }
    assert!(touched > 0);
    db.write(&mut batch, Durability::Strict).unwrap();
    db.close().unwrap();
}

/// Gives each record of an object store the exists row that it lacks.
pub(crate) fn add_exists_rows(fs: Arc<dyn FileSystem>, object_store: i64) {
    let db = Db::open(fs, Path::new(FOLDER), Options::new(Arc::new(IdbComparator))).unwrap();
    let object_store = ObjectStoreId::new(object_store).unwrap();
    let (database, table) = (DatabaseId::MIN, RecordTable::Data);
    let mut batch = BatchWriter::new();
    let mut iter = db.iter();
    iter.seek(&range::table_low(database, object_store, table))
        .unwrap();
    while iter.valid()
        && let Ok(RowKey::Record(record)) = RowKey::decode_exact(iter.key())
        && (record.object_store_id, record.table) == (object_store, table)
    {
        let version = DataRow::decode_exact(iter.value().unwrap())
            .unwrap()
            .version;
        let mut exists = Vec::new();
        ExistsRow { version }.encode(&mut exists);
        batch.put(&row(object_store, RecordTable::Exists, record.key), &exists);
        iter.next().unwrap();
    }
    drop(iter);
    db.write(&mut batch, Durability::Relaxed).unwrap();
    db.close().unwrap();
}
