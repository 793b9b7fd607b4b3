//! What closing does of what deleted databases have left, and what it leaves to the next opening.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use larder_codec::{DatabaseId, Origin};
use larder_leveldb::storage::{MemoryFileSystem, RecordingFileSystem, Step};

use super::*;
use crate::{Background, BackingStore, FixedClock, Maintenance, Scope, StorePaths, WriteOptions};

fn open(fs: &Arc<RecordingFileSystem>) -> BackingStore {
    let origin = Origin::from_url("https://a.example").unwrap();
    let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    options.create_if_missing = true;
    options.background = Background::Caller;
    let paths = StorePaths::of_leveldb(Path::new("a"));
    BackingStore::open(fs.clone(), paths, options).unwrap()
}

fn memory() -> Arc<RecordingFileSystem> {
    Arc::new(RecordingFileSystem::new(Arc::new(MemoryFileSystem::new())))
}

/// Puts records straight into the engine.
fn fill(store: &BackingStore, id: DatabaseId, records: u32, value: &[u8]) {
    fill_from(store, id, 0..records, value);
}

fn fill_from(store: &BackingStore, id: DatabaseId, records: Range<u32>, value: &[u8]) {
    let id = u8::try_from(id.get()).unwrap();
    let mut batch = BatchWriter::new();
    for n in records {
        let mut key = vec![0, id, 1, 1, 3];
        key.extend(f64::from(n).to_le_bytes());
        batch.put(&key, &[&n.to_le_bytes(), value].concat());
    }
    let db = &store.core.db;
    db.write(&mut batch, Durability::Relaxed).unwrap();
}

fn rows_of(store: &BackingStore, prefix: &[u8]) -> usize {
    let mut iter = store.core.db.iter();
    iter.seek_to_first().unwrap();
    let mut rows = 0;
    while iter.valid() {
        rows += usize::from(iter.key().starts_with(prefix));
        iter.next().unwrap();
    }
    rows
}

/// Rows of the undo log but for its version.
fn log_rows(store: &BackingStore) -> usize {
    rows_of(store, &[0, 0, 0, 0, 50]) - 1
}

/// Entries of a database in tables and logs, whatever they say.
fn entries_of(store: &BackingStore, id: u8) -> usize {
    let mut entries = store.core.db.snapshot().entries();
    let mut found = 0;
    while entries.advance().unwrap() {
        found += usize::from(entries.key().starts_with(&[0, id]));
    }
    found
}

/// How many files closing makes after some of so many small databases were deleted.
fn files_made_by_closing(databases: usize, is_deleted: impl Fn(usize) -> bool) -> usize {
    let fs = memory();
    let store = open(&fs);
    for n in 0..databases {
        let id = store.create_database(&format!("{n}").into()).unwrap();
        fill(&store, id, 5, b"value");
    }
    store.core.db.flush().unwrap();
    for n in (0..databases).filter(|n| is_deleted(*n)) {
        store.delete_database(&format!("{n}").into()).unwrap();
    }
    let before = fs.steps().len();
    store.close().unwrap();
    let made = fs.steps().split_off(before);
    let store = open(&fs);
    let left = (0..databases).filter(|n| !is_deleted(*n)).count();
    assert_eq!(log_rows(&store), 0);
    assert_eq!(store.databases().unwrap().len(), left);
    let is_file = |step: &&Step| matches!(step, Step::Create { .. });
    made.iter().filter(is_file).count()
}

#[test]
fn closing_makes_no_more_files_after_many_deleted_databases_than_after_one() {
    let one = files_made_by_closing(1, |_| true);
    assert!(one > 0);
    for databases in [100, 200] {
        assert!(files_made_by_closing(databases, |_| true) <= one);
        assert!(files_made_by_closing(databases, |n| n % 2 == 0) <= one + 1);
    }
}

/// Writes something, which no clean-up has to do with.
fn touch(store: &BackingStore) {
    store.create_database(&"other".into()).unwrap();
    store.settle().unwrap();
}

#[test]
fn closing_deletes_10_000_rows_at_most_and_later_openings_go_on() {
    let fs = memory();
    let store = open(&fs);
    let id = store.create_database(&"d".into()).unwrap();
    fill(&store, id, 30_000, b"value");
    store.delete_database(&"d".into()).unwrap();
    let left = rows_of(&store, &[0, 1]);
    store.close().unwrap();
    let mut store = open(&fs);
    assert_eq!(rows_of(&store, &[0, 1]), left - 10_000);
    // Reading and closing changes nothing.
    assert!(store.databases().unwrap().is_empty());
    assert_eq!(store.maintain().unwrap(), Maintenance::Idle);
    store.close().unwrap();
    store = open(&fs);
    assert_eq!(rows_of(&store, &[0, 1]), left - 10_000);
    touch(&store);
    let left = rows_of(&store, &[0, 1]);
    assert!(left > 18_000, "{left}");
    store
        .begin(Scope::VersionChange(id), Durability::Relaxed)
        .unwrap();
    assert_eq!(rows_of(&store, &[0, 1]), left - 1000);
    store.close().unwrap();
    store = open(&fs);
    assert!(rows_of(&store, &[0, 1]) >= left - 11_000);
    touch(&store);
    while store.maintain().unwrap() == Maintenance::Step {}
    assert_eq!((log_rows(&store), entries_of(&store, 1)), (0, 0));
}

/// A database of more than 20 MiB in tables on a deep level, whose rows are deleted.
fn large_and_deleted(fs: &Arc<RecordingFileSystem>, tombstone_tables: usize) -> BackingStore {
    let store = open(fs);
    let id = store.create_database(&"d".into()).unwrap();
    // Of bytes that nothing packs.
    let mut state = 1_u64;
    let mut byte = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 56) as u8
    };
    let value: Vec<u8> = (0..60_000).map(|_| byte()).collect();
    for at in 0..8 {
        fill_from(&store, id, at * 50..at * 50 + 50, &value);
        store.core.db.flush().unwrap();
    }
    store.core.db.compact_range(None, None).unwrap();
    store.delete_database(&"d".into()).unwrap();
    for _ in 0..tombstone_tables {
        let mut budget = Budget::beside_writers();
        budget.rows = 400 / tombstone_tables + 1;
        while budget.rows > 0 && store.core.clean_some(&mut budget).unwrap() {}
        store.core.db.flush().unwrap();
    }
    store
}

fn table_bytes(store: &BackingStore) -> u64 {
    let levels = store.core.db.statistics().levels;
    levels.iter().map(|level| level.bytes).sum()
}

/// Bytes of tables that cleaning up within a closing's budget reads.
fn read_by_closing(store: &BackingStore) -> u64 {
    let read = || store.core.db.statistics().compaction_read_bytes;
    let before = read();
    store.core.clean_within(Budget::of_closing()).unwrap();
    read() - before
}

#[test]
fn closing_compacts_8_mib_at_most_and_later_ones_go_on_where_it_stopped() {
    let fs = memory();
    let mut store = large_and_deleted(&fs, 7);
    let mut before = table_bytes(&store);
    assert!(before > 20 << 20, "{before}");
    let mut closings = 0;
    while before > 1 << 20 {
        closings += 1;
        assert!(closings < 10);
        let read = read_by_closing(&store);
        assert!((2 << 20..8 << 20).contains(&read), "{read}");
        store.close().unwrap();
        store = open(&fs);
        let now = table_bytes(&store);
        assert!(now < before, "{now}, before {before}");
        before = now;
        store.settle().unwrap();
    }
    assert!(closings > 2, "{closings}");
    read_by_closing(&store);
    assert_eq!((log_rows(&store), entries_of(&store, 1)), (0, 0));
}

#[test]
fn a_compaction_that_takes_more_than_closing_may_is_left_to_maintenance() {
    let fs = memory();
    let store = large_and_deleted(&fs, 1);
    assert_eq!(read_by_closing(&store), 0);
    store.close().unwrap();
    let store = open(&fs);
    assert_eq!(log_rows(&store), 2);
    store.settle().unwrap();
    while store.maintain().unwrap() == Maintenance::Step {}
    assert_eq!((log_rows(&store), entries_of(&store, 1)), (0, 0));
}

#[test]
fn rows_that_a_name_leads_to_are_not_left_for_later() {
    let fs = memory();
    let store = open(&fs);
    let id = store.create_database(&"d".into()).unwrap();
    fill(&store, id, 3000, b"value");
    // A transaction that has committed, with the records from 1 on still to be deleted.
    let (mut task, mut key) = (Vec::new(), Vec::new());
    let begin = [&[0, 1, 1, 1, 3][..], &1_f64.to_le_bytes()].concat();
    let end = [0, 1, 1, 1, 0];
    larder_codec::scopes::CleanupTask::DeleteRangeAndCompact {
        begin: &begin,
        end: &end,
    }
    .encode(&mut task);
    let scope = larder_codec::ScopeId::new(7).unwrap();
    let list = larder_codec::row_key::ScopeTask::Cleanup;
    crate::undo_log::task_key(scope, list, 0, &mut key);
    let mut batch = BatchWriter::new();
    batch.put(&crate::undo_log::metadata_key(scope), &[]);
    batch.put(&key, &task);
    store.core.db.write(&mut batch, Durability::Strict).unwrap();
    store.close().unwrap();
    let store = open(&fs);
    assert_eq!(rows_of(&store, &[0, 1, 1, 1]), 3000);
    store.settle().unwrap();
    assert_eq!(rows_of(&store, &[0, 1, 1, 1]), 1);
    store.close().unwrap();
    let store = open(&fs);
    assert_eq!((log_rows(&store), rows_of(&store, &[0, 1, 1, 1])), (0, 1));
}
