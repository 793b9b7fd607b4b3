//! Rows of an index that a cursor has passed, and whose entries it has yet to hand out.
//!
//! An entry is told from an index row and its record's row, which lies anywhere. Of several entries, the records' rows can be
//! loaded at once ([`LookAhead`]). Only of rows that nobody changes: of what is committed, as of one moment.

use larder_codec::{RawKey, RecordVersion};
use larder_leveldb::{LookAhead, Snapshot};

use super::range_rows::{RangeRows, Row};
use crate::error::{Error, Result};

/// Rows are not passed any more when their keys have so many bytes.
const KEYS_LEN_MAX: usize = 16 << 10;

/// The rows.
#[derive(Debug)]
pub(super) struct RowsAhead {
    lookups: LookAhead,
    /// Each row's key, and behind it that of its record's row.
    keys: Vec<u8>,
    rows: Vec<Passed>,
    /// So many have been handed out; the cursor stands on the last of them, if it stands on one.
    handed_out: usize,
    is_on_row: bool,
    /// What came instead of the row behind them.
    error: Option<Error>,
}

#[derive(Debug)]
struct Passed {
    start: usize,
    key_end: usize,
    end: usize,
    index_key_len: usize,
    version: RecordVersion,
}

/// What an index row tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexRow<'a> {
    pub(super) index_key_len: usize,
    pub(super) primary_key: RawKey<'a>,
    pub(super) version: RecordVersion,
}

impl RowsAhead {
    /// Of this snapshot's; `None` if there is nothing to be gained.
    pub(super) fn new(snapshot: &Snapshot) -> Option<Box<Self>> {
        Some(Box::new(Self {
            lookups: snapshot.look_ahead()?,
            keys: Vec::new(),
            rows: Vec::with_capacity(LookAhead::KEYS_MAX),
            handed_out: 0,
            is_on_row: false,
            error: None,
        }))
    }

    /// Whether the cursor stands on one of the rows.
    pub(super) const fn is_on_row(&self) -> bool {
        self.is_on_row
    }

    /// Whether nothing is left to be handed out.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.handed_out == self.rows.len() && self.error.is_none()
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.lookups.clear();
        self.keys.clear();
        self.rows.clear();
        self.handed_out = 0;
        self.is_on_row = false;
        self.error = None;
    }

    /// Passes rows, up to so many. `read` tells what one says; records' rows have this prefix.
    pub(super) fn pass(
        &mut self,
        rows: &mut RangeRows,
        count: usize,
        record_prefix: &[u8],
        read: impl for<'r> Fn(Row<'r>) -> Result<IndexRow<'r>>,
    ) {
        self.clear();
        while self.rows.len() < count.min(LookAhead::KEYS_MAX) && self.keys.len() < KEYS_LEN_MAX {
            let met = rows.move_on().and_then(|()| match rows.settle()? {
                Some(row) => Ok(Some((row.key, read(row)?))),
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
        }
        self.lookups.touch();
    }

    #[inline]
    fn push(&mut self, key: &[u8], row: IndexRow<'_>, record_prefix: &[u8]) {
        let start = self.keys.len();
        self.keys.extend_from_slice(key);
        let key_end = self.keys.len();
        self.keys.extend_from_slice(record_prefix);
        row.primary_key.encode(&mut self.keys);
        self.lookups.note(&self.keys[key_end..]);
        self.rows.push(Passed {
            start,
            key_end,
            end: self.keys.len(),
            index_key_len: row.index_key_len,
            version: row.version,
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

    #[inline]
    fn here(&self) -> Option<&Passed> {
        match self.is_on_row {
            true => self.rows.get(self.handed_out.wrapping_sub(1)),
            false => None,
        }
    }

    /// The keys of the index row and of its record's row, if the cursor stands on a row.
    #[inline]
    pub(super) fn keys(&self) -> Option<(&[u8], &[u8])> {
        let Passed {
            start,
            key_end,
            end,
            ..
        } = *self.here()?;
        Some((&self.keys[start..key_end], &self.keys[key_end..end]))
    }

    /// The length of the index key, and the version.
    #[inline]
    pub(super) fn told(&self) -> Option<(usize, RecordVersion)> {
        let row = self.here()?;
        Some((row.index_key_len, row.version))
    }

    /// Puts the value of the record's row into `value`, in place of what was there: whether there is one. `None` if the view has
    /// to be asked.
    #[inline]
    pub(super) fn record_into(&self, value: &mut Vec<u8>) -> Option<bool> {
        let (_, record_key) = self.keys()?;
        self.lookups
            .get_into(self.handed_out - 1, record_key, value)
    }
}
