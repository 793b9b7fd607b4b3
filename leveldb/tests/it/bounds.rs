//! Iterators within bounds: as if there were no other rows, and without a look at them.

use crate::idb_like::IdbLike;
use larder_leveldb::storage::{FaultFileSystem, MemoryFileSystem};
use larder_leveldb::table::TableOptions;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{
    Background, BlockCache, Bounds, BytewiseComparator, Comparator, Db, Durability, Iter, Options,
    Result,
};
use quickcheck::{Arbitrary, Gen, QuickCheck};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

type Row = (Vec<u8>, Vec<u8>);

fn options(comparator: Arc<dyn Comparator>) -> Options {
    Options {
        create_if_missing: true,
        write_buffer_bytes: 1500,
        table_file_bytes: 1000,
        table: TableOptions {
            block_len: 120,
            ..TableOptions::default()
        },
        block_cache: BlockCache::new(0),
        background: Background::Caller,
        ..Options::new(comparator)
    }
}

/// Bytes with prefixes of one another, or numbers and strings as IndexedDB has them.
fn key(n: u8, is_idb: bool) -> Vec<u8> {
    let n = n % 120;
    match (is_idb, n % 2) {
        (false, _) => [b"a".repeat(usize::from(n % 4)), vec![n / 4, 0xff]].concat(),
        (true, 0) => [b"\0\x01\x01\x01\x03", &f64::from(n).to_le_bytes()[..]].concat(),
        (true, _) => vec![0, 1, 1, 1, 1, 1, 0, n],
    }
}

#[derive(Clone, Copy, Debug)]
enum Move {
    First,
    Last,
    Seek(u8),
    SeekForPrev(u8),
    Next,
    Prev,
}

impl Arbitrary for Move {
    fn arbitrary(g: &mut Gen) -> Move {
        match u8::arbitrary(g) % 12 {
            0 => Move::First,
            1 => Move::Last,
            2 | 3 => Move::Seek(u8::arbitrary(g)),
            4 | 5 => Move::SeekForPrev(u8::arbitrary(g)),
            6..=8 => Move::Next,
            _ => Move::Prev,
        }
    }
}

/// A sorted list, and a place in it: what an iterator must be like.
struct Naive<'a> {
    order: &'a dyn Comparator,
    rows: Vec<Row>,
    at: Option<usize>,
}

impl Naive<'_> {
    fn go(&mut self, step: Move, is_idb: bool) {
        let less = |n| {
            let key = key(n, is_idb);
            let is_less = |row: &Row| self.order.compare(&row.0, &key) == Ordering::Less;
            self.rows.iter().filter(|row| is_less(row)).count()
        };
        let not_greater = |n| {
            let key = key(n, is_idb);
            let is_greater = |row: &Row| self.order.compare(&row.0, &key) == Ordering::Greater;
            self.rows.iter().filter(|row| !is_greater(row)).count()
        };
        let at = match step {
            Move::First => Some(0),
            Move::Last => self.rows.len().checked_sub(1),
            Move::Seek(n) => Some(less(n)),
            Move::SeekForPrev(n) => not_greater(n).checked_sub(1),
            Move::Next => self.at.map(|at| at + 1),
            Move::Prev => self.at.and_then(|at| at.checked_sub(1)),
        };
        self.at = at.filter(|at| *at < self.rows.len());
    }
}

fn go(iter: &mut Iter, step: Move, is_idb: bool) {
    match step {
        Move::First => iter.seek_to_first(),
        Move::Last => iter.seek_to_last(),
        Move::Seek(n) => iter.seek(&key(n, is_idb)),
        Move::SeekForPrev(n) => iter.seek_for_prev(&key(n, is_idb)),
        Move::Next => iter.next(),
        Move::Prev => iter.prev(),
    }
    .unwrap();
}

type Case = (
    Vec<(u8, Option<u8>)>,
    Vec<(Bound<u8>, Bound<u8>)>,
    Vec<Move>,
);

/// Whether a key is on the right side of a bound, on which a key within the range is `side`.
fn is_within(order: &dyn Comparator, key: &[u8], bound: &Bound<Vec<u8>>, side: Ordering) -> bool {
    match bound {
        Bound::Unbounded => true,
        Bound::Included(bound) => order.compare(key, bound) != side.reverse(),
        Bound::Excluded(bound) => order.compare(key, bound) == side,
    }
}

fn agrees(is_idb: bool, (writes, ranges, moves): Case) -> bool {
    let order: Arc<dyn Comparator> = match is_idb {
        true => Arc::new(IdbLike),
        false => Arc::new(BytewiseComparator),
    };
    let fs = Arc::new(MemoryFileSystem::new());
    let db = Db::open(fs, Path::new("db"), options(order.clone())).unwrap();
    let mut rows: Vec<Row> = Vec::new();
    for (i, (n, value)) in writes.iter().enumerate() {
        let key = key(*n, is_idb);
        rows.retain(|row| row.0 != key);
        match value {
            Some(len) => {
                let value = vec![i as u8; usize::from(*len)];
                db.put(&key, &value, Durability::Relaxed).unwrap();
                rows.push((key, value));
            }
            None => db.delete(&key, Durability::Relaxed).unwrap(),
        }
        if i % 7 == 0 {
            db.do_background_work().unwrap();
        }
    }
    rows.sort_by(|a, b| order.compare(&a.0, &b.0));
    for (lower, upper) in ranges {
        let (lower, upper) = (lower.map(|n| key(n, is_idb)), upper.map(|n| key(n, is_idb)));
        let bounds = Bounds::from((lower.clone(), upper.clone()));
        let is_in = |row: &&Row| {
            is_within(&*order, &row.0, &lower, Ordering::Greater)
                && is_within(&*order, &row.0, &upper, Ordering::Less)
        };
        let mut naive = Naive {
            order: &*order,
            rows: rows.iter().filter(is_in).cloned().collect(),
            at: None,
        };
        let mut iter = db.iter_within(bounds.clone());
        for step in &moves {
            go(&mut iter, *step, is_idb);
            naive.go(*step, is_idb);
            let expected = naive.at.map(|at| &naive.rows[at]);
            let found = iter
                .valid()
                .then(|| (iter.key().to_vec(), iter.value().unwrap().to_vec()));
            if found.as_ref() != expected {
                println!("{bounds:?} {step:?}: {found:?}, not {expected:?}");
                return false;
            }
        }
    }
    true
}

#[test]
fn iterators_within_bounds_agree_with_a_filtered_list() {
    let mut check = QuickCheck::new().tests(300);
    check.quickcheck((|case| agrees(false, case)) as fn(Case) -> bool);
    check.quickcheck((|case| agrees(true, case)) as fn(Case) -> bool);
}

/// Writes, without a value where a key is deleted; a range; whether each row is taken from the front.
type TwoEnds = (Vec<(u8, Option<u8>)>, (Bound<u8>, Bound<u8>), Vec<bool>);

fn gives_each_row_once(is_idb: bool, (writes, (lower, upper), ends): TwoEnds) -> bool {
    let order: Arc<dyn Comparator> = match is_idb {
        true => Arc::new(IdbLike),
        false => Arc::new(BytewiseComparator),
    };
    let fs = Arc::new(MemoryFileSystem::new());
    let db = Db::open(fs, Path::new("db"), options(order.clone())).unwrap();
    let mut naive: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for (i, (n, value)) in writes.iter().enumerate() {
        let key = key(*n, is_idb);
        match value {
            Some(len) => {
                let value = vec![i as u8; usize::from(*len)];
                db.put(&key, &value, Durability::Relaxed).unwrap();
                naive.insert(key, value);
            }
            None => {
                db.delete(&key, Durability::Relaxed).unwrap();
                naive.remove(&key);
            }
        }
        if i % 7 == 0 {
            db.do_background_work().unwrap();
        }
    }
    let (lower, upper) = (lower.map(|n| key(n, is_idb)), upper.map(|n| key(n, is_idb)));
    let snapshot = db.snapshot();
    let mut rows = snapshot.range((lower.clone(), upper.clone()));
    // What is written after the snapshot is not seen.
    for n in 0..40 {
        db.put(&key(n, is_idb), b"later", Durability::Relaxed)
            .unwrap();
    }
    let mut expected: Vec<Row> = naive.into_iter().collect();
    expected.retain(|row| {
        is_within(&*order, &row.0, &lower, Ordering::Greater)
            && is_within(&*order, &row.0, &upper, Ordering::Less)
    });
    expected.sort_by(|a, b| order.compare(&a.0, &b.0));
    let mut expected = expected.into_iter();
    for is_front in ends {
        let (found, expected) = match is_front {
            true => (rows.next(), expected.next()),
            false => (rows.next_back(), expected.next_back()),
        };
        if found.transpose().unwrap() != expected {
            println!("{lower:?} to {upper:?}: not {expected:?}");
            return false;
        }
    }
    rows.collect::<Result<Vec<_>>>().unwrap() == expected.collect::<Vec<_>>()
}

#[test]
fn a_range_gives_each_row_once_whichever_end_is_asked() {
    let mut check = QuickCheck::new().tests(300);
    check.quickcheck((|case| gives_each_row_once(false, case)) as fn(TwoEnds) -> bool);
    check.quickcheck((|case| gives_each_row_once(true, case)) as fn(TwoEnds) -> bool);
}

#[test]
fn ranges_of_rust_are_those_of_a_map() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = Db::open(fs, Path::new("db"), options(Arc::new(BytewiseComparator))).unwrap();
    let keys = ["", "a", "a\0", "ab", "b", "ba", "c"];
    for key in keys {
        db.put(key.as_bytes(), b"", Durability::Relaxed).unwrap();
    }
    let found = |bounds: Bounds| -> Vec<String> {
        let rows = db.range(bounds).map(|row| row.unwrap().0);
        rows.map(|key| String::from_utf8(key).unwrap()).collect()
    };
    assert_eq!(found((..).into()), keys);
    assert_eq!(found(("a".."b").into()), keys[1..4]);
    assert_eq!(found(("a"..="b").into()), keys[1..5]);
    assert_eq!(found(("a"..).into()), keys[1..]);
    assert_eq!(found((.."a").into()), keys[..1]);
    assert_eq!(found((..="a").into()), keys[..2]);
    let behind = (Bound::Excluded("a"), Bound::Unbounded);
    assert_eq!(found(behind.into()), keys[2..]);
    assert_eq!(found(("b".."a").into()), [""; 0]);
    assert_eq!(found(("b"..="a").into()), [""; 0]);
    let none = (Bound::Excluded("a"), Bound::Excluded("a"));
    assert_eq!(found(none.into()), [""; 0]);
    // Slices, vectors and arrays of bytes.
    assert_eq!(found((&b"a"[..]..&b"b"[..]).into()), keys[1..4]);
    assert_eq!(found((b"a".to_vec()..=b"b".to_vec()).into()), keys[1..5]);
    assert_eq!(found((*b"a"..*b"b").into()), keys[1..4]);
}

#[test]
fn bounds_of_a_prefix_give_the_rows_that_begin_with_it() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = Db::open(fs, Path::new("db"), options(Arc::new(BytewiseComparator))).unwrap();
    let keys: Vec<Vec<u8>> = [
        &b"a"[..],
        b"a\xff",
        b"a\xff\xff",
        b"a\xff\xffb",
        b"b",
        b"\xff",
        b"\xff\xff",
        b"",
    ]
    .map(<[u8]>::to_vec)
    .to_vec();
    for key in &keys {
        db.put(key, b"", Durability::Relaxed).unwrap();
    }
    for prefix in &keys {
        let mut iter = db.iter_within(Bounds::prefix(prefix));
        let mut found = Vec::new();
        iter.seek_to_first().unwrap();
        while iter.valid() {
            found.push(iter.key().to_vec());
            iter.next().unwrap();
        }
        let mut expected: Vec<_> = keys
            .iter()
            .filter(|key| key.starts_with(prefix))
            .cloned()
            .collect();
        expected.sort();
        assert_eq!(found, expected, "{prefix:?}");
    }
}

fn count_operations(fs: &FaultFileSystem, look: impl FnOnce()) -> u64 {
    let before = fs.operations();
    look();
    fs.operations() - before
}

#[test]
fn nothing_is_read_beyond_the_bounds() {
    let fs = Arc::new(FaultFileSystem::new(Arc::new(MemoryFileSystem::new())));
    let options = options(Arc::new(BytewiseComparator));
    let db = Db::open(fs.clone(), Path::new("db"), options).unwrap();
    let name = |n: u32| format!("key {n:05}").into_bytes();
    let mut batch = BatchWriter::new();
    for n in 0..3000 {
        batch.put(&name(n), &name(n));
    }
    db.write(&mut batch, Durability::Relaxed).unwrap();
    db.compact_range(None, None).unwrap();
    // One row and back: off the block's first row, only an index that is asked for bounds spares the block before.
    let back = |mut iter: Iter, n: u32| {
        iter.seek(&name(n)).unwrap();
        iter.prev().unwrap();
    };
    let from = |n: u32| db.iter_within(name(n)..);
    let (mut bounded, mut unbounded) = (0, 0);
    for n in 1000..1100 {
        back(db.iter(), n);
        bounded += count_operations(&fs, || back(from(n), n));
        unbounded += count_operations(&fs, || back(db.iter(), n));
    }
    println!("100 rows and back: {bounded} operations within bounds, {unbounded} without");
    assert!(bounded * 10 < unbounded * 9);
    // Tombstones before and after a few rows, in tables of their own.
    db.delete_range(&name(0), &name(1500), Durability::Relaxed)
        .unwrap();
    db.delete_range(&name(1510), &name(3000), Durability::Relaxed)
        .unwrap();
    db.flush().unwrap();
    let within = || db.iter_within(name(1500)..name(1510));
    let walk = |mut iter: Iter, is_forward: bool| {
        match is_forward {
            true => iter.seek(&name(1500)).unwrap(),
            false => iter.seek_for_prev(&name(1509)).unwrap(),
        }
        let mut rows = 0;
        while iter.valid() {
            rows += 1;
            match is_forward {
                true => iter.next().unwrap(),
                false => iter.prev().unwrap(),
            }
        }
        assert_eq!(rows, 10);
    };
    for is_forward in [true, false] {
        walk(within(), is_forward);
        let bounded = count_operations(&fs, || walk(within(), is_forward));
        let unbounded = count_operations(&fs, || walk(db.iter(), is_forward));
        println!("forward {is_forward}: {bounded} operations within bounds, {unbounded} without");
        assert!(bounded * 10 < unbounded);
    }
    // What is wholly outside is not read at all.
    let outside = b"z"..;
    let looked = count_operations(&fs, || {
        let mut iter = db.iter_within(outside);
        iter.seek_to_first().unwrap();
        assert!(!iter.valid());
        iter.seek_to_last().unwrap();
        assert!(!iter.valid());
    });
    assert_eq!(looked, 0);
}
