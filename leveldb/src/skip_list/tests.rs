use super::arrange::RUN_LEN;
use super::insert::CHUNK_LEN;
use super::*;
use crate::internal_key::seek_tag;
use crate::write_batch::{BatchReader, BatchWriter};
use crate::{BytewiseComparator, Comparator, Identity, KeyFacts};
use quickcheck::quickcheck;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

mod lookups;

/// For the order of bytes.
const FACTS: KeyFacts = KeyFacts {
    identity: |_| Identity::Bytes,
    head: first_eight,
};

fn list() -> SkipList {
    let order = InternalOrder::with_facts(Arc::new(BytewiseComparator), Some(FACTS));
    SkipList::new(order, 7)
}

/// The interpreter of miri is some hundred times slower.
const fn size(natively: u32, miri: u32) -> u32 {
    if cfg!(miri) { miri } else { natively }
}

/// Inserts by the way that may keep the batch: whether it did.
fn insert_whole(list: &SkipList, sequence: u64, operations: &[(Vec<u8>, Option<Vec<u8>>)]) -> bool {
    let mut batch = BatchWriter::new();
    for (key, value) in operations {
        match value {
            Some(value) => batch.put(key, value),
            None => batch.delete(key),
        }
    }
    batch.finish(sequence);
    list.insert(&mut batch);
    batch.len_bytes() == BatchWriter::new().len_bytes()
}

type Operations = Vec<(Vec<u8>, Option<Vec<u8>>)>;

fn insert(list: &SkipList, sequence: u64, operations: &[(Vec<u8>, Option<Vec<u8>>)]) {
    let mut batch = BatchWriter::new();
    for (key, value) in operations {
        match value {
            Some(value) => batch.put(key, value),
            None => batch.delete(key),
        }
    }
    let bytes = batch.finish(sequence);
    list.insert_copy(BatchReader::new(bytes).unwrap());
}

/// User key, inverted tag: the order of internal keys.
type Model = BTreeMap<(Vec<u8>, u64), Vec<u8>>;

fn model_key(internal: &[u8]) -> (Vec<u8>, u64) {
    let (user, tag) = internal_key::split(internal).unwrap();
    (user.to_vec(), !tag)
}

fn agrees(list: &Arc<SkipList>, model: &Model, targets: &[Vec<u8>]) {
    let mut cursor = SkipCursor::new(list.clone());
    cursor.seek_to_first();
    for (key, value) in model {
        assert_eq!(
            (model_key(cursor.key()), cursor.value()),
            (key.clone(), &value[..])
        );
        cursor.next();
    }
    assert!(!cursor.valid());
    cursor.seek_to_last();
    for key in model.keys().rev() {
        assert_eq!(model_key(cursor.key()), *key);
        cursor.prev();
    }
    assert!(!cursor.valid());
    for target in targets {
        for tag in [0, 5 << 8, u64::MAX] {
            let mut internal = Vec::new();
            internal_key::encode_tagged(&mut internal, target, tag);
            let key = (target.clone(), !tag);
            cursor.seek(&internal);
            let first = model.range(key.clone()..).next();
            assert_eq!(
                cursor.valid().then(|| model_key(cursor.key())).as_ref(),
                first.map(|(key, _)| key)
            );
            cursor.seek_before(&internal);
            let last = model.range(..key).next_back();
            assert_eq!(
                cursor.valid().then(|| model_key(cursor.key())).as_ref(),
                last.map(|(key, _)| key)
            );
        }
    }
}

/// All entries, as a cursor meets them.
fn entries(list: &Arc<SkipList>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut cursor = SkipCursor::new(list.clone());
    let mut entries = Vec::new();
    cursor.seek_to_first();
    while cursor.valid() {
        entries.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.next();
    }
    entries
}

#[test]
fn a_batch_that_is_kept_reads_as_one_that_is_copied() {
    let unit = size(1 << 10, 1 << 4) as usize;
    let value = |n: usize| Some(vec![n as u8; n % 7 * unit]);
    let long = |count: usize| (0..count).map(move |n| (vec![n as u8 * 5, n as u8], value(n)));
    let batches: [(Operations, bool); 6] = [
        (long(40).chain([(b"k".to_vec(), None)]).collect(), true),
        // Too short; of a key that does not fit into a node; of short values mostly.
        (long(4).collect(), false),
        (long(40).chain([(vec![7; 249], value(3))]).collect(), false),
        (long(40).chain([(vec![7; 248], value(3))]).collect(), true),
        (
            (0..4000)
                .map(|n: u32| (n.to_be_bytes().to_vec(), Some(vec![3; 20])))
                .collect(),
            false,
        ),
        (long(40).collect(), true),
    ];
    let (kept, copied) = (Arc::new(list()), Arc::new(list()));
    let mut sequence = 1;
    for (n, (batch, is_kept)) in batches.iter().enumerate() {
        let before = kept.len_bytes();
        assert_eq!(insert_whole(&kept, sequence, batch), *is_kept, "{n}");
        insert(&copied, sequence, batch);
        sequence += batch.len() as u64;
        assert!(entries(&kept) == entries(&copied), "{n}");
        let value_bytes: usize = batch
            .iter()
            .flat_map(|(_, value)| value)
            .map(Vec::len)
            .sum();
        assert!(kept.len_bytes() >= before + value_bytes, "{n}");
    }
}

quickcheck! {
    fn it_is_a_sorted_map(batches: Vec<Operations>, ascending: bool) -> bool {
        lists().map(Arc::new).iter().all(|list| {
            let mut model = Model::new();
            let (mut sequence, mut targets) = (1, Vec::new());
            for batch in batches.iter().take(size(u32::MAX, 3) as usize) {
                let batch = batch.iter().take(size(u32::MAX, 4) as usize);
                let mut batch: Operations = batch.cloned().collect();
                if ascending {
                    batch.sort();
                }
                insert(list, sequence, &batch);
                for (key, value) in batch {
                    let tag = (sequence << 8) | u64::from(value.is_some());
                    model.insert((key.clone(), !tag), value.unwrap_or_default());
                    targets.push(key);
                    sequence += 1;
                }
            }
            agrees(list, &model, &targets);
            list.is_empty() == model.is_empty()
        })
    }
}

#[test]
fn batches_in_order_land_between_what_is_there() {
    for list in lists() {
        batches_in_order_land_between_what_is_in(&Arc::new(list));
    }
}

fn batches_in_order_land_between_what_is_in(list: &Arc<SkipList>) {
    let mut model = Model::new();
    let (mut sequence, mut state) = (1, 1_u64);
    for _ in 0..size(20, 2) {
        let mut keys: Vec<u64> = Vec::new();
        for _ in 0..size(300, 6) {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            keys.push(state >> 44);
        }
        keys.sort_unstable();
        let put = |key: &u64| (key.to_be_bytes().to_vec(), Some(b"v".to_vec()));
        let batch: Vec<_> = keys.iter().map(put).collect();
        insert(list, sequence, &batch);
        for (key, value) in batch {
            model.insert((key, !((sequence << 8) | 1)), value.unwrap());
            sequence += 1;
        }
    }
    agrees(list, &model, &[5_u64.to_be_bytes().to_vec()]);
}

#[test]
fn entries_that_come_alone_land_in_their_places_whatever_their_keys_share() {
    let key = |n: u32| {
        let random = n.wrapping_mul(2_654_435_761);
        match n * 4 / size(4000, 200) {
            0 => format!("shared by all so far, {random:010}").into_bytes(),
            // The eight bytes behind the shared ones are equal, too, so the heads in nodes do not separate these keys.
            1 => format!("shared by all so far, 00000000{:02}", random % 40).into_bytes(),
            2 => format!("shared by {:04}", random % 10_000).into_bytes(),
            _ => random.to_be_bytes()[..random as usize % 4].to_vec(),
        }
    };
    for list in lists().map(Arc::new) {
        let mut model = Model::new();
        for (n, sequence) in (0..size(4000, 200)).zip(1..) {
            insert(&list, sequence, &[(key(n), Some(n.to_be_bytes().to_vec()))]);
            model.insert((key(n), !((sequence << 8) | 1)), n.to_be_bytes().to_vec());
        }
        agrees(&list, &model, &[key(0), key(1500), key(2500), key(3500)]);
    }
}

#[test]
fn a_batch_of_several_runs_is_sorted_and_each_key_found_as_written_last() {
    for list in lists().map(Arc::new) {
        let count = size(3 * RUN_LEN as u32, RUN_LEN as u32 + 20);
        let keys = (0..count).rev().map(|n| (n % 1000).to_be_bytes().to_vec());
        let values = (0..count).map(|n| Some(n.to_be_bytes().to_vec()));
        let batch: Operations = keys.zip(values).collect();
        insert(&list, 1, &batch);
        let mut model = Model::new();
        for (sequence, (key, value)) in (1u64..).zip(batch) {
            model.insert((key, !((sequence << 8) | 1)), value.unwrap_or_default());
        }
        agrees(&list, &model, &[]);
        let newest: BTreeMap<_, _> = model.iter().rev().map(|((key, _), v)| (key, v)).collect();
        for (key, value) in newest {
            let found = looked_up_as_searched_for(&list, key, u64::MAX);
            assert_eq!(found.map(|(_, value)| value).as_ref(), Some(value));
        }
    }
}

#[test]
fn a_batch_of_many_chunks_is_kept_whole() {
    let list = Arc::new(list());
    let count = size(5000, 40);
    let len = size(700, 70_000) as usize;
    let batch: Vec<_> = (0..count)
        .map(|i| {
            (
                i.wrapping_mul(0x9e37_79b9).to_be_bytes().to_vec(),
                Some(vec![i as u8; len]),
            )
        })
        .collect();
    insert(&list, 1, &batch);
    let mut model = Model::new();
    for (i, (key, value)) in batch.iter().enumerate() {
        model.insert(
            (key.clone(), !(((i as u64 + 1) << 8) | 1)),
            value.clone().unwrap(),
        );
    }
    agrees(&list, &model, &[]);
    assert!(
        list.len_bytes() > 3_500_000 * size(5, 4) as usize / 5 && list.len_bytes() < 4_000_000,
        "{}",
        list.len_bytes()
    );
}

#[test]
fn a_value_longer_than_a_chunk_takes_its_own_length_of_memory() {
    let list = Arc::new(list());
    let values = [vec![1; 5 * CHUNK_LEN / 2], vec![2; 300]];
    let keys = [b"a".to_vec(), b"b".to_vec()];
    let batch: Vec<_> = keys.iter().cloned().zip(values.map(Some)).collect();
    insert(&list, 1, &batch);
    let len = list.len_bytes();
    assert!(
        (5 * CHUNK_LEN / 2..=5 * CHUNK_LEN / 2 + 1000).contains(&len),
        "{len}"
    );
    let mut cursor = SkipCursor::new(list);
    cursor.seek_to_first();
    for (_, value) in &batch {
        assert_eq!(cursor.value(), value.as_ref().unwrap());
        cursor.next();
    }
}

#[test]
fn readers_see_an_ascending_list_and_every_finished_batch_while_it_is_written() {
    let list = Arc::new(list());
    let count_max = size(20_000, 60);
    let done = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let before = done.load(Memory::Acquire);
                    let mut cursor = SkipCursor::new(list.clone());
                    cursor.seek_to_first();
                    let (mut last, mut count) = (Vec::new(), 0);
                    while cursor.valid() {
                        assert!(last.is_empty() || list.order.compare(&last, cursor.key()).is_lt());
                        assert_eq!(cursor.value(), &internal_key::user_key(cursor.key())[..2]);
                        last = cursor.key().to_vec();
                        count += 1;
                        cursor.next();
                    }
                    assert!(count >= before, "{count} of {before}");
                    if before == u64::from(count_max) {
                        break;
                    }
                }
            });
        }
        for i in 0..count_max {
            let key = i.wrapping_mul(0x9e37_79b9).to_be_bytes().to_vec();
            let value = key[..2].to_vec();
            insert(&list, u64::from(i) + 1, &[(key, Some(value))]);
            done.store(u64::from(i) + 1, Memory::Release);
        }
    });
}

/// Bytewise; the first comparison after it was armed puts a newer version of "k" into the list before it answers.
#[derive(Debug, Default)]
struct Meddler {
    list: OnceLock<Weak<SkipList>>,
    newer: AtomicU64,
}

impl Comparator for Meddler {
    fn name(&self) -> &str {
        "meddler"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let sequence = self.newer.swap(0, Memory::Relaxed);
        if sequence != 0 {
            let list = self.list.get().unwrap().upgrade().unwrap();
            insert(&list, sequence, &[(b"k".to_vec(), Some(b"new".to_vec()))]);
        }
        a.cmp(b)
    }

    fn shorten_separator(&self, _: &mut Vec<u8>, _: &[u8]) {}

    fn shorten_successor(&self, _: &mut Vec<u8>) {}
}

#[test]
fn a_seek_does_not_stop_at_what_is_put_in_before_its_target_meanwhile() {
    let meddler = Arc::new(Meddler::default());
    let list = SkipList::new(InternalOrder::new(meddler.clone()), 7);
    let list = Arc::new(list);
    meddler.list.set(Arc::downgrade(&list)).unwrap();
    insert(&list, 1, &[(b"k".to_vec(), Some(b"old".to_vec()))]);
    let mut target = Vec::new();
    internal_key::encode_tagged(&mut target, b"k", internal_key::seek_tag(1));
    for sequence in 2..u64::from(size(100, 8)) {
        meddler.newer.store(sequence, Memory::Relaxed);
        let mut cursor = SkipCursor::new(list.clone());
        cursor.seek(&target);
        assert_eq!(cursor.value(), b"old", "{sequence}");
    }
}

/// Bytewise under another name: keys are copied out of their nodes and compared by the comparator.
#[derive(Debug)]
struct Named;

impl Comparator for Named {
    fn name(&self) -> &str {
        "bytewise by another name"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }

    fn shorten_separator(&self, _: &mut Vec<u8>, _: &[u8]) {}

    fn shorten_successor(&self, _: &mut Vec<u8>) {}
}

/// The first eight bytes, or what there is of them.
fn first_eight(key: &[u8]) -> u128 {
    let mut eight = [0; 8];
    let len = key.len().min(8);
    eight[..len].copy_from_slice(&key[..len]);
    u128::from(u64::from_be_bytes(eight)) << 64
}

/// All in the order of bytes: one with the bytewise comparator, one with another comparator, one with heads.
fn lists() -> [SkipList; 3] {
    let named = |facts| SkipList::new(InternalOrder::with_facts(Arc::new(Named), facts), 7);
    [list(), named(None), named(Some(FACTS))]
}

/// A byte string that shares much with others, and lies in its node or does not.
fn sized((like, len): &(Vec<u8>, u16)) -> Vec<u8> {
    let mut bytes = vec![7; usize::from(*len) % size(600, 300) as usize];
    let at = bytes.len().min(usize::from(*len) % 11);
    bytes.splice(at..at, like.iter().map(|byte| byte % 3));
    bytes
}

type Sized = (Vec<u8>, u16);

/// Tag and value of what a lookup finds.
fn owned(found: Option<(u64, Value<'_>)>) -> Option<(u64, Vec<u8>)> {
    let (tag, value) = found?;
    let mut copy = Vec::new();
    value.append_to(&mut copy);
    assert_eq!(value.bytes(&mut [7; INLINE_LEN_MAX]), copy);
    Some((tag, copy))
}

/// What a lookup at `tag` finds by hints, once it is known to be what a search finds.
fn looked_up_as_searched_for(list: &SkipList, key: &[u8], tag: u64) -> Option<(u64, Vec<u8>)> {
    let found = owned(list.get(key, tag));
    let searched = owned(list.get_by_search(key, tag));
    assert_eq!(found, searched, "{key:?} at {tag:x}");
    found
}

quickcheck! {
    fn a_node_holds_its_key_and_head(key: Sized, tag: u64) -> bool {
        let mut internal = sized(&key);
        internal.truncate(INLINE_LEN_MAX - internal_key::TAG_LEN);
        internal.extend_from_slice(&tag.to_le_bytes());
        let words: Vec<AtomicU64> = (0..80).map(|_| AtomicU64::new(0)).collect();
        [None, Some(tag)].iter().all(|head| {
            let split = internal_key::split(&internal).unwrap();
            node::write(&words, (3, HEAD), *head, split, b"value", (0, 0));
            let node = Node::new(&words);
            let Bytes::Words(words, len) = node.key() else { return false };
            let mut copied = vec![0; len];
            node::copy(words, &mut copied);
            copied == internal && node.key_head() == *head
        })
    }

    fn entries_of_any_length_are_kept_whole_in_any_order(batches: Vec<Vec<(Sized, Option<Sized>)>>) -> bool {
        for list in lists().map(Arc::new) {
            let mut model = Model::new();
            let mut sequence = 1;
            for batch in batches.iter().take(size(u32::MAX, 2) as usize) {
                let whole = |(key, value): &(Sized, Option<Sized>)| (sized(key), value.as_ref().map(sized));
                let batch = batch.iter().take(size(u32::MAX, 3) as usize).map(whole);
                let batch: Operations = batch.collect();
                insert(&list, sequence, &batch);
                for (key, value) in batch {
                    let tag = (sequence << 8) | u64::from(value.is_some());
                    model.insert((key, !tag), value.unwrap_or_default());
                    sequence += 1;
                }
            }
            agrees(&list, &model, &[]);
            for (key, inverted) in model.keys() {
                let newest = model.range((key.clone(), 0)..).next().unwrap();
                let found = owned(list.get(key, u64::MAX));
                assert_eq!(found, Some((!newest.0.1, newest.1.clone())), "{key:?} {inverted}");
            }
        }
        true
    }
}
