//! Caller-driven: one step at a time, in an order that the seed alone decides.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use larder_idb::WorkCallback;

use super::*;

/// Several writers and readers, all asked for before anything runs: in which order their requests were done, and what is in
/// the stores at the end.
fn run(seed: Option<u64>) -> (Vec<String>, Vec<Option<String>>) {
    let storage = storage(Executor::Driven { seed });
    let connection = open(&storage).wait().unwrap();
    let log = Log::default();
    let stores = ["a", "b", "c"];
    for round in 0..4 {
        for (number, store) in stores.iter().enumerate() {
            let mode = match (round + number) % 3 {
                0 => TransactionMode::ReadOnly,
                _ => TransactionMode::ReadWrite,
            };
            let transaction = begin(&connection, &[store], mode);
            for step in 0..3 {
                let what = format!("{round} {store} {step}");
                match mode {
                    TransactionMode::ReadOnly => log.watch(&what, get(&transaction, store, 1.0)),
                    _ => log.watch(&what, put(&transaction, store, 1.0, &what)),
                }
            }
            log.watch(
                &format!("{round} {store} end"),
                transaction.commit().unwrap(),
            );
        }
    }
    let mut steps = 0;
    while storage.run_one() {
        steps += 1;
    }
    assert!(steps >= 48, "a step executes one operation: {steps}");
    let contents = stores.map(|store| look(&connection, store, 1.0)).to_vec();
    (log.entries(), contents)
}

#[test]
fn the_same_seed_gives_the_same_interleaving_and_any_seed_the_same_result() {
    let (plain, contents) = run(None);
    assert_eq!(plain.len(), 48);
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let (order, same_contents) = run(Some(seed));
        assert_eq!(run(Some(seed)).0, order, "seed {seed}");
        assert_eq!(same_contents, contents, "seed {seed}");
        // Within a store everything has its order.
        for store in ["a", "b", "c"] {
            let within = |order: &[String]| -> Vec<String> {
                let is_it = |entry: &&String| entry.split(' ').nth(1) == Some(store);
                order.iter().filter(is_it).cloned().collect()
            };
            let rounds = |order: &[String]| -> Vec<String> {
                let mut within = within(order);
                within.sort();
                within
            };
            assert_eq!(rounds(&order), rounds(&plain));
        }
        orders.insert(order);
    }
    assert!(orders.len() > 10, "{} orders from 20 seeds", orders.len());
}

#[test]
fn nothing_happens_unless_the_host_asks() {
    let storage = storage(DRIVEN);
    let connection = open(&storage).wait().unwrap();
    storage.run_until_idle();
    let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
    let (mut first, mut second) = (
        put(&transaction, "a", 1.0, "x"),
        put(&transaction, "a", 2.0, "y"),
    );
    assert!(first.try_take().is_none());
    assert!(storage.run_one());
    assert!(first.try_take().is_some() && second.try_take().is_none());
    assert!(storage.run_one());
    assert!(second.try_take().is_some());
    assert!(!storage.run_one());
}

#[test]
fn a_waiting_thread_sleeps_until_another_thread_brings_work() {
    let storage = storage(DRIVEN);
    let connection = open(&storage).wait().unwrap();
    let first = begin(&connection, &["a"], TransactionMode::ReadWrite);
    let second = begin(&connection, &["a"], TransactionMode::ReadWrite);
    let waiting = put(&second, "a", 1.0, "second");
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| waiting.wait());
        drop(first);
        waiter.join().unwrap().unwrap();
    });
}

/// Three transactions that can all run, whose requests are queued before any is waited for with `wait`: which was done when.
fn waited_for(seed: Option<u64>, wait: impl Fn(&Storage, Request<Key>)) -> Vec<String> {
    let storage = storage(Executor::Driven { seed });
    let connection = open(&storage).wait().unwrap();
    storage.run_until_idle();
    let log = Log::default();
    let queued = ["a", "b", "c"].map(|store| {
        let transaction = begin(&connection, &[store], TransactionMode::ReadWrite);
        let watch = |step: u32| {
            let request = put(&transaction, store, step.into(), "x");
            log.watch(&format!("{store} {step}"), request);
        };
        (0..3).for_each(watch);
        let request = put(&transaction, store, 3.0, "x");
        (4..7).for_each(watch);
        (transaction, request)
    });
    let (transactions, [a, b, c]) = {
        let [a, b, c] = queued;
        ([a.0, b.0, c.0], [a.1, b.1, c.1])
    };
    for (store, request) in [("b", b), ("a", a)] {
        wait(&storage, request);
        log.note(format!("waited for {store}"));
    }
    log.note(format!(
        "commit of a: {:?}",
        commit(&transactions[0]).is_ok()
    ));
    let before = log.entries();
    // It has been done, or is done now: nothing else is.
    if c.is_done() {
        c.wait().unwrap();
        assert_eq!(log.entries(), before);
    }
    storage.run_until_idle();
    assert_eq!(log.entries().len(), 3 * 6 + 3);
    [before, log.entries()].concat()
}

#[test]
fn a_waiting_thread_takes_the_hosts_steps_until_the_result_is_there_and_no_more() {
    let seeds = (0..40).map(Some).chain([None]);
    let orders = seeds.map(|seed| {
        let by_steps = waited_for(seed, |storage, request| {
            while !request.is_done() {
                assert!(storage.run_one());
            }
            request.wait().unwrap();
        });
        let by_waiting = waited_for(seed, |_, request| drop(request.wait().unwrap()));
        assert_eq!(by_waiting, by_steps, "{seed:?}");
        by_waiting
    });
    let orders: std::collections::BTreeSet<_> = orders.collect();
    assert!(orders.len() > 20, "{}", orders.len());
}

/// A storage that its host drives, and how often the host has been called.
fn called_storage(change: impl FnOnce(&mut StorageOptions)) -> (Storage, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let mut options = either_form::options();
    options.executor = DRIVEN;
    let count = Arc::clone(&calls);
    options.on_work = Some(WorkCallback::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
    }));
    change(&mut options);
    (Storage::new(options).unwrap(), calls)
}

#[test]
fn the_host_is_called_once_for_all_that_comes_after_it_has_found_nothing_to_do() {
    let (storage, calls) = called_storage(|_| {});
    let is_called = || calls.swap(0, Ordering::SeqCst);
    assert_eq!((is_called(), storage.next_due()), (0, None));
    let opening = open(&storage);
    assert_eq!((is_called(), storage.next_due()), (1, Some(Duration::ZERO)));
    drop(factory(&storage).databases());
    assert_eq!(is_called(), 0, "it has yet to run steps");
    storage.run_until_idle();
    assert_eq!(is_called(), 0, "steps lead to steps");
    let connection = opening.wait().unwrap();

    let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
    let puts = [1.0, 2.0, 3.0].map(|key| put(&transaction, "a", key, "x"));
    assert_eq!(is_called(), 1);
    assert!(storage.run_one());
    puts.into_iter().for_each(drop);
    drop(put(&transaction, "a", 4.0, "x"));
    assert_eq!(is_called(), 0, "there was more to do all the time");
    storage.run_until_idle();
    assert_eq!(storage.next_due(), None);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| drop(put(&transaction, "a", 5.0, "x")));
        other.join().unwrap();
    });
    assert_eq!(is_called(), 1, "by another thread");
    storage.run_until_idle();

    // A thread that waits for a request executes it. The host may find nothing to do then.
    get(&transaction, "a", 5.0).wait().unwrap();
    assert_eq!((is_called(), storage.run_one()), (1, false));
    drop(transaction);
    assert_eq!(is_called(), 1, "dropped, it is aborted");
    storage.close().unwrap();
    assert_eq!(is_called(), 0, "who closes does what is left");
}

#[test]
fn a_host_that_panics_when_it_is_called_is_called_again_and_nothing_is_lost() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let (storage, _) = called_storage(|options| {
        options.on_work = Some(WorkCallback::new(move || {
            assert!(count.fetch_add(1, Ordering::SeqCst) > 0, "the host's panic");
        }));
    });
    let opening = open(&storage);
    storage.run_until_idle();
    let connection = opening.wait().unwrap();
    let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let put = put(&transaction, "a", 1.0, "x");
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    assert!(put.wait().is_ok());
}

#[test]
fn threads_call_no_host() {
    for executor in [EXECUTORS[0], EXECUTORS[1]] {
        let (storage, calls) = called_storage(|options| options.executor = executor);
        let connection = open(&storage).wait().unwrap();
        connection.close();
        storage.run_until_idle();
        assert_eq!(storage.next_due(), None);
        storage.close().unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), 0);
    }
}
