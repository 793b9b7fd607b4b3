//! Makes room on a full disk: writes tables anew without what is of no more use ([`forget`](super::forget)), as far as there is room for
//! what is left of them.
//!
//! What replaces a table has to be there before the table goes. So first those go of which nothing is left, and then the one of which
//! least is left: each leaves more room for the next. What is left is found out by reading, each table once.

use super::compaction::{self, Compaction, level_files};
use super::forget::DiscardableRange;
use super::install::Work;
use super::kept::Kept;
use super::{Engine, locked};
use crate::error::{Error, ErrorKind, Result};
use crate::table_file::TableFile;
use crate::version::Version;
use crate::version_edit::LEVELS;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Less than that, about a block of a file system, is not worth its while.
const GAIN_BYTES_MIN: u64 = 4096;

/// What is known of tables.
#[derive(Default)]
struct Surveyed {
    /// About what is left of a compaction of this table, and those that come along.
    left_bytes: BTreeMap<u64, u64>,
    /// No more to be looked at.
    done: BTreeSet<u64>,
}

impl Engine {
    /// Writes tables anew, one compaction after the other, until nothing more is gained or there is no room.
    pub(crate) fn reclaim(&self) -> Result<()> {
        self.health.check()?;
        let work = &mut *locked(&self.work);
        let must_wait = work.kept.as_ref().is_some_and(Kept::has_torn);
        if !self.has_begun.load(Ordering::Acquire) || must_wait {
            return Ok(());
        }
        (work.must_rewrite, work.is_short_of_room) = (true, true);
        let done = self.watched("a compaction", || self.rewrite_discardable(work));
        (work.must_rewrite, work.is_short_of_room) = (false, false);
        self.report_done();
        self.wake();
        done
    }

    fn rewrite_discardable(&self, work: &mut Work) -> Result<()> {
        let ranges = self.discardable.ranges();
        if ranges.is_empty() {
            return Ok(());
        }
        self.mend_manifest(work)?;
        let first_new = self.next_file.load(Ordering::Relaxed);
        let mut surveyed = Surveyed::default();
        while let Some(compaction) = self.least_left(&ranges, first_new, &mut surveyed)? {
            surveyed
                .done
                .extend(compaction.files().map(|file| file.number));
            match self.compact(work, compaction) {
                // The damaged table is given up.
                Err(error) if error.kind() == ErrorKind::Corruption => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// The compaction of tables from before `first_new` of which least is left, if it gains something.
    fn least_left(
        &self,
        ranges: &[DiscardableRange],
        first_new: u64,
        surveyed: &mut Surveyed,
    ) -> Result<Option<Compaction>> {
        let order = &self.core.order;
        let version = self.version();
        let avoid = self.health.given_up();
        let mut least: Option<(u64, Compaction)> = None;
        for level in 0..LEVELS {
            let is_due = |file: &Arc<TableFile>| {
                let is_open = file.number < first_new && !avoid.contains(&file.number);
                is_open && ranges.iter().any(|range| range.has_some_of(order, file))
            };
            let is_left = |file: &Arc<TableFile>, surveyed: &Surveyed| {
                is_due(file) && !surveyed.done.contains(&file.number)
            };
            let mut files = level_files(&version, level);
            files.retain(|file| is_left(file, surveyed));
            let is_whole = |file: &&Arc<TableFile>| {
                let mut ranges = ranges.iter();
                level > 0 && ranges.any(|range| range.has_all_of(order, file))
            };
            if let Some(whole) = files.iter().find(is_whole) {
                // Little is left but tombstones. One at a time: there may be many.
                let whole = vec![whole.clone()];
                return Ok(Some(compaction::in_place(order, &version, level, whole)));
            }
            for file in files {
                let some = vec![file.clone()];
                let compaction = match level {
                    0 => compaction::of_files(order, &version, 0, some, self.limits()),
                    _ => compaction::in_place(order, &version, level, some),
                };
                let read_bytes = compaction.input_bytes();
                let left_bytes = match self.left_of(&version, &compaction, file.number, surveyed) {
                    // It is not for this to say what is damaged.
                    Err(error) if error.kind() == ErrorKind::Corruption => u64::MAX,
                    left => left?,
                };
                if left_bytes.saturating_add(GAIN_BYTES_MIN) > read_bytes {
                    surveyed.done.insert(file.number);
                } else if least.as_ref().is_none_or(|(least, _)| left_bytes < *least) {
                    least = Some((left_bytes, compaction));
                }
            }
        }
        Ok(least.map(|(_, compaction)| compaction))
    }

    /// About how many bytes of tables a compaction leaves.
    fn left_of(
        &self,
        version: &Version,
        compaction: &Compaction,
        number: u64,
        surveyed: &mut Surveyed,
    ) -> Result<u64> {
        if let Some(left) = surveyed.left_bytes.get(&number) {
            return Ok(*left);
        }
        let mut input = self.input(version, compaction)?;
        let mut kept = 0_u64;
        while let Some((key, value)) = input.entry()? {
            kept += (key.len() + value.len()) as u64;
            drop(value);
            input.advance()?;
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::new(
                    ErrorKind::Closed,
                    "the store is being closed: open it again",
                ));
            }
        }
        // As well packed as all of it.
        let all = u128::from(input.passed_bytes().max(1));
        let left = u128::from(compaction.input_bytes()) * u128::from(kept) / all;
        let left = u64::try_from(left).unwrap_or(u64::MAX);
        surveyed.left_bytes.insert(number, left);
        Ok(left)
    }
}
