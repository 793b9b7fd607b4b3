//! What was deleted from one object store costs reading its neighbours nothing.

use super::*;
use crate::{CursorDirection, KeyRange, ObjectStoreParameters};
use larder_codec::{Key, ObjectStoreId, RawKey};
use larder_leveldb::write_batch::BatchWriter;
use std::ops::Bound;

const ROWS: u16 = 3000;

/// Data and exists rows of a record.
fn record(object_store: u8, n: u16) -> [Vec<u8>; 2] {
    [1, 2].map(|table| {
        let mut key = vec![0, 1, object_store, table];
        Key::Number(f64::from(n)).encode(&mut key);
        key
    })
}

/// Object stores 1 and 3 with a few records, and between and behind them 2 and 4, all of whose records are deleted.
fn store_with_deleted_neighbours(fs: &MemoryFileSystem) -> BackingStore {
    let store = create(fs);
    let id = store.create_database(&"d".into()).unwrap();
    let scope = Scope::VersionChange(id);
    let mut change = store.begin(scope, Durability::Relaxed).unwrap();
    for id in 1..=4 {
        let parameters = ObjectStoreParameters {
            id: ObjectStoreId::new(id),
            name: format!("{id}").as_str().into(),
            key_path: larder_codec::KeyPath::Null,
            auto_increment: false,
        };
        change.create_object_store(&parameters).unwrap();
    }
    change.commit().unwrap();
    let mut batch = BatchWriter::new();
    for (object_store, n) in [(1, 0..3), (2, 0..ROWS), (3, 0..3), (4, 0..ROWS)]
        .into_iter()
        .flat_map(|(object_store, rows)| rows.map(move |n| (object_store, n)))
    {
        for key in record(object_store, n) {
            batch.put(&key, &[2, 0]);
        }
    }
    store
        .core
        .db
        .write(&mut batch, Durability::Relaxed)
        .unwrap();
    for (object_store, n) in [2, 4]
        .into_iter()
        .flat_map(|store| (0..ROWS).map(move |n| (store, n)))
    {
        for key in record(object_store, n) {
            batch.delete(&key);
        }
    }
    store
        .core
        .db
        .write(&mut batch, Durability::Relaxed)
        .unwrap();
    store
}

#[test]
fn cursors_and_range_deletes_pass_over_nothing_of_a_deleted_neighbour() {
    let fs = MemoryFileSystem::new();
    let store = store_with_deleted_neighbours(&fs);
    let id = DatabaseId::MIN;
    let passed = || store.core.db.statistics().passed_entries;
    let before = passed();
    for object_store in [1, 3] {
        let object_store = ObjectStoreId::new(object_store).unwrap();
        for direction in [CursorDirection::Next, CursorDirection::Prev] {
            let mut cursor = store.read().records(id, object_store, direction);
            let mut rows = 0;
            while cursor.next().unwrap() {
                rows += 1;
            }
            assert_eq!(rows, 3);
        }
        let mut key = Vec::new();
        Key::Number(0.0).encode(&mut key);
        let range = KeyRange {
            lower: Bound::Included(RawKey::decode_exact(&key).unwrap()),
            upper: Bound::Unbounded,
        };
        let scope = Scope::Stores(id, [object_store].into());
        let mut transaction = store.begin(scope, Durability::Relaxed).unwrap();
        assert_eq!(transaction.count(id, object_store, &range).unwrap(), 3);
        assert_eq!(transaction.delete(object_store, &range).unwrap(), 3);
        transaction.rollback();
    }
    assert_eq!(passed(), before);
}
