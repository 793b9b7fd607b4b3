//! Operations on a store in memory, without anything that schedules them.

mod indexes;
mod values;
mod walks;

use std::sync::Arc;

use larder_backing_store::{
    BackingStore, Durability, FixedClock, PutMode, Scope, StorePaths, WriteOptions,
};
use larder_codec::{DatabaseId, JsString, Key, KeyPath, Origin};
use larder_leveldb::storage::MemoryFileSystem;

use super::{PutIndexes, PutRequest, Source, create_index, create_object_store, put};
use crate::error::Result;
use crate::operation::{Backing, Execution};
use crate::schema::{IndexCell, StoreCell};
use crate::value::Value;

/// A database, and what opens it.
struct Bed {
    store: BackingStore,
    id: DatabaseId,
}

impl Bed {
    fn new() -> Self {
        let origin = Origin::from_url("https://a.example").unwrap();
        let paths = StorePaths::of_leveldb(origin.leveldb_folder_name().as_ref());
        let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
        options.create_if_missing = true;
        let fs = Arc::new(MemoryFileSystem::new());
        let store = BackingStore::open(fs, paths, options).unwrap();
        let id = store.create_database(&"db".into()).unwrap();
        Self { store, id }
    }

    fn execution(&self, backing: Backing) -> Box<Execution> {
        Execution::new(backing, self.id, Arc::default())
    }

    /// A version change.
    fn upgrade(&self) -> Box<Execution> {
        let scope = Scope::VersionChange(self.id);
        let transaction = self.store.begin(scope, Durability::Relaxed).unwrap();
        self.execution(Backing::Write(transaction))
    }

    fn read(&self) -> Box<Execution> {
        self.execution(Backing::Read(self.store.read()))
    }
}

fn commit(execution: Box<Execution>) {
    match execution.into_backing() {
        Backing::Write(transaction) => transaction.commit().unwrap(),
        Backing::Read(_) => unreachable!("only those that write are committed"),
    }
}

fn make_store(
    execution: &mut Execution,
    name: &str,
    key_path: KeyPath,
    auto_increment: bool,
) -> Arc<StoreCell> {
    let name = JsString::from(name);
    let cell = Arc::new(StoreCell::new(name.clone(), key_path, auto_increment));
    create_object_store(execution, &cell, name).unwrap();
    cell
}

fn make_index(
    execution: &mut Execution,
    store: &Arc<StoreCell>,
    name: &str,
    key_path: &str,
    (unique, multi_entry): (bool, bool),
) -> Result<Arc<IndexCell>> {
    let name = JsString::from(name);
    let key_path = KeyPath::String(key_path.into());
    let cell = Arc::new(IndexCell::new(name.clone(), key_path, unique, multi_entry));
    create_index(execution, store, &cell, name.clone(), None)?;
    store.add_index(&name, Arc::clone(&cell));
    Ok(cell)
}

fn put_value(
    execution: &mut Execution,
    store: &Arc<StoreCell>,
    value: Value,
    key: Option<Key>,
) -> Result<Key> {
    let request = PutRequest {
        indexes: PutIndexes::AsAsked(store.indexes()),
        value,
        key,
        mode: PutMode::Put,
    };
    put(execution, store, request)
}

fn whole(store: &Arc<StoreCell>) -> Source {
    Arc::clone(store).into()
}

fn by(store: &Arc<StoreCell>, index: &Arc<IndexCell>) -> Source {
    Source {
        store: Arc::clone(store),
        index: Some(Arc::clone(index)),
    }
}
