//! The canonical document of an origin, by way of `larder-idb` alone: what a host of its own would see.

use std::collections::HashMap;
use std::io;

use larder::canonical::{
    BlobSource, Browser, ExternalBlob, FileInfo, write_key as canonical_key, write_value,
};
use larder_backing_store::last_modified_ms;
use larder_codec::external_object::ExternalObject as Kind;
use larder_codec::value::{Decoder, Evaluator, ParsedKeyPath, Payload};
use larder_codec::{JsString, KeyPath, RawKey};
use larder_idb::{
    Connection, Cursor, CursorDirection, ExternalObject, Factory, GetAllOptions, Index, Key,
    KeyRange, ObjectStore, Record, Request, Transaction, TransactionMode, TransactionOptions,
    Value as NewValue,
};
use serde_json::{Value, json};

/// All databases that have a version.
pub(crate) fn document(factory: &Factory) -> Value {
    let mut infos = factory.databases().wait().unwrap();
    infos.sort_by(|a, b| a.name.cmp(&b.name));
    let database = |info: &larder_idb::DatabaseInfo| {
        let opened = factory.open(&info.name, None).unwrap().connection();
        let connection = opened.wait().unwrap();
        assert_eq!(connection.version(), info.version);
        let stores = connection.object_store_names();
        let stores: Vec<Value> = (stores.iter())
            .map(|name| object_store(&connection, name))
            .collect();
        connection.close();
        json!({ "name": name(&info.name), "version": info.version.to_string(), "stores": stores })
    };
    infos.iter().map(database).collect()
}

fn begin(
    connection: &Connection,
    store: &JsString,
    mode: TransactionMode,
) -> (Transaction, ObjectStore) {
    let scope = std::slice::from_ref(store);
    let transaction = connection.transaction(scope, mode, TransactionOptions::default());
    let transaction = transaction.unwrap();
    let store = transaction.object_store(store).unwrap();
    (transaction, store)
}

fn object_store(connection: &Connection, store_name: &JsString) -> Value {
    let (transaction, store) = begin(connection, store_name, TransactionMode::ReadOnly);
    let all = GetAllOptions::default();
    let records = store.get_all(KeyRange::all(), all).unwrap().wait();
    let records = records.unwrap();
    let keys: Vec<Value> = records.iter().map(|entry| key(entry.raw_key())).collect();
    let visit = |direction| visited(store.open_key_cursor(KeyRange::all(), direction).unwrap());
    let pairs: Vec<(Value, Value)> = keys.iter().map(|key| (key.clone(), key.clone())).collect();
    assert_eq!(visit(CursorDirection::Next), pairs);
    let count = store.count(KeyRange::all()).unwrap().wait().unwrap();
    let indexes: Vec<Value> = (store.index_names().iter())
        .map(|name| index(&store.index(name).unwrap()))
        .collect();
    let given = ParsedKeyPath::new(store.key_path()).filter(|_| store.auto_increment());
    let mut document = json!({
        "name": name(store_name),
        "keyPath": key_path(store.key_path()),
        "autoIncrement": store.auto_increment(),
        "count": count,
        "records": records.iter().zip(&keys).map(|(entry, key)| json!([key, value(&entry, given.as_ref())])).collect::<Vec<_>>(),
        "orders": orders(&pairs, visit),
        "indexes": indexes,
    });
    transaction.commit().unwrap().wait().unwrap();
    if store.auto_increment() {
        document["nextKey"] = next_key(connection, store_name);
    }
    document
}

/// What the generator would give, as a page learns it: by a record that is taken back.
fn next_key(connection: &Connection, store: &JsString) -> Value {
    let (transaction, store) = begin(connection, store, TransactionMode::ReadWrite);
    let put = store.put(NewValue::serialize(&json!({})).unwrap(), None);
    let given = match put.unwrap().wait() {
        Ok(found) => encoded(&found),
        Err(error) => json!(format!("error {}", error.name())),
    };
    transaction.abort(None).unwrap();
    assert!(transaction.finished().wait().is_err());
    given
}

fn index(index: &Index) -> Value {
    let visit = |direction| visited(index.open_key_cursor(KeyRange::all(), direction).unwrap());
    let entries = visit(CursorDirection::Next);
    let records = index.get_all(KeyRange::all(), GetAllOptions::default());
    let records = records.unwrap().wait().unwrap();
    let of_records = records.iter();
    let of_records = of_records.map(|entry| (key(entry.raw_key()), key(entry.raw_primary_key())));
    assert!(of_records.eq(entries.iter().cloned()));
    json!({
        "name": name(&index.name()),
        "keyPath": key_path(index.key_path()),
        "unique": index.unique(),
        "multiEntry": index.multi_entry(),
        "count": index.count(KeyRange::all()).unwrap().wait().unwrap(),
        "orders": orders(&entries, visit),
        "entries": entries,
    })
}

/// Key and primary key of all that a cursor visits.
fn visited(request: Request<Option<Cursor>>) -> Vec<(Value, Value)> {
    let mut cursor = request.wait().unwrap();
    let mut visited = Vec::new();
    while let Some(at) = cursor {
        visited.push((encoded(&at.key()), encoded(&at.primary_key())));
        cursor = at.next().unwrap().wait().unwrap();
    }
    visited
}

fn orders(
    next: &[(Value, Value)],
    visit: impl Fn(CursorDirection) -> Vec<(Value, Value)>,
) -> Value {
    let places: HashMap<String, usize> = (next.iter().enumerate())
        .map(|(n, (key, primary_key))| (format!("{key} {primary_key}"), n))
        .collect();
    let order = |direction| {
        let visited = visit(direction);
        if visited == next {
            json!("same")
        } else if visited.iter().eq(next.iter().rev()) {
            json!("reverse")
        } else {
            let place =
                |(key, primary_key): &(Value, Value)| places[&format!("{key} {primary_key}")];
            visited.iter().map(place).collect()
        }
    };
    json!({
        "nextunique": order(CursorDirection::NextUnique),
        "prev": order(CursorDirection::Prev),
        "prevunique": order(CursorDirection::PrevUnique),
    })
}

fn name(name: &JsString) -> Value {
    match String::from_utf16(name.units()) {
        Ok(text) => json!(text),
        Err(_) => panic!("no name here has a lone surrogate: {name:?}"),
    }
}

fn key_path(path: &KeyPath) -> Value {
    match path {
        KeyPath::Null => Value::Null,
        KeyPath::String(path) => name(path),
        KeyPath::Array(paths) => paths.iter().map(name).collect(),
    }
}

fn encoded(found: &Key) -> Value {
    let mut bytes = Vec::new();
    found.encode(&mut bytes);
    key(RawKey::decode_exact(&bytes).unwrap())
}

fn key(found: RawKey<'_>) -> Value {
    let mut text = Vec::new();
    canonical_key(&mut text, found);
    serde_json::from_slice(&text).unwrap()
}

/// A record's value. `given` says where Chromium puts keys over those that are there: a `Uint8Array` that was the key is then an
/// `ArrayBuffer`. The specification leaves it as it was put, and so does idb.
fn value(entry: &Record<'_>, given: Option<&ParsedKeyPath>) -> Value {
    let stored = entry.stored_value();
    let mut with_key = Vec::new();
    let mut payload = stored.payload().unwrap();
    if let Some(path) = given {
        let key = entry.primary_key();
        let is_in = Evaluator::new().inject(path, &key, &payload, &mut with_key);
        if is_in.unwrap() {
            payload = Payload::read(&with_key).unwrap();
        }
    }
    let mut text = Vec::new();
    let tree = Decoder::new().decode(&payload).unwrap();
    let mut objects = Objects(stored.objects());
    write_value(&mut text, &tree, &mut objects, Browser::default()).unwrap();
    serde_json::from_slice(&text).unwrap()
}

struct Objects<'a>(&'a [ExternalObject]);

impl BlobSource for Objects<'_> {
    fn open(&mut self, index: u32) -> io::Result<Option<ExternalBlob<'_>>> {
        let Some(object) = self.0.get(index as usize) else {
            return Ok(None);
        };
        let (blob, file) = match object.info() {
            Kind::FileSystemAccessHandle { .. } => return Ok(None),
            Kind::Blob(blob) => (blob, None),
            Kind::File {
                blob,
                name,
                last_modified_micros,
            } => {
                let file = FileInfo {
                    name: name.units().to_vec(),
                    last_modified_ms: last_modified_ms(*last_modified_micros) as f64,
                };
                (blob, Some(file))
            }
        };
        Ok(Some(ExternalBlob {
            mime_type: blob.mime_type.units().to_vec(),
            size: u64::try_from(blob.size_bytes).ok(),
            file,
            content: object.open().map_err(io::Error::other)?,
        }))
    }
}
