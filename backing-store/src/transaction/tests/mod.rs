//! The row level of transactions.

mod crash;
mod model;

use std::path::Path;

use larder_codec::{DatabaseId, Key, ObjectStoreId, Origin, RawKey, range};
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};

use super::*;
use crate::reads::Reads;
use crate::undo_log::metadata_key;
use crate::view::ViewIter;
use crate::{BackingStore, FixedClock, Record, StorePaths, WriteOptions};

/// Opens a store whose transactions may keep so many bytes.
fn open_limited(fs: Arc<dyn FileSystem>, memory_bytes: usize) -> Result<BackingStore> {
    let origin = Origin::from_url("https://a.example").unwrap();
    let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    options.create_if_missing = true;
    options.background = crate::Background::Caller;
    options.write_buffer_bytes = 4000;
    options.transaction_memory_bytes = memory_bytes;
    let paths = StorePaths::of_leveldb(Path::new("https_a.example_0.indexeddb.leveldb"));
    BackingStore::open(fs, paths, options)
}

fn open(fs: &MemoryFileSystem) -> BackingStore {
    open_limited(Arc::new(fs.clone()), 1 << 20).unwrap()
}

fn stores(stores: &[i64]) -> Scope {
    let ids = stores.iter().map(|id| ObjectStoreId::new(*id).unwrap());
    Scope::Stores(DatabaseId::MIN, ids.collect())
}

/// A data row key of database 1 and a store, with a number: `n` orders it.
fn key(store: u8, n: u8) -> Vec<u8> {
    let mut key = vec![0, 1, store, 1, 3];
    key.extend_from_slice(&f64::from(n).to_le_bytes());
    key
}

/// All rows of all databases.
fn rows(view: &View) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut iter = view.iter();
    iter.seek(&range::database_low(DatabaseId::MIN)).unwrap();
    let mut rows = Vec::new();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().unwrap().to_vec()));
        iter.next().unwrap();
    }
    rows
}

#[test]
fn a_commit_shows_to_transactions_that_begin_after_it_and_a_rollback_to_none() {
    let fs = MemoryFileSystem::new();
    let store = open(&fs);
    let scope = stores(&[1]);
    let mut write = store.begin(scope.clone(), Durability::Relaxed).unwrap();
    write.put_row(&key(1, 1), b"one").unwrap();
    let before = store.read();
    write.commit().unwrap();
    let after = store.read();
    assert_eq!(before.view().get(&key(1, 1)).unwrap(), None);
    assert_eq!(
        after.view().get(&key(1, 1)).unwrap().as_deref(),
        Some(&b"one"[..])
    );
    let mut write = store.begin(scope.clone(), Durability::Relaxed).unwrap();
    write.delete_row(&key(1, 1)).unwrap();
    assert_eq!(write.view().get(&key(1, 1)).unwrap(), None);
    write.rollback();
    assert_eq!(rows(store.read().view()).len(), 1);
    store.close().unwrap();
    assert_eq!(rows(open(&fs).read().view()).len(), 1);
}

#[test]
fn overlapping_scopes_conflict_until_the_first_has_ended() {
    let fs = MemoryFileSystem::new();
    let store = open(&fs);
    let first = store.begin(stores(&[1, 2]), Durability::Relaxed).unwrap();
    let error = store.begin(stores(&[2]), Durability::Relaxed).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let _other = store.begin(stores(&[3]), Durability::Relaxed).unwrap();
    first.commit().unwrap();
    store.begin(stores(&[2]), Durability::Relaxed).unwrap();
}

/// A transaction over rows 10, 20, 30, 40 of store 1, and a cursor of it that stands on 20.
fn at_20(store: &BackingStore) -> (WriteTransaction, ViewIter) {
    let mut write = store.begin(stores(&[1]), Durability::Relaxed).unwrap();
    for n in [10, 20, 30, 40] {
        write.put_row(&key(1, n), &[n]).unwrap();
    }
    write.commit().unwrap();
    let write = store.begin(stores(&[1]), Durability::Relaxed).unwrap();
    let mut iter = write.view().iter();
    iter.seek(&key(1, 20)).unwrap();
    (write, iter)
}

#[test]
fn a_cursor_keeps_its_row_until_it_moves_and_then_sees_what_was_written() {
    let fs = MemoryFileSystem::new();
    let store = open(&fs);
    let (mut write, mut iter) = at_20(&store);
    write.put_row(&key(1, 20), b"new").unwrap();
    write.put_row(&key(1, 25), b"between").unwrap();
    assert_eq!(
        (iter.key(), iter.value().unwrap()),
        (&*key(1, 20), &[20][..])
    );
    iter.next().unwrap();
    assert_eq!(iter.value().unwrap(), b"between");
    iter.prev().unwrap();
    assert_eq!(iter.value().unwrap(), b"new");
    write.delete_row(&key(1, 20)).unwrap();
    write.delete_row(&key(1, 10)).unwrap();
    write.delete_row(&key(1, 25)).unwrap();
    assert_eq!(iter.value().unwrap(), b"new");
    iter.next().unwrap();
    assert_eq!(iter.key(), key(1, 30));
    write.delete_row(&key(1, 30)).unwrap();
    iter.prev().unwrap();
    // The metadata of the whole store lie before the records.
    assert_eq!(iter.key(), [0, 0, 0, 0, 2]);
}

#[test]
fn a_cursor_that_turns_round_on_either_side_of_the_undo_log_never_shows_it() {
    let fs = MemoryFileSystem::new();
    let store = open(&fs);
    let mut write = store.begin(stores(&[1]), Durability::Relaxed).unwrap();
    write.put_row(&key(1, 1), b"one").unwrap();
    write.commit().unwrap();
    let undo_row = metadata_key(larder_codec::ScopeId::MIN);
    store
        .core
        .db
        .put(&undo_row, b"", Durability::Relaxed)
        .unwrap();
    let mut iter = store.read().view().iter();
    iter.seek(&key(1, 1)).unwrap();
    // The metadata of the whole store lie before the undo log.
    for _ in 0..2 {
        assert_eq!(iter.key(), key(1, 1));
        iter.prev().unwrap();
        assert_eq!(iter.key(), [0, 0, 0, 0, 2]);
        iter.next().unwrap();
    }
    iter.seek(&undo_row).unwrap();
    assert_eq!(iter.key(), key(1, 1));
    iter.seek_for_prev(&undo_row).unwrap();
    assert_eq!(iter.key(), [0, 0, 0, 0, 2]);
}

#[test]
fn a_range_is_deleted_with_or_without_its_end() {
    let fs = MemoryFileSystem::new();
    let store = open(&fs);
    let (mut write, _) = at_20(&store);
    write.delete_rows(&key(1, 15), &key(1, 30), false).unwrap();
    assert_eq!(write.view().get(&key(1, 20)).unwrap(), None);
    assert!(write.view().get(&key(1, 30)).unwrap().is_some());
    write.delete_rows(&key(1, 30), &key(1, 40), true).unwrap();
    let left: Vec<_> = rows(write.view()).into_iter().map(|row| row.0).collect();
    assert_eq!(left, [key(1, 10)]);
}

#[test]
fn many_records_at_once_are_those_that_each_read_finds() {
    let fs = MemoryFileSystem::new();
    let store = open(&fs);
    // The key 0 has two forms.
    let keys: Vec<Key> = [0, 1, 21, 3, 99, 4, 10, 22, 1, 20, 25]
        .iter()
        .cycle()
        .take(40)
        .map(|n| f64::from(*n).into())
        .collect();
    let found = |reads: &Reads| {
        let (database, object_store) = (DatabaseId::MIN, ObjectStoreId::MIN);
        let mut found = 0;
        let mut calls = vec![0; keys.len()];
        reads.multi_get(database, object_store, &keys, |n, together| {
            calls[n] += 1;
            let mut bytes = Vec::new();
            keys[n].encode(&mut bytes);
            let key = RawKey::decode_exact(&bytes).unwrap();
            let mut record = Record::new();
            // No lock is held: each may read, too.
            let alone = reads.get(database, object_store, key, &mut record);
            match (together, alone) {
                (Ok(Some(together)), Ok(true)) => {
                    assert_eq!(together.primary_key, bytes);
                    assert_eq!(together.value, record.value());
                    found += 1;
                }
                (Ok(None), Ok(false)) => {}
                (Err(together), Err(alone)) => {
                    assert_eq!(together.to_string(), alone.to_string());
                }
                other => panic!("{n}: {other:?}"),
            }
        });
        assert!(calls.iter().all(|calls| *calls == 1), "{calls:?}");
        found
    };
    let put = |first: u8, row: &[u8]| {
        let mut write = store.begin(stores(&[1]), Durability::Relaxed).unwrap();
        for n in first..first + 5 {
            let row = [&[n][..], row].concat();
            write.put_row(&key(1, n), &row).unwrap();
        }
        write
    };
    assert_eq!(found(&store.read()), 0);
    put(0, b"row").commit().unwrap();
    // One of the rows cannot be read: its version never ends.
    let mut write = put(10, &[7; 1000]);
    write.put_row(&key(1, 4), &[0xff]).unwrap();
    write.delete_row(&key(1, 3)).unwrap();
    let before = store.read();
    assert_eq!((found(&before), found(&write)), (19, 15));
    // In tables of its own, which others do not look at.
    write.spill().unwrap();
    assert_eq!((found(&store.read()), found(&write)), (19, 15));
    write.put_row(&key(1, 1), &[1, 1]).unwrap();
    write.delete_row(&key(1, 10)).unwrap();
    assert_eq!(found(&write), 11);
    write.commit().unwrap();
    assert_eq!((found(&before), found(&store.read())), (19, 11));
    // The first memtable is full: the next holds what comes then.
    put(20, b"row").commit().unwrap();
    assert_eq!(found(&store.read()), 21);
    while store.core.db.do_background_work().unwrap() {}
    assert_eq!((found(&before), found(&store.read())), (19, 21));
}
