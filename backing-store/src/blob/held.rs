//! Who may still read a blob whose record is gone.
//!
//! Two kinds: whoever holds a [`BlobHandle`], and every read transaction that began before the record went and may still
//! ask for the blob.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use larder_codec::blob_journal::{BlobJournalEntry, JournalBlobs};
use larder_codec::{BlobNumber, DatabaseId};

use super::entry;

/// Keeps account.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeldBlobs {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    handles: BTreeMap<BlobJournalEntry, usize>,
    /// How many readers began at each time.
    readers: BTreeMap<u64, usize>,
    now: u64,
    /// Gone from the rows at a time, and still in the active journal.
    gone: BTreeMap<BlobJournalEntry, u64>,
}

impl State {
    fn is_held(&self, entry: &BlobJournalEntry, gone_at: u64) -> bool {
        let is_of = |held: &&BlobJournalEntry| match entry.blobs {
            JournalBlobs::All => held.database_id == entry.database_id,
            JournalBlobs::One(_) => *held == entry,
        };
        self.handles.keys().any(|held| is_of(&held))
            || self.readers.range(..=gone_at).next().is_some()
    }

    fn held(&self, entries: &BTreeSet<BlobJournalEntry>) -> BTreeSet<BlobJournalEntry> {
        let held = entries.iter().filter(|entry| self.is_held(entry, self.now));
        held.copied().collect()
    }
}

impl HeldBlobs {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds one blob.
    pub(crate) fn hold(&self, database_id: DatabaseId, number: BlobNumber) -> BlobHandle {
        let entry = entry(database_id, number);
        *self.state().handles.entry(entry).or_default() += 1;
        BlobHandle {
            held: self.clone(),
            entry,
        }
    }

    /// A reader begins: until it ends, all blobs that are there now are held.
    pub(crate) fn begin_reader(&self) -> ReaderGuard {
        let mut state = self.state();
        let began = state.now;
        *state.readers.entry(began).or_default() += 1;
        ReaderGuard {
            held: self.clone(),
            began,
        }
    }

    /// Those that someone may read now; more may begin to until their rows are gone.
    pub(crate) fn held_now(
        &self,
        entries: &BTreeSet<BlobJournalEntry>,
    ) -> BTreeSet<BlobJournalEntry> {
        let state = self.state();
        state.held(entries)
    }

    /// These are gone from the rows, whoever begins now does not see them: those of them that someone may still read.
    pub(crate) fn remove(
        &self,
        entries: &BTreeSet<BlobJournalEntry>,
    ) -> BTreeSet<BlobJournalEntry> {
        let mut state = self.state();
        let gone_at = state.now;
        let held = state.held(entries);
        state.now += 1;
        state
            .gone
            .extend(held.iter().map(|entry| (*entry, gone_at)));
        held
    }

    /// Which of those are held no more; they are told once.
    pub(crate) fn take_released(&self) -> BTreeSet<BlobJournalEntry> {
        let mut state = self.state();
        let gone = std::mem::take(&mut state.gone);
        let (held, released): (BTreeMap<_, _>, BTreeMap<_, _>) = gone
            .into_iter()
            .partition(|(entry, gone_at)| state.is_held(entry, *gone_at));
        state.gone = held;
        released.into_keys().collect()
    }

    /// What was taken could not be removed: it is told again.
    pub(crate) fn put_back(&self, entries: &BTreeSet<BlobJournalEntry>) {
        let mut state = self.state();
        state.gone.extend(entries.iter().map(|entry| (*entry, 0)));
    }
}

/// Holds a blob: its file stays until this is dropped, even if its record is deleted.
#[derive(Debug)]
pub struct BlobHandle {
    held: HeldBlobs,
    entry: BlobJournalEntry,
}

impl Drop for BlobHandle {
    fn drop(&mut self) {
        let handles = &mut self.held.state().handles;
        if let Some(count) = handles.get_mut(&self.entry) {
            *count -= 1;
            if *count == 0 {
                handles.remove(&self.entry);
            }
        }
    }
}

/// A reader's presence.
#[derive(Debug)]
pub(crate) struct ReaderGuard {
    held: HeldBlobs,
    began: u64,
}

impl Drop for ReaderGuard {
    fn drop(&mut self) {
        let readers = &mut self.held.state().readers;
        if let Some(count) = readers.get_mut(&self.began) {
            *count -= 1;
            if *count == 0 {
                readers.remove(&self.began);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: DatabaseId = DatabaseId::new(1).unwrap();

    fn blob(n: i64) -> BlobJournalEntry {
        entry(ONE, BlobNumber::new(n).unwrap())
    }

    fn set(entries: &[BlobJournalEntry]) -> BTreeSet<BlobJournalEntry> {
        entries.iter().copied().collect()
    }

    #[test]
    fn a_blob_is_held_until_its_last_handle_goes() {
        let held = HeldBlobs::default();
        let one = held.hold(ONE, BlobNumber::new(2).unwrap());
        let two = held.hold(ONE, BlobNumber::new(2).unwrap());
        assert_eq!(held.remove(&set(&[blob(2), blob(3)])), set(&[blob(2)]));
        drop(one);
        assert_eq!(held.take_released(), set(&[]));
        drop(two);
        assert_eq!(held.take_released(), set(&[blob(2)]));
        assert_eq!(held.take_released(), set(&[]));
    }

    #[test]
    fn readers_hold_what_was_there_when_they_began_and_nothing_that_went_before() {
        let held = HeldBlobs::default();
        assert_eq!(held.remove(&set(&[blob(2)])), set(&[]));
        let first = held.begin_reader();
        assert_eq!(held.remove(&set(&[blob(3)])), set(&[blob(3)]));
        let second = held.begin_reader();
        assert_eq!(held.remove(&set(&[blob(4)])), set(&[blob(4)]));
        drop(first);
        assert_eq!(held.take_released(), set(&[blob(3)]));
        drop(second);
        assert_eq!(held.take_released(), set(&[blob(4)]));
    }

    #[test]
    fn all_blobs_of_a_database_are_held_by_a_handle_of_any() {
        let all = BlobJournalEntry {
            database_id: ONE,
            blobs: JournalBlobs::All,
        };
        let held = HeldBlobs::default();
        let other = held.hold(DatabaseId::new(2).unwrap(), BlobNumber::new(2).unwrap());
        assert_eq!(held.remove(&set(&[all])), set(&[]));
        let handle = held.hold(ONE, BlobNumber::new(9).unwrap());
        assert_eq!(held.remove(&set(&[all])), set(&[all]));
        drop((other, handle));
        assert_eq!(held.take_released(), set(&[all]));
    }

    #[test]
    fn what_was_put_back_is_told_again() {
        let held = HeldBlobs::default();
        held.put_back(&set(&[blob(5)]));
        assert_eq!(held.take_released(), set(&[blob(5)]));
    }
}
