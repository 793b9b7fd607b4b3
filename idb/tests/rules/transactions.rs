//! Transactions (specification, 2.7, 4.9, 5.4, 5.5).

use larder_idb::{Error, ErrorName, Key, TransactionMode};

use super::support::*;

#[test]
fn a_store_outside_the_scope_is_not_found() {
    let place = place();
    let connection = place.connection();
    let options = larder_idb::TransactionOptions::default();
    let transaction = connection
        .transaction(&[js("out")], TransactionMode::ReadOnly, options)
        .unwrap();
    assert_eq!(refused(transaction.object_store(js("in"))), "NotFoundError");
    assert_eq!(
        refused(transaction.object_store(js("none"))),
        "NotFoundError"
    );
    assert_eq!(refused(transaction.object_store(js("out"))), "nothing");
}

#[test]
fn a_transaction_that_has_ended_gives_no_stores_and_its_stores_no_indexes() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadOnly);
    let handle = store(&transaction, "out");
    transaction.commit().unwrap().wait().unwrap();
    assert_eq!(
        refused(transaction.object_store(js("none"))),
        "InvalidStateError"
    );
    assert_eq!(
        refused(transaction.object_store(js("out"))),
        "InvalidStateError"
    );
    assert_eq!(refused(handle.index(js("none"))), "InvalidStateError");
}

#[test]
fn a_transaction_gives_no_stores_from_when_it_was_aborted_rolled_back_or_not() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let handle = store(&transaction, "out");
    transaction.abort(None).unwrap();
    assert!(!transaction.is_finished());
    for name in ["none", "out"] {
        let found = transaction.object_store(js(name));
        assert_eq!(refused(found), "InvalidStateError");
    }
    assert_eq!(refused(handle.index(js("none"))), "InvalidStateError");
}

#[test]
fn what_commits_or_has_ended_is_neither_committed_nor_aborted() {
    let place = place();
    let connection = place.connection();
    let transaction = begin(&connection, TransactionMode::ReadWrite);
    let committed = transaction.commit().unwrap();
    assert_eq!(refused(transaction.commit()), "InvalidStateError");
    assert_eq!(refused(transaction.abort(None)), "InvalidStateError");
    committed.wait().unwrap();
    assert_eq!(refused(transaction.commit()), "InvalidStateError");
    assert_eq!(refused(transaction.abort(None)), "InvalidStateError");
    let aborted = begin(&connection, TransactionMode::ReadWrite);
    aborted.abort(None).unwrap();
    assert_eq!(refused(aborted.commit()), "InvalidStateError");
    assert_eq!(refused(aborted.abort(None)), "InvalidStateError");
}

#[test]
fn requests_made_before_commit_complete_and_later_ones_are_refused() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let out = store(&transaction, "out");
    let put = out.put(text("x"), Some(Key::from(1.0))).unwrap();
    let committed = transaction.commit().unwrap();
    assert_eq!(refused(out.get(Key::from(1.0))), "TransactionInactiveError");
    assert_eq!(put.wait().unwrap(), Key::from(1.0));
    committed.wait().unwrap();
}

#[test]
fn a_failure_after_commit_aborts_whoever_looks_at_it() {
    let place = place();
    let (connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let out = store(&transaction, "out");
    let first = out.add(text("x"), Some(Key::from(1.0))).unwrap();
    let second = out.add(text("y"), Some(Key::from(1.0))).unwrap();
    let third = out.add(text("z"), Some(Key::from(2.0))).unwrap();
    let committed = transaction.commit().unwrap();
    assert_eq!(refused(committed.wait()), "ConstraintError");
    assert_eq!(refused(first.wait()), "nothing");
    assert_eq!(refused(second.wait()), "ConstraintError");
    assert_eq!(refused(third.wait()), "AbortError");
    let error = transaction.error().unwrap();
    assert_eq!(error.name(), ErrorName::ConstraintError);
    let after = begin(&connection, TransactionMode::ReadOnly);
    let count = store(&after, "out")
        .count(larder_idb::KeyRange::all())
        .unwrap();
    assert_eq!(count.wait().unwrap(), 0);
}

#[test]
fn a_failure_that_was_seen_before_commit_aborts_nothing() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let out = store(&transaction, "out");
    out.add(text("x"), Some(Key::from(1.0))).unwrap().detach();
    let again = out.add(text("y"), Some(Key::from(1.0))).unwrap();
    assert_eq!(refused(again.wait()), "ConstraintError");
    transaction.commit().unwrap().wait().unwrap();
}

#[test]
fn an_abort_fails_what_is_left_and_gives_its_reason() {
    let place = place();
    let connection = place.connection();
    let transaction = begin(&connection, TransactionMode::ReadWrite);
    let put = store(&transaction, "out")
        .put(text("x"), Some(Key::from(1.0)))
        .unwrap();
    let finished = transaction.finished();
    let reason = Error::new(ErrorName::QuotaExceededError, "enough");
    transaction.abort(Some(reason)).unwrap();
    assert_eq!(refused(put.wait()), "AbortError");
    assert_eq!(refused(finished.wait()), "QuotaExceededError");
    let error = transaction.error().unwrap();
    assert_eq!(error.name(), ErrorName::QuotaExceededError);
    // Without a reason there is no error, although a wait for the end reports the abort.
    let transaction = begin(&connection, TransactionMode::ReadWrite);
    transaction.abort(None).unwrap();
    assert_eq!(refused(transaction.finished().wait()), "AbortError");
    assert!(transaction.error().is_none());
}

#[test]
fn an_abort_takes_records_indexes_and_generators_back() {
    let place = place();
    let connection = place.connection();
    let kept = begin(&connection, TransactionMode::ReadWrite);
    drop(
        store(&kept, "auto")
            .put(object(&[("n", 1.0)]), None)
            .unwrap(),
    );
    kept.commit().unwrap().wait().unwrap();
    let aborted = begin(&connection, TransactionMode::ReadWrite);
    let auto = store(&aborted, "auto");
    drop(
        auto.put(object(&[("n", 2.0)]), Some(Key::from(10.0)))
            .unwrap(),
    );
    auto.delete(Key::from(1.0)).unwrap().detach();
    let generated = auto.put(object(&[("n", 3.0)]), None).unwrap();
    assert_eq!(generated.wait().unwrap(), Key::from(11.0));
    aborted.abort(None).unwrap();
    let after = begin(&connection, TransactionMode::ReadWrite);
    let keys = index(&after, "auto", "n");
    let keys = keys
        .get_all_keys(larder_idb::KeyRange::all(), Default::default())
        .unwrap();
    let keys: Vec<Key> = keys
        .wait()
        .unwrap()
        .iter()
        .map(|entry| entry.primary_key())
        .collect();
    assert_eq!(keys, [Key::from(1.0)]);
    let next = store(&after, "auto").put(text("x"), None).unwrap();
    assert_eq!(next.wait().unwrap(), Key::from(2.0));
}
