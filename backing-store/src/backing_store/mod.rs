//! One origin's store, open for writing.

mod cleaning;
mod core;
mod databases;
mod feeds;

pub(crate) mod journal;
mod maintenance;
mod migration;
pub(crate) mod open;
mod options;
mod reserve;
mod room;
mod start;

pub(crate) use self::cleaning::Budget;
pub(crate) use self::core::Core;
pub(crate) use self::feeds::{FeedState, noted};
pub(crate) use self::room::Taken;
pub use maintenance::{Maintenance, MaintenanceSchedule};
pub use options::{Background, BackgroundPool, BackgroundWork, WriteOptions};

pub use room::usage;

use std::sync::Arc;

use larder_codec::{DatabaseId, JsString};
use larder_leveldb::storage::FileSystem;
use larder_leveldb::{Snapshot, TornTail};

use crate::error::{Error, Result};
use crate::layout::StorePaths;
use crate::metadata::DatabaseMetadata;
use crate::origin_note::OriginNote;
use crate::quota::Usage;
use crate::row_store::RowStore;
use crate::versions::StoreVersions;

/// A store that is closed leaves no more bytes than that in memtables' logs: what LevelDB's own write buffer holds.
const LOG_LEFT_MAX: u64 = 4 << 20;

/// A store open for writing. Any number of threads may use it. [`read`](Self::read) and [`begin`](Self::begin) give its transactions.
///
/// ```
/// use std::sync::Arc;
/// use larder_backing_store::{BackingStore, FixedClock, StorePaths, WriteOptions};
/// use larder_codec::Origin;
/// use larder_leveldb::storage::MemoryFileSystem;
/// let origin = Origin::from_url("https://a.example").unwrap();
/// let paths = StorePaths::of_leveldb(origin.leveldb_folder_name().as_ref());
/// let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
/// options.create_if_missing = true;
/// let store = BackingStore::open(Arc::new(MemoryFileSystem::new()), paths, options)?;
/// store.close()?;
/// # Ok::<(), larder_backing_store::Error>(())
/// ```
#[derive(Debug)]
pub struct BackingStore {
    pub(crate) core: Arc<Core>,
}

impl BackingStore {
    /// Opens a store for writing, or makes one ([`WriteOptions::create_if_missing`]). No row of one that is there changes before
    /// something is written: only then what a crash left is recovered on disk, which readers see as recovered at once.
    ///
    /// # Errors
    /// `NotAStore` if there is none; `Conflict` if it is open for writing elsewhere; `Unsupported` if it is newer than
    /// what is known here, or too old: nothing has been touched then; `Corruption`; `Io`.
    pub fn open(fs: Arc<dyn FileSystem>, paths: StorePaths, options: WriteOptions) -> Result<Self> {
        let core = open::open(fs, paths, options)?;
        Ok(Self {
            core: Arc::new(core),
        })
    }

    /// Opens a store that does not lie in LevelDB, for writing: its records lie in `row_store`, and its metadata are these rows, keys and
    /// values, none of which has to be there if the store is new. Blobs are written in `fs`, at the paths that [`StorePaths`] gives them,
    /// before the rows that refer to them are committed.
    ///
    /// Such a store has no change feed, and a transaction's rows stay in memory until it commits.
    ///
    /// # Errors
    /// `Corruption` or `Unsupported` if the rows state no version that is known here.
    pub fn open_rows(
        row_store: Arc<dyn RowStore>,
        metadata: &[(Vec<u8>, Vec<u8>)],
        fs: Arc<dyn FileSystem>,
        paths: StorePaths,
        options: WriteOptions,
    ) -> Result<Self> {
        let core = open::open_rows(row_store, metadata, fs, paths, options)?;
        Ok(Self {
            core: Arc::new(core),
        })
    }

    /// The versions that the store has, now and later.
    #[must_use]
    pub fn versions(&self) -> Arc<StoreVersions> {
        Arc::clone(&self.core.versions)
    }

    /// The rows themselves as they stand now: the undo log's, and those of transactions that have not committed. Of a store that does not
    /// lie in LevelDB, those of metadata alone.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.core.snapshot()
    }

    /// All databases, by origin and name. A database without a version was made, and no version change of it has
    /// been committed; Chromium does not show it.
    ///
    /// # Errors
    /// `Corruption` if a row of metadata cannot be read; `Io`.
    pub fn databases(&self) -> Result<Vec<DatabaseMetadata>> {
        databases::list(&self.core)
    }

    /// The database of this name, which is made if it is not there: durable then, and without a version until a version
    /// change gives it one.
    ///
    /// # Errors
    /// As writing; `Usage` if all ids have been given.
    pub fn create_database(&self, name: &JsString) -> Result<DatabaseId> {
        databases::create(&self.core, name)
    }

    /// Deletes the database of this name, and returns whether there was one. From then on the database is not found.
    /// Its rows are deleted later, bit by bit: some by each transaction that begins to write and by each database that
    /// is made or deleted, the rest by [`maintain`](Self::maintain) and [`close`](Self::close), of this opening or a
    /// later one. As in Chromium the deletion is not synced, unless the database has blobs.
    ///
    /// Damaged rows are deleted as well, if it is certain that they are this database's. A name whose id is damaged is
    /// deleted alone. Rows in damaged blocks of tables stay, and are not found.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if a transaction that writes to it is under way;
    /// [`ErrorKind::Corruption`](crate::ErrorKind::Corruption) if another database has the same id, so that the rows
    /// may be either one's, or names cannot be read; and the errors of writing.
    pub fn delete_database(&self, name: &JsString) -> Result<bool> {
        databases::delete(&self.core, name)
    }

    /// The bytes of the store's files, as they are counted while it is open. The first time they are looked at one by one.
    ///
    /// Tables that background work is just making, and those that only readers keep, do not count.
    ///
    /// # Errors
    /// `Io` if a folder cannot be listed.
    pub fn usage(&self) -> Result<Usage> {
        self.core.usage()
    }

    /// Writes the store's note while it is open: see [`OriginNote::write`].
    ///
    /// # Errors
    /// `Io`; then the one before is there.
    pub fn write_note(&self, note: &OriginNote) -> Result<()> {
        note.write(&*self.core.fs, &self.core.paths)
    }

    /// The files of the store that were not read to their end when it was opened, because a crash, mostly a power cut, has taken
    /// something from it: no transaction that was acknowledged as durable. A host should say so: transactions that were committed
    /// shortly before the crash with [`Durability::Relaxed`](crate::Durability::Relaxed) may be missing.
    #[must_use]
    pub fn torn_tails(&self) -> &[TornTail] {
        self.core.db.torn_tails()
    }

    /// Recovers on disk what a crash has left, and removes the files of blobs that nothing refers to. Otherwise the first write
    /// does this. It is for a store to which nothing will be written: no row of such a store changes without this call. Readers
    /// see the store as recovered in any case.
    ///
    /// # Errors
    /// As reading and writing; the first write, or the next opening, tries it again.
    pub fn settle(&self) -> Result<()> {
        self.core.settle()
    }

    /// Whether writes are still taken.
    ///
    /// # Errors
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed), with the first failure, if an earlier write has failed: opening the
    /// store again shows what is there.
    pub fn check_writable(&self) -> Result<()> {
        Ok(self.core.db.check_writable()?)
    }

    /// Whether a transaction is under way or a blob is held. Closing the store would take both away: opening it again removes the
    /// files of blobs that no row refers to, also of those that were held.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.core) > 1 || self.core.held_blobs.has_readers()
    }

    /// Does one step of what is to be done in quiet times: takes away what ended transactions and deleted databases have
    /// left; and if they are due, which is every few days, deletes stale index rows and compacts tables. A step looks at a
    /// thousand rows or compacts some tables. Chromium begins two seconds after the last connection has closed, and stops
    /// after a minute. A transaction that begins to write waits for a step that sweeps.
    ///
    /// # Errors
    /// As reading and writing. Once, if damage is in the way of taking rows away: they stay until the store is opened again,
    /// which tries it anew.
    pub fn maintain(&self) -> Result<Maintenance> {
        maintenance::step(&self.core)
    }

    /// Does at once what [`settle`](Self::settle) and [`maintain`](Self::maintain) do bit by bit when it is due, but for the compaction:
    /// recovers on disk what a crash has left, deletes the rows of deleted databases and of ended transactions and all stale index
    /// rows, also those of deleted records, which Chromium leaves, and removes blobs that are listed for it. `tick` is called for each step.
    ///
    /// # Errors
    /// `Conflict` if a transaction is writing; as reading and writing. What has been deleted by then was of no use.
    pub fn clean(&self, tick: &mut dyn FnMut()) -> Result<()> {
        maintenance::clean(&self.core, tick)
    }

    /// Compacts all tables of all levels, whether it is due or not: afterwards no file has the bytes of a row that was replaced or
    /// deleted. No row changes. `tick` is called for each step.
    ///
    /// # Errors
    /// As writing.
    pub fn compact(&self, tick: &mut dyn FnMut()) -> Result<()> {
        maintenance::compact(&self.core, tick)
    }

    /// Makes everything that was committed durable and gives up the lock. More than 4 MiB of the log become tables first, so that
    /// opening does not have to.
    ///
    /// Closing is bounded: it deletes up to 10,000 rows that ended transactions and deleted databases have left, and then compacts
    /// up to 8 MiB of tables that had such rows. The rest stays in the undo log, where Chromium finds it, too. It is deleted when the
    /// store is opened again and written to.
    ///
    /// # Errors
    /// Why writes were refused, if they were; `Io`; `Usage` if transactions that write are still there: the store is
    /// closed with the last of them.
    pub fn close(self) -> Result<()> {
        match Arc::try_unwrap(self.core) {
            Ok(core) => {
                unless_full(core.clean_within(Budget::of_closing()))?;
                core.held_blobs.retry();
                unless_full(core.remove_released_blobs())?;
                core.note_sequence();
                if core.db.statistics().memtable_bytes > LOG_LEFT_MAX {
                    unless_full(core.db.flush().map_err(Error::from))?;
                }
                core.db.close()?;
                match core.row_store {
                    Some(row_store) => row_store.close(),
                    None => Ok(()),
                }
            }
            Err(_) => Err(crate::Error::new(
                crate::ErrorKind::Usage,
                "transactions that write are still under way: the store closes when the last of them ends",
            )),
        }
    }
}

/// What there is no room for is left to the next opening: nothing is lost by that.
fn unless_full<T>(done: Result<T>) -> Result<()> {
    match done {
        Err(error) if !error.is_out_of_space() => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
