//! A database in files in memory, driven step by step, and how the model's steps are done to it.

use std::collections::BTreeMap;
use std::future::Future;
use std::io::Read;
use std::sync::Arc;

use larder_feed::{Feed, RevisionValue};
use larder_idb::codec::value::{
    Builder, Decoder, JsStr, Needs, Payload, PropertyName, Value as Part,
};
use larder_idb::{
    Connection, Executor, FileSystem, FixedClock, Key, KeyRange, NewExternalObject, ObjectStore,
    ObjectStoreParameters, Origin, Storage, StorageOptions, Transaction, TransactionMode,
    TransactionOptions, Value,
};

use crate::naive::Step;

pub(crate) struct Host {
    pub(crate) storage: Storage,
    pub(crate) connection: Connection,
    /// Another one to the same database.
    second: Connection,
}

/// Does what there is to do until a future is ready.
pub(crate) fn wait<T>(storage: &Storage, future: impl Future<Output = T>) -> T {
    larder_fixtures::driven::wait(|| storage.run_one(), future)
}

impl Host {
    pub(crate) fn open(fs: Arc<dyn FileSystem>, spills: bool) -> larder_idb::Result<Self> {
        let mut options = StorageOptions::new(fs, "/store", Arc::new(FixedClock::default()));
        options.executor = Executor::Driven { seed: None };
        if spills {
            options.transaction_memory_bytes = 3000;
        }
        let storage = Storage::new(options)?;
        let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
        let connection = factory.open("db", None)?.connection().wait()?;
        let second = factory.open("db", None)?.connection().wait()?;
        Ok(Self {
            storage,
            connection,
            second,
        })
    }

    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        wait(&self.storage, future)
    }

    pub(crate) fn feed(&self) -> larder_feed::Result<Feed> {
        Feed::of(&self.connection)
    }

    /// Does a version change of no new version.
    pub(crate) fn upgrade(
        &mut self,
        steps: &[Step],
        names: &BTreeMap<u64, String>,
        aborts: bool,
    ) -> larder_idb::Result<()> {
        self.connection.close();
        self.second.close();
        let factory = self
            .storage
            .factory(&Origin::from_url("https://a.example").unwrap());
        let (steps, mut names) = (steps.to_vec(), names.clone());
        let request = factory.open_to_change("db")?.with_upgrade(move |upgrade| {
            for step in &steps {
                match step {
                    Step::Create(name) => {
                        let made = ObjectStoreParameters::new();
                        upgrade.transaction.create_object_store(name, made)?;
                    }
                    Step::Drop(store) => {
                        upgrade.transaction.delete_object_store(&names[store])?;
                        names.remove(store);
                    }
                    Step::Rename(store, name) => {
                        upgrade
                            .transaction
                            .object_store(&names[store])?
                            .rename(name)?;
                        names.insert(*store, name.clone());
                    }
                    Step::Feed(is_on) => upgrade.transaction.set_change_feed(*is_on)?,
                    other => apply(&upgrade.transaction, &names, other)?,
                }
            }
            match aborts {
                true => Err(larder_idb::Error::new(
                    larder_idb::ErrorName::AbortError,
                    "as the program has it",
                )),
                false => Ok(()),
            }
        });
        match request.wait() {
            Ok(connection) => self.connection = connection,
            Err(error) if !aborts => return Err(error),
            Err(_) => self.connection = factory.open("db", None)?.connection().wait()?,
        }
        self.second = factory.open("db", None)?.connection().wait()?;
        Ok(())
    }

    /// Begins a transaction of one of the two connections, and asks for its steps.
    pub(crate) fn begin(
        &self,
        is_second: bool,
        steps: &[Step],
        names: &BTreeMap<u64, String>,
        from_source: bool,
    ) -> larder_idb::Result<Transaction> {
        let stores: Vec<&String> = steps.iter().map(|step| &names[&store_of(step)]).collect();
        let options = TransactionOptions::new().from_source(from_source);
        let connection = match is_second {
            true => &self.second,
            false => &self.connection,
        };
        let transaction = connection.transaction(stores, TransactionMode::ReadWrite, options)?;
        for step in steps {
            apply(&transaction, names, step)?;
        }
        Ok(transaction)
    }
}

pub(crate) fn store_of(step: &Step) -> u64 {
    match step {
        Step::Put(store, ..) | Step::Delete(store, ..) | Step::Clear(store) => *store,
        other => panic!("not in a transaction of records: {other:?}"),
    }
}

fn apply(
    transaction: &Transaction,
    names: &BTreeMap<u64, String>,
    step: &Step,
) -> larder_idb::Result<()> {
    let store = transaction.object_store(&names[&store_of(step)])?;
    match step {
        Step::Put(_, key, number) => {
            let key = Some(Key::Number(*key as f64));
            store.put(value(*number), key)?.detach();
        }
        Step::Delete(_, from, to) if from == to => store.delete(*from as f64)?.detach(),
        Step::Delete(_, from, to) => {
            let range = KeyRange::bound(*from as f64, *to as f64, false, false)?;
            store.delete(range)?.detach();
        }
        _ => store.clear()?.detach(),
    }
    Ok(())
}

pub(crate) fn has_blob(number: u64) -> bool {
    number.is_multiple_of(5)
}

/// An object with a number, sometimes long: its bytes.
pub(crate) fn written(number: u64) -> (Vec<u8>, Needs) {
    let mut bytes = Vec::new();
    let mut builder = Builder::begin(&mut bytes);
    builder.begin_object();
    builder.name(&PropertyName::from_js(JsStr::from("n")));
    builder.number(number as f64);
    if number.is_multiple_of(7) {
        builder.name(&PropertyName::from_js(JsStr::from("long")));
        builder.string(JsStr::from("x".repeat(700).as_str()));
    }
    builder.close();
    let needs = builder.end();
    (bytes, needs)
}

/// Such an object, sometimes with a blob of its number.
fn value(number: u64) -> Value {
    let (bytes, needs) = written(number);
    let value = Value::from_written(bytes, needs);
    match has_blob(number) {
        false => value,
        true => value.and_objects(vec![NewExternalObject::Blob {
            mime_type: "text/plain".into(),
            content: Arc::new(number.to_le_bytes().to_vec()),
        }]),
    }
}

fn number_in(bytes: &[u8]) -> u64 {
    let payload = Payload::read(bytes).unwrap();
    let tree = Decoder::new().decode(&payload).unwrap();
    let Part::Object(object) = tree.root() else {
        panic!("no object")
    };
    match tree.get(object, &PropertyName::from_js(JsStr::from("n"))) {
        Some(Part::Number(number)) => number as u64,
        other => panic!("{other:?}"),
    }
}

/// The number of a value, whose blob is read.
pub(crate) fn number_of(value: &RevisionValue) -> u64 {
    let number = number_in(value.bytes());
    assert_eq!(value.objects().len(), usize::from(has_blob(number)));
    for object in value.objects() {
        let mut content = Vec::new();
        object.open().unwrap().read_to_end(&mut content).unwrap();
        assert_eq!(content, number.to_le_bytes());
    }
    number
}

/// All records, by the object stores' names.
pub(crate) fn records(host: &Host) -> larder_idb::Result<BTreeMap<(String, i64), u64>> {
    let mut records = BTreeMap::new();
    for name in host.connection.object_store_names() {
        let options = TransactionOptions::new();
        let transaction = host
            .connection
            .transaction(&name, TransactionMode::ReadOnly, options)?;
        let store = transaction.object_store(&name)?;
        let all = host.wait(store.get_all(KeyRange::all(), larder_idb::GetAllOptions::new())?)?;
        for record in &all {
            let Key::Number(key) = record.primary_key() else {
                panic!("another key")
            };
            let number = number_in(record.value());
            records.insert((name.to_string_lossy(), key as i64), number);
        }
    }
    Ok(records)
}

impl Host {
    /// Asks for one step in a transaction.
    pub(crate) fn apply(
        &self,
        transaction: &Transaction,
        names: &BTreeMap<u64, String>,
        step: &Step,
    ) -> larder_idb::Result<()> {
        apply(transaction, names, step)
    }

    /// The number of an object store.
    pub(crate) fn number_of(&self, name: &str) -> i64 {
        let (mode, options) = (TransactionMode::ReadOnly, TransactionOptions::new());
        let transaction = self.connection.transaction(name, mode, options).unwrap();
        transaction.object_store(name).unwrap().number().unwrap()
    }

    /// An object store of the feed, to be read.
    pub(crate) fn reserved(&self, name: &str) -> ObjectStore {
        let options = TransactionOptions::new().reserved(true);
        let mode = TransactionMode::ReadOnly;
        let transaction = self.connection.transaction(name, mode, options).unwrap();
        transaction.object_store(name).unwrap()
    }

    /// How many records an object store of the feed has.
    pub(crate) fn count_of(&self, name: &str) -> u64 {
        let store = self.reserved(name);
        self.wait(store.count(KeyRange::all()).unwrap()).unwrap()
    }

    /// How far clean-up has come, as it is written down: up to which revision, and the last end of a transaction up to there.
    pub(crate) fn marks(&self) -> [u64; 2] {
        let store = self.reserved("larder.feed.consumers");
        let found = self.wait(store.get(0).unwrap()).unwrap();
        found.map_or([0, 0], |value| value.deserialize().unwrap())
    }
}
