//! Everything that databases hold, taken from the model, and read from files through a fresh storage.

use std::collections::BTreeMap;

use larder_codec::KeyPath;
use larder_idb::{
    Connection, CursorDirection, GetAllOptions, Index, KeyRange, ObjectStore, Transaction,
    TransactionMode, TransactionOptions, Value as IdbValue,
};

use super::Verdict;
use super::adapter::{self, Shape, key_value, name};
use super::bytes::serialize;
use super::files::Files;
use super::state::{Host, factory, storage};
use crate::naive::{Content, Outcome, Record, Store, Value, to_value};

type Name = Vec<u16>;

/// Databases by name: version and object stores.
pub(crate) type Dump = BTreeMap<Name, (u64, BTreeMap<Name, StoreDump>)>;

#[derive(Debug, PartialEq)]
pub(crate) struct StoreDump {
    key_path: KeyPath,
    /// What the generator gives next, `None` if it is used up; if there is one.
    next: Option<Option<Value>>,
    records: Outcome,
    indexes: BTreeMap<Name, IndexDump>,
}

#[derive(Debug, PartialEq)]
struct IndexDump {
    key_path: KeyPath,
    unique: bool,
    multi_entry: bool,
    records: Outcome,
}

/// As the model has it.
pub(crate) fn of_model(databases: &BTreeMap<Name, Content>) -> Dump {
    let mut dump = Dump::new();
    for (name, content) in databases {
        let stores = content.stores.iter();
        let stores = stores.map(|store| (store.name.clone(), store_of_model(store)));
        dump.insert(name.clone(), (content.version, stores.collect()));
    }
    dump
}

fn rows(records: Option<Vec<Record>>) -> Outcome {
    let records = records.unwrap_or_default();
    let rows = records.into_iter().map(|record| {
        let [key, primary_key] = [&record.key, &record.primary_key].map(to_value);
        [Some(key), Some(primary_key), Some(record.value)]
    });
    Outcome::Rows(rows.collect())
}

fn store_of_model(store: &Store) -> StoreDump {
    let indexes = store.indexes.iter().map(|index| {
        let dump = IndexDump {
            key_path: adapter::key_path(Some(&index.key_path)),
            unique: index.unique,
            multi_entry: index.multi_entry,
            records: rows(store.list(Some(index.id))),
        };
        (index.name.clone(), dump)
    });
    StoreDump {
        key_path: adapter::key_path(store.key_path.as_ref()),
        next: (store.generator.clone()).map(|mut next| next.generate().map(Value::Number)),
        records: rows(store.list(None)),
        indexes: indexes.collect(),
    }
}

fn told(error: larder_idb::Error) -> String {
    error.to_string()
}

/// As a new storage reads it.
pub(crate) fn of_files(files: &Files) -> Verdict<Dump> {
    let (storage, _) = storage(files, Host::Driven(None).into())?;
    let factory = factory(&storage);
    let mut dump = Dump::new();
    for info in factory.databases().wait().map_err(told)? {
        let request = factory.open(&info.name, None).map_err(told)?;
        let connection = request.connection().wait().map_err(told)?;
        if connection.version() != info.version {
            return Err(format!("databases() tells version {}", info.version));
        }
        let stores = stores_of(&connection)?;
        dump.insert(info.name.into_units(), (info.version, stores));
    }
    storage.close().map_err(told)?;
    Ok(dump)
}

fn stores_of(connection: &Connection) -> Verdict<BTreeMap<Name, StoreDump>> {
    let mut stores = BTreeMap::new();
    for store in connection.object_store_names() {
        let scope = [store];
        let options = TransactionOptions::default();
        let transaction = connection
            .transaction(&scope, TransactionMode::ReadWrite, options)
            .map_err(told)?;
        let handle = transaction.object_store(&scope[0]).map_err(told)?;
        let dump = store_of(&transaction, &handle)?;
        let [store] = scope;
        stores.insert(store.into_units(), dump);
    }
    Ok(stores)
}

fn store_of(transaction: &Transaction, store: &ObjectStore) -> Verdict<StoreDump> {
    let all = store
        .get_all(KeyRange::all(), GetAllOptions::default())
        .map_err(told)?;
    let records = adapter::records_outcome(all.wait(), Shape::Records);
    let mut indexes = BTreeMap::new();
    for index in store.index_names() {
        let handle = store.index(&index).map_err(told)?;
        indexes.insert(index.into_units(), index_of(&handle)?);
    }
    // The transaction is aborted after that. Unique indexes do not mind a value without properties.
    let next = match store.auto_increment() {
        false => None,
        true => {
            store.clear().map_err(told)?.wait().map_err(told)?;
            let value = IdbValue::from_bytes(serialize(&Value::Object(Vec::new())));
            match store.put(value, None).map_err(told)?.wait() {
                Ok(key) => Some(Some(key_value(&key))),
                Err(error) if error.name().as_str() == "ConstraintError" => Some(None),
                Err(error) => return Err(told(error)),
            }
        }
    };
    transaction.abort(None).map_err(told)?;
    Ok(StoreDump {
        key_path: store.key_path().clone(),
        next,
        records,
        indexes,
    })
}

fn index_of(index: &Index) -> Verdict<IndexDump> {
    let all = index
        .get_all(KeyRange::all(), GetAllOptions::default())
        .map_err(told)?;
    let records = adapter::records_outcome(all.wait(), Shape::Records);
    let Outcome::Rows(rows) = &records else {
        return Err(format!("an index cannot be read: {records:?}"));
    };
    // Counting and going backwards finds the same.
    let count = index
        .count(KeyRange::all())
        .map_err(told)?
        .wait()
        .map_err(told)?;
    let mut next = index
        .open_key_cursor(KeyRange::all(), CursorDirection::Prev)
        .map_err(told)?;
    for [_, primary_key, _] in rows.iter().rev() {
        let cursor = next.wait().map_err(told)?.ok_or("a cursor ends early")?;
        if Some(key_value(&cursor.primary_key())) != *primary_key {
            return Err(format!("a cursor finds {cursor:?}"));
        }
        next = cursor.next().map_err(told)?;
    }
    if next.wait().map_err(told)?.is_some() || count != rows.len() as u64 {
        return Err(format!("an index counts {count}, or has more backwards"));
    }
    Ok(IndexDump {
        key_path: index.key_path().clone(),
        unique: index.unique(),
        multi_entry: index.multi_entry(),
        records,
    })
}

/// Where two dumps differ first.
pub(crate) fn compare(found: &Dump, expected: &Dump) -> Verdict {
    if found == expected {
        return Ok(());
    }
    for (database, (version, stores)) in expected {
        let Some((found_version, found_stores)) = found.get(database) else {
            return Err(format!("no database {:?}", name(database)));
        };
        for (store, expected) in stores {
            match found_stores.get(store) {
                Some(found) if found == expected => {}
                found => {
                    return Err(format!(
                        "store {:?} is {found:?}, not {expected:?}",
                        name(store)
                    ));
                }
            }
        }
        let names: Vec<_> = found_stores.keys().map(|store| name(store)).collect();
        if version != found_version || stores.len() != names.len() {
            return Err(format!(
                "version {found_version}, not {version}, and stores {names:?}"
            ));
        }
    }
    Err(format!(
        "databases {:?}",
        found
            .keys()
            .map(|database| name(database))
            .collect::<Vec<_>>()
    ))
}
