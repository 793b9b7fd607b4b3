//! Laws of stores: opening, upgrading, idleness and the end of the storage, each beside the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use larder_codec::{JsString, Key, Origin};

use super::{ask_to_open, check, check_with, open, options, write};
use crate::connection::Connection;
use crate::execution::TransactionMode;
use crate::execution::TransactionOptions;
use crate::open_request::OpenEvent;
use crate::options::StorageOptions;
use crate::storage::Storage;
use crate::sync::thread;
use crate::value::Value;

#[test]
fn an_upgrade_starts_whenever_the_other_connection_closes() {
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
fn an_upgrade_that_begins_beside_a_forced_close_comes_to_an_end() {
    let law = || {
        let storage = Storage::new(options(2)).unwrap();
        let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
        let request = factory.open("db", Some(1)).unwrap();
        let other = thread::spawn(move || factory.force_close(None).detach());
        let connection = request.connection().wait();
        other.join().unwrap();
        drop(connection);
        storage.close().unwrap();
    };
    shuttle::check_pct(law, 5000, 3);
}

#[test]
fn a_connection_made_while_the_storage_closes_is_close_pending() {
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
fn waits_end_though_the_storage_closes_during_a_commit() {
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
fn an_idle_store_that_was_closed_is_opened_again_for_the_next_request() {
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
fn a_request_that_comes_as_the_last_user_goes_gets_the_store() {
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
fn a_request_that_waits_for_a_closing_store_ends_with_the_storage() {
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
fn an_origin_that_opens_makes_others_close_their_idle_stores() {
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

/// Whatever has begun is committed, and when finishing has ended, the store is closed: another storage can have it.
#[test]
fn finishing_beside_transactions_and_opens_lets_all_that_have_begun_commit() {
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
