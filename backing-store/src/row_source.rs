//! The seam below reading: rows in the coding of Chromium's LevelDB store, wherever they lie.

use std::fmt;

use larder_codec::{KeyPrefix, compare};

use crate::error::Result;

/// A store's rows as of one moment, in Chromium's order: what [`Store::of_rows`](crate::Store::of_rows) reads.
///
/// LevelDB has such rows as they are. Another form of store gives its data in their terms: metadata, data, exists and external
/// object rows, and index rows of which none is stale. It lends what is below, and nothing else: neither sequence numbers nor files.
pub trait RowSource: fmt::Debug + Send + Sync {
    /// A cursor that stands on no row.
    fn iter(&self) -> Box<dyn RowIter>;

    /// The value of a row, into the caller's buffer; whether there is one.
    ///
    /// # Errors
    /// If the row cannot be read.
    fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let mut iter = self.iter();
        iter.seek(key)?;
        if !iter.valid() || compare(iter.key(), key).is_ne() {
            return Ok(false);
        }
        value.clear();
        value.extend_from_slice(iter.value());
        Ok(true)
    }
}

/// A cursor over a [`RowSource`].
///
/// A move that fails leaves it on no row. One in the same direction then goes on behind what could not be read.
pub trait RowIter: fmt::Debug + Send {
    /// To the first row at or behind `key`.
    ///
    /// # Errors
    /// If a row cannot be read.
    fn seek(&mut self, key: &[u8]) -> Result<()>;
    /// To the last row at or before `key`.
    ///
    /// # Errors
    /// If a row cannot be read.
    fn seek_for_prev(&mut self, key: &[u8]) -> Result<()>;
    /// To the next row.
    ///
    /// # Errors
    /// If a row cannot be read.
    fn next(&mut self) -> Result<()>;
    /// To the row before.
    ///
    /// # Errors
    /// If a row cannot be read.
    fn prev(&mut self) -> Result<()>;
    /// Whether it stands on a row.
    fn valid(&self) -> bool;
    /// The row's key; empty when not on a row.
    fn key(&self) -> &[u8];
    /// The row's value; empty when not on a row.
    fn value(&self) -> &[u8];

    /// Entries of indexes are wanted with their records from now on. A source that has both together brings them ([`record`](Self::record)).
    fn bring_records(&mut self) {}

    /// The value of the data row that this row of an index leads to, if it came with it: what a get of that row gives. `None`: it has to be asked.
    fn record(&self) -> Option<&[u8]> {
        None
    }
}

/// Whether a row belongs to a record: neither to the store's metadata nor to a database's.
pub(crate) fn is_of_records(key: &[u8]) -> bool {
    match key {
        // Ids of a byte each, as nearly all are.
        [0, database, store, _, ..] => *database != 0 && *store != 0,
        _ => KeyPrefix::decode(key)
            .is_ok_and(|(prefix, _)| prefix.database != 0 && prefix.object_store != 0),
    }
}
