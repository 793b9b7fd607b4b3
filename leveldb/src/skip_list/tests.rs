use super::*;
use crate::write_batch::BatchWriter;
use crate::{BytewiseComparator, Comparator, Identity, KeyFacts};
use quickcheck::quickcheck;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

/// Of the order of bytes.
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
    list.insert(BatchReader::new(bytes).unwrap());
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
            // The same eight bytes after those, for more nodes than are told apart.
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

/// All in the order of bytes: one that knows it, one that asks, one that has heads.
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

/// What a lookup at `tag` finds by hints, once it is known to be what a search finds.
fn looked_up_as_searched_for(list: &SkipList, key: &[u8], tag: u64) -> Option<(u64, Vec<u8>)> {
    let mut target = Vec::new();
    internal_key::encode_tagged(&mut target, key, tag);
    let (mut found, mut searched) = (Vec::new(), Vec::new());
    let tags = (
        list.get(&target, &mut found),
        list.get_by_search(&target, &mut searched),
    );
    assert!(tags.0 == tags.1 && found == searched, "{key:?} at {tag:x}");
    tags.0.map(|tag| (tag, found))
}

/// Bytewise, but the last byte of three means nothing, nor does the second if it is 255, and that should not be there.
#[derive(Debug)]
struct Careless;

fn meaning(key: &[u8]) -> &[u8] {
    match key {
        [_, _, _] => &key[..2],
        [_, 255] => &key[..1],
        _ => key,
    }
}

fn careless_identity(key: &[u8]) -> Identity {
    match key {
        [_, 255] => Identity::Unclear,
        [_, _] | [_, _, _] => Identity::Several,
        _ => Identity::Bytes,
    }
}

impl Comparator for Careless {
    fn name(&self) -> &str {
        "careless"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        meaning(a).cmp(meaning(b))
    }

    fn shorten_separator(&self, _: &mut Vec<u8>, _: &[u8]) {}

    fn shorten_successor(&self, _: &mut Vec<u8>) {}
}

fn careless() -> SkipList {
    let facts = KeyFacts {
        identity: careless_identity,
        // Of few keys one of their own.
        head: |key| u128::from(meaning(key).first().map_or(0, |byte| byte / 128 + 1)) << 64,
    };
    let order = InternalOrder::with_facts(Arc::new(Careless), Some(facts));
    SkipList::new(order, 7)
}

fn hint(list: &SkipList, key: &[u8]) -> Hint {
    list.hints.as_ref().unwrap().get(key)
}

#[test]
fn what_was_put_in_with_other_bytes_of_the_same_key_is_found() {
    for (first, second) in [([1, 1, 1].to_vec(), vec![1, 1, 2]), (vec![1], vec![1, 255])] {
        let list = careless();
        insert(&list, 1, &[(first.clone(), Some(vec![1]))]);
        let found = looked_up_as_searched_for(&list, &first, u64::MAX);
        assert_eq!(found, Some(((1 << 8) | 1, vec![1])));
        insert(&list, 2, &[(second, Some(vec![2]))]);
        let found = looked_up_as_searched_for(&list, &first, u64::MAX);
        assert_eq!(found, Some(((2 << 8) | 1, vec![2])));
    }
}

#[test]
fn an_order_of_which_nothing_is_known_has_neither_hints_nor_heads() {
    let unknown = |order| SkipList::new(InternalOrder::new(order), 7);
    for list in [
        unknown(Arc::new(Careless)),
        unknown(Arc::new(BytewiseComparator)),
    ] {
        assert!(list.hints.is_none() && list.head(b"k").is_none());
    }
    assert!(careless().hints.is_some() && careless().head(b"k") == Some(1));
    // In the order of bytes, words of the key are the head.
    assert!(list().hints.is_some() && list().head(b"k").is_none());
}

#[test]
fn batches_behind_each_other_keep_their_hints_in_whatever_order_their_keys_are() {
    let list = list();
    let put = |key: u8| (vec![key], Some(vec![key]));
    insert(&list, 5, &[put(3), put(1), put(2), put(1)]);
    insert(&list, 9, &[put(0), put(1), put(4)]);
    insert(&list, 12, &[]);
    insert(&list, 12, &[put(2)]);
    for key in 0..5 {
        assert!(matches!(hint(&list, &[key]), Hint::Node(_)), "{key}");
        for sequence in 0..14 {
            let tag = internal_key::seek_tag(sequence);
            looked_up_as_searched_for(&list, &[key], tag);
        }
    }
    assert_eq!(hint(&list, &[5]), Hint::Absent);
}

#[test]
fn an_older_entry_that_is_put_in_later_does_not_hide_a_newer_one() {
    // All before what is there, some of it, and one number twice.
    for (later, first) in [(3, 9), (7, 6), (9, 9)] {
        let list = list();
        insert(&list, first, &[(vec![0], None), (vec![1], Some(vec![9]))]);
        insert(
            &list,
            later - 1,
            &[(vec![1], Some(vec![3])), (vec![2], None)],
        );
        // Nor does the next batch that goes on behind turn hints on again.
        insert(&list, 20, &[(vec![5], Some(vec![20]))]);
        assert_eq!(hint(&list, &[1]), Hint::Unknown);
        for key in 0..6 {
            looked_up_as_searched_for(&list, &[key], u64::MAX);
        }
        let newest = looked_up_as_searched_for(&list, &[1], u64::MAX).unwrap();
        assert_eq!(newest, (((first + 1) << 8) | 1, vec![9]));
    }
}

#[test]
fn lookups_of_more_keys_than_there_are_hints_find_what_searches_find() {
    let list = list();
    let count = u64::from(size(150_000, 40));
    for n in 1..=count {
        let key = (n * 7 % (count / 2)).to_be_bytes().to_vec();
        insert(&list, n, &[(key, Some(n.to_be_bytes().to_vec()))]);
    }
    let mut hints = [0_u32; 3];
    for key in 0..count / 2 + 100 {
        for sequence in [0, key, count] {
            looked_up_as_searched_for(&list, &key.to_be_bytes(), internal_key::seek_tag(sequence));
        }
        match hint(&list, &key.to_be_bytes()) {
            Hint::Node(_) => hints[0] += 1,
            Hint::Absent => hints[1] += 1,
            Hint::Unknown => hints[2] += 1,
        }
    }
    assert!(hints.iter().all(|&count| count > 0), "{hints:?}");
}

quickcheck! {
    fn lookups_by_hash_find_what_searches_find(batches: Vec<(Operations, u8)>, ascending: bool) -> bool {
        // Few keys, so that they meet again.
        let short = |key: &[u8]| -> Vec<u8> {
            key.iter().take(3).map(|byte| [1, 2, 254, 255][usize::from(byte % 4)]).collect()
        };
        for list in [list(), careless()] {
            let mut sequence = 300;
            let mut keys = BTreeSet::from([vec![1], vec![254, 1], vec![2, 255], vec![1, 2, 254]]);
            for (batch, step) in batches.iter().take(size(8, 3) as usize) {
                let mut batch: Operations =
                    batch.iter().take(size(8, 3) as usize).map(|(key, value)| (short(key), value.clone())).collect();
                if ascending {
                    batch.sort_by(|a, b| meaning(&a.0).cmp(meaning(&b.0)));
                }
                keys.extend(batch.iter().map(|(key, _)| key.clone()));
                // Now and then back, as no honest log goes.
                if *step < 16 {
                    sequence -= u64::from(*step);
                }
                insert(&list, sequence, &batch);
                sequence += batch.len() as u64;
            }
            for key in &keys {
                for sequence in (298..sequence + 2).chain([0]) {
                    looked_up_as_searched_for(&list, key, internal_key::seek_tag(sequence));
                }
            }
        }
        true
    }

    fn comparing_words_is_comparing_the_bytes(a: Sized, b: Sized, tags: (u64, u64)) -> bool {
        let internal = |like: &Sized, tag: u64| {
            let mut key = sized(like);
            key.truncate(INLINE_LEN_MAX - internal_key::TAG_LEN);
            key.extend_from_slice(&tag.to_le_bytes());
            key
        };
        [(&a, &b), (&a, &a)].iter().all(|(a, b)| {
            let (a, b) = (internal(a, tags.0), internal(b, tags.1));
            let words: Vec<AtomicU64> = (0..80).map(|_| AtomicU64::new(0)).collect();
            [None, Some(tags.0)].iter().all(|head| {
                node::write(&words, 3, *head, &a, b"value", (0, 0));
                let node = Node::new(&words);
                let Bytes::Words(words, len) = node.key() else { return false };
                let mut copied = vec![0; len];
                node::copy(words, &mut copied);
                copied == a && node.key_head() == *head
                    && node::compare_bytewise(words, len, &b) == list().order.compare(&a, &b)
            })
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
                let mut internal = key.clone();
                internal.extend_from_slice(&u64::MAX.to_le_bytes());
                let newest = model.range((key.clone(), 0)..).next().unwrap();
                let mut value = Vec::new();
                let tag = list.get(&internal, &mut value);
                assert!(tag == Some(!newest.0.1) && value == *newest.1, "{key:?} {inverted}");
            }
        }
        true
    }
}

#[test]
fn a_filter_passes_every_key_that_was_put_in_and_few_others() {
    let numbered = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes();
    let count = u64::from(size(30_000, 40));
    // Room for all, hardly any room, and none worth the name.
    let list_bytes = [4 << 20, 1 << 16, 0];
    let mut denied = list_bytes.map(|list_bytes| {
        let list = SkipList::new(InternalOrder::new(Arc::new(BytewiseComparator)), 7);
        let list = list.filtered(list_bytes);
        let filter = list.filter().unwrap();
        for n in 0..count {
            let key = numbered(n).to_vec();
            insert(&list, n + 1, &[(key.clone(), (n % 3 > 0).then_some(key))]);
            let before = numbered(n / 2);
            assert!(filter.may_contain(bloom::key_hash(&before)), "{}", n / 2);
        }
        let others = (count..2 * count).map(|n| bloom::key_hash(&numbered(n)));
        others.filter(|&hash| !filter.may_contain(hash)).count() as u64
    });
    if !cfg!(miri) {
        assert!(denied[0] > count - count / 100, "{denied:?} of {count}");
    }
    denied.reverse();
    assert!(denied.is_sorted(), "a larger one denies more: {denied:?}");
}

#[test]
fn lookups_ask_the_filter_only_where_there_are_no_hints() {
    assert!(list().filter().is_none() && list().lookup_filter().is_none());
    let filtered = list().filtered(1 << 20);
    assert!(filtered.filter().is_some() && filtered.lookup_filter().is_none());
    let list = SkipList::new(InternalOrder::new(Arc::new(Careless)), 7).filtered(1 << 20);
    assert!(list.lookup_filter().is_some());
}
