//! The bytes of a store's files, and the quota that transactions keep to: decision 25.
//!
//! A transaction takes the bytes that it is about to write at most, and hands them back when they have been written and are counted. So
//! several that commit at once never pass the limit together, and wait for each other only where they might.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use larder_leveldb::storage::{FileSystem, MeasuredFileSystem, UsedBytes};

use super::core::Core;
use super::{Budget, unless_full};
use crate::error::{Error, Result};
use crate::layout::StorePaths;
use crate::quota::{OverQuota, Usage};
use crate::sync::locked;

/// Before a transaction is refused, tables of so many bytes are compacted, if that may make room.
const COMPACTED_BYTES_MAX: u64 = 64 << 20;

/// What was written since room was made last is worth making some again, if it is one part in so many of all.
const WRITTEN_SHARE: u64 = 8;

/// The bytes that are counted, and those that are about to be.
#[derive(Debug)]
pub(crate) struct Room {
    fs: MeasuredFileSystem,
    taken: Mutex<u64>,
    handed_back: Condvar,
    /// Something was deleted since room was made last.
    has_deleted: AtomicBool,
    /// Tables were compacted for room that the transaction which asked for it may still read.
    has_replaced: AtomicBool,
    /// What the engine had written then.
    written_bytes: AtomicU64,
}

/// Bytes that a transaction is about to write.
#[derive(Debug)]
pub(crate) struct Taken<'a> {
    room: &'a Room,
    bytes: u64,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            *locked(&self.room.taken) -= self.bytes;
            self.room.handed_back.notify_all();
        }
    }
}

impl Room {
    pub(super) fn new(fs: MeasuredFileSystem) -> Self {
        Self {
            fs,
            taken: Mutex::default(),
            handed_back: Condvar::new(),
            has_deleted: AtomicBool::new(false),
            has_replaced: AtomicBool::new(false),
            written_bytes: AtomicU64::new(0),
        }
    }

    /// Something is deleted: making room is worth its while.
    pub(crate) fn note_deleted(&self) {
        self.has_deleted.store(true, Ordering::Release);
    }
}

/// The LevelDB folder and that of the blobs.
fn usage_of(used: &[UsedBytes]) -> Usage {
    let leveldb = used.first().copied().unwrap_or_default();
    let blobs = used.get(1).copied().unwrap_or_default();
    Usage {
        tables: leveldb.tables,
        logs: leveldb.logs,
        blobs: blobs.total(),
        others: leveldb.others,
    }
}

fn walk_failed(paths: &StorePaths) -> impl Fn(std::io::Error) -> Error {
    |error| Error::io(&paths.leveldb, "its files cannot be counted", error)
}

/// The file system that a store's files are counted in.
pub(super) fn measured(fs: Arc<dyn FileSystem>, paths: &StorePaths) -> MeasuredFileSystem {
    MeasuredFileSystem::new(fs, vec![paths.leveldb.clone(), paths.blob.clone()])
}

/// The bytes of the files of a store that is not open here, one by one. A store that is not there has none.
///
/// # Errors
/// `Io` if a folder cannot be listed.
pub fn usage(fs: Arc<dyn FileSystem>, paths: &StorePaths) -> Result<Usage> {
    walk(&measured(fs, paths), paths)
}

fn walk(fs: &MeasuredFileSystem, paths: &StorePaths) -> Result<Usage> {
    Ok(usage_of(&fs.used().map_err(walk_failed(paths))?))
}

impl Core {
    fn usage_of_files(&self) -> Result<Usage> {
        if let Some(row_store) = &self.row_store {
            return Ok(Usage {
                tables: row_store.used_bytes()?,
                ..Usage::default()
            });
        }
        walk(&self.room.fs, &self.paths)
    }

    /// The bytes of the store's files. Tables that background work is just making, and those that only readers keep, do not
    /// count: neither is the store's content. Those of transactions under way do.
    pub(super) fn usage(&self) -> Result<Usage> {
        let mut usage = self.usage_of_files()?;
        if self.row_store.is_some() {
            return Ok(usage);
        }
        let statistics = self.db.statistics();
        let levels = statistics.levels.iter().map(|level| level.bytes);
        let tables = levels.fold(statistics.ingesting_bytes, u64::saturating_add);
        usage.tables = usage.tables.min(tables);
        Ok(usage)
    }

    /// Takes so many bytes for writing.
    ///
    /// # Errors
    /// If the quota has no room for them; `Io` if the files cannot be counted.
    pub(crate) fn take_room(&self, bytes: u64) -> Result<Taken<'_>> {
        let room = &self.room;
        let (mut has_made_room, mut has_asked) = (false, false);
        loop {
            let over = match self.try_take(bytes)? {
                None => return Ok(Taken { room, bytes }),
                Some(over) => over,
            };
            if !has_made_room {
                has_made_room = true;
                if self.make_room(over.usage_bytes) {
                    continue;
                }
            }
            let quota = self.options.quota.as_ref();
            if !has_asked && quota.is_some_and(|quota| quota.ask(&over)) {
                has_asked = true;
                continue;
            }
            return Err(Error::over_quota(over));
        }
    }

    /// Takes the bytes, or returns the numbers if the quota would be passed. It waits while other commits hold bytes that they may hand
    /// back.
    fn try_take(&self, bytes: u64) -> Result<Option<OverQuota>> {
        let room = &self.room;
        let mut taken = locked(&room.taken);
        loop {
            let quota = self.options.quota.as_ref();
            let limit_bytes = quota.map_or(u64::MAX, |quota| quota.limit_bytes());
            let mut usage_bytes = 0;
            let mut has_room = limit_bytes == u64::MAX;
            // Summing up the tables takes longer, and they count less at most.
            for count in [Self::usage_of_files, Self::usage] {
                if !has_room {
                    usage_bytes = count(self)?.total();
                    let wanted = taken.saturating_add(bytes);
                    has_room = usage_bytes.saturating_add(wanted) <= limit_bytes;
                }
            }
            if has_room {
                *taken += bytes;
                return Ok(None);
            }
            if *taken == 0 {
                return Ok(Some(OverQuota {
                    usage_bytes,
                    needed_bytes: bytes,
                    limit_bytes,
                }));
            }
            let waited = room.handed_back.wait(taken);
            taken = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets the files go that room was made of, once a transaction reads them no longer.
    pub(crate) fn remove_replaced(&self) {
        let has_replaced = &self.room.has_replaced;
        if has_replaced.load(Ordering::Acquire) && has_replaced.swap(false, Ordering::AcqRel) {
            // What cannot be removed now goes with the next background work.
            let _ = self.db.do_background_work();
        }
    }

    /// Makes room of what was deleted or replaced, if something was since the last time: whether there may be some.
    fn make_room(&self, usage_bytes: u64) -> bool {
        let room = &self.room;
        if let Some(row_store) = &self.row_store {
            let has_deleted = room.has_deleted.swap(false, Ordering::AcqRel);
            return has_deleted && row_store.compact().is_ok();
        }
        let written = self.db.statistics().written_bytes;
        let before = room.written_bytes.load(Ordering::Relaxed);
        let has_deleted = room.has_deleted.swap(false, Ordering::AcqRel);
        if !has_deleted && written.saturating_sub(before) < usage_bytes / WRITTEN_SHARE {
            return false;
        }
        let made = || {
            unless_full(self.clean_within(Budget::of_closing()))?;
            self.db.flush()?;
            if self.db.compaction_bytes(None, None)? <= COMPACTED_BYTES_MAX {
                self.db.compact_range(None, None)?;
            }
            Ok::<_, Error>(())
        };
        room.has_replaced.store(true, Ordering::Release);
        // What cannot be done is left as it is; the transaction is refused then.
        let is_made = made().is_ok();
        let written = self.db.statistics().written_bytes;
        room.written_bytes.store(written, Ordering::Relaxed);
        is_made
    }
}
