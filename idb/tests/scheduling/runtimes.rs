//! Requests as futures of two runtimes, and as calls that wait on several threads.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use larder_idb::{OpenEvent, StoredValue};

use super::*;

const COUNT: u32 = 500;

/// The program that every runtime runs: opens by events, upgrades, puts, reads back, pipelined and one at a time.
async fn program(storage: Storage) -> u32 {
    let request = factory(&storage).open("db", Some(2)).unwrap();
    let Some(OpenEvent::UpgradeNeeded(upgrade)) = request.events().next().await else {
        panic!("no upgrade");
    };
    let parameters = ObjectStoreParameters::default();
    let transaction = &upgrade.transaction;
    transaction.create_object_store("a", parameters).unwrap();
    transaction.commit().unwrap().await.unwrap();
    let Some(OpenEvent::Done(Ok(connection))) = request.events().next().await else {
        panic!("no connection");
    };
    assert!(request.events().next().await.is_none());

    let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
    let puts: Vec<_> = (0..COUNT)
        .map(|key| put(&transaction, "a", f64::from(key), &key.to_string()))
        .collect();
    for (number, put) in puts.into_iter().enumerate() {
        assert_eq!(put.await.unwrap(), Key::Number(number as f64));
    }
    transaction.commit().unwrap().await.unwrap();

    let transaction = begin(&connection, &["a"], TransactionMode::ReadOnly);
    let mut found = 0;
    for key in 0..COUNT {
        let got: Option<StoredValue> = get(&transaction, "a", f64::from(key)).await.unwrap();
        assert_eq!(
            got.unwrap().deserialize::<String>().unwrap(),
            key.to_string()
        );
        found += 1;
    }
    found
}

#[test]
fn tokio_on_one_thread_and_on_several() {
    for storage in [storage(EXECUTORS[0]), storage(EXECUTORS[1])] {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        assert_eq!(runtime.block_on(program(storage)), COUNT);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let one = runtime.spawn(program(storage(EXECUTORS[0])));
    let two = runtime.spawn(program(storage(EXECUTORS[1])));
    let both = runtime.block_on(async { (one.await.unwrap(), two.await.unwrap()) });
    assert_eq!(both, (COUNT, COUNT));
}

#[test]
fn a_plain_executor() {
    let found = futures_executor::block_on(program(storage(EXECUTORS[0])));
    assert_eq!(found, COUNT);
}

/// Only the host runs steps: between polls of its own loop.
#[test]
fn a_host_that_drives_and_polls() {
    for executor in [EXECUTORS[2], EXECUTORS[3]] {
        let storage = storage(executor);
        let mut task = pin!(program(storage.clone()));
        let mut context = Context::from_waker(Waker::noop());
        let found = loop {
            if let Poll::Ready(found) = task.as_mut().poll(&mut context) {
                break found;
            }
            assert!(storage.run_one(), "nothing can go on");
        };
        assert_eq!(found, COUNT);
    }
}

#[test]
fn threads_that_wait_share_a_transaction() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        std::thread::scope(|scope| {
            for thread in 0..3_u32 {
                let transaction = &transaction;
                scope.spawn(move || {
                    let mut pipelined = Vec::new();
                    for number in 0..200 {
                        let key = f64::from(thread * 1000 + number);
                        let request = put(transaction, "a", key, &key.to_string());
                        match number % 3 {
                            0 => drop(request),
                            1 => pipelined.push(request),
                            _ => drop(request.wait().unwrap()),
                        }
                        let found = text(get(transaction, "a", key).wait());
                        assert_eq!(found.unwrap(), key.to_string());
                    }
                    for request in pipelined {
                        request.wait().unwrap();
                    }
                });
            }
        });
        commit(&transaction).unwrap();
        let reader = begin(&connection, &["a"], TransactionMode::ReadOnly);
        let store = reader.object_store("a").unwrap();
        let count = store
            .count(larder_idb::KeyRange::all())
            .unwrap()
            .wait()
            .unwrap();
        assert_eq!(count, 600);
    }
}
