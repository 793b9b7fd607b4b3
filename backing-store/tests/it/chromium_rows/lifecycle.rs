//! `build-lifecycle.js`, `lifecycle`: object stores and indexes that come, change their names and go.

use larder_backing_store::{CursorDirection, ErrorKind, KeyRange, PutMode};
use larder_codec::{JsString, Key, KeyPath, RawKey};

use super::*;

const KEPT: i64 = 1;
const RENAMED: i64 = 2;
const TO_CLEAR: i64 = 4;

fn b(n: i64) -> Key {
    Key::from(&*format!("b{n}"))
}

/// `fill`, into indexes `a` and `b` with these ids.
fn fill(transaction: &mut WriteTransaction, store: i64, numbers: std::ops::Range<i64>) {
    for n in numbers {
        let a = Key::Number((n % 4) as f64);
        put_ok(transaction, store, n as f64, &vec![(31, a), (32, b(n))]);
    }
}

fn first_version(transaction: &mut WriteTransaction) {
    for name in [
        "kept",
        "renamed once",
        "to delete",
        "to clear",
        "to recreate",
    ] {
        let store = create_store(transaction, name, KeyPath::Null, false);
        create_index(transaction, store, "a", path("a"), "");
        create_index(transaction, store, "b", path("b"), "unique");
        fill(transaction, store, 0..25);
    }
}

/// In which order an object store is deleted and one of its name made, when a page requests the one and then the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Chromium 156.
    AsAsked,
    /// Chromium 119 and 143: deletions wait for their turn. The name row of the new store goes with the old one.
    CreationFirst,
}

fn second_version(transaction: &mut WriteTransaction, order: Order) {
    let name = JsString::from("renamed twice");
    transaction
        .rename_object_store(store_id(RENAMED), &name)
        .unwrap();
    transaction
        .rename_index(store_id(RENAMED), index_id(31), &"a2".into())
        .unwrap();
    let delete = |transaction: &mut WriteTransaction| {
        transaction.delete_object_store(store_id(3)).unwrap();
        transaction.delete_object_store(store_id(5)).unwrap();
    };
    if order == Order::AsAsked {
        delete(transaction);
    }
    let again = create_store(transaction, "to recreate", KeyPath::Null, true);
    if order == Order::CreationFirst {
        delete(transaction);
    }
    let c = create_index(transaction, again, "c", path("c"), "multi");
    let keys = vec![(c, Key::Number(1.0)), (c, Key::Number(2.0))];
    let generated = put(transaction, again, None, PutMode::Put, &keys).unwrap();
    assert_eq!(generated, Some(1));
}

/// Puts keys into a new index of all records of `kept`.
fn fill_index(transaction: &mut WriteTransaction, index: i64, key: impl Fn(i64) -> Key) {
    let mut records = transaction.records(
        transaction.scope().database_id(),
        store_id(KEPT),
        CursorDirection::Next,
    );
    let mut n = 0;
    while records.next().unwrap() {
        let primary_key = records.primary_key().unwrap();
        with_raw(&vec![(index, key(n))], |keys| {
            transaction.put_index_keys(store_id(KEPT), primary_key, keys)
        })
        .unwrap();
        n += 1;
    }
    assert_eq!(n, 25);
}

fn array(elements: Vec<Key>) -> Key {
    Key::array(elements).unwrap()
}

fn fifth_version(transaction: &mut WriteTransaction) {
    let name = JsString::from("\0 odd / name \\ : % 😀");
    transaction
        .rename_object_store(store_id(RENAMED), &name)
        .unwrap();
    transaction
        .delete_index(store_id(KEPT), index_id(31))
        .unwrap();
    let a = create_index(transaction, KEPT, "a", paths(&["a", "b"]), "");
    let number = |n: i64| Key::Number(n as f64);
    fill_index(transaction, a, |n| array(vec![number(n % 4), b(n)]));
    let c = create_index(transaction, KEPT, "", path("c"), "");
    fill_index(transaction, c, |n| array(vec![number(n), number(n % 3)]));
    let nameless = create_store(transaction, "", KeyPath::Null, false);
    put_ok(transaction, nameless, "k", &vec![]);
    let half =
        JsString::from_units([&*"half ".encode_utf16().collect::<Vec<_>>(), &[0xd83d]].concat());
    let half = create_store(transaction, half, KeyPath::Null, false);
    put_ok(transaction, half, "k", &vec![]);
}

fn from(number: f64, work: impl FnOnce(&KeyRange<'_>)) {
    let bytes = bytes(&Key::Number(number));
    let lower = std::ops::Bound::Included(RawKey::decode_exact(&bytes).unwrap());
    work(&KeyRange {
        lower,
        ..KeyRange::ALL
    });
}

fn transactions(ours: &Ours) {
    ours.transact(&[TO_CLEAR], |transaction| {
        transaction.clear(store_id(TO_CLEAR)).unwrap();
    });
    ours.transact(&[TO_CLEAR], |transaction| {
        fill(transaction, TO_CLEAR, 100..103);
    });
    let mut aborted = ours.begin(&[KEPT]);
    for n in 500..510 {
        put_ok(&mut aborted, KEPT, n as f64, &vec![(32, b(n))]);
    }
    from(10.0, |range| {
        aborted.delete(store_id(KEPT), range).unwrap();
    });
    aborted.rollback();
    ours.transact(&[KEPT], |transaction| {
        let one = Key::Number(1.0);
        let refused = put(transaction, KEPT, Some(&one), PutMode::Add, &vec![]);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Constraint);
        let b = Key::from("after the failed add");
        let a = array(vec![Key::Number(9.0), b.clone()]);
        let keys = vec![(32, b), (33, a), (34, Key::Number(0.0))];
        put_ok(transaction, KEPT, 600.0, &keys);
    });
    ours.transact(&[KEPT, TO_CLEAR], |_| {});
}

#[test]
fn object_stores_and_indexes_that_come_and_go_leave_the_rows_that_chromium_leaves() {
    for fixture in FIXTURES {
        let written = Written::new(fixture, "lifecycle");
        let ours = Ours::new(written.id);
        ours.version_change(1, first_version);
        let order = match fixture {
            "c156-linger" => Order::AsAsked,
            _ => Order::CreationFirst,
        };
        ours.version_change(2, |transaction| second_version(transaction, order));
        ours.version_change(5, fifth_version);
        transactions(&ours);
        let scope = Scope::VersionChange(ours.id);
        let mut aborted = ours.store.begin(scope, Durability::Strict).unwrap();
        aborted.set_version(6).unwrap();
        let never = create_store(&mut aborted, "never", KeyPath::Null, false);
        put_ok(&mut aborted, never, 0.0, &vec![]);
        put_ok(&mut aborted, KEPT, "never", &vec![]);
        aborted.rollback();
        ours.assert_same(&written);
    }
}
