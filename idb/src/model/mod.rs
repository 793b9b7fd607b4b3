//! Laws of transactions and stores that hold under many schedules of threads (`--cfg shuttle`; CONTRIBUTING.md has the command).
//!
//! Stores are in memory; their own threads and locks are the machine's, and nothing waits for them for long.

mod stores;
mod transactions;

use std::num::NonZeroUsize;
use std::sync::Arc;

use larder_backing_store::FixedClock;
use larder_codec::{JsString, Origin};

use crate::connection::Connection;
use crate::execution::{TransactionMode, TransactionOptions};
use crate::executor::Executor;
use crate::object_store::ObjectStoreParameters;
use crate::options::StorageOptions;
use crate::request::Request;
use crate::storage::Storage;
use crate::transaction::Transaction;

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
