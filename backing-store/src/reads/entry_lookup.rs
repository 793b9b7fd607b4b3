//! The first live record under an index key.
//!
//! Other than cursors, a look-up judges an index row by the exists row of its primary key, as Chromium does: cheaper,
//! and the same in every store whose data and exists rows agree. Where a row is known to be live (decision 41), it asks none.

use std::borrow::Borrow;
use std::cmp::Ordering;

use larder_codec::compare::compare_user_keys;
use larder_codec::row_key::RecordTable;
use larder_codec::versioned::ExistsRow;
use larder_codec::{Key, KeyPrefix, RawKey, range};

use super::{Liveness, Reads, get_row, record_row_prefix};
use crate::cursor::{OnStale, decode_value};
use crate::error::{Error, Result};
use crate::row_keys::RowKeys;
use crate::row_source::FirstRow;
use crate::staleness::IndexPlace;
use crate::view::{View, ViewIter};

/// Looks up keys of one index, any number of them one after the other.
#[derive(Debug)]
pub(crate) struct EntryLookup {
    view: View,
    liveness: Liveness,
    iter: ViewIter,
    prefix: Vec<u8>,
    exists_prefix: Vec<u8>,
    /// The key that is sought or read.
    key: Vec<u8>,
    exists: Vec<u8>,
}

impl EntryLookup {
    pub(crate) fn new(reads: &Reads, place: IndexPlace) -> Self {
        let (database_id, object_store_id, index_id) = place;
        let view = reads.view();
        let mut prefix = Vec::new();
        KeyPrefix::of_index(database_id, object_store_id, index_id).encode(&mut prefix);
        let low = range::index_entries_low(database_id, object_store_id, index_id);
        let high = range::index_entries_high(database_id, object_store_id, index_id);
        Self {
            view: view.clone(),
            liveness: Liveness::new(reads, place),
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

    /// The first rows under many index keys, as [`ViewIter::multi_seek`] calls `found` with them; and what is known of rows.
    pub(super) fn first_rows<K: Borrow<Key>>(
        &mut self,
        index_keys: &[K],
        mut found: impl FnMut(usize, Result<Option<FirstRow<'_>>>, &mut Liveness),
    ) {
        let mut names = RowKeys::with_capacity(index_keys.len());
        for index_key in index_keys {
            names.push(&self.prefix, |out| index_key.borrow().encode(out));
        }
        let liveness = &mut self.liveness;
        self.iter
            .multi_seek(&names, &mut |n, row| found(n, row, liveness));
    }

    fn is_live(&mut self) -> Result<bool> {
        let row = decode_value(self.iter.key(), self.iter.value()?)?;
        if self.liveness.is_certain(row.version) {
            return Ok(true);
        }
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
