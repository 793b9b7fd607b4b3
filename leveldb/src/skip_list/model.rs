//! Laws of the skip list at every read while one thread writes: with plain threads, and with `--cfg shuttle` under thousands
//! of schedules.

use super::*;
use crate::sync::{AtomicU64, thread};
use crate::write_batch::{BatchReader, BatchWriter};
use crate::{BytewiseComparator, Identity, KeyFacts};
use std::sync::Arc;

type Versions = Vec<(Vec<u8>, u64)>;

#[cfg(shuttle)]
fn explore(body: impl Fn() + Send + Sync + 'static) {
    use shuttle::scheduler::RandomScheduler;
    let seed = std::env::var("LARDER_MODEL_SEED").map_or(1, |seed| seed.parse().unwrap());
    println!("schedules of seed {seed}");
    let scheduler = RandomScheduler::new_from_seed(seed, 3000);
    shuttle::Runner::new(scheduler, shuttle::Config::new()).run(body);
}

#[cfg(not(shuttle))]
fn explore(body: impl Fn()) {
    for _ in 0..if cfg!(miri) { 1 } else { 50 } {
        body();
    }
}

const ENTRIES: u64 = if cfg!(shuttle) {
    8
} else if cfg!(miri) {
    10
} else {
    1000
};

/// The key of the entry with a sequence number: few keys, many versions, neither ascending nor descending.
fn key_of(sequence: u64) -> Vec<u8> {
    let n = (sequence * 5 + sequence / 3) % 4;
    format!("key {n}").into_bytes()
}

fn insert(list: &SkipList, sequence: u64) {
    let mut batch = BatchWriter::new();
    batch.put(&key_of(sequence), &sequence.to_be_bytes());
    let bytes = batch.finish(sequence);
    list.insert_copy(BatchReader::new(bytes).unwrap());
}

/// All entries up to a sequence number, in the list's order.
fn model(sequence: u64) -> Versions {
    let mut all: Versions = (1..=sequence).map(|n| (key_of(n), n)).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    all
}

fn version(cursor: &SkipCursor) -> (Vec<u8>, u64) {
    let (key, tag) = internal_key::split(cursor.key()).unwrap();
    assert_eq!(cursor.value(), (tag >> 8).to_be_bytes(), "its own value");
    (key.to_vec(), tag >> 8)
}

/// Every way to walk shows all that was there before, and newer ones in their places.
fn read(list: &Arc<SkipList>, sequence: u64) {
    let expected = model(sequence);
    let is_old = |version: &(Vec<u8>, u64)| version.1 <= sequence;
    let order = |a: &(Vec<u8>, u64), b: &(Vec<u8>, u64)| a.0.cmp(&b.0).then(b.1.cmp(&a.1)).is_lt();
    let mut cursor = SkipCursor::new(list.clone());
    let mut forward = Versions::new();
    cursor.seek_to_first();
    while cursor.valid() {
        forward.push(version(&cursor));
        cursor.next();
    }
    assert!(forward.windows(2).all(|pair| order(&pair[0], &pair[1])));
    let old: Versions = forward.into_iter().filter(is_old).collect();
    assert_eq!(old, expected, "forward at {sequence}");
    let mut backward = Versions::new();
    cursor.seek_to_last();
    while cursor.valid() {
        backward.push(version(&cursor));
        cursor.prev();
    }
    assert!(backward.windows(2).all(|pair| order(&pair[1], &pair[0])));
    let old: Versions = backward.into_iter().rev().filter(is_old).collect();
    assert_eq!(old, expected, "backward at {sequence}");
    seek(&mut cursor, &expected, sequence);
    look_up(list, &expected, sequence);
}

/// A lookup finds the newest entry that a snapshot may see.
fn look_up(list: &SkipList, expected: &Versions, sequence: u64) {
    for n in 0..5 {
        let key = format!("key {n}").into_bytes();
        let mut value = Vec::new();
        let found = list.get(&key, internal_key::seek_tag(sequence));
        let found = found.map(|(tag, found)| {
            found.append_to(&mut value);
            tag >> 8
        });
        let newest = expected.iter().find(|(other, _)| *other == key);
        if let (Some(filter), Some(_)) = (list.filter(), newest) {
            assert!(filter.may_contain(bloom::key_hash(&key)), "at {sequence}");
        }
        assert_eq!(found, newest.map(|newest| newest.1), "lookup at {sequence}");
        if let Some(found) = found {
            assert_eq!(value, found.to_be_bytes(), "its own value");
        }
    }
}

/// A seek for a snapshot's entries of a key meets the newest it may see at once; from there, one step back and forth.
fn seek(cursor: &mut SkipCursor, expected: &Versions, sequence: u64) {
    // The last is what all begin with.
    for key in ["key 0", "key 1", "key 2", "key 3", "key "] {
        let key = key.as_bytes().to_vec();
        let mut target = Vec::new();
        internal_key::encode_tagged(&mut target, &key, internal_key::seek_tag(sequence));
        let first = expected.iter().find(|(other, _)| *other >= key);
        cursor.seek(&target);
        let mut found = cursor.valid().then(|| version(cursor));
        if first.is_none_or(|first| first.0 != key) {
            // Of a key that has none, newer entries of the next may come first.
            while found.as_ref().is_some_and(|found| found.1 > sequence) {
                cursor.next();
                found = cursor.valid().then(|| version(cursor));
            }
        }
        assert_eq!(found.as_ref(), first, "seek at {sequence}");
        if cursor.valid() {
            cursor.prev();
            if cursor.valid() {
                cursor.next();
                while version(cursor).1 > sequence {
                    cursor.next();
                }
                assert_eq!(Some(&version(cursor)), first, "to and fro at {sequence}");
            }
        }
    }
}

#[test]
fn readers_see_all_that_was_published_in_order_whatever_is_put_in_meanwhile() {
    let facts = KeyFacts {
        identity: |_| Identity::Bytes,
        head: |_| 0,
    };
    see_all_that_was_published(Some(facts));
}

/// All keys are a group.
const GROUPED: KeyFacts = KeyFacts {
    identity: |key| match key.starts_with(b"key ") {
        true => Identity::Grouped(4),
        false => Identity::Several,
    },
    head: |_| 0,
};

#[test]
fn readers_that_seek_a_group_see_all_that_was_published() {
    see_all_that_was_published(Some(GROUPED));
}

#[test]
fn a_reader_at_a_groups_first_entry_can_go_on_from_there() {
    explore(|| {
        let order = InternalOrder::with_facts(Arc::new(BytewiseComparator), Some(GROUPED));
        let list = Arc::new(SkipList::new(order, 7));
        let published = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut cursor = SkipCursor::new(list.clone());
                for _ in 0..if cfg!(any(shuttle, miri)) { 6 } else { 500 } {
                    let sequence = published.load(Memory::Acquire);
                    let mut target = Vec::new();
                    let seek_tag = internal_key::seek_tag(sequence);
                    internal_key::encode_tagged(&mut target, b"key ", seek_tag);
                    cursor.seek(&target);
                    while cursor.valid() && internal_key::tag(cursor.key()) >> 8 > sequence {
                        cursor.next();
                    }
                    assert_eq!(cursor.valid(), sequence > 0, "at {sequence}");
                }
            });
            // Each the first of its group.
            for sequence in 1..=ENTRIES {
                let mut batch = BatchWriter::new();
                batch.put(format!("key {}", 2000 - sequence).as_bytes(), b"");
                let bytes = batch.finish(sequence);
                list.insert_copy(BatchReader::new(bytes).unwrap());
                published.store(sequence, Memory::Release);
            }
        });
    });
}

#[test]
fn readers_see_all_that_was_published_by_the_filter() {
    see_all_that_was_published(None);
}

/// With facts, by hints; without, by the filter.
fn see_all_that_was_published(facts: Option<KeyFacts>) {
    explore(move || {
        let order = InternalOrder::with_facts(Arc::new(BytewiseComparator), facts);
        let list = Arc::new(SkipList::new(order, 7).filtered(1 << 16));
        assert_eq!(list.filter().is_some(), facts.is_none());
        let published = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..if cfg!(any(shuttle, miri)) { 2 } else { 20 } {
                        let sequence = published.load(Memory::Acquire);
                        read(&list, sequence);
                    }
                });
            }
            for sequence in 1..=ENTRIES {
                insert(&list, sequence);
                published.store(sequence, Memory::Release);
            }
        });
        read(&list, ENTRIES);
    });
}
