//! Larder's turn.

use std::ops::Bound;
use std::sync::Arc;

use larder_backing_store::blob::NewExternalObject;
use larder_backing_store::{
    BackingStore, CursorDirection, DatabaseMetadata, Durability, Error, ErrorKind, FixedClock,
    IndexKeys, IndexMetadata, IndexParameters, KeyRange, ObjectStoreMetadata,
    ObjectStoreParameters, Put, PutKey, PutMode, RaiseDataVersion, Scope, StorePaths, WriteOptions,
    WriteTransaction,
};
use larder_codec::value::serde::to_bytes;
use larder_codec::value::{Envelope, Evaluator, ParsedKeyPath, Payload, WRAPPER_MIME_TYPE, wrap};
use larder_codec::{
    DataVersion, DatabaseId, IndexId, JsString, Key, KeyPath, ObjectStoreId, Origin, RawKey,
};
use larder_fixtures::chromium::Store;
use larder_leveldb::storage::DiskFileSystem;
use serde_json::{Value, json};

use larder_fixtures::random::Random;

/// Opens the store, or makes it. With `spills`, whatever is written goes to the undo log first.
fn open(store: &Store, spills: bool) -> BackingStore {
    open_as(store, spills.then_some(2000), false)
}

/// Opens the store, or makes it, for transactions that become tables above so many bytes.
pub(crate) fn open_with(store: &Store, transaction_memory_bytes: usize) -> BackingStore {
    open_as(store, Some(transaction_memory_bytes), false)
}

/// Raises the store to today's schema.
pub(crate) fn raise_schema(store: &Store) {
    open_as(store, None, true).close().unwrap();
}

fn open_as(
    store: &Store,
    transaction_memory_bytes: Option<usize>,
    raise_schema: bool,
) -> BackingStore {
    let origin = Origin::from_url(&store.origin).unwrap();
    let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    options.raise_data_version = RaiseDataVersion::WhenNeeded;
    options.raise_schema = raise_schema;
    options.create_if_missing = true;
    if let Some(bytes) = transaction_memory_bytes {
        options.transaction_memory_bytes = bytes;
    }
    let paths = StorePaths {
        leveldb: store.leveldb.clone(),
        blob: store.blob.clone(),
    };
    let fs = Arc::new(DiskFileSystem::new());
    match paths.is_sqlite() {
        true => larder_sqlite_store::open_for_writing(fs, &paths.leveldb, options).unwrap(),
        false => BackingStore::open(fs, paths, options).unwrap(),
    }
}

/// Does some transactions and closes the store: what was done.
pub(crate) fn change(store: &Store, random: &mut Random, transactions: u64) -> Vec<String> {
    let store = open(store, random.one_in(3));
    let mut did = Vec::new();
    for _ in 0..transactions {
        transaction(&store, random, &mut did);
    }
    store.close().unwrap();
    did
}

/// Does transactions until the process is killed.
pub(crate) fn change_without_end(store: &Store, random: &mut Random) {
    let store = open(store, true);
    loop {
        transaction(&store, random, &mut Vec::new());
    }
}

/// A database of so many records with one index, a thousand to a transaction.
pub(crate) fn fill(store: &Store, records: u64) {
    let store = open(store, false);
    let id = store.create_database(&"many".into()).unwrap();
    let mut change = store
        .begin(Scope::VersionChange(id), Durability::Strict)
        .unwrap();
    let (object_store, index) = create_with_index(&mut change, "s");
    change.set_version(1).unwrap();
    change.commit().unwrap();
    for from in (0..records).step_by(1000) {
        let scope = Scope::Stores(id, [object_store].into());
        let mut transaction = store.begin(scope, Durability::Relaxed).unwrap();
        for n in from..records.min(from + 1000) {
            let value = json!({ "a": n % 100, "n": n });
            put_with_index(&mut transaction, object_store, index, n, &value);
        }
        transaction.commit().unwrap();
    }
    store.close().unwrap();
}

/// An object store with an index "by a".
pub(crate) fn create_with_index(
    change: &mut WriteTransaction,
    name: &str,
) -> (ObjectStoreId, IndexId) {
    let object_store = ObjectStoreParameters {
        id: None,
        name: name.into(),
        key_path: KeyPath::Null,
        auto_increment: false,
    };
    let object_store = change.create_object_store(&object_store).unwrap();
    let index = parameters("by a", KeyPath::String("a".into()), false);
    (
        object_store,
        change.create_index(object_store, &index).unwrap(),
    )
}

/// Puts a value under a number; its property `a` is a number.
pub(crate) fn put_with_index(
    transaction: &mut WriteTransaction,
    object_store: ObjectStoreId,
    index_id: IndexId,
    key: u64,
    value: &Value,
) {
    let mut serialised = Vec::new();
    to_bytes(value, &mut serialised).unwrap();
    let key = bytes(&Key::Number(key as f64));
    let index_key = bytes(&Key::Number(value["a"].as_f64().unwrap()));
    let put = Put {
        key: PutKey::Given(raw(&key)),
        value: &serialised,
        mode: PutMode::Put,
        index_keys: &[IndexKeys {
            index_id,
            keys: &[raw(&index_key)],
        }],
        external_objects: &[],
    };
    transaction.put(object_store, &put).unwrap();
}

fn transaction(store: &BackingStore, random: &mut Random, did: &mut Vec<String>) {
    let databases = store.databases().unwrap();
    let names: Vec<JsString> = databases.iter().map(|found| found.name.clone()).collect();
    let name = match names.is_empty() || random.one_in(4) {
        true => JsString::from(random.pick(&["one", "two", ""])),
        false => random.pick(&names),
    };
    let found = databases.into_iter().find(|found| found.name == name);
    let stores = found.as_ref().map_or(0, |found| found.object_stores.len());
    if stores > 0 && random.one_in(15) {
        did.push(format!("delete {name:?}"));
        store.delete_database(&name).unwrap();
    } else if stores == 0 || random.one_in(3) {
        let id = store.create_database(&name).unwrap();
        let version = found.and_then(|found| found.version).unwrap_or(0) + 1;
        did.push(format!("upgrade {name:?} to {version}"));
        let mut change = store
            .begin(Scope::VersionChange(id), Durability::Strict)
            .unwrap();
        change.set_version(version).unwrap();
        let done = (0..1 + random.below(4)).try_for_each(|_| upgrade(&mut change, id, random, did));
        end(change, done, random, did);
    } else if let Some(found) = found {
        write(store, &found, random, did);
    }
}

fn end(
    transaction: WriteTransaction,
    done: Result<(), Error>,
    random: &mut Random,
    did: &mut Vec<String>,
) {
    match done {
        Ok(()) if !random.one_in(8) => transaction.commit().unwrap(),
        Ok(()) => {
            did.push("roll back".to_owned());
            transaction.rollback();
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
            did.push("constraint".to_owned());
            transaction.rollback();
        }
    }
}

fn write(
    store: &BackingStore,
    database: &DatabaseMetadata,
    random: &mut Random,
    did: &mut Vec<String>,
) {
    let stores = &database.object_stores;
    let ids = stores.iter().map(|found| found.id).collect();
    let durability = random.pick(&[Durability::Relaxed, Durability::Strict]);
    let mut transaction = store
        .begin(Scope::Stores(database.id, ids), durability)
        .unwrap();
    let count = random.pick(&[1, 5, 40, 150]);
    did.push(format!("write {count} to {:?}", database.name));
    let done = (0..count).try_for_each(|_| {
        let found = random.pick(stores);
        // A request that fails leaves the others as they are.
        match record(&mut transaction, database.id, &found, random) {
            Err(error) if error.kind() == ErrorKind::Constraint => Ok(()),
            done => done,
        }
    });
    end(transaction, done, random, did);
}

pub(crate) fn key(random: &mut Random) -> Key {
    match random.below(8) {
        0..=2 => Key::Number(random.below(60) as f64),
        3 => Key::Number(random.below(60) as f64 / 2.0),
        4 => Key::from(format!("k{}", random.below(40)).as_str()),
        5 => Key::Date(random.below(9) as f64 * 1000.0),
        6 => Key::Binary(vec![random.below(4) as u8]),
        _ => Key::array(vec![Key::Number(random.below(5) as f64), Key::from("x")]).unwrap(),
    }
}

fn bytes(key: &Key) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}

fn raw(key: &[u8]) -> RawKey<'_> {
    RawKey::decode_exact(key).unwrap()
}

/// A change to the records of one object store.
fn record(
    transaction: &mut WriteTransaction,
    database_id: DatabaseId,
    store: &ObjectStoreMetadata,
    random: &mut Random,
) -> Result<(), Error> {
    match random.below(20) {
        0..=13 => put(transaction, database_id, store, random),
        14..=16 => {
            let key = bytes(&key(random));
            let only = KeyRange::only(raw(&key));
            transaction.delete(store.id, &only).map(drop)
        }
        17..=18 => {
            let low = random.below(40);
            let [low, high] = [low, low + random.below(20)].map(|n| bytes(&Key::Number(n as f64)));
            let range = KeyRange {
                lower: Bound::Included(raw(&low)),
                upper: Bound::Excluded(raw(&high)),
            };
            transaction.delete(store.id, &range).map(drop)
        }
        _ if random.one_in(4) => transaction.clear(store.id).map(drop),
        _ => Ok(()),
    }
}

/// A value, and what it refers to.
fn value(random: &mut Random, id: Option<&Value>) -> (Vec<u8>, Vec<NewExternalObject>) {
    let (tag, other) = (random.below(5), random.below(5));
    let mut value = json!({
        "a": random.below(12),
        "tags": [format!("t{tag}"), format!("t{other}"), random.below(3)],
        "u": format!("u{}", random.below(1 << 40)),
        "by": "Lärder",
        "nested": { "list": [1.5, null, true, -7], "": [] },
    });
    if let Some(id) = id {
        value["id"] = id.clone();
    }
    if random.one_in(15) {
        value["text"] = "compressible "
            .repeat(9000 + random.below(9000) as usize)
            .into();
    } else if random.one_in(15) {
        let noise = (0..70_000).map(|_| char::from(b' ' + random.below(90) as u8));
        value["text"] = noise.collect::<String>().into();
    }
    let mut bytes = Vec::new();
    to_bytes(&value, &mut bytes).unwrap();
    if random.one_in(6) {
        return with_blobs(bytes, random);
    }
    (bytes, Vec::new())
}

/// Gives the object two more properties, a blob and a file.
fn with_blobs(mut bytes: Vec<u8>, random: &mut Random) -> (Vec<u8>, Vec<NewExternalObject>) {
    // A plain object ends with `{` and the number of its properties, below 128 here.
    let count = bytes.pop().unwrap();
    assert_eq!(bytes.pop(), Some(b'{'));
    // Two more: Blink's objects are `\`, `i` or `e`, and a place in the list.
    bytes.extend_from_slice(b"\"\x04blob\\i\x00\"\x04file\\e\x01{");
    bytes.push(count + 2);
    let content = |random: &mut Random| {
        let len = random.pick(&[0, 10, 5000, 300_000]);
        Arc::new((0..len).map(|n| (n % 251) as u8).collect::<Vec<u8>>())
    };
    let blob = NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content: content(random),
    };
    let file = NewExternalObject::File {
        mime_type: JsString::default(),
        content: content(random),
        name: "fïle.txt".into(),
        last_modified_micros: 13_300_000_000_000_000 + random.below(1000) as i64 * 1000,
    };
    (bytes, vec![blob, file])
}

/// A record to be put.
pub(crate) struct Drawn {
    /// Its key, unless that is generated.
    pub(crate) key: Key,
    pub(crate) is_generated: bool,
    /// The value, not wrapped; with the key in it if it belongs there.
    pub(crate) bytes: Vec<u8>,
    pub(crate) objects: Vec<NewExternalObject>,
    pub(crate) is_add: bool,
}

pub(crate) fn draw(random: &mut Random, is_inline: bool, auto_increment: bool) -> Drawn {
    let is_generated = auto_increment && !random.one_in(3);
    // Keys that JSON has, where the key is part of the value.
    let id = match random.one_in(2) {
        true => json!(random.below(60)),
        false => json!(format!("k{}", random.below(40))),
    };
    let key = match (is_inline, &id) {
        (false, _) => key(random),
        (true, Value::String(text)) => Key::from(text.as_str()),
        (true, number) => Key::Number(number.as_f64().unwrap()),
    };
    let in_value = (is_inline && !is_generated).then_some(&id);
    let (bytes, objects) = value(random, in_value);
    Drawn {
        key,
        is_generated,
        bytes,
        objects,
        is_add: random.one_in(5),
    }
}

fn put(
    transaction: &mut WriteTransaction,
    database_id: DatabaseId,
    store: &ObjectStoreMetadata,
    random: &mut Random,
) -> Result<(), Error> {
    let is_inline = store.key_path != KeyPath::Null;
    let drawn = draw(random, is_inline, store.auto_increment);
    let (value, mut objects) = (drawn.bytes, drawn.objects);
    let keys = match is_inline && drawn.is_generated {
        true => {
            // Indexes have the key that will be generated.
            let next = transaction.key_generator(database_id, store.id)?;
            index_keys(store, &with_key(store, &value, next))
        }
        false => index_keys(store, &value),
    };
    // What `draw` encodes.
    transaction.require_data_version(DataVersion { v8: 15, blink: 21 })?;
    let wrapped = wrap(value, objects.len() as u32, transaction.data_version());
    if let Some(content) = wrapped.blob {
        objects.push(NewExternalObject::Blob {
            mime_type: WRAPPER_MIME_TYPE.into(),
            content: Arc::new(content),
        });
    }
    let given = bytes(&drawn.key);
    with_raw(&keys, |index_keys| {
        let put = Put {
            key: match drawn.is_generated {
                true => PutKey::Generated,
                false => PutKey::Given(raw(&given)),
            },
            value: &wrapped.inline,
            mode: match drawn.is_add {
                true => PutMode::Add,
                false => PutMode::Put,
            },
            index_keys,
            external_objects: &objects,
        };
        transaction.put(store.id, &put).map(drop)
    })
}

/// The value with a generated key where the key path leads.
fn with_key(store: &ObjectStoreMetadata, value: &[u8], number: i64) -> Vec<u8> {
    let path = ParsedKeyPath::new(&store.key_path).unwrap();
    let payload = Payload::read(value).unwrap();
    let (key, mut out) = (Key::Number(number as f64), Vec::new());
    let is_injected = Evaluator::new().inject(&path, &key, &payload, &mut out);
    assert!(is_injected.unwrap());
    out
}

type Keys = Vec<(IndexId, Vec<Vec<u8>>)>;

/// What the indexes of a store hold a value under.
fn index_keys(store: &ObjectStoreMetadata, value: &[u8]) -> Keys {
    let mut buffer = Vec::new();
    let Envelope::Inline(payload) = Envelope::peel(value, &mut buffer).unwrap() else {
        panic!("the value has not been wrapped yet");
    };
    let mut evaluator = Evaluator::new();
    let keys = |index: &IndexMetadata| {
        let path = ParsedKeyPath::new(&index.key_path).unwrap();
        let keys = evaluator.index_keys(&path, index.multi_entry, &payload, &[]);
        (index.id, keys.unwrap().iter().map(bytes).collect())
    };
    store.indexes.iter().map(keys).collect()
}

fn with_raw<T>(keys: &Keys, work: impl FnOnce(&[IndexKeys<'_>]) -> T) -> T {
    let raw: Vec<(IndexId, Vec<RawKey<'_>>)> = keys
        .iter()
        .map(|(id, keys)| (*id, keys.iter().map(|key| raw(key)).collect()))
        .collect();
    let keys: Vec<IndexKeys<'_>> = raw
        .iter()
        .map(|(index_id, keys)| IndexKeys {
            index_id: *index_id,
            keys,
        })
        .collect();
    work(&keys)
}

/// A change to the metadata, or to records beside it.
fn upgrade(
    change: &mut WriteTransaction,
    id: DatabaseId,
    random: &mut Random,
    did: &mut Vec<String>,
) -> Result<(), Error> {
    let stores = change.object_stores(id, &mut Vec::new()).unwrap();
    let is_taken = |name: &JsString| stores.iter().any(|store| store.name == *name);
    if stores.is_empty() || random.one_in(4) {
        let name = JsString::from(random.pick(&["s", "inline", "auto", "öurs"]));
        if is_taken(&name) {
            return Ok(());
        }
        did.push(format!("create {name:?}"));
        let store = change.create_object_store(&ObjectStoreParameters {
            id: None,
            name,
            key_path: random.pick(&[KeyPath::Null, KeyPath::String("id".into())]),
            auto_increment: random.one_in(2),
        })?;
        let index = parameters("by a", KeyPath::String("a".into()), false);
        return change.create_index(store, &index).map(drop);
    }
    let store = random.pick(&stores);
    match random.below(8) {
        0 if random.one_in(2) => {
            did.push(format!("delete {:?}", store.name));
            change.delete_object_store(store.id)
        }
        1 => {
            let name = JsString::from(random.pick(&["s", "renamed", "inline"]));
            if is_taken(&name) {
                return Ok(());
            }
            did.push(format!("rename {:?} to {name:?}", store.name));
            change.rename_object_store(store.id, &name)
        }
        2..=4 => {
            let pair = KeyPath::Array(vec!["a".into(), "u".into()]);
            let tags = KeyPath::String("tags".into());
            let (name, path, multi_entry) = random.pick(&[
                ("pair", pair, false),
                ("tags", tags.clone(), true),
                ("late", tags, false),
            ]);
            if store.indexes.iter().any(|index| index.name == name) {
                return Ok(());
            }
            did.push(format!("index {name:?} of {:?}", store.name));
            create_index(change, id, &store, &parameters(name, path, multi_entry))
        }
        5 if !store.indexes.is_empty() => {
            let index = random.pick(&store.indexes);
            let is_free = store.indexes.iter().all(|other| other.name != "anew");
            match is_free && random.one_in(2) {
                true => change.rename_index(store.id, index.id, &"anew".into()),
                false => change.delete_index(store.id, index.id),
            }
        }
        _ => (0..random.below(30)).try_for_each(|_| record(change, id, &store, random)),
    }
}

fn parameters(name: &str, key_path: KeyPath, multi_entry: bool) -> IndexParameters {
    IndexParameters {
        id: None,
        name: name.into(),
        key_path,
        unique: false,
        multi_entry,
    }
}

/// Creates an index and fills it from the records.
fn create_index(
    change: &mut WriteTransaction,
    database_id: DatabaseId,
    store: &ObjectStoreMetadata,
    parameters: &IndexParameters,
) -> Result<(), Error> {
    let id = change.create_index(store.id, parameters)?;
    let index = IndexMetadata {
        id,
        name: parameters.name.clone(),
        key_path: parameters.key_path.clone(),
        unique: false,
        multi_entry: parameters.multi_entry,
    };
    let alone = ObjectStoreMetadata {
        indexes: vec![index],
        ..store.clone()
    };
    let mut records = change.records(database_id, store.id, CursorDirection::Next);
    while records.next()? {
        let primary_key = records.primary_key()?.as_bytes().to_vec();
        let value = whole_value(
            change,
            database_id,
            store,
            raw(&primary_key),
            records.value()?,
        );
        let keys = index_keys(&alone, &value);
        with_raw(&keys, |keys| {
            change.put_index_keys(store.id, raw(&primary_key), keys)
        })?;
    }
    Ok(())
}

/// The value as it was before it was moved to a blob.
fn whole_value(
    change: &WriteTransaction,
    database_id: DatabaseId,
    store: &ObjectStoreMetadata,
    primary_key: RawKey<'_>,
    value: &[u8],
) -> Vec<u8> {
    let mut buffer = Vec::new();
    let Envelope::InBlob { index, size } = Envelope::peel(value, &mut buffer).unwrap() else {
        return value.to_vec();
    };
    if let Some(objects) = change.new_external_objects(store.id, primary_key) {
        let content = objects.last().and_then(NewExternalObject::content).unwrap();
        let mut bytes = Vec::new();
        std::io::copy(&mut content.open().unwrap(), &mut bytes).unwrap();
        return bytes;
    }
    let objects = change
        .external_objects(database_id, store.id, primary_key)
        .unwrap();
    change
        .wrapped_value(database_id, &objects, index, size)
        .unwrap()
}
