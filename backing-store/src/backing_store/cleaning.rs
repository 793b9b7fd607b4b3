//! Takes away what ended transactions and deleted databases have left, as much at a time as the caller has room for: rows
//! first, then the tables that had them.
//!
//! Ranges that are to be compacted wait until all their rows are deleted, and are compacted together where they lie in
//! the same tables or next to each other. What is left when a store is closed stays in the undo log as it is, for
//! Chromium's next opening or ours.

use std::collections::VecDeque;

use larder_codec::compare;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Durability, LiveFile};

use super::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::locked;
use crate::undo_log::{Cleanup, PendingCompaction};

/// Scopes that have ended.
#[derive(Debug, Default)]
pub(super) struct Cleanups {
    /// With rows to be deleted.
    rows: VecDeque<Cleanup>,
    /// With ranges to be compacted.
    compactions: Vec<Cleanup>,
    /// Damage was met in ranges that were compacted together: from now on each is compacted alone.
    is_damaged: bool,
}

/// How much may be done.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Rows that may be deleted.
    rows: usize,
    /// Bytes of tables that a compaction may read; `None` while other transactions write.
    table_bytes: Option<u64>,
    /// Whether a table is compacted although it is larger.
    takes_one: bool,
}

impl Budget {
    /// The budget for cleaning up when a transaction begins to write.
    pub(crate) const fn beside_writers() -> Self {
        Self {
            rows: 1000,
            table_bytes: None,
            takes_one: false,
        }
    }

    /// What one step of maintenance may do: it is asked for in quiet times, and writers wait for it.
    pub(super) const fn of_step() -> Self {
        Self {
            rows: 1000,
            table_bytes: Some(16 << 20),
            takes_one: true,
        }
    }

    /// The budget for cleaning up when the store closes.
    pub(super) const fn of_closing() -> Self {
        Self {
            rows: 10_000,
            table_bytes: Some(8 << 20),
            takes_one: false,
        }
    }

    const fn is_quiet(&self) -> bool {
        self.table_bytes.is_some()
    }
}

impl Core {
    /// Notes a scope whose rows are of no more use.
    pub(crate) fn clean_later(&self, cleanup: Cleanup) {
        let mut cleanups = locked(&self.cleanups);
        if cleanup.waits_for_compaction() {
            cleanups.compactions.push(cleanup);
        } else if !cleanup.is_done() {
            cleanups.rows.push_back(cleanup);
        }
    }

    /// Takes some of those rows away; in quiet times also compacts tables, and tries what is stuck: whether anything was done.
    ///
    /// # Errors
    /// As writing. In quiet times also `Corruption`, for a scope that is stuck, once: the next opening tries it again.
    pub(crate) fn clean_some(&self, budget: &mut Budget) -> Result<bool> {
        let is_quiet = budget.is_quiet();
        let next = {
            let mut cleanups = locked(&self.cleanups);
            let ready = |cleanup: &Cleanup| is_quiet || !cleanup.is_stuck();
            let at = cleanups.rows.iter().position(ready);
            at.filter(|_| budget.rows > 0)
                .and_then(|at| cleanups.rows.remove(at))
        };
        let Some(mut cleanup) = next else {
            return self.compact_some(budget);
        };
        match cleanup.step(&self.db, &mut budget.rows) {
            Ok(()) => {}
            // The operation that is about to begin is independent of the clean-up, so damage met here does not fail it.
            Err(error) if error.kind() == ErrorKind::Corruption && !is_quiet => {
                cleanup.note_stuck();
            }
            Err(error) if error.is_out_of_space() && self.gain_room() => {}
            // It is gone on with when there is room.
            Err(error) if error.is_out_of_space() && !is_quiet => {
                self.clean_later(cleanup);
                return Ok(false);
            }
            Err(error) => {
                // All of it can be done again.
                if error.kind() != ErrorKind::Corruption {
                    self.clean_later(cleanup);
                }
                return Err(error);
            }
        }
        self.clean_later(cleanup);
        Ok(true)
    }

    /// Takes away as much of them as there is room for. What is stuck is passed over.
    pub(crate) fn clean_within(&self, mut budget: Budget) -> Result<()> {
        loop {
            match self.clean_some(&mut budget) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Corruption => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Compacts a stretch of what is to be compacted: whether there was any for which there is room.
    fn compact_some(&self, budget: &mut Budget) -> Result<bool> {
        let takes_one = budget.takes_one;
        let Some(table_bytes) = &mut budget.table_bytes else {
            return Ok(false);
        };
        let (mut waiting, is_damaged) = {
            let mut cleanups = locked(&self.cleanups);
            let waiting = std::mem::take(&mut cleanups.compactions);
            (waiting, cleanups.is_damaged)
        };
        if waiting.is_empty() || (*table_bytes < STRETCH_BYTES && !takes_one) {
            self.wait_on(waiting);
            return Ok(false);
        }
        // Now it shows what is to be compacted.
        if let Err(error) = self.db.flush() {
            self.wait_on(waiting);
            return Err(error.into());
        }
        let files = self.db.files();
        let ranges: Vec<_> = waiting.iter().flat_map(Cleanup::compactions).collect();
        let merged = Merged::of_first(ranges, &files, is_damaged);
        let stretch = merged.and_then(|merged| {
            let cost = |end: &[u8]| {
                let read = self.db.compaction_bytes(Some(merged.low), Some(end));
                read.map_or(u64::MAX, |read| read.saturating_add(STRETCH_BYTES))
            };
            let end = merged.end(&files, *table_bytes, takes_one, cost)?;
            Some((merged, end))
        });
        let Some((merged, (end, cost))) = stretch else {
            self.wait_on(waiting);
            return Ok(false);
        };
        *table_bytes = table_bytes.saturating_sub(cost);
        let (low, is_alone) = (merged.low.to_vec(), merged.is_alone);
        match self.db.compact_range(Some(&low), Some(&end)) {
            Ok(()) => {
                let mut batch = BatchWriter::new();
                for cleanup in &mut waiting {
                    cleanup.note_compacted(&low, &end, &mut batch);
                }
                let written = self.db.write(&mut batch, Durability::Relaxed);
                self.wait_on(waiting);
                Ok(written.map(|()| true)?)
            }
            Err(error) => {
                let error = Error::from(error);
                let is_damage = error.kind() == ErrorKind::Corruption;
                if is_damage && is_alone {
                    // Its tasks stay for the next opening.
                    let is_it = |range: &PendingCompaction| compare(&range.begin, &low).is_eq();
                    waiting.retain(|cleanup| !cleanup.compactions().iter().any(is_it));
                }
                locked(&self.cleanups).is_damaged |= is_damage;
                self.wait_on(waiting);
                match is_damage && !is_alone {
                    true => Ok(true),
                    false => Err(error),
                }
            }
        }
    }

    fn wait_on(&self, waiting: Vec<Cleanup>) {
        for cleanup in waiting {
            self.clean_later(cleanup);
        }
    }
}

/// Between two ranges that are compacted together lie no more bytes of tables than that, as many as one table has.
const GAP_BYTES: u64 = 2 << 20;

/// What a compaction costs besides the tables that it reads: memtables become tables, files and their names are synced.
const STRETCH_BYTES: u64 = 1 << 20;

/// Ranges that are compacted together.
#[derive(Debug)]
struct Merged<'a> {
    low: &'a [u8],
    high: &'a [u8],
    is_alone: bool,
}

impl<'a> Merged<'a> {
    /// The first range, with those behind it that no more than [`GAP_BYTES`] of tables lie between.
    fn of_first(
        mut ranges: Vec<&'a PendingCompaction>,
        files: &[LiveFile],
        is_alone: bool,
    ) -> Option<Self> {
        ranges.sort_by(|a, b| compare(&a.begin, &b.begin));
        let (first, rest) = ranges.split_first()?;
        let mut merged = Self {
            low: &first.begin,
            high: &first.end,
            is_alone: true,
        };
        for range in rest {
            if is_alone || bytes_between(files, merged.high, &range.begin) > GAP_BYTES {
                break;
            }
            merged.is_alone = false;
            if compare(&range.end, merged.high).is_gt() {
                merged.high = &range.end;
            }
        }
        Some(merged)
    }

    /// Where to stop so that the compaction costs no more than that, and what it costs; `None` if not even one table can be
    /// compacted.
    fn end(
        &self,
        files: &[LiveFile],
        cost_max: u64,
        takes_one: bool,
        cost: impl Fn(&[u8]) -> u64,
    ) -> Option<(Vec<u8>, u64)> {
        let tables = files.iter().filter(|file| self.overlaps(file));
        let mut ends: Vec<&[u8]> = tables.map(|file| least(largest(file), self.high)).collect();
        ends.push(self.high);
        ends.sort_by(|a, b| compare(a, b));
        let within = ends.partition_point(|end| cost(end) <= cost_max);
        let last = within.checked_sub(1).or(takes_one.then_some(0))?;
        ends.get(last).map(|end| (end.to_vec(), cost(end)))
    }

    /// One that ends where the range begins was compacted with what is before it.
    fn overlaps(&self, file: &LiveFile) -> bool {
        compare(largest(file), self.low).is_gt() && compare(smallest(file), self.high).is_le()
    }
}

fn least<'a>(a: &'a [u8], b: &'a [u8]) -> &'a [u8] {
    match compare(a, b).is_lt() {
        true => a,
        false => b,
    }
}

fn smallest(file: &LiveFile) -> &[u8] {
    file.smallest.as_deref().unwrap_or_default()
}

fn largest(file: &LiveFile) -> &[u8] {
    file.largest.as_deref().unwrap_or_default()
}

/// Bytes of the tables that lie between two keys as a whole.
fn bytes_between(files: &[LiveFile], low: &[u8], high: &[u8]) -> u64 {
    let is_between = |file: &&LiveFile| {
        compare(smallest(file), low).is_gt() && compare(largest(file), high).is_lt()
    };
    let inside = files.iter().filter(is_between);
    inside
        .map(|file| file.len_bytes.unwrap_or(0))
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests;
