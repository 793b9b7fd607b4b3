//! Which readers may still read a blob whose record is gone.
//!
//! There are two kinds: holders of a [`BlobHandle`], and every read transaction that began before the record went and
//! may still ask for the blob.

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
    /// Blobs that are gone from the rows, each with its time, and still in a journal. The next call that takes released
    /// blobs gets them.
    gone: BTreeMap<BlobJournalEntry, u64>,
    /// Blobs without a reader whose files could not be removed.
    refused: BTreeSet<BlobJournalEntry>,
    /// Whether some of `gone` may be held no more.
    may_release: bool,
}

impl State {
    fn has_handle(&self, entry: &BlobJournalEntry) -> bool {
        let database_id = entry.database_id;
        match entry.blobs {
            // The first in the order of entries.
            JournalBlobs::All => (self.handles.range(entry..).next())
                .is_some_and(|(held, _)| held.database_id == database_id),
            JournalBlobs::One(_) => self.handles.contains_key(entry),
        }
    }

    fn is_held(&self, entry: &BlobJournalEntry, gone_at: u64) -> bool {
        self.readers.range(..=gone_at).next().is_some() || self.has_handle(entry)
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

    /// Whether any reader may read any of these blobs.
    pub(crate) fn has_readers(&self) -> bool {
        let state = self.state();
        !(state.handles.is_empty() && state.readers.is_empty())
    }

    /// The blobs that a reader may read at this moment. That alone is no ground to remove the others, nor to keep
    /// these: until their rows are gone readers come and go. [`take_released`](Self::take_released) decides.
    pub(crate) fn held_now(
        &self,
        entries: &BTreeSet<BlobJournalEntry>,
    ) -> BTreeSet<BlobJournalEntry> {
        let state = self.state();
        let held = (entries.iter()).filter(|entry| state.is_held(entry, state.now));
        held.copied().collect()
    }

    /// Notes blobs that are gone from the rows, or never came into them, and are listed in a journal. A reader that
    /// begins from now on does not see them. All of them count here from now on, held or not, until their files are
    /// removed.
    pub(crate) fn note_gone(&self, entries: &BTreeSet<BlobJournalEntry>) {
        let state = &mut *self.state();
        let gone_at = state.now;
        state.now += 1;
        state
            .gone
            .extend(entries.iter().map(|entry| (*entry, gone_at)));
        state.may_release = true;
    }

    /// Takes the blobs that are gone and have no reader left. Each is given out once: the caller removes their files or
    /// [puts them back](Self::put_back).
    pub(crate) fn take_released(&self) -> BTreeSet<BlobJournalEntry> {
        let state = &mut *self.state();
        if !std::mem::take(&mut state.may_release) {
            return BTreeSet::new();
        }
        let gone = std::mem::take(&mut state.gone);
        let (held, released): (BTreeMap<_, _>, BTreeMap<_, _>) = gone
            .into_iter()
            .partition(|(entry, gone_at)| state.is_held(entry, *gone_at));
        state.gone = held;
        let mut taken = std::mem::take(&mut state.refused);
        taken.extend(released.into_keys());
        taken
    }

    /// The files of what was taken could not be removed: it is given out again with whatever is released next.
    pub(crate) fn put_back(&self, entries: BTreeSet<BlobJournalEntry>) {
        self.state().refused.extend(entries);
    }

    /// What was put back is given out again, whether or not anything is released.
    pub(crate) fn retry(&self) {
        self.state().may_release = true;
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
        let state = &mut *self.held.state();
        if let Some(count) = state.handles.get_mut(&self.entry) {
            *count -= 1;
            if *count == 0 {
                state.handles.remove(&self.entry);
                state.may_release |= !state.gone.is_empty();
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
        let state = &mut *self.held.state();
        if let Some(count) = state.readers.get_mut(&self.began) {
            *count -= 1;
            if *count == 0 {
                state.readers.remove(&self.began);
                state.may_release |= !state.gone.is_empty();
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
        let both = set(&[blob(2), blob(3)]);
        assert_eq!(held.held_now(&both), set(&[blob(2)]));
        held.note_gone(&both);
        assert_eq!(held.take_released(), set(&[blob(3)]));
        drop(one);
        assert_eq!(held.take_released(), set(&[]));
        drop(two);
        assert_eq!(held.take_released(), set(&[blob(2)]));
        assert_eq!(held.take_released(), set(&[]));
    }

    #[test]
    fn readers_hold_what_was_there_when_they_began_and_nothing_that_went_before() {
        let held = HeldBlobs::default();
        held.note_gone(&set(&[blob(2)]));
        let first = held.begin_reader();
        assert_eq!(held.take_released(), set(&[blob(2)]));
        held.note_gone(&set(&[blob(3)]));
        let second = held.begin_reader();
        held.note_gone(&set(&[blob(4)]));
        assert_eq!(held.take_released(), set(&[]));
        drop(first);
        assert_eq!(held.take_released(), set(&[blob(3)]));
        drop(second);
        assert_eq!(held.take_released(), set(&[blob(4)]));
    }

    #[test]
    fn a_blob_whose_reader_ends_before_it_is_noted_as_gone_is_released_nevertheless() {
        let held = HeldBlobs::default();
        let reader = held.begin_reader();
        assert_eq!(held.held_now(&set(&[blob(2)])), set(&[blob(2)]));
        drop(reader);
        held.note_gone(&set(&[blob(2)]));
        assert_eq!(held.take_released(), set(&[blob(2)]));
    }

    #[test]
    fn all_blobs_of_a_database_are_held_by_a_handle_of_any() {
        let all = BlobJournalEntry {
            database_id: ONE,
            blobs: JournalBlobs::All,
        };
        let held = HeldBlobs::default();
        let other = held.hold(DatabaseId::new(2).unwrap(), BlobNumber::new(2).unwrap());
        assert_eq!(held.held_now(&set(&[all])), set(&[]));
        let handle = held.hold(ONE, BlobNumber::new(9).unwrap());
        assert_eq!(held.held_now(&set(&[all])), set(&[all]));
        held.note_gone(&set(&[all]));
        drop(other);
        assert_eq!(held.take_released(), set(&[]));
        drop(handle);
        assert_eq!(held.take_released(), set(&[all]));
    }

    #[test]
    fn what_was_put_back_is_returned_with_the_next_release_or_on_request() {
        let held = HeldBlobs::default();
        held.put_back(set(&[blob(5)]));
        assert_eq!(held.take_released(), set(&[]));
        held.note_gone(&set(&[blob(6)]));
        assert_eq!(held.take_released(), set(&[blob(5), blob(6)]));
        held.put_back(set(&[blob(5)]));
        held.retry();
        assert_eq!(held.take_released(), set(&[blob(5)]));
    }
}
