//! Transactions: many that read, and any number that write as long as their scopes do not overlap.
//!
//! This file is the row level: rows as bytes. What a put or a clear of IndexedDB does with rows is not here.

mod catch_up;
mod commit;
mod objects;
mod read;
mod room;
mod row_store;
mod runs;

pub use catch_up::CaughtUp;
pub use read::ReadTransaction;

use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard};

use larder_codec::DataVersion;
use larder_codec::compare::compare;
use larder_leveldb::{Durability, Ingestion};

use crate::backing_store::{BackingStore, Budget, Core};
use crate::error::{Error, ErrorKind, Result};
use crate::feed::{Changes, Feed};
use crate::open_stores::{OpenStores, StoreCache};
use crate::reads::Reads;
use crate::scope::Scope;
use crate::staging::{ROW_LEN_MAX, STAGED_LEN_MAX};
use crate::staleness::IndexFacts;
use crate::sync::locked;
use crate::view::{Pending, View};
use objects::ObjectChanges;
use room::Seldom;

/// A transaction that writes within a [`Scope`]: all of it is committed or nothing.
///
/// It sees what was committed when it began and, over it, what it wrote itself. Dropping it rolls it back.
#[derive(Debug)]
pub struct WriteTransaction {
    core: Arc<Core>,
    number: u64,
    scope: Scope,
    durability: Durability,
    pending: Arc<Mutex<Pending>>,
    reads: Reads,
    open_stores: OpenStores,
    objects: ObjectChanges,
    /// Once rows have been spilled.
    ingestion: Option<Box<Ingestion>>,
    /// Once it has deleted ranges, or spilled rows.
    seldom: Option<Box<Seldom>>,
    puts: Puts,
    /// It has deleted something.
    deletes: bool,
    /// If the database has one.
    feed: Option<Arc<Feed>>,
    /// What is to become revisions.
    changes: Option<Box<Changes>>,
    /// The data version that values in it need, if the store does not have it.
    raise_to: Option<DataVersion>,
    state: State,
}

/// The longest that the data-version row is in a batch, in bytes.
const DATA_VERSION_ROW_LEN: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Rows could not be spilled, maybe for want of room: only a rollback is left.
    Failed {
        is_out_of_space: bool,
    },
    Ended,
    /// It has ended, and its scope is still held, until the room of what it has deleted is freed.
    ScopeHeld,
}

/// What it puts. With anything it keeps to the quota; what only deletes is never refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Puts {
    Nothing,
    Rows,
    Records,
}

impl State {
    /// Why nothing more is written.
    #[cold]
    fn refusal(self) -> Error {
        let what =
            "the transaction cannot go on, because an earlier write has failed: roll it back";
        let error = Error::new(ErrorKind::Closed, what);
        match self {
            Self::Failed { is_out_of_space } if is_out_of_space => error.for_want_of_room(),
            _ => error,
        }
    }
}

impl BackingStore {
    /// Begins a transaction that reads what is committed now.
    #[must_use]
    pub fn read(&self) -> ReadTransaction {
        ReadTransaction::new(&self.core)
    }

    /// Begins a transaction that writes. A version change is always committed with [`Durability::Strict`].
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if a transaction that is under way has an object store of
    /// `scope`: there is no waiting here.
    pub fn begin(&self, scope: Scope, durability: Durability) -> Result<WriteTransaction> {
        catch_up::catch_up_before_writing(&self.core, scope.database_id())?;
        WriteTransaction::begin(Arc::clone(&self.core), scope, durability)
    }
}

impl WriteTransaction {
    fn begin(core: Arc<Core>, scope: Scope, durability: Durability) -> Result<Self> {
        core.settle_if_crashed()?;
        core.clean_some(&mut Budget::beside_writers())?;
        // A file that cannot be removed is no reason to fail the transaction that begins here.
        let _ = core.remove_released_blobs();
        let number = core.enter(&scope)?;
        // In the scope: a version change that turns the feed on or off has ended.
        let feed = core.feed_of(scope.database_id(), || core.committed());
        let feed = feed.inspect_err(|_| core.leave(number))?;
        let pending = Arc::new(Mutex::new(Pending::new(core.base())));
        let durability = match scope {
            // As in Chromium, whatever was asked for.
            Scope::VersionChange(_) => Durability::Strict,
            Scope::Stores(..) => durability,
        };
        let view = View::transaction(Arc::clone(&pending));
        Ok(Self {
            reads: Reads::new(view, Arc::clone(&core.context)),
            open_stores: OpenStores::default(),
            objects: ObjectChanges::default(),
            core,
            number,
            scope,
            durability,
            pending,
            ingestion: None,
            seldom: None,
            puts: Puts::Nothing,
            deletes: false,
            feed,
            changes: None,
            raise_to: None,
            state: State::Open,
        })
    }

    /// What it may write.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The bytes of rows, keys and values together, that the transaction has written to tables of its own so far. It does so
    /// once its writes pass [`WriteOptions::transaction_memory_bytes`](crate::WriteOptions::transaction_memory_bytes).
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        self.seldom
            .as_ref()
            .map_or(0, |seldom| seldom.spilled_bytes)
    }

    /// The versions in which it may write values: the store's, or those that it will raise them to.
    #[must_use]
    pub fn data_version(&self) -> DataVersion {
        let store = self.core.versions.data();
        self.raise_to.map_or(store, |raised| raised.max(store))
    }

    /// Announces a value that needs these versions of the value formats. If the store has lesser versions, the transaction
    /// raises them when it is committed, in the same batch; [`RaiseDataVersion`](crate::RaiseDataVersion) says whether it may.
    ///
    /// # Errors
    /// `Unsupported` if they may not.
    pub fn require_data_version(&mut self, needed: DataVersion) -> Result<()> {
        let now = self.data_version();
        if now.is_at_least(needed) {
            return Ok(());
        }
        if !self.core.versions.may_hold(needed) {
            return Err(too_new(needed, now));
        }
        self.raise_to = Some(now.max(needed));
        Ok(())
    }

    /// What it has learnt of the object stores that it writes to.
    pub(crate) fn open_stores(&mut self) -> &mut OpenStores {
        &mut self.open_stores
    }

    /// What committed ones knew of theirs.
    pub(crate) fn store_cache(&self) -> MutexGuard<'_, StoreCache> {
        self.core.store_cache()
    }

    /// What it has written, and what it changes in what is known of indexes.
    pub(crate) fn pending(&self) -> &Mutex<Pending> {
        &self.pending
    }

    /// What is known of indexes among what is committed.
    pub(crate) fn index_facts(&self) -> &IndexFacts {
        &self.core.context.index_facts
    }

    /// What it sees: its own writes, too.
    pub(crate) fn view(&self) -> &View {
        self.reads.view()
    }

    /// The database's change feed, if it has one.
    pub(crate) const fn feed(&self) -> Option<&Arc<Feed>> {
        self.feed.as_ref()
    }

    /// Fails for a store that can have no change feed.
    pub(crate) fn check_may_have_feed(&self) -> Result<()> {
        if self.core.row_store.is_none() {
            return Ok(());
        }
        let what = "a change feed goes by the numbers that records have in LevelDB; this store lies in another form";
        Err(Error::new(ErrorKind::Unsupported, what))
    }

    /// Turns the feed on or off within a version change.
    pub(crate) fn set_feed(&mut self, feed: Option<Feed>) {
        self.feed = feed.map(Arc::new);
    }

    /// What is to become revisions.
    pub(crate) fn changes_mut(&mut self) -> &mut Changes {
        self.changes.get_or_insert_default()
    }

    /// Whether it may write a row: one of its scope's, or of the history of its records. No other transaction writes the latter, since
    /// their keys begin with the object store's number.
    fn covers(&self, key: &[u8]) -> bool {
        let is_history = |feed: &Arc<Feed>| feed.has_history_row(key);
        self.scope.covers(key) || self.feed.as_ref().is_some_and(is_history)
    }

    /// Gives a row a value.
    pub(crate) fn put_row(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.puts = self.puts.max(Puts::Rows);
        self.put_small_row(key, value)
    }

    /// Gives a row a value that is written whatever the quota says.
    pub(crate) fn put_small_row(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_row(key, value)?;
        self.check_open()?;
        let len_bytes = {
            let staging = &mut locked(&self.pending).staging;
            staging.put(key, value);
            staging.len_bytes()
        };
        self.spill_if_large(len_bytes)
    }

    /// Gives rows the same value: one for each item, whose key `make_key` writes into `key`.
    pub(crate) fn put_rows<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        key: &mut Vec<u8>,
        make_key: impl Fn(T, &mut Vec<u8>),
        value: &[u8],
    ) -> Result<()> {
        self.check_open()?;
        self.puts = self.puts.max(Puts::Rows);
        let mut items = items.into_iter();
        loop {
            let len_bytes = {
                let staging = &mut locked(&self.pending).staging;
                loop {
                    let Some(item) = items.next() else {
                        return Ok(());
                    };
                    key.clear();
                    make_key(item, key);
                    self.check_row(key, value)?;
                    staging.put(key, value);
                    if self.is_large(staging.len_bytes()) {
                        break staging.len_bytes();
                    }
                }
            };
            self.spill_if_large(len_bytes)?;
        }
    }

    fn check_row(&self, key: &[u8], value: &[u8]) -> Result<()> {
        debug_assert!(self.covers(key), "row outside of the scope: {key:?}");
        if key.len().saturating_add(value.len()) > ROW_LEN_MAX {
            let what = format!("row of {} bytes; at most {ROW_LEN_MAX}", value.len());
            return Err(Error::new(ErrorKind::Usage, what).with_key(key));
        }
        Ok(())
    }

    /// Takes a row away, whether or not there is one.
    pub(crate) fn delete_row(&mut self, key: &[u8]) -> Result<()> {
        debug_assert!(self.covers(key), "row outside of the scope: {key:?}");
        self.check_open()?;
        self.deletes = true;
        let len_bytes = {
            let staging = &mut locked(&self.pending).staging;
            staging.delete(key);
            staging.len_bytes()
        };
        self.spill_if_large(len_bytes)
    }

    /// Whether so many bytes may not stay staged.
    fn is_large(&self, staged_bytes: usize) -> bool {
        let memory = match self.core.has_undo_log {
            true => self.core.options.transaction_memory_bytes,
            false => STAGED_LEN_MAX,
        };
        staged_bytes > memory.min(STAGED_LEN_MAX)
    }

    fn spill_if_large(&mut self, staged_bytes: usize) -> Result<()> {
        if !self.is_large(staged_bytes) {
            return Ok(());
        }
        self.spill().inspect_err(|error| {
            let is_out_of_space = error.is_out_of_space();
            self.state = State::Failed { is_out_of_space };
        })
    }

    /// Takes the rows from `begin` up to `end` away, and the one at `end` if that is included.
    pub(crate) fn delete_rows(
        &mut self,
        begin: &[u8],
        end: &[u8],
        end_included: bool,
    ) -> Result<()> {
        self.delete_rows_counting(begin, end, end_included, &[])
            .map(drop)
    }

    /// Deletes rows, and returns how many of them have keys that begin with `counted`.
    pub(crate) fn delete_rows_counting(
        &mut self,
        begin: &[u8],
        end: &[u8],
        end_included: bool,
        counted: &[u8],
    ) -> Result<u64> {
        let mut count = 0;
        self.objects.forget_new(begin, end, end_included);
        let mut iter = match end_included {
            true => self.view().iter_near(begin, end),
            false => self.view().iter_before(end),
        };
        iter.seek(begin)?;
        while iter.valid() {
            let order = compare(iter.key(), end);
            if order == Ordering::Greater || (order == Ordering::Equal && !end_included) {
                break;
            }
            let is_schema_3 = self.core.versions.lacks_file_info();
            self.objects
                .note_removed(iter.key(), || iter.value(), is_schema_3)?;
            self.delete_row(iter.key())?;
            count += u64::from(iter.key().starts_with(counted));
            iter.next()?;
        }
        Ok(count)
    }

    /// Takes one row away, whose key has no other form ([`has_two_forms`](crate::reads::has_two_forms)); whether there was
    /// one. Unlike [`delete_rows`](Self::delete_rows), it does not pass over tombstones to find that no further row follows.
    pub(crate) fn delete_existing_row(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.objects.forget_new_of(key);
        if !self.view().get_into(key, value)? {
            return Ok(false);
        }
        let is_schema_3 = self.core.versions.lacks_file_info();
        self.objects
            .note_removed(key, || Ok(&**value), is_schema_3)?;
        self.delete_row(key)?;
        Ok(true)
    }

    #[inline]
    fn check_open(&self) -> Result<()> {
        match self.state {
            State::Open => Ok(()),
            state => Err(state.refusal()),
        }
    }

    /// Takes all of it back. Nothing of it was in the store, so nothing is written for that.
    pub fn rollback(mut self) {
        let core = Arc::clone(&self.core);
        self.take_back();
        drop(self);
        core.remove_replaced();
    }

    fn take_back(&mut self) {
        if matches!(self.state, State::Ended | State::ScopeHeld) {
            return;
        }
        self.state = State::Ended;
        locked(&self.pending).staging.clear();
        self.leave_runs();
    }
}

fn too_new(needed: DataVersion, store: DataVersion) -> Error {
    let what = format!(
        "a value needs version {} of V8's value format and {} of Blink's; the store has {} and {}, and may not be raised: a \
         browser with lesser versions would delete it (`raise_data_version` allows it)",
        needed.v8, needed.blink, store.v8, store.blink
    );
    Error::new(ErrorKind::Unsupported, what)
}

impl Deref for WriteTransaction {
    type Target = Reads;

    fn deref(&self) -> &Reads {
        &self.reads
    }
}

impl Drop for WriteTransaction {
    fn drop(&mut self) {
        self.take_back();
        self.leave();
    }
}

#[cfg(test)]
mod tests;
