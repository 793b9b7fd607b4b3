//! Merges beside a naive twin, git, and one another.

mod devices;
mod git;

use super::*;
use crate::commit::{Commit, Timestamp};
use crate::object::Priority;
use crate::page::Page;
use crate::testing::page::{Map, content, open};
use crate::{ErrorKind, Journal, Result};

pub(super) fn commit(
    page: &Page,
    base: &Commit,
    time: i64,
    change: impl FnOnce(&mut Journal),
) -> Commit {
    let mut journal = page.begin_on(base);
    change(&mut journal);
    page.commit(journal, Timestamp(time)).unwrap()
}

fn put<'a>(key: &'a str, value: &'a str) -> impl FnOnce(&mut Journal) + 'a {
    move |journal| journal.put(key.as_bytes(), value.as_bytes()).unwrap()
}

fn text(map: Map) -> String {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let entries = map
        .into_iter()
        .map(|(key, value)| format!("{}={}", text(key), text(value)));
    entries.collect::<Vec<_>>().join(" ")
}

/// A base, and two heads: the first is older.
fn parted(older: impl FnOnce(&mut Journal), newer: impl FnOnce(&mut Journal)) -> Page {
    let page = open();
    let base = commit(&page, &Commit::first(), 1, |journal| {
        for key in ["a", "b", "c"] {
            journal.put(key.as_bytes(), b"0").unwrap();
        }
    });
    commit(&page, &base, 2, older);
    commit(&page, &base, 3, newer);
    page
}

fn merged(page: &Page, policy: &mut MergePolicy<'_>) -> (MergeOutcome, String) {
    let outcome = page.merge(policy).unwrap();
    let heads = page.heads();
    (outcome, text(content(page, heads.last().unwrap())))
}

const DONE: MergeOutcome = MergeOutcome {
    merged: 1,
    is_one: true,
};
const PUT_OFF: MergeOutcome = MergeOutcome {
    merged: 0,
    is_one: false,
};

#[test]
fn the_last_one_wins_entry_by_entry() {
    let page = parted(
        |journal| {
            put("a", "old")(journal);
            put("b", "old")(journal);
        },
        |journal| {
            put("b", "new")(journal);
            journal.delete(b"c").unwrap();
        },
    );
    let heads = page.heads();
    assert_eq!(
        merged(&page, &mut MergePolicy::LastOneWins),
        (DONE, "a=old b=new".to_owned())
    );
    let [merge] = &page.heads()[..] else { panic!() };
    assert_eq!((merge.generation(), merge.timestamp()), (3, Timestamp(3)));
    assert_eq!(
        page.merges_of(heads[1].id(), heads[0].id()).unwrap(),
        [merge.id()]
    );
}

#[test]
fn of_two_at_one_time_the_larger_name_wins() {
    let page = open();
    let one = commit(&page, &Commit::first(), 5, put("k", "one"));
    let two = commit(&page, &Commit::first(), 5, put("k", "two"));
    let winner = if one.id() > two.id() {
        "k=one"
    } else {
        "k=two"
    };
    assert_eq!(
        merged(&page, &mut MergePolicy::LastOneWins),
        (DONE, winner.to_owned())
    );
}

#[test]
fn what_does_not_touch_is_merged_and_what_does_is_the_resolvers() {
    let mut never = |_: &mut Conflict<'_>| -> Result<bool> { panic!("no conflict") };
    let page = parted(put("a", "1"), put("b", "2"));
    let mut policy = MergePolicy::AutomaticWithFallback(&mut never);
    assert_eq!(merged(&page, &mut policy), (DONE, "a=1 b=2 c=0".to_owned()));
    let page = parted(put("a", "1"), put("a", "1"));
    assert_eq!(merged(&page, &mut policy).1, "a=1 b=0 c=0", "changed alike");
    let mut keys = Vec::new();
    let mut resolver = |conflict: &mut Conflict<'_>| {
        let mut from = Vec::new();
        loop {
            let part = conflict.full_diff(&from, 1)?;
            keys.extend(part.entries.into_iter().map(|diff| diff.key));
            match part.next {
                Some(next) => from = next,
                None => break,
            }
        }
        let conflicts = conflict.conflicting_diff(b"", 9)?;
        assert_eq!((conflicts.entries.len(), conflicts.next), (1, None));
        let [diff] = &conflicts.entries[..] else {
            panic!()
        };
        assert_eq!(conflict.value(diff.left.as_ref().unwrap())?, b"new");
        assert_eq!(conflict.value(diff.right.as_ref().unwrap())?, b"old");
        assert_eq!(
            conflict.base().get(b"a")?.unwrap().value,
            diff.base.as_ref().unwrap().value
        );
        conflict.merge_non_conflicting()?;
        conflict.merge(b"a", MergedValue::New(b"both", Priority::Eager))?;
        Ok(true)
    };
    let two = |first, second| {
        move |journal: &mut Journal| {
            put("a", first)(journal);
            put(second, "x")(journal);
        }
    };
    let page = parted(two("old", "b"), two("new", "d"));
    let mut policy = MergePolicy::AutomaticWithFallback(&mut resolver);
    assert_eq!(
        merged(&page, &mut policy),
        (DONE, "a=both b=x c=0 d=x".to_owned())
    );
    assert_eq!(keys, [b"a", b"b", b"d"]);
}

#[test]
fn a_custom_resolver_decides_on_everything_or_puts_it_off() {
    let page = parted(put("a", "1"), put("b", "2"));
    let mut not_now = |_: &mut Conflict<'_>| Ok(false);
    let (outcome, _) = merged(&page, &mut MergePolicy::Custom(&mut not_now));
    assert_eq!((outcome, page.heads().len()), (PUT_OFF, 2));
    let mut failing = |_: &mut Conflict<'_>| Err(crate::Error::new(ErrorKind::Usage, "no"));
    assert!(page.merge(&mut MergePolicy::Custom(&mut failing)).is_err());
    let value = page.create_value(&b"referred to"[..]).unwrap();
    let mut resolver = |conflict: &mut Conflict<'_>| {
        conflict.merge(b"a", MergedValue::Right)?;
        conflict.merge(b"b", MergedValue::Delete)?;
        conflict.merge(b"c", MergedValue::Reference(&value, Priority::Lazy))?;
        Ok(true)
    };
    let merged = merged(&page, &mut MergePolicy::Custom(&mut resolver));
    assert_eq!(merged, (DONE, "a=1 c=referred to".to_owned()));
}

#[test]
fn of_two_merges_of_the_same_the_one_that_went_on_stays() {
    let page = open();
    let a = commit(&page, &Commit::first(), 1, put("a", "1"));
    let b = commit(&page, &Commit::first(), 2, put("b", "1"));
    let merge = |key: &[u8]| {
        let mut journal = page.begin_merge(&a, &b);
        journal.put(key, b"by hand").unwrap();
        page.commit(journal, Timestamp(0)).unwrap()
    };
    let (_, other) = (merge(b"c"), merge(b"d"));
    let went_on = commit(&page, &other, 9, put("e", "1"));
    page.merge(&mut MergePolicy::LastOneWins).unwrap();
    let [head] = &page.heads()[..] else { panic!() };
    assert_eq!(head.root(), went_on.root());
}

#[test]
fn a_side_that_only_merged_gives_way() {
    let page = open();
    let a = commit(&page, &Commit::first(), 1, put("a", "1"));
    let b = commit(&page, &Commit::first(), 2, put("b", "1"));
    page.merge(&mut MergePolicy::LastOneWins).unwrap();
    // Another device merged the two otherwise, and went on.
    let mut other = page.begin_merge(&a, &b);
    other.put(b"b", b"otherwise").unwrap();
    let other = page.commit(other, Timestamp(0)).unwrap();
    let went_on = commit(&page, &other, 9, |journal| journal.delete(b"a").unwrap());
    assert_eq!(page.heads().len(), 2);
    page.merge(&mut MergePolicy::LastOneWins).unwrap();
    let head = page.heads().pop().unwrap();
    assert_eq!(head.root(), went_on.root());
    let relation = relation(&page, std::slice::from_ref(&a), &[b]).unwrap();
    assert_eq!(relation.bases, [Commit::first()]);
    assert!(relation.left_has_changes && relation.right_has_changes);
}
