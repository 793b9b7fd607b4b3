//! The object stores and indexes of a database as one connection sees them: what handles refer to.
//!
//! A version change alters them at once, when its calls are made, though the rows follow later; aborting it takes them
//! back to where they were ([`Schema::snapshot`], [`Schema::restore`]). Nothing else alters them: there is no other
//! connection meanwhile. The steps are those of the specification's "abort an upgrade transaction" (5.8).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use larder_backing_store::{DatabaseMetadata, IndexMetadata, ObjectStoreMetadata, ObjectStoreSet};
use larder_codec::row_key::RecordTable;
use larder_codec::shown::{Quoted, ShownKeyPath};
use larder_codec::value::{Evaluator, ParsedKeyPath};
use larder_codec::{IndexId, JsString, KeyPath, ObjectStoreId, feed};

use crate::error::{Error, ErrorName, Result};
use crate::name::Name;

/// All object stores by name, in the order of their names' code units.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    object_stores: Mutex<BTreeMap<JsString, Arc<StoreCell>>>,
}

/// At most so many names are listed in a message.
const LISTED_MAX: usize = 10;

/// Names, for messages: `"books", "loans"`, or `none`.
#[cold]
fn listed<'a>(names: impl Iterator<Item = &'a JsString>) -> String {
    let mut names = names;
    let shown: Vec<_> = names
        .by_ref()
        .take(LISTED_MAX)
        .map(|name| Quoted(name).to_string())
        .collect();
    let more = names.count();
    match (shown.is_empty(), more) {
        (true, _) => "none".into(),
        (false, 0) => shown.join(", "),
        (false, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Whether an object store's name is shown unasked.
fn is_shown(name: &&JsString) -> bool {
    !feed::is_reserved(name)
}

/// One object store, created or deleted ones included.
#[derive(Debug)]
pub(crate) struct StoreCell {
    /// Known from when its rows have been made.
    id: OnceLock<ObjectStoreId>,
    pub(crate) key_path: KeyPath,
    /// The key path, parsed.
    pub(crate) path: Option<ParsedKeyPath>,
    pub(crate) auto_increment: bool,
    /// The rows that have the records' keys.
    pub(crate) keys_table: RecordTable,
    /// Apart from the rest: every request looks at it.
    is_deleted: AtomicBool,
    /// Whether the list of indexes has any. Apart from the rest, too; changed under the state's lock.
    is_indexed: AtomicBool,
    state: Mutex<StoreState>,
    /// For looking into values when a put is asked for.
    evaluator: Mutex<Evaluator>,
}

#[derive(Debug, Clone)]
struct StoreState {
    name: JsString,
    indexes: BTreeMap<JsString, Arc<IndexCell>>,
    /// The indexes in order of creation. Each put gets this list.
    list: Arc<[Arc<IndexCell>]>,
}

/// One index.
#[derive(Debug)]
pub(crate) struct IndexCell {
    id: OnceLock<IndexId>,
    pub(crate) key_path: KeyPath,
    /// The key path, parsed. A store that was damaged may have an index without one.
    pub(crate) path: Option<ParsedKeyPath>,
    pub(crate) unique: bool,
    pub(crate) multi_entry: bool,
    is_deleted: AtomicBool,
    name: Mutex<JsString>,
}

/// How things were when a version change began: nothing of this was deleted.
#[derive(Debug)]
pub(crate) struct SchemaSnapshot {
    object_stores: BTreeMap<JsString, Arc<StoreCell>>,
    stores: Vec<(Arc<StoreCell>, StoreState)>,
    indexes: Vec<(Arc<IndexCell>, JsString)>,
}

/// Nothing that holds one of these locks leaves half a change.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Schema {
    /// Those of a database that is there.
    pub(crate) fn from_metadata(metadata: &DatabaseMetadata) -> Self {
        let stores = metadata.object_stores.iter().map(|store| {
            let cell = Arc::new(StoreCell::from_metadata(store));
            (store.name.clone(), cell)
        });
        Self {
            object_stores: Mutex::new(stores.collect()),
        }
    }

    /// Their names, sorted, without those of the change feed.
    pub(crate) fn object_store_names(&self) -> Vec<JsString> {
        let stores = locked(&self.object_stores);
        stores.keys().filter(is_shown).cloned().collect()
    }

    /// Whether the database has a change feed.
    pub(crate) fn has_change_feed(&self) -> bool {
        let stores = locked(&self.object_stores);
        let names = [feed::REVISIONS, feed::HISTORY, feed::CONSUMERS];
        names
            .iter()
            .all(|name| stores.contains_key(&JsString::from(*name)))
    }

    /// Those of these names, of which the change feed's are there only for what asks for them.
    ///
    /// # Errors
    /// `NotFoundError` if there is none of a name.
    pub(crate) fn set_of(&self, names: &[Name<'_>], reserved: bool) -> Result<ObjectStoreSet> {
        let stores = locked(&self.object_stores);
        let id = |name: &Name<'_>| match stores.get(&**name) {
            Some(cell) if reserved || !feed::is_reserved(name) => cell.id(),
            _ => {
                let what = format!(
                    "there is no object store {}; the database has {}",
                    Quoted(name),
                    listed(stores.keys().filter(is_shown))
                );
                Err(Error::new(ErrorName::NotFoundError, what))
            }
        };
        names.iter().map(id).collect()
    }

    /// The names of some, sorted.
    pub(crate) fn names_of(&self, object_stores: &ObjectStoreSet) -> Vec<JsString> {
        let stores = locked(&self.object_stores);
        let those = stores
            .iter()
            .filter(|(_, cell)| cell.is_one_of(object_stores));
        those.map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn object_store(&self, name: &JsString) -> Option<Arc<StoreCell>> {
        locked(&self.object_stores).get(name).cloned()
    }

    /// Adds one. Its name is not taken.
    pub(crate) fn add(&self, name: &JsString, cell: Arc<StoreCell>) {
        locked(&self.object_stores).insert(name.clone(), cell);
    }

    /// Takes one away, with its indexes.
    pub(crate) fn remove(&self, name: &JsString) {
        if let Some(cell) = locked(&self.object_stores).remove(name) {
            cell.mark_deleted();
        }
    }

    /// Gives one another name, which is not taken.
    pub(crate) fn rename(&self, cell: &Arc<StoreCell>, name: &JsString) {
        let mut stores = locked(&self.object_stores);
        let mut state = locked(&cell.state);
        stores.remove(&state.name);
        state.name = name.clone();
        stores.insert(name.clone(), Arc::clone(cell));
    }

    /// How things are.
    pub(crate) fn snapshot(&self) -> SchemaSnapshot {
        let object_stores = locked(&self.object_stores).clone();
        let mut snapshot = SchemaSnapshot {
            stores: Vec::new(),
            indexes: Vec::new(),
            object_stores,
        };
        for cell in snapshot.object_stores.values() {
            let state = locked(&cell.state).clone();
            for index in state.indexes.values() {
                snapshot.indexes.push((Arc::clone(index), index.name()));
            }
            snapshot.stores.push((Arc::clone(cell), state));
        }
        snapshot
    }

    /// Back to how things were. What was created since counts as deleted.
    pub(crate) fn restore(&self, snapshot: SchemaSnapshot) {
        let mut stores = locked(&self.object_stores);
        // Everything first, with all indexes; then what was there before lives again.
        for cell in stores.values() {
            cell.mark_deleted();
        }
        *stores = snapshot.object_stores;
        for (cell, state) in snapshot.stores {
            let list = Arc::clone(&state.list);
            let mut current = locked(&cell.state);
            *current = state;
            cell.set_list(&mut current, list);
            cell.is_deleted.store(false, Ordering::Release);
        }
        for (index, name) in snapshot.indexes {
            *locked(&index.name) = name;
            index.is_deleted.store(false, Ordering::Release);
        }
    }
}

impl StoreCell {
    /// A new one, without indexes.
    pub(crate) fn new(name: JsString, key_path: KeyPath, auto_increment: bool) -> Self {
        Self::with_indexes(name, key_path, auto_increment, &[])
    }

    fn with_indexes(
        name: JsString,
        key_path: KeyPath,
        auto_increment: bool,
        indexes: &[IndexMetadata],
    ) -> Self {
        let cells = indexes.iter().map(IndexCell::from_metadata).map(Arc::new);
        let list: Arc<[_]> = cells.collect();
        let names = indexes.iter().map(|index| index.name.clone());
        Self {
            id: OnceLock::new(),
            path: ParsedKeyPath::new(&key_path),
            key_path,
            auto_increment,
            keys_table: match feed::is_history(&name) {
                true => RecordTable::Data,
                false => RecordTable::Exists,
            },
            is_deleted: AtomicBool::new(false),
            is_indexed: AtomicBool::new(!list.is_empty()),
            state: Mutex::new(StoreState {
                name,
                indexes: names.zip(list.iter().cloned()).collect(),
                list,
            }),
            evaluator: Mutex::default(),
        }
    }

    fn from_metadata(metadata: &ObjectStoreMetadata) -> Self {
        let (name, key_path) = (metadata.name.clone(), metadata.key_path.clone());
        let indexes = &metadata.indexes;
        let cell = Self::with_indexes(name, key_path, metadata.auto_increment, indexes);
        cell.set_id(metadata.id);
        cell
    }

    /// Its number on disk.
    ///
    /// # Errors
    /// If its rows could not be made; this is called after they have been.
    pub(crate) fn id(&self) -> Result<ObjectStoreId> {
        let what = "the object store could not be created";
        let id = self.id.get().copied();
        id.ok_or_else(|| Error::new(ErrorName::UnknownError, what))
    }

    /// Whether it is among these.
    pub(crate) fn is_one_of(&self, object_stores: &ObjectStoreSet) -> bool {
        self.id.get().is_some_and(|id| object_stores.contains(*id))
    }

    /// Its rows have been made.
    pub(crate) fn set_id(&self, id: ObjectStoreId) {
        let _ = self.id.set(id);
    }

    pub(crate) fn name(&self) -> JsString {
        locked(&self.state).name.clone()
    }

    /// Which one it is, for messages: `the object store "books"`.
    #[cold]
    pub(crate) fn shown(&self) -> String {
        format!("the object store {}", Quoted(&self.name()))
    }

    /// `NotFoundError`, with the indexes that there are.
    #[cold]
    pub(crate) fn no_such_index(&self, name: &JsString) -> Error {
        let names = self.index_names();
        let others = listed(names.iter());
        let (name, store) = (Quoted(name), self.shown());
        let what = format!("{store} has no index {name}; it has {others}");
        Error::new(ErrorName::NotFoundError, what)
    }

    /// Where keys are found in its values, for messages: `"isbn", the key path of the object store "books"`.
    #[cold]
    pub(crate) fn shown_path(&self) -> String {
        let path = ShownKeyPath(&self.key_path);
        format!("{path}, the key path of {}", self.shown())
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.is_deleted.load(Ordering::Acquire)
    }

    /// Its indexes' names, sorted.
    pub(crate) fn index_names(&self) -> Vec<JsString> {
        locked(&self.state).indexes.keys().cloned().collect()
    }

    pub(crate) fn index(&self, name: &JsString) -> Option<Arc<IndexCell>> {
        locked(&self.state).indexes.get(name).cloned()
    }

    /// All indexes, in order of creation.
    pub(crate) fn indexes(&self) -> Arc<[Arc<IndexCell>]> {
        Arc::clone(&locked(&self.state).list)
    }

    /// Whether it has indexes.
    pub(crate) fn is_indexed(&self) -> bool {
        self.is_indexed.load(Ordering::Acquire)
    }

    fn set_list(&self, state: &mut StoreState, list: Arc<[Arc<IndexCell>]>) {
        self.is_indexed.store(!list.is_empty(), Ordering::Release);
        state.list = list;
    }

    /// Whether keys are found in values.
    pub(crate) const fn uses_inline_keys(&self) -> bool {
        self.path.is_some()
    }

    /// Lends what looks into values.
    pub(crate) fn evaluator(&self) -> MutexGuard<'_, Evaluator> {
        locked(&self.evaluator)
    }

    /// Adds an index. Its name is not taken.
    pub(crate) fn add_index(&self, name: &JsString, cell: Arc<IndexCell>) {
        let mut state = locked(&self.state);
        let list = state.list.iter().cloned().chain([Arc::clone(&cell)]);
        let list = list.collect();
        self.set_list(&mut state, list);
        state.indexes.insert(name.clone(), cell);
    }

    /// Takes an index away.
    pub(crate) fn remove_index(&self, name: &JsString) {
        let mut state = locked(&self.state);
        let Some(cell) = state.indexes.remove(name) else {
            return;
        };
        let others = state.list.iter().filter(|other| !Arc::ptr_eq(other, &cell));
        let list = others.cloned().collect();
        self.set_list(&mut state, list);
        cell.is_deleted.store(true, Ordering::Release);
    }

    /// Gives an index another name, which is not taken.
    pub(crate) fn rename_index(&self, cell: &Arc<IndexCell>, name: &JsString) {
        let mut state = locked(&self.state);
        let mut index_name = locked(&cell.name);
        state.indexes.remove(&*index_name);
        *index_name = name.clone();
        state.indexes.insert(name.clone(), Arc::clone(cell));
    }

    fn mark_deleted(&self) {
        let mut state = locked(&self.state);
        self.is_deleted.store(true, Ordering::Release);
        for index in state.indexes.values() {
            index.is_deleted.store(true, Ordering::Release);
        }
        state.indexes.clear();
        self.set_list(&mut state, Arc::default());
    }
}

impl IndexCell {
    pub(crate) fn new(name: JsString, key_path: KeyPath, unique: bool, multi_entry: bool) -> Self {
        Self {
            id: OnceLock::new(),
            path: ParsedKeyPath::new(&key_path),
            key_path,
            unique,
            multi_entry,
            is_deleted: AtomicBool::new(false),
            name: Mutex::new(name),
        }
    }

    fn from_metadata(metadata: &IndexMetadata) -> Self {
        let (name, key_path) = (metadata.name.clone(), metadata.key_path.clone());
        let cell = Self::new(name, key_path, metadata.unique, metadata.multi_entry);
        cell.set_id(metadata.id);
        cell
    }

    /// Its number on disk.
    ///
    /// # Errors
    /// If its rows could not be made; this is called after they have been.
    pub(crate) fn id(&self) -> Result<IndexId> {
        let what = "the index could not be created";
        let id = self.id.get().copied();
        id.ok_or_else(|| Error::new(ErrorName::UnknownError, what))
    }

    /// Its rows have been made.
    pub(crate) fn set_id(&self, id: IndexId) {
        let _ = self.id.set(id);
    }

    pub(crate) fn name(&self) -> JsString {
        locked(&self.name).clone()
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.is_deleted.load(Ordering::Acquire)
    }
}
