//! What is committed, as of one moment: a snapshot, with [`Window`]s onto older ones where a transaction that has not
//! committed has already written to the engine.

use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

use larder_codec::compare::compare;
use larder_leveldb::{Iter, PinnedBytes, Snapshot};

use super::{SCOPES_END, SCOPES_PREFIX, get_each};
use crate::error::{Error, Result};
use crate::row_keys::RowKeys;

/// The keys from `low` up to and without `end` are read from an older snapshot.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    pub(crate) low: Vec<u8>,
    pub(crate) end: Vec<u8>,
    pub(crate) snapshot: Snapshot,
    /// Taken before the snapshot ([`crate::staleness`]).
    pub(crate) stamp: u64,
}

/// The committed rows. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    present: Snapshot,
    /// Taken before `present`; none where nothing is known of indexes.
    stamp: Option<u64>,
    /// In order, disjoint.
    windows: Arc<[Window]>,
}

impl Base {
    /// A base of windows in any order that do not overlap.
    pub(crate) fn new(present: Snapshot, mut windows: Vec<Window>) -> Self {
        windows.sort_by(|a, b| compare(&a.low, &b.low));
        Self {
            present,
            stamp: None,
            windows: windows.into(),
        }
    }

    /// A base whose snapshot was taken after the stamp.
    pub(crate) fn with_stamp(self, stamp: u64) -> Self {
        Self {
            stamp: Some(stamp),
            ..self
        }
    }

    /// The stamp that was taken before the snapshot in which `key` lies.
    pub(crate) fn stamp_for(&self, key: &[u8]) -> Option<u64> {
        match self.segment_of(key) {
            gap if gap.is_multiple_of(2) => self.stamp,
            window => self.windows.get(window / 2).map(|window| window.stamp),
        }
    }

    fn snapshot_for(&self, key: &[u8]) -> &Snapshot {
        if self.windows.is_empty() {
            return &self.present;
        }
        match self.segment_of(key) {
            gap if gap.is_multiple_of(2) => &self.present,
            window => &self.windows[window / 2].snapshot,
        }
    }

    /// The value of `key`, into the caller's buffer; whether there is one.
    pub(crate) fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.snapshot_for(key)
            .get_into(key, value)
            .map_err(|error| Error::from(error).with_key(key))
    }

    /// Looks up like [`View::multi_get`](super::View::multi_get).
    pub(super) fn multi_get(
        &self,
        keys: &RowKeys,
        mut found: impl FnMut(usize, Result<Option<&[u8]>>) -> ControlFlow<()>,
    ) {
        if self.windows.is_empty() {
            return self.present.multi_get(keys.iter(), |n, row| {
                found(
                    n,
                    row.map_err(|error| Error::from(error).with_key(keys.get(n))),
                )
            });
        }
        get_each(keys, |key, value| self.get_into(key, value), found);
    }

    /// A cursor that stands on no row.
    pub(crate) fn iter(&self) -> BaseIter {
        self.iter_within(&Reach::All)
    }

    /// A cursor that stands on no row.
    pub(crate) fn iter_within(&self, reach: &Reach) -> BaseIter {
        let windows = self.windows.iter();
        let windows = windows.map(|window| reach.rows_of(&window.snapshot));
        BaseIter {
            present: reach.rows_of(&self.present),
            windows: windows.collect(),
            base: self.clone(),
            segment: 0,
            is_behind_scopes: false,
        }
    }

    /// Segment `2i` are the keys before window `i`, `2i + 1` those in it.
    fn segment_of(&self, key: &[u8]) -> usize {
        let after = self
            .windows
            .partition_point(|window| compare(&window.low, key) != Ordering::Greater);
        match after.checked_sub(1) {
            Some(at) if compare(key, &self.windows[at].end) == Ordering::Less => 2 * at + 1,
            _ => 2 * after,
        }
    }

    fn low_of(&self, segment: usize) -> Option<&[u8]> {
        if segment.is_multiple_of(2) {
            let before = (segment / 2).checked_sub(1)?;
            Some(&self.windows[before].end)
        } else {
            Some(&self.windows[segment / 2].low)
        }
    }

    fn end_of(&self, segment: usize) -> Option<&[u8]> {
        let window = self.windows.get(segment / 2)?;
        Some(if segment.is_multiple_of(2) {
            &window.low
        } else {
            &window.end
        })
    }
}

/// A cursor over the committed rows: one engine cursor for each snapshot, that of the segment being current.
#[derive(Debug)]
pub(crate) struct BaseIter {
    base: Base,
    present: Iter,
    /// Each window's.
    windows: Vec<Iter>,
    segment: usize,
    /// Behind the scopes area: going forward, it does not meet it any more.
    is_behind_scopes: bool,
}

/// How far a cursor goes in the engine.
#[derive(Debug, Clone, Default)]
pub(crate) enum Reach {
    /// Leads to all rows, of which bounds would exclude none.
    #[default]
    All,
    /// It looks at nothing from a key on.
    Before(Box<[u8]>),
    /// From a key to another, both included, it shows all rows, and of the others some or none: it does not pass over
    /// what was deleted beyond.
    Near(Box<[u8]>, Box<[u8]>),
}

impl Reach {
    pub(crate) fn before(end: &[u8]) -> Self {
        Self::Before(end.into())
    }

    pub(crate) fn near(low: &[u8], high: &[u8]) -> Self {
        Self::Near(low.into(), high.into())
    }

    pub(super) fn rows_of(&self, snapshot: &Snapshot) -> Iter {
        match self {
            Self::All => snapshot.iter(),
            Self::Before(end) => snapshot.iter_within(..end),
            Self::Near(low, high) => snapshot.iter_near(low, high),
        }
    }
}

impl BaseIter {
    /// The engine's cursor, if all rows come from one snapshot.
    pub(super) fn only(&mut self) -> Option<&mut Iter> {
        self.windows.is_empty().then_some(&mut self.present)
    }

    #[inline]
    fn current(&self) -> &Iter {
        match self.segment {
            gap if gap.is_multiple_of(2) => &self.present,
            window => &self.windows[window / 2],
        }
    }

    #[inline]
    fn current_mut(&mut self) -> &mut Iter {
        match self.segment {
            gap if gap.is_multiple_of(2) => &mut self.present,
            window => &mut self.windows[window / 2],
        }
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.current().valid()
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.current().key()
    }

    #[inline]
    pub(crate) fn value(&self) -> Result<&[u8]> {
        Ok(self.current().value()?)
    }

    pub(crate) fn pinned_value(&self) -> Option<PinnedBytes> {
        self.current().pinned_value()
    }

    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.segment = self.base.segment_of(key);
        self.is_behind_scopes = compare(key, &SCOPES_END) != Ordering::Less;
        self.current_mut().seek(key)?;
        self.settle(true)
    }

    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        self.segment = self.base.segment_of(key);
        self.is_behind_scopes = false;
        self.current_mut().seek_for_prev(key)?;
        self.settle(false)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        if self.is_behind_scopes && self.windows.is_empty() {
            // The same in short, for nearly every step of nearly every scan.
            return Ok(self.present.next()?);
        }
        if self.valid() {
            self.current_mut().next()?;
            self.settle(true)?;
        }
        Ok(())
    }

    pub(crate) fn prev(&mut self) -> Result<()> {
        if self.valid() {
            self.is_behind_scopes = false;
            self.current_mut().prev()?;
            self.settle(false)?;
        }
        Ok(())
    }

    /// Goes on to the first row that belongs to its segment and does not lie in the scopes area.
    fn settle(&mut self, forward: bool) -> Result<()> {
        loop {
            if !self.windows.is_empty() {
                if forward {
                    self.enter_next_segments()?;
                } else {
                    self.enter_previous_segments()?;
                }
            }
            // On no row the key is empty.
            if !self.key().starts_with(&SCOPES_PREFIX) {
                return Ok(());
            }
            self.leave_scopes_area(forward)?;
        }
    }

    fn leave_scopes_area(&mut self, forward: bool) -> Result<()> {
        let iter = self.current_mut();
        if forward {
            iter.seek(&SCOPES_END)?;
        } else {
            iter.seek_for_prev(&SCOPES_PREFIX)?;
        }
        // Keys of the area that are shorter than its rows: step over one by one.
        if iter.valid() && iter.key().starts_with(&SCOPES_PREFIX) {
            if forward {
                iter.next()?;
            } else {
                iter.prev()?;
            }
        }
        Ok(())
    }

    fn enter_next_segments(&mut self) -> Result<()> {
        while let Some(end) = self.base.end_of(self.segment) {
            let iter = self.current();
            if iter.valid() && compare(iter.key(), end) == Ordering::Less {
                break;
            }
            // It starts where this one ends.
            let low = end.to_vec();
            self.segment += 1;
            self.current_mut().seek(&low)?;
        }
        Ok(())
    }

    fn enter_previous_segments(&mut self) -> Result<()> {
        while let Some(low) = self.base.low_of(self.segment) {
            let iter = self.current();
            if iter.valid() && compare(iter.key(), low) != Ordering::Less {
                break;
            }
            let end = low.to_vec();
            self.segment -= 1;
            let iter = self.current_mut();
            iter.seek_for_prev(&end)?;
            if iter.valid() && compare(iter.key(), &end) == Ordering::Equal {
                iter.prev()?;
            }
        }
        Ok(())
    }
}
