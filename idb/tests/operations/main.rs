//! Object stores, indexes and cursors through the public interface, in each way of executing requests.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod cursors;
#[path = "../support/either_form.rs"]
mod either_form;
mod gets;
mod many;
mod puts;
mod queued;
mod ranges;
#[cfg(feature = "stream")]
mod streams;
mod version_changes;
mod versions;

use std::num::NonZeroUsize;
use std::sync::Arc;

use larder_idb::{
    Connection, ErrorName, Executor, FixedClock, IndexParameters, JsString, KeyPath, ObjectStore,
    ObjectStoreParameters, Origin, Request, Result, Storage, StorageOptions, Transaction,
    TransactionMode, TransactionOptions, Upgrade, Value,
};

/// Threads; the caller in order; the caller in an order of its own.
const EXECUTORS: [Executor; 3] = [
    Executor::Threads(NonZeroUsize::MIN),
    Executor::Driven { seed: None },
    Executor::Driven { seed: Some(5) },
];

const THREADS: Executor = Executor::Threads(NonZeroUsize::MIN.saturating_add(1));
const DRIVEN: Executor = Executor::Driven { seed: None };

fn storage(executor: Executor) -> Storage {
    let mut options = either_form::options();
    options.executor = executor;
    Storage::new(options).unwrap()
}

/// For what is LevelDB's own.
fn storage_in_leveldb(executor: Executor) -> Storage {
    let mut options = StorageOptions::in_memory(Arc::new(FixedClock::default()));
    options.executor = executor;
    Storage::new(options).unwrap()
}

fn open(
    storage: &Storage,
    version: u64,
    upgrade: impl FnOnce(&Upgrade) -> Result<()> + Send + 'static,
) -> Result<Connection> {
    let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
    let request = factory.open("db", Some(version))?;
    request.with_upgrade(upgrade).wait()
}

/// Creates the object store "s" with an index "i" of its whole values.
fn indexed_store(
    upgrade: &Upgrade,
    parameters: ObjectStoreParameters,
    options: IndexParameters,
) -> Result<ObjectStore> {
    let transaction = &upgrade.transaction;
    let store = transaction.create_object_store("s", parameters)?;
    store.create_index("i", KeyPath::String("".into()), options)?;
    Ok(store)
}

/// With an object store "s" of the numbers below `count`, each under itself, and an index of them.
fn numbers(storage: &Storage, count: u64) -> Connection {
    open(storage, 1, move |upgrade| {
        let s = indexed_store(upgrade, Default::default(), Default::default())?;
        for n in 0..count {
            let n = n as f64;
            s.put(Value::serialize(&n)?, Some(n.into()))?.detach();
        }
        Ok(())
    })
    .unwrap()
}

/// A transaction, its object store, and what is in its way: nothing is executed until that has been finished.
fn queued_behind(connection: &Connection) -> (Transaction, Transaction, ObjectStore) {
    let before = begin(connection, TransactionMode::ReadWrite);
    let transaction = begin(connection, TransactionMode::ReadWrite);
    let s = store(&transaction, "s");
    (before, transaction, s)
}

/// Requests that are queued together, for the numbers below 71: each has its own result, which gives its number, or all are aborted.
/// Callbacks are called in the order of the requests, in whatever order they are registered.
fn told_in_order<T: Send + 'static>(
    storage: &Storage,
    connection: &Connection,
    is_aborted: bool,
    ask: impl Fn(&ObjectStore, f64) -> Request<T>,
    number: impl Fn(T) -> f64 + Copy + Send + 'static,
) {
    let (before, transaction, s) = queued_behind(connection);
    let requests: Vec<_> = (0..70).map(|n| (n, ask(&s, f64::from(n)))).collect();
    let last = ask(&s, 70.0);
    let (tell, told) = std::sync::mpsc::channel();
    for (n, request) in requests.into_iter().rev() {
        let tell = tell.clone();
        request.on_done(move |result| {
            let result = result.map(number).map_err(|error| error.name());
            tell.send((n, result)).unwrap();
        });
    }
    if is_aborted {
        transaction.abort(None).unwrap();
    }
    finish(&before);
    assert_eq!(last.wait().is_err(), is_aborted);
    if !is_aborted {
        finish(&transaction);
    }
    // All callbacks have gone when all have been called.
    drop(tell);
    let _ = transaction.finished().wait();
    while storage.run_one() {}
    let expected = |n| match is_aborted {
        true => Err(ErrorName::AbortError),
        false => Ok(f64::from(n)),
    };
    let in_order: Vec<_> = (0..70).map(|n| (n, expected(n))).collect();
    assert_eq!(told.iter().collect::<Vec<_>>(), in_order);
}

fn begin(connection: &Connection, mode: TransactionMode) -> Transaction {
    let names = connection.object_store_names();
    let options = TransactionOptions::default();
    connection.transaction(&names, mode, options).unwrap()
}

fn store(transaction: &Transaction, name: &str) -> ObjectStore {
    transaction.object_store(name).unwrap()
}

fn finish(transaction: &Transaction) {
    transaction.commit().unwrap().wait().unwrap();
}

fn names(names: &[&str]) -> Vec<JsString> {
    names.iter().map(|&name| name.into()).collect()
}
