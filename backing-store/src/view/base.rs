//! What is committed, as of one moment: a snapshot without the scopes area. That of a transaction has the rows that it has written
//! to tables of its own, too.
//!
//! Of a store that does not lie in LevelDB, the snapshot has the rows of metadata, and a row source those of records.

use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

use larder_codec::compare::compare;
use larder_leveldb::{Iter, PinnedBytes, Snapshot};

use super::{SCOPES_END, SCOPES_PREFIX};
use crate::error::{Error, Result};
use crate::row_keys::RowKeys;
use crate::row_source::{FirstRow, OnFirstRow, RowIter, RowSource, is_of_records};

/// The rows. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    rows: Snapshot,
    /// Where records lie, if that is not LevelDB.
    records: Option<Arc<dyn RowSource>>,
    /// Taken before `rows`; none where nothing is known of indexes ([`crate::staleness`]).
    stamp: Option<u64>,
}

impl Base {
    pub(crate) const fn new(rows: Snapshot) -> Self {
        Self {
            rows,
            records: None,
            stamp: None,
        }
    }

    /// A base whose records lie in something else than LevelDB.
    pub(crate) fn with_records(self, records: Arc<dyn RowSource>) -> Self {
        Self {
            records: Some(records),
            ..self
        }
    }

    /// A base whose snapshot was taken after the stamp.
    pub(crate) fn with_stamp(self, stamp: u64) -> Self {
        Self {
            stamp: Some(stamp),
            ..self
        }
    }

    /// The stamp that was taken before the snapshot.
    pub(crate) const fn stamp(&self) -> Option<u64> {
        self.stamp
    }

    /// The value of `key`, into the caller's buffer; whether there is one.
    pub(crate) fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        if let Some(records) = &self.records
            && is_of_records(key)
        {
            return records.get_into(key, value);
        }
        let found = self.rows.get_into(key, value);
        found.map_err(|error| Error::from(error).with_key(key))
    }

    /// How many lookups are best made together.
    pub(super) fn lookups_together(&self) -> usize {
        match self.records {
            Some(_) => 1,
            None => self.rows.lookups_together(),
        }
    }

    /// Looks up like [`View::multi_get`](super::View::multi_get).
    pub(super) fn multi_get(
        &self,
        keys: &RowKeys,
        mut found: impl FnMut(usize, Result<Option<&[u8]>>) -> ControlFlow<()>,
    ) {
        if let Some(records) = &self.records {
            // All are rows of records, or none is.
            return match keys.iter().next().is_some_and(is_of_records) {
                true => records.multi_get(&mut keys.iter(), &mut found),
                false => get_each(keys, |key, value| self.get_into(key, value), found),
            };
        }
        self.rows.multi_get(keys.iter(), |n, row| {
            let row = row.map_err(|error| Error::from(error).with_key(keys.get(n)));
            found(n, row)
        });
    }

    /// A cursor that stands on no row.
    pub(crate) fn iter_within(&self, reach: &Reach) -> BaseIter {
        BaseIter {
            rows: reach.rows_of(&self.rows),
            is_behind_scopes: false,
            records: self.records.as_ref().map(|records| records.iter()),
            is_in_records: false,
        }
    }
}

/// What [`Base::multi_get`] does, with one get after the other.
pub(super) fn get_each(
    keys: &RowKeys,
    get_into: impl Fn(&[u8], &mut Vec<u8>) -> Result<bool>,
    mut found: impl FnMut(usize, Result<Option<&[u8]>>) -> ControlFlow<()>,
) {
    let mut value = Vec::new();
    for (n, key) in keys.iter().enumerate() {
        let is_there = get_into(key, &mut value);
        if found(n, is_there.map(|is_there| is_there.then_some(&*value))).is_break() {
            return;
        }
    }
}

/// A cursor over the rows.
///
/// Where records lie apart it moves among them, or among the others, whichever it was sent to: no walk goes from the ones to the others.
#[derive(Debug)]
pub(crate) struct BaseIter {
    rows: Iter,
    /// Behind the scopes area: going forward, it does not meet it any more.
    is_behind_scopes: bool,
    records: Option<Box<dyn RowIter>>,
    is_in_records: bool,
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

    /// Whether a cursor that has come to a row which does not show need not go on, as all behind it is beyond.
    pub(super) fn ends_before(&self, key: &[u8], forward: bool) -> bool {
        match self {
            Self::All | Self::Before(_) => false,
            Self::Near(_, high) if forward => compare(key, high) == Ordering::Greater,
            Self::Near(low, _) => compare(key, low) == Ordering::Less,
        }
    }
}

impl BaseIter {
    /// Does what [`ViewIter::multi_seek`](super::ViewIter::multi_seek) does.
    pub(super) fn multi_seek(&mut self, prefixes: &RowKeys, found: OnFirstRow<'_>) {
        let first = prefixes.iter().next().unwrap_or_default();
        if let Some(records) = self.goes_to_records(first) {
            return records.multi_seek(&mut prefixes.iter(), found);
        }
        self.is_behind_scopes = true;
        self.rows.multi_seek(prefixes.iter(), |n, row| {
            let row = row.map(|row| {
                let row = row.map(|(_, value)| value);
                row.map(|value| FirstRow {
                    value,
                    record: None,
                })
            });
            found(n, row.map_err(Error::from));
            ControlFlow::Continue(())
        });
    }

    /// The cursor over records, if it was sent there.
    #[inline]
    fn among_records(&self) -> Option<&dyn RowIter> {
        self.records.as_deref().filter(|_| self.is_in_records)
    }

    #[inline]
    fn among_records_mut(&mut self) -> Option<&mut Box<dyn RowIter>> {
        self.records.as_mut().filter(|_| self.is_in_records)
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        match self.among_records() {
            Some(records) => records.valid(),
            None => self.rows.valid(),
        }
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        match self.among_records() {
            Some(records) => records.key(),
            None => self.rows.key(),
        }
    }

    #[inline]
    pub(crate) fn value(&self) -> Result<&[u8]> {
        match self.among_records() {
            Some(records) => Ok(records.value()),
            None => Ok(self.rows.value()?),
        }
    }

    pub(crate) fn pinned_value(&self) -> Option<PinnedBytes> {
        match self.among_records() {
            Some(_) => None,
            None => self.rows.pinned_value(),
        }
    }

    /// See [`RowIter::bring_records`]; whether it goes over records that may come so.
    pub(super) fn bring_records(&mut self) -> bool {
        let records = self.records.as_mut();
        records.map(|records| records.bring_records()).is_some()
    }

    /// See [`RowIter::record`].
    pub(super) fn record(&self) -> Option<&[u8]> {
        self.among_records()?.record()
    }

    /// Whether it goes to records, to come to the key.
    fn goes_to_records(&mut self, key: &[u8]) -> Option<&mut Box<dyn RowIter>> {
        self.is_in_records = self.records.is_some() && is_of_records(key);
        self.among_records_mut()
    }

    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        if let Some(records) = self.goes_to_records(key) {
            return records.seek(key);
        }
        self.is_behind_scopes = compare(key, &SCOPES_END) != Ordering::Less;
        self.rows.seek(key)?;
        self.settle(true)
    }

    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        if let Some(records) = self.goes_to_records(key) {
            return records.seek_for_prev(key);
        }
        self.is_behind_scopes = false;
        self.rows.seek_for_prev(key)?;
        self.settle(false)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        if let Some(records) = self.among_records_mut() {
            return records.next();
        }
        self.rows.next()?;
        match self.is_behind_scopes {
            true => Ok(()),
            false => self.settle(true),
        }
    }

    pub(crate) fn prev(&mut self) -> Result<()> {
        if let Some(records) = self.among_records_mut() {
            return records.prev();
        }
        self.is_behind_scopes = false;
        self.rows.prev()?;
        self.settle(false)
    }

    /// Goes on to the first row that does not lie in the scopes area.
    fn settle(&mut self, forward: bool) -> Result<()> {
        // On no row the key is empty.
        while self.key().starts_with(&SCOPES_PREFIX) {
            self.leave_scopes_area(forward)?;
        }
        Ok(())
    }

    fn leave_scopes_area(&mut self, forward: bool) -> Result<()> {
        let iter = &mut self.rows;
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
}
