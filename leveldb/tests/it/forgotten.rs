//! Ranges whose rows are of no more use: tables of nothing else go at once, values are left out of tables that are made anyway,
//! tombstones stay, and nothing beside the range is touched.

use larder_leveldb::storage::{FileSystem, LimitedFileSystem, MemoryFileSystem};
use larder_leveldb::{Background, Db, Durability, Options};
use std::path::Path;
use std::sync::Arc;

const DIR: &str = "db";
const VALUE_LEN: usize = 1000;
/// What ten values take in a table, about.
const TEN: std::ops::Range<u64> = 10_000..11_000;

fn open(fs: Arc<dyn FileSystem>) -> Db {
    let options = Options {
        create_if_missing: true,
        background: Background::Caller,
        ..Options::default()
    };
    Db::open(fs, Path::new(DIR), options).unwrap()
}

/// Bytes that do not pack.
fn value(key: &str) -> Vec<u8> {
    let mut state = key
        .bytes()
        .fold(7_u64, |sum, byte| sum * 257 + u64::from(byte));
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..VALUE_LEN).map(|_| next()).collect()
}

fn keys(prefix: &str) -> impl Iterator<Item = String> {
    (0..10).map(move |n| format!("{prefix}{n}"))
}

/// Writes ten rows.
fn put(db: &Db, prefix: &str) {
    for key in keys(prefix) {
        let written = db.put(key.as_bytes(), &value(&key), Durability::Relaxed);
        written.unwrap();
    }
}

/// How many of ten rows are there.
fn count(db: &Db, prefix: &str) -> usize {
    let is_there = |key: &String| match db.get(key.as_bytes()).unwrap() {
        Some(found) => found == value(key),
        None => false,
    };
    keys(prefix).filter(is_there).count()
}

/// The tables' first keys and lengths, the newest last.
fn tables(db: &Db) -> Vec<(String, u64)> {
    let mut files = db.files();
    files.retain(|file| file.smallest.is_some());
    files.sort_by_key(|file| file.number);
    let first = |key: Option<Vec<u8>>| String::from_utf8(key.unwrap()).unwrap();
    let shown = files
        .into_iter()
        .map(|file| (first(file.smallest), file.len_bytes.unwrap()));
    shown.collect()
}

fn files_ending(fs: &dyn FileSystem, ending: &str) -> usize {
    let names = fs.list(Path::new(DIR)).unwrap();
    let names = names.iter().map(|name| name.to_string_lossy());
    names.filter(|name| name.ends_with(ending)).count()
}

#[test]
fn a_flush_or_compaction_leaves_discardable_values_out_and_keeps_tombstones() {
    let db = open(Arc::new(MemoryFileSystem::new()));
    let all = || {
        ["a", "b", "c"]
            .into_iter()
            .for_each(|prefix| put(&db, prefix))
    };
    all();
    db.flush().unwrap();
    all();
    db.delete(b"b5", Durability::Relaxed).unwrap();
    db.forget(b"b", b"c").unwrap();
    db.flush().unwrap();
    let (_, newest) = tables(&db).pop().unwrap();
    assert!((2 * TEN.start..2 * TEN.end).contains(&newest), "{newest}");
    assert_eq!(db.get(b"b5").unwrap(), None);
    assert_eq!((count(&db, "a"), count(&db, "c")), (10, 10));
    db.compact_range(None, None).unwrap();
    let bytes: u64 = tables(&db).iter().map(|(_, bytes)| bytes).sum();
    assert!((2 * TEN.start..2 * TEN.end).contains(&bytes), "{bytes}");
    assert_eq!(
        ["a", "b", "c"].map(|prefix| count(&db, prefix)),
        [10, 0, 10]
    );
}

#[test]
fn tables_within_a_discardable_range_are_removed_at_once_and_those_that_reach_beyond_it_stay() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(fs.clone());
    for prefixes in [["a", "a"], ["b", "b"], ["ax", "bx"], ["by", "c"]] {
        for prefix in prefixes {
            put(&db, prefix);
        }
        db.flush().unwrap();
    }
    assert_eq!(files_ending(&*fs, ".ldb"), 4);
    db.forget(b"b", b"c").unwrap();
    let firsts = || {
        tables(&db)
            .into_iter()
            .map(|(first, _)| first)
            .collect::<Vec<_>>()
    };
    assert_eq!(firsts(), ["a0", "ax0", "by0"]);
    assert_eq!(files_ending(&*fs, ".ldb"), 3);
    assert_eq!(["a", "ax", "c"].map(|prefix| count(&db, prefix)), [10; 3]);
    // An empty range, or one the wrong way round, is none.
    db.forget(b"a", b"a").unwrap();
    db.forget(b"d", b"a").unwrap();
    assert_eq!(firsts(), ["a0", "ax0", "by0"]);
}

#[test]
fn what_may_go_before_the_first_write_of_a_store_without_room_goes_once_there_is_room() {
    let limited = LimitedFileSystem::new(Arc::new(MemoryFileSystem::new()), 64);
    let fs = || Arc::new(limited.clone());
    let db = open(fs());
    put(&db, "b");
    db.flush().unwrap();
    put(&db, "a");
    put(&db, "b");
    db.close().unwrap();
    limited.leave(0, None);
    let db = open(fs());
    db.forget(b"b", b"c").unwrap();
    assert_eq!(["a", "b"].map(|prefix| count(&db, prefix)), [10, 10]);
    limited.extend();
    db.flush().unwrap();
    let tables = tables(&db);
    assert_eq!(tables.len(), 2);
    // The one from before stays until it is forgotten again.
    assert!(TEN.contains(&tables[1].1), "{tables:?}");
    db.forget(b"b", b"c").unwrap();
    assert_eq!(["a", "b"].map(|prefix| count(&db, prefix)), [10, 0]);
}
