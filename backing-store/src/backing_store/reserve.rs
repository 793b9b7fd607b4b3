//! Room that is kept for deleting on a full disk: decision 19.
//!
//! Deleting writes before it frees anything: a record of the log, and maybe a log, a MANIFEST and CURRENT. A small file
//! in the LevelDB folder holds the room for that; Chromium and LevelDB ignore it, because its name is none of
//! LevelDB's. It is removed when a deletion finds no room, and made again by a later write. A store is not made without
//! one.

use std::sync::atomic::Ordering;

use larder_codec::range;
use larder_leveldb::Durability;
use larder_leveldb::storage::FileSystem;
use larder_leveldb::write_batch::BatchWriter;

use super::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::StorePaths;
use crate::sync::locked;

/// The file's name.
pub(crate) const RESERVE: &str = "RESERVE";

/// What Chromium says of its own doings, and begins anew at each opening; of no use to a store.
const INFO_LOGS: [&str; 2] = ["LOG.old", "LOG"];

/// Makes the file, if it is not there.
///
/// # Errors
/// If there is no room for it; then there is none.
pub(super) fn keep(fs: &dyn FileSystem, paths: &StorePaths, len_bytes: usize) -> Result<()> {
    let path = paths.leveldb.join(RESERVE);
    if len_bytes == 0 || fs.metadata(&path).is_ok() {
        return Ok(());
    }
    let made = fs.create(&path).and_then(|mut file| {
        file.append(&filling(len_bytes))?;
        file.flush()
    });
    made.map_err(|error| {
        let _ = fs.remove(&path);
        Error::io(&path, "cannot be written", error)
    })
}

/// Bytes that no file system packs or leaves out.
fn filling(len_bytes: usize) -> Vec<u8> {
    let mut state = 0x4c61_7264_6572_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let words = std::iter::from_fn(|| Some(next().to_le_bytes()));
    words.flatten().take(len_bytes).collect()
}

/// Removes it, or else Chromium's own log: whether there was anything.
fn give_up(fs: &dyn FileSystem, paths: &StorePaths) -> bool {
    if fs.remove(&paths.leveldb.join(RESERVE)).is_ok() {
        return true;
    }
    let removed = INFO_LOGS.map(|name| fs.remove(&paths.leveldb.join(name)).is_ok());
    removed.contains(&true)
}

impl Core {
    /// Runs `work`, which deletes or rolls back. If it finds no room on the disk, it runs once more without the
    /// reserve, and its argument is then true. No background work is begun beside that, since a table would take the
    /// room that the reserve had.
    ///
    /// An error after which nothing is certain stays what it is. The engine refuses every write after such an error as not
    /// done, which of a second try is true, and of the first is not known.
    ///
    /// # Errors
    /// Those of `work`, which must be repeatable after an error.
    pub(crate) fn with_reserve<T>(&self, mut work: impl FnMut(bool) -> Result<T>) -> Result<T> {
        let done = work(false);
        let is_repeatable =
            |error: &Error| error.is_out_of_space() && error.kind() != ErrorKind::Uncertain;
        if !matches!(&done, Err(error) if is_repeatable(error)) {
            return done;
        }
        let _pause = self.db.pause_background()?;
        // Without a reserve there may be room again, too: background work that has just ended gave back what it had taken.
        self.take_reserve();
        work(true)
    }

    /// Makes room of databases that were deleted, once, and then a reserve again: whether there were any.
    pub(super) fn gain_room(&self) -> bool {
        let deleted = std::mem::take(&mut *locked(&self.deleted));
        if deleted.is_empty() {
            return false;
        }
        let forget = || {
            for id in &deleted {
                let (low, end) = (range::database_low(*id), range::database_end(*id));
                let _ = self.db.forget(&low, &end);
            }
        };
        let is_tried = self.free_forgotten(forget);
        if !is_tried {
            locked(&self.deleted).extend(deleted);
        }
        is_tried
    }

    /// Frees the room of ranges of which a transaction has deleted all rows, and then makes a reserve again. No
    /// transaction may write there meanwhile.
    pub(crate) fn gain_room_of(&self, ranges: &[(Vec<u8>, Vec<u8>)]) {
        self.free_forgotten(|| {
            for (low, end) in ranges {
                let _ = self.db.forget_deleted(low, end);
            }
        });
    }

    /// Frees the room of rows that are deleted. Returns whether it could be tried. What fails here is tried again by
    /// the next write, and the deletions stand.
    fn free_forgotten(&self, forget: impl Fn()) -> bool {
        // What a power cut takes the deletion from must be whole.
        let mut nothing = BatchWriter::new();
        if self.db.write(&mut nothing, Durability::Strict).is_err() {
            return false;
        }
        // It is worth more now than later.
        self.take_reserve();
        forget();
        let mut is_flushed = self.db.flush().is_ok();
        // What could not go before.
        forget();
        let _ = self.db.reclaim();
        if !is_flushed {
            is_flushed = self.db.flush().is_ok();
            forget();
        }
        if is_flushed {
            self.is_reserve_taken.store(false, Ordering::Release);
            self.keep_reserve();
        }
        true
    }

    fn take_reserve(&self) -> bool {
        let is_taken = give_up(&*self.fs, &self.paths);
        self.is_reserve_taken.fetch_or(is_taken, Ordering::AcqRel);
        is_taken
    }

    /// Makes a reserve, unless it was taken a moment ago. If there is no room for it, there is none.
    pub(super) fn keep_reserve(&self) {
        if !self.is_reserve_taken.load(Ordering::Acquire) {
            let _ = keep(&*self.fs, &self.paths, self.options.reserve_bytes);
        }
    }
}
