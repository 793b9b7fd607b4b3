//! What is committed, as of one moment: a snapshot without the scopes area. That of a transaction has the rows that it has written
//! to tables of its own, too.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use larder_codec::compare::compare;
use larder_leveldb::{Iter, PinnedBytes, Snapshot};

use super::{SCOPES_END, SCOPES_PREFIX};
use crate::error::{Error, Result};
use crate::row_keys::RowKeys;

/// The rows. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    rows: Snapshot,
    /// Taken before `rows`; none where nothing is known of indexes ([`crate::staleness`]).
    stamp: Option<u64>,
}

impl Base {
    pub(crate) const fn new(rows: Snapshot) -> Self {
        Self { rows, stamp: None }
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
        let found = self.rows.get_into(key, value);
        found.map_err(|error| Error::from(error).with_key(key))
    }

    /// How many lookups are best made together.
    pub(super) fn lookups_together(&self) -> usize {
        self.rows.lookups_together()
    }

    /// Looks up like [`View::multi_get`](super::View::multi_get).
    pub(super) fn multi_get(
        &self,
        keys: &RowKeys,
        mut found: impl FnMut(usize, Result<Option<&[u8]>>) -> ControlFlow<()>,
    ) {
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
        }
    }
}

/// A cursor over the rows.
#[derive(Debug)]
pub(crate) struct BaseIter {
    rows: Iter,
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
    /// The engine's cursor.
    pub(super) const fn engine_iter(&mut self) -> &mut Iter {
        &mut self.rows
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.rows.valid()
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.rows.key()
    }

    #[inline]
    pub(crate) fn value(&self) -> Result<&[u8]> {
        Ok(self.rows.value()?)
    }

    pub(crate) fn pinned_value(&self) -> Option<PinnedBytes> {
        self.rows.pinned_value()
    }

    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.is_behind_scopes = compare(key, &SCOPES_END) != Ordering::Less;
        self.rows.seek(key)?;
        self.settle(true)
    }

    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        self.is_behind_scopes = false;
        self.rows.seek_for_prev(key)?;
        self.settle(false)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        self.rows.next()?;
        match self.is_behind_scopes {
            true => Ok(()),
            false => self.settle(true),
        }
    }

    pub(crate) fn prev(&mut self) -> Result<()> {
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
