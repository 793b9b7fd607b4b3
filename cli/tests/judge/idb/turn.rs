//! A host's turn: databases opened, upgraded and deleted, transactions of many requests, errors, aborts.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use larder_codec::{JsString, KeyPath, Origin};
use larder_idb::{
    Connection, CursorDirection, Error, ErrorName, Executor, Factory, FixedClock, IndexParameters,
    Key, KeyRange, ObjectStore, ObjectStoreParameters, Request, Storage, StorageOptions, StoreForm,
    Transaction, TransactionDurability, TransactionMode, TransactionOptions, Value,
};
use larder_leveldb::storage::DiskFileSystem;

use super::super::ours;
use larder_fixtures::chromium::Store;
use larder_fixtures::random::Random;

/// What was done, for the message of a failure.
pub(crate) type Did = Arc<Mutex<Vec<String>>>;

fn note(did: &Did, what: String) {
    did.lock().unwrap().push(what);
}

/// The storage of a folder, in one of the ways that there are.
pub(crate) fn storage(store: &Store, random: &mut Random) -> Storage {
    let mut options = StorageOptions::new(
        Arc::new(DiskFileSystem::new()),
        store.leveldb.parent().unwrap(),
        Arc::new(FixedClock::default()),
    );
    if store.blob.parent() == Some(&store.leveldb) {
        options.new_store_form = StoreForm::Sqlite;
    }
    options.executor = match random.below(3) {
        0 => Executor::Driven { seed: None },
        1 => Executor::Driven {
            seed: Some(random.next()),
        },
        _ => Executor::Threads(NonZeroUsize::new(2).unwrap()),
    };
    if random.one_in(3) {
        // Whatever is written goes to the undo log first.
        options.transaction_memory_bytes = 2000;
    }
    Storage::new(options).unwrap()
}

pub(crate) fn factory(storage: &Storage, origin: &str) -> Factory {
    storage.factory(&Origin::from_url(origin).unwrap())
}

/// Does something to one of the databases.
pub(crate) fn take(factory: &Factory, random: &mut Random, did: &Did) {
    let infos = factory.databases().wait().unwrap();
    let name = match infos.is_empty() || random.one_in(4) {
        true => JsString::from(random.pick(&["one", "two", ""])),
        false => random.pick(&infos).name,
    };
    let found = infos.iter().find(|info| info.name == name);
    if found.is_some() && random.one_in(15) {
        note(did, format!("delete {name:?}"));
        let old = factory.delete_database(&name).done().wait().unwrap();
        assert_eq!(Some(old), found.map(|info| info.version));
        return;
    }
    let opened = match found {
        Some(_) if !random.one_in(3) => factory.open(&name, None).unwrap().connection().wait(),
        _ => upgrade(
            factory,
            &name,
            found.map_or(1, |info| info.version + 1),
            random,
            did,
        ),
    };
    match opened {
        Ok(connection) => {
            if !connection.object_store_names().is_empty() {
                write(&connection, random, did);
            }
            connection.close();
        }
        Err(error) => {
            assert_eq!(error.name(), ErrorName::AbortError, "{error}");
            note(did, "aborted".to_owned());
        }
    }
}

fn upgrade(
    factory: &Factory,
    name: &JsString,
    version: u64,
    random: &mut Random,
    did: &Did,
) -> Result<Connection, Error> {
    note(did, format!("upgrade {name:?} to {version}"));
    let (mut random, did) = (Random::new(random.next()), Arc::clone(did));
    let request = factory.open(name, Some(version)).unwrap();
    let opened = request.with_upgrade(move |upgrade| {
        for _ in 0..1 + random.below(4) {
            change_schema(&upgrade.transaction, &mut random, &did)?;
        }
        match random.one_in(8) {
            true => Err(Error::new(ErrorName::AbortError, "as the seed has it")),
            false => Ok(()),
        }
    });
    opened.wait()
}

fn change_schema(transaction: &Transaction, random: &mut Random, did: &Did) -> Result<(), Error> {
    let names = transaction.object_store_names();
    if names.is_empty() || random.one_in(4) {
        let name = JsString::from(random.pick(&["s", "inline", "auto", "öurs"]));
        let parameters = ObjectStoreParameters::new()
            .key_path(random.pick(&[KeyPath::Null, KeyPath::String("id".into())]))
            .auto_increment(random.one_in(2));
        note(did, format!("create {name:?}"));
        let store = or_taken(transaction.create_object_store(&name, parameters))?;
        let by_a = KeyPath::String("a".into());
        return store.map_or(Ok(()), |store| {
            store
                .create_index("by a", by_a, IndexParameters::default())
                .map(drop)
        });
    }
    let name = random.pick(&names);
    let store = transaction.object_store(&name)?;
    match random.below(8) {
        0 if random.one_in(2) => {
            note(did, format!("delete {name:?}"));
            transaction.delete_object_store(&name)
        }
        1 => {
            let new = JsString::from(random.pick(&["s", "renamed", "inline"]));
            note(did, format!("rename {name:?} to {new:?}"));
            or_taken(store.rename(&new)).map(drop)
        }
        2..=4 => {
            let pair = KeyPath::Array(vec!["a".into(), "u".into()]);
            let tags = KeyPath::String("tags".into());
            let (index, path, multi_entry) = random.pick(&[
                ("pair", pair, false),
                ("tags", tags.clone(), true),
                ("late", tags, false),
            ]);
            note(did, format!("index {index:?} of {name:?}"));
            let options = IndexParameters::new().multi_entry(multi_entry);
            or_taken(store.create_index(index, path, options)).map(drop)
        }
        5 if !store.index_names().is_empty() => {
            let index = random.pick(&store.index_names());
            match random.one_in(2) {
                true => or_taken(store.index(&index)?.rename("anew")).map(drop),
                false => store.delete_index(&index),
            }
        }
        _ => {
            for _ in 0..random.below(30) {
                record(&store, random)?;
            }
            Ok(())
        }
    }
}

/// `None` if the name was taken.
fn or_taken<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Err(error) if error.name() == ErrorName::ConstraintError => Ok(None),
        result => result.map(Some),
    }
}

/// A transaction over some of the object stores: all requests at once, then a look at each of them.
fn write(connection: &Connection, random: &mut Random, did: &Did) {
    let names = connection.object_store_names();
    let mut scope: Vec<JsString> = names
        .iter()
        .filter(|_| !random.one_in(3))
        .cloned()
        .collect();
    if scope.is_empty() {
        scope = names;
    }
    let durability = random.pick(&[
        TransactionDurability::Relaxed,
        TransactionDurability::Strict,
    ]);
    let options = TransactionOptions::new().durability(durability);
    let transaction = connection
        .transaction(&scope, TransactionMode::ReadWrite, options)
        .unwrap();
    let count = random.pick(&[1, 5, 40, 150]);
    note(did, format!("write {count} to {:?}", connection.name()));
    let mut asked = Vec::new();
    for _ in 0..count {
        let store = transaction.object_store(random.pick(&scope)).unwrap();
        match random.one_in(12) {
            true => by_cursor(&store, random),
            false => asked.extend(record(&store, random).unwrap()),
        }
    }
    for request in asked {
        // A key that is there makes a request fail, not its transaction, once it has been seen.
        if let Err(error) = request.wait() {
            assert_eq!(error.name(), ErrorName::ConstraintError, "{error}");
        }
    }
    match random.below(10) {
        0 => {
            note(did, "abort".to_owned());
            transaction.abort(None).unwrap();
            transaction.finished().wait().unwrap_err();
        }
        1 => note(did, "drop".to_owned()),
        _ => transaction.commit().unwrap().wait().unwrap(),
    }
}

/// A change to the records of one object store: what was asked for, if it can fail.
fn record(store: &ObjectStore, random: &mut Random) -> Result<Option<Request<Key>>, Error> {
    let quiet = |request: Request<()>| {
        drop(request);
        None
    };
    Ok(match random.below(20) {
        0..=13 => {
            let is_inline = *store.key_path() != KeyPath::Null;
            let drawn = ours::draw(random, is_inline, store.auto_increment());
            let key = (!is_inline && !drawn.is_generated).then_some(drawn.key);
            let value = Value::with_objects(drawn.bytes, drawn.objects);
            Some(match drawn.is_add {
                true => store.add(value, key)?,
                false => store.put(value, key)?,
            })
        }
        14..=16 => quiet(store.delete(ours::key(random))?),
        17..=18 => quiet(store.delete(some_numbers(random))?),
        _ if random.one_in(4) => quiet(store.clear()?),
        _ => None,
    })
}

fn some_numbers(random: &mut Random) -> KeyRange {
    let low = random.below(40);
    let [lower, upper] = [low, low + 1 + random.below(20)].map(|n| Key::Number(n as f64));
    KeyRange::bound(lower, upper, false, true).unwrap()
}

/// Deletes and overwrites some of the records that a cursor visits.
fn by_cursor(store: &ObjectStore, random: &mut Random) {
    let directions = [CursorDirection::Next, CursorDirection::Prev];
    let (range, direction) = (some_numbers(random), random.pick(&directions));
    let by_a = JsString::from("by a");
    let opened = match store.index_names().contains(&by_a) && random.one_in(2) {
        true => store.index(&by_a).unwrap().open_cursor(range, direction),
        false => store.open_cursor(range, direction),
    };
    let mut cursor = opened.unwrap().wait().unwrap();
    while let Some(at) = cursor {
        match random.below(4) {
            0 => at.delete().unwrap().detach(),
            1 if *store.key_path() == KeyPath::Null => {
                let drawn = ours::draw(random, false, false);
                let value = Value::with_objects(drawn.bytes, drawn.objects);
                at.update(value).unwrap().detach();
            }
            _ => {}
        }
        cursor = match random.one_in(3) {
            true => at
                .advance(1 + random.below(3) as u32)
                .unwrap()
                .wait()
                .unwrap(),
            false => at.next().unwrap().wait().unwrap(),
        };
    }
}
