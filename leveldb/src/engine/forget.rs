//! Ranges of keys whose rows are of no more use, and may go without being deleted one by one.
//!
//! Deleting takes room: a tombstone for each row, and tables without the rows beside those with them, until these are removed. On a
//! full disk there is none. What may simply be left out takes little: a table that lies wholly in such a range goes by an edit of
//! the MANIFEST, and the values of one that is made do not go into it. [`reclaim`](super::reclaim) makes some for that.
//!
//! Tombstones stay, so what was deleted stays deleted. If a value is left out, an older value of its key may come to light. So one of two
//! conditions must hold. Either the rows are not read any more, or all of them are deleted. In the second case, each value with a tombstone
//! above it is left out. But no table is removed as a whole, since its tombstones may be above values of other tables.

use super::compaction::{largest, smallest};
use super::kept::Kept;
use super::{Engine, locked};
use crate::error::{Error, ErrorKind, Result};
use crate::internal_key::{InternalOrder, SEQUENCE_MAX, user_key};
use crate::sync::Mutex;
use crate::table_file::TableFile;
use crate::version_edit::VersionEdit;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicBool, Ordering as Order};

/// More ranges are joined, or not kept in mind.
const RANGES_MAX: usize = 64;

/// The ranges, since the store was opened.
#[derive(Debug, Default)]
pub(super) struct Discardable {
    has_any: AtomicBool,
    ranges: Mutex<Vec<DiscardableRange>>,
}

/// From a user key up to and without another: values up to a sequence number.
#[derive(Clone, Debug)]
pub(super) struct DiscardableRange {
    from: Vec<u8>,
    to: Vec<u8>,
    last_sequence: u64,
}

impl DiscardableRange {
    fn new(from: &[u8], to: &[u8], last_sequence: u64) -> DiscardableRange {
        DiscardableRange {
            from: from.to_vec(),
            to: to.to_vec(),
            last_sequence,
        }
    }

    pub(super) fn has(&self, order: &InternalOrder, key: &[u8]) -> bool {
        order.compare_user(key, &self.from) != Ordering::Less
            && order.compare_user(key, &self.to) == Ordering::Less
    }

    pub(super) fn has_all_of(&self, order: &InternalOrder, file: &TableFile) -> bool {
        self.has(order, user_key(smallest(file))) && self.has(order, user_key(largest(file)))
    }

    pub(super) fn has_some_of(&self, order: &InternalOrder, file: &TableFile) -> bool {
        order.compare_user(user_key(largest(file)), &self.from) != Ordering::Less
            && order.compare_user(user_key(smallest(file)), &self.to) == Ordering::Less
    }
}

impl Discardable {
    fn add(&self, added: DiscardableRange) {
        let ranges = &mut *locked(&self.ranges);
        let mut same = ranges.iter_mut();
        if let Some(same) = same.find(|range| range.from == added.from && range.to == added.to) {
            same.last_sequence = same.last_sequence.max(added.last_sequence);
            return;
        }
        if ranges.len() >= RANGES_MAX {
            ranges.remove(0);
        }
        ranges.push(added);
        self.has_any.store(true, Order::Release);
    }

    /// Those of now.
    pub(super) fn ranges(&self) -> Vec<DiscardableRange> {
        match self.has_any.load(Order::Acquire) {
            true => locked(&self.ranges).clone(),
            false => Vec::new(),
        }
    }

    /// Says of a user key's value with a sequence number whether it is of no more use. It stands for the ranges of now.
    pub(super) fn filter(&self, order: &InternalOrder) -> impl FnMut(&[u8], u64) -> bool + use<> {
        let ranges = self.ranges();
        let order = order.clone();
        move |key, sequence| {
            let mut ranges = ranges.iter();
            ranges.any(|range| sequence <= range.last_sequence && range.has(&order, key))
        }
    }
}

impl Engine {
    /// Whether the last write that failed, or background work, found no room, and no memtable has become a table since.
    pub(crate) fn is_short_of_room(&self) -> bool {
        self.health.is_short_of_room() || self.has_kept.load(Order::Acquire)
    }

    /// Takes the tables away that lie wholly in a range, and keeps the range in mind for those that are made. Waits for background
    /// work that is under way: the next writer needs the room, and files that it replaces go with its end.
    pub(crate) fn forget(&self, from: &[u8], to: &[u8]) -> Result<()> {
        let order = &self.core.order;
        if order.compare_user(from, to) != Ordering::Less {
            return Ok(());
        }
        self.health.check()?;
        let range = DiscardableRange::new(from, to, SEQUENCE_MAX);
        self.discardable.add(range.clone());
        let work = &mut *locked(&self.work);
        let must_wait = work.kept.as_ref().is_some_and(Kept::has_torn);
        if !self.has_begun.load(Order::Acquire) || must_wait {
            return Ok(());
        }
        let version = self.version();
        let mut edit = VersionEdit::default();
        for file in version.files().filter(|file| range.has_all_of(order, file)) {
            edit.deleted_files.push((file.level, file.number));
        }
        drop(version);
        if edit.deleted_files.is_empty() {
            return Ok(());
        }
        self.watched("a change of the tables", || self.install(work, edit, None))?;
        self.remove_obsolete(work);
        Ok(())
    }

    /// Keeps in mind that what a range has up to now is deleted, all of it.
    pub(crate) fn forget_deleted(&self, from: &[u8], to: &[u8]) -> Result<()> {
        let order = &self.core.order;
        if order.compare_user(from, to) != Ordering::Less {
            return Ok(());
        }
        self.health.check()?;
        let snapshot = self.snapshot();
        let mut iter = snapshot.iter_within(from..to);
        iter.seek_to_first()?;
        if iter.valid() {
            let what = "the range still has rows: delete them before it is declared empty";
            return Err(Error::new(ErrorKind::Usage, what));
        }
        let range = DiscardableRange::new(from, to, snapshot.sequence());
        self.discardable.add(range);
        Ok(())
    }
}
