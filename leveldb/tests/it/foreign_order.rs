//! Stores whose writer had another order under the comparator's name: right checksums, keys that do not ascend. They are
//! read whole in the comparator's order, whatever the other order is, and never written to.

use crate::store::{Operation, StoreBuilder, get_file, open, put_file};
use crate::support::{Rows, backward, forward};
use larder_leveldb::internal_key::{self, EntryKind, InternalOrder};
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};
use larder_leveldb::{
    BlockCache, BytewiseComparator, Comparator, Db, ErrorKind, KeyOrder, OnDamage, Options,
    RowsInDoubt, repair,
};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// An order that is not that of unsigned bytes.
#[derive(Clone, Copy, Debug)]
enum Other {
    /// 80..ff before 00..7f, as a compiler with signed `char` has it.
    Signed,
    Descending,
    LongerFirst,
    LastByteFirst,
    /// Right, but for one byte value that comes before all others.
    OneByteFirst,
}

const OTHERS: [Other; 5] = [
    Other::Signed,
    Other::Descending,
    Other::LongerFirst,
    Other::LastByteFirst,
    Other::OneByteFirst,
];

impl Comparator for Other {
    fn name(&self) -> &str {
        "another order"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let by = |key: &[u8], rank: fn(u8) -> u8| {
            key.iter().map(|&byte| rank(byte)).collect::<Vec<u8>>()
        };
        match self {
            Other::Signed => by(a, |byte| byte ^ 0x80).cmp(&by(b, |byte| byte ^ 0x80)),
            Other::Descending => b.cmp(a),
            Other::LongerFirst => b.len().cmp(&a.len()).then_with(|| a.cmp(b)),
            Other::LastByteFirst => a.last().cmp(&b.last()).then_with(|| a.cmp(b)),
            Other::OneByteFirst => {
                let rank = |byte: u8| if byte == 0xfc { 0 } else { byte };
                by(a, rank).cmp(&by(b, rank)).then_with(|| a.cmp(b))
            }
        }
    }

    fn shorten_separator(&self, _: &mut Vec<u8>, _: &[u8]) {}

    fn shorten_successor(&self, _: &mut Vec<u8>) {}
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Few different keys, with bytes on both sides of 80; many are written several times, some deleted.
fn operations(count: usize, seed: u64) -> Vec<Operation> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed << 20 | 1);
    let operation = |i: usize| {
        let mut key = b"key ".to_vec();
        for _ in 0..random.below(4) {
            key.push([b'a', b'u', 0xe4, 0xfc, 0x80, 0x7f][random.below(6) as usize]);
        }
        key.extend_from_slice(format!("{}", random.below(40)).as_bytes());
        let len = 1 + random.below(60) as usize;
        let value =
            (random.below(6) > 0).then(|| [format!("{i} ").as_bytes(), &vec![b'v'; len]].concat());
        (key, value)
    };
    (0..count).map(operation).collect()
}

fn truth(operations: &[Operation]) -> Map {
    let mut truth = Map::new();
    for (key, value) in operations {
        match value {
            Some(value) => truth.insert(key.clone(), value.clone()),
            None => truth.remove(key),
        };
    }
    truth
}

fn options(on_damage: OnDamage) -> Options {
    Options {
        on_damage,
        block_cache: BlockCache::new(4000),
        ..Options::default()
    }
}

fn other(order: impl Comparator + 'static) -> InternalOrder {
    InternalOrder::new(Arc::new(order))
}

/// Operations over three levels and two logs, each table in the order that `order_of` gives for its number.
fn spread(operations: &[Operation], order_of: impl Fn(usize) -> InternalOrder) -> StoreBuilder {
    let mut store = StoreBuilder::new();
    let part = operations.len() / 6;
    let placed = [(2, 3), (1, 2), (0, 1), (0, 1)];
    for (i, (level, count)) in placed.into_iter().enumerate() {
        store.order = order_of(i);
        let operations = &operations[i * part..(i + 1) * part];
        store.add_tables(level, (1 + i * part) as u64, operations, count);
    }
    store.add_log((1 + 4 * part) as u64, &operations[4 * part..5 * part], 3);
    store.add_log((1 + 5 * part) as u64, &operations[5 * part..], 3);
    store.finish();
    store
}

/// Everything that can be asked gives what the model says.
fn check(fs: &MemoryFileSystem, truth: &Map, case: &str) {
    let rows: Rows = truth
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    for on_damage in [OnDamage::Fail, OnDamage::Skip] {
        let db = open(fs, options(on_damage)).unwrap();
        assert_eq!(db.order(), KeyOrder::Foreign, "{case}");
        for (key, value) in &rows {
            assert_eq!(
                db.get(key).unwrap().as_ref(),
                Some(value),
                "{case}: {key:?}"
            );
            let absent = [key, &b"?"[..]].concat();
            assert_eq!(
                db.get(&absent).unwrap(),
                truth.get(&absent).cloned(),
                "{case}"
            );
        }
        assert_eq!(forward(&db).unwrap(), rows, "{case}");
        let mut reversed = backward(&db).unwrap();
        reversed.reverse();
        assert_eq!(reversed, rows, "{case}");
        check_moves(&db, truth, case);
        assert_eq!(db.damage(), [], "{case}");
    }
}

fn check_moves(db: &Db, truth: &Map, case: &str) {
    let keys: Vec<Vec<u8>> = truth.keys().step_by(7).cloned().collect();
    let mut iter = db.iter();
    for key in &keys {
        let after = [key, &b"!"[..]].concat();
        iter.seek(&after).unwrap();
        let expected = truth.range(after.clone()..).next().map(|(key, _)| &key[..]);
        assert_eq!(iter.valid().then(|| iter.key()), expected, "{case}");
        if iter.valid() {
            iter.prev().unwrap();
            assert_eq!(iter.key(), key, "{case}");
        }
        iter.seek_for_prev(&after).unwrap();
        assert_eq!(iter.key(), key, "{case}");
        iter.next().unwrap();
        assert_eq!(iter.valid().then(|| iter.key()), expected, "{case}");
    }
    for pair in keys.windows(2) {
        let mut iter = db.iter_within(&pair[0]..&pair[1]);
        iter.seek_to_first().unwrap();
        let mut seen = Vec::new();
        while iter.valid() {
            seen.push(iter.key().to_vec());
            iter.next().unwrap();
        }
        let expected: Vec<_> = truth.range(pair[0].clone()..pair[1].clone()).collect();
        let expected: Vec<_> = expected.into_iter().map(|(key, _)| key.clone()).collect();
        assert_eq!(seen, expected, "{case}");
    }
}

#[test]
fn a_store_in_another_order_is_read_whole_by_every_way_of_reading() {
    for order in OTHERS {
        for seed in 1..6 {
            let operations = operations(600, seed);
            let store = spread(&operations, |_| other(order));
            check(
                &store.fs,
                &truth(&operations),
                &format!("{order:?}, seed {seed}"),
            );
        }
    }
}

#[test]
fn tables_of_several_orders_in_one_store_are_read_as_one() {
    for seed in 1..11u64 {
        let operations = operations(600, seed);
        let store = spread(&operations, |table| match (table as u64 + seed) % 4 {
            0 => other(BytewiseComparator),
            n => other(OTHERS[n as usize]),
        });
        check(&store.fs, &truth(&operations), &format!("seed {seed}"));
    }
}

#[test]
fn tables_that_ascend_and_overlap_by_another_order_alone_are_read_by_sequence_number() {
    // Signed, both tables of the level ascend, and the one ends before the other begins.
    let value = |key: &[u8], value: &str| (key.to_vec(), Some(value.as_bytes().to_vec()));
    let first = [value(b"\x05", "old"), value(b"k\xe4", "umlaut")];
    let second = [value(b"ka", "a"), value(b"kb", "b")];
    let mut store = StoreBuilder::new();
    store.add_tables(1, 1, &first, 1);
    store.add_tables(1, 3, &second, 1);
    store.add_log(5, &[value(b"\x05", "new")], 1);
    store.finish();
    let all = [&first[..], &second, &[value(b"\x05", "new")]].concat();
    check(&store.fs, &truth(&all), "overlap");
}

#[test]
fn one_key_out_of_place_is_found_and_hides_no_other() {
    let operations: Vec<Operation> = (0..2000u32)
        .map(|n| {
            (
                format!("key {n:05}").into_bytes(),
                Some(n.to_string().into_bytes()),
            )
        })
        .collect();
    for wrong in [1usize, 777, 1998] {
        let mut entries: Vec<(Vec<u8>, &[u8])> = Vec::new();
        for (n, (key, value)) in operations.iter().enumerate() {
            let mut internal = Vec::new();
            internal_key::encode(&mut internal, key, 1 + n as u64, EntryKind::Value);
            entries.push((internal, value.as_deref().unwrap_or_default()));
        }
        let moved = entries.remove(wrong);
        entries.insert((wrong + 900) % 1999, moved);
        let mut store = StoreBuilder::new();
        store.add_table(1, &entries);
        store.last_sequence = 2000;
        store.add_log(5000, &[], 1);
        store.finish();
        check(
            &store.fs,
            &truth(&operations),
            &format!("{wrong} is elsewhere"),
        );
    }
}

#[test]
fn entries_in_no_order_some_of_them_twice_are_all_read_and_always_in_one_way() {
    for seed in 1..30 {
        let mut random = Random(seed * 7919);
        let mut entries: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut newest: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for n in 0..400 {
            let key = vec![random.below(7) as u8 * 40; 1 + random.below(4) as usize];
            let sequence = random.below(30);
            let mut internal = Vec::new();
            internal_key::encode(&mut internal, &key, sequence, EntryKind::Value);
            entries.push((internal, format!("{n}").into_bytes()));
            let before = newest.entry(key).or_default();
            *before = sequence.max(*before);
        }
        let mut store = StoreBuilder::new();
        for part in entries.chunks(150) {
            let part: Vec<_> = part
                .iter()
                .map(|(key, value)| (key.clone(), &value[..]))
                .collect();
            store.add_table(1, &part);
        }
        store.last_sequence = 30;
        store.add_log(100, &[], 1);
        store.finish();
        let read = || {
            let db = open(&store.fs, options(OnDamage::Skip)).unwrap();
            let rows = forward(&db).unwrap();
            let mut reversed = backward(&db).unwrap();
            reversed.reverse();
            assert_eq!(reversed, rows, "seed {seed}");
            let mut all = db.snapshot().entries();
            let mut count = 0;
            while all.advance().unwrap() {
                count += 1;
            }
            assert_eq!((count, db.damage()), (entries.len(), vec![]), "seed {seed}");
            rows
        };
        let rows = read();
        assert!(
            rows.iter().map(|(key, _)| key).eq(newest.keys()),
            "seed {seed}"
        );
        for (key, value) in &rows {
            let mut internal = Vec::new();
            internal_key::encode(&mut internal, key, newest[key], EntryKind::Value);
            assert!(
                entries.contains(&(internal, value.clone())),
                "seed {seed}: the newest"
            );
        }
        assert_eq!(read(), rows, "seed {seed}");
    }
}

#[test]
fn a_block_that_unfolds_to_endless_keys_is_damage_and_the_rest_is_read() {
    // A key of a mebibyte that a thousand entries of a few bytes repeat: of a few such blocks not all keys fit in memory.
    let long = vec![b'k'; 1 << 20];
    let mut store = StoreBuilder::new();
    store.tables.restart_interval = 1 << 20;
    store.tables.block_len = 8 << 20;
    let mut entries: Vec<(Vec<u8>, &[u8])> = Vec::new();
    for n in 0..400u64 {
        let mut internal = Vec::new();
        internal_key::encode(&mut internal, &long, n, EntryKind::Value);
        entries.push((internal, b"v"));
    }
    store.add_table(1, &entries);
    store.order = other(Other::Descending);
    let few = operations(100, 3);
    store.add_tables(0, 1000, &few, 1);
    store.add_log(2000, &[], 1);
    store.finish();
    let db = open(&store.fs, options(OnDamage::Skip)).unwrap();
    let rows: Map = forward(&db).unwrap().into_iter().collect();
    let expected = truth(&few);
    let shown = |key: &Vec<u8>| rows.contains_key(key);
    assert!(expected.keys().all(shown), "{:?}", db.damage());
    assert!(!db.damage().is_empty());
}

fn content(fs: &MemoryFileSystem) -> Vec<(PathBuf, Vec<u8>)> {
    let dir = Path::new("store");
    let names = fs.list(dir).unwrap();
    let mut files: Vec<_> = names
        .iter()
        .map(|name| (dir.join(name), get_file(fs, &dir.join(name))))
        .collect();
    files.sort();
    files
}

#[test]
fn a_store_in_another_order_is_not_opened_for_writing_and_stays_as_it_is() {
    for order in OTHERS {
        let store = spread(&operations(600, 2), |_| other(order));
        put_file(&store.fs, Path::new("store/LOCK"), b"");
        let before = content(&store.fs);
        let fs = Arc::new(store.fs.clone());
        let error = Db::open(fs, Path::new("store"), Options::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{order:?}: {error}");
        assert!(error.to_string().contains("opened for reading"), "{error}");
        assert_eq!(content(&store.fs), before, "{order:?}");
    }
}

/// What a store in the comparator's order is said to be, and that one in any other order is found out and read, with these options.
fn check_what_is_noticed(options: &Options, said_of_right: KeyOrder) {
    let opened = |store: &StoreBuilder| {
        let db = open(&store.fs, options.clone()).unwrap();
        let rows = forward(&db).unwrap();
        (db.order(), rows.into_iter().collect::<Map>())
    };
    let operations = operations(600, 4);
    let right = spread(&operations, |_| other(BytewiseComparator));
    assert_eq!(opened(&right), (said_of_right, truth(&operations)));
    for order in OTHERS {
        let store = spread(&operations, |_| other(order));
        let found = (KeyOrder::Foreign, truth(&operations));
        assert_eq!(opened(&store), found, "{order:?}");
    }
}

#[test]
fn of_a_store_too_large_to_be_looked_at_whole_the_indexes_say_that_it_is_in_another_order() {
    let few_looked_at = Options {
        order_check_bytes: 100,
        ..options(OnDamage::Skip)
    };
    check_what_is_noticed(&few_looked_at, KeyOrder::OwnAsIndexed);
}

#[test]
fn of_a_store_whose_order_is_trusted_the_manifest_alone_is_asked() {
    let trusting = Options {
        trusts_order: true,
        ..options(OnDamage::Skip)
    };
    // In the others' there are ranges that end before they begin.
    check_what_is_noticed(&trusting, KeyOrder::OwnAsListed);
}

#[test]
fn a_repaired_store_has_all_rows_in_the_right_order() {
    for order in OTHERS {
        let operations = operations(600, 5);
        let store = spread(&operations, |_| other(order));
        let fs = Arc::new(store.fs.clone());
        let dir = Path::new("store");
        let repaired = repair(fs.clone(), dir, &Options::default(), RowsInDoubt::LeaveOut).unwrap();
        let truth = truth(&operations);
        assert_eq!(
            (repaired.rows, repaired.in_doubt),
            (truth.len() as u64, 0),
            "{order:?}"
        );
        assert_eq!(
            (repaired.damage, repaired.set_aside),
            (vec![], vec![]),
            "{order:?}"
        );
        let db = Db::open(fs, dir, Options::default()).unwrap();
        assert_eq!(
            forward(&db).unwrap().into_iter().collect::<Map>(),
            truth,
            "{order:?}"
        );
    }
}

#[test]
fn damage_in_a_store_in_another_order_shows_nothing_wrong_and_the_rest() {
    let (mut shown, mut all) = (0, 0);
    for order in OTHERS {
        let operations = operations(600, 6);
        let store = spread(&operations, |_| other(order));
        let truth = truth(&operations);
        let tables: Vec<_> = content(&store.fs);
        let is_table = |path: &Path| {
            path.to_string_lossy().ends_with("db") || path.to_string_lossy().ends_with("st")
        };
        for (path, bytes) in tables.into_iter().filter(|(path, _)| is_table(path)) {
            for at in (0..bytes.len()).step_by(173) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x10;
                let copy = store
                    .fs
                    .crash_image(larder_leveldb::storage::CrashImage::KeepWritten);
                put_file(&copy, &path, &damaged);
                let case = format!("{order:?}: byte {at} of {}", path.display());
                let db = open(&copy, options(OnDamage::Skip)).unwrap();
                let rows: Map = forward(&db).unwrap().into_iter().collect();
                for (key, value) in &rows {
                    assert_eq!(truth.get(key), Some(value), "{case}: {:?}", db.damage());
                }
                assert!(
                    rows.len() == truth.len() || !db.damage().is_empty(),
                    "{case}"
                );
                let keys: BTreeSet<_> = backward(&db).unwrap().into_iter().collect();
                assert!(keys.into_iter().eq(rows.clone()), "{case}");
                shown += rows.len();
                all += truth.len();
            }
        }
    }
    assert!(shown * 10 > all * 8, "{shown} of {all}");
}
