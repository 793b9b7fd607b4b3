//! What a store that is open for writing and its transactions share.
//!
//! Locks that are held for moments: which rows readers must take from older snapshots, which scopes have ended and are to be
//! cleaned up, and, but for a step of the sweeper, which scopes are being written. Locks that are held while the engine
//! writes, which no reader takes: whose turn it is to change rows of the whole store, and to do maintenance.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use larder_codec::blob_journal::BlobJournalEntry;
use larder_codec::{DatabaseId, ScopeId};
use larder_leveldb::storage::FileSystem;
use larder_leveldb::{Db, Snapshot};

use super::cleaning::Cleanups;
use super::feeds::Compared;
use super::journal::{self, Emptied};
use super::maintenance::UnderWay;
use super::options::WriteOptions;
use super::room::Room;
use super::start::Start;
use crate::blob::{DurableDirs, HeldBlobs};
use crate::error::{Error, ErrorKind, Result};
use crate::feed::{Feed, Feeds};
use crate::layout::StorePaths;
use crate::metadata::NamedIds;
use crate::open_stores::StoreCache;
use crate::reads::StoreContext;
use crate::row_store::RowStore;
use crate::scope::Scope;
use crate::staleness::IndexFacts;
use crate::sync::locked;
use crate::versions::StoreVersions;
use crate::view::{Base, View};

/// The shared part.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) db: Db,
    /// Where records lie, if that is not LevelDB; then `db` is in memory, and has the metadata alone.
    pub(crate) row_store: Option<Arc<dyn RowStore>>,
    pub(crate) fs: Arc<dyn FileSystem>,
    pub(crate) paths: StorePaths,
    pub(crate) context: Arc<StoreContext>,
    pub(crate) options: WriteOptions,
    pub(crate) held_blobs: HeldBlobs,
    pub(crate) durable_dirs: DurableDirs,
    pub(crate) room: Room,
    active: Mutex<Active>,
    store_cache: Mutex<StoreCache>,
    pub(crate) feeds: Feeds,
    pub(crate) compared: Mutex<Compared>,
    direct: Mutex<()>,
    pub(super) cleanups: Mutex<Cleanups>,
    maintenance: Mutex<UnderWay>,
    /// Databases whose rows may go, to make room if there is none.
    pub(super) deleted: Mutex<Vec<DatabaseId>>,
    /// There was no room, and the reserve has gone.
    pub(super) is_reserve_taken: AtomicBool,
    random: Mutex<u64>,
    pub(super) next_scope: AtomicI64,
    pub(crate) versions: Arc<StoreVersions>,
    pub(crate) start: Start,
    /// Without one a transaction stays in memory until it is committed.
    pub(crate) has_undo_log: bool,
}

/// What opening has found.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(super) versions: StoreVersions,
    pub(super) start: Start,
    pub(super) has_undo_log: bool,
    pub(super) room: Room,
    pub(super) row_store: Option<Arc<dyn RowStore>>,
}

/// The scopes being written.
#[derive(Debug, Default)]
struct Active {
    next: u64,
    scopes: Vec<(u64, Scope)>,
}

impl Core {
    pub(super) fn new(
        db: Db,
        fs: Arc<dyn FileSystem>,
        paths: StorePaths,
        options: WriteOptions,
        opened: Opened,
    ) -> Self {
        let Opened {
            versions,
            start,
            has_undo_log,
            room,
            row_store,
        } = opened;
        let context = StoreContext {
            fs: Arc::clone(&fs),
            paths: paths.clone(),
            schema_version: Some(versions.schema()),
            data_version: Some(versions.data()),
            lost_writes: false,
            named_ids: NamedIds::default(),
            index_facts: match row_store {
                Some(_) => IndexFacts::of_none_stale(),
                None => IndexFacts::default(),
            },
        };
        Self {
            context: Arc::new(context),
            compared: Mutex::new(Compared::since(&db)),
            db,
            row_store,
            fs,
            paths,
            held_blobs: HeldBlobs::default(),
            durable_dirs: DurableDirs::default(),
            room,
            active: Mutex::default(),
            store_cache: Mutex::default(),
            feeds: Feeds::default(),
            direct: Mutex::default(),
            cleanups: Mutex::default(),
            maintenance: Mutex::default(),
            deleted: Mutex::default(),
            is_reserve_taken: AtomicBool::new(false),
            random: Mutex::new(options.random_seed),
            next_scope: AtomicI64::new(0),
            versions: Arc::new(versions),
            start,
            has_undo_log,
            options,
        }
    }

    /// What is committed.
    pub(crate) fn base(&self) -> Base {
        let stamp = self.context.index_facts.stamp();
        let base = Base::new(self.db.snapshot()).with_stamp(stamp);
        match &self.row_store {
            Some(row_store) => base.with_records(row_store.rows()),
            None => base,
        }
    }

    /// The change feed of a database, if it has one: those go by numbers that LevelDB alone has.
    pub(crate) fn feed_of(
        &self,
        database_id: DatabaseId,
        view: impl FnOnce() -> View,
    ) -> Result<Option<Arc<Feed>>> {
        match self.row_store {
            Some(_) => Ok(None),
            None => self.feeds.of(database_id, view),
        }
    }

    /// Everything as it stands, uncommitted rows included.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.db.snapshot()
    }

    /// Takes a scope for writing: a number for the transaction.
    pub(crate) fn enter(&self, scope: &Scope) -> Result<u64> {
        let mut active = locked(&self.active);
        if active.scopes.iter().any(|(_, other)| other.overlaps(scope)) {
            let what = "another transaction is writing to an object store of the scope: wait until it ends";
            return Err(Error::new(ErrorKind::Conflict, what));
        }
        let number = active.next;
        active.next += 1;
        active.scopes.push((number, scope.clone()));
        if let Scope::VersionChange(database_id) = scope {
            self.store_cache().forget(*database_id);
        }
        Ok(number)
    }

    /// The cached state of object stores that no transaction writes to.
    pub(crate) fn store_cache(&self) -> MutexGuard<'_, StoreCache> {
        locked(&self.store_cache)
    }

    pub(crate) fn leave(&self, number: u64) {
        locked(&self.active)
            .scopes
            .retain(|(other, _)| *other != number);
    }

    /// Does `work` if no transaction that writes is under way; none begins until it is done.
    pub(super) fn while_no_writer_runs<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let active = locked(&self.active);
        active.scopes.is_empty().then(work)
    }

    pub(super) fn maintenance(&self) -> MutexGuard<'_, UnderWay> {
        locked(&self.maintenance)
    }

    /// A random number below `end`; 0 if that is 0. SplitMix64: nothing hangs on it but evenness.
    pub(super) fn random(&self, end: u64) -> u64 {
        let mut state = locked(&self.random);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).checked_rem(end).unwrap_or(0)
    }

    /// The lock for changes to rows of the whole store: one change at a time.
    pub(crate) fn direct(&self) -> MutexGuard<'_, ()> {
        locked(&self.direct)
    }

    /// Removes the files of blobs that are gone from the rows and have no reader left: whether there were any. A file that
    /// cannot be removed stays in its journal. It is tried again with the blobs that are released next, and when the store is
    /// closed or opened.
    ///
    /// # Errors
    /// `Io` if a file could not be removed; as writing.
    pub(crate) fn remove_released_blobs(&self) -> Result<bool> {
        let released = self.held_blobs.take_released();
        if released.is_empty() {
            return Ok(false);
        }
        let turn = self.direct();
        self.remove_blobs(released, &turn, Emptied::Kept)
            .map(|()| true)
    }

    /// Does the work of [`remove_released_blobs`](Self::remove_released_blobs) within a turn that the caller has taken.
    pub(crate) fn remove_released_blobs_in(
        &self,
        turn: &MutexGuard<'_, ()>,
        emptied: Emptied,
    ) -> Result<()> {
        self.remove_blobs(self.held_blobs.take_released(), turn, emptied)
    }

    fn remove_blobs(
        &self,
        released: BTreeSet<BlobJournalEntry>,
        _turn: &MutexGuard<'_, ()>,
        emptied: Emptied,
    ) -> Result<()> {
        if released.is_empty() {
            return Ok(());
        }
        let is_due = |entry: &BlobJournalEntry| released.contains(entry);
        match journal::settle(&self.db, &*self.fs, &self.paths, is_due, emptied) {
            Ok(None) => Ok(()),
            Ok(Some(refused)) => {
                self.held_blobs.put_back(refused.entries);
                Err(refused.error)
            }
            Err(error) => {
                self.held_blobs.put_back(released);
                Err(error)
            }
        }
    }

    /// A number for a scope of the undo log, not on disk and not in use.
    pub(crate) fn new_scope_id(&self) -> Result<ScopeId> {
        let number = self.next_scope.fetch_add(1, Ordering::Relaxed);
        ScopeId::new(number).ok_or_else(|| {
            Error::new(
                ErrorKind::Usage,
                "the undo log has no scope numbers left: close the store and open it again",
            )
        })
    }
}
