//! Tombstones: iterators pass over many of them once, and a store of little else shrinks.

use larder_leveldb::storage::MemoryFileSystem;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{
    Background, BackgroundPool, BackgroundWork, Db, Durability, Options, Snapshot,
};
use std::path::Path;
use std::sync::{Arc, Mutex};

fn options(background: Background) -> Options {
    Options {
        create_if_missing: true,
        background,
        ..Options::default()
    }
}

fn open() -> Db {
    let fs = Arc::new(MemoryFileSystem::new());
    Db::open(fs, Path::new("db"), options(Background::Caller)).unwrap()
}

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

/// Bytes that nothing packs.
fn noise(n: u32, len: usize) -> Vec<u8> {
    let mut state = u64::from(n) + 1;
    let mut byte = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..len).map(|_| byte()).collect()
}

fn put(db: &Db, keys: impl Iterator<Item = u32>, len: usize) {
    let mut batch = BatchWriter::new();
    for n in keys {
        batch.put(&key(n), &noise(n, len));
        if batch.len_bytes() > 1 << 20 {
            db.write(&mut batch, Durability::Relaxed).unwrap();
        }
    }
    db.write(&mut batch, Durability::Relaxed).unwrap();
}

fn delete(db: &Db, keys: impl Iterator<Item = u32>) {
    let mut batch = BatchWriter::new();
    keys.for_each(|n| batch.delete(&key(n)));
    db.write(&mut batch, Durability::Relaxed).unwrap();
}

fn work(db: &Db) {
    while db.do_background_work().unwrap() {}
}

fn rows(snapshot: &Snapshot) -> u32 {
    let mut iter = snapshot.iter();
    iter.seek_to_first().unwrap();
    let mut rows = 0;
    while iter.valid() {
        rows += 1;
        iter.next().unwrap();
    }
    rows
}

fn tables(db: &Db) -> (usize, u64) {
    let levels = db.statistics().levels;
    let tables = levels.iter().map(|level| level.tables).sum();
    (tables, levels.iter().map(|level| level.bytes).sum())
}

/// The first and the last key, and how many entries were passed over on the way to them.
fn ends(db: &Db) -> (Vec<u8>, Vec<u8>, u64) {
    let before = db.statistics().passed_entries;
    let mut iter = db.iter();
    iter.seek_to_first().unwrap();
    let first = iter.key().to_vec();
    iter.seek_to_last().unwrap();
    let passed = db.statistics().passed_entries - before;
    (first, iter.key().to_vec(), passed)
}

#[test]
fn what_iterators_pass_over_is_taken_away_from_memtables_and_tables() {
    for is_flushed in [true, false] {
        let db = open();
        put(&db, 0..20_000, 20);
        if is_flushed {
            db.flush().unwrap();
        }
        work(&db);
        let old = db.snapshot();
        let middle = || (0..9000).chain(9001..20_000);
        delete(&db, middle());
        let only = key(9000).to_vec();
        let (first, last, passed) = ends(&db);
        assert_eq!((&first, &last), (&only, &only));
        assert!(passed >= 19_999, "{passed}");
        // One side after the other, as each reader comes to them.
        for _ in 0..2 {
            work(&db);
            ends(&db);
        }
        work(&db);
        assert_eq!(ends(&db), (only.clone(), only, 0));
        assert_eq!(rows(&old), 20_000);
        assert_eq!(rows(&db.snapshot()), 1);
        drop(old);
        work(&db);
        assert!(tables(&db).1 < 1000, "{:?}", tables(&db));
    }
}

#[test]
fn a_store_that_is_mostly_tombstones_shrinks_without_being_read() {
    let db = open();
    put(&db, 1_000_000..1_000_038, 100);
    for round in 0..26 {
        put(&db, round * 1000..round * 1000 + 1000, 400);
        db.flush().unwrap();
        if round % 5 == 0 {
            work(&db);
        }
    }
    for round in 0..26 {
        delete(&db, round * 1000..round * 1000 + 1000);
        db.flush().unwrap();
        work(&db);
    }
    let (tables, bytes) = tables(&db);
    assert!(
        tables <= 3 && bytes < 20_000,
        "{bytes} bytes in {tables} tables"
    );
    assert_eq!(rows(&db.snapshot()), 38);
}

#[test]
fn few_tombstones_over_many_bytes_begin_no_compaction() {
    let db = open();
    put(&db, 0..20_000, 1000);
    db.flush().unwrap();
    work(&db);
    db.compact_range(None, None).unwrap();
    let read = || db.statistics().compaction_read_bytes;
    let before = read();
    delete(&db, (0..20_000).step_by(100));
    db.flush().unwrap();
    work(&db);
    assert_eq!(read(), before);
    // Nor does a walk over what lies between far too many others.
    delete(&db, 5000..6500);
    let mut iter = db.iter();
    iter.seek(&key(4999)).unwrap();
    iter.next().unwrap();
    assert_eq!(iter.key(), key(6501));
    drop(iter);
    db.flush().unwrap();
    work(&db);
    assert!(read() - before < 6 << 20, "{}", read() - before);
}

#[test]
fn an_old_snapshot_that_is_read_again_and_again_has_nothing_compacted() {
    let db = open();
    put(&db, 0..5000, 20);
    db.flush().unwrap();
    delete(&db, 1..5000);
    let old = db.snapshot();
    assert_eq!(rows(&old), 1);
    put(&db, 1000..2000, 20);
    work(&db);
    let work_of = || {
        let statistics = db.statistics();
        (statistics.compaction_read_bytes, statistics.flushed_bytes)
    };
    let before = work_of();
    assert!(before.0 > 0);
    for _ in 0..3 {
        assert_eq!(rows(&old), 1);
        work(&db);
    }
    assert_eq!(work_of(), before);
}

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<BackgroundWork>>);

impl BackgroundPool for Kept {
    fn run_soon(&self, work: BackgroundWork) {
        self.0.lock().unwrap().push(work);
    }
}

#[test]
fn a_write_after_a_long_walk_hands_it_to_the_background() {
    let pool = Arc::new(Kept::default());
    let fs = Arc::new(MemoryFileSystem::new());
    let background = Background::Pool(pool.clone());
    let db = Db::open(fs, Path::new("db"), options(background)).unwrap();
    put(&db, 0..5000, 20);
    delete(&db, 0..4999);
    put(&db, 0..1, 20);
    delete(&db, 0..1);
    assert_eq!(pool.0.lock().unwrap().len(), 0);
    assert_eq!(rows(&db.snapshot()), 1);
    put(&db, 6000..6001, 20);
    let next = || pool.0.lock().unwrap().pop();
    let mut steps = 0;
    while let Some(work) = next() {
        work.run();
        steps += 1;
    }
    assert!(steps > 0);
    assert_eq!(ends(&db).2, 0);
}

#[test]
fn an_iterator_near_two_keys_passes_over_nothing_beyond_them_and_shows_all_between() {
    let db = open();
    put(&db, 0..3000, 20);
    db.flush().unwrap();
    delete(
        &db,
        (0..3000).filter(|n| *n != 500 && *n != 2500 && *n % 1000 != 3),
    );
    let passed = || db.statistics().passed_entries;
    let before = passed();
    for (low, high, rows) in [
        (1400, 1420, vec![]),
        (1000, 1010, vec![1003]),
        (1003, 1003, vec![1003]),
        (0, 20, vec![3]),
        (2980, 3000, vec![]),
    ] {
        let is_inside = |found: &[u8]| (key(low)..=key(high)).contains(&found.try_into().unwrap());
        let (low_key, high_key) = (key(low), key(high));
        let mut iter = db.snapshot().iter_near(&low_key, &high_key);
        let mut found = Vec::new();
        iter.seek(&low_key).unwrap();
        while iter.valid() && is_inside(iter.key()) {
            found.push(u32::from_be_bytes(iter.key().try_into().unwrap()));
            iter.next().unwrap();
        }
        assert_eq!(found, rows);
        found.clear();
        iter.seek_for_prev(&high_key).unwrap();
        while iter.valid() && is_inside(iter.key()) {
            found.insert(0, u32::from_be_bytes(iter.key().try_into().unwrap()));
            iter.prev().unwrap();
        }
        assert_eq!(found, rows);
    }
    assert_eq!(passed(), before);
    // Without bounds each seek goes on to the next row.
    let mut iter = db.iter();
    iter.seek(&key(1400)).unwrap();
    assert_eq!(iter.key(), key(2003));
    assert!(passed() > before);
}
