//! The writing engine: what a store that is open for writing is made of, and which lock guards what.
//!
//! Three locks, taken in this order and never the other way round. [`Engine::writer`]: the log and the memtable being filled;
//! held for one group of writes. [`Engine::work`]: the MANIFEST and the set of tables; held while tables are made.
//! [`Engine::current`]: what readers start from; held for as long as it takes to copy a pointer. So readers wait for no writer.
//!
//! A snapshot keeps the memtables and tables that it reads from, so neither a flush nor a compaction has to keep an entry
//! for it: of each user key only the newest entry is written. Tables that are replaced are removed when no reader has them.

mod background;
mod compact;
mod compaction;
mod compaction_input;
mod forget;
mod group;
mod health;
mod ingestion;
mod install;
mod kept;
mod output;
mod pace;
mod parts;
mod pause;
mod pool;
mod reclaim;
mod recover;
mod remove;
mod settle;
mod statistics;
mod tails;
mod tombstones;
mod write;

pub use group::Durability;
pub use ingestion::{IngestedRow, Ingestion};
pub(crate) use install::{FirstEdit, Numbers};
pub use pause::BackgroundPause;
pub(crate) use recover::{Recovered, lock};
pub(crate) use settle::first_number;
pub use statistics::{LevelStatistics, Statistics};

use crate::core::Core;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::read_state::ReadState;
use crate::snapshot::Snapshot;
use crate::storage::FileLock;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Condvar, Mutex, MutexGuard};
use crate::version::Version;
use background::Signal;
use forget::Discardable;
use group::Queue;
use health::Health;
use ingestion::Beside;
use install::Work;
use pace::Progress;
use pool::Desk;
use statistics::Counters;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use write::Writer;

/// Level-0 tables that make a compaction due, that slow writers down, and that stop them: as in LevelDB.
const L0_COMPACT: usize = 4;
const L0_SLOW_DOWN: usize = 8;
const L0_STOP: usize = 12;

/// A store open for writing.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) core: Arc<Core>,
    pub(crate) options: Options,
    queue: Mutex<Queue>,
    writer: Mutex<Writer>,
    work: Mutex<Work>,
    current: Mutex<Current>,
    health: Health,
    discardable: Discardable,
    beside: Mutex<Beside>,
    signal: Mutex<Signal>,
    /// There is background work, or it shall end.
    work_ready: Condvar,
    /// Some background work was done.
    work_done: Condvar,
    stop: AtomicBool,
    /// How many callers keep background work from being begun.
    pauses: AtomicUsize,
    /// Where a pool's threads come in.
    desk: Option<Arc<Desk>>,
    /// There is a log to write to. It is begun by the first write if opening had no room for one.
    has_begun: AtomicBool,
    /// What was in the logs when the store was opened is still to become tables.
    has_kept: AtomicBool,
    /// A full memtable waits to become a table.
    has_full: AtomicBool,
    l0_tables: AtomicUsize,
    next_file: AtomicU64,
    progress: Progress,
    counters: Counters,
    /// Released when all else is gone.
    lock: Box<dyn FileLock>,
}

/// What readers start from.
#[derive(Debug)]
struct Current {
    state: Arc<ReadState>,
    /// The last sequence number that is whole.
    sequence: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that holds a lock here panics; if a comparator does, what it left is as whole as after an error, and writes are
    // refused.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    /// What is acknowledged now. Both under one lock: with a sequence number younger than the state, rows of a memtable begun
    /// between them would be missing (the model test shows it).
    pub(crate) fn snapshot(&self) -> Snapshot {
        let current = locked(&self.current);
        Snapshot::new(current.state.clone(), current.sequence)
    }

    pub(crate) fn snapshot_at(&self, sequence: u64) -> Snapshot {
        let current = locked(&self.current);
        Snapshot::new(current.state.clone(), sequence.min(current.sequence))
    }

    pub(crate) fn last_sequence(&self) -> u64 {
        locked(&self.current).sequence
    }

    pub(crate) fn state(&self) -> Arc<ReadState> {
        locked(&self.current).state.clone()
    }

    fn version(&self) -> Arc<Version> {
        self.state().version.clone()
    }

    /// Replaces what readers start from.
    fn publish(&self, change: impl FnOnce(&ReadState) -> ReadState) {
        let old;
        {
            let mut current = locked(&self.current);
            let state = change(&current.state);
            self.has_full.store(state.live.len() > 1, Ordering::Release);
            let l0 = state.version.files().filter(|file| file.level == 0).count();
            self.l0_tables.store(l0, Ordering::Release);
            old = std::mem::replace(&mut current.state, Arc::new(state));
        }
        // May free a memtable: not while readers wait.
        drop(old);
    }

    fn new_file_number(&self) -> u64 {
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    fn path(&self, name: impl ToString) -> PathBuf {
        self.core.dir.join(name.to_string())
    }

    /// Makes names in the store's directory durable.
    fn sync_dir(&self) -> Result<()> {
        let dir = &self.core.dir;
        let synced = self.core.fs.sync_dir(dir);
        synced.map_err(|error| Error::io(&**dir, "cannot sync the directory", error))
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
#[cfg(not(shuttle))]
mod tests;
