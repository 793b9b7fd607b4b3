//! Ranges of Rust as key ranges: every request finds what such a range contains, also if that is nothing.

use std::ops::{Bound, RangeBounds};

use larder_idb::{
    CursorDirection, GetAllOptions, Index, Key, KeyRange, ObjectStore, PageLimits, Records, Result,
    TransactionMode,
};

use super::{THREADS, begin, numbers, storage, store};

const DIRECTIONS: [CursorDirection; 4] = [
    CursorDirection::Next,
    CursorDirection::NextUnique,
    CursorDirection::Prev,
    CursorDirection::PrevUnique,
];

const COUNT: i32 = 8;

fn keys(records: &Records) -> Vec<Key> {
    records.into_iter().map(|record| record.key()).collect()
}

/// What each request finds in a range, of an object store and of an index alike.
macro_rules! look {
    ($source:expr, $range:expr, $expected:expr) => {
        let (source, range, expected) = ($source, $range, $expected);
        let first = expected.first();
        let found = source.get(range.clone())?.wait()?;
        let found = found.map(|value| value.deserialize::<f64>().unwrap().into());
        assert_eq!(found.as_ref(), first, "{range:?}");
        assert_eq!(source.get_key(range.clone())?.wait()?.as_ref(), first);
        assert_eq!(source.count(range.clone())?.wait()?, expected.len() as u64);
        let many = source.get_many([range.clone(), range.clone()])?.wait()?;
        assert_eq!(many.len(), 2 * usize::from(first.is_some()));
        for direction in DIRECTIONS {
            let mut expected = expected.clone();
            if !direction.is_forward() {
                expected.reverse();
            }
            let options = GetAllOptions::new().direction(direction);
            assert_eq!(
                keys(&source.get_all(range.clone(), options)?.wait()?),
                expected
            );
            assert_eq!(
                keys(&source.get_all_keys(range.clone(), options)?.wait()?),
                expected
            );
            let steps = source.open_cursor(range.clone(), direction)?.steps();
            let stood: Result<Vec<Key>> = steps.map(|at| Ok(at?.key())).collect();
            assert_eq!(stood?, expected, "{range:?} {direction:?}");
            let pages = source.pages(range.clone(), direction, PageLimits::default())?;
            let mut paged = Vec::new();
            for page in &pages {
                paged.extend(keys(&page?));
            }
            assert_eq!(paged, expected);
        }
    };
}

fn look(store: &ObjectStore, by_value: &Index, range: &KeyRange, expected: &[Key]) -> Result<()> {
    let expected = expected.to_vec();
    look!(store, range, &expected);
    look!(by_value, range, &expected);
    Ok(())
}

fn check(range: impl RangeBounds<i32> + Into<KeyRange>) {
    let storage = storage(THREADS);
    let connection = numbers(&storage, COUNT as u64);
    let (inside, outside): (Vec<i32>, _) = (0..COUNT).partition(|n| range.contains(n));
    let [inside, outside] = [inside, outside].map(|some| {
        let some = some.into_iter();
        some.map(Key::from).collect::<Vec<_>>()
    });
    let range = range.into();
    let transaction = begin(&connection, TransactionMode::ReadWrite);
    let s = store(&transaction, "s");
    let by_value = s.index("i").unwrap();
    look(&s, &by_value, &range, &inside).unwrap();
    s.delete(range).unwrap().detach();
    let left = s.get_all(.., GetAllOptions::new()).unwrap();
    assert_eq!(keys(&left.wait().unwrap()), outside);
}

#[test]
fn requests_find_what_a_range_of_rusts_contains_be_it_nothing() {
    check(..);
    for a in [-1, 0, 3, COUNT] {
        check(a..);
        check(..a);
        check(..=a);
        for b in [-1, 3, 5, COUNT] {
            check(a..b);
            check(a..=b);
        }
    }
}

#[test]
fn bounds_make_the_ranges_that_the_specification_has() {
    let [two, five] = [2, 5].map(Key::from);
    let range = |lower, upper| KeyRange::bound(2, 5, lower, upper).unwrap();
    assert_eq!(KeyRange::from(2..5), range(false, true));
    assert_eq!(KeyRange::from(2..=5), range(false, false));
    assert_eq!(KeyRange::from(2..), KeyRange::lower_bound(2, false));
    assert_eq!(KeyRange::from(..=5), KeyRange::upper_bound(5, false));
    assert_eq!(KeyRange::from(..), KeyRange::all());
    let open = KeyRange::from_bounds(Bound::Excluded(2), Bound::Excluded(5));
    assert_eq!(open, range(true, true));
    assert_eq!(open.start_bound(), Bound::Excluded(&two));
    assert_eq!(open.end_bound(), Bound::Excluded(&five));
    assert!(open.contains(&Key::from(3)) && !open.contains(&two));
}

#[test]
fn arrays_and_tuples_are_keys_of_compound_key_paths() {
    let ada = KeyRange::from(("Ada", 1815));
    assert!(ada.includes(&Key::from(("Ada", 1815))));
    assert_eq!(KeyRange::from([1, 2]), KeyRange::only((1, 2)));
    assert_eq!(
        KeyRange::from(b"\x01"),
        KeyRange::only(Key::Binary(vec![1]))
    );
}
