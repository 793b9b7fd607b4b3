//! Ranges of keys whose rows are of no more use, and may go without being deleted one by one.
//!
//! Deleting takes room: a tombstone for each row, and tables without the rows beside those with them, until these are removed. On a
//! full disk there is none. What may simply be left out takes no room: a table that lies wholly in such a range goes by an edit of
//! the MANIFEST, and the values of one that is made anyway do not go into it.
//!
//! Tombstones stay, so what was deleted stays so. A value that goes may bring an older one of its key to light, which is of no
//! more use either.

use super::compaction::{largest, smallest};
use super::kept::Kept;
use super::{Engine, locked};
use crate::error::Result;
use crate::internal_key::{InternalOrder, user_key};
use crate::sync::Mutex;
use crate::version_edit::VersionEdit;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicBool, Ordering as Order};

/// More ranges are joined, or not kept in mind.
const RANGES_MAX: usize = 64;

/// The ranges, since the store was opened.
#[derive(Debug, Default)]
pub(super) struct Forgotten {
    has_any: AtomicBool,
    /// From a user key up to and without another.
    ranges: Mutex<Vec<(Vec<u8>, Vec<u8>)>>,
}

impl Forgotten {
    fn add(&self, from: &[u8], to: &[u8]) {
        let ranges = &mut *locked(&self.ranges);
        let range = (from.to_vec(), to.to_vec());
        if ranges.contains(&range) {
            return;
        }
        if ranges.len() >= RANGES_MAX {
            ranges.remove(0);
        }
        ranges.push(range);
        self.has_any.store(true, Order::Release);
    }

    /// Says of a user key whether it is in a range. It stands for the ranges of now.
    pub(super) fn filter(&self, order: &InternalOrder) -> impl FnMut(&[u8]) -> bool + use<> {
        let ranges = match self.has_any.load(Order::Acquire) {
            true => locked(&self.ranges).clone(),
            false => Vec::new(),
        };
        let order = order.clone();
        move |key| {
            let is_in = |(from, to): &(Vec<u8>, Vec<u8>)| {
                order.compare_user(key, from) != Ordering::Less
                    && order.compare_user(key, to) == Ordering::Less
            };
            ranges.iter().any(is_in)
        }
    }
}

impl Engine {
    /// Whether the last write that failed, or background work, found no room, and no memtable has become a table since.
    pub(crate) fn is_short_of_room(&self) -> bool {
        self.health.is_short_of_room() || self.has_kept.load(Order::Acquire)
    }

    /// Takes the tables away that lie wholly in a range, and keeps the range in mind for those that are made. Waits for background
    /// work that is under way: the room is wanted by whoever comes next, and files that it replaces go with its end.
    pub(crate) fn forget(&self, from: &[u8], to: &[u8]) -> Result<()> {
        let order = &self.core.order;
        if order.compare_user(from, to) != Ordering::Less {
            return Ok(());
        }
        self.health.check()?;
        self.forgotten.add(from, to);
        let work = &mut *locked(&self.work);
        let must_wait = work.kept.as_ref().is_some_and(Kept::has_torn);
        if !self.has_begun.load(Order::Acquire) || must_wait {
            return Ok(());
        }
        let version = self.version();
        let mut edit = VersionEdit::default();
        for file in version.files() {
            let (low, high) = (user_key(smallest(file)), user_key(largest(file)));
            if order.compare_user(low, from) != Ordering::Less
                && order.compare_user(high, to) == Ordering::Less
            {
                edit.deleted_files.push((file.level, file.number));
            }
        }
        drop(version);
        if edit.deleted_files.is_empty() {
            return Ok(());
        }
        self.watched("a change of the tables", || self.install(work, edit, None))?;
        self.remove_obsolete(work);
        Ok(())
    }
}
