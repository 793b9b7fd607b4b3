//! Keys and ranges (specification, 2.4, 2.9, 4.3, 4.7).

use std::cmp::Ordering;

use larder_idb::{CursorDirection, Key, KeyRange, TransactionMode};

use super::support::*;

#[test]
fn keys_are_ordered_by_kind_and_then_by_value() {
    let place = place();
    let array = |keys: &[Key]| Key::array(keys.to_vec()).unwrap();
    let ascending = [
        Key::from(f64::NEG_INFINITY),
        Key::from(-1.0),
        Key::from(0.0),
        Key::from(f64::INFINITY),
        Key::Date(-1.0),
        Key::Date(0.0),
        Key::from(""),
        Key::from("a"),
        Key::from("aa"),
        // By UTF-16 units: a surrogate pair comes before U+FF5E.
        Key::from("\u{10000}"),
        Key::from("\u{ff5e}"),
        Key::Binary(vec![]),
        Key::Binary(vec![0]),
        Key::Binary(vec![0xff]),
        array(&[]),
        array(&[Key::from(1.0)]),
        array(&[Key::from(1.0), Key::from(0.0)]),
        array(&[Key::from("a")]),
        array(&[array(&[])]),
    ];
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(place.factory.cmp(a, b), i.cmp(&j), "{a:?} {b:?}");
        }
    }
    let zeros = place.factory.cmp(&Key::from(-0.0), &Key::from(0.0));
    assert_eq!(zeros, Ordering::Equal);
}

#[test]
fn records_lie_in_the_order_of_their_keys() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let out = store(&transaction, "out");
    let keys = [
        Key::from(-1.0),
        Key::from(2.0),
        Key::Date(0.0),
        Key::from("\u{10000}"),
        Key::from("\u{ff5e}"),
        Key::Binary(vec![1]),
        Key::array(vec![]).unwrap(),
    ];
    for key in keys.iter().rev() {
        out.put(text("x"), Some(key.clone())).unwrap().detach();
    }
    let all = out
        .get_all_keys(KeyRange::all(), Default::default())
        .unwrap()
        .wait()
        .unwrap();
    let found: Vec<Key> = all.iter().map(|entry| entry.primary_key()).collect();
    assert_eq!(found, keys);
}

#[test]
fn a_record_has_the_zero_that_it_was_put_with_whichever_one_asks_for() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let out = store(&transaction, "out");
    let is_negative = |key: &Key| matches!(key, Key::Number(zero) if zero.is_sign_negative());
    for (put, asked) in [(0.0, -0.0), (-0.0, 0.0)] {
        let list = |number| Key::array(vec![Key::from("a"), Key::from(number)]).unwrap();
        out.put(text("x"), Some(Key::from(put))).unwrap().detach();
        out.put(text("x"), Some(list(put))).unwrap().detach();
        let found = out
            .get_key(Key::from(asked))
            .unwrap()
            .wait()
            .unwrap()
            .unwrap();
        assert_eq!(is_negative(&found), put.is_sign_negative());
        let found = out
            .get_many([Key::from(asked), list(asked)])
            .unwrap()
            .wait()
            .unwrap();
        let keys: Vec<Key> = found.iter().map(|entry| entry.primary_key()).collect();
        assert_eq!(is_negative(&keys[0]), put.is_sign_negative());
        let Key::Array(elements) = &keys[1] else {
            panic!()
        };
        let last = elements.iter().last().unwrap();
        assert_eq!(is_negative(last), put.is_sign_negative());
    }
    assert_eq!(out.count(KeyRange::all()).unwrap().wait().unwrap(), 2);
}

#[test]
fn what_has_nan_in_it_is_no_key_wherever_one_is_given() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let (out, by) = (store(&transaction, "out"), index(&transaction, "out", "n"));
    out.put(object(&[("n", 1.0)]), Some(Key::from(1.0)))
        .unwrap()
        .wait()
        .unwrap();
    let inside = Key::array(vec![Key::from("a"), Key::Date(f64::NAN)]).unwrap();
    for nan in [Key::Number(f64::NAN), Key::Date(f64::NAN), inside] {
        let key = || nan.clone();
        let failures = [
            refused(out.put(text("x"), Some(key())).unwrap().wait()),
            refused(out.add(text("x"), Some(key())).unwrap().wait()),
            refused(out.put_many([(text("x"), Some(key()))]).unwrap().wait()),
            refused(out.delete(key()).unwrap().wait()),
            refused(out.get(key()).unwrap().wait()),
            refused(out.get_key(key()).unwrap().wait()),
            refused(out.get_many([key()]).unwrap().wait()),
            refused(by.get(key()).unwrap().wait()),
            refused(by.get_key(key()).unwrap().wait()),
            refused(
                out.count(KeyRange::lower_bound(key(), false))
                    .unwrap()
                    .wait(),
            ),
            refused(
                out.count(KeyRange::upper_bound(key(), true))
                    .unwrap()
                    .wait(),
            ),
        ];
        assert_eq!(failures, ["DataError"; 11], "{nan:?}");
        let all = KeyRange::all();
        let cursor = by.open_cursor(all, CursorDirection::Next).unwrap().wait();
        let cursor = cursor.unwrap().unwrap();
        assert_eq!(refused(cursor.continue_to(key())), "DataError");
        let moved = cursor.continue_primary_key(Key::from(1.0), key());
        assert_eq!(refused(moved), "DataError");
    }
    // Nothing of it was stored, and the transaction goes on.
    assert_eq!(out.count(KeyRange::all()).unwrap().wait().unwrap(), 1);
    transaction.commit().unwrap().wait().unwrap();
}

#[test]
fn ranges_leave_out_open_bounds() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let out = store(&transaction, "out");
    for number in [1.0, 2.0, 3.0] {
        out.put(text("x"), Some(Key::from(number)))
            .unwrap()
            .detach();
    }
    let k = Key::from;
    for (range, expected) in [
        (KeyRange::all(), 3),
        (KeyRange::only(k(2.0)), 1),
        (KeyRange::only(k(2.5)), 0),
        (KeyRange::lower_bound(k(2.0), false), 2),
        (KeyRange::lower_bound(k(2.0), true), 1),
        (KeyRange::upper_bound(k(2.0), false), 2),
        (KeyRange::upper_bound(k(2.0), true), 1),
        (KeyRange::bound(k(1.0), k(3.0), true, true).unwrap(), 1),
        (KeyRange::bound(k(1.0), k(3.0), false, false).unwrap(), 3),
    ] {
        let count = out.count(range.clone()).unwrap().wait().unwrap();
        assert_eq!(count, expected, "{range:?}");
        let inside = [1.0, 2.0, 3.0].map(|number| range.includes(&k(number)));
        let inside = inside.iter().filter(|is_in| **is_in).count();
        assert_eq!(inside as u64, expected, "{range:?}");
    }
}
