//! Rows of an index that a cursor has passed, and whose entries it has yet to return.
//!
//! An entry consists of an index row and its record's row, which lies anywhere: the records' rows of several entries
//! are looked up together. This holds only where no transaction changes the rows.
//!
//! In a large store a record's row is a block to be read and unpacked. So a long walk passes as many rows at once as it has passed before, up to
//! as many as bring several records of each block together: one that ends early has not paid for more than it has returned.

use std::ops::{ControlFlow, Range};

use larder_codec::RecordVersion;

use super::index_row::IndexRow;
use super::range_rows::RangeRows;
use crate::error::{Error, Result};
use crate::reads::has_two_forms;
use crate::row_keys::RowKeys;
use crate::view::View;

/// So many rows at once need no more room than a page of entries.
const ROWS_FEW: usize = 16;
/// No more at first, however many are wanted.
const ROWS_FIRST: usize = 512;
/// So many at once, of those that a long walk passes.
const ROWS_MAX: usize = 32 << 10;
/// Fewer are passed when their keys have so many bytes: for each of a few rows,
const KEYS_LEN_FEW: usize = 1 << 10;
/// and for all of many.
const KEYS_LEN_MAX: usize = 2 << 20;
/// When the records have so many bytes, those behind are looked up one by one: for each of a few rows,
const RECORDS_LEN_FEW: usize = 2 << 10;
/// and for all of many.
const RECORDS_LEN_MAX: usize = 4 << 20;

/// How many bytes the records of so many rows may have.
fn records_len_max(count: usize) -> usize {
    (count * RECORDS_LEN_FEW).min(RECORDS_LEN_MAX)
}

/// The rows.
#[derive(Debug, Default)]
pub(super) struct RowsAhead {
    keys: RowKeys,
    /// The key of each row's record row.
    record_keys: RowKeys,
    rows: Vec<Passed>,
    records: Vec<u8>,
    /// So many have been handed out; the cursor stands on the last of them, if it stands on one.
    handed_out: usize,
    is_on_row: bool,
    /// How many have been passed, on the whole walk.
    passed: usize,
    /// So many fit, as the last records were.
    fit: Option<usize>,
    /// What came instead of the row behind them.
    error: Option<Error>,
}

#[derive(Debug)]
struct Passed {
    index_key_len: usize,
    version: RecordVersion,
    /// Whether its record's row may lie under another key that is equal.
    has_two_forms: bool,
    /// Where its record's row is in `records`, or `None` in its place if there is none; `None` if it has to be looked up.
    record: Option<Option<Range<usize>>>,
}

impl RowsAhead {
    /// Whether the cursor stands on one of the rows.
    pub(super) const fn is_on_row(&self) -> bool {
        self.is_on_row
    }

    /// Whether nothing is left to be handed out.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.handed_out == self.rows.len() && self.error.is_none()
    }

    /// Removes all rows.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.record_keys.clear();
        self.rows.clear();
        self.records.clear();
        self.handed_out = 0;
        self.is_on_row = false;
        self.error = None;
    }

    /// Passes rows, when so many are wanted and up to so many may be passed, and looks their records up, whose rows have this prefix: how many
    /// there were.
    pub(super) fn pass(
        &mut self,
        view: &View,
        rows: &mut RangeRows,
        (count, rows_max): (usize, usize),
        record_prefix: &[u8],
    ) -> usize {
        let count = self.count_at_once(view, count, rows_max);
        self.pass_rows(rows, count, record_prefix, |_, _| true);
        let found = self.look_up_records(view, records_len_max(count));
        let record_len = self.records.len().checked_div(found);
        self.fit = record_len.and_then(|len| RECORDS_LEN_MAX.checked_div(len));
        self.rows.len()
    }

    /// Passes rows that bring their records, when so many are wanted: how many there were. A record that has not come is looked up when its row's turn comes.
    pub(super) fn pass_with_records(
        &mut self,
        rows: &mut RangeRows,
        count: usize,
        record_prefix: &[u8],
    ) -> usize {
        let count = count.min(ROWS_FIRST);
        self.pass_rows(rows, count, record_prefix, |ahead, rows| {
            ahead.take_record(rows.record());
            ahead.records.len() < records_len_max(count)
        });
        self.rows.len()
    }

    /// Passes so many rows at most, as long as `has_room` after each.
    fn pass_rows(
        &mut self,
        rows: &mut RangeRows,
        count: usize,
        record_prefix: &[u8],
        has_room: impl Fn(&mut Self, &RangeRows) -> bool,
    ) {
        self.clear();
        let keys_len_max = (count * KEYS_LEN_FEW).min(KEYS_LEN_MAX);
        let len_bytes = |rows: &Self| rows.keys.len_bytes() + rows.record_keys.len_bytes();
        while self.rows.len() < count && len_bytes(self) < keys_len_max {
            let met = rows.move_on().and_then(|()| match rows.settle()? {
                Some(row) => Ok(Some((row.key, IndexRow::read(row)?))),
                None => Ok(None),
            });
            match met {
                Ok(Some((key, row))) => self.push(key, row, record_prefix),
                Ok(None) => break,
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
            if !has_room(self, rows) {
                break;
            }
        }
        self.passed += self.rows.len();
    }

    /// How many rows are passed at once.
    fn count_at_once(&self, view: &View, count: usize, rows_max: usize) -> usize {
        let together = view.lookups_together().min(self.fit.unwrap_or(usize::MAX));
        let rows_max = rows_max.min(ROWS_MAX).min(together.max(ROWS_FEW));
        count.min(ROWS_FIRST).max(self.passed).min(rows_max)
    }

    /// Looks up the records, up to so many bytes: how many.
    fn look_up_records(&mut self, view: &View, records_len_max: usize) -> usize {
        let (rows, records) = (&mut self.rows, &mut self.records);
        let mut found = 0;
        view.multi_get(&self.record_keys, |n, record| {
            // An error comes again in its row's place.
            if let (Some(row), Ok(record)) = (rows.get_mut(n), record) {
                found += 1;
                let start = records.len();
                records.extend_from_slice(record.unwrap_or_default());
                row.record = Some(record.map(|_| start..records.len()));
            }
            match records.len() < records_len_max {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        found
    }

    /// Keeps the record's row that has come with the last row, if it has.
    fn take_record(&mut self, record: Option<&[u8]>) {
        if let (Some(row), Some(record)) = (self.rows.last_mut(), record) {
            let start = self.records.len();
            self.records.extend_from_slice(record);
            row.record = Some(Some(start..self.records.len()));
        }
    }

    #[inline]
    fn push(&mut self, key: &[u8], row: IndexRow<'_>, record_prefix: &[u8]) {
        self.keys.push(key, |_| ());
        self.record_keys
            .push(record_prefix, |out| row.primary_key.encode(out));
        self.rows.push(Passed {
            index_key_len: row.index_key_len,
            version: row.version,
            has_two_forms: has_two_forms(row.primary_key),
            record: None,
        });
    }

    /// To the next row; `false` if none is left.
    ///
    /// # Errors
    /// What came in place of it.
    #[inline]
    pub(super) fn next(&mut self) -> Result<bool> {
        self.is_on_row = self.handed_out < self.rows.len();
        self.handed_out += usize::from(self.is_on_row);
        match self.error.take_if(|_| !self.is_on_row) {
            Some(error) => Err(error),
            None => Ok(self.is_on_row),
        }
    }

    /// The number of the row that the cursor stands on, if it stands on one.
    #[inline]
    fn here(&self) -> Option<usize> {
        match self.is_on_row {
            true => self.handed_out.checked_sub(1),
            false => None,
        }
    }

    /// The keys of the index row and of its record's row, if the cursor stands on a row.
    #[inline]
    pub(super) fn keys(&self) -> Option<(&[u8], &[u8])> {
        let n = self.here()?;
        Some((self.keys.get(n), self.record_keys.get(n)))
    }

    /// The length of the index key, and the version.
    #[inline]
    pub(super) fn entry(&self) -> Option<(usize, RecordVersion)> {
        let row = self.rows.get(self.here()?)?;
        Some((row.index_key_len, row.version))
    }

    /// The record's row, or `None` in its place if there is none; `None` if the view has to be asked.
    #[inline]
    pub(super) fn record(&self) -> Option<Option<&[u8]>> {
        let row = self.rows.get(self.here()?)?;
        let place = row.record.as_ref().filter(|_| !row.has_two_forms)?;
        Some(place.clone().and_then(|place| self.records.get(place)))
    }
}
