//! Laws of transactions: which thread executes, which waits, and which is woken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use larder_backing_store::CursorDirection;
use larder_codec::Key;

use super::{ask_to_open, check, open, options, write};
use crate::connection::Connection;
use crate::error::Result;
use crate::execution::Length;
use crate::executor::{Executor, WorkCallback};
use crate::request::Request;
use crate::storage::Storage;
use crate::sync::{Mutex, locked, thread};
use crate::transaction::Transaction;
use crate::value::Value;

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

/// Queues an operation that notes its number.
fn submit(
    transaction: &Transaction,
    length: Length,
    log: &Log,
    number: u32,
) -> Result<Request<u32>> {
    let log = Arc::clone(log);
    transaction.core().submit(length, move |_| {
        locked(&log).push(number);
        Ok(number)
    })
}

#[test]
fn threads_that_wait_share_a_transaction() {
    check_connected(2000, |connection, log| {
        let transaction = write(connection);
        let others: Vec<_> = (0..2)
            .map(|thread| {
                let (transaction, log) = (transaction.clone(), Arc::clone(log));
                thread::spawn(move || {
                    let first = submit(&transaction, Length::Long, &log, thread * 10).unwrap();
                    let second = submit(&transaction, Length::Short, &log, thread * 10 + 1);
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
fn threads_put_and_get_in_one_transaction() {
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

/// Gets that wait are read together with the first, while other threads queue more, wait for some, and abort.
#[test]
fn gets_are_read_ahead_while_threads_queue_and_one_aborts() {
    check_connected(1000, |connection, _| {
        let transaction = write(connection);
        let store = transaction.object_store("a").unwrap();
        let value = Value::serialize(&1).unwrap();
        drop(store.put(value, Some(Key::Number(1.0))).unwrap());
        let others: Vec<_> = (0..2_u8)
            .map(|thread| {
                let (transaction, store) = (transaction.clone(), store.clone());
                thread::spawn(move || {
                    let gets = (0..40).map_while(|n| store.get(Key::Number(f64::from(n % 2))).ok());
                    let gets: Vec<_> = gets.collect();
                    if thread == 0 {
                        drop(transaction.abort(None));
                    }
                    for (n, get) in gets.into_iter().enumerate() {
                        // Without a result only where the abort was first.
                        if let Ok(found) = get.wait() {
                            assert_eq!(found.is_some(), n % 2 == 1);
                        }
                    }
                })
            })
            .collect();
        for other in others {
            other.join().unwrap();
        }
        drop(transaction.finished().wait());
    });
}

/// Two threads queue so many puts that they execute them, with callbacks, beside one that commits. Each callback is called.
#[test]
fn threads_execute_the_puts_that_they_queue_while_another_commits() {
    check_connected(2000, |connection, _| {
        let transaction = write(connection);
        let (asked, told) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let others: Vec<_> = (0..2_u8)
            .map(|thread| {
                let store = transaction.object_store("a").unwrap();
                let (asked, told) = (Arc::clone(&asked), Arc::clone(&told));
                thread::spawn(move || {
                    for _ in 0..3 {
                        let value = Value::serialize(&thread).unwrap();
                        let key = Key::Number(f64::from(thread));
                        let Ok(put) = store.put(value, Some(key)) else {
                            return;
                        };
                        asked.fetch_add(1, Ordering::Relaxed);
                        let told = Arc::clone(&told);
                        put.on_done(move |key| {
                            assert_eq!(key.unwrap(), Key::Number(f64::from(thread)));
                            told.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                })
            })
            .collect();
        park_until_done(transaction.commit().unwrap()).unwrap();
        for other in others {
            other.join().unwrap();
        }
        let count = |of: &AtomicU32| of.load(Ordering::Relaxed);
        while count(&told) < count(&asked) {
            thread::yield_now();
        }
    });
}

/// The thread that waits for the first result asks for the token, and is gone when it is handed over.
#[test]
fn a_callback_is_called_though_its_thread_waited_only_for_an_earlier_result() {
    check_connected(2000, |connection, log| {
        let transaction = write(connection);
        let first = submit(&transaction, Length::Long, log, 1).unwrap();
        let second = submit(&transaction, Length::Short, log, 2).unwrap();
        let seen = Arc::new(AtomicU32::new(0));
        let (copy, this) = (Arc::clone(&seen), thread::current());
        second.on_done(move |result| {
            copy.store(result.unwrap(), Ordering::Release);
            this.unpark();
        });
        assert_eq!(first.wait().unwrap(), 1);
        while seen.load(Ordering::Acquire) == 0 {
            thread::park();
        }
        assert_eq!(*locked(log), [1, 2]);
    });
}

/// Three wait for three results of one transaction, one of them as a future, while others wait for its end.
#[test]
fn several_threads_wait_for_one_transaction_and_another_for_its_commit() {
    check_connected(1000, |connection, log| {
        let first = write(connection);
        let second = write(connection);
        let requests = (0..3).map(|number| submit(&first, Length::Short, log, number).unwrap());
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
            thread::spawn(move || submit(&second, Length::Long, &log, 3).unwrap().wait())
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
fn futures_are_woken() {
    check_connected(2000, |connection, log| {
        let transaction = write(connection);
        let first = submit(&transaction, Length::Long, log, 1).unwrap();
        let second = submit(&transaction, Length::Long, log, 2).unwrap();
        let finished = transaction.finished();
        let waiter = thread::spawn(move || shuttle::future::block_on(finished));
        assert_eq!(shuttle::future::block_on(second).unwrap(), 2);
        assert_eq!(shuttle::future::block_on(first).unwrap(), 1);
        transaction.commit().unwrap().detach();
        waiter.join().unwrap().unwrap();
    });
}

#[test]
fn abort_beside_requests_completes_all_of_them_in_order() {
    check_connected(2000, |connection, log| {
        let transaction = write(connection);
        let seen = Arc::new(AtomicU32::new(0));
        let other = {
            let transaction = transaction.clone();
            thread::spawn(move || drop(transaction.abort(None)))
        };
        for number in 0..3 {
            if let Ok(request) = submit(&transaction, Length::Long, log, number) {
                let seen = Arc::clone(&seen);
                request.on_done(move |_| {
                    assert_eq!(seen.fetch_add(1, Ordering::Relaxed), number);
                });
            }
        }
        drop(transaction.commit());
        drop(transaction.finished().wait());
        other.join().unwrap();
    });
}

#[test]
fn transactions_take_turns_though_no_thread_waits_for_their_commits() {
    check_connected(2000, |connection, log| {
        let first = write(connection);
        let second = write(connection);
        let committer = {
            let (first, log) = (first.clone(), Arc::clone(log));
            thread::spawn(move || {
                let request = submit(&first, Length::Long, &log, 1).unwrap();
                (request, first.commit().unwrap())
            })
        };
        submit(&second, Length::Long, log, 2)
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
fn handles_may_be_dropped_while_an_operation_runs() {
    check(1000, |storage| {
        let connection = open(&storage);
        let transaction = write(&connection);
        let store = transaction.object_store("a").unwrap();
        let cursor = store.open_cursor(Key::Number(1.0), CursorDirection::Next);
        let other = thread::spawn(move || drop((transaction, cursor)));
        drop(connection);
        drop(storage);
        drop(store);
        other.join().unwrap();
    });
}

/// A host's loop sleeps until it is called, beside threads that ask for something and wait for it without a step of their own. With a
/// wake-up too few nothing would come to its end.
#[test]
fn a_loop_that_sleeps_until_it_is_called_misses_nothing() {
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
    let (seen, this) = (Arc::clone(&done), thread::current());
    request.on_done(move |result| {
        *locked(&seen) = Some(result);
        this.unpark();
    });
    loop {
        if let Some(result) = locked(&done).take() {
            return result;
        }
        thread::park();
    }
}
