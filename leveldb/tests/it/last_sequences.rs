//! Sequence numbers that are nearly used up: each that is left is used, the next write is refused with a word, and the store can be
//! opened and read all the same.

use crate::store::{Operation, StoreBuilder, put_file};
use larder_leveldb::file_name::FileName;
use larder_leveldb::internal_key::SEQUENCE_MAX;
use larder_leveldb::storage::{CrashImage, LimitedFileSystem, MemoryFileSystem};
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Background, Db, Durability, ErrorKind, OnDamage, Options};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

const DIR: &str = "store";

fn options() -> Options {
    Options {
        write_buffer_bytes: 300,
        on_damage: OnDamage::Fail,
        background: Background::Caller,
        ..Options::default()
    }
}

fn operations() -> Vec<Operation> {
    (0..20u8)
        .map(|n| (vec![b'k', n], (n % 5 > 0).then(|| vec![n; 30])))
        .collect()
}

/// The file in which the last sequence number that was used is written.
#[derive(Clone, Copy, Debug)]
enum Told {
    Log,
    Table,
    Manifest,
}

/// A store in which so many numbers are left.
fn store(told: Told, left: u64) -> (MemoryFileSystem, Rows) {
    let operations = operations();
    let first = SEQUENCE_MAX - left - operations.len() as u64 + 1;
    let mut store = StoreBuilder::new();
    match told {
        Told::Log => store.add_log(first, &operations, 3),
        Told::Table => {
            store.add_tables(0, first, &operations, 1);
            store.add_log(SEQUENCE_MAX, &[], 1);
        }
        Told::Manifest => {
            store.add_log(1, &operations, 3);
            store.last_sequence = SEQUENCE_MAX - left;
        }
    }
    store.finish();
    put_file(&store.fs, &store.path(FileName::Lock), b"");
    let rows = operations.into_iter();
    let rows = rows.filter_map(|(key, value)| Some((key, value?)));
    (store.fs, rows.collect())
}

fn open(fs: &MemoryFileSystem, what: &str) -> Db {
    let db = Db::open(Arc::new(fs.clone()), Path::new(DIR), options());
    db.unwrap_or_else(|error| panic!("{what}: {error}"))
}

fn rows(db: &Db) -> Rows {
    let mut iter = db.snapshot().iter();
    iter.seek_to_first().unwrap();
    let mut rows = Rows::new();
    while iter.valid() {
        let (key, value) = (iter.key().to_vec(), iter.value().unwrap().to_vec());
        assert_eq!(db.get(&key).unwrap().as_deref(), Some(&value[..]));
        rows.insert(key, value);
        iter.next().unwrap();
    }
    rows
}

/// The store has these rows whenever it is opened, for reading and for writing, more than once.
fn stays(fs: &MemoryFileSystem, expected: &Rows, what: &str) {
    let fs = fs.crash_image(CrashImage::KeepWritten);
    for _ in 0..2 {
        let reader = Db::open_read_only(Arc::new(fs.clone()), Path::new(DIR), options());
        let reader = reader.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(&rows(&reader), expected, "{what}, for reading");
        let db = open(&fs, what);
        assert_eq!(&rows(&db), expected, "{what}, for writing");
        db.close().unwrap();
    }
}

fn is_refused(db: &Db, what: &str) {
    let error = db.put(b"one more", b"", Durability::Relaxed).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{what}: {error}");
    let text = error.to_string();
    assert!(text.contains("sequence numbers"), "{what}: {text}");
}

fn use_up(told: Told, left: u64, durability: Durability) {
    let what = format!("{left} numbers left, as the {told:?} says, {durability:?}");
    let (fs, mut expected) = store(told, left);
    stays(&fs, &expected, &what);
    let db = open(&fs, &what);
    for n in 0..left {
        let (key, value) = (vec![b'n', n as u8], vec![1; 100]);
        let written = db.put(&key, &value, durability);
        written.unwrap_or_else(|error| panic!("{what}, {n}: {error}"));
        expected.insert(key, value);
        stays(&fs, &expected, &what);
    }
    is_refused(&db, &what);
    let mut nothing = BatchWriter::new();
    db.write(&mut nothing, Durability::Strict).unwrap();
    assert_eq!(rows(&db), expected, "{what}");
    stays(&fs, &expected, &what);
    db.flush().unwrap();
    stays(&fs, &expected, &what);
    db.compact_range(None, None).unwrap();
    db.close().unwrap();
    stays(&fs, &expected, &what);
    let db = open(&fs, &what);
    is_refused(&db, &what);
    drop(db);
}

#[test]
fn each_number_that_is_left_is_used_and_then_writing_is_refused_and_nothing_lost() {
    for told in [Told::Log, Told::Table, Told::Manifest] {
        for left in [0, 1, 2, 7] {
            for durability in [Durability::Relaxed, Durability::Strict] {
                use_up(told, left, durability);
            }
        }
    }
}

#[test]
fn a_manifest_with_a_number_that_is_none_hides_no_row() {
    for last_sequence in [SEQUENCE_MAX, SEQUENCE_MAX + 1, u64::MAX - 1, u64::MAX] {
        let mut store = StoreBuilder::new();
        store.add_log(1, &operations(), 3);
        store.last_sequence = last_sequence;
        store.finish();
        let (_, expected) = self::store(Told::Log, 100);
        let what = format!("{last_sequence:x}");
        stays(&store.fs, &expected, &what);
        is_refused(&open(&store.fs, &what), &what);
    }
}

#[test]
fn a_full_disk_and_no_number_left_lose_nothing_either() {
    for left in [0, 1, 3] {
        let what = format!("{left} numbers left on a full disk");
        let (fs, mut expected) = store(Told::Log, left);
        let limited = LimitedFileSystem::new(Arc::new(fs.clone()), 64);
        for room in 0..20 {
            limited.leave(room, None);
            let db = Db::open(Arc::new(limited.clone()), Path::new(DIR), options());
            let db = db.unwrap_or_else(|error| panic!("{what}, {room}: {error}"));
            let (key, value) = (vec![b'n', room as u8], vec![1; 10]);
            if db.put(&key, &value, Durability::Strict).is_ok() {
                expected.insert(key, value);
            }
            assert_eq!(rows(&db), expected, "{what}, {room}");
            let _ = db.close();
            stays(&fs, &expected, &format!("{what}, {room}"));
        }
        let (_, before) = store(Told::Log, left);
        assert_eq!((expected.len() - before.len()) as u64, left, "{what}");
    }
}
