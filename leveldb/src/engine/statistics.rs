//! What the engine has done, in numbers.

use super::{Engine, locked};
use crate::sync::AtomicU64;
use crate::version_edit::LEVELS;
use std::sync::atomic::Ordering;

/// Numbers since the store was opened, and what it is made of now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Groups of batches written.
    pub writes: u64,
    /// Bytes of those, as in the log but for its headers.
    pub written_bytes: u64,
    /// Syncs of logs.
    pub log_syncs: u64,
    /// Bytes of tables made of memtables.
    pub flushed_bytes: u64,
    /// Bytes of tables that compactions have read.
    pub compaction_read_bytes: u64,
    /// Bytes of tables that compactions have written.
    pub compaction_written_bytes: u64,
    /// Entries that iterators have passed over because they are tombstones, hidden by those, or replaced; of walks over 64 and
    /// more of them.
    pub passed_entries: u64,
    /// How often a write was held up a little, because flushes or compactions were behind.
    pub slow_downs: u64,
    /// How often a write had to wait for a flush or a compaction.
    pub stops: u64,
    /// Bytes of memory that memtables take now.
    pub memtable_bytes: u64,
    /// Bytes of tables that ingestions have made so far, and that are not part of the store.
    pub ingesting_bytes: u64,
    /// Each level's tables now.
    pub levels: [LevelStatistics; LEVELS],
}

/// The tables of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelStatistics {
    /// How many there are.
    pub tables: usize,
    /// Their bytes.
    pub bytes: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    writes: AtomicU64,
    written_bytes: AtomicU64,
    log_syncs: AtomicU64,
    flushed_bytes: AtomicU64,
    compaction_read_bytes: AtomicU64,
    compaction_written_bytes: AtomicU64,
    slow_downs: AtomicU64,
    stops: AtomicU64,
}

fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Counters {
    pub(super) fn wrote(&self, bytes: usize) {
        add(&self.writes, 1);
        add(&self.written_bytes, bytes as u64);
    }

    pub(super) fn synced(&self) {
        add(&self.log_syncs, 1);
    }

    pub(super) fn flushed(&self, bytes: u64) {
        add(&self.flushed_bytes, bytes);
    }

    pub(super) fn compacted(&self, read: u64, written: u64) {
        add(&self.compaction_read_bytes, read);
        add(&self.compaction_written_bytes, written);
    }

    pub(super) fn slowed_down(&self) {
        add(&self.slow_downs, 1);
    }

    pub(super) fn stopped(&self) {
        add(&self.stops, 1);
    }
}

impl Engine {
    pub(crate) fn statistics(&self) -> Statistics {
        let state = self.state();
        let mut levels = [LevelStatistics::default(); LEVELS];
        for file in state.version.files() {
            if let Some(level) = levels.get_mut(file.level) {
                level.tables += 1;
                level.bytes = level.bytes.saturating_add(file.len_bytes.unwrap_or(0));
            }
        }
        let counters = &self.counters;
        Statistics {
            writes: get(&counters.writes),
            written_bytes: get(&counters.written_bytes),
            log_syncs: get(&counters.log_syncs),
            flushed_bytes: get(&counters.flushed_bytes),
            compaction_read_bytes: get(&counters.compaction_read_bytes),
            compaction_written_bytes: get(&counters.compaction_written_bytes),
            passed_entries: self.core.tombstones.passed(),
            slow_downs: get(&counters.slow_downs),
            stops: get(&counters.stops),
            memtable_bytes: state.live.iter().map(|list| list.len_bytes() as u64).sum(),
            ingesting_bytes: locked(&self.beside).len_bytes(),
            levels,
        }
    }
}
