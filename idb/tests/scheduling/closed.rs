//! Callbacks on a storage that is closed: each is called once, whether it was registered before or after, and even if no call
//! waits for anything any more.

use larder_idb::{ConnectionEvent, OpenEvent};

use super::*;

/// The storage has requests under way, and callbacks for how they end. It is closed when all of them have been made.
#[test]
fn callbacks_registered_before_and_after_closing_are_called_once() {
    for executor in EXECUTORS {
        for is_late in [false, true] {
            let storage = storage(executor);
            let factory = factory(&storage);
            let connection = open(&storage).wait().unwrap();
            let log = Log::default();
            let first = begin(&connection, &["a"], TransactionMode::ReadWrite);
            let second = begin(&connection, &["a"], TransactionMode::ReadWrite);
            let requests = [
                ("put", put(&first, "a", 1.0, "x")),
                ("behind", put(&second, "a", 1.0, "y")),
            ];
            let ends = [("end", first.finished()), ("end behind", second.finished())];
            let opening = factory.open("db", Some(2)).unwrap();
            let deleting = factory.delete_database("db");
            let mut storage = Some(storage);
            if is_late {
                storage.take().map(Storage::close).unwrap().unwrap();
            }
            for (what, request) in requests {
                log.watch(what, request);
            }
            for (what, request) in ends {
                log.watch(what, request);
            }
            log.watch("open", opening.connection());
            log.watch("delete", deleting.done());
            let noting = log.clone();
            connection.events().on_event(move |event| {
                if matches!(event, ConnectionEvent::Close) {
                    noting.note("close");
                }
            });
            if let Some(storage) = storage.take() {
                storage.close().unwrap();
            }
            log.watch("delete later", factory.delete_database("db").done());
            log.watch("ended", first.finished());
            // Those that had been executed before they could be aborted have succeeded.
            let entries = log.entries();
            let mut ends: Vec<&str> = entries
                .iter()
                .map(|entry| match entry.as_str() {
                    "put" => "put: AbortError",
                    "behind" => "behind: AbortError",
                    other => other,
                })
                .collect();
            ends.sort_unstable();
            let expected = [
                "behind: AbortError",
                "close",
                "delete later: InvalidStateError",
                "delete: InvalidStateError",
                "end behind: AbortError",
                "end: AbortError",
                "ended: AbortError",
                "open: InvalidStateError",
                "put: AbortError",
            ];
            assert_eq!(ends, expected, "{executor:?}, late: {is_late}");
        }
    }
}

#[test]
fn a_callback_of_a_closed_storage_may_ask_for_more() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let factory = factory(&storage);
        let request = factory.open("db", None).unwrap();
        storage.close().unwrap();
        let log = Log::default();
        let noting = log.clone();
        let of_inner = factory.clone();
        request.events().on_event(move |event| {
            let OpenEvent::Done(result) = event else {
                return;
            };
            noting.note(result.unwrap_err().name().as_str());
            let inner = of_inner.delete_database("db").done();
            noting.watch("inner", inner);
            noting.note("outer");
        });
        let entries = log.entries();
        // A thread may have begun to open it.
        let has_begun = matches!(executor, Executor::Threads(_)) && entries[0] == "AbortError";
        assert!(
            has_begun || entries[0] == "InvalidStateError",
            "{entries:?}"
        );
        assert_eq!(entries[1..], ["outer", "inner: InvalidStateError"]);
    }
}
