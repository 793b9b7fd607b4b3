//! Cursors (specification, 4.8, 6.8).

use larder_idb::{Cursor, CursorDirection, Key, KeyRange, Transaction, TransactionMode};

use super::support::*;

/// Store "out" with records 1 to 4: `n` 7, 7, 8, 8.
fn fill(transaction: &Transaction) {
    for (key, n) in [(1.0, 7.0), (2.0, 7.0), (3.0, 8.0), (4.0, 8.0)] {
        let value = object(&[("n", n)]);
        drop(
            store(transaction, "out")
                .put(value, Some(Key::from(key)))
                .unwrap(),
        );
    }
}

fn of_store(transaction: &Transaction, direction: CursorDirection) -> Cursor {
    let request = store(transaction, "out")
        .open_cursor(KeyRange::all(), direction)
        .unwrap();
    request.wait().unwrap().unwrap()
}

fn of_index(transaction: &Transaction, direction: CursorDirection) -> Cursor {
    let n = index(transaction, "out", "n");
    n.open_cursor(KeyRange::all(), direction)
        .unwrap()
        .wait()
        .unwrap()
        .unwrap()
}

fn key(number: f64) -> Key {
    Key::from(number)
}

#[test]
fn a_cursor_without_records_is_none() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadOnly);
    let request = store(&transaction, "out").open_cursor(KeyRange::all(), CursorDirection::Next);
    assert!(request.unwrap().wait().unwrap().is_none());
}

#[test]
fn steps_are_refused_in_the_order_of_the_steps() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    fill(&transaction);
    let cursor = of_store(&transaction, CursorDirection::Next);
    // Of a store, continuePrimaryKey is no access, whatever the keys.
    let step = cursor.continue_primary_key(key(0.0), key(0.0));
    assert_eq!(refused(step), "InvalidAccessError");
    assert_eq!(refused(cursor.advance(0)), "TypeError");
    assert_eq!(refused(cursor.continue_to(key(1.0))), "DataError");
    assert_eq!(refused(cursor.continue_to(key(0.5))), "DataError");
    let step = cursor.next().unwrap();
    // Under way: there is no value, and that comes before the keys.
    assert_eq!(refused(cursor.continue_to(key(0.0))), "InvalidStateError");
    assert_eq!(refused(cursor.advance(1)), "InvalidStateError");
    assert_eq!(refused(cursor.update(text("x"))), "InvalidStateError");
    assert_eq!(refused(cursor.delete()), "InvalidStateError");
    step.wait().unwrap();
    let committed = transaction.commit().unwrap();
    assert_eq!(refused(cursor.advance(0)), "TypeError");
    assert_eq!(refused(cursor.advance(1)), "TransactionInactiveError");
    assert_eq!(
        refused(cursor.continue_to(key(0.0))),
        "TransactionInactiveError"
    );
    let step = cursor.continue_primary_key(key(0.0), key(0.0));
    assert_eq!(refused(step), "TransactionInactiveError");
    assert_eq!(
        refused(cursor.update(text("x"))),
        "TransactionInactiveError"
    );
    assert_eq!(refused(cursor.delete()), "TransactionInactiveError");
    committed.wait().unwrap();
}

#[test]
fn a_cursor_whose_source_is_deleted_does_nothing() {
    let place = place();
    let upgrade = place.upgrade();
    let transaction = &upgrade.transaction;
    fill(transaction);
    let (cursor, by_index) = (
        of_store(transaction, CursorDirection::Next),
        of_index(transaction, CursorDirection::Next),
    );
    store(transaction, "out").delete_index(js("n")).unwrap();
    assert_eq!(refused(by_index.next()), "InvalidStateError");
    assert_eq!(refused(by_index.delete()), "InvalidStateError");
    assert_eq!(refused(cursor.next()), "nothing");
    transaction.delete_object_store(js("out")).unwrap();
    for cursor in [cursor, by_index] {
        assert_eq!(refused(cursor.advance(0)), "TypeError");
        assert_eq!(refused(cursor.advance(1)), "InvalidStateError");
        assert_eq!(refused(cursor.continue_to(key(0.0))), "InvalidStateError");
        // Before the source's kind.
        let step = cursor.continue_primary_key(key(0.0), key(0.0));
        assert_eq!(refused(step), "InvalidStateError");
        assert_eq!(refused(cursor.update(text("x"))), "InvalidStateError");
        assert_eq!(refused(cursor.delete()), "InvalidStateError");
    }
    transaction.commit().unwrap().wait().unwrap();
}

#[test]
fn a_key_to_continue_to_lies_ahead_in_the_cursors_direction() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    fill(&transaction);
    for (direction, ahead, behind) in [
        (CursorDirection::Next, 8.0, 6.0),
        (CursorDirection::NextUnique, 8.0, 6.0),
        (CursorDirection::Prev, 7.5, 9.0),
        (CursorDirection::PrevUnique, 7.5, 9.0),
    ] {
        let cursor = of_index(&transaction, direction);
        let here = cursor.key();
        assert_eq!(refused(cursor.continue_to(here)), "DataError");
        assert_eq!(refused(cursor.continue_to(key(behind))), "DataError");
        let found = cursor
            .continue_to(key(ahead))
            .unwrap()
            .wait()
            .unwrap()
            .unwrap();
        let expected = if matches!(
            direction,
            CursorDirection::Next | CursorDirection::NextUnique
        ) {
            8.0
        } else {
            7.0
        };
        assert_eq!(found.key(), key(expected));
    }
}

#[test]
fn a_primary_key_to_continue_to_lies_ahead_within_the_same_key() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    fill(&transaction);
    for direction in [CursorDirection::NextUnique, CursorDirection::PrevUnique] {
        let cursor = of_index(&transaction, direction);
        let step = cursor.continue_primary_key(key(7.0), key(9.0));
        assert_eq!(refused(step), "InvalidAccessError");
    }
    let cursor = of_index(&transaction, CursorDirection::Next);
    let go = |k, p| refused(cursor.continue_primary_key(key(k), key(p)));
    assert_eq!(
        (go(6.0, 9.0), go(7.0, 1.0), go(7.0, 0.0)),
        ("DataError", "DataError", "DataError")
    );
    let found = cursor
        .continue_primary_key(key(7.0), key(2.0))
        .unwrap()
        .wait()
        .unwrap()
        .unwrap();
    assert_eq!(found.primary_key(), key(2.0));
    // A primary key that is not there leads to the next entry, of a later key if need be.
    let found = found
        .continue_primary_key(key(7.0), key(3.0))
        .unwrap()
        .wait()
        .unwrap()
        .unwrap();
    assert_eq!(found.primary_key(), key(3.0));
    let cursor = of_index(&transaction, CursorDirection::Prev);
    let go = |k, p| refused(cursor.continue_primary_key(key(k), key(p)));
    assert_eq!(
        (go(9.0, 0.0), go(8.0, 4.0), go(8.0, 5.0)),
        ("DataError", "DataError", "DataError")
    );
    let found = cursor
        .continue_primary_key(key(8.0), key(3.0))
        .unwrap()
        .wait()
        .unwrap()
        .unwrap();
    assert_eq!(found.primary_key(), key(3.0));
}

#[test]
fn writing_through_a_cursor_is_refused_in_the_order_of_the_steps() {
    let place = place();
    let connection = place.connection();
    let transaction = begin(&connection, TransactionMode::ReadWrite);
    fill(&transaction);
    drop(
        store(&transaction, "in")
            .put(object(&[("id", 1.0)]), None)
            .unwrap(),
    );
    let keys_only =
        store(&transaction, "out").open_key_cursor(KeyRange::all(), CursorDirection::Next);
    let keys_only = keys_only.unwrap().wait().unwrap().unwrap();
    assert_eq!(refused(keys_only.update(text("x"))), "InvalidStateError");
    assert_eq!(refused(keys_only.delete()), "InvalidStateError");
    // With keys in the values, an update leaves the key as it is.
    let request = store(&transaction, "in").open_cursor(KeyRange::all(), CursorDirection::Next);
    let cursor = request.unwrap().wait().unwrap().unwrap();
    assert_eq!(refused(cursor.update(object(&[("id", 2.0)]))), "DataError");
    assert_eq!(
        refused(cursor.update(object(&[("id", f64::NAN)]))),
        "DataError"
    );
    assert_eq!(refused(cursor.update(text("x"))), "DataError");
    let update = cursor.update(object(&[("id", 1.0), ("x", 1.0)])).unwrap();
    assert_eq!(update.wait().unwrap(), key(1.0));
    transaction.commit().unwrap().wait().unwrap();
    // Of a transaction that only reads: before the value under way and the kind of cursor.
    let transaction = begin(&connection, TransactionMode::ReadOnly);
    let keys_only =
        store(&transaction, "out").open_key_cursor(KeyRange::all(), CursorDirection::Next);
    let keys_only = keys_only.unwrap().wait().unwrap().unwrap();
    assert_eq!(refused(keys_only.update(text("x"))), "ReadOnlyError");
    let step = keys_only.next().unwrap();
    assert_eq!(refused(keys_only.delete()), "ReadOnlyError");
    step.wait().unwrap();
}

#[test]
fn a_cursor_that_has_run_out_goes_nowhere() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    fill(&transaction);
    let cursor = of_store(&transaction, CursorDirection::Next);
    assert!(cursor.advance(4).unwrap().wait().unwrap().is_none());
    assert_eq!(refused(cursor.next()), "InvalidStateError");
    assert_eq!(refused(cursor.advance(1)), "InvalidStateError");
    assert_eq!(refused(cursor.update(text("x"))), "InvalidStateError");
    assert_eq!(refused(cursor.delete()), "InvalidStateError");
}

#[test]
fn a_cursor_sees_what_is_written_ahead_of_it_and_goes_on_after_its_record_is_deleted() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    fill(&transaction);
    let out = store(&transaction, "out");
    let cursor = of_store(&transaction, CursorDirection::Next);
    cursor.delete().unwrap().detach();
    out.put(text("new"), Some(key(1.5))).unwrap().detach();
    out.delete(key(2.0)).unwrap().detach();
    let mut seen = Vec::new();
    let mut next = cursor.next().unwrap().wait().unwrap();
    while let Some(cursor) = next {
        seen.push(cursor.primary_key());
        next = cursor.next().unwrap().wait().unwrap();
    }
    assert_eq!(seen, [1.5, 3.0, 4.0].map(Key::from));
}

#[test]
fn an_index_cursor_goes_by_key_and_then_by_primary_key() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    fill(&transaction);
    for (direction, expected) in [
        (CursorDirection::Next, &[1.0, 2.0, 3.0, 4.0][..]),
        (CursorDirection::NextUnique, &[1.0, 3.0]),
        (CursorDirection::Prev, &[4.0, 3.0, 2.0, 1.0]),
        (CursorDirection::PrevUnique, &[3.0, 1.0]),
    ] {
        let mut seen = Vec::new();
        let mut next = Some(of_index(&transaction, direction));
        while let Some(cursor) = next {
            seen.push(cursor.primary_key());
            next = cursor.next().unwrap().wait().unwrap();
        }
        let expected: Vec<Key> = expected.iter().map(|number| key(*number)).collect();
        assert_eq!(seen, expected, "{direction:?}");
    }
}
