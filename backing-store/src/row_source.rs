//! The seam below reading: rows in the coding of Chromium's LevelDB store, wherever they lie.

use std::fmt;
use std::ops::ControlFlow;

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

    /// The values of many rows, whose keys may come in any order and more than once: calls `found` once for each, in any order, with its number, from 0, and what
    /// [`get_into`](Self::get_into) gives, until it breaks. `found` may ask the source.
    fn multi_get(&self, keys: &mut dyn Iterator<Item = &[u8]>, found: OnRow<'_>) {
        let mut value = Vec::new();
        for (n, key) in keys.enumerate() {
            let is_there = self.get_into(key, &mut value);
            if found(n, is_there.map(|is_there| is_there.then_some(&*value))).is_break() {
                return;
            }
        }
    }
}

/// Gets what many keys lead to.
pub type OnRow<'a> = &'a mut dyn FnMut(usize, Result<Option<&[u8]>>) -> ControlFlow<()>;

/// The first row under one of many keys: its value, and in an index the value of the data row that it leads to, if it came with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstRow<'a> {
    /// The row's value.
    pub value: &'a [u8],
    /// What [`RowIter::record`] gives of it.
    pub record: Option<&'a [u8]>,
}

/// Gets the first rows under many keys.
pub type OnFirstRow<'a> = &'a mut dyn FnMut(usize, Result<Option<FirstRow<'_>>>);

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

    /// To many keys that rows may begin with: calls `found` once for each, in any order, with its number, from 0, and the first row at or behind it, if that row's
    /// key begins with it. `found` may ask the source. Afterwards it stands anywhere.
    fn multi_seek(&mut self, prefixes: &mut dyn Iterator<Item = &[u8]>, found: OnFirstRow<'_>) {
        for (n, prefix) in prefixes.enumerate() {
            found(n, self.first_row(prefix));
        }
    }

    /// To the first row at or behind `prefix`: that row, if its key begins with it.
    ///
    /// # Errors
    /// If a row cannot be read.
    fn first_row(&mut self, prefix: &[u8]) -> Result<Option<FirstRow<'_>>> {
        self.seek(prefix)?;
        let is_of_it = self.valid() && self.key().starts_with(prefix);
        Ok(is_of_it.then(|| FirstRow {
            value: self.value(),
            record: self.record(),
        }))
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
