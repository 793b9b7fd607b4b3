//! The staging against a map.

use std::collections::BTreeMap;

use quickcheck::{Gen, QuickCheck};

use super::*;

/// A data row key of database 1, store 1 with a number: `n` orders it.
fn key(n: u16) -> Vec<u8> {
    let mut key = vec![0, 1, 1, 1, 3];
    key.extend_from_slice(&f64::from(n).to_le_bytes());
    key
}

/// A key of text, of which heads show only the beginning.
fn text_key(n: u16) -> Vec<u8> {
    let mut key = vec![0, 1, 1, 1, 1, 3, 0, 0x61, 0, 0x61];
    key.extend_from_slice(&n.to_be_bytes());
    key
}

fn said(model: &BTreeMap<u16, Option<Vec<u8>>>, n: u16) -> Option<Option<&[u8]>> {
    model.get(&n).map(|value| value.as_deref())
}

#[test]
fn the_staging_says_the_last_word_on_each_key_in_the_rows_order_both_ways() {
    fn law(writes: Vec<(u16, Option<Vec<u8>>)>, spread: u8, are_texts: bool) -> bool {
        let key = if are_texts { text_key } else { key };
        let modulus = 1 + u16::from(spread) * 8;
        let mut staging = Staging::default();
        let mut model: BTreeMap<u16, Option<Vec<u8>>> = BTreeMap::new();
        // A row of metadata is written with each, in another table.
        let version_key = [0, 1, 0, 0, 50, 1, 4];
        staging.put(&version_key, b"");
        for (at, (n, value)) in writes.into_iter().enumerate() {
            let n = n % modulus;
            match &value {
                Some(value) => staging.put(&key(n), value),
                None => staging.delete(&key(n)),
            }
            staging.put(&version_key, &at.to_be_bytes());
            model.insert(n, value);
            // Looks in between: at any time, and rarely enough that much comes together.
            let looked_at = at as u16 % modulus;
            let is_looked_at = usize::from(n) % 64 == 1;
            if is_looked_at && staging.get(&key(looked_at)) != said(&model, looked_at) {
                return false;
            }
        }
        if !(0..modulus).all(|n| staging.get(&key(n)) == said(&model, n)) {
            return false;
        }
        staging.settle();
        let rows = |row: StagedRow<'_>| (row.key.to_vec(), row.value.map(<[u8]>::to_vec));
        let expected: Vec<_> = model.iter().map(|(n, v)| (key(*n), v.clone())).collect();
        let same_rows = staging
            .rows()
            .skip(1)
            .map(rows)
            .eq(expected.iter().cloned());
        let version_key = version_key.to_vec();
        let place_key = |place: Option<Place>| Some(staging.row(place?)?.key.to_vec());
        same_rows
            && (0..modulus).all(|n| {
                let model_key = |(n, _): (&u16, &Option<Vec<u8>>)| key(*n);
                let behind = model.range(n + 1..).next().map(model_key);
                let before = model.range(..n).next_back().map(model_key);
                let before = before.or(Some(version_key.clone()));
                let here_key = model.get(&n).map(|_| key(n));
                place_key(staging.first_behind(&key(n), false)) == behind
                    && place_key(staging.last_before(&key(n), false)) == before
                    && place_key(staging.first_behind(&key(n), true)) == here_key.clone().or(behind)
                    && place_key(staging.last_before(&key(n), true)) == here_key.or(before)
            })
    }
    // Enough writes that blocks split.
    QuickCheck::new()
        .rng(Gen::new(2000))
        .tests(60)
        .quickcheck(law as fn(_, _, _) -> _);
}

#[test]
fn the_length_of_a_varint_is_what_the_batch_writes() {
    for len in [0, 1, 127, 128, 16383, 16384, 70_000] {
        let mut staging = Staging::default();
        staging.put(&key(1), &vec![7; len]);
        assert_eq!(staging.get(&key(1)), Some(Some(&*vec![7; len])), "{len}");
    }
}

#[test]
fn a_value_of_the_same_length_takes_the_place_of_the_one_before_and_other_rows_stay() {
    let mut staging = Staging::default();
    let zero = key(0);
    let mut minus_zero = zero.clone();
    *minus_zero.last_mut().unwrap() = 0x80;
    staging.put(&zero, b"old");
    let len_bytes = staging.len_bytes();
    staging.put(&zero, b"new");
    assert_eq!(staging.len_bytes(), len_bytes);
    // Another value is as long as before only under the same bytes of the key.
    staging.put(&minus_zero, b"-0!");
    assert!(staging.len_bytes() > len_bytes);
    staging.put(&key(1), b"one");
    staging.put(&key(2), b"two");
    staging.put(&key(2), b"longer");
    staging.settle();
    let rows: Vec<_> = staging
        .rows()
        .map(|row| (row.key, row.value.unwrap()))
        .collect();
    let (one, two) = (key(1), key(2));
    assert_eq!(
        rows,
        [
            (&*minus_zero, &b"-0!"[..]),
            (&one, b"one"),
            (&two, b"longer")
        ]
    );
    let written = staging.batch().finish(1).to_vec();
    let written = larder_leveldb::write_batch::BatchReader::new(&written).unwrap();
    assert_eq!(written.filter_map(Result::ok).count(), 5);
}

#[test]
fn many_rows_are_written_in_their_order_each_with_its_last_word() {
    let mut staging = Staging::default();
    let mut expected: Vec<(Vec<u8>, Option<Vec<u8>>)> = Vec::new();
    // 7 and 1009 have no divisor in common: every number once, out of order, and every third again.
    for step in 0..1009_u16 {
        let number = u32::from(step) * 7 % 1009;
        let number = number as u16;
        staging.put(&key(number), b"first");
        match number % 3 {
            0 => staging.delete(&key(number)),
            1 => staging.put(&key(number), b"another length"),
            _ => {}
        }
    }
    staging.settle();
    for row in staging.rows() {
        expected.push((row.key.to_vec(), row.value.map(<[u8]>::to_vec)));
    }
    assert!(expected.len() == 1009 && expected.is_sorted_by(|a, b| compare(&a.0, &b.0).is_lt()));
    let written = staging.batch().finish(1).to_vec();
    let written = larder_leveldb::write_batch::BatchReader::new(&written).unwrap();
    let written: Vec<_> = written
        .map(|entry| match entry.unwrap().operation {
            larder_leveldb::write_batch::Operation::Put(key, value) => {
                (key.to_vec(), Some(value.to_vec()))
            }
            larder_leveldb::write_batch::Operation::Delete(key) => (key.to_vec(), None),
        })
        .collect();
    assert_eq!(written, expected);
}

#[test]
fn a_key_in_another_form_comes_behind_what_is_not_placed_yet() {
    let mut staging = Staging::default();
    for n in [5, 3, 1] {
        staging.put(&key(n), b"first");
    }
    // The same key with an id of two bytes, as no writer makes it.
    let mut other_form = vec![0x20, 1, 0];
    other_form.extend_from_slice(&key(1)[2..]);
    assert!(compare(&other_form, &key(1)).is_eq());
    staging.delete(&other_form);
    assert_eq!(staging.get(&key(1)), Some(None));
    assert_eq!(staging.get(&other_form), Some(None));
    staging.put(&key(1), b"last");
    assert_eq!(staging.get(&other_form), Some(Some(&b"last"[..])));
}
