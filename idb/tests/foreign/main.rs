//! Values of other engines: opaque bytes with the keys that their host gives (decision 29). The random programs of `models/tests/model`
//! show the rules that hold for them as for any value.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod generators;
mod hostile;
mod indexes;
mod records;
mod upgrades;

use std::sync::Arc;

use larder_idb::{
    Connection, DataVersion, Executor, Factory, FileSystem, FixedClock, GetAllOptions,
    IndexParameters, JsString, Key, KeyPath, KeyRange, MemoryFileSystem, ObjectStore,
    ObjectStoreParameters, Origin, RaiseDataVersion, Result, Storage, StorageOptions, Transaction,
    TransactionMode, TransactionOptions, Upgrade, Value,
};

struct Place {
    fs: Arc<dyn FileSystem>,
    storage: Storage,
    factory: Factory,
}

fn place() -> Place {
    place_on(Arc::new(MemoryFileSystem::new()), None)
}

/// A storage on these files, whose new stores have these versions.
fn place_on(fs: Arc<dyn FileSystem>, versions: Option<DataVersion>) -> Place {
    let clock = Arc::new(FixedClock::default());
    let mut options = StorageOptions::new(Arc::clone(&fs), "storage", clock);
    options.executor = Executor::Driven { seed: None };
    if let Some(versions) = versions {
        options.new_store_version = versions;
        options.raise_data_version = RaiseDataVersion::Never;
    }
    let storage = Storage::new(options).unwrap();
    let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
    Place {
        fs,
        storage,
        factory,
    }
}

impl Place {
    fn open(
        &self,
        version: u64,
        upgrade: impl FnOnce(&Upgrade) -> Result<()> + Send + 'static,
    ) -> Result<Connection> {
        let request = self.factory.open(js("db"), Some(version))?;
        request.with_upgrade(upgrade).wait()
    }

    /// With the stores of [`stores`].
    fn connection(&self) -> Connection {
        self.open(1, |upgrade| stores(&upgrade.transaction))
            .unwrap()
    }

    /// Opens its files in another storage.
    fn reopened(self) -> Self {
        self.storage.close().unwrap();
        place_on(self.fs, None)
    }
}

fn js(text: &str) -> JsString {
    JsString::from(text)
}

fn path(text: &str) -> KeyPath {
    KeyPath::String(js(text))
}

const PLAIN: IndexParameters = IndexParameters::new();
const UNIQUE: IndexParameters = IndexParameters::new().unique(true);
const MULTI: IndexParameters = IndexParameters::new().multi_entry(true);

/// "bare": keys are given, no index. "out": keys are given; "in": at `id`; "auto": generated; "auto-in": generated, at `id`; each
/// of these with indexes "n" of `n`, "u", unique, of `u`, and "m", multiEntry, of `m`.
fn stores(transaction: &Transaction) -> Result<()> {
    let all = [
        ("bare", KeyPath::Null, false),
        ("out", KeyPath::Null, false),
        ("in", path("id"), false),
        ("auto", KeyPath::Null, true),
        ("auto-in", path("id"), true),
    ];
    for (name, key_path, auto_increment) in all {
        let parameters = ObjectStoreParameters::new()
            .key_path(key_path)
            .auto_increment(auto_increment);
        let store = transaction.create_object_store(js(name), parameters)?;
        if name != "bare" {
            store.create_index(js("n"), path("n"), PLAIN)?;
            store.create_index(js("u"), path("u"), UNIQUE)?;
            store.create_index(js("m"), path("m"), MULTI)?;
        }
    }
    Ok(())
}

fn begin(connection: &Connection, mode: TransactionMode) -> Transaction {
    let names = connection.object_store_names();
    let options = TransactionOptions::default();
    connection.transaction(&names, mode, options).unwrap()
}

fn store(transaction: &Transaction, name: &str) -> ObjectStore {
    transaction.object_store(js(name)).unwrap()
}

/// Keys that are numbers, for "n", "u" and "m".
fn keys(n: &[f64], u: &[f64], m: &[f64]) -> [(JsString, Vec<Key>); 3] {
    let all = [("n", n), ("u", u), ("m", m)];
    all.map(|(name, keys)| (js(name), keys.iter().map(|key| Key::from(*key)).collect()))
}

fn foreign(bytes: &[u8], keys: impl IntoIterator<Item = (JsString, Vec<Key>)>) -> Value {
    Value::foreign("gecko", 8, bytes, keys).unwrap()
}

/// Without keys in "n", "u" and "m".
fn unindexed(bytes: &[u8]) -> Value {
    foreign(bytes, keys(&[], &[], &[]))
}

/// The bytes of a record, if it is there.
fn bytes_of(store: &ObjectStore, key: impl Into<KeyRange>) -> Option<Vec<u8>> {
    let stored = store.get(key).unwrap().wait().unwrap()?;
    let foreign = stored.foreign().unwrap();
    assert_eq!((foreign.engine(), foreign.format()), ("gecko", 8));
    Some(foreign.bytes().to_vec())
}

/// All entries of an index: key and primary key.
fn entries(store: &ObjectStore, index: &str) -> Vec<(Key, Key)> {
    let index = store.index(js(index)).unwrap();
    let all = index.get_all_keys(KeyRange::all(), GetAllOptions::default());
    let all = all.unwrap().wait().unwrap();
    all.iter()
        .map(|entry| (entry.key(), entry.primary_key()))
        .collect()
}

/// Numbers as keys.
fn pairs(pairs: &[(f64, f64)]) -> Vec<(Key, Key)> {
    pairs
        .iter()
        .map(|(key, primary_key)| (Key::from(*key), Key::from(*primary_key)))
        .collect()
}

fn refused<T>(result: Result<T>) -> &'static str {
    match result {
        Ok(_) => "nothing",
        Err(error) => error.name().as_str(),
    }
}
