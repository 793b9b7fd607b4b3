//! One origin: its store, opened when it is first needed, and its databases.
//!
//! A store that takes no writes any more is retired: its connections are closed by force, and the next request that needs
//! one waits until the last that used it has gone, and opens it anew.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use larder_backing_store::{
    BackingStore, DatabaseMetadata, Repaired, RowsInDoubt, StorePaths, WriteOptions,
};
use larder_codec::{JsString, Origin as OriginName};

use crate::error::{Error, ErrorKind, ErrorName, Result, attempt};
use crate::executor::{Callback, Ready, Turn};
use crate::request::Job;
use crate::request::slot::LoneSlot;
use crate::scheduler::{Database, forced, storage_gone};
use crate::storage::{Scheduling, StorageOptions};
use crate::sync::{AtomicBool, Mutex, locked};

/// An origin's part of a storage.
pub(crate) struct Origin {
    pub(crate) name: OriginName,
    options: Arc<StorageOptions>,
    ready: Arc<Ready>,
    state: Mutex<State>,
    /// Held while the store is being opened.
    opening: Mutex<()>,
}

#[derive(Default)]
struct State {
    store: Option<Arc<OpenStore>>,
    /// A store that was retired has not gone yet.
    is_retiring: bool,
    /// Who waits until it has.
    waiting: Vec<Arc<Database>>,
    /// Who wants to know how that went.
    closing: Vec<Arc<LoneSlot<()>>>,
    databases: BTreeMap<JsString, Weak<Database>>,
    is_closing: bool,
}

/// A store, as long as somebody uses it.
pub(crate) struct OpenStore {
    /// There until it is dropped.
    backing: Option<BackingStore>,
    origin: Weak<Origin>,
    is_retired: AtomicBool,
}

/// What there is to be had of a store.
pub(crate) enum Access {
    Open(Arc<OpenStore>),
    /// There is none, and none was to be made.
    Missing,
    /// The one of before has not gone yet.
    Retiring,
}

impl OpenStore {
    #[expect(clippy::expect_used, reason = "only dropping takes it out")]
    pub(crate) fn backing(&self) -> &BackingStore {
        self.backing.as_ref().expect("a store that is in use")
    }

    /// Whether it takes no writes any more.
    pub(crate) fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::Acquire)
    }

    fn close(&mut self) -> Result<()> {
        match self.backing.take() {
            Some(backing) => attempt(|| Ok(backing.close()?)),
            None => Ok(()),
        }
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        // The lock on the folder goes with it, and only then can the store be opened again.
        let closed = self.close();
        if let Some(origin) = self.origin.upgrade()
            && self.is_retired()
        {
            let ready = Arc::clone(&origin.ready);
            ready.push(Arc::new(Job::of(move |turn| {
                origin.store_gone(turn, &closed)
            })));
        }
    }
}

impl Origin {
    pub(crate) fn new(name: OriginName, options: Arc<StorageOptions>, ready: Arc<Ready>) -> Self {
        Self {
            name,
            options,
            ready,
            state: Mutex::default(),
            opening: Mutex::default(),
        }
    }

    pub(crate) const fn ready(&self) -> &Arc<Ready> {
        &self.ready
    }

    pub(crate) fn scheduling(&self) -> Scheduling {
        self.options.scheduling
    }

    /// The database of this name, there or not.
    pub(crate) fn database(self: &Arc<Self>, name: &JsString) -> Arc<Database> {
        let mut state = locked(&self.state);
        if let Some(database) = state.databases.get(name).and_then(Weak::upgrade) {
            return database;
        }
        state.databases.retain(|_, other| other.strong_count() > 0);
        let database = Arc::new(Database::new(Arc::clone(self), name.clone()));
        let weak = Arc::downgrade(&database);
        state.databases.insert(name.clone(), weak);
        database
    }

    /// The store, if it is open.
    pub(crate) fn store_in_use(&self) -> Option<Arc<OpenStore>> {
        locked(&self.state).store.clone()
    }

    /// The store; opened, or made if it `may_create` it, where it is not open.
    ///
    /// # Errors
    /// As opening; `InvalidStateError` once the storage is being closed.
    pub(crate) fn store(self: &Arc<Self>, may_create: bool) -> Result<Access> {
        let _turn = locked(&self.opening);
        {
            let state = locked(&self.state);
            if state.is_closing {
                return Err(storage_gone());
            }
            if state.is_retiring {
                return Ok(Access::Retiring);
            }
            if let Some(store) = &state.store {
                return Ok(Access::Open(Arc::clone(store)));
            }
        }
        let backing = match self.open_store(may_create) {
            Err(error) if !may_create && error.kind() == ErrorKind::NotAStore => {
                return Ok(Access::Missing);
            }
            opened => opened?,
        };
        let store = Arc::new(OpenStore {
            backing: Some(backing),
            origin: Arc::downgrade(self),
            is_retired: AtomicBool::new(false),
        });
        locked(&self.state).store = Some(Arc::clone(&store));
        Ok(Access::Open(store))
    }

    fn open_store(&self, may_create: bool) -> Result<BackingStore> {
        let folder = self.options.folder.join(self.name.leveldb_folder_name());
        let mut options = WriteOptions::new(self.name.clone(), Arc::clone(&self.options.clock));
        options.create_if_missing = may_create;
        options.block_cache_bytes = self.options.block_cache_bytes;
        options.write_buffer_bytes = self.options.write_buffer_bytes;
        options.transaction_memory_bytes = self.options.transaction_memory_bytes;
        options.new_store_version = self.options.new_store_version;
        options.raise_data_version = self.options.raise_data_version;
        options.raise_schema = self.options.raise_schema;
        options.random_seed = self.options.random_seed;
        options.background = self.options.background();
        options.maintenance = Arc::clone(&self.options.maintenance);
        let fs = Arc::clone(&self.options.fs);
        let backing = BackingStore::open(fs, StorePaths::of_leveldb(&folder), options)?;
        if let Some(callback) = &self.options.on_torn_tail {
            for tail in backing.torn_tails() {
                // The store is open, whatever the host's code does.
                let _ = attempt(|| {
                    callback.call(&self.name, tail);
                    Ok(())
                });
            }
        }
        Ok(backing)
    }

    /// Repairs the store, which nobody may have open.
    ///
    /// # Errors
    /// `InvalidStateError` if it is open here; as repairing.
    pub(crate) fn repair(&self, rows_in_doubt: RowsInDoubt) -> Result<Repaired> {
        let _turn = locked(&self.opening);
        {
            let state = locked(&self.state);
            if state.is_closing {
                return Err(storage_gone());
            }
            if state.store.is_some() || state.is_retiring {
                let what = "the store is open: close the origin before repairing it";
                return Err(Error::new(ErrorName::InvalidStateError, what));
            }
        }
        let folder = self.options.folder.join(self.name.leveldb_folder_name());
        let fs = Arc::clone(&self.options.fs);
        let paths = StorePaths::of_leveldb(&folder);
        Ok(larder_backing_store::repair(fs, &paths, rows_in_doubt)?)
    }

    /// What is committed of a database.
    ///
    /// # Errors
    /// If its rows cannot be read.
    pub(crate) fn metadata(
        &self,
        store: &OpenStore,
        name: &JsString,
    ) -> Result<Option<DatabaseMetadata>> {
        let mut problems = Vec::new();
        let read = store.backing().read();
        let metadata = read.database(&self.name.row_text(), name, &mut problems)?;
        match problems.into_iter().next() {
            Some(problem) => Err(problem.into()),
            None => Ok(metadata),
        }
    }

    /// The version of a database that is to be deleted, 0 if it has none or that cannot be read; `None` if there is no database.
    /// Nothing else of it need be whole: who cannot open it can delete it.
    ///
    /// # Errors
    /// If its name's row cannot be read.
    pub(crate) fn version(&self, store: &OpenStore, name: &JsString) -> Result<Option<u64>> {
        let read = store.backing().read();
        let own = self.name.row_text();
        let version = read.database_version(&own, name, &mut Vec::new())?;
        Ok(version.map(i64::unsigned_abs))
    }

    /// If an error of the store in use tells that it takes no writes any more, it is retired.
    pub(crate) fn note_error(self: &Arc<Self>, error: &Error) {
        let store = locked(&self.state).store.clone();
        if let Some(store) = store {
            self.note_store_error(&store, error);
        }
    }

    /// If an error tells that this store takes no writes any more, it is retired.
    pub(crate) fn note_store_error(self: &Arc<Self>, store: &Arc<OpenStore>, error: &Error) {
        let is_gone = match error.kind() {
            ErrorKind::Closed => true,
            ErrorKind::Uncertain => true,
            // Of the engine's files, or of a blob's content; of the store's lock, or an object store's: only the former
            // matter, and the engine tells.
            ErrorKind::Io | ErrorKind::Conflict | ErrorKind::Corruption => {
                let writable = store.backing().check_writable();
                writable.is_err_and(|error| error.kind() != ErrorKind::Io)
            }
            _ => false,
        };
        if is_gone {
            let why = Error::of_kind(ErrorName::UnknownError, error.kind(), error.message());
            self.retire(store, &why);
        }
    }

    /// Closes all connections by force, and the store with the last who uses it.
    fn retire(self: &Arc<Self>, store: &Arc<OpenStore>, why: &Error) {
        if store.is_retired.swap(true, Ordering::AcqRel) {
            return;
        }
        let retired = {
            let mut state = locked(&self.state);
            let is_current = state
                .store
                .as_ref()
                .is_some_and(|current| Arc::ptr_eq(current, store));
            state.is_retiring |= is_current;
            is_current.then(|| state.store.take()).flatten()
        };
        self.force_close(None, why);
        drop(retired);
    }

    /// Lets a database go on when the store of before has gone.
    pub(crate) fn await_store(&self, database: &Arc<Database>) {
        {
            let mut state = locked(&self.state);
            if state.is_retiring {
                state.waiting.push(Arc::clone(database));
                return;
            }
        }
        database.store_gone();
    }

    fn store_gone(&self, turn: &mut Turn, closed: &Result<()>) {
        let (waiting, closing) = {
            let mut state = locked(&self.state);
            state.is_retiring = false;
            let closing = std::mem::take(&mut state.closing);
            (std::mem::take(&mut state.waiting), closing)
        };
        for database in waiting {
            database.store_gone();
        }
        for slot in closing {
            if let Some(callback) = slot.complete(closed.clone()) {
                turn.call(callback);
            }
        }
    }

    /// Closes all connections by force, and then the store. It is opened again when it is needed again.
    pub(crate) fn close(self: &Arc<Self>, slot: Arc<LoneSlot<()>>) -> Option<Callback> {
        let store = {
            let mut state = locked(&self.state);
            match (&state.store, state.is_retiring) {
                (None, false) => {
                    drop(state);
                    return slot.complete(Ok(()));
                }
                (store, _) => {
                    let store = store.clone();
                    state.closing.push(slot);
                    store
                }
            }
        };
        if let Some(store) = store {
            self.retire(&store, &forced());
        }
        None
    }

    /// Closes all connections, or those to one database, by force.
    pub(crate) fn force_close(&self, name: Option<&JsString>, why: &Error) {
        let databases: Vec<_> = {
            let state = locked(&self.state);
            let databases = state.databases.iter();
            let wanted = databases.filter(|(other, _)| name.is_none_or(|name| name == *other));
            wanted
                .filter_map(|(_, database)| database.upgrade())
                .collect()
        };
        for database in databases {
            database.force_close(why);
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        locked(&self.state).is_closing
    }

    /// No store is opened any more, and all connections are closed by force.
    pub(crate) fn begin_close(&self) {
        locked(&self.state).is_closing = true;
        self.force_close(None, &forced());
    }

    /// Closes the store, when nobody uses it any more.
    ///
    /// # Errors
    /// As closing it. If somebody still uses it, it is closed with the last of them.
    pub(crate) fn close_store(&self) -> Result<()> {
        let store = locked(&self.state).store.take();
        match store.map(Arc::try_unwrap) {
            Some(Ok(mut store)) => store.close(),
            Some(Err(_)) | None => Ok(()),
        }
    }
}
