//! Records by key, by range, through an index, many at a time; counts.

use larder_codec::row_key::RecordTable;
use larder_codec::versioned::ExistsRow;
use larder_codec::{DatabaseId, IndexId, KeyPrefix, ObjectStoreId, RawKey, RecordVersion};

use super::{IndexLookup, Reads, get_row, record_row_prefix};
use crate::cursor::{CursorDirection, Page};
use crate::error::{Error, Result};
use crate::key_range::KeyRange;
use crate::record::Record;

impl Reads {
    /// Reads the record with this primary key; whether there is one.
    ///
    /// # Errors
    /// If its row cannot be read.
    pub fn get(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        primary_key: RawKey<'_>,
        record: &mut Record,
    ) -> Result<bool> {
        record.clear();
        record.row_key.clear();
        let index = RecordTable::Data.index_number();
        KeyPrefix::of_object_store(database_id, object_store_id, index).encode(&mut record.row_key);
        record.key_start = record.row_key.len();
        primary_key.encode(&mut record.row_key);
        if !get_row(&self.view, &record.row_key, primary_key, &mut record.row)? {
            return Ok(false);
        }
        let version = record.decode()?;
        if let Some(mut check) = self.exists_check(database_id, object_store_id) {
            let checked = check.check(&record.row_key, primary_key, version);
            if let Err(error) = checked {
                record.clear();
                return Err(error);
            }
        }
        Ok(true)
    }

    /// The version of the record with this primary key, if there is one. Its value is not read but where it has no exists row, as in the
    /// history of a change feed.
    ///
    /// # Errors
    /// If its exists row cannot be read.
    pub fn record_version(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        primary_key: RawKey<'_>,
    ) -> Result<Option<RecordVersion>> {
        let mut key = record_row_prefix(database_id, object_store_id, RecordTable::Exists);
        primary_key.encode(&mut key);
        let mut value = Vec::new();
        if get_row(&self.view, &key, primary_key, &mut value)? {
            let row = ExistsRow::decode_exact(&value);
            return row
                .map(|row| Some(row.version))
                .map_err(|error| Error::row(&key, "exists row", error));
        }
        if !self.is_history(database_id, object_store_id) {
            return Ok(None);
        }
        let mut record = Record::new();
        let is_there = self.get(database_id, object_store_id, primary_key, &mut record)?;
        Ok(record.version().filter(|_| is_there))
    }

    /// Reads the first record with a primary key in the range; whether there is one.
    ///
    /// # Errors
    /// If its row cannot be read.
    pub fn get_in(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        range: &KeyRange<'_>,
        record: &mut Record,
    ) -> Result<bool> {
        if let Some(key) = range.single().filter(|key| !has_zero(key.as_bytes())) {
            return self.get(database_id, object_store_id, key, record);
        }
        record.clear();
        let direction = CursorDirection::Next;
        let mut cursor = self.records_in(database_id, object_store_id, range, direction);
        if !cursor.next()? {
            return Ok(false);
        }
        record.row_key.clear();
        record.row_key.extend_from_slice(cursor.row_key());
        record.key_start = record_row_prefix(database_id, object_store_id, RecordTable::Data).len();
        record.row.extend_from_slice(cursor.row_value()?);
        record.decode()?;
        Ok(true)
    }

    /// Reads the first record that an index has under a key in the range; whether there is one.
    ///
    /// # Errors
    /// If a row in the way cannot be read.
    pub fn get_by_index(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        index_id: IndexId,
        range: &KeyRange<'_>,
        record: &mut Record,
    ) -> Result<bool> {
        self.index_lookup(database_id, object_store_id, index_id)
            .get(range, record)
    }

    /// A reader of records through an index, for many reads: [`Reads::get_by_index`] makes one for each.
    #[must_use]
    pub fn index_lookup(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        index_id: IndexId,
    ) -> IndexLookup {
        IndexLookup::new(self, (database_id, object_store_id, index_id))
    }

    /// Reads the first record of each range, in the order of the ranges, as [`Reads::get_in`] does for one. Each entry says which
    /// range it answers ([`crate::PageEntry::request`]); a range without records has no entry. `page` is emptied first.
    ///
    /// # Errors
    /// As [`Reads::get_in`].
    pub fn get_many<'a>(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        ranges: impl IntoIterator<Item = KeyRange<'a>>,
        page: &mut Page,
    ) -> Result<()> {
        page.clear();
        let mut record = Record::new();
        for (request, range) in ranges.into_iter().enumerate() {
            if self.get_in(database_id, object_store_id, &range, &mut record)? {
                page.push(
                    request,
                    None,
                    record.primary_key_bytes(),
                    record.version(),
                    record.value(),
                );
            }
        }
        Ok(())
    }

    /// How many records have primary keys in the range.
    ///
    /// # Errors
    /// If a row cannot be read.
    pub fn count(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        range: &KeyRange<'_>,
    ) -> Result<u64> {
        let mut cursor = self.keys_in(database_id, object_store_id, range, CursorDirection::Next);
        cursor.pass(u64::MAX)
    }

    /// How many live entries an index has under keys in the range.
    ///
    /// # Errors
    /// If a row cannot be read.
    pub fn count_by_index(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        index_id: IndexId,
        range: &KeyRange<'_>,
    ) -> Result<u64> {
        let direction = CursorDirection::Next;
        let mut cursor =
            self.index_keys_in(database_id, object_store_id, index_id, range, direction);
        let mut count = 0;
        while cursor.next()? {
            count += 1;
        }
        Ok(count)
    }
}

/// Whether there may be a 0 in a key. Then another key is equal to it, with -0 in that place, and a record found under this
/// one may have that one.
pub(super) fn has_zero(key: &[u8]) -> bool {
    let is_zero = |bytes: &[u8; 8]| f64::from_le_bytes(*bytes) == 0.0;
    // Eight bytes of text or binary may look the same: then the longer way is taken for nothing.
    key.windows(8)
        .any(|bytes| bytes.try_into().is_ok_and(is_zero))
}
