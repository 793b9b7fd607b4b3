//! Walking past a key that was written again and again.

use larder_leveldb::storage::MemoryFileSystem;
use larder_leveldb::{Comparator, Db, Durability, Iter, Options};
use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Count};

/// Bytewise, and counts.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl Comparator for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.0.fetch_add(1, Count::Relaxed);
        a.cmp(b)
    }

    fn shorten_separator(&self, _: &mut Vec<u8>, _: &[u8]) {}

    fn shorten_successor(&self, _: &mut Vec<u8>) {}
}

fn open() -> (Arc<Counting>, Db) {
    let comparator = Arc::new(Counting::default());
    let options = Options {
        create_if_missing: true,
        comparator: Arc::clone(&comparator) as _,
        ..Options::default()
    };
    let db = Db::open(Arc::new(MemoryFileSystem::new()), Path::new("db"), options).unwrap();
    (comparator, db)
}

#[test]
fn thousands_of_older_versions_are_not_stepped_over_one_by_one() {
    let (comparator, db) = open();
    for n in 0..10_000_u32 {
        db.put(b"often", &n.to_be_bytes(), Durability::Relaxed)
            .unwrap();
        if n < 5 {
            db.put(&[b'x', n as u8], b"once", Durability::Relaxed)
                .unwrap();
        }
    }
    let mut iter = db.iter();
    let before = comparator.0.load(Count::Relaxed);
    iter.seek_to_first().unwrap();
    assert_eq!(
        (iter.key(), iter.value().unwrap()),
        (&b"often"[..], &9_999_u32.to_be_bytes()[..])
    );
    for n in 0..5 {
        iter.next().unwrap();
        assert_eq!(iter.key(), [b'x', n]);
    }
    iter.next().unwrap();
    assert!(!iter.valid());
    let comparisons = comparator.0.load(Count::Relaxed) - before;
    assert!(comparisons < 500, "{comparisons} comparisons for six rows");
}

#[test]
fn a_walk_near_two_keys_over_rows_written_twice_takes_no_more_comparisons_than_one_without_them() {
    let (comparator, db) = open();
    let keys: Vec<[u8; 2]> = (0..500_u16).map(u16::to_be_bytes).collect();
    for value in [b"old", b"new"] {
        for key in &keys {
            db.put(key, value, Durability::Relaxed).unwrap();
        }
    }
    let snapshot = db.snapshot();
    let comparisons = |iter: &mut Iter, is_forward: bool| {
        let before = comparator.0.load(Count::Relaxed);
        let mut rows = 0;
        match is_forward {
            true => iter.seek(&keys[0]).unwrap(),
            false => iter.seek_for_prev(&keys[499]).unwrap(),
        }
        while iter.valid() {
            rows += 1;
            match is_forward {
                true => iter.next().unwrap(),
                false => iter.prev().unwrap(),
            }
        }
        assert_eq!(rows, keys.len());
        comparator.0.load(Count::Relaxed) - before
    };
    for is_forward in [true, false] {
        let near = comparisons(&mut snapshot.iter_near(&keys[0], &keys[499]), is_forward);
        let anywhere = comparisons(&mut snapshot.iter(), is_forward);
        assert!(near <= anywhere, "{near} comparisons, and {anywhere}");
    }
}
