//! Everything that databases hold, as far as it can be read.

use std::collections::{BTreeMap, BTreeSet};

use larder_idb::{
    Connection, Factory, GetAllOptions, JsString, KeyRange, OpenEvent, Records, Request, Result,
    Storage, TransactionMode, TransactionOptions,
};

pub(crate) type Contents = BTreeMap<JsString, Found>;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Found {
    /// A database of no version: it would be made.
    Nothing,
    Error(String),
    /// Its version, and what its object stores and indexes give.
    Database(u64, Vec<String>),
}

pub(crate) fn look(storage: &Storage, factory: &Factory, names: &BTreeSet<JsString>) -> Contents {
    let listed = done(storage, factory.databases()).map(|listed| {
        let listed = listed.into_iter();
        listed.map(|info| info.name).collect::<BTreeSet<_>>()
    });
    let mut contents = Contents::new();
    for name in names {
        let found = match open(storage, factory, name, None) {
            Err(error) => Found::Error(error.to_string()),
            Ok(None) => Found::Nothing,
            Ok(Some(connection)) => {
                if let Ok(listed) = &listed {
                    assert!(listed.contains(name), "{name:?} is there and not listed");
                }
                Found::Database(connection.version(), read(storage, &connection))
            }
        };
        storage.run_until_idle();
        contents.insert(name.clone(), found);
    }
    contents
}

/// Runs what can be run: the request must have an end then.
pub(crate) fn done<T: Send + 'static>(storage: &Storage, mut request: Request<T>) -> Result<T> {
    storage.run_until_idle();
    let Some(result) = request.try_take() else {
        panic!("a request has no end");
    };
    result
}

/// A connection; none if the database would have to be made, which is not done.
pub(crate) fn open(
    storage: &Storage,
    factory: &Factory,
    name: &JsString,
    version: Option<u64>,
) -> Result<Option<Connection>> {
    let request = factory.open(name, version)?;
    loop {
        storage.run_until_idle();
        match request.events().try_next() {
            Some(OpenEvent::UpgradeNeeded(upgrade)) => {
                drop(upgrade);
                storage.run_until_idle();
                return Ok(None);
            }
            Some(OpenEvent::Done(result)) => return result.map(Some),
            Some(OpenEvent::Blocked { .. }) => {}
            None => panic!("opening has no end"),
        }
    }
}

fn read(storage: &Storage, connection: &Connection) -> Vec<String> {
    let mut found = Vec::new();
    for name in connection.object_store_names() {
        let names = [name.clone()];
        let options = TransactionOptions::default();
        let transaction = connection.transaction(&names, TransactionMode::ReadOnly, options);
        let transaction = transaction.unwrap();
        let store = transaction.object_store(&name).unwrap();
        let all = || (KeyRange::all(), GetAllOptions::default());
        let shape = (store.key_path(), store.auto_increment());
        found.push(format!("{name:?} {shape:?}"));
        let (range, options) = all();
        found.push(told(done(storage, store.get_all(range, options).unwrap())));
        for index_name in store.index_names() {
            let index = store.index(&index_name).unwrap();
            let shape = (index.key_path(), index.unique(), index.multi_entry());
            found.push(format!("{index_name:?} {shape:?}"));
            let (range, options) = all();
            found.push(told(done(storage, index.get_all(range, options).unwrap())));
        }
    }
    found
}

fn told(records: Result<Records>) -> String {
    match records {
        Ok(records) => {
            let rows = records.iter();
            let rows: Vec<_> = rows
                .map(|row| (row.key(), row.primary_key(), row.value().to_vec()))
                .collect();
            format!("{rows:?}")
        }
        Err(error) => {
            let error = error.to_string();
            assert!(!error.contains("panicked"), "{error}");
            error
        }
    }
}
