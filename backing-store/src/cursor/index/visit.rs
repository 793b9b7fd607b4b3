//! Keys of an index, many one after the other: where rows are known to be live, each is looked at once.

use std::ops::ControlFlow;

use super::{IndexCursor, IndexRow, Place, RowsAhead};
use crate::error::Result;

/// How a pass over rows that are known to be live ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Met {
    /// With the last that is wanted.
    Enough,
    /// At a row that may be stale.
    Uncertain,
    /// There was another entry, or not.
    Other(bool),
}

impl IndexCursor {
    /// Moves to one entry after the other, so many, like [`IndexCursor::next_of`], and shows `visit` the bytes of index key and primary key of each, until it
    /// breaks; `false` at the end. Where rows are known to be live, each of them is looked at once.
    ///
    /// # Errors
    /// As [`IndexCursor::next`].
    pub fn visit_keys(
        &mut self,
        count: usize,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool> {
        let mut left = count;
        while left > 0 {
            let met = match self.passes_certain_rows() {
                true => self.pass_certain_rows(&mut left, &mut visit)?,
                false => Met::Other(self.next_of(left)?),
            };
            match met {
                Met::Enough => return Ok(true),
                Met::Uncertain => {
                    self.place = self.read_row(None)?;
                    if self.place.is_none() {
                        continue;
                    }
                }
                Met::Other(true) => {}
                Met::Other(false) => return Ok(false),
            }
            left -= 1;
            let (index_key, primary_key) = self.key_bytes()?;
            if visit(index_key, primary_key).is_break() {
                return Ok(true);
            }
        }
        Ok(true)
    }

    /// Whether of the next rows nothing has to be asked, and none is left out.
    fn passes_certain_rows(&self) -> bool {
        let are_passed = |ahead: &RowsAhead| ahead.is_on_row() || !ahead.is_empty();
        self.keys_only
            && !self.direction.is_unique()
            && self.view.is_committed()
            && self.liveness.is_mostly_certain()
            && !self.ahead.as_deref().is_some_and(are_passed)
    }

    /// Moves over rows as long as they are known to be live, and shows each, so many at most.
    fn pass_certain_rows(
        &mut self,
        left: &mut usize,
        visit: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Met> {
        while *left > 0 {
            self.place = None;
            self.rows.move_on()?;
            let Some(row) = self.rows.settle()? else {
                return Ok(Met::Other(false));
            };
            let read = IndexRow::read(row)?;
            if !self.liveness.is_certain(read.version) {
                return Ok(Met::Uncertain);
            }
            let primary_key = read.primary_key.as_bytes();
            self.place = Some(Place {
                index_key_len: read.index_key_len,
                primary_start: Some(row.value.len() - primary_key.len()),
                value_start: usize::MAX,
                version: read.version,
            });
            *left -= 1;
            let index_key = row.tail.get(..read.index_key_len).unwrap_or_default();
            if visit(index_key, primary_key).is_break() {
                return Ok(Met::Enough);
            }
        }
        Ok(Met::Enough)
    }
}
