//! What is known of tombstones: which tables are mostly made of them, and where an iterator had to pass over many. The engine
//! compacts both away (`engine/tombstones.rs`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A table with fewer is not compacted because of them.
const TABLE_MIN: u64 = 64;

/// A walk is noted when it has passed over so many entries: before that nothing of it is kept.
pub(crate) const WALK_NOTED: u32 = 64;

/// A range that an iterator passed over so many entries in is to be compacted.
const WALK_DUE: u32 = 1000;

/// Shared by all readers of a store.
#[derive(Debug, Default)]
pub(crate) struct Tombstones {
    passed: AtomicU64,
    /// The passed entries that no compaction has been done for yet.
    debt: AtomicU64,
    walk: Mutex<Option<Walk>>,
    is_new: AtomicBool,
    /// How many are in a table that has little else, by its number.
    tables: Mutex<BTreeMap<u64, u64>>,
}

/// A range of user keys in which an iterator passed over many entries; both ends included.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    /// What the iterator read, to be recognised; `None` once the range is known to be worth a look.
    state: Option<Weak<dyn Send + Sync>>,
    pub(crate) from: Vec<u8>,
    pub(crate) to: Vec<u8>,
    /// Whether what memtables had of it is a table by now, or will be soon.
    pub(crate) is_flushed: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tombstones {
    /// An iterator has passed over so many entries, with user keys from one to another: tombstones and what they hide, and
    /// replaced values.
    pub(crate) fn note_walk<S: Send + Sync + 'static>(
        &self,
        state: &Arc<S>,
        from: &[u8],
        to: &[u8],
        entries: u32,
    ) {
        self.passed.fetch_add(entries.into(), Ordering::Relaxed);
        if entries < WALK_DUE {
            return;
        }
        self.debt.fetch_add(entries.into(), Ordering::Relaxed);
        let mut walk = locked(&self.walk);
        if walk.is_some() {
            return;
        }
        let state: Weak<dyn Send + Sync> = Arc::<S>::downgrade(state);
        *walk = Some(Walk {
            state: Some(state),
            from: from.to_vec(),
            to: to.to_vec(),
            is_flushed: false,
        });
        self.is_new.store(true, Ordering::Release);
    }

    /// What an iterator had to pass over, unless it read something else than what readers start from now.
    pub(crate) fn walk<S>(&self, now: &Arc<S>) -> Option<Walk> {
        let mut walk = locked(&self.walk);
        let noted = walk.as_mut()?;
        if let Some(state) = noted.state.take()
            && !std::ptr::addr_eq(state.as_ptr(), Arc::as_ptr(now))
        {
            *walk = None;
        }
        walk.clone()
    }

    pub(crate) fn note_flushed(&self) {
        if let Some(walk) = &mut *locked(&self.walk) {
            walk.is_flushed = true;
        }
    }

    pub(crate) fn clear_walk(&self) {
        *locked(&self.walk) = None;
    }

    /// Whether a walk was noted since this was asked last.
    pub(crate) fn take_new(&self) -> bool {
        self.is_new.load(Ordering::Relaxed) && self.is_new.swap(false, Ordering::Acquire)
    }

    /// A table was made.
    pub(crate) fn note_table(&self, number: u64, tombstones: u64, entries: u64) {
        if tombstones >= TABLE_MIN && tombstones >= entries / 2 {
            locked(&self.tables).insert(number, tombstones);
        }
    }

    /// How many entries have been passed over.
    pub(crate) fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// How many were passed over since the last compaction because of that.
    pub(crate) fn debt(&self) -> u64 {
        self.debt.load(Ordering::Relaxed)
    }

    pub(crate) fn clear_debt(&self) {
        self.debt.store(0, Ordering::Relaxed);
    }

    /// The tables that are mostly tombstones, and how many each has.
    pub(crate) fn tables(&self) -> Vec<(u64, u64)> {
        let tables = locked(&self.tables);
        tables
            .iter()
            .map(|(table, count)| (*table, *count))
            .collect()
    }

    pub(crate) fn remove_table(&self, number: u64) {
        locked(&self.tables).remove(&number);
    }
}
