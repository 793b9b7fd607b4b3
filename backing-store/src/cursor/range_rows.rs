//! The rows of one table or index that lie in a key range, in one direction: what both cursors walk.
//!
//! Bounds look at user keys alone, as Chromium's cursors do (`docs/FORMAT.md`, section 5). A cursor that has come to its
//! end stays there.

use std::cmp::Ordering;
use std::ops::Bound;

use larder_codec::compare::{RowOrder, compare_user_keys};
use larder_codec::{KeyBound, RawKey, compare};
use larder_leveldb::PinnedBytes;

use crate::error::{Error, Result};
use crate::key_range::KeyRange;
use crate::view::{View, ViewIter};

/// What follows an index key to come behind all rows with it: sequence number 0, and the sentinel above all primary keys.
/// Behind the key of a record, it is ignored.
const AFTER_KEY: [u8; 2] = [0, 0];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Before,
    Inside,
    Ended,
}

/// A walk over rows.
#[derive(Debug)]
pub(super) struct RangeRows {
    iter: ViewIter,
    forward: bool,
    state: State,
    /// The prefix that all rows of the table or the index have.
    prefix: Vec<u8>,
    lower: Edge,
    upper: Edge,
    target: Vec<u8>,
}

/// A row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) key: &'a [u8],
    /// What follows the prefix in the key.
    pub(super) tail: &'a [u8],
    pub(super) value: &'a [u8],
}

/// An end of the range: the bytes of a key, unless there is none.
#[derive(Debug)]
struct Edge {
    key: Option<Vec<u8>>,
    is_open: bool,
    order: RowOrder,
}

impl Edge {
    fn new(bound: Bound<RawKey<'_>>, order: RowOrder) -> Self {
        let (key, is_open) = match bound {
            Bound::Included(key) => (Some(key), false),
            Bound::Excluded(key) => (Some(key), true),
            Bound::Unbounded => (None, false),
        };
        Self {
            key: key.map(|key| key.as_bytes().to_vec()),
            is_open,
            order,
        }
    }

    /// Where the end lies from the user key at the front of `tail`; an open end lies before its own key.
    fn compare(&self, tail: &[u8], on_open: Ordering) -> Ordering {
        match &self.key {
            None => on_open.reverse(),
            Some(key) => match self.order.compare_user_keys(tail, key) {
                Ordering::Equal if self.is_open => on_open,
                order => order,
            },
        }
    }
}

impl RangeRows {
    pub(super) fn new(view: &View, prefix: Vec<u8>, range: &KeyRange<'_>, forward: bool) -> Self {
        let lower = Edge::new(range.lower, view.order());
        let upper = Edge::new(range.upper, view.order());
        let (mut low, mut high) = (prefix.clone(), prefix.clone());
        match &lower.key {
            Some(key) => low.extend_from_slice(key),
            None => KeyBound::Min.encode(&mut low),
        }
        match &upper.key {
            Some(key) => high.extend([&**key, &AFTER_KEY].concat()),
            None => KeyBound::Max.encode(&mut high),
        }
        Self {
            iter: view.iter_near(&low, &high),
            forward,
            state: State::Before,
            prefix,
            lower,
            upper,
            target: Vec::new(),
        }
    }

    /// The order of the rows.
    pub(super) fn order(&self) -> RowOrder {
        self.lower.order
    }

    /// The row's key.
    pub(super) fn key(&self) -> &[u8] {
        self.iter.key()
    }

    /// What follows the prefix in the row's key.
    pub(super) fn tail(&self) -> &[u8] {
        self.tail_of(self.iter.key())
    }

    /// What follows the prefix in this key of a row.
    pub(super) fn tail_of<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        key.get(self.prefix.len()..).unwrap_or_default()
    }

    /// What follows the prefix in a key, if it has the prefix.
    #[inline]
    fn strip_prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        // Nearly all prefixes: four bytes are one comparison.
        match (self.prefix.as_array::<4>(), key.split_first_chunk::<4>()) {
            (Some(prefix), Some((front, tail))) => (front == prefix).then_some(tail),
            _ => key.strip_prefix(&*self.prefix),
        }
    }

    /// The row's value.
    pub(super) fn value(&self) -> Result<&[u8]> {
        self.iter.value()
    }

    /// The row's value where the engine has it, if it can be had so.
    pub(super) fn pinned_value(&self) -> Option<PinnedBytes> {
        self.iter.pinned_value()
    }

    /// See [`ViewIter::bring_records`].
    pub(super) fn bring_records(&mut self) -> bool {
        self.iter.bring_records()
    }

    /// The value of the data row that the row of an index leads to, if it came with it.
    pub(super) fn record(&self) -> Option<&[u8]> {
        self.iter.record()
    }

    /// To the next row; `false` at the end.
    pub(super) fn step(&mut self) -> Result<bool> {
        self.move_on()?;
        Ok(self.settle()?.is_some())
    }

    /// A cursor that has passed rows, perhaps up to the end, still stands on one of them, and seeks from there.
    pub(super) fn go_back(&mut self) {
        if self.state == State::Ended {
            self.state = State::Inside;
        }
    }

    /// Moves away from the current row; [`RangeRows::settle`] then says what was reached.
    #[inline]
    pub(super) fn move_on(&mut self) -> Result<()> {
        match self.state {
            State::Ended => Ok(()),
            State::Before => self.start(),
            State::Inside if self.forward => self.iter.next(),
            State::Inside => self.iter.prev(),
        }
    }

    /// The row that was reached, if it is one of the range: otherwise this is the end.
    #[inline]
    pub(super) fn settle(&mut self) -> Result<Option<Row<'_>>> {
        // On no row the key is empty.
        let key = self.iter.key();
        let is_inside = match self.strip_prefix(key) {
            _ if self.state == State::Ended => false,
            Some(tail) if self.forward => {
                self.upper.compare(tail, Ordering::Greater) != Ordering::Greater
            }
            Some(tail) => self.lower.compare(tail, Ordering::Less) != Ordering::Less,
            None => self.is_malformed(key)?,
        };
        if !is_inside {
            self.state = State::Ended;
            return Ok(None);
        }
        Ok(Some(Row {
            key,
            tail: self.tail_of(key),
            value: self.iter.value()?,
        }))
    }

    /// Whether it stands on a row of the table or index, in the range or not.
    pub(super) fn is_on_row(&self) -> bool {
        self.iter.valid() && self.iter.key().starts_with(&self.prefix)
    }

    /// Whether the row it stands on comes before another.
    pub(super) fn is_below(&self, row_key: &[u8]) -> bool {
        self.order().compare(self.iter.key(), row_key) == Ordering::Less
    }

    /// Leaves the rows: this is the end, wherever it stands.
    pub(super) fn end(&mut self) {
        self.state = State::Ended;
    }

    /// One row up, whichever the direction.
    pub(super) fn step_up(&mut self) -> Result<()> {
        self.iter.next()
    }

    /// To the first row, in the direction, that has the key, and, in an index, the primary key, or lies behind it.
    pub(super) fn step_to(
        &mut self,
        key: RawKey<'_>,
        primary_key: Option<RawKey<'_>>,
    ) -> Result<bool> {
        self.seek_to(key, primary_key)?;
        Ok(self.settle()?.is_some())
    }

    /// Moves to a row, like [`RangeRows::step_to`], by a seek; [`RangeRows::settle`] then says what was reached.
    pub(super) fn seek_to(
        &mut self,
        key: RawKey<'_>,
        primary_key: Option<RawKey<'_>>,
    ) -> Result<()> {
        if self.state == State::Ended {
            return Ok(());
        }
        let outside = if self.forward {
            self.lower.compare(key.as_bytes(), Ordering::Less) == Ordering::Less
        } else {
            self.upper.compare(key.as_bytes(), Ordering::Greater) == Ordering::Greater
        };
        if outside {
            // Only before the first row can the target lie in front of the range.
            return self.start();
        }
        self.set_target(key.as_bytes());
        match primary_key {
            Some(primary_key) => {
                self.target.push(0);
                self.target.extend_from_slice(primary_key.as_bytes());
            }
            None if !self.forward => self.target.extend_from_slice(&AFTER_KEY),
            None => {}
        }
        self.seek(self.forward)
    }

    /// To the first of all rows with the user key at the front of `tail`, whichever the direction.
    pub(super) fn seek_first_of(&mut self, tail: &[u8]) -> Result<()> {
        self.set_target(tail);
        self.seek(true)
    }

    fn start(&mut self) -> Result<()> {
        let edge = if self.forward {
            &self.lower
        } else {
            &self.upper
        };
        self.target.clear();
        self.target.extend_from_slice(&self.prefix);
        match &edge.key {
            Some(key) => self.target.extend_from_slice(key),
            None if self.forward => KeyBound::Min.encode(&mut self.target),
            None => KeyBound::Max.encode(&mut self.target),
        }
        if edge.key.is_some() && edge.is_open == self.forward {
            self.target.extend_from_slice(&AFTER_KEY);
        }
        self.seek(self.forward)?;
        self.state = State::Inside;
        // The record of an open end has no key behind it to seek to.
        while self.iter.valid() && self.is_open_end() {
            if self.forward {
                self.iter.next()?;
            } else {
                self.iter.prev()?;
            }
        }
        Ok(())
    }

    fn is_open_end(&self) -> bool {
        let edge = if self.forward {
            &self.lower
        } else {
            &self.upper
        };
        let Some(key) = edge.key.as_ref().filter(|_| edge.is_open) else {
            return false;
        };
        let Some(tail) = self.strip_prefix(self.iter.key()) else {
            return false;
        };
        compare_user_keys(tail, key) == Ordering::Equal
    }

    fn set_target(&mut self, tail: &[u8]) {
        self.target.clear();
        self.target.extend_from_slice(&self.prefix);
        self.target.extend_from_slice(tail);
    }

    fn seek(&mut self, forward: bool) -> Result<()> {
        self.state = State::Inside;
        if forward {
            self.iter.seek(&self.target)
        } else {
            self.iter.seek_for_prev(&self.target)
        }
    }

    /// A row without the prefix is beyond the last, or has its numbers in a form that no writer gives them.
    #[cold]
    fn is_malformed(&self, key: &[u8]) -> Result<bool> {
        if !self.iter.valid() {
            return Ok(false);
        }
        let mut end = self.prefix.clone();
        let beyond = if self.forward {
            KeyBound::Max.encode(&mut end);
            compare(key, &end) == Ordering::Greater
        } else {
            KeyBound::Min.encode(&mut end);
            compare(key, &end) == Ordering::Less
        };
        if beyond {
            return Ok(false);
        }
        Err(Error::inconsistent(key, "row with a malformed key prefix"))
    }
}
