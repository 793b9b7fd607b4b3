//! A storage in memory that the test drives, and short words for what tests do with it.

use std::collections::BTreeMap;

use larder_codec::{JsString, KeyPath};
use larder_idb::{
    Connection, Executor, Factory, Index, IndexParameters, ObjectStore, ObjectStoreParameters,
    Origin, Result, Storage, Transaction, TransactionMode, TransactionOptions, Upgrade, Value,
};

use crate::either_form;

pub(super) struct Place {
    /// Kept so that it lives.
    pub(super) storage: Storage,
    pub(super) factory: Factory,
}

pub(super) fn place() -> Place {
    let mut options = either_form::options();
    options.executor = Executor::Driven { seed: None };
    let storage = Storage::new(options).unwrap();
    let factory = storage.factory(&Origin::from_url("https://example.com").unwrap());
    Place { storage, factory }
}

impl Place {
    /// A connection to database "db" with this version, upgraded so.
    pub(super) fn open(
        &self,
        version: u64,
        upgrade: impl FnOnce(&Upgrade) -> Result<()> + Send + 'static,
    ) -> Result<Connection> {
        let request = self.factory.open(js("db"), Some(version))?;
        request.with_upgrade(upgrade).wait()
    }

    /// With the stores of [`stores`].
    pub(super) fn connection(&self) -> Connection {
        self.open(1, |upgrade| stores(&upgrade.transaction))
            .unwrap()
    }

    /// A transaction over all of [`stores`].
    pub(super) fn transaction(&self, mode: TransactionMode) -> (Connection, Transaction) {
        let connection = self.connection();
        let transaction = begin(&connection, mode);
        (connection, transaction)
    }

    /// An upgrade under way: of a database that has the stores of [`stores`].
    pub(super) fn upgrade(&self) -> Upgrade {
        self.connection().close();
        let request = self.factory.open(js("db"), Some(2)).unwrap();
        self.storage.run_until_idle();
        match request.events().try_next() {
            Some(larder_idb::OpenEvent::UpgradeNeeded(upgrade)) => upgrade,
            other => panic!("{other:?}"),
        }
    }
}

pub(super) fn js(text: &str) -> JsString {
    JsString::from(text)
}

pub(super) fn path(text: &str) -> KeyPath {
    KeyPath::String(js(text))
}

pub(super) fn paths(texts: &[&str]) -> KeyPath {
    KeyPath::Array(texts.iter().map(|text| js(text)).collect())
}

pub(super) fn parameters(key_path: KeyPath, auto_increment: bool) -> ObjectStoreParameters {
    ObjectStoreParameters::new()
        .key_path(key_path)
        .auto_increment(auto_increment)
}

pub(super) const PLAIN: IndexParameters = IndexParameters::new();
pub(super) const UNIQUE: IndexParameters = IndexParameters::new().unique(true);
pub(super) const MULTI: IndexParameters = IndexParameters::new().multi_entry(true);

/// "out": keys are given; "in": at `id`; "auto": generated; "auto-in": generated, at `id`. Each with indexes "n" of `n`,
/// "u", unique, of `u`, and "m", multiEntry, of `m`.
pub(super) fn stores(transaction: &Transaction) -> Result<()> {
    let all = [
        ("out", KeyPath::Null, false),
        ("in", path("id"), false),
        ("auto", KeyPath::Null, true),
        ("auto-in", path("id"), true),
    ];
    for (name, key_path, auto_increment) in all {
        let parameters = parameters(key_path, auto_increment);
        let store = transaction.create_object_store(js(name), parameters)?;
        store.create_index(js("n"), path("n"), PLAIN)?;
        store.create_index(js("u"), path("u"), UNIQUE)?;
        store.create_index(js("m"), path("m"), MULTI)?;
    }
    Ok(())
}

pub(super) fn begin(connection: &Connection, mode: TransactionMode) -> Transaction {
    let names = ["out", "in", "auto", "auto-in"].map(js);
    let options = TransactionOptions::default();
    connection.transaction(&names, mode, options).unwrap()
}

pub(super) fn store(transaction: &Transaction, name: &str) -> ObjectStore {
    transaction.object_store(js(name)).unwrap()
}

pub(super) fn index(transaction: &Transaction, of: &str, name: &str) -> Index {
    store(transaction, of).index(js(name)).unwrap()
}

/// An object with numbers.
pub(super) fn object(properties: &[(&str, f64)]) -> Value {
    let properties: BTreeMap<&str, f64> = properties.iter().copied().collect();
    Value::serialize(&properties).unwrap()
}

/// An object with a list of numbers.
pub(super) fn listing(name: &str, numbers: &[f64]) -> Value {
    Value::serialize(&BTreeMap::from([(name, numbers)])).unwrap()
}

/// A value that is a string.
pub(super) fn text(text: &str) -> Value {
    Value::serialize(text).unwrap()
}

/// The exception's name of what was refused, or of what failed.
pub(super) fn refused<T>(result: Result<T>) -> &'static str {
    match result {
        Ok(_) => "nothing",
        Err(error) => error.name().as_str(),
    }
}
