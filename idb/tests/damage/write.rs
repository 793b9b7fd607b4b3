//! Everything that can be written to a database, as far as it can be: what fails fails with an error.

use larder_idb::{
    DeleteEvent, Factory, IndexParameters, JsString, Key, KeyPath, KeyRange, ObjectStoreParameters,
    OpenEvent, Result, Storage, TransactionMode, TransactionOptions, Upgrade, Value,
};

use super::look::{done, open};

/// Puts, deletes and then changes versions; at last it deletes the database if its name is odd in length.
pub(crate) fn write(storage: &Storage, factory: &Factory, name: &JsString, what: &str) {
    let Ok(Some(connection)) = open(storage, factory, name, None) else {
        return;
    };
    for store_name in connection.object_store_names() {
        let names = [store_name.clone()];
        let options = TransactionOptions::default();
        let transaction = connection.transaction(&names, TransactionMode::ReadWrite, options);
        let transaction = transaction.unwrap();
        let store = transaction.object_store(&store_name).unwrap();
        for key in [
            None,
            Some(Key::Number(7.0)),
            Some(Key::String("key".into())),
        ] {
            if let Ok(put) = store.put(value(), key) {
                told(done(storage, put), what);
            }
        }
        told(done(storage, store.delete(Key::Number(7.0)).unwrap()), what);
        told(done(storage, store.count(KeyRange::all()).unwrap()), what);
        if let Ok(commit) = transaction.commit() {
            told(done(storage, commit), what);
        }
    }
    let version = connection.version();
    drop(connection);
    storage.run_until_idle();
    let Ok(request) = factory.open(name, Some(version.saturating_add(1))) else {
        return;
    };
    storage.run_until_idle();
    while let Some(event) = request.events().try_next() {
        match event {
            OpenEvent::UpgradeNeeded(needed) => {
                told(upgrade(storage, &needed, what), what);
                if let Ok(commit) = needed.transaction.commit() {
                    told(done(storage, commit), what);
                }
            }
            OpenEvent::Done(result) => told(result, what),
            OpenEvent::Blocked { .. } => {}
        }
        storage.run_until_idle();
    }
    drop(request);
    if name.units().len() % 2 == 1 {
        let request = factory.delete_database(name);
        storage.run_until_idle();
        let Some(DeleteEvent::Done(result)) = request.events().try_next() else {
            panic!("{what}: deleting has no end");
        };
        told(result, what);
    }
}

fn upgrade(storage: &Storage, needed: &Upgrade, what: &str) -> Result<()> {
    let transaction = &needed.transaction;
    let parameters = ObjectStoreParameters::new().auto_increment(true);
    let new = transaction.create_object_store("larder: new", parameters)?;
    // Nothing of another object store's is in it.
    let count = done(storage, new.count(KeyRange::all())?);
    assert!(!matches!(count, Ok(1..)), "{what}: {count:?}");
    for store_name in needed.connection.object_store_names() {
        let store = transaction.object_store(&store_name)?;
        let path = KeyPath::String("name".into());
        let index = store.create_index("larder: new", path, IndexParameters::default())?;
        told(done(storage, index.count(KeyRange::all())?), what);
        if let Some(old) = store.index_names().first() {
            store.delete_index(old)?;
        }
    }
    Ok(())
}

fn value() -> Value {
    #[derive(serde::Serialize)]
    struct Record {
        id: u32,
        name: &'static str,
    }
    let record = Record { id: 7, name: "n" };
    Value::serialize(&record).unwrap()
}

fn told<T>(result: Result<T>, what: &str) {
    if let Err(error) = result {
        let error = error.to_string();
        assert!(!error.contains("panicked"), "{what}: {error}");
    }
}
