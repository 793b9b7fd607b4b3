//! A consistent view of a store's rows: of a store as recovery would leave it, of what is committed, or of what a
//! transaction that writes sees.
//!
//! The scopes area (prefix `00 00 00 00 32`, the undo log) never shows here, as Chromium's transactional layer hides
//! it; raw rows are read from the snapshot itself.

mod ascending;
mod base;
mod recovered;
mod staged;

pub(crate) use ascending::AscendingLookups;
pub(crate) use base::{Base, Reach};
use base::{BaseIter, get_each};
pub(crate) use staged::Pending;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use larder_codec::compare::{RowOrder, compare};
use larder_leveldb::{PinnedBytes, Snapshot};

use crate::error::Result;
use crate::overlay::Overlay;
use crate::row_keys::RowKeys;
use crate::row_source::{FirstRow, OnFirstRow, RowIter, RowSource};
use crate::sync::locked;
use recovered::{Recovered, RecoveredIter};
use staged::StagedIter;

/// First bytes of every row of the scopes area.
pub(crate) const SCOPES_PREFIX: [u8; 5] = [0, 0, 0, 0, 50];

/// Everything that comes after the scopes area begins at or behind this key.
pub(crate) const SCOPES_END: [u8; 5] = [0, 0, 0, 0, 51];

/// The view. Cheap to clone; all clones of a transaction's view see what it writes.
#[derive(Debug, Clone)]
pub(crate) struct View(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Recovered(Recovered),
    Committed(Base),
    Transaction(Arc<Mutex<Pending>>),
    Source(Arc<dyn RowSource>),
}

impl View {
    /// A store opened for reading, after recovery in memory.
    pub(crate) fn recovered(snapshot: Snapshot, overlay: Overlay) -> Self {
        Self(Kind::Recovered(Recovered::new(snapshot, overlay)))
    }

    /// What is committed.
    pub(crate) fn committed(base: Base) -> Self {
        Self(Kind::Committed(base))
    }

    /// What lies in something else than LevelDB.
    pub(crate) fn source(rows: Arc<dyn RowSource>) -> Self {
        Self(Kind::Source(rows))
    }

    /// What a transaction sees: what is committed, and over it what it has written.
    pub(crate) fn transaction(pending: Arc<Mutex<Pending>>) -> Self {
        Self(Kind::Transaction(pending))
    }

    /// The order of the rows: what is written to is in Chromium's.
    pub(crate) fn order(&self) -> RowOrder {
        match &self.0 {
            Kind::Recovered(rows) => rows.order(),
            Kind::Committed(_) | Kind::Transaction(_) | Kind::Source(_) => RowOrder::Chromium,
        }
    }

    /// The value of `key`.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut value = Vec::new();
        Ok(self.get_into(key, &mut value)?.then_some(value))
    }

    /// The value of `key`, into the caller's buffer; whether there is one.
    pub(crate) fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        match &self.0 {
            Kind::Recovered(rows) => rows.get_into(key, value),
            Kind::Committed(base) => base.get_into(key, value),
            Kind::Transaction(pending) => locked(pending).get_into(key, value),
            Kind::Source(rows) => rows.get_into(key, value),
        }
    }

    /// How many lookups are best made by one [`View::multi_get`], of those that anyway have to be made.
    pub(crate) fn lookups_together(&self) -> usize {
        match &self.0 {
            Kind::Recovered(_) | Kind::Source(_) => 1,
            Kind::Committed(base) => base.lookups_together(),
            Kind::Transaction(pending) => locked(pending).base.lookups_together(),
        }
    }

    /// The values of many keys: calls `found` once for each, in any order, with its number, from 0, until it breaks. No lock is held
    /// then.
    pub(crate) fn multi_get(
        &self,
        keys: &RowKeys,
        mut found: impl FnMut(usize, Result<Option<&[u8]>>) -> ControlFlow<()>,
    ) {
        match &self.0 {
            Kind::Recovered(rows) => get_each(keys, |key, value| rows.get_into(key, value), found),
            Kind::Source(rows) => rows.multi_get(&mut keys.iter(), &mut found),
            Kind::Committed(base) => base.multi_get(keys, found),
            Kind::Transaction(pending) => {
                let (base, staged) = locked(pending).staged(keys);
                base.multi_get(keys, |n, row| match staged.get(n) {
                    Some(Some(value)) => found(n, Ok(value.as_deref())),
                    _ => found(n, row),
                });
            }
        }
    }

    /// The stamp that was taken before what is committed was fixed; none where nothing is known of indexes.
    pub(crate) fn stamp(&self) -> Option<u64> {
        match &self.0 {
            Kind::Recovered(_) | Kind::Source(_) => None,
            Kind::Committed(base) => base.stamp(),
            Kind::Transaction(pending) => locked(pending).base.stamp(),
        }
    }

    /// What a transaction that writes has written, if this is the view of one.
    pub(crate) fn pending(&self) -> Option<&Arc<Mutex<Pending>>> {
        match &self.0 {
            Kind::Transaction(pending) => Some(pending),
            Kind::Recovered(_) | Kind::Committed(_) | Kind::Source(_) => None,
        }
    }

    /// Whether these rows stay as they are, no transaction writing them, and lie in LevelDB in the order of keys.
    pub(crate) fn is_committed(&self) -> bool {
        match &self.0 {
            Kind::Committed(_) => true,
            Kind::Recovered(rows) => rows.order() == RowOrder::Chromium,
            Kind::Transaction(_) | Kind::Source(_) => false,
        }
    }

    /// A cursor that stands on no row.
    pub(crate) fn iter(&self) -> ViewIter {
        self.iter_within(Reach::All)
    }

    /// A cursor that stands on no row, for a walk that goes no further than the first row from `end` on, and may take
    /// that for the end of all: what lies beyond in the engine, such as damage and rows that were deleted, is not
    /// looked at.
    pub(crate) fn iter_before(&self, end: &[u8]) -> ViewIter {
        self.iter_within(Reach::before(end))
    }

    /// A cursor that stands on no row, for a walk from `low` to `high`, both included: beyond those it shows some rows
    /// or none, and does not pass over what was deleted there.
    pub(crate) fn iter_near(&self, low: &[u8], high: &[u8]) -> ViewIter {
        self.iter_within(Reach::near(low, high))
    }

    fn iter_within(&self, reach: Reach) -> ViewIter {
        ViewIter(match &self.0 {
            Kind::Recovered(rows) => Rows::Recovered(rows.iter_within(reach)),
            Kind::Committed(base) => Rows::Committed(base.iter_within(&reach)),
            Kind::Transaction(pending) => {
                let pending = Arc::clone(pending);
                Rows::Staged(StagedIter::new(pending, reach))
            }
            Kind::Source(rows) => Rows::Source(rows.iter()),
        })
    }
}

/// Whether there is a row from `low` on and before `end`.
pub(crate) fn has_rows(view: &View, low: &[u8], end: &[u8]) -> Result<bool> {
    let mut iter = view.iter_before(end);
    iter.seek(low)?;
    Ok(iter.valid() && compare(iter.key(), end).is_lt())
}

/// A cursor over the view's rows, in both directions. It can turn round anywhere.
///
/// In a transaction that writes, what is written after a move shows with the next move: key and value of the current row
/// stay as they are until then, and a current row that is deleted does not lose the place.
#[derive(Debug)]
pub(crate) struct ViewIter(Rows);

#[derive(Debug)]
enum Rows {
    Recovered(RecoveredIter),
    Committed(BaseIter),
    Staged(StagedIter),
    Source(Box<dyn RowIter>),
}

macro_rules! forward {
    ($self:ident, $iter:ident => $call:expr) => {
        match &$self.0 {
            Rows::Recovered($iter) => $call,
            Rows::Committed($iter) => $call,
            Rows::Staged($iter) => $call,
            Rows::Source($iter) => $call,
        }
    };
    (mut $self:ident, $iter:ident => $call:expr) => {
        match &mut $self.0 {
            Rows::Recovered($iter) => $call,
            Rows::Committed($iter) => $call,
            Rows::Staged($iter) => $call,
            Rows::Source($iter) => $call,
        }
    };
}

impl ViewIter {
    #[inline]
    pub(crate) fn valid(&self) -> bool {
        forward!(self, iter => iter.valid())
    }

    /// The current key; empty when not on a row.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        forward!(self, iter => iter.key())
    }

    /// The current value; empty when not on a row.
    #[inline]
    pub(crate) fn value(&self) -> Result<&[u8]> {
        match &self.0 {
            Rows::Recovered(iter) => iter.value(),
            Rows::Committed(iter) => iter.value(),
            Rows::Staged(iter) => iter.value(),
            Rows::Source(iter) => Ok(iter.value()),
        }
    }

    /// The current value where the engine has it, if it can be had so.
    pub(crate) fn pinned_value(&self) -> Option<PinnedBytes> {
        match &self.0 {
            Rows::Recovered(iter) => iter.pinned_value(),
            Rows::Committed(iter) => iter.pinned_value(),
            Rows::Staged(iter) => iter.pinned_value(),
            Rows::Source(_) => None,
        }
    }

    /// Entries of indexes are wanted with their records from now on; whether what is committed may bring them.
    pub(crate) fn bring_records(&mut self) -> bool {
        match &mut self.0 {
            Rows::Committed(iter) => iter.bring_records(),
            Rows::Recovered(_) | Rows::Staged(_) | Rows::Source(_) => false,
        }
    }

    /// The value of the data row that this row of an index leads to, if it came with it.
    pub(crate) fn record(&self) -> Option<&[u8]> {
        match &self.0 {
            Rows::Committed(iter) => iter.record(),
            Rows::Recovered(_) | Rows::Staged(_) | Rows::Source(_) => None,
        }
    }

    /// To the first row at or behind `key`.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        forward!(mut self, iter => iter.seek(key))
    }

    /// To many keys that rows behind the scopes area may begin with, all of records or none: calls `found` once for each, in any order, with its number, from
    /// 0, and the first row at or behind it, if that row's key begins with it. Afterwards it stands anywhere.
    pub(crate) fn multi_seek(&mut self, prefixes: &RowKeys, found: OnFirstRow<'_>) {
        match &mut self.0 {
            Rows::Committed(iter) => return iter.multi_seek(prefixes, found),
            Rows::Source(iter) => return iter.multi_seek(&mut prefixes.iter(), found),
            Rows::Recovered(_) | Rows::Staged(_) => {}
        }
        for (n, prefix) in prefixes.iter().enumerate() {
            let row = self.seek(prefix).and_then(|()| {
                let is_of_it = self.valid() && self.key().starts_with(prefix);
                let value = is_of_it.then(|| self.value()).transpose()?;
                Ok(value.map(|value| FirstRow {
                    value,
                    record: None,
                }))
            });
            found(n, row);
        }
    }

    /// To the last row at or before `key`.
    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        forward!(mut self, iter => iter.seek_for_prev(key))
    }

    /// To the next row. Nothing happens when not on a row.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        forward!(mut self, iter => iter.next())
    }

    /// To the row before. Nothing happens when not on a row.
    #[inline]
    pub(crate) fn prev(&mut self) -> Result<()> {
        forward!(mut self, iter => iter.prev())
    }
}
