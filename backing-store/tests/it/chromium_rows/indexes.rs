//! `build-keys.js`, `indexes`: every kind of index; records that are overwritten and deleted, so that index rows are left
//! behind; indexes over records that are there already.
//!
//! Which index keys a record has is taken from Chromium's rows, as evaluating key paths is not done here: of `before` from
//! `after`, whose records are the same and were never overwritten.

use larder_backing_store::{ErrorKind, PutMode};
use larder_codec::{Key, KeyPath, RawKey};

use super::*;

const BEFORE: i64 = 1;
const AFTER: i64 = 2;
const EDGE: i64 = 3;
const MULTI_UNIQUE: i64 = 4;
const GENERATED: i64 = 5;

fn define(transaction: &mut WriteTransaction, store: i64) {
    for (name, key_path, kind) in [
        ("by name", path("name"), ""),
        ("by age", path("age"), ""),
        ("by mail", path("mail"), "unique"),
        ("by nick", path("nick"), ""),
        ("by tag", path("tags"), "multi"),
        ("by tags", path("tags"), ""),
        ("by name and age", paths(&["name", "age"]), ""),
        ("by city", path("address.city.name"), ""),
        ("by itself", path(""), ""),
        ("by primary", path("id"), "unique"),
    ] {
        create_index(transaction, store, name, key_path, kind);
    }
}

fn create_stores(transaction: &mut WriteTransaction) {
    create_store(transaction, "before", path("id"), false);
    define(transaction, BEFORE);
    create_store(transaction, "after", path("id"), false);
    create_store(transaction, "edge", KeyPath::Null, false);
    create_index(transaction, EDGE, "key", path("key"), "");
    create_index(transaction, EDGE, "key unique", path("key"), "unique");
    create_index(transaction, EDGE, "key multi", path("key"), "multi");
    create_store(transaction, "multi unique", KeyPath::Null, true);
    create_index(
        transaction,
        MULTI_UNIQUE,
        "codes",
        path("codes"),
        "multi unique",
    );
    create_store(transaction, "generated", path("id"), true);
    create_index(transaction, GENERATED, "id", path("id"), "");
    create_index(transaction, GENERATED, "id and n", paths(&["id", "n"]), "");
}

fn person(i: usize) -> Key {
    Key::Number((i * 3) as f64)
}

fn number(number: usize) -> Key {
    Key::Number(number as f64)
}

fn array(elements: Vec<Key>) -> Key {
    Key::array(elements).unwrap()
}

fn put_codes(transaction: &mut WriteTransaction) {
    let codes = |codes: Vec<Key>| codes.into_iter().map(|code| (31, code)).collect();
    let lists = [
        vec!["a".into(), "b".into()],
        vec!["c".into()],
        vec![],
        vec!["d".into()],
        vec![number(1), array(vec![number(2)])],
    ];
    for (i, list) in lists.into_iter().enumerate() {
        let put = put(transaction, MULTI_UNIQUE, None, PutMode::Put, &codes(list));
        assert_eq!(put.unwrap(), Some(i as i64 + 1));
    }
    let clash = codes(vec!["c".into(), "e".into()]);
    let refused = put(transaction, MULTI_UNIQUE, None, PutMode::Put, &clash);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Constraint);
}

/// Index keys that depend on a generated key: the caller reads it first.
fn put_generated(transaction: &mut WriteTransaction) {
    let database_id = transaction.scope().database_id();
    for n in 0..5 {
        let next = transaction
            .key_generator(database_id, store_id(GENERATED))
            .unwrap();
        let id = Key::Number(next as f64);
        let keys = vec![(31, id.clone()), (32, array(vec![id, number(n)]))];
        let put = put(transaction, GENERATED, None, PutMode::Put, &keys).unwrap();
        assert_eq!(put, Some(next));
    }
}

#[test]
fn indexes_with_rows_left_behind_are_the_rows_that_chromium_leaves() {
    for fixture in FIXTURES {
        let written = Written::new(fixture, "indexes");
        let ours = Ours::new(written.id);
        ours.version_change(1, create_stores);
        // Of `after`, the version of person i is i + 2.
        let first_keys = written.index_rows(AFTER);
        let keys_of = |i: usize| first_keys[&(i as i64 + 2)].clone();
        ours.transact(&[BEFORE, AFTER], |transaction| {
            for i in 0..60 {
                put_ok(transaction, BEFORE, person(i), &keys_of(i));
            }
            for i in 0..60 {
                put_ok(transaction, AFTER, person(i), &vec![]);
            }
        });
        let edge_keys = written.index_rows(EDGE);
        ours.transact(&[EDGE], |transaction| {
            for (i, key) in written.puts(EDGE).into_iter().enumerate() {
                assert_eq!(key, number(i));
                put_ok(transaction, EDGE, key, &edge_keys[&(i as i64 + 2)]);
            }
        });
        ours.transact(&[MULTI_UNIQUE, GENERATED], |transaction| {
            put_codes(transaction);
            put_generated(transaction);
        });
        let later_keys = written.index_rows(BEFORE);
        ours.transact(&[BEFORE], |transaction| {
            for i in 0..20 {
                put_ok(
                    transaction,
                    BEFORE,
                    person(i),
                    &later_keys[&(i as i64 + 62)],
                );
            }
            delete(transaction, BEFORE, 90.0, 110.0);
            delete(transaction, BEFORE, 3.0, 3.0);
        });
        ours.version_change(2, |transaction| {
            define(transaction, AFTER);
            for i in 0..60 {
                let key = bytes(&person(i));
                let primary_key = RawKey::decode_exact(&key).unwrap();
                let put = with_raw(&keys_of(i), |keys| {
                    transaction.put_index_keys(store_id(AFTER), primary_key, keys)
                });
                put.unwrap();
            }
        });
        ours.assert_same(&written);
    }
}
