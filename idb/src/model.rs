//! Laws of which thread executes, which waits and which it wakes, under many schedules (`--cfg shuttle`; CONTRIBUTING.md has the command).
//!
//! Stores are in memory; their own threads and locks are the machine's, and nothing waits for them for long.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use larder_backing_store::FixedClock;
use larder_codec::{JsString, Key, Origin};

use crate::connection::Connection;
use crate::error::Result;
use crate::execution::{Length, TransactionMode};
use crate::executor::{Executor, WorkCallback};
use crate::object_store::ObjectStoreParameters;
use crate::open_request::OpenEvent;
use crate::operation::Execution;
use crate::options::StorageOptions;
use crate::request::Request;
use crate::storage::Storage;
use crate::sync::{Mutex, locked, thread};
use crate::transaction::{Transaction, TransactionOptions};
use crate::value::Value;

/// Runs `law` under so many schedules; each starts with a storage of one or two threads.
fn check(schedules: usize, law: impl Fn(Storage) + Send + Sync + 'static) {
    check_with(schedules, |_| {}, law);
}

/// As [`check`], with the storage set up by `change`, too.
fn check_with(
    schedules: usize,
    change: fn(&mut StorageOptions),
    law: impl Fn(Storage) + Send + Sync + 'static,
) {
    let law = Arc::new(law);
    for threads in 1..=2 {
        let law = Arc::clone(&law);
        shuttle::check_random(
            move || {
                let mut options = options(threads);
                change(&mut options);
                law(Storage::new(options).unwrap());
            },
            schedules,
        );
    }
}

fn options(threads: usize) -> StorageOptions {
    let mut options = StorageOptions::in_memory(Arc::new(FixedClock::default()));
    options.executor = Executor::Threads(NonZeroUsize::new(threads).unwrap());
    options.background_threads = NonZeroUsize::MIN;
    options
}

fn open(storage: &Storage) -> Connection {
    ask_to_open(storage).wait().unwrap()
}

fn ask_to_open(storage: &Storage) -> Request<Connection> {
    let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
    let request = factory.open("db", None).unwrap();
    request.with_upgrade(|upgrade| {
        let parameters = ObjectStoreParameters::default();
        upgrade.transaction.create_object_store("a", parameters)?;
        Ok(())
    })
}

fn write(connection: &Connection) -> Transaction {
    let names: [JsString; 1] = ["a".into()];
    let options = TransactionOptions::default();
    connection
        .transaction(&names, TransactionMode::ReadWrite, options)
        .unwrap()
}

/// The numbers of the operations that were executed.
type Log = Arc<Mutex<Vec<u32>>>;

/// As [`check`], with a connection, which is closed at the end like the storage, and a log.
fn check_connected(schedules: usize, law: impl Fn(&Connection, &Log) + Send + Sync + 'static) {
    check(schedules, move |storage| {
        let connection = open(&storage);
        law(&connection, &Log::default());
        drop(connection);
        storage.close().unwrap();
    });
}

/// An operation that notes its number.
fn note(log: &Log, number: u32) -> impl FnOnce(&mut Execution) -> Result<u32> + use<> {
    let log = Arc::clone(log);
    move |_| {
        locked(&log).push(number);
        Ok(number)
    }
}

#[test]
fn model_threads_that_wait_share_a_transaction() {
    check_connected(2000, |connection, log| {
        let transaction = write(connection);
        let others: Vec<_> = (0..2)
            .map(|thread| {
                let (transaction, log) = (transaction.clone(), Arc::clone(log));
                thread::spawn(move || {
                    let first = transaction
                        .core()
                        .submit(Length::Long, note(&log, thread * 10))
                        .unwrap();
                    let second = transaction
                        .core()
                        .submit(Length::Short, note(&log, thread * 10 + 1));
                    let second = second.unwrap();
                    if thread == 0 {
                        first.on_done(drop);
                    } else {
                        drop(first);
                    }
                    assert_eq!(second.wait().unwrap(), thread * 10 + 1);
                })
            })
            .collect();
        for other in others {
            other.join().unwrap();
        }
        transaction.commit().unwrap().wait().unwrap();
        let log = locked(log).clone();
        assert_eq!(log.len(), 4);
        for thread in 0..2 {
            let own: Vec<u32> = log
                .iter()
                .copied()
                .filter(|number| number / 10 == thread)
                .collect();
            assert_eq!(own, [thread * 10, thread * 10 + 1]);
        }
    });
}

/// Gets and puts, whose place for the result is all that threads share, beside one whose request is let go while it is executed.
#[test]
fn model_threads_put_and_get_in_one_transaction() {
    check_connected(2000, |connection, _| {
        let transaction = write(connection);
        let others: Vec<_> = (0..2_u8)
            .map(|thread| {
                let store = transaction.object_store("a").unwrap();
                thread::spawn(move || {
                    let key = Key::Number(f64::from(thread));
                    let value = Value::serialize(&thread).unwrap();
                    let put = store.put(value, Some(key.clone())).unwrap();
                    let get = store.get(key.clone()).unwrap();
                    if thread == 0 {
                        assert_eq!(put.wait().unwrap(), key);
                    } else {
                        drop(put);
                    }
                    let found = get.wait().unwrap().unwrap();
                    assert_eq!(found.deserialize::<u8>().unwrap(), thread);
                })
            })
            .collect();
        for other in others {
            other.join().unwrap();
        }
        transaction.commit().unwrap().wait().unwrap();
    });
}

/// The thread that waits for the first result asks for the token, and is gone when it is handed over.
#[test]
fn model_what_is_to_be_called_back_goes_on_though_somebody_waited_for_less() {
    check_connected(2000, |connection, log| {
        let transaction = write(connection);
        let first = transaction
            .core()
            .submit(Length::Long, note(log, 1))
            .unwrap();
        let second = transaction
            .core()
            .submit(Length::Short, note(log, 2))
            .unwrap();
        let told = Arc::new(AtomicU32::new(0));
        let (copy, this) = (Arc::clone(&told), thread::current());
        second.on_done(move |result| {
            copy.store(result.unwrap(), Ordering::Release);
            this.unpark();
        });
        assert_eq!(first.wait().unwrap(), 1);
        while told.load(Ordering::Acquire) == 0 {
            thread::park();
        }
        assert_eq!(*locked(log), [1, 2]);
    });
}

/// Three wait for three results of one transaction, one of them as a future, while others wait for its end.
#[test]
fn model_several_wait_for_one_transaction_and_others_for_its_commit() {
    check_connected(1000, |connection, log| {
        let first = write(connection);
        let second = write(connection);
        let requests = (0..3).map(|number| {
            first
                .core()
                .submit(Length::Short, note(log, number))
                .unwrap()
        });
        let waiters = requests.collect::<Vec<_>>().into_iter().enumerate();
        let waiters: Vec<_> = waiters
            .map(|(number, request)| {
                thread::spawn(move || match number {
                    1 => shuttle::future::block_on(request),
                    _ => request.wait(),
                })
            })
            .collect();
        let last = {
            let log = Arc::clone(log);
            thread::spawn(move || {
                second
                    .core()
                    .submit(Length::Long, note(&log, 3))
                    .unwrap()
                    .wait()
            })
        };
        first.commit().unwrap().detach();
        for (number, waiter) in waiters.into_iter().enumerate() {
            assert_eq!(waiter.join().unwrap().unwrap(), number as u32);
        }
        assert_eq!(last.join().unwrap().unwrap(), 3);
        assert_eq!(*locked(log), [0, 1, 2, 3]);
    });
}

#[test]
fn model_futures_are_woken() {
    check_connected(2000, |connection, log| {
        let transaction = write(connection);
        let first = transaction
            .core()
            .submit(Length::Long, note(log, 1))
            .unwrap();
        let second = transaction
            .core()
            .submit(Length::Long, note(log, 2))
            .unwrap();
        let finished = transaction.finished();
        let waiter = thread::spawn(move || shuttle::future::block_on(finished));
        assert_eq!(shuttle::future::block_on(second).unwrap(), 2);
        assert_eq!(shuttle::future::block_on(first).unwrap(), 1);
        transaction.commit().unwrap().detach();
        waiter.join().unwrap().unwrap();
    });
}

#[test]
fn model_abort_beside_requests_completes_all_of_them_in_order() {
    check_connected(2000, |connection, log| {
        let transaction = write(connection);
        let told = Arc::new(AtomicU32::new(0));
        let other = {
            let transaction = transaction.clone();
            thread::spawn(move || drop(transaction.abort(None)))
        };
        for number in 0..3 {
            if let Ok(request) = transaction.core().submit(Length::Long, note(log, number)) {
                let told = Arc::clone(&told);
                request.on_done(move |_| {
                    assert_eq!(told.fetch_add(1, Ordering::Relaxed), number);
                });
            }
        }
        drop(transaction.commit());
        drop(transaction.finished().wait());
        other.join().unwrap();
    });
}

#[test]
fn model_transactions_take_turns_though_nobody_looks_at_their_commits() {
    check_connected(2000, |connection, log| {
        let first = write(connection);
        let second = write(connection);
        let committer = {
            let (first, log) = (first.clone(), Arc::clone(log));
            thread::spawn(move || {
                let request = first.core().submit(Length::Long, note(&log, 1)).unwrap();
                (request, first.commit().unwrap())
            })
        };
        second
            .core()
            .submit(Length::Long, note(log, 2))
            .unwrap()
            .wait()
            .unwrap();
        drop(committer.join().unwrap());
        assert_eq!(*locked(log), [1, 2]);
        drop((first, second));
        connection.close();
    });
}

#[test]
fn model_an_upgrade_gets_through_whenever_connections_close() {
    check(1000, |storage| {
        let connection = open(&storage);
        let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
        let closer = thread::spawn(move || {
            let events = connection.events();
            drop(events.wait_next());
            connection.close();
        });
        let request = factory.open("db", Some(2)).unwrap();
        loop {
            match request.events().wait_next() {
                Some(OpenEvent::Blocked { .. }) => {}
                Some(OpenEvent::UpgradeNeeded(upgrade)) => drop(upgrade.transaction.commit()),
                Some(OpenEvent::Done(done)) => break assert_eq!(done.unwrap().version(), 2),
                None => unreachable!("no end"),
            }
        }
        closer.join().unwrap();
        storage.close().unwrap();
    });
}

/// Few schedules let all of an abort pass between two steps of the upgrade's beginning: those that keep one thread back do.
#[test]
fn model_an_upgrade_that_begins_beside_a_forced_close_comes_to_an_end() {
    let law = || {
        let storage = Storage::new(options(2)).unwrap();
        let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
        let request = factory.open("db", Some(1)).unwrap();
        let other = thread::spawn(move || factory.force_close(None));
        let connection = request.connection().wait();
        other.join().unwrap();
        drop(connection);
        storage.close().unwrap();
    };
    shuttle::check_pct(law, 5000, 3);
}

#[test]
fn model_a_connection_that_is_made_beside_the_storages_end_is_told_of_it() {
    check(2000, |storage| {
        drop(open(&storage));
        let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
        let request = factory.open("db", None).unwrap();
        drop(factory);
        let closer = thread::spawn(move || storage.close().unwrap());
        let connection = request.connection().wait();
        closer.join().unwrap();
        if let Ok(connection) = connection {
            assert!(connection.is_close_pending(), "it is open");
        }
    });
}

/// The threads may have ended when the commit ends, which lets the request to open go on.
#[test]
fn model_who_waits_is_told_though_the_storage_is_closed_beside_a_commit() {
    check(1000, |storage| {
        let connection = open(&storage);
        let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
        let transaction = write(&connection);
        let request = factory.open("db", Some(2)).unwrap();
        let opener = thread::spawn(move || request.connection().wait());
        let committer = thread::spawn(move || {
            let request = transaction.commit().map(crate::Request::wait);
            drop(request);
        });
        drop(connection);
        storage.close().unwrap();
        committer.join().unwrap();
        drop(opener.join().unwrap());
    });
}

#[test]
fn model_everything_may_go_beside_what_runs() {
    check(1000, |storage| {
        let connection = open(&storage);
        let transaction = write(&connection);
        let store = transaction.object_store("a").unwrap();
        let cursor = store.open_cursor(
            Key::Number(1.0),
            larder_backing_store::CursorDirection::Next,
        );
        let other = thread::spawn(move || drop((transaction, cursor)));
        drop(connection);
        drop(storage);
        drop(store);
        other.join().unwrap();
    });
}

/// A store is closed as soon as it is not used.
fn at_once(options: &mut StorageOptions) {
    options.idle_grace = Duration::ZERO;
}

fn put_and_get(connection: &Connection, number: u8) {
    let transaction = write(connection);
    let store = transaction.object_store("a").unwrap();
    let key = Key::Number(f64::from(number));
    let value = Value::serialize(&number).unwrap();
    store.put(value, Some(key.clone())).unwrap().detach();
    let found = store.get(key).unwrap().wait().unwrap().unwrap();
    assert_eq!(found.deserialize::<u8>().unwrap(), number);
    transaction.commit().unwrap().wait().unwrap();
}

#[test]
fn model_a_store_that_is_closed_when_nobody_uses_it_comes_back_for_whoever_asks() {
    check_with(1000, at_once, |storage| {
        drop(open(&storage));
        let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
        let others: Vec<_> = (0..2)
            .map(|number| {
                let storage = storage.clone();
                thread::spawn(move || put_and_get(&open(&storage), number))
            })
            .collect();
        assert_eq!(factory.databases().wait().unwrap().len(), 1);
        for other in others {
            other.join().unwrap();
        }
        let connection = open(&storage);
        let transaction = write(&connection);
        let store = transaction.object_store("a").unwrap();
        let key = Key::Number(1.0);
        assert!(store.get(key).unwrap().wait().unwrap().is_some());
        drop((store, transaction, connection, factory));
        storage.close().unwrap();
    });
}

/// No store is closed here: a request that comes between the last user and the list of idle stores gets the store all the same.
#[test]
fn model_who_comes_as_the_last_user_goes_has_the_store() {
    check(1000, |storage| {
        drop(open(&storage));
        let others: Vec<_> = (0..2)
            .map(|_| {
                let storage = storage.clone();
                thread::spawn(move || (0..2).for_each(|_| drop(open(&storage))))
            })
            .collect();
        for other in others {
            other.join().unwrap();
        }
        storage.close().unwrap();
    });
}

#[test]
fn model_who_waits_for_a_store_that_is_being_closed_is_told_of_the_storages_end() {
    check_with(1000, at_once, |storage| {
        drop(open(&storage));
        let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
        let closer = thread::spawn(move || storage.close().unwrap());
        drop(factory.databases().wait());
        drop(factory.close().wait());
        closer.join().unwrap();
    });
}

#[test]
fn model_other_origins_make_room_for_each_other() {
    let one = |options: &mut StorageOptions| {
        options.idle_stores_max = 1;
    };
    check_with(500, one, |storage| {
        let others: Vec<_> = ["a", "b", "c"]
            .map(|name| {
                let storage = storage.clone();
                thread::spawn(move || {
                    let origin = Origin::from_url(&format!("https://{name}.example")).unwrap();
                    for _ in 0..2 {
                        let request = storage.factory(&origin).open("db", None);
                        drop(request.unwrap().connection().wait().unwrap());
                    }
                })
            })
            .into();
        for other in others {
            other.join().unwrap();
        }
        storage.close().unwrap();
    });
}

/// A host's loop sleeps until it is called, beside threads that ask for something and wait for it without a step of their own. With a
/// wake-up too few nothing would come to its end.
#[test]
fn model_a_loop_that_sleeps_until_it_is_called_misses_nothing() {
    let law = || {
        let (sender, calls) = shuttle::sync::mpsc::channel();
        let mut options = options(1);
        options.executor = Executor::Driven { seed: None };
        let on_work = sender.clone();
        options.on_work = Some(WorkCallback::new(move || on_work.send(true).unwrap_or(())));
        let storage = Storage::new(options).unwrap();
        let driven = storage.clone();
        let host_loop = thread::spawn(move || {
            while calls.recv().unwrap() {
                driven.run_until_idle();
            }
        });
        let connection = Arc::new(park_until_done(ask_to_open(&storage)).unwrap());
        let others: Vec<_> = (0..2)
            .map(|number| {
                let connection = Arc::clone(&connection);
                thread::spawn(move || {
                    let transaction = write(&connection);
                    let store = transaction.object_store("a").unwrap();
                    let value = Value::serialize(&number).unwrap();
                    let put = store.put(value, Some(Key::Number(f64::from(number))));
                    park_until_done(put.unwrap()).unwrap();
                    park_until_done(transaction.commit().unwrap()).unwrap();
                })
            })
            .collect();
        for other in others {
            other.join().unwrap();
        }
        sender.send(false).unwrap();
        host_loop.join().unwrap();
        storage.close().unwrap();
    };
    shuttle::check_random(law, 2000);
}

/// Sleeps until another thread has brought the result.
fn park_until_done<T: Send + 'static>(request: Request<T>) -> Result<T> {
    let done = Arc::new(Mutex::new(None));
    let (told, this) = (Arc::clone(&done), thread::current());
    request.on_done(move |result| {
        *locked(&told) = Some(result);
        this.unpark();
    });
    loop {
        if let Some(result) = locked(&done).take() {
            return result;
        }
        thread::park();
    }
}

/// Whatever has begun is committed, and when finishing has ended, the store is closed: another storage can have it.
#[test]
fn model_finishing_beside_transactions_and_opens_lets_all_that_have_begun_commit() {
    check(1000, |storage| {
        let fs = Arc::clone(&storage.inner().options().fs);
        let connection = open(&storage);
        let begun = write(&connection);
        // It may come before the end, or be refused; or get a connection that takes nothing any more.
        let opening = ask_to_open(&storage);
        let committed = Arc::new(AtomicU32::new(0));
        let others: Vec<_> = (0..2)
            .map(|number| {
                let (connection, committed) = (connection.clone(), Arc::clone(&committed));
                thread::spawn(move || {
                    let names: [JsString; 1] = ["a".into()];
                    let options = TransactionOptions::default();
                    let begun = connection.transaction(&names, TransactionMode::ReadWrite, options);
                    let Ok(transaction) = begun else { return };
                    let store = transaction.object_store("a").unwrap();
                    let value = Value::serialize(&number).unwrap();
                    let put = store.put(value, Some(Key::Number(f64::from(number))));
                    drop(put.unwrap());
                    transaction.commit().unwrap().wait().unwrap();
                    committed.fetch_add(1, Ordering::SeqCst);
                })
            })
            .collect();
        let finished = storage.finish();
        begun.commit().unwrap().wait().unwrap();
        finished.wait().unwrap();
        let mut options = options(1);
        options.fs = fs;
        let other = Storage::new(options).unwrap();
        let connection = open(&other);
        let transaction = write(&connection);
        let store = transaction.object_store("a").unwrap();
        let found = store.count(crate::KeyRange::all()).unwrap().wait().unwrap();
        for other in others {
            other.join().unwrap();
        }
        drop(opening.wait());
        assert_eq!(found, u64::from(committed.load(Ordering::SeqCst)));
        drop((store, transaction, connection));
        other.close().unwrap();
        storage.close().unwrap();
    });
}
