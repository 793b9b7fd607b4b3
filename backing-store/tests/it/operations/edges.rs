//! What random steps seldom meet: great ids, both zeros in tables, what is refused, and which stale rows are removed.

use larder_backing_store::{
    BackingStore, CursorDirection, Durability, ErrorKind, IndexParameters, KeyRange, Movement,
    ObjectStoreParameters, OpenOptions, PutMode, Reads, Record, Scope, Store, StorePaths,
    WriteTransaction,
};
use larder_codec::row_key::RowKey;
use larder_codec::{DatabaseId, IndexId, Key, KeyPath, RawKey};
use larder_leveldb::storage::MemoryFileSystem;
use std::sync::Arc;

use super::{bytes, open};
use crate::chromium_rows::{
    create_index, create_store, database_rows, index_id, path, put, put_ok, store_id,
};

fn version_change(store: &BackingStore, id: DatabaseId, work: impl FnOnce(&mut WriteTransaction)) {
    let scope = Scope::VersionChange(id);
    let mut transaction = store.begin(scope, Durability::Strict).unwrap();
    work(&mut transaction);
    transaction.commit().unwrap();
}

fn transact(store: &BackingStore, id: DatabaseId, work: impl FnOnce(&mut WriteTransaction)) {
    let scope = Scope::Stores(id, [store_id(1)].into());
    let mut transaction = store.begin(scope, Durability::Relaxed).unwrap();
    work(&mut transaction);
    transaction.commit().unwrap();
}

fn only<T>(key: impl Into<Key>, work: impl FnOnce(&KeyRange<'_>) -> T) -> T {
    let bytes = bytes(&key.into());
    work(&KeyRange::only(RawKey::decode_exact(&bytes).unwrap()))
}

fn usage<T: std::fmt::Debug>(result: larder_backing_store::Result<T>) {
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Usage);
}

/// The index rows that lie in a closed store.
fn index_rows(fs: &MemoryFileSystem, id: DatabaseId) -> usize {
    let paths = StorePaths::of_leveldb("https_a.example_0.indexeddb.leveldb".as_ref());
    let store = Store::open_read_only(Arc::new(fs.clone()), paths, OpenOptions::default());
    let rows = database_rows(store.unwrap().snapshot().unwrap(), id);
    rows.iter()
        .filter(|(key, _)| matches!(RowKey::decode_exact(key), Ok(RowKey::IndexData(_))))
        .count()
}

#[test]
fn great_ids_work_and_ids_not_above_all_earlier_ones_are_refused() {
    let fs = MemoryFileSystem::new();
    let store = open(&fs);
    let id = DatabaseId::new(1 << 35).unwrap();
    let (object_store, index) = (store_id(1 << 39), index_id(1 << 29));
    let store_with = |id| ObjectStoreParameters {
        id,
        name: "s".into(),
        key_path: KeyPath::Null,
        auto_increment: false,
    };
    let index_with = |id| IndexParameters {
        id,
        name: "i".into(),
        key_path: path("i"),
        unique: true,
        multi_entry: false,
    };
    version_change(&store, id, |transaction| {
        let made = transaction.create_object_store(&store_with(Some(object_store)));
        assert_eq!(made.unwrap(), object_store);
        let made = transaction.create_index(object_store, &index_with(Some(index)));
        assert_eq!(made.unwrap(), index);
        put_ok(transaction, 1 << 39, "k", &vec![(1 << 29, "i".into())]);
        for used in [store_id(1), object_store] {
            usage(transaction.create_object_store(&store_with(Some(used))));
        }
        for used in [IndexId::MIN, index_id(31), index] {
            usage(transaction.create_index(object_store, &index_with(Some(used))));
        }
        usage(transaction.create_index(store_id(7), &index_with(None)));
        transaction
            .create_index(object_store, &index_with(Some(IndexId::MAX)))
            .unwrap();
        usage(transaction.create_index(object_store, &index_with(None)));
    });
    let read = store.read();
    let mut record = Record::new();
    let found = only("i", |range| {
        read.get_by_index(id, object_store, index, range, &mut record)
    });
    assert!(found.unwrap());
    assert_eq!(record.primary_key().unwrap().to_key(), "k".into());
}

#[test]
fn both_zeros_are_one_record_wherever_their_rows_lie() {
    let fs = MemoryFileSystem::new();
    let mut store = open(&fs);
    let id = store.create_database(&"d".into()).unwrap();
    version_change(&store, id, |transaction| {
        create_store(transaction, "s", KeyPath::Null, false);
        create_index(transaction, 1, "i", path("i"), "");
        put_ok(transaction, 1, -0.0, &vec![(31, "minus".into())]);
        put_ok(transaction, 1, 1.0, &vec![]);
    });
    let reopened = |store: BackingStore| {
        // What was in the log becomes a table, with a filter of its own.
        store.close().unwrap();
        open(&fs)
    };
    store = reopened(store);
    transact(&store, id, |transaction| {
        let zero = Key::Number(0.0);
        let refused = put(transaction, 1, Some(&zero), PutMode::Add, &vec![]);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Constraint);
        put_ok(transaction, 1, zero, &vec![(31, "plus".into())]);
    });
    for _ in 0..2 {
        store = reopened(store);
        let read = store.read();
        for zero in [0.0, -0.0] {
            let mut record = Record::new();
            let found = only(zero, |range| {
                read.get_in(id, store_id(1), range, &mut record)
            });
            assert!(found.unwrap());
            assert_eq!(record.version().unwrap().get(), 4, "the later of both");
        }
        let mut entries = read.index_entries(id, store_id(1), index_id(31), CursorDirection::Next);
        assert!(entries.next().unwrap());
        assert_eq!(entries.index_key().unwrap().to_key(), "plus".into());
        assert!(!entries.next().unwrap(), "the other's index row is stale");
    }
    transact(&store, id, |transaction| {
        only(-0.0, |range| transaction.delete(store_id(1), range)).unwrap();
    });
    store = reopened(store);
    let read = store.read();
    for zero in [0.0, -0.0] {
        let mut record = Record::new();
        let found = only(zero, |range| {
            read.get_in(id, store_id(1), range, &mut record)
        });
        assert!(!found.unwrap());
    }
    assert_eq!(read.count(id, store_id(1), &KeyRange::ALL).unwrap(), 1);
}

#[test]
fn what_is_outside_of_the_scope_is_refused() {
    let fs = MemoryFileSystem::new();
    let store = open(&fs);
    let id = store.create_database(&"d".into()).unwrap();
    version_change(&store, id, |transaction| {
        create_store(transaction, "s", KeyPath::Null, false);
        create_store(transaction, "other", KeyPath::Null, false);
        usage(transaction.set_version(0));
        usage(transaction.rename_object_store(store_id(9), &"x".into()));
        usage(transaction.delete_object_store(store_id(9)));
        usage(transaction.delete_index(store_id(1), index_id(31)));
        usage(transaction.clear(store_id(9)));
        // What was written to before is gone, too.
        let gone = create_store(transaction, "gone", KeyPath::Null, false);
        let index = create_index(transaction, gone, "i", path("i"), "");
        let keys = vec![(index, "i".into())];
        put_ok(transaction, gone, "k", &keys);
        transaction
            .delete_index(store_id(gone), index_id(index))
            .unwrap();
        let key = Key::from("k");
        usage(put(transaction, gone, Some(&key), PutMode::Put, &keys));
        put_ok(transaction, gone, "k", &vec![]);
        transaction.delete_object_store(store_id(gone)).unwrap();
        usage(put(transaction, gone, Some(&key), PutMode::Put, &vec![]));
    });
    transact(&store, id, |transaction| {
        let key = Key::from("k");
        usage(put(transaction, 2, Some(&key), PutMode::Put, &vec![]));
        usage(put(transaction, 1, None, PutMode::Put, &vec![]));
        let keys = vec![(31, "i".into())];
        usage(put(transaction, 1, Some(&key), PutMode::Put, &keys));
        usage(transaction.clear(store_id(2)));
        usage(transaction.set_version(2));
        usage(transaction.delete_object_store(store_id(1)));
        usage(transaction.rename_object_store(store_id(1), &"x".into()));
        let bytes = bytes(&key);
        let absent = RawKey::decode_exact(&bytes).unwrap();
        usage(transaction.put_index_keys(store_id(1), absent, &[]));
    });
    let read = store.read();
    assert_eq!(read.count(id, store_id(1), &KeyRange::ALL).unwrap(), 0);
}

/// Ten stale rows under one key of two indexes, one of a third that is unique, where each put has removed the one before; and
/// a live row under the next key of each.
fn with_stale_rows(fs: &MemoryFileSystem) -> (BackingStore, DatabaseId) {
    let store = open(fs);
    let id = store.create_database(&"d".into()).unwrap();
    version_change(&store, id, |transaction| {
        create_store(transaction, "s", KeyPath::Null, false);
        for (name, kind) in [("a", ""), ("b", ""), ("c", "unique")] {
            create_index(transaction, 1, name, path(name), kind);
        }
        for n in 0..10 {
            let stale: Vec<_> = (31..34).map(|index| (index, "stale".into())).collect();
            put_ok(transaction, 1, f64::from(n), &stale);
            put_ok(transaction, 1, f64::from(n), &vec![]);
        }
        let live = (31..34).map(|index| (index, "zlive".into())).collect();
        put_ok(transaction, 1, 100.0, &live);
    });
    (store, id)
}

#[test]
fn transactions_that_write_remove_the_stale_rows_they_meet_and_others_leave_them() {
    let fs = MemoryFileSystem::new();
    let (store, id) = with_stale_rows(&fs);
    let read = store.read();
    for direction in [
        CursorDirection::Next,
        CursorDirection::NextUnique,
        CursorDirection::Prev,
        CursorDirection::PrevUnique,
    ] {
        let mut cursor = read.index_entries(id, store_id(1), index_id(31), direction);
        assert!(cursor.next().unwrap());
        assert!(!cursor.next().unwrap());
        assert_eq!(cursor.stale_rows(), 10, "{direction:?}");
    }
    store.close().unwrap();
    assert_eq!(index_rows(&fs, id), 24);

    let store = open(&fs);
    transact(&store, id, |transaction| {
        let (object_store, direction) = (store_id(1), CursorDirection::PrevUnique);
        let mut cursor = transaction.index_entries(id, object_store, index_id(31), direction);
        assert!(transaction.go(&mut cursor, Movement::Next).unwrap());
        assert!(!transaction.go(&mut cursor, Movement::Next).unwrap());
        let mut record = Record::new();
        let found = only("stale", |range| {
            transaction.get_by_index(object_store, index_id(32), range, &mut record)
        });
        assert!(!found.unwrap());
    });
    store.close().unwrap();
    assert_eq!(index_rows(&fs, id), 4);

    let store = open(&fs);
    transact(&store, id, |transaction| {
        // A look-up before a put into the unique index: it finds no other record, and puts its own row.
        put_ok(transaction, 1, 0.5, &vec![(33, "stale".into())]);
        let clash = put(
            transaction,
            1,
            Some(&Key::Number(0.0)),
            PutMode::Put,
            &vec![(33, "stale".into())],
        );
        assert_eq!(clash.unwrap_err().kind(), ErrorKind::Constraint);
    });
    store.close().unwrap();
    assert_eq!(index_rows(&fs, id), 4);
}

/// A store in memory with a database, an object store and an index of it.
fn indexed() -> (BackingStore, DatabaseId, i64) {
    let store = open(&MemoryFileSystem::new());
    let id = store.create_database(&"d".into()).unwrap();
    let mut index = 0;
    version_change(&store, id, |transaction| {
        create_store(transaction, "s", KeyPath::Null, false);
        index = create_index(transaction, 1, "i", path("i"), "");
    });
    (store, id, index)
}

#[test]
fn many_index_keys_lead_to_the_records_that_each_leads_to() {
    let (store, id, index) = indexed();
    let keys = ["b", "nothing", "a", "zero", "b", "stale"].map(Key::from);
    let found = |reads: &Reads| {
        let (store, index) = (store_id(1), index_id(index));
        let mut lookup = reads.index_lookup(id, store, index);
        let mut alone = reads.index_lookup(id, store, index);
        let mut records = vec![None; keys.len()];
        lookup.multi_get(&keys, |n, found| {
            let mut record = Record::new();
            let there = only(keys[n].clone(), |range| alone.get(range, &mut record));
            let expected = there.unwrap().then(|| record.value());
            let found = found.unwrap();
            assert_eq!(found.map(|record| record.value), expected);
            let key = found.map(|found| RawKey::decode_exact(found.primary_key).unwrap());
            records[n] = key.map(|key| key.to_key());
        });
        records
    };
    let put = |transaction: &mut WriteTransaction, primary_key: f64, index_key: &str| {
        let index_keys = vec![(index, index_key.into())];
        put_ok(transaction, 1, primary_key, &index_keys);
    };
    let number = |n: f64| Some(Key::Number(n));
    transact(&store, id, |transaction| {
        for (primary_key, index_key) in [(0.0, "zero"), (1.0, "stale"), (2.0, "b"), (3.0, "b")] {
            put(transaction, primary_key, index_key);
        }
        let expected = [2.0, 0.0, 2.0, 1.0].map(number);
        let found = found(transaction);
        let there = found.iter().filter(|key| key.is_some()).cloned();
        assert_eq!(there.collect::<Vec<_>>(), expected);
    });
    // What was under another key leaves a row behind.
    transact(&store, id, |transaction| put(transaction, 1.0, "a"));
    let expected = [
        number(2.0),
        None,
        number(1.0),
        number(0.0),
        number(2.0),
        None,
    ];
    assert_eq!(found(&store.read()), expected);
    transact(&store, id, |transaction| {
        put(transaction, 2.0, "nothing");
        let mut lookup = transaction.index_lookup(id, store_id(1), index_id(index));
        let mut records = [0; 6];
        transaction.multi_get_with(&mut lookup, &keys, |n, found| {
            let there = found.unwrap().is_some();
            records[n] += 1 + u32::from(there);
        });
        assert_eq!(records, [2, 2, 2, 2, 2, 1], "each once, and one has none");
    });
}
