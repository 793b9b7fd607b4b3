//! Indexes (specification, 4.6), and what is read from them (6.3).

use larder_idb::{
    CursorDirection, GetAllOptions, Index, Key, KeyPath, KeyRange, TransactionMode,
    TransactionOptions,
};

use super::support::*;

fn reads(index: &Index) -> Vec<&'static str> {
    vec![
        refused(index.get(Key::from(1.0))),
        refused(index.get_key(Key::from(1.0))),
        refused(index.get_all(KeyRange::all(), GetAllOptions::default())),
        refused(index.get_all_keys(KeyRange::all(), GetAllOptions::default())),
        refused(index.get_all(KeyRange::all(), GetAllOptions::default())),
        refused(index.get_many([Key::from(1.0)])),
        refused(index.count(KeyRange::all())),
        refused(index.open_cursor(KeyRange::all(), CursorDirection::Next)),
        refused(index.open_key_cursor(KeyRange::all(), CursorDirection::Next)),
    ]
}

fn all_are(names: Vec<&'static str>, name: &str) {
    assert!(
        names.iter().all(|other| *other == name),
        "{names:?}, not {name}"
    );
}

#[test]
fn a_deleted_index_or_store_comes_before_an_inactive_transaction() {
    let place = place();
    let upgrade = place.upgrade();
    let n = index(&upgrade.transaction, "out", "n");
    let of_deleted = index(&upgrade.transaction, "in", "n");
    store(&upgrade.transaction, "out")
        .delete_index(js("n"))
        .unwrap();
    upgrade.transaction.delete_object_store(js("in")).unwrap();
    all_are(reads(&n), "InvalidStateError");
    all_are(reads(&of_deleted), "InvalidStateError");
    let committed = upgrade.transaction.commit().unwrap();
    all_are(reads(&n), "InvalidStateError");
    all_are(reads(&of_deleted), "InvalidStateError");
    // Renaming looks at the transaction first.
    assert_eq!(refused(n.rename(js("x"))), "TransactionInactiveError");
    committed.wait().unwrap();
}

#[test]
fn an_index_of_a_transaction_that_commits_reads_nothing() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadOnly);
    let n = index(&transaction, "out", "n");
    all_are(reads(&n), "nothing");
    let committed = transaction.commit().unwrap();
    all_are(reads(&n), "TransactionInactiveError");
    committed.wait().unwrap();
    all_are(reads(&n), "TransactionInactiveError");
}

/// Records 1 to 4 with `n` 7, 7, 8 and none.
fn filled(transaction: &larder_idb::Transaction) -> Index {
    let out = store(transaction, "out");
    for (key, value) in [
        (1.0, object(&[("n", 7.0)])),
        (2.0, object(&[("n", 7.0)])),
        (3.0, object(&[("n", 8.0)])),
        (4.0, object(&[("n", f64::NAN)])),
        (5.0, text("no n")),
    ] {
        out.put(value, Some(Key::from(key))).unwrap().detach();
    }
    index(transaction, "out", "n")
}

#[test]
fn an_index_gives_the_first_record_in_range_and_leaves_out_what_has_no_key() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let n = filled(&transaction);
    let first = n.get_key(Key::from(7.0)).unwrap();
    assert_eq!(first.wait().unwrap(), Some(Key::from(1.0)));
    let above = n
        .get_key(KeyRange::lower_bound(Key::from(7.0), true))
        .unwrap();
    assert_eq!(above.wait().unwrap(), Some(Key::from(3.0)));
    assert_eq!(n.get_key(Key::from(9.0)).unwrap().wait().unwrap(), None);
    assert!(n.get(Key::from(9.0)).unwrap().wait().unwrap().is_none());
    assert_eq!(n.count(KeyRange::all()).unwrap().wait().unwrap(), 3);
}

#[test]
fn the_first_of_each_of_many_ranges_comes_with_its_index_key() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let n = filled(&transaction);
    let ranges = [9.0, 8.0, 7.0].map(|number| KeyRange::lower_bound(Key::from(number), false));
    let found = n.get_many(ranges).unwrap().wait().unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|entry| (entry.request, entry.key(), entry.primary_key()))
        .collect();
    let k = Key::from;
    assert_eq!(found, [(1, k(8.0), k(3.0)), (2, k(7.0), k(1.0))]);
}

#[test]
fn directions_of_get_all_are_those_of_cursors() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let n = filled(&transaction);
    for (direction, count, expected) in [
        (CursorDirection::Next, None, &[1.0, 2.0, 3.0][..]),
        (CursorDirection::NextUnique, None, &[1.0, 3.0]),
        (CursorDirection::Prev, None, &[3.0, 2.0, 1.0]),
        (CursorDirection::PrevUnique, None, &[3.0, 1.0]),
        (CursorDirection::Prev, Some(2), &[3.0, 2.0]),
        (CursorDirection::NextUnique, Some(1), &[1.0]),
        // 0 is as if there were no count.
        (CursorDirection::Next, Some(0), &[1.0, 2.0, 3.0]),
    ] {
        let options = GetAllOptions::new()
            .count(count.unwrap_or(0))
            .direction(direction);
        let records = n.get_all(KeyRange::all(), options).unwrap().wait().unwrap();
        let found: Vec<Key> = records.iter().map(|entry| entry.primary_key()).collect();
        let expected: Vec<Key> = expected.iter().map(|key| Key::from(*key)).collect();
        assert_eq!(found, expected, "{direction:?} {count:?}");
    }
}

#[test]
fn each_object_store_fills_indexes_of_its_own_whichever_was_put_into_before() {
    let place = place();
    let connection = place.open(1, |upgrade| {
        for name in ["n", "m", "none"] {
            let plain = parameters(KeyPath::Null, false);
            let store = upgrade.transaction.create_object_store(js(name), plain)?;
            if name != "none" {
                store.create_index(js("by"), path(name), PLAIN)?;
            }
        }
        Ok(())
    });
    let connection = connection.unwrap();
    let names = ["n", "m", "none"].map(js);
    let options = TransactionOptions::default();
    let transaction = connection.transaction(&names, TransactionMode::ReadWrite, options);
    let transaction = transaction.unwrap();
    for turn in 0..9 {
        let name = ["n", "m", "none"][turn % 3];
        let value = object(&[("n", 10.0), ("m", 20.0)]);
        let key = Some(Key::from(turn as f64));
        store(&transaction, name).put(value, key).unwrap().detach();
    }
    for (name, found) in [("n", 10.0), ("m", 20.0)] {
        let by = index(&transaction, name, "by");
        let all = by.get_all_keys(KeyRange::all(), GetAllOptions::default());
        let all = all.unwrap().wait().unwrap();
        let keys: Vec<Key> = all.iter().map(|entry| entry.key()).collect();
        assert_eq!(keys, vec![Key::from(found); 3], "{name}");
    }
    transaction.commit().unwrap().wait().unwrap();
}
