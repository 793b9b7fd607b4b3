//! A host's callback, waker or file system that panics loses nothing.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use larder_idb::TransactionDurability;
use larder_leveldb::storage::FaultFileSystem;

use super::*;

#[test]
fn a_callback_that_panics_stops_nothing() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let log = Log::default();
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        for number in 0..5 {
            let log = log.clone();
            put(&transaction, "a", f64::from(number), "x").on_done(move |result| {
                log.note(format!("put {number}"));
                result.unwrap();
                panic!("a host's mistake {number}");
            });
        }
        log.watch("end", transaction.finished());
        transaction.commit().unwrap().detach();
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
        let request = factory(&storage).open("db", None).unwrap();
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
        let request = factory(&storage).delete_database("db");
        if matches!(executor, Executor::Driven { .. }) {
            assert!(catch_unwind(AssertUnwindSafe(|| storage.run_until_idle())).is_err());
        }
        // It was dispatched, panic or not.
        let blocked = request.events().wait_next();
        assert!(
            matches!(blocked, Some(larder_idb::DeleteEvent::Blocked { .. })),
            "{blocked:?}"
        );
        factory(&storage).force_close(None).detach();
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
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        let (inner, noting, of_inner) = (transaction.clone(), log.clone(), connection.clone());
        put(&transaction, "a", 1.0, "first").on_done(move |_| {
            let found = text(get(&inner, "a", 1.0).wait()).unwrap();
            noting.note(format!("found {found}"));
            let beside = begin(&of_inner, &["b"], TransactionMode::ReadWrite);
            put(&beside, "b", 1.0, "beside").wait().unwrap();
            commit(&beside).unwrap();
            noting.watch("second", put(&inner, "a", 2.0, "second"));
            inner.commit().unwrap().detach();
        });
        transaction.finished().wait().unwrap();
        assert_eq!(look(&connection, "a", 2.0).unwrap(), "second");
        assert_eq!(look(&connection, "b", 1.0).unwrap(), "beside");
        storage.close().unwrap();
        assert_eq!(log.entries(), ["found first", "second"]);
    }
}

/// A waker that panics, and counts how often.
#[derive(Default)]
struct BadWaker(AtomicU32);

impl Wake for BadWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("a host's mistake");
    }
}

/// Runs all steps: how many of them threw.
fn run_all(storage: &Storage) -> u32 {
    let mut thrown = 0;
    loop {
        match catch_unwind(AssertUnwindSafe(|| storage.run_one())) {
            Ok(true) => {}
            Ok(false) => return thrown,
            Err(_) => thrown += 1,
        }
    }
}

#[test]
fn a_waker_that_panics_keeps_no_result_from_others() {
    let storage = storage(DRIVEN);
    let connection = open(&storage).wait().unwrap();
    let bad = Arc::new(BadWaker::default());
    let waker = Waker::from(Arc::clone(&bad));
    let mut context = Context::from_waker(&waker);
    let log = Log::default();
    let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
    let mut first = put(&transaction, "a", 1.0, "x");
    let mut databases = factory(&storage).databases();
    let events = connection.events();
    let mut event = Box::pin(events.next());
    let mut committed = transaction.commit().unwrap();
    assert!(pin!(&mut first).poll(&mut context).is_pending());
    assert!(pin!(&mut committed).poll(&mut context).is_pending());
    assert!(pin!(&mut databases).poll(&mut context).is_pending());
    assert!(event.as_mut().poll(&mut context).is_pending());
    log.watch("end", transaction.finished());
    let behind = begin(&connection, &["a"], TransactionMode::ReadWrite);
    log.watch("behind", put(&behind, "a", 2.0, "y"));
    log.watch("behind's end", behind.commit().unwrap());
    assert_eq!(run_all(&storage), 3);
    assert_eq!(bad.0.load(Ordering::Relaxed), 3);
    assert_eq!(log.entries(), ["end", "behind", "behind's end"]);
    first.try_take().unwrap().unwrap();
    committed.try_take().unwrap().unwrap();
    assert_eq!(databases.try_take().unwrap().unwrap().len(), 1);
    // The waker of an event panics: the event's receiver goes on, and so does what follows from the event.
    let deleting = factory(&storage).delete_database("db");
    assert_eq!(run_all(&storage), 1);
    let told = event.as_mut().poll(&mut context);
    assert!(matches!(told, Poll::Ready(Some(_))), "{told:?}");
    drop(told);
    connection.close();
    assert_eq!(run_all(&storage), 0);
    let ended = std::iter::from_fn(|| deleting.events().try_next()).last();
    assert!(
        matches!(ended, Some(larder_idb::DeleteEvent::Done(Ok(1)))),
        "{ended:?}"
    );
}

#[test]
fn threads_outlive_a_waker_that_panics() {
    for executor in EXECUTORS.into_iter().take(2) {
        let storage = storage(executor);
        let bad = Arc::new(BadWaker::default());
        let waker = Waker::from(Arc::clone(&bad));
        let mut context = Context::from_waker(&waker);
        // More than there are threads.
        for _ in 0..4 {
            let mut databases = factory(&storage).databases();
            while pin!(&mut databases).poll(&mut context).is_pending() {
                std::thread::yield_now();
            }
            let mut opened = open(&storage);
            while pin!(&mut opened).poll(&mut context).is_pending() {
                std::thread::yield_now();
            }
        }
        let connection = open(&storage).wait().unwrap();
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        put(&transaction, "a", 1.0, "x").wait().unwrap();
        commit(&transaction).unwrap();
        storage.close().unwrap();
    }
}

/// A storage whose transactions write before they commit when they have a few records.
fn small_storage(fs: Arc<dyn FileSystem>) -> Storage {
    let mut options = StorageOptions::new(fs, "idb", Arc::new(FixedClock::default()));
    options.executor = DRIVEN;
    options.transaction_memory_bytes = 1_000;
    Storage::new(options).unwrap()
}

/// The end of a request, which must have one when nothing can be done any more.
fn end_of<T: Send + 'static>(storage: &Storage, mut request: Request<T>) -> Result<T> {
    storage.run_until_idle();
    request.try_take().unwrap()
}

/// Three records that do not fit into memory, committed or not: whether that went well.
fn write(storage: &Storage, connection: &Connection, is_committed: bool) -> bool {
    let options = TransactionOptions::new().durability(TransactionDurability::Strict);
    let begun = connection.transaction(["a"], TransactionMode::ReadWrite, options);
    let Ok(transaction) = begun else {
        return false;
    };
    let puts = [1.0, 2.0, 3.0].map(|key| put(&transaction, "a", key, &"x".repeat(600)));
    let has_put = puts.map(|put| end_of(storage, put).is_ok());
    let finished = transaction.finished();
    if is_committed {
        drop(transaction.commit());
    } else {
        drop(transaction.abort(None));
    }
    let finished = end_of(storage, finished);
    has_put == [true; 3] && finished.is_ok() == is_committed
}

/// Lists, opens, writes, upgrades with nothing, takes back, deletes, does maintenance and closes: what went well. The second is
/// that something was committed.
fn program(storage: &Storage) -> Vec<bool> {
    let factory = factory(storage);
    let mut went = vec![end_of(storage, factory.databases()).is_ok()];
    let opened = end_of(storage, open(storage));
    let has_committed = opened
        .as_ref()
        .is_ok_and(|connection| write(storage, connection, true));
    went.extend([has_committed, opened.is_ok()]);
    drop(opened);
    let upgrade = factory.open("db", Some(2)).unwrap().connection();
    let upgraded = end_of(storage, upgrade);
    went.push(upgraded.is_ok());
    if let Ok(connection) = &upgraded {
        went.push(write(storage, connection, false));
    }
    let other = factory.open("other", None).unwrap().connection();
    went.push(end_of(storage, other).is_ok());
    let deleted = factory.delete_database("other").done();
    went.push(end_of(storage, deleted).is_ok());
    for _ in 0..3 {
        went.push(end_of(storage, factory.maintain()).is_ok());
    }
    went.push(end_of(storage, factory.close()).is_ok());
    went
}

/// Wherever the host's file system panics once: every request ends, the next program goes through, and finds what was
/// committed.
#[test]
fn a_file_system_that_panics_ends_no_more_than_what_asked_it() {
    let mut count = 0;
    for target in 1.. {
        let fs = Arc::new(FaultFileSystem::new(Arc::new(MemoryFileSystem::new())));
        let is_armed = Arc::new(AtomicBool::new(true));
        let armed = Arc::clone(&is_armed);
        fs.watch(move |operation| {
            if operation == target && armed.swap(false, Ordering::Relaxed) {
                panic!("a host's mistake");
            }
        });
        // The first run makes the store, so that the second reads it.
        let storage = small_storage(fs.clone());
        let mut went = program(&storage);
        let has_committed = went[1];
        went.extend(program(&storage));
        let has_panicked = !is_armed.swap(false, Ordering::Relaxed);
        let connection = end_of(
            &storage,
            factory(&storage).open("db", None).unwrap().connection(),
        );
        let connection = connection.unwrap();
        if connection.object_store_names().is_empty() {
            assert!(!has_committed, "operation {target}: {went:?}");
        } else {
            let found = look(&connection, "a", 1.0);
            assert!(
                !has_committed || found.is_some(),
                "operation {target}: {went:?}"
            );
        }
        storage.close().unwrap();
        if !has_panicked {
            assert!(went.iter().all(|went| *went), "{target}: {went:?}");
            break;
        }
        count = target;
    }
    println!("{count} operations");
    assert!(count > 100, "{count}");
}
