//! Requests, their order, and the end, on operations that touch no rows.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;

use larder_backing_store::{CursorDirection, FixedClock};
use larder_codec::{JsString, Key, Origin};

use super::{Length, TransactionMode, TransactionOptions};
use crate::connection::Connection;
use crate::error::{Error, ErrorName, Result};
use crate::executor::Executor;
use crate::key_range::KeyRange;
use crate::object_store::ObjectStoreParameters;
use crate::open_request::OpenEvent;
use crate::operation::Execution;
use crate::options::StorageOptions;
use crate::request::Request;
use crate::scheduler::ConnectionEvent;
use crate::storage::Storage;
use crate::sync::locked;
use crate::transaction::Transaction;
use crate::value::Value;

const MODES: [Executor; 3] = [
    Executor::Threads(NonZeroUsize::MIN.saturating_add(1)),
    Executor::Driven { seed: None },
    Executor::Driven { seed: Some(7) },
];

fn storage(executor: Executor) -> Storage {
    let mut options = StorageOptions::in_memory(Arc::new(FixedClock::default()));
    options.executor = executor;
    Storage::new(options).unwrap()
}

/// A database with these object stores.
fn open(storage: &Storage, stores: &'static [&str]) -> Connection {
    let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
    let request = factory.open("db", None).unwrap();
    let request = request.with_upgrade(move |upgrade| {
        for name in stores {
            let name = JsString::from(*name);
            let parameters = ObjectStoreParameters::default();
            upgrade.transaction.create_object_store(&name, parameters)?;
        }
        Ok(())
    });
    request.wait().unwrap()
}

fn write(connection: &Connection, names: &[&str]) -> Transaction {
    let names: Vec<JsString> = names.iter().map(|name| JsString::from(*name)).collect();
    let options = TransactionOptions::default();
    connection
        .transaction(&names, TransactionMode::ReadWrite, options)
        .unwrap()
}

#[test]
fn requests_complete_in_order_in_each_mode() {
    for mode in MODES {
        let storage = storage(mode);
        let connection = open(&storage, &["a"]);
        assert_eq!(connection.version(), 1);
        let transaction = write(&connection, &["a"]);
        let counter = Arc::new(AtomicU32::new(0));
        let requests: Vec<Request<u32>> = (0..1000)
            .map(|_| {
                let counter = Arc::clone(&counter);
                let operation =
                    move |_: &mut Execution| Ok(counter.fetch_add(1, Ordering::Relaxed));
                transaction.core().submit(Length::Long, operation).unwrap()
            })
            .collect();
        let commit = transaction.commit().unwrap();
        for (number, request) in requests.into_iter().enumerate() {
            assert_eq!(request.wait().unwrap() as usize, number);
        }
        commit.wait().unwrap();
        assert!(transaction.is_finished());
        let refused = transaction
            .core()
            .submit(Length::Long, |_| Ok(()))
            .unwrap_err();
        assert_eq!(refused.name(), ErrorName::TransactionInactiveError);
        storage.close().unwrap();
    }
}

#[test]
fn a_waiting_thread_executes_short_operations_behind_its_own_and_nothing_else() {
    for mode in MODES {
        let storage = storage(mode);
        let connection = open(&storage, &["a"]);
        let transaction = write(&connection, &["a"]);
        let first = transaction.core().submit(Length::Long, |_| Ok(())).unwrap();
        let short = [(); 3].map(|()| {
            transaction
                .core()
                .submit(Length::Short, |_| Ok(()))
                .unwrap()
        });
        let long = transaction.core().submit(Length::Long, |_| Ok(())).unwrap();
        let behind = transaction
            .core()
            .submit(Length::Short, |_| Ok(()))
            .unwrap();
        first.wait().unwrap();
        let is_step = matches!(mode, Executor::Driven { .. });
        assert!(short.iter().all(|request| request.is_done() != is_step));
        assert!(!long.is_done() && !behind.is_done());
        transaction.commit().unwrap().wait().unwrap();
        storage.close().unwrap();
    }
}

#[test]
fn a_callback_that_waits_executes_what_it_waits_for_on_any_thread() {
    for executor in MODES {
        let storage = storage(executor);
        let connection = open(&storage, &["a"]);
        let transaction = write(&connection, &["a"]);
        let done = transaction.core().submit(Length::Long, |_| Ok(1)).unwrap();
        transaction
            .core()
            .submit(Length::Long, |_| Ok(2))
            .unwrap()
            .wait()
            .unwrap();
        // The thread that is to call back executes this one first.
        let queued = transaction.core().submit(Length::Long, |_| Ok(3)).unwrap();
        let (sender, told) = mpsc::channel();
        let within = transaction.clone();
        done.on_done(move |_| {
            let waited_for = within
                .core()
                .submit(Length::Long, |_| Ok(4))
                .unwrap()
                .wait();
            sender.send(waited_for).unwrap();
        });
        storage.run_until_idle();
        assert_eq!(told.recv().unwrap().unwrap(), 4);
        assert_eq!(queued.wait().unwrap(), 3);
    }
}

#[test]
fn a_dropped_request_is_executed_in_its_turn_and_its_failure_aborts_the_commit() {
    for mode in MODES {
        let storage = storage(mode);
        let connection = open(&storage, &["a"]);
        let transaction = write(&connection, &["a"]);
        let counter = Arc::new(AtomicU32::new(0));
        let count = || {
            let counter = Arc::clone(&counter);
            move |_: &mut Execution| Ok(counter.fetch_add(1, Ordering::Relaxed))
        };
        // Whose requests are gone when it is executed, and whose is there.
        for number in 0..100 {
            drop(transaction.core().submit(Length::Short, count()).unwrap());
            let kept = transaction.core().submit(Length::Short, count()).unwrap();
            if number % 10 == 0 {
                assert_eq!(kept.wait().unwrap(), 2 * number + 1);
            }
        }
        let fail =
            |_: &mut Execution| -> Result<()> { Err(Error::new(ErrorName::DataError, "test")) };
        drop(transaction.core().submit(Length::Short, fail).unwrap());
        drop(transaction.core().submit(Length::Short, count()).unwrap());
        let committed = transaction.commit().unwrap().wait();
        assert_eq!(committed.unwrap_err().name(), ErrorName::DataError);
        assert!((200..=201).contains(&counter.load(Ordering::Relaxed)));
        storage.close().unwrap();
    }
}

#[test]
fn a_long_operation_sees_that_the_transaction_was_aborted() {
    for mode in MODES {
        let storage = storage(mode);
        let connection = open(&storage, &["a"]);
        let transaction = write(&connection, &["a"]);
        let (sender, seen) = mpsc::channel();
        let handle = transaction.clone();
        let operation = move |execution: &mut Execution| {
            let before = execution.check_cancelled();
            handle.abort(None)?;
            let after = execution.check_cancelled();
            sender.send((before, after)).unwrap();
            Ok(())
        };
        let error = transaction
            .core()
            .submit(Length::Long, operation)
            .unwrap()
            .wait()
            .unwrap_err();
        assert_eq!(error.name(), ErrorName::AbortError, "{mode:?}");
        let (before, after) = seen.recv().unwrap();
        assert!(before.is_ok(), "{mode:?}");
        assert_eq!(after.unwrap_err().name(), ErrorName::AbortError, "{mode:?}");
    }
}

#[test]
fn what_lies_in_the_queue_counts_by_the_memory_that_it_holds() {
    let storage = storage(MODES[0]);
    let connection = open(&storage, &["a"]);
    let put = |transaction: &Transaction, len: usize, key: Key| {
        let a = transaction.object_store("a").unwrap();
        let mut bytes = Value::serialize("").unwrap().bytes().to_vec();
        bytes.resize(len, 0);
        a.put(Value::from_bytes(bytes), Some(key)).unwrap().detach();
    };
    // What is queued, and how many of them are 16 MiB.
    type Queue<'a> = &'a dyn Fn(&Transaction);
    let cases: [(&str, Queue<'_>, usize); 6] = [
        (
            "long",
            &|t| drop(t.core().submit(Length::Long, |_| Ok(())).unwrap()),
            32,
        ),
        (
            "short",
            &|t| drop(t.core().submit(Length::Short, |_| Ok(())).unwrap()),
            3856,
        ),
        (
            "gets",
            &|t| drop(t.object_store("a").unwrap().get(1.0).unwrap()),
            65_536,
        ),
        ("puts", &|t| put(t, 768, 1.0.into()), 16_384),
        (
            "long keys",
            &|t| put(t, 768, Key::Binary(vec![0; 1024])),
            8192,
        ),
        ("puts of more", &|t| put(t, 4096, 1.0.into()), 3856),
    ];
    for (name, queue, count) in cases {
        // Nothing is executed until the one before it has ended.
        let before = write(&connection, &["a"]);
        let transaction = write(&connection, &["a"]);
        (1..count).for_each(|_| queue(&transaction));
        let is_much = || locked(&transaction.core().shared).queue.is_full();
        assert!(!is_much(), "{name}");
        queue(&transaction);
        assert!(is_much(), "{name}");
        before.abort(None).unwrap();
        before.finished().wait().unwrap_err();
        transaction.abort(None).unwrap();
        transaction.finished().wait().unwrap_err();
    }
    storage.close().unwrap();
}

#[test]
fn many_operations_are_executed_though_no_result_is_awaited() {
    let storage = storage(MODES[0]);
    let connection = open(&storage, &["a"]);
    let transaction = write(&connection, &["a"]);
    let (told, tell) = mpsc::channel();
    for number in 0..32 {
        let told = told.clone();
        let operation = move |_: &mut Execution| {
            let _ = told.send(number);
            Ok(())
        };
        drop(transaction.core().submit(Length::Long, operation).unwrap());
    }
    // No other thread is there to execute them.
    let done: Vec<i32> = tell.iter().take(32).collect();
    assert_eq!(done, (0..32).collect::<Vec<_>>());
    drop(transaction);
    storage.close().unwrap();
}

#[test]
fn a_failure_that_was_not_seen_before_commit_aborts() {
    for mode in MODES {
        let storage = storage(mode);
        let connection = open(&storage, &["a"]);
        let fail = |_: &mut Execution| -> Result<()> {
            Err(Error::new(ErrorName::ConstraintError, "test"))
        };
        // Seen.
        let transaction = write(&connection, &["a"]);
        let error = transaction
            .core()
            .submit(Length::Long, fail)
            .unwrap()
            .wait()
            .unwrap_err();
        assert_eq!(error.name(), ErrorName::ConstraintError);
        transaction.commit().unwrap().wait().unwrap();
        // Not seen, executed or not.
        let transaction = write(&connection, &["a"]);
        let failed = transaction.core().submit(Length::Long, fail).unwrap();
        transaction
            .core()
            .submit(Length::Long, |_| Ok(()))
            .unwrap()
            .wait()
            .unwrap();
        let after = transaction.core().submit(Length::Long, |_| Ok(())).unwrap();
        let end = transaction.commit().unwrap();
        assert_eq!(
            failed.wait().unwrap_err().name(),
            ErrorName::ConstraintError
        );
        assert_eq!(after.wait().unwrap_err().name(), ErrorName::AbortError);
        assert_eq!(end.wait().unwrap_err().name(), ErrorName::ConstraintError);
        assert_eq!(
            transaction.error().unwrap().name(),
            ErrorName::ConstraintError
        );
        // Only after the call.
        let transaction = write(&connection, &["a"]);
        let failed = transaction.core().submit(Length::Long, fail).unwrap();
        let end = transaction.commit().unwrap();
        assert!(failed.wait().is_err());
        assert_eq!(end.wait().unwrap_err().name(), ErrorName::ConstraintError);
    }
}

#[test]
fn abort_ends_requests_in_order_before_the_transaction() {
    for mode in MODES {
        let storage = storage(mode);
        let connection = open(&storage, &["a"]);
        let transaction = write(&connection, &["a"]);
        let (sender, told) = mpsc::channel();
        for number in 0..3 {
            let sender = sender.clone();
            let request = transaction.core().submit(Length::Long, |_| Ok(())).unwrap();
            if number > 0 {
                request.on_done(move |result| sender.send((number, result.err())).unwrap());
            }
        }
        transaction
            .finished()
            .on_done(move |result| sender.send((3, result.err())).unwrap());
        transaction.abort(None).unwrap();
        assert_eq!(
            transaction.abort(None).unwrap_err().name(),
            ErrorName::InvalidStateError
        );
        assert!(transaction.finished().wait().is_err());
        storage.close().unwrap();
        let told: Vec<_> = told.iter().collect();
        let numbers: Vec<u32> = told.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 2, 3]);
        assert_eq!(told[2].1.as_ref().unwrap().name(), ErrorName::AbortError);
    }
}

#[test]
fn overlapping_writers_take_turns_and_disjoint_ones_do_not() {
    for mode in MODES {
        let storage = storage(mode);
        let connection = open(&storage, &["a", "b"]);
        let first = write(&connection, &["a"]);
        let second = write(&connection, &["a", "b"]);
        let third = write(&connection, &["b"]);
        let other = open(&storage, &[]);
        first
            .core()
            .submit(Length::Long, |_| Ok(()))
            .unwrap()
            .wait()
            .unwrap();
        let mut waiting = second.core().submit(Length::Long, |_| Ok(())).unwrap();
        let end = second.commit().unwrap();
        let mut last = third.core().submit(Length::Long, |_| Ok(())).unwrap();
        assert!(waiting.try_take().is_none() && last.try_take().is_none());
        first.commit().unwrap().wait().unwrap();
        end.wait().unwrap();
        last.try_take();
        third.commit().unwrap().wait().unwrap();
        drop(other);
    }
}

#[test]
fn an_upgrade_waits_for_other_connections_and_says_so() {
    for mode in MODES {
        let storage = storage(mode);
        let connection = open(&storage, &["a"]);
        let events = connection.events();
        assert!(events.try_next().is_none());
        let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
        let request = factory.open("db", Some(2)).unwrap();
        let Some(ConnectionEvent::VersionChange(change)) = events.wait_next() else {
            panic!("no version change");
        };
        assert_eq!((change.old_version(), change.new_version()), (1, Some(2)));
        assert!(request.events().try_next().is_none());
        drop(change);
        assert!(matches!(
            request.events().wait_next(),
            Some(OpenEvent::Blocked { .. })
        ));
        connection.close();
        assert!(connection.is_close_pending());
        let Some(OpenEvent::UpgradeNeeded(upgrade)) = request.events().wait_next() else {
            panic!("no upgrade");
        };
        assert_eq!(upgrade.connection.version(), 2);
        upgrade.transaction.abort(None).unwrap();
        assert_eq!(upgrade.connection.version(), 1);
        let Some(OpenEvent::Done(Err(error))) = request.events().wait_next() else {
            panic!("no error");
        };
        assert_eq!(error.name(), ErrorName::AbortError);
        assert!(request.events().wait_next().is_none());
        assert_eq!(factory.databases().wait().unwrap()[0].version, 1);
    }
}

#[test]
fn a_cursor_that_is_dropped_before_it_is_there_keeps_nothing() {
    let storage = storage(MODES[0]);
    let inner = Arc::downgrade(storage.inner());
    let connection = open(&storage, &["a"]);
    let transaction = write(&connection, &["a"]);
    let store = transaction.object_store("a").unwrap();
    drop(store.open_cursor(KeyRange::all(), CursorDirection::Next));
    drop((store, transaction, connection, storage));
    // A thread of the storage's executes it; ten seconds are enough on any machine.
    for _ in 0..10_000 {
        if inner.strong_count() == 0 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("the cursor's operation keeps the storage");
}

/// Whatever is let go of in whatever state: nothing keeps the store open.
#[test]
fn everything_may_be_dropped_at_any_moment() {
    for mode in MODES {
        for steps in 0..40 {
            let fs = Arc::new(larder_leveldb::storage::MemoryFileSystem::new());
            drop_at(&fs, mode, steps);
            let options = StorageOptions::new(fs, "idb", Arc::new(FixedClock::default()));
            let storage = Storage::new(options).unwrap();
            let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
            // With threads, they may still be at it.
            while let Err(error) = factory.open("db", None).unwrap().connection().wait() {
                assert_eq!(error.kind(), crate::ErrorKind::Conflict);
                assert!(
                    matches!(mode, Executor::Threads(_)),
                    "{mode:?} {steps}: {error}"
                );
                std::thread::yield_now();
            }
        }
    }
}

fn drop_at(fs: &Arc<larder_leveldb::storage::MemoryFileSystem>, mode: Executor, steps: u64) {
    let mut options =
        StorageOptions::new(Arc::clone(fs) as _, "idb", Arc::new(FixedClock::default()));
    options.executor = mode;
    let storage = Storage::new(options).unwrap();
    let origin = Origin::from_url("https://a.example").unwrap();
    let factory = storage.factory(&origin);
    let request = factory.open("db", Some(1 + steps / 20)).unwrap();
    let (sender, told) = mpsc::channel();
    let request = request.with_upgrade(move |upgrade| {
        let name = JsString::from(format!("s{steps}").as_str());
        let parameters = ObjectStoreParameters::default();
        upgrade.transaction.create_object_store(&name, parameters)?;
        sender.send(upgrade.transaction.clone()).unwrap();
        Ok(())
    });
    let mut left = steps;
    while left > 0 && storage.run_one() {
        left -= 1;
    }
    let Ok(transaction) = told.try_recv() else {
        return;
    };
    let holder = transaction.clone();
    let holding = transaction.core().submit_holding(move |_| Ok(holder));
    if steps.is_multiple_of(2) {
        drop(holding);
        drop(request);
    } else if let Ok(holding) = holding {
        holding.on_done(|_| ());
        request.on_done(|_| ());
    }
}
