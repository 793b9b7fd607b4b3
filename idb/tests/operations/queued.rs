//! Gets and puts that are queued together, on several object stores and indexes, and not looked at until later or never.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use larder_idb::{
    ErrorName, Executor, GetAllOptions, Key, KeyRange, Request, StoredValue, TransactionMode, Value,
};

use super::{EXECUTORS, begin, finish, indexed_store, numbers, open, storage, store};

fn text(number: u64) -> String {
    format!("value {number}")
}

fn value(number: u64) -> Value {
    Value::serialize(&text(number)).unwrap()
}

fn key(number: u64) -> Key {
    Key::Number(number as f64)
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A request, and what it is to give.
enum Asked {
    Get(Request<Option<StoredValue>>, Option<u64>),
    Put(Request<Key>, u64),
    Count(Request<u64>, u64),
}

impl Asked {
    fn check(self) {
        match self {
            Self::Get(request, expected) => {
                let found = request.wait().unwrap();
                let found: Option<String> = found.map(|found| found.deserialize().unwrap());
                assert_eq!(found, expected.map(text));
            }
            Self::Put(request, expected) => assert_eq!(request.wait().unwrap(), key(expected)),
            Self::Count(request, expected) => assert_eq!(request.wait().unwrap(), expected),
        }
    }
}

/// A naive object store: values by key.
type Naive = BTreeMap<u64, u64>;

/// The value itself, if a record has it: what the index of whole values finds.
fn by_value(naive: &Naive, value: u64) -> Option<u64> {
    naive.values().any(|&one| one == value).then_some(value)
}

#[test]
fn requests_queued_together_go_each_to_their_own_store_or_index() {
    let two = Executor::Threads(NonZeroUsize::MIN.saturating_add(1));
    for executor in EXECUTORS.into_iter().chain([two]) {
        for seed in 1..=8 {
            println!("{executor:?}, seed {seed}");
            let storage = storage(executor);
            let connection = open(&storage, 1, |upgrade| {
                let transaction = &upgrade.transaction;
                transaction.create_object_store("t", Default::default())?;
                indexed_store(upgrade, Default::default(), Default::default()).map(drop)
            })
            .unwrap();
            let transaction = begin(&connection, TransactionMode::ReadWrite);
            let stores = [store(&transaction, "s"), store(&transaction, "t")];
            let index = stores[0].index("i").unwrap();
            let (mut naive, mut random) = ([Naive::new(), Naive::new()], seed);
            let mut asked = Vec::new();
            for number in 0..700 {
                let drawn = next(&mut random);
                let (which, at) = ((drawn >> 8) as usize % 2, (drawn >> 16) % 20);
                let (store, naive) = (&stores[which], &mut naive[which]);
                asked.push(match drawn % 16 {
                    0..6 => {
                        naive.insert(at, number);
                        let request = store.put(value(number), Some(key(at))).unwrap();
                        if drawn >> 40 & 1 == 0 {
                            drop(request);
                            continue;
                        }
                        Asked::Put(request, at)
                    }
                    6..11 => Asked::Get(store.get(key(at)).unwrap(), naive.get(&at).copied()),
                    11..15 if which == 0 => {
                        let wanted = number.saturating_sub(at);
                        let request = index.get(&*text(wanted)).unwrap();
                        Asked::Get(request, by_value(naive, wanted))
                    }
                    11..15 => continue,
                    _ => {
                        let request = store.count(KeyRange::all()).unwrap();
                        Asked::Count(request, naive.len() as u64)
                    }
                });
                if drawn >> 48 & 0x3f == 0 {
                    let at = (drawn >> 56) as usize % asked.len();
                    asked.swap_remove(at).check();
                }
            }
            asked.into_iter().for_each(Asked::check);
            for (store, naive) in stores.iter().zip(naive) {
                let all = store.get_all(KeyRange::all(), GetAllOptions::default());
                let all = all.unwrap().wait().unwrap();
                let all = all
                    .iter()
                    .map(|entry| (entry.key(), entry.deserialize().unwrap()));
                let expected = naive.into_iter().map(|(at, value)| (key(at), text(value)));
                assert_eq!(all.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
            }
            finish(&transaction);
            drop((stores, index, transaction, connection));
            storage.close().unwrap();
        }
    }
}

#[test]
fn a_small_put_that_fails_unseen_aborts() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage, 1, |upgrade| {
            indexed_store(upgrade, Default::default(), Default::default()).map(drop)
        })
        .unwrap();
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        let s = store(&transaction, "s");
        for _ in 0..2 {
            s.add(value(1), Some(key(1))).unwrap().detach();
        }
        let error = transaction.commit().unwrap().wait().unwrap_err();
        assert_eq!(error.name(), ErrorName::ConstraintError);
        let transaction = begin(&connection, TransactionMode::ReadOnly);
        let found = store(&transaction, "s").get(key(1)).unwrap().wait();
        assert!(found.unwrap().is_none());
    }
}

#[test]
fn gets_and_puts_that_are_still_queued_end_in_order_with_an_abort() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage, 1, |upgrade| {
            indexed_store(upgrade, Default::default(), Default::default()).map(drop)
        })
        .unwrap();
        let first = begin(&connection, TransactionMode::ReadWrite);
        let second = begin(&connection, TransactionMode::ReadWrite);
        let s = store(&second, "s");
        let told = Arc::new(Mutex::new(Vec::new()));
        let note = |number: u32| {
            let told = Arc::clone(&told);
            move |name: ErrorName| told.lock().unwrap().push((number, name))
        };
        // The first is in its way.
        let (a, b, c) = (note(1), note(2), note(3));
        let put = s.put(value(1), Some(key(1))).unwrap();
        put.on_done(move |result| a(result.unwrap_err().name()));
        let get = s.get(key(1)).unwrap();
        get.on_done(move |result| b(result.unwrap_err().name()));
        let count = s.count(KeyRange::all()).unwrap();
        count.on_done(move |result| c(result.unwrap_err().name()));
        let waited = s.get(key(1)).unwrap();
        second.abort(None).unwrap();
        assert_eq!(waited.wait().unwrap_err().name(), ErrorName::AbortError);
        assert!(second.finished().wait().is_err());
        finish(&first);
        storage.close().unwrap();
        let expected = [1, 2, 3].map(|number| (number, ErrorName::AbortError));
        assert_eq!(*told.lock().unwrap(), expected);
    }
}

/// They are executed when they hold a mebibyte. What was registered is called by a thread of the storage, not inside of a put.
#[test]
fn many_puts_are_executed_by_the_thread_that_queues_them() {
    let storage = storage(Executor::Threads(NonZeroUsize::MIN));
    let connection = numbers(&storage, 0);
    // The storage's only thread waits in a callback.
    let (begun, has_begun) = mpsc::channel();
    let (go_on, goes_on) = mpsc::channel();
    let before = begin(&connection, TransactionMode::ReadWrite);
    before.commit().unwrap().on_done(move |_| {
        begun.send(()).unwrap();
        goes_on.recv().unwrap();
    });
    has_begun.recv().unwrap();

    let transaction = begin(&connection, TransactionMode::ReadWrite);
    let s = store(&transaction, "s");
    let put = |number: u64| {
        let mut bytes = value(number).bytes().to_vec();
        // With its place in the queue 1 KiB.
        bytes.resize(768, 0);
        s.put(Value::from_bytes(bytes), Some(key(number))).unwrap()
    };
    let (tell, told) = mpsc::channel();
    put(0).on_done(move |found| tell.send((thread::current().id(), found)).unwrap());
    let requests: Vec<_> = (1..1023).map(put).collect();
    assert!(requests.iter().all(|request| !request.is_done()));
    // The first run has a callback, which is due then.
    let last = put(1023);
    assert!(requests[14].is_done() && !requests[15].is_done());
    let next: Vec<_> = (1024..2048).map(put).collect();
    assert!(
        requests
            .iter()
            .chain([&last])
            .chain(&next)
            .all(Request::is_done)
    );
    assert!(told.try_recv().is_err());
    go_on.send(()).unwrap();
    let (thread, found) = told.recv().unwrap();
    assert_eq!(found.unwrap(), key(0));
    assert_ne!(thread, thread::current().id());
    finish(&transaction);
}
