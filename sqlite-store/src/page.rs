//! Rows that were read together, in memory of one piece.

use std::ops::Range;

use crate::notes::ExactKeys;

/// A page keeps no more memory than that for the next rows.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// The rows.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// Keys and values.
    bytes: Vec<u8>,
    rows: Vec<Place>,
    /// No more lie behind them.
    pub(crate) is_last: bool,
}

/// Where a row's parts lie in the memory.
#[derive(Debug)]
struct Place {
    key: Range<usize>,
    record_key: Range<usize>,
    row_id: i64,
    exact: Option<Box<ExactKeys>>,
    value: Option<Range<usize>>,
}

/// A row of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'a> {
    /// Sortable.
    pub(crate) key: &'a [u8],
    /// In an index, the record's key; else empty.
    pub(crate) record_key: &'a [u8],
    /// The row of the record.
    pub(crate) row_id: i64,
    /// The keys in LevelDB's coding, where a note says that there is -0 in them.
    pub(crate) exact: Option<&'a ExactKeys>,
    /// What LevelDB's data row of the record has, or in an index the one of the record that the entry leads to, if it was read with the key and can be unpacked.
    pub(crate) value: Option<&'a [u8]>,
}

impl<'a> Found<'a> {
    /// What the order of rows goes by.
    pub(crate) fn keys(&self) -> (&'a [u8], &'a [u8]) {
        (self.key, self.record_key)
    }
}

impl Page {
    /// Removes all rows.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES_MAX);
        self.is_last = false;
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many bytes its rows have.
    pub(crate) fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The `n`th row, from 0.
    pub(crate) fn row(&self, n: usize) -> Option<Found<'_>> {
        let place = self.rows.get(n)?;
        Some(Found {
            key: self.part(&place.key),
            record_key: self.part(&place.record_key),
            row_id: place.row_id,
            exact: place.exact.as_deref(),
            value: place.value.as_ref().map(|value| self.part(value)),
        })
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = Found<'_>> {
        (0..self.len()).filter_map(|n| self.row(n))
    }

    fn part(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// Adds a row without its value.
    pub(crate) fn push(&mut self, key: &[u8], record_key: &[u8], row_id: i64) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(record_key);
        self.rows.push(Place {
            key: start..middle,
            record_key: middle..self.bytes.len(),
            row_id,
            exact: None,
            value: None,
        });
    }

    /// The last row has the value that `append` appends, if it does.
    pub(crate) fn push_value<E>(&mut self, append: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) {
        let start = self.bytes.len();
        match (append(&mut self.bytes), self.rows.last_mut()) {
            (Ok(()), Some(row)) => row.value = Some(start..self.bytes.len()),
            _ => self.bytes.truncate(start),
        }
    }

    /// The `n`th row has these keys in LevelDB's coding, if there is a note of it.
    pub(crate) fn set_exact(&mut self, n: usize, exact: Option<ExactKeys>) {
        if let Some(row) = self.rows.get_mut(n) {
            row.exact = exact.map(Box::new);
        }
    }

    /// Adds a row of another page, without its value.
    pub(crate) fn push_keys_of(&mut self, found: Found<'_>) {
        self.push(found.key, found.record_key, found.row_id);
        self.set_exact(self.len().saturating_sub(1), found.exact.cloned());
    }

    /// Turns the order of rows round.
    pub(crate) fn reverse(&mut self) {
        self.rows.reverse();
    }
}
