//! The rules of 2.7.1: which transactions run beside which, and in which order.

use larder_idb::TransactionMode::{ReadOnly, ReadWrite};

use super::*;

#[test]
fn readers_of_the_same_stores_run_side_by_side() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let first = begin(&connection, &["a"], ReadOnly);
        let second = begin(&connection, &["a"], ReadOnly);
        assert_eq!(text(get(&second, "a", 1.0).wait()), None);
        assert_eq!(text(get(&first, "a", 1.0).wait()), None);
        assert_eq!(text(get(&second, "a", 1.0).wait()), None);
    }
}

#[test]
fn writers_of_different_stores_run_side_by_side() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let first = begin(&connection, &["a"], ReadWrite);
        let second = begin(&connection, &["b", "c"], ReadWrite);
        put(&second, "b", 1.0, "second").wait().unwrap();
        put(&first, "a", 1.0, "first").wait().unwrap();
        commit(&second).unwrap();
        commit(&first).unwrap();
        assert_eq!(look(&connection, "a", 1.0).unwrap(), "first");
        assert_eq!(look(&connection, "b", 1.0).unwrap(), "second");
    }
}

/// Which of two transactions of these modes are in each other's way.
#[test]
fn a_later_transaction_waits_where_either_writes_what_both_have() {
    for (first_mode, second_mode) in [
        (ReadWrite, ReadWrite),
        (ReadWrite, ReadOnly),
        (ReadOnly, ReadWrite),
    ] {
        let storage = storage(DRIVEN);
        let connection = open(&storage).wait().unwrap();
        let first = begin(&connection, &["a", "b"], first_mode);
        let second = begin(&connection, &["b", "c"], second_mode);
        // Asked for first, and yet not started.
        let mut waiting = get(&second, "c", 1.0);
        storage.run_until_idle();
        assert!(
            waiting.try_take().is_none(),
            "{first_mode:?} {second_mode:?}"
        );
        get(&first, "a", 1.0).wait().unwrap();
        let end = first.commit().unwrap();
        storage.run_until_idle();
        assert!(waiting.try_take().is_some() && end.is_done());
    }
}

#[test]
fn what_an_earlier_writer_wrote_is_seen_by_all_that_wait_for_it() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let log = Log::default();
        let writers: Vec<Transaction> = (0..5)
            .map(|_| begin(&connection, &["a"], ReadWrite))
            .collect();
        let reader = begin(&connection, &["a"], ReadOnly);
        let read = get(&reader, "a", 1.0);
        // Each commits only after the ones behind it have asked for everything.
        for (number, writer) in writers.iter().enumerate().rev() {
            log.watch(
                &format!("put {number}"),
                put(writer, "a", 1.0, &number.to_string()),
            );
            log.watch(&format!("end {number}"), writer.commit().unwrap());
        }
        assert_eq!(text(read.wait()).unwrap(), "4");
        // Callbacks of one transaction come one after the other; the next starts when its requests are done.
        storage.close().unwrap();
        let puts: Vec<String> = log
            .entries()
            .into_iter()
            .filter(|entry| entry.starts_with("put"))
            .collect();
        assert_eq!(puts.len(), 5);
        if matches!(executor, Executor::Driven { .. }) {
            let expected = ["put 0", "put 1", "put 2", "put 3", "put 4"];
            assert_eq!(puts, expected);
        }
    }
}

#[test]
fn a_reader_created_behind_a_waiting_writer_waits_for_it() {
    let storage = storage(DRIVEN);
    let connection = open(&storage).wait().unwrap();
    let first = begin(&connection, &["a"], ReadOnly);
    let writer = begin(&connection, &["a"], ReadWrite);
    let last = begin(&connection, &["a"], ReadOnly);
    put(&writer, "a", 1.0, "new").on_done(|_| ());
    let mut seen = get(&last, "a", 1.0);
    storage.run_until_idle();
    assert!(seen.try_take().is_none());
    assert_eq!(text(get(&first, "a", 1.0).wait()), None);
    first.commit().unwrap().wait().unwrap();
    writer.commit().unwrap().detach();
    assert_eq!(text(seen.wait()).unwrap(), "new");
}

#[test]
fn an_aborted_transaction_that_had_not_started_lets_others_go_on() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let first = begin(&connection, &["a"], ReadWrite);
        let second = begin(&connection, &["a", "b"], ReadWrite);
        let third = begin(&connection, &["b"], ReadWrite);
        let waiting = put(&second, "b", 1.0, "second");
        second.abort(None).unwrap();
        assert_eq!(waiting.wait().unwrap_err().name().as_str(), "AbortError");
        put(&third, "b", 1.0, "third").wait().unwrap();
        commit(&third).unwrap();
        commit(&first).unwrap();
        assert_eq!(look(&connection, "b", 1.0).unwrap(), "third");
    }
}

#[test]
fn with_snapshot_readers_a_writer_does_not_wait_and_readers_see_no_difference() {
    for executor in EXECUTORS {
        let storage = snapshot_storage(executor);
        let connection = open(&storage).wait().unwrap();
        let reader = begin(&connection, &["a", "b"], ReadOnly);
        let writer = begin(&connection, &["a"], ReadWrite);
        // It waits for the writer, and a transaction behind it does not start earlier.
        let late = begin(&connection, &["a", "b"], ReadOnly);
        let last = begin(&connection, &["b"], ReadWrite);
        put(&writer, "a", 1.0, "new").wait().unwrap();
        commit(&writer).unwrap();
        put(&last, "b", 1.0, "last").wait().unwrap();
        commit(&last).unwrap();
        assert_eq!(text(get(&reader, "a", 1.0).wait()), None);
        assert_eq!(text(get(&late, "a", 1.0).wait()).unwrap(), "new");
        assert_eq!(text(get(&late, "b", 1.0).wait()), None);
        assert_eq!(look(&connection, "b", 1.0).unwrap(), "last");
    }
}

#[test]
fn an_empty_transaction_commits_in_its_turn() {
    let storage = storage(DRIVEN);
    let connection = open(&storage).wait().unwrap();
    let first = begin(&connection, &["a"], ReadWrite);
    let empty = begin(&connection, &["a"], ReadOnly);
    let mut end = empty.commit().unwrap();
    storage.run_until_idle();
    assert!(end.try_take().is_none());
    drop(first);
    storage.run_until_idle();
    assert!(end.try_take().unwrap().is_ok());
}

#[test]
fn an_inactive_transaction_commits_only_with_nothing_left_to_execute() {
    let storage = storage(DRIVEN);
    let connection = open(&storage).wait().unwrap();
    let transaction = begin(&connection, &["a"], ReadWrite);
    let request = put(&transaction, "a", 1.0, "x");
    assert!(!transaction.commit_if_idle());
    request.wait().unwrap();
    assert!(transaction.commit_if_idle());
    assert!(!transaction.commit_if_idle());
    transaction.finished().wait().unwrap();
    assert_eq!(look(&connection, "a", 1.0).unwrap(), "x");
}

#[test]
fn letting_go_of_all_handles_aborts() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let transaction = begin(&connection, &["a"], ReadWrite);
        let store = transaction.object_store("a").unwrap();
        let end = transaction.finished();
        drop(transaction);
        let value = Value::serialize("x").unwrap();
        store
            .put(value, Some(Key::Number(1.0)))
            .unwrap()
            .wait()
            .unwrap();
        let unfinished = store.get(Key::Number(1.0)).unwrap();
        drop(store);
        assert_eq!(end.wait().unwrap_err().name().as_str(), "AbortError");
        // Whether it was executed before is open; that it is done is not.
        drop(unfinished.wait());
        assert_eq!(look(&connection, "a", 1.0), None);
    }
}

#[test]
fn transactions_of_two_connections_take_turns_as_those_of_one() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let first = open(&storage).wait().unwrap();
        let second = open(&storage).wait().unwrap();
        assert!(first != second);
        let one = begin(&first, &["a"], ReadWrite);
        let two = begin(&second, &["a"], ReadWrite);
        let after = put(&two, "a", 1.0, "two");
        let end = two.commit().unwrap();
        put(&one, "a", 1.0, "one").wait().unwrap();
        commit(&one).unwrap();
        after.wait().unwrap();
        end.wait().unwrap();
        assert_eq!(look(&first, "a", 1.0).unwrap(), "two");
    }
}

#[test]
fn making_a_transaction_is_refused_in_the_order_of_the_specification() {
    let storage = storage(DRIVEN);
    let connection = open(&storage).wait().unwrap();
    let refused = |names: &[&str], mode| {
        let names: Vec<JsString> = names.iter().map(|name| JsString::from(*name)).collect();
        let options = TransactionOptions::default();
        let refused = connection.transaction(&names, mode, options).unwrap_err();
        refused.name().as_str()
    };
    assert_eq!(
        refused(&["a", "nowhere"], TransactionMode::VersionChange),
        "NotFoundError"
    );
    assert_eq!(
        refused(&[], TransactionMode::VersionChange),
        "InvalidAccessError"
    );
    assert_eq!(refused(&["a"], TransactionMode::VersionChange), "TypeError");
    let twice = begin(&connection, &["b", "a", "b"], ReadOnly);
    assert_eq!(twice.object_store_names(), ["a", "b"]);
    connection.close();
    assert_eq!(refused(&["nowhere"], ReadOnly), "InvalidStateError");
}

/// A commit is executed by any thread that needs its result. Threads that wait behind it need its result, too.
#[test]
fn a_commit_whose_request_is_dropped_lets_others_go_on() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let other = open(&storage).wait().unwrap();
        let older = begin(&connection, &["a"], ReadWrite);
        let late = put(&older, "a", 1.0, "older");
        let end = older.commit().unwrap();
        assert_eq!(look(&other, "a", 1.0).unwrap(), "older");
        drop((late, end));
        // Asked to wait before the commit.
        let older = begin(&connection, &["a"], ReadWrite);
        let younger = begin(&other, &["a"], ReadOnly);
        let late = put(&older, "a", 1.0, "newer");
        let end = older.commit().unwrap();
        assert_eq!(text(get(&younger, "a", 1.0).wait()).unwrap(), "newer");
        drop((late, end, younger));
        // A thread that waits for the connection to be closed executes it, too.
        let last = begin(&connection, &["a"], ReadWrite);
        let end = last.commit().unwrap();
        connection.close();
        other.close();
        factory(&storage)
            .delete_database("db")
            .done()
            .wait()
            .unwrap();
        drop(end);
    }
}
