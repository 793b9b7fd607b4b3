//! One origin: its store, opened when it is first needed, and its databases.
//!
//! A store that is not used is idle, and is closed after some time ([`idle`]); one that takes no writes any more is retired: its
//! connections are closed by force. The next request that needs a store which is being closed waits until it has gone, and
//! opens it anew.

mod closing;
mod deletions;
mod idle;
mod info;
mod losses;
mod open_store;
mod place;
mod times;

pub(crate) use deletions::{Deletion, Deletions};
pub(crate) use idle::IdleStores;
pub use info::OriginInfo;
pub(crate) use open_store::{OpenStore, read_only};
pub(crate) use place::{Place, bucket_paths};

use std::sync::{Arc, Weak};

use larder_backing_store::{
    Background, BackingStore, BlockCache, DATA_VERSION_MAX, DatabaseMetadata, OpenOptions,
    OriginNote, Quota, RaiseDataVersion, Repaired, RowsInDoubt, Store, StoreOrder, Usage,
    WriteOptions,
};
use larder_codec::{JsString, Origin as OriginName};

use crate::error::{Error, ErrorKind, ErrorName, Result};
use crate::executor::{Callback, Ready};
use crate::options::{Scheduling, StorageOptions};
use crate::quota;
use crate::request::completion::Completion;
use crate::store_form;
use crate::sync::{Mutex, locked};
use losses::Reported;
use open_store::{Backing, Kept};

/// What all origins of a storage share.
pub(crate) struct Shared {
    pub(crate) options: StorageOptions,
    pub(crate) ready: Arc<Ready>,
    /// Where the engines' background work is done.
    pub(crate) background: Background,
    /// Where the engines keep blocks of tables.
    pub(crate) block_cache: BlockCache,
    pub(crate) idle: Arc<IdleStores>,
    pub(crate) deletions: Deletions,
}

/// An origin's part of a storage.
pub(crate) struct Origin {
    pub(crate) name: OriginName,
    place: Place,
    shared: Arc<Shared>,
    state: Mutex<State>,
    /// Held while the store is being opened.
    opening: Mutex<()>,
    quota: Arc<Quota>,
    /// As long as the store is open.
    note: Mutex<Option<OriginNote>>,
    reported: Mutex<Reported>,
    users: Weak<dyn StoreUsers>,
}

#[derive(Default)]
struct State {
    store: Stored,
    /// What goes on when the store has gone or can be used.
    waiting: Vec<Waiting>,
    /// Requests that wait for the result of closing it.
    closing: Vec<Completion<()>>,
    /// Requests to delete the store when it has been closed.
    deleting: Vec<Completion<()>>,
    /// The error of closing it when it was idle, which has not been reported yet.
    failed: Option<Error>,
    /// No store is opened any more.
    is_closing: bool,
    /// What runs is aborted, too.
    is_forced: bool,
}

#[derive(Default)]
enum Stored {
    #[default]
    Closed,
    /// It is used; or its last user has just gone, and it will be idle in a moment.
    InUse(Weak<OpenStore>),
    /// It is not used, and has this number in the list of such stores.
    Idle(Kept, u64),
    /// It goes with its last user, or is being closed.
    Going,
}

/// What goes on when the store can be used: called by a task.
pub(crate) type Waiting = Callback;

/// The databases that use an origin's store, as far as the end of the store concerns them.
pub(crate) trait StoreUsers: Send + Sync {
    /// Their connections take no transactions from now on.
    fn refuse_new(&self);

    /// Closes all connections as soon as their transactions have ended.
    fn close_all(&self);

    /// Aborts all transactions and closes all connections.
    fn force_close(&self, why: &Error);
}

/// What there is to be had of a store.
pub(crate) enum Access {
    Open(Arc<OpenStore>),
    /// There is none, and none was to be made.
    Missing,
    /// The one of before has not gone yet.
    Going,
}

impl Origin {
    pub(crate) fn new(
        name: OriginName,
        place: Place,
        shared: Arc<Shared>,
        users: Weak<dyn StoreUsers>,
    ) -> Self {
        let options = &shared.options;
        let quota = quota::of_origin(&name, options.quota_bytes, options.on_over_quota.as_ref());
        Self {
            name,
            place,
            quota,
            note: Mutex::default(),
            reported: Mutex::default(),
            shared,
            state: Mutex::default(),
            opening: Mutex::default(),
            users,
        }
    }

    pub(crate) fn ready(&self) -> &Arc<Ready> {
        &self.shared.ready
    }

    pub(crate) fn scheduling(&self) -> Scheduling {
        self.shared.options.scheduling
    }

    /// The store; opened, or made if it `may_create` it, where it is not open.
    ///
    /// # Errors
    /// As opening; `InvalidStateError` once the storage is being closed; `SecurityError` if the origin is opaque.
    pub(crate) fn store(self: &Arc<Self>, may_create: bool) -> Result<Access> {
        self.check_name()?;
        let _turn = locked(&self.opening);
        if self.awaits_deletion() {
            return Ok(Access::Going);
        }
        if let Some(access) = self.store_as_it_is()? {
            self.note_used();
            return Ok(access);
        }
        self.shared.idle.make_room();
        let may_create = may_create && !self.is_read_only();
        let backing = match self.open_store(may_create) {
            Err(error) if !may_create && error.kind() == ErrorKind::NotAStore => {
                return Ok(Access::Missing);
            }
            opened => opened?,
        };
        if let Backing::Writing(backing) = &backing {
            self.note_opened(backing);
        }
        let store = OpenStore::new(Kept::new(backing), self);
        locked(&self.state).store = Stored::InUse(Arc::downgrade(&store));
        Ok(Access::Open(store))
    }

    /// Whether there can be a store of this origin: opaque ones are each their own, and would all find the same one.
    ///
    /// # Errors
    /// `SecurityError`, as the specification has it.
    pub(crate) fn check_name(&self) -> Result<()> {
        match self.name.is_opaque() {
            true => {
                let what = "an opaque origin has no storage: use one with a scheme and a host";
                Err(Error::new(ErrorName::SecurityError, what))
            }
            false => Ok(()),
        }
    }

    /// What there is to be had of the store as it is; `None` where it is not open.
    fn store_as_it_is(self: &Arc<Self>) -> Result<Option<Access>> {
        let mut state = locked(&self.state);
        if state.is_closing {
            return Err(Error::storage_closed());
        }
        if let Stored::Idle(_, number) = state.store {
            self.shared.idle.remove(number);
        }
        match std::mem::replace(&mut state.store, Stored::Going) {
            Stored::Closed => {
                state.store = Stored::Closed;
                Ok(None)
            }
            Stored::Idle(kept, _) => {
                let store = OpenStore::new(kept, self);
                state.store = Stored::InUse(Arc::downgrade(&store));
                Ok(Some(Access::Open(store)))
            }
            Stored::InUse(store) => {
                let access = store.upgrade().map_or(Access::Going, Access::Open);
                state.store = Stored::InUse(store);
                Ok(Some(access))
            }
            Stored::Going => Ok(Some(Access::Going)),
        }
    }

    /// Whether nothing of it is ever written.
    pub(crate) fn is_read_only(&self) -> bool {
        self.shared.options.read_only && self.place.session.is_none()
    }

    /// # Errors
    /// `ReadOnlyError` if nothing of it is ever written.
    pub(crate) fn check_writes(&self) -> Result<()> {
        match self.is_read_only() {
            true => Err(read_only()),
            false => Ok(()),
        }
    }

    fn open_to_read(self: &Arc<Self>) -> Result<Store> {
        let options = OpenOptions {
            block_cache: self.shared.block_cache.clone(),
            ..OpenOptions::default()
        };
        let (fs, paths) = (Arc::clone(&self.place.fs), self.place.paths());
        store_form::check(&*fs, &paths)?;
        let store = match paths.is_sqlite() {
            #[cfg(feature = "sqlite")]
            true => larder_sqlite_store::open(&fs, &paths.leveldb, &std::env::temp_dir())?,
            _ => Store::open_read_only(fs, paths, options)?,
        };
        if store.order() == StoreOrder::SignedBytes {
            let what = "its rows are not in the order of keys, which requests rely on";
            let (name, kind) = (ErrorName::UnknownError, ErrorKind::Unsupported);
            return Err(Error::of_kind(name, kind, what));
        }
        self.forget_reported();
        self.note_torn_tails(store.torn_tails());
        match store.recovery().problems.first() {
            Some(problem) => Err(Error::of_kind(
                ErrorName::UnknownError,
                problem.kind(),
                problem.to_string(),
            )),
            None => Ok(store),
        }
    }

    fn open_store(self: &Arc<Self>, may_create: bool) -> Result<Backing> {
        let own = &self.shared.options;
        if self.is_read_only() {
            return Ok(Backing::Reading(Box::new(self.open_to_read()?)));
        }
        let mut options = WriteOptions::new(self.name.clone(), Arc::clone(&own.clock));
        options.create_if_missing = may_create;
        options.block_cache = self.shared.block_cache.clone();
        options.write_buffer_bytes = own.write_buffer_bytes;
        options.transaction_memory_bytes = own.transaction_memory_bytes;
        options.new_store_version = own.new_store_version;
        options.raise_data_version = own.raise_data_version;
        options.raise_schema = own.raise_schema;
        options.trusts_order = own.trusts_order;
        options.random_seed = own.random_seed;
        options.reserve_bytes = own.reserve_bytes;
        options.quota = Some(Arc::clone(&self.quota));
        if self.place.session.is_some() {
            // No browser opens it.
            options.new_store_version = DATA_VERSION_MAX;
            options.raise_data_version = RaiseDataVersion::WhenNeeded;
            options.reserve_bytes = 0;
        }
        options.background = self.shared.background.clone();
        options.maintenance = Arc::clone(&own.maintenance);
        let (fs, paths) = (Arc::clone(&self.place.fs), self.place.paths());
        store_form::check(&*fs, &paths)?;
        let backing = match paths.is_sqlite() {
            #[cfg(feature = "sqlite")]
            true => larder_sqlite_store::open_for_writing(fs, &paths.leveldb, options)?,
            _ => BackingStore::open(fs, paths, options)?,
        };
        self.forget_reported();
        self.note_torn_tails(backing.torn_tails());
        Ok(Backing::Writing(backing))
    }

    /// How many bytes its files may have.
    pub(crate) fn quota(&self) -> &Quota {
        &self.quota
    }

    /// Whether its quota is none of all origins.
    pub(super) fn has_own_quota(&self) -> bool {
        self.quota.limit_bytes() != self.shared.options.quota_bytes
    }

    /// The bytes of its files, by the store that is open, or one by one where none is.
    ///
    /// # Errors
    /// If the files cannot be listed.
    pub(crate) fn usage(self: &Arc<Self>) -> Result<Usage> {
        if let Ok(Some(Access::Open(store))) = self.store_as_it_is() {
            return store.backing().usage();
        }
        let fs = Arc::clone(&self.place.fs);
        Ok(larder_backing_store::usage(fs, &self.place.paths())?)
    }

    /// Closes all connections by force, and repairs the store; `None` while it is being closed.
    ///
    /// # Errors
    /// `SecurityError` if the origin is opaque; `ReadOnlyError` if nothing is ever written; as repairing.
    pub(crate) fn repair(self: &Arc<Self>, rows_in_doubt: RowsInDoubt) -> Result<Option<Repaired>> {
        self.check_name()?;
        self.check_writes()?;
        let turn = locked(&self.opening);
        let (used, idle) = {
            let mut state = locked(&self.state);
            match &state.store {
                _ if state.is_closing => return Err(Error::storage_closed()),
                Stored::InUse(store) => (Some(store.upgrade()), None),
                Stored::Going => return Ok(None),
                Stored::Idle(..) | Stored::Closed => (None, self.take_idle(&mut state)),
            }
        };
        if let Some(used) = used {
            drop(turn);
            if let Some(store) = used {
                self.retire(&store, &Error::forced());
            }
            return Ok(None);
        }
        if let Some(kept) = idle {
            let closed = kept.close();
            self.gone(closed.clone());
            closed?;
        }
        if self.place.paths().is_sqlite() {
            let what = "a store in SQLite files cannot be repaired here: what can be read of it is copied by `larder copy`";
            return Err(Error::of_kind(
                ErrorName::UnknownError,
                ErrorKind::Unsupported,
                what,
            ));
        }
        let fs = Arc::clone(&self.place.fs);
        let repaired = larder_backing_store::repair(fs, &self.place.paths(), rows_in_doubt)?;
        self.forget_reported();
        Ok(Some(repaired))
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
    /// Nothing else of it need be whole: a database that cannot be opened can be deleted.
    ///
    /// # Errors
    /// If its name's row cannot be read.
    pub(crate) fn version(&self, store: &OpenStore, name: &JsString) -> Result<Option<u64>> {
        let read = store.backing().read();
        let own = self.name.row_text();
        let version = read.database_version(&own, name, &mut Vec::new())?;
        Ok(version.map(i64::unsigned_abs))
    }

    /// If an error of the store that is open says that it takes no writes any more, it is retired.
    pub(crate) fn note_error(self: &Arc<Self>, error: &Error) {
        self.note_loss(error);
        if let Ok(Some(Access::Open(store))) = self.store_as_it_is() {
            self.note_store_error(&store, error);
        }
    }

    /// If an error says that this store takes no writes any more, it is retired.
    pub(crate) fn note_store_error(self: &Arc<Self>, store: &Arc<OpenStore>, error: &Error) {
        let is_gone = match error.kind() {
            ErrorKind::Closed => true,
            ErrorKind::Uncertain => true,
            // They may be errors of the engine's files or of a blob's content, of the store's lock or of an object store's. Only the
            // first of each pair retires the store, and the engine says whether it is one.
            ErrorKind::Io | ErrorKind::Conflict | ErrorKind::Corruption => {
                let writable = |backing: &BackingStore| backing.check_writable();
                let writable = store.backing().writer().map(writable);
                writable.is_ok_and(|done| done.is_err_and(|error| error.kind() != ErrorKind::Io))
            }
            _ => false,
        };
        if is_gone {
            let why = Error::of_kind(ErrorName::UnknownError, error.kind(), error.message());
            self.retire(store, &why);
        }
    }

    /// Closes all connections by force.
    fn force_close(&self, why: &Error) {
        if let Some(users) = self.users.upgrade() {
            users.force_close(why);
        }
    }

    /// Whether no store is opened any more.
    pub(crate) fn is_closing(&self) -> bool {
        locked(&self.state).is_closing
    }

    /// Whether all connections are closed by force.
    pub(crate) fn is_forced(&self) -> bool {
        locked(&self.state).is_forced
    }

    /// No store is opened any more, and connections take no transactions.
    pub(crate) fn refuse_new(&self) {
        locked(&self.state).is_closing = true;
        if let Some(users) = self.users.upgrade() {
            users.refuse_new();
        }
    }

    /// No store is opened any more, and all connections are closed by force.
    pub(crate) fn begin_close(&self) {
        {
            let mut state = locked(&self.state);
            state.is_closing = true;
            state.is_forced = true;
        }
        self.force_close(&Error::forced());
    }
}
