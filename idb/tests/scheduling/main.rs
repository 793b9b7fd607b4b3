//! What waits for what, what is reported when, and what becomes of it all when things go wrong, through the public interface.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod blobs;
mod closed;
mod connections;
mod driven;
#[path = "../support/either_form.rs"]
mod either_form;
mod events;
mod failures;
mod finish;
mod handover;
mod here;
mod idle;
mod order;
mod panics;
mod processes;
mod runtimes;
mod side_by_side;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use larder_idb::{
    Connection, Executor, Factory, FileSystem, FixedClock, JsString, Key, MemoryFileSystem,
    ObjectStoreParameters, Origin, Request, Result, Scheduling, Storage, StorageOptions,
    Transaction, TransactionMode, TransactionOptions, Value,
};

const DRIVEN: Executor = Executor::Driven { seed: None };

/// Two threads; one; the caller in order; the caller in an order of its own.
const EXECUTORS: [Executor; 4] = [
    Executor::Threads(NonZeroUsize::MIN.saturating_add(1)),
    Executor::Threads(NonZeroUsize::MIN),
    DRIVEN,
    Executor::Driven { seed: Some(5) },
];

fn storage_on(fs: Arc<dyn FileSystem>, executor: Executor) -> Storage {
    let mut options = StorageOptions::new(fs, "idb", Arc::new(FixedClock::default()));
    options.executor = executor;
    Storage::new(options).unwrap()
}

fn storage(executor: Executor) -> Storage {
    let mut options = either_form::options();
    options.executor = executor;
    Storage::new(options).unwrap()
}

fn snapshot_storage(executor: Executor) -> Storage {
    let mut options = either_form::options();
    options.executor = executor;
    options.scheduling = Scheduling::SnapshotReaders;
    Storage::new(options).unwrap()
}

fn factory(storage: &Storage) -> Factory {
    storage.factory(&Origin::from_url("https://a.example").unwrap())
}

/// A connection to a database "db" with object stores "a", "b" and "c".
fn open(storage: &Storage) -> Request<Connection> {
    open_of(&factory(storage))
}

/// A connection as from [`open`], in any origin.
fn open_of(factory: &Factory) -> Request<Connection> {
    let request = factory.open("db", None).unwrap();
    request.with_upgrade(|upgrade| {
        for name in ["a", "b", "c"] {
            let parameters = ObjectStoreParameters::default();
            let transaction = &upgrade.transaction;
            transaction.create_object_store(name, parameters)?;
        }
        Ok(())
    })
}

fn begin(connection: &Connection, names: &[&str], mode: TransactionMode) -> Transaction {
    let names: Vec<JsString> = names.iter().map(|name| JsString::from(*name)).collect();
    let options = TransactionOptions::default();
    connection.transaction(&names, mode, options).unwrap()
}

fn put(transaction: &Transaction, store: &str, key: f64, value: &str) -> Request<Key> {
    let store = transaction.object_store(store).unwrap();
    let value = Value::serialize(value).unwrap();
    store.put(value, Some(Key::Number(key))).unwrap()
}

fn get(
    transaction: &Transaction,
    store: &str,
    key: f64,
) -> Request<Option<larder_idb::StoredValue>> {
    let store = transaction.object_store(store).unwrap();
    store.get(Key::Number(key)).unwrap()
}

/// The text of a record.
fn text(got: Result<Option<larder_idb::StoredValue>>) -> Option<String> {
    got.unwrap().map(|value| value.deserialize().unwrap())
}

fn commit(transaction: &Transaction) -> Result<()> {
    transaction.commit().unwrap().wait()
}

/// What a fresh transaction finds.
fn look(connection: &Connection, store: &str, key: f64) -> Option<String> {
    let transaction = begin(connection, &[store], TransactionMode::ReadOnly);
    text(get(&transaction, store, key).wait())
}

/// What happened, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn entries(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Notes when a request is done, and how.
    fn watch<T: Send + 'static>(&self, what: &str, request: Request<T>) {
        let (log, what) = (self.clone(), what.to_owned());
        request.on_done(move |result| match result {
            Ok(_) => log.note(what),
            Err(error) => log.note(format!("{what}: {}", error.name())),
        });
    }
}
