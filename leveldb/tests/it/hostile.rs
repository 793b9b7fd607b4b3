//! Stores with right checksums that no writer makes. Whatever they say, opening and reading come to an end, and an iterator moves in
//! one direction.

use crate::store::{Operation, StoreBuilder, open};
use crate::support::count;
use larder_leveldb::file_name::FileName;
use larder_leveldb::internal_key::{self, EntryKind, InternalOrder};
use larder_leveldb::version_edit::NewFile;
use larder_leveldb::{Comparator, Db, ErrorKind, Iter, KeyOrder, OnDamage, Options};
use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

fn options(on_damage: OnDamage) -> Options {
    Options {
        on_damage,
        // As of a large store: its keys are not looked at when it is opened.
        order_check_bytes: 0,
        ..Options::default()
    }
}

/// The order of bytes; index keys are whole keys.
#[derive(Debug)]
struct Whole;

impl Comparator for Whole {
    fn name(&self) -> &str {
        "whole"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }

    fn shorten_separator(&self, _: &mut Vec<u8>, _: &[u8]) {}

    fn shorten_successor(&self, _: &mut Vec<u8>) {}
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

fn key(n: usize) -> Vec<u8> {
    format!("key {n:03}").into_bytes()
}

fn internal(key: &[u8], sequence: u64, kind: EntryKind) -> Vec<u8> {
    let mut internal = Vec::new();
    internal_key::encode(&mut internal, key, sequence, kind);
    internal
}

const KEYS: usize = 60;

/// Two tables of one block each, with a few entries for each key and those in any order but for the last: the index says nothing of
/// that.
fn shuffled(seed: u64) -> StoreBuilder {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed << 17 | 1);
    let mut store = StoreBuilder::new();
    store.order = InternalOrder::new(Arc::new(Whole));
    store.tables.block_len = 1 << 20;
    store.tables.bloom_bits = None;
    for level in [0, 1] {
        let mut entries = Vec::new();
        for n in 0..KEYS {
            for sequence in 0..random.below(14) as u64 {
                let kind = match random.below(5) {
                    0 => EntryKind::Deletion,
                    _ => EntryKind::Value,
                };
                entries.push((internal(&key(n), sequence, kind), &b"value"[..]));
            }
        }
        entries.sort_by(|a, b| store.order.compare(&a.0, &b.0));
        for _ in 0..random.below(100) {
            let (a, b) = (random.below(entries.len()), random.below(entries.len()));
            entries.swap(a, b);
        }
        entries.push((internal(&key(999), 100, EntryKind::Value), b"last"));
        store.add_table(level, &entries);
    }
    store.add_log(200, &[], 1);
    store.last_sequence = 200;
    store.finish();
    store
}

/// Walks on to the end. All keys are beyond the one before.
fn walk(iter: &mut Iter, beyond: Ordering, go: fn(&mut Iter) -> larder_leveldb::Result<()>) {
    let mut last: Option<Vec<u8>> = None;
    while iter.valid() {
        if let Some(last) = &last {
            assert_eq!(
                iter.key().cmp(last),
                beyond,
                "{:?}",
                String::from_utf8_lossy(last)
            );
        }
        last = Some(iter.key().to_vec());
        go(iter).unwrap();
    }
}

#[test]
fn an_iterator_over_entries_in_any_order_never_turns_round_by_itself() {
    for seed in 0..40 {
        println!("seed {seed}");
        let store = shuffled(seed);
        let db = store.open(options(OnDamage::Skip)).unwrap();
        assert_eq!(db.order(), KeyOrder::OwnAsIndexed);
        let mut iter = db.snapshot().iter();
        iter.seek_to_first().unwrap();
        walk(&mut iter, Ordering::Greater, Iter::next);
        iter.seek_to_last().unwrap();
        walk(&mut iter, Ordering::Less, Iter::prev);
        for n in (0..KEYS).step_by(7) {
            let target = key(n);
            iter.seek(&target).unwrap();
            assert!(!iter.valid() || iter.key() >= &target[..]);
            walk(&mut iter, Ordering::Greater, Iter::next);
            iter.seek_for_prev(&target).unwrap();
            assert!(!iter.valid() || iter.key() <= &target[..]);
            walk(&mut iter, Ordering::Less, Iter::prev);
            iter.seek_for_prev(&target).unwrap();
            if iter.valid() {
                let stood = iter.key().to_vec();
                iter.next().unwrap();
                assert!(!iter.valid() || iter.key() > &stood[..]);
            }
        }
    }
}

#[test]
fn entries_that_repeat_the_last_of_all_internal_keys_are_walked_over() {
    let mut store = StoreBuilder::new();
    for level in [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] {
        // The tag of a tombstone with sequence number 0 is 0: nothing of the key comes behind it.
        let entries = [
            (internal(b"a", 0, EntryKind::Deletion), &b""[..]),
            (internal(b"b", 1, EntryKind::Value), &b"value"[..]),
        ];
        store.add_table(level, &entries);
    }
    store.add_log(2, &[], 1);
    store.last_sequence = 2;
    store.finish();
    let db = store.open(options(OnDamage::Skip)).unwrap();
    let mut iter = db.snapshot().iter();
    iter.seek_to_first().unwrap();
    assert_eq!(iter.key(), b"b");
    iter.seek(b"a").unwrap();
    assert_eq!(iter.key(), b"b");
    iter.prev().unwrap();
    assert!(!iter.valid());
}

/// A few rows, and a MANIFEST that lists so many tables besides that are not there, of level 0 and of one that they overlap in.
fn with_missing_tables(count: u64) -> StoreBuilder {
    let rows: Vec<Operation> = (0..40).map(|n| (key(n), Some(b"value".to_vec()))).collect();
    let mut store = StoreBuilder::new();
    store.add_tables(1, 1, &rows[..20], 2);
    store.add_log(21, &rows[20..], 3);
    for number in 0..count {
        store.list(NewFile {
            level: (number % 2 * 2) as usize,
            number: 1000 + number,
            len_bytes: 1000,
            smallest: internal(&key(0), 5, EntryKind::Value),
            largest: internal(&key(90), 5, EntryKind::Value),
        });
    }
    store.finish();
    store
}

#[test]
fn a_manifest_that_lists_100_000_missing_tables_is_taken_for_lost_and_all_that_is_there_is_read() {
    let store = with_missing_tables(100_000);
    let error = store.open(options(OnDamage::Fail)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert!(error.to_string().contains("100000 tables"), "{error}");
    let db = store.open(options(OnDamage::Skip)).unwrap();
    assert_eq!(count(db.iter()), 40);
    let damage = db.damage();
    assert_eq!(damage.len(), 1, "{damage:#?}");
    assert!(damage[0].outdated_possible);
    assert_eq!(
        damage[0].file,
        Path::new(&FileName::Manifest(1).to_string())
    );
    let fs = Arc::new(store.fs.clone());
    let error = Db::open(fs, Path::new("store"), Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
}

#[test]
fn of_a_manifest_that_lists_1_000_missing_tables_each_is_missing() {
    let store = with_missing_tables(1000);
    let db = open(&store.fs, options(OnDamage::Skip)).unwrap();
    // Any of them may have had something newer.
    let in_the_log = 20;
    assert_eq!(count(db.iter()), in_the_log);
    assert_eq!(db.damage().len(), 1000 + 1, "and that they overlap");
}
