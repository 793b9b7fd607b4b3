//! A host's callback that panics loses nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

#[test]
fn a_callback_that_panics_stops_nothing() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let log = Log::default();
        let transaction = begin(&connection, &["a"], Mode::ReadWrite);
        for number in 0..5 {
            let log = log.clone();
            put(&transaction, "a", f64::from(number), "x").on_done(move |result| {
                log.note(format!("put {number}"));
                result.unwrap();
                panic!("a host's mistake {number}");
            });
        }
        log.watch("end", transaction.finished());
        drop(transaction.commit().unwrap());
        let mut thrown = 0;
        if matches!(executor, Executor::Driven { .. }) {
            // Each comes out of the step that it happened in.
            loop {
                match catch_unwind(AssertUnwindSafe(|| storage.run_one())) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(_) => thrown += 1,
                }
            }
            assert_eq!(thrown, 5);
        }
        transaction.finished().wait().unwrap();
        assert_eq!(look(&connection, "a", 4.0).unwrap(), "x");
        storage.close().unwrap();
        let expected = ["put 0", "put 1", "put 2", "put 3", "put 4", "end"];
        assert_eq!(log.entries(), expected);
    }
}

#[test]
fn an_upgrade_that_panics_is_aborted() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let request = factory(&storage).open(&"db".into(), None).unwrap();
        let request = request.with_upgrade(|_| panic!("a host's mistake"));
        if matches!(executor, Executor::Driven { .. }) {
            let thrown = catch_unwind(AssertUnwindSafe(|| storage.run_until_idle()));
            assert!(thrown.is_err());
        }
        assert_eq!(request.wait().unwrap_err().name().as_str(), "AbortError");
        assert!(factory(&storage).databases().wait().unwrap().is_empty());
        open(&storage).wait().unwrap();
    }
}

#[test]
fn an_event_s_callback_that_panics_gets_the_next_event() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let log = Log::default();
        let noting = log.clone();
        connection.events().on_event(move |event| {
            noting.note(format!("{event:?}").split('(').next().unwrap());
            panic!("a host's mistake");
        });
        let request = factory(&storage).delete_database(&"db".into());
        if matches!(executor, Executor::Driven { .. }) {
            assert!(catch_unwind(AssertUnwindSafe(|| storage.run_until_idle())).is_err());
        }
        // It was dispatched, panic or not.
        let blocked = request.events().wait_next();
        assert!(
            matches!(blocked, Some(larder_idb::DeleteEvent::Blocked { .. })),
            "{blocked:?}"
        );
        factory(&storage).force_close(None);
        if matches!(executor, Executor::Driven { .. }) {
            assert!(catch_unwind(AssertUnwindSafe(|| storage.run_until_idle())).is_err());
        }
        assert_eq!(request.done().wait().unwrap(), 1);
        storage.close().unwrap();
        assert_eq!(log.entries(), ["VersionChange", "Close"]);
    }
}

#[test]
fn callbacks_may_ask_and_wait_for_more() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let log = Log::default();
        let transaction = begin(&connection, &["a"], Mode::ReadWrite);
        let (inner, noting, of_inner) = (transaction.clone(), log.clone(), connection.clone());
        put(&transaction, "a", 1.0, "first").on_done(move |_| {
            let found = text(get(&inner, "a", 1.0).wait()).unwrap();
            noting.note(format!("found {found}"));
            let beside = begin(&of_inner, &["b"], Mode::ReadWrite);
            put(&beside, "b", 1.0, "beside").wait().unwrap();
            commit(&beside).unwrap();
            noting.watch("second", put(&inner, "a", 2.0, "second"));
            drop(inner.commit().unwrap());
        });
        transaction.finished().wait().unwrap();
        assert_eq!(look(&connection, "a", 2.0).unwrap(), "second");
        assert_eq!(look(&connection, "b", 1.0).unwrap(), "beside");
        storage.close().unwrap();
        assert_eq!(log.entries(), ["found first", "second"]);
    }
}
