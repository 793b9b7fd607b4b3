//! Random stores against a sorted map.

use crate::store::{Operation, StoreBuilder};
use crate::support::count;
use larder_leveldb::{BlockCache, Iter, Options};
use quickcheck::{Arbitrary, Gen, QuickCheck};
use std::collections::BTreeMap;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Clone, Debug)]
struct Case {
    operations: Vec<Operation>,
    sequence: u64,
    walk: Vec<(u8, Vec<u8>)>,
    log_value_bytes: usize,
    block_cache_bytes: usize,
}

fn key(g: &mut Gen) -> Vec<u8> {
    let n = u16::arbitrary(g) % 60;
    format!("{}{n}", &"prefix"[..usize::from(n) % 7]).into_bytes()
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Case {
        let count = u16::arbitrary(g) % 600 + 1;
        let value = |g: &mut Gen| {
            let len = if u8::arbitrary(g) < 4 {
                40_000
            } else {
                usize::from(u8::arbitrary(g))
            };
            vec![u8::arbitrary(g); len]
        };
        let operation = |g: &mut Gen| (key(g), (u8::arbitrary(g) % 4 > 0).then(|| value(g)));
        let operations: Vec<Operation> = (0..count).map(|_| operation(g)).collect();
        let all = u64::from(count);
        Case {
            sequence: if bool::arbitrary(g) {
                all
            } else {
                u64::arbitrary(g) % (all + 1)
            },
            walk: (0..200).map(|_| (u8::arbitrary(g), key(g))).collect(),
            operations,
            log_value_bytes: usize::arbitrary(g) % 3000,
            block_cache_bytes: [0, 20_000, 8 << 20][usize::arbitrary(g) % 3],
        }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Case>> {
        let case = self.clone();
        let shorter = (self.operations.clone(), self.walk.clone()).shrink();
        Box::new(
            shorter
                .filter(|(operations, _)| !operations.is_empty())
                .map(move |(operations, walk)| {
                    let sequence = case.sequence.min(operations.len() as u64);
                    Case {
                        operations,
                        walk,
                        sequence,
                        ..case.clone()
                    }
                }),
        )
    }
}

fn model(case: &Case) -> Map {
    let mut map = Map::new();
    for (key, value) in case.operations.iter().take(case.sequence as usize) {
        match value {
            Some(value) => drop(map.insert(key.clone(), value.clone())),
            None => drop(map.remove(key)),
        }
    }
    map
}

fn current(iter: &Iter) -> Option<(Vec<u8>, Vec<u8>)> {
    iter.valid()
        .then(|| (iter.key().to_vec(), iter.value().unwrap().to_vec()))
}

fn agrees(case: Case) -> bool {
    let store = StoreBuilder::spread(&case.operations);
    let options = Options {
        log_value_bytes: case.log_value_bytes,
        block_cache: BlockCache::new(case.block_cache_bytes),
        open_tables_max: 3,
        ..Options::default()
    };
    let db = store.open(options).unwrap();
    assert_eq!(db.latest_sequence(), case.operations.len() as u64);
    let snapshot = db.snapshot_at(case.sequence);
    let map = model(&case);
    let keys: Vec<_> = map
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let mut iter = snapshot.iter();
    let mut at: Option<usize> = None;
    for (step, target) in &case.walk {
        assert_eq!(
            snapshot.get(target).unwrap().as_ref(),
            map.get(target),
            "get {target:?}"
        );
        let first_at_least = keys.partition_point(|(key, _)| key < target);
        let first_after = keys.partition_point(|(key, _)| key <= target);
        // Mostly steps, back and forth.
        match (step % 16, at) {
            (0, _) => (iter.seek_to_first().unwrap(), at = Some(0)).0,
            (1, _) => (iter.seek_to_last().unwrap(), at = keys.len().checked_sub(1)).0,
            (2, _) | (4..9, None) => (iter.seek(target).unwrap(), at = Some(first_at_least)).0,
            (3, _) | (9..16, None) => {
                (
                    iter.seek_for_prev(target).unwrap(),
                    at = first_after.checked_sub(1),
                )
                    .0
            }
            (4..10, Some(i)) => (iter.next().unwrap(), at = Some(i + 1)).0,
            (_, Some(i)) => (iter.prev().unwrap(), at = i.checked_sub(1)).0,
            _ => {}
        }
        at = at.filter(|&i| i < keys.len());
        if current(&iter) != at.map(|i| keys[i].clone()) {
            return false;
        }
    }
    true
}

#[test]
fn iterators_that_turn_round_and_gets_agree_with_a_map_at_any_snapshot() {
    QuickCheck::new()
        .tests(300)
        .quickcheck(agrees as fn(Case) -> bool);
}

#[test]
fn an_iterator_outlives_the_store_and_moves_to_another_thread() {
    let operations: Vec<Operation> = (0..100u32)
        .map(|i| (i.to_be_bytes().to_vec(), Some(vec![1])))
        .collect();
    let store = StoreBuilder::spread(&operations);
    let db = store.open(Options::default()).unwrap();
    let iter = db.snapshot().iter();
    drop((db, store));
    let walked = std::thread::scope(|scope| scope.spawn(|| count(iter)).join().unwrap());
    assert_eq!(walked, 100);
}
