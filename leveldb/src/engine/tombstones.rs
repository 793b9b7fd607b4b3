//! Compacts tombstones away that nothing else would take down soon: tables that are mostly made of them, and ranges in which
//! iterators pass over many. Comes after all other background work, and only if it reads little for what it takes away.

use super::compaction::{self, Compaction, overlapping};
use super::install::Work;
use super::{Engine, locked};
use crate::error::Result;
use crate::internal_key::{self, SEQUENCE_MAX, seek_tag, user_key};
use crate::skip_list::SkipCursor;
use crate::tombstones::Walk;
use crate::version::Version;
use crate::version_edit::LEVELS;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// So many bytes of tables are read for any tombstones, and so many more for each.
const READ_BYTES: u64 = 4 << 20;
const READ_BYTES_EACH: u64 = 256;

fn is_worth(read_bytes: u64, tombstones: u64) -> bool {
    read_bytes <= READ_BYTES.saturating_add(tombstones.saturating_mul(READ_BYTES_EACH))
}

impl Engine {
    /// Whether any are due.
    pub(super) fn has_tombstones(&self, version: &Version) -> bool {
        self.walk_due().is_some() || self.crowded(version).is_some()
    }

    fn walk_due(&self) -> Option<Walk> {
        self.core.tombstones.walk(&self.state())
    }

    /// Makes the memtable a full one if it has some of what an iterator had to pass over, so that it becomes a table. If a writer
    /// is at it, or no log can be begun, what was passed over stays.
    pub(super) fn switch_for_walk(&self) {
        let Some(walk) = self.walk_due().filter(|walk| !walk.is_flushed) else {
            return;
        };
        let tombstones = &self.core.tombstones;
        let Ok(mut writer) = self.writer.try_lock() else {
            return tombstones.clear_walk();
        };
        if self.has_full.load(Ordering::Acquire) {
            return;
        }
        let mut cursor = SkipCursor::new(writer.mem.clone());
        let mut first = Vec::new();
        internal_key::encode_tagged(&mut first, &walk.from, seek_tag(SEQUENCE_MAX));
        cursor.seek(&first);
        let is_in = |key: &[u8]| {
            self.core
                .order
                .compare_user(user_key(key), &walk.to)
                .is_le()
        };
        let has_some = cursor.valid() && is_in(cursor.key());
        drop(cursor);
        if has_some {
            let switched = match writer.is_closed {
                true => return tombstones.clear_walk(),
                false => self.health.check().and_then(|()| self.switch(&mut writer)),
            };
            if switched.is_err() {
                return tombstones.clear_walk();
            }
        }
        tombstones.note_flushed();
    }

    /// Does a compaction that is due because of tombstones: whether one was.
    pub(super) fn compact_tombstones(&self, work: &mut Work) -> Result<bool> {
        let version = self.version();
        if let Some(Walk { from, to, .. }) = self.walk_due() {
            let tombstones = &self.core.tombstones;
            tombstones.clear_walk();
            let (from, to) = (Some(&*from), Some(&*to));
            if is_worth(self.compaction_bytes(from, to), tombstones.debt())
                && !self.is_given_up(&version, from, to)
            {
                drop(version);
                tombstones.clear_debt();
                work.must_rewrite = true;
                let done = self.compact_levels(work, from, to);
                work.must_rewrite = false;
                return done.map(|()| true);
            }
        }
        let Some((table, compaction)) = self.crowded(&version) else {
            return Ok(false);
        };
        drop(version);
        self.core.tombstones.remove_table(table);
        // A table that goes down as it is would keep what may go.
        work.must_rewrite = true;
        let done = self.compact(work, compaction);
        work.must_rewrite = false;
        done.map(|()| true)
    }

    /// A table that is mostly tombstones, and the compaction that takes it down.
    fn crowded(&self, version: &Version) -> Option<(u64, Compaction)> {
        let tombstones = &self.core.tombstones;
        let order = &self.core.order;
        let tables = tombstones.tables();
        if tables.is_empty() {
            return None;
        }
        let avoid = self.health.given_up();
        tables.into_iter().find_map(|(number, count)| {
            let mut files = version.files();
            let file = files.find(|file| file.number == number && file.level + 1 < LEVELS);
            let compaction = file.map(|file| {
                let some = vec![file.clone()];
                compaction::of_files(order, version, file.level, some, self.limits())
            });
            let is_due = |compaction: &Compaction| {
                let mut files = compaction.files();
                is_worth(compaction.input_bytes(), count)
                    && !files.any(|file| avoid.contains(&file.number))
            };
            let due = compaction.filter(is_due);
            if due.is_none() && !locked(&self.beside).has(number) {
                tombstones.remove_table(number);
            }
            due.map(|due| (number, due))
        })
    }

    /// Whether a damaged table that no compaction takes is in the range.
    fn is_given_up(&self, version: &Version, from: Option<&[u8]>, to: Option<&[u8]>) -> bool {
        let avoid: BTreeSet<u64> = self.health.given_up();
        let order = &self.core.order;
        let mut files = (0..LEVELS).flat_map(|level| overlapping(order, version, level, from, to));
        !avoid.is_empty() && files.any(|file| avoid.contains(&file.number))
    }
}
