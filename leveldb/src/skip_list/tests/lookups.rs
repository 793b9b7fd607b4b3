//! Lookups by hash and by filter find what searches find.

use super::*;

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
}

/// What a seek to the name of a group does, and the search that it saves: how many hints there were.
fn groups_are_sought_as_searched_for(list: &Arc<SkipList>, groups: &[Vec<u8>], to: u64) -> usize {
    let mut cursor = SkipCursor::new(list.clone());
    let mut hints = 0;
    for group in groups {
        for sequence in 0..to {
            let mut target = Vec::new();
            internal_key::encode_tagged(&mut target, group, internal_key::seek_tag(sequence));
            cursor.seek(&target);
            let mut room = [0; INLINE_LEN_MAX];
            let found = list.key(list.first_at_least(&target), &mut room);
            assert_eq!(cursor.key(), found, "{group:?} at {sequence}");
            hints += usize::from(list.first_of_group(&target).is_some());
        }
    }
    hints
}

/// In the order of bytes; keys with the same first two are a group.
fn grouped() -> Arc<SkipList> {
    let facts = KeyFacts {
        identity: |key| match key.len() {
            0 | 1 => Identity::Several,
            _ => Identity::Grouped(2),
        },
        head: first_eight,
    };
    let order = InternalOrder::with_facts(Arc::new(BytewiseComparator), Some(facts));
    Arc::new(SkipList::new(order, 7))
}

#[test]
fn a_groups_first_entry_is_found_whatever_comes_before_it_later() {
    let list = grouped();
    let put = |key: &[u8]| (key.to_vec(), Some(key.to_vec()));
    let groups = [b"aa", b"ab", b"ac", b"b "].map(|group| group.to_vec());
    // Each before the one before in the group; the last is the group's very name.
    let keys = [
        &b"abz"[..],
        b"aby",
        b"aa",
        b"ac",
        b"abb2",
        b"abb",
        b"a",
        b"ab",
    ];
    for (sequence, key) in (1..).zip(keys) {
        insert(&list, sequence, &[put(key)]);
        let hints = groups_are_sought_as_searched_for(&list, &groups, 12);
        assert_eq!(hints, if key == b"ab" { 0 } else { 12 }, "{key:?}");
    }
    insert(&list, 9, &[put(b"abz"), put(b"aba"), put(b"acc")]);
    groups_are_sought_as_searched_for(&list, &groups, 14);
}

quickcheck! {
    fn seeks_to_groups_find_what_searches_find(batches: Vec<(Operations, u8)>) -> bool {
        let short = |key: &[u8]| -> Vec<u8> {
            key.iter().take(4).map(|byte| byte % 3).collect()
        };
        let list = grouped();
        let mut sequence = 3;
        let groups: Vec<Vec<u8>> = (0..9).map(|n| vec![n / 3, n % 3]).collect();
        for (batch, step) in batches.iter().take(size(8, 2) as usize) {
            let batch: Operations =
                batch.iter().take(size(8, 3) as usize).map(|(key, value)| (short(key), value.clone())).collect();
            // Now and then back, as no honest log goes.
            if *step < 3 {
                sequence -= u64::from(*step);
            }
            insert(&list, sequence, &batch);
            sequence += batch.len() as u64;
            groups_are_sought_as_searched_for(&list, &groups, sequence + 2);
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
fn a_list_has_a_filter_where_it_has_no_hints() {
    assert!(list().filter().is_none());
    assert!(list().filtered(1 << 20).filter().is_none());
    let order = InternalOrder::new(Arc::new(Careless));
    let list = SkipList::new(order, 7).filtered(1 << 20);
    assert!(list.filter().is_some());
}

#[test]
fn leads_name_the_first_list_that_has_a_key_and_its_newest_entry_there() {
    let key = |n: u8| vec![b'k', n];
    let rows = |keys: &[u8], value: u8| -> Operations {
        let row = |n: &u8| (key(*n), Some(vec![value; 100 * usize::from(*n)]));
        keys.iter().map(row).collect()
    };
    let lists = [list(), list()].map(Arc::new);
    insert(&lists[1], 1, &rows(&[0, 1, 2, 3, 4], 1));
    insert(&lists[0], 9, &rows(&[3, 4, 5], 2));
    insert(&lists[0], 20, &[(key(3), None)]);
    let keys: Vec<Vec<u8>> = [20, 5, 3, 21, 0, 22, 3].map(key).to_vec();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let leads = key_leads(&lists, &keys);
    let places: Vec<_> = leads.iter().map(|lead| lead.place()).collect();
    let in_list = |n: usize| places[n].map(|(list, _)| list);
    let expected = [None, Some(0), Some(0), None, Some(1), None, Some(0), None];
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(in_list), expected);
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(Lead::of_key(&lists, key).place(), places[n]);
        assert_eq!(leads[n].absent_from(), in_list(n).unwrap_or(2));
    }
    let get = |n: usize, key: &[u8], tag_max| {
        let (list, node) = places[n].unwrap();
        owned(lists[list].get_at(node, key, tag_max)).map(|found| found.1.len())
    };
    let newest = seek_tag(100);
    assert_eq!(get(1, &key(5), newest), Some(500));
    assert_eq!(get(2, &key(3), newest), Some(0), "it is a deletion");
    assert_eq!(get(2, &key(3), seek_tag(19)), None, "which is too new");
    assert_eq!(get(1, &key(4), newest), None, "another key's");
    // Where hints say nothing any more, it is not known that the list does not have the key.
    lists[0].hints.as_ref().unwrap().turn_off();
    let leads = key_leads(&lists, &keys);
    assert!(
        leads
            .iter()
            .take(keys.len())
            .all(|lead| lead.place().is_none())
    );
    assert!(
        leads
            .iter()
            .take(keys.len())
            .all(|lead| lead.absent_from() == 0)
    );
}

#[test]
fn of_a_list_without_hints_leads_say_nothing() {
    let order = InternalOrder::new(Arc::new(BytewiseComparator));
    let lists = [Arc::new(SkipList::new(order, 7).filtered(1 << 12))];
    insert(&lists[0], 1, &[(vec![1], Some(vec![1]))]);
    for lead in key_leads(&lists, &[&[1], &[2]]).iter().take(2) {
        assert_eq!((lead.place(), lead.absent_from()), (None, 0));
    }
}

#[test]
fn a_group_has_its_first_entry_if_that_is_a_value_and_not_too_new() {
    let list = grouped();
    let put = |key: &[u8], value: &[u8]| (key.to_vec(), Some(value.to_vec()));
    let long = vec![7; INLINE_LEN_MAX + 1];
    let rows = [
        put(b"aa2", b"second"),
        put(b"aa1", b"first"),
        put(b"ac1", &long),
    ];
    insert(&list, 1, &rows);
    let first = |prefix: &[u8], tag_max| {
        let (_, node) = prefix_leads(&list, &[prefix])[0].place()?;
        list.with_first_of(node, prefix, tag_max, |key, value| {
            (key.to_vec(), value.to_vec())
        })
    };
    let newest = seek_tag(100);
    assert_eq!(
        first(b"aa", newest).unwrap(),
        (b"aa1".to_vec(), b"first".to_vec())
    );
    assert_eq!(first(b"ac", newest).unwrap(), (b"ac1".to_vec(), long));
    assert_eq!(first(b"ab", newest), None, "nothing has this name");
    assert_eq!(first(b"aa1", newest), None, "it is no group's");
    assert_eq!(first(b"aa", seek_tag(1)), None, "the first entry is newer");
    let (_, of_ac) = prefix_leads(&list, &[b"ac"])[0].place().unwrap();
    let of_other = list.with_first_of(of_ac, b"aa", newest, |_, _| ());
    assert_eq!(of_other, None, "another group's, of the same hash");
    insert(&list, 7, &[(b"ac0".to_vec(), None)]);
    assert_eq!(first(b"ac", newest), None, "a deletion");
}
