//! Reads that remove the stale index rows they meet, as every read through an index does in a transaction that writes.
//! They stand before those of [`crate::Reads`] that leave the rows alone and show the same.

use std::borrow::Borrow;

use larder_codec::{IndexId, Key, ObjectStoreId};

use crate::cursor::{CursorDirection, IndexCursor, Movement, Page, PageLimits};
use crate::error::Result;
use crate::key_range::KeyRange;
use crate::reads::{FoundRecord, IndexLookup};
use crate::record::Record;
use crate::transaction::WriteTransaction;

impl WriteTransaction {
    /// Moves a cursor over an index; as [`IndexCursor::go`].
    ///
    /// # Errors
    /// As [`IndexCursor::go`]; if a stale row cannot be removed.
    pub fn go(&mut self, cursor: &mut IndexCursor, movement: Movement<'_>) -> Result<bool> {
        cursor.go_with(movement, Some(&mut |row_key| self.delete_row(row_key)))
    }

    /// Moves a cursor over an index through a page; as [`IndexCursor::fill`].
    ///
    /// # Errors
    /// As [`IndexCursor::fill`]; if a stale row cannot be removed.
    pub fn fill(
        &mut self,
        cursor: &mut IndexCursor,
        page: &mut Page,
        limits: PageLimits,
    ) -> Result<bool> {
        let mut on_stale = |row_key: &[u8]| self.delete_row(row_key);
        cursor.fill_with(page, limits, Some(&mut on_stale))
    }

    /// Reads the first record that an index has under a key in the range; as
    /// [`Reads::get_by_index`](crate::Reads::get_by_index).
    ///
    /// # Errors
    /// As there; if a stale row cannot be removed.
    pub fn get_by_index(
        &mut self,
        object_store_id: ObjectStoreId,
        index_id: IndexId,
        range: &KeyRange<'_>,
        record: &mut Record,
    ) -> Result<bool> {
        let database_id = self.scope().database_id();
        let mut lookup = self.index_lookup(database_id, object_store_id, index_id);
        self.get_with(&mut lookup, range, record)
    }

    /// Reads the first record that an index has under a key in the range; as [`IndexLookup::get`].
    ///
    /// # Errors
    /// As there; if a stale row cannot be removed.
    pub fn get_with(
        &mut self,
        lookup: &mut IndexLookup,
        range: &KeyRange<'_>,
        record: &mut Record,
    ) -> Result<bool> {
        lookup.get_with(range, record, &mut |row_key| self.delete_row(row_key))
    }

    /// Reads the first record that the index has under each of these keys; as [`IndexLookup::multi_get`].
    pub fn multi_get_with<K: Borrow<Key>>(
        &mut self,
        lookup: &mut IndexLookup,
        index_keys: &[K],
        found: impl FnMut(usize, Result<Option<FoundRecord<'_>>>),
    ) {
        lookup.multi_get_with(index_keys, &mut |row_key| self.delete_row(row_key), found);
    }

    /// How many live entries an index has under keys in the range; as
    /// [`Reads::count_by_index`](crate::Reads::count_by_index).
    ///
    /// # Errors
    /// As there; if a stale row cannot be removed.
    pub fn count_by_index(
        &mut self,
        object_store_id: ObjectStoreId,
        index_id: IndexId,
        range: &KeyRange<'_>,
    ) -> Result<u64> {
        let database_id = self.scope().database_id();
        let direction = CursorDirection::Next;
        let mut cursor =
            self.index_keys_in(database_id, object_store_id, index_id, range, direction);
        let mut count = 0;
        while self.go(&mut cursor, Movement::Next)? {
            count += 1;
        }
        Ok(count)
    }
}
