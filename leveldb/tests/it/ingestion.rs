//! What an ingestion leaves, and where.

use crate::support::count;
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};
use larder_leveldb::{Background, Db, Durability, ErrorKind, Options};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

fn open(fs: &MemoryFileSystem) -> Db {
    let options = Options {
        create_if_missing: true,
        write_buffer_bytes: 20_000,
        table_file_bytes: 4000,
        background: Background::Caller,
        ..Options::default()
    };
    Db::open(Arc::new(fs.clone()), Path::new("db"), options).unwrap()
}

fn key(n: u32) -> Vec<u8> {
    format!("key {n:05}").into_bytes()
}

/// Some bytes that do not pack.
fn value(n: u32, seed: u32) -> Vec<u8> {
    let byte = |i: u32| {
        (n ^ seed.rotate_left(9))
            .wrapping_mul(i | 1)
            .wrapping_mul(0x9e37_79b9)
            .to_be_bytes()[0]
    };
    (0..100).map(byte).collect()
}

/// Ingests keys in runs, with values of a seed.
fn ingest(db: &Db, runs: &[Vec<u32>], seed: u32) {
    let mut ingestion = db.ingest(b"mark").unwrap();
    for run in runs {
        let rows: Vec<_> = run.iter().map(|n| (key(*n), value(*n, seed))).collect();
        let rows = rows.iter().map(|(key, value)| (&**key, Some(&**value)));
        ingestion.add(rows, |_, _| false).unwrap();
    }
    ingestion.install().unwrap();
}

fn tables(fs: &MemoryFileSystem) -> usize {
    let names = fs.list(Path::new("db")).unwrap();
    names
        .iter()
        .filter(|name| name.to_string_lossy().ends_with(".ldb"))
        .count()
}

fn in_order(runs: u32) -> Vec<Vec<u32>> {
    (0..runs)
        .map(|run| (run * 500..(run + 1) * 500).collect())
        .collect()
}

#[test]
fn rows_that_come_in_order_are_written_once_and_are_not_compacted() {
    let fs = MemoryFileSystem::new();
    let db = open(&fs);
    ingest(&db, &in_order(40), 1);
    while db.do_background_work().unwrap() {}
    let statistics = db.statistics();
    assert_eq!(
        (
            statistics.flushed_bytes,
            statistics.compaction_written_bytes
        ),
        (0, 0)
    );
    let levels: Vec<_> = statistics.levels.iter().map(|level| level.tables).collect();
    assert_eq!(levels.iter().sum::<usize>(), tables(&fs));
    assert!(levels[0] == 0 && levels[1] > 100, "{levels:?}");
    assert_eq!(count(db.iter()), 20_000);
}

#[test]
fn runs_that_overlap_are_merged_and_what_they_were_goes() {
    let fs = MemoryFileSystem::new();
    let db = open(&fs);
    let scattered: Vec<Vec<u32>> = (0..40)
        .map(|run| (0..500).map(|n| n * 40 + run).collect())
        .collect();
    ingest(&db, &scattered, 1);
    let files = db.files();
    let mut ends: Vec<_> = files
        .iter()
        .map(|file| (file.smallest.clone(), file.largest.clone()))
        .collect();
    ends.sort();
    assert!(ends.windows(2).all(|pair| pair[0].1 < pair[1].0));
    assert_eq!(files.len(), tables(&fs));
    assert_eq!(count(db.iter()), 20_000);
}

#[test]
fn an_overwrite_lies_above_what_it_replaces_also_where_only_level_0_is_left() {
    let fs = MemoryFileSystem::new();
    let db = open(&fs);
    for seed in 0..12 {
        if seed % 3 == 1 {
            // In the memtable, which has to become a table first.
            for n in (0..2000).step_by(7) {
                db.put(&key(n), &value(n, 99), Durability::Relaxed).unwrap();
            }
        }
        ingest(&db, &in_order(4), seed);
        for n in 0..2000 {
            assert_eq!(
                db.get(&key(n)).unwrap(),
                Some(value(n, seed)),
                "{n} of {seed}"
            );
        }
        assert!(db.statistics().levels[0].tables <= 12);
    }
}

#[test]
fn an_ingestion_without_rows_writes_nothing_into_the_manifest() {
    let fs = MemoryFileSystem::new();
    let db = open(&fs);
    let manifest_len = || {
        let mut names = fs.list(Path::new("db")).unwrap().into_iter();
        let name = names.find(|name| name.to_string_lossy().starts_with("MANIFEST"));
        fs.metadata(&Path::new("db").join(name.unwrap()))
            .unwrap()
            .len_bytes
    };
    let before = manifest_len();
    ingest(&db, &[vec![]], 1);
    assert_eq!(manifest_len(), before);
    ingest(&db, &[vec![1]], 1);
    assert!(manifest_len() > before);
}

#[test]
fn a_key_has_each_sequence_number_once() {
    let fs = MemoryFileSystem::new();
    let db = open(&fs);
    let mut seen = BTreeSet::new();
    let mut look = || {
        let mut entries = db.snapshot().entries();
        while entries.advance().unwrap() {
            let value = entries.value().unwrap().to_vec();
            seen.insert((entries.key().to_vec(), entries.sequence(), value));
        }
    };
    db.put(&key(1), b"put", Durability::Relaxed).unwrap();
    look();
    ingest(&db, &[vec![1]], 1);
    look();
    ingest(&db, &[vec![1], vec![1, 2]], 2);
    look();
    let numbers: BTreeSet<_> = seen
        .iter()
        .filter(|(found, ..)| *found == key(1))
        .map(|(_, number, value)| (number, value))
        .collect();
    let distinct: BTreeSet<_> = numbers.iter().map(|(number, _)| number).collect();
    assert_eq!((numbers.len(), distinct.len()), (3, 3), "{numbers:?}");
}

#[test]
fn what_is_dropped_leaves_nothing_and_a_snapshot_of_it_can_be_read_until_then() {
    let fs = MemoryFileSystem::new();
    let db = open(&fs);
    db.put(&key(7), b"old", Durability::Relaxed).unwrap();
    let mut ingestion = db.ingest(b"mark").unwrap();
    let rows: Vec<_> = (0..2000).map(|n| (key(n), value(n, 3))).collect();
    let rows = rows.iter().map(|(key, value)| (&**key, Some(&**value)));
    ingestion.add(rows, |_, _| false).unwrap();
    assert!(db.statistics().ingesting_bytes > 100_000);
    let snapshot = ingestion.snapshot();
    drop(ingestion);
    assert_eq!(count(snapshot.iter()), 2000);
    assert_eq!(db.get(&key(7)).unwrap().as_deref(), Some(&b"old"[..]));
    assert_eq!(count(db.iter()), 1);
    drop(snapshot);
    db.remove_unread();
    assert_eq!(tables(&fs), db.files().len());
    assert_eq!(db.statistics().ingesting_bytes, 0);
}

#[test]
fn rows_that_do_not_ascend_are_refused_and_leave_nothing() {
    let fs = MemoryFileSystem::new();
    let db = open(&fs);
    let mut ingestion = db.ingest(b"mark").unwrap();
    let rows: [(&[u8], Option<&[u8]>); 3] = [(b"a", None), (b"c", None), (b"c", None)];
    let refused = ingestion.add(rows, |_, _| true).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Usage);
    drop(ingestion);
    assert_eq!(tables(&fs), 0);
}
