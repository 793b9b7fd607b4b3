//! The first live record under an index key.
//!
//! Other than cursors, a look-up judges an index row by the exists row of its primary key, as Chromium does: cheaper,
//! and the same in every store whose data and exists rows agree.

use std::cmp::Ordering;

use larder_codec::compare::compare_user_keys;
use larder_codec::row_key::RecordTable;
use larder_codec::versioned::ExistsRow;
use larder_codec::{DatabaseId, IndexId, Key, KeyPrefix, ObjectStoreId, RawKey, range};

use super::{get_row, record_row_prefix};
use crate::cursor::{OnStale, decode_value};
use crate::error::{Error, Result};
use crate::row_keys::RowKeys;
use crate::view::{View, ViewIter};

/// Looks up keys of one index, any number of them one after the other.
#[derive(Debug)]
pub(crate) struct EntryLookup {
    view: View,
    iter: ViewIter,
    prefix: Vec<u8>,
    exists_prefix: Vec<u8>,
    /// The key that is sought or read.
    key: Vec<u8>,
    exists: Vec<u8>,
}

impl EntryLookup {
    pub(crate) fn new(
        view: &View,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        index_id: IndexId,
    ) -> Self {
        let mut prefix = Vec::new();
        KeyPrefix::of_index(database_id, object_store_id, index_id).encode(&mut prefix);
        let low = range::index_entries_low(database_id, object_store_id, index_id);
        let high = range::index_entries_high(database_id, object_store_id, index_id);
        Self {
            view: view.clone(),
            iter: view.iter_near(&low, &high),
            prefix,
            exists_prefix: record_row_prefix(database_id, object_store_id, RecordTable::Exists),
            key: Vec::new(),
            exists: Vec::new(),
        }
    }

    /// The primary key of the first live record under `index_key`, borrowed until the next look-up. Stale rows before it
    /// are handed on.
    pub(crate) fn find(
        &mut self,
        index_key: RawKey<'_>,
        on_stale: OnStale<'_>,
    ) -> Result<Option<RawKey<'_>>> {
        self.key.clear();
        self.key.extend_from_slice(&self.prefix);
        index_key.encode(&mut self.key);
        self.iter.seek(&self.key)?;
        loop {
            let Some(tail) = self.iter.key().strip_prefix(&*self.prefix) else {
                return Ok(None);
            };
            if compare_user_keys(tail, index_key.as_bytes()) != Ordering::Equal {
                return Ok(None);
            }
            if self.is_live()? {
                break;
            }
            on_stale(self.iter.key())?;
            self.iter.next()?;
        }
        let row = decode_value(self.iter.key(), self.iter.value()?)?;
        Ok(Some(row.primary_key))
    }

    /// The values of the first rows under many index keys, as [`ViewIter::multi_seek`] calls `found` with them.
    pub(super) fn first_rows(
        &mut self,
        index_keys: &[Key],
        found: impl FnMut(usize, Result<Option<&[u8]>>),
    ) {
        let mut names = RowKeys::with_capacity(index_keys.len());
        for index_key in index_keys {
            names.push(&self.prefix, |out| index_key.encode(out));
        }
        self.iter.multi_seek(&names, found);
    }

    fn is_live(&mut self) -> Result<bool> {
        let row = decode_value(self.iter.key(), self.iter.value()?)?;
        self.key.clear();
        self.key.extend_from_slice(&self.exists_prefix);
        row.primary_key.encode(&mut self.key);
        if !get_row(&self.view, &self.key, row.primary_key, &mut self.exists)? {
            return Ok(false);
        }
        let exists = ExistsRow::decode_exact(&self.exists)
            .map_err(|error| Error::row(&self.key, "exists row", error))?;
        Ok(exists.version == row.version)
    }
}
