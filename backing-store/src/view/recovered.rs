//! A killed store's rows as recovery would leave them: one snapshot with an [`Overlay`] laid over it.

use std::cmp::Ordering;
use std::sync::Arc;

use larder_codec::compare::{RowOrder, compare};
use larder_codec::scopes::UndoTask;
use larder_leveldb::{Iter, PinnedBytes, Snapshot};

use super::base::Reach;
use super::{SCOPES_END, SCOPES_PREFIX};
use crate::error::{Error, Result};
use crate::overlay::{Overlay, OverlayValue, Verdict};

/// The rows. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Recovered {
    snapshot: Snapshot,
    overlay: Arc<Overlay>,
}

impl Recovered {
    pub(super) fn new(snapshot: Snapshot, overlay: Overlay) -> Self {
        Self {
            snapshot,
            overlay: Arc::new(overlay),
        }
    }

    pub(super) fn order(&self) -> RowOrder {
        self.overlay.order()
    }

    /// The value of `key`, into the caller's buffer; whether there is one.
    pub(super) fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        if !self.overlay.is_empty() {
            match self.overlay.verdict(key) {
                Verdict::Snapshot => {}
                Verdict::Absent => return Ok(false),
                Verdict::Present(source) => {
                    value.clear();
                    load(&self.snapshot, source, value)?;
                    return Ok(true);
                }
            }
        }
        self.snapshot
            .get_into(key, value)
            .map_err(|error| Error::from(error).with_key(key))
    }

    /// A cursor that stands on no row.
    pub(super) fn iter_within(&self, reach: Reach) -> RecoveredIter {
        RecoveredIter {
            base: reach.rows_of(&self.snapshot),
            rows: self.clone(),
            reach,
            at: At::Nothing,
            forward: true,
            overlay_at: 0,
            overlay_value: Vec::new(),
        }
    }
}

fn load(snapshot: &Snapshot, source: &OverlayValue, value: &mut Vec<u8>) -> Result<()> {
    match source {
        OverlayValue::Inline(bytes) => value.extend_from_slice(bytes),
        OverlayValue::InUndoRow(row_key) => undo_row_value(snapshot, row_key, value)?,
    }
    Ok(())
}

/// Which side the current row comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Nothing,
    Base,
    Overlay,
}

/// A cursor over the view's rows, in both directions. It can turn round anywhere.
///
/// Invariant while it stands on a row, going forward: `base` is at the first visible row of the snapshot, and
/// `overlay_at` at the first live entry, that lie at or behind the current key; the smaller is current. Backward the
/// mirror image, with `overlay_at` one behind the entry. A side without such a row within reach may stand on any.
#[derive(Debug)]
pub(super) struct RecoveredIter {
    base: Iter,
    rows: Recovered,
    reach: Reach,
    at: At,
    forward: bool,
    overlay_at: usize,
    overlay_value: Vec<u8>,
}

impl RecoveredIter {
    pub(super) fn valid(&self) -> bool {
        self.at != At::Nothing
    }

    /// The current key; empty when not on a row.
    pub(super) fn key(&self) -> &[u8] {
        match self.at {
            At::Base => self.base.key(),
            At::Overlay => self.overlay_key().unwrap_or_default(),
            At::Nothing => &[],
        }
    }

    /// The current value; empty when not on a row.
    pub(super) fn value(&self) -> Result<&[u8]> {
        match self.at {
            At::Base => Ok(self.base.value()?),
            At::Overlay => Ok(&self.overlay_value),
            At::Nothing => Ok(&[]),
        }
    }

    /// The current value where the engine has it, if it can be had so.
    pub(super) fn pinned_value(&self) -> Option<PinnedBytes> {
        match self.at {
            At::Base => self.base.pinned_value(),
            At::Overlay | At::Nothing => None,
        }
    }

    /// To the first row at or behind `key`.
    pub(super) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.forward = true;
        self.base.seek(key)?;
        self.overlay_at = match self.rows.overlay.position(key) {
            Ok(at) | Err(at) => at,
        };
        self.settle()
    }

    /// To the last row at or before `key`.
    pub(super) fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        self.forward = false;
        self.base.seek_for_prev(key)?;
        self.overlay_at = match self.rows.overlay.position(key) {
            Ok(at) => at + 1,
            Err(at) => at,
        };
        self.settle()
    }

    /// To the next row. Nothing happens when not on a row.
    pub(super) fn next(&mut self) -> Result<()> {
        self.step(true)
    }

    /// To the row before. Nothing happens when not on a row.
    pub(super) fn prev(&mut self) -> Result<()> {
        self.step(false)
    }

    fn step(&mut self, forward: bool) -> Result<()> {
        if self.at == At::Nothing {
            return Ok(());
        }
        if self.forward != forward {
            // Bring the side that is not current to the other side of the current key.
            let key = self.key().to_vec();
            let at = self.at;
            if forward {
                self.seek(&key)?;
            } else {
                self.seek_for_prev(&key)?;
            }
            debug_assert_eq!(at, self.at, "a row belongs to one side");
        }
        match (self.at, forward) {
            (At::Base, forward) => self.step_base(forward)?,
            (_, true) => self.overlay_at += 1,
            (_, false) => self.overlay_at = self.overlay_at.saturating_sub(1),
        }
        self.settle()
    }

    fn step_base(&mut self, forward: bool) -> Result<()> {
        if forward {
            self.base.next()?;
        } else {
            self.base.prev()?;
        }
        Ok(())
    }

    /// Moves both sides on to rows that show and makes the nearer one current.
    fn settle(&mut self) -> Result<()> {
        self.at = At::Nothing;
        let base_shows = self.skip_hidden_base()?;
        self.skip_deleted_overlay();
        self.at = match (base_shows, self.overlay_key()) {
            (false, None) => At::Nothing,
            (true, None) => At::Base,
            (false, Some(_)) => At::Overlay,
            (true, Some(overlay)) => {
                let order = self.rows.overlay.order();
                let base_first = order.compare(self.base.key(), overlay) == Ordering::Less;
                if base_first == self.forward {
                    At::Base
                } else {
                    At::Overlay
                }
            }
        };
        if self.at == At::Overlay {
            self.load_overlay_value()?;
        }
        Ok(())
    }

    /// Whether the snapshot has a row that shows.
    fn skip_hidden_base(&mut self) -> Result<bool> {
        while self.base.valid() {
            let key = self.base.key();
            if key.starts_with(&SCOPES_PREFIX) {
                let forward = self.forward;
                if forward {
                    self.base.seek(&SCOPES_END)?;
                } else {
                    self.base.seek_for_prev(&SCOPES_PREFIX)?;
                }
                // Keys of the area that are shorter than its rows: step over one by one.
                if self.base.valid() && self.base.key().starts_with(&SCOPES_PREFIX) {
                    self.step_base(forward)?;
                }
                continue;
            }
            let overlay = &self.rows.overlay;
            if overlay.is_empty() {
                return Ok(true);
            }
            let hidden_range = overlay.hidden_range(key);
            if hidden_range.is_none() && overlay.position(key).is_err() {
                return Ok(true);
            }
            if self.reach.ends_before(key, self.forward) {
                return Ok(false);
            }
            if let Some((begin, end)) = hidden_range {
                if self.forward {
                    let end = end.to_vec();
                    self.base.seek(&end)?;
                } else {
                    let begin = begin.to_vec();
                    self.base.seek_for_prev(&begin)?;
                    if self.base.valid() && compare(self.base.key(), &begin) == Ordering::Equal {
                        self.base.prev()?;
                    }
                }
            } else {
                self.step_base(self.forward)?;
            }
        }
        Ok(false)
    }

    fn skip_deleted_overlay(&mut self) {
        let is_deleted = |iter: &Self| match iter.overlay_entry() {
            Some((key, None)) => !iter.reach.ends_before(key, iter.forward),
            _ => false,
        };
        while is_deleted(self) {
            match self.forward {
                true => self.overlay_at += 1,
                false => self.overlay_at -= 1,
            }
        }
    }

    fn overlay_index(&self) -> Option<usize> {
        if self.forward {
            Some(self.overlay_at).filter(|at| *at < self.rows.overlay.len())
        } else {
            self.overlay_at.checked_sub(1)
        }
    }

    fn overlay_entry(&self) -> Option<(&[u8], Option<&OverlayValue>)> {
        self.rows.overlay.entry(self.overlay_index()?)
    }

    fn overlay_key(&self) -> Option<&[u8]> {
        let (key, value) = self.overlay_entry()?;
        value.is_some().then_some(key)
    }

    fn load_overlay_value(&mut self) -> Result<()> {
        let mut value = std::mem::take(&mut self.overlay_value);
        value.clear();
        if let Some((_, Some(source))) = self.overlay_entry() {
            load(&self.rows.snapshot, source, &mut value)?;
        }
        self.overlay_value = value;
        Ok(())
    }
}

/// Appends the value that the undo row `row_key` puts back.
fn undo_row_value(snapshot: &Snapshot, row_key: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let gone = || Error::inconsistent(row_key, "undo log row is gone");
    let row = snapshot
        .get(row_key)
        .map_err(|error| Error::from(error).with_key(row_key))?
        .ok_or_else(gone)?;
    match UndoTask::decode_exact(&row) {
        Ok(UndoTask::Put { value, .. }) => {
            out.extend_from_slice(value);
            Ok(())
        }
        Ok(_) => Err(gone()),
        Err(error) => Err(Error::row(
            row_key,
            "undo log row with an undecodable value",
            error,
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use larder_leveldb::storage::MemoryFileSystem;
    use larder_leveldb::{Db, Durability, Options};

    use super::*;
    use crate::comparator::IdbComparator;
    use crate::overlay::tests::{ROWS, Rows, key, laid_over};

    /// The rows of a snapshot with operations laid over it, and those that the naive twin has.
    fn recovered(present: u16, operations: &[(u8, u8, u8)]) -> (Recovered, Rows) {
        let mut options = Options::new(Arc::new(IdbComparator));
        options.create_if_missing = true;
        let fs = Arc::new(MemoryFileSystem::new());
        let db = Db::open(fs, Path::new("db"), options).unwrap();
        let is_present = |n: &u8| present >> n & 1 == 1;
        for n in (0..ROWS).filter(is_present) {
            db.put(&key(n), &[u8::MAX], Durability::Relaxed).unwrap();
        }
        let rows = (0..ROWS).map(|n| is_present(&n).then_some(u8::MAX));
        let (overlay, rows) = laid_over(rows.collect(), operations);
        (Recovered::new(db.snapshot(), overlay), rows)
    }

    /// What a cursor passes, up to its end: the last unit of each key, and the value.
    fn walked(iter: &mut RecoveredIter, forward: bool) -> Vec<(u8, u8)> {
        let mut passed = Vec::new();
        while iter.valid() {
            passed.push((iter.key()[7], iter.value().unwrap()[0]));
            match forward {
                true => iter.next().unwrap(),
                false => iter.prev().unwrap(),
            }
        }
        passed
    }

    #[test]
    fn near_a_range_all_rows_of_it_are_passed_and_others_as_they_are_or_not() {
        fn law(present: u16, mut operations: Vec<(u8, u8, u8)>, (low, high): (u8, u8)) -> bool {
            operations.truncate(60);
            let (rows, naive) = recovered(present, &operations);
            let (low, high) = (low % ROWS, high % ROWS);
            [true, false].into_iter().all(|forward| {
                let reach = Reach::near(&key(low), &key(high));
                let mut iter = rows.iter_within(reach);
                match forward {
                    true => iter.seek(&key(low)).unwrap(),
                    false => iter.seek_for_prev(&key(high)).unwrap(),
                }
                let mut passed = walked(&mut iter, forward);
                if !forward {
                    passed.reverse();
                }
                let is_ascending = passed.is_sorted_by(|a, b| a.0 < b.0);
                let is_true =
                    (passed.iter()).all(|(n, value)| naive[usize::from(*n)] == Some(*value));
                let is_within = |(n, _): &(u8, u8)| (low..=high).contains(n);
                passed.retain(is_within);
                let expected = (0..ROWS).filter_map(|n| Some((n, naive[usize::from(n)]?)));
                is_ascending && is_true && passed.into_iter().eq(expected.filter(is_within))
            })
        }
        quickcheck::QuickCheck::new()
            .tests(3000)
            .quickcheck(law as fn(u16, Vec<(u8, u8, u8)>, (u8, u8)) -> bool);
    }

    #[test]
    fn nothing_is_passed_over_beyond_the_range() {
        let operations: Vec<(u8, u8, u8)> = (3..10).map(|n| (1, n, 0)).collect();
        let (rows, _) = recovered(u16::MAX, &operations);
        // All behind the fifth and before the tenth is taken back.
        let mut iter = rows.iter_within(Reach::near(&key(5), &key(5)));
        iter.seek(&key(5)).unwrap();
        assert!(!iter.valid());
        assert_eq!(iter.base.key(), key(6));
        assert_eq!(iter.overlay_entry().unwrap().0, key(6));
        iter.seek_for_prev(&key(5)).unwrap();
        assert!(!iter.valid());
        assert_eq!(iter.base.key(), key(4));
        // A walk over all finds what is there.
        let mut iter = rows.iter_within(Reach::All);
        iter.seek(&key(5)).unwrap();
        assert_eq!(iter.key(), key(10));
    }
}
