//! Deleting records: by key, by range, all.

use larder_codec::row_key::RecordTable;
use larder_codec::versioned::{DataRow, ExistsRow};
use larder_codec::{DatabaseId, ObjectStoreId, RawKey, compare, range};

use crate::cursor::CursorDirection;
use crate::error::Result;
use crate::key_range::KeyRange;
use crate::open_stores::{OpenStore, Tracking};
use crate::reads::{has_two_forms, record_row_prefix};
use crate::sync::locked;
use crate::transaction::WriteTransaction;

impl WriteTransaction {
    /// Deletes the records with primary keys in the range, and returns how many there were. Their index rows stay, and
    /// are stale from now on.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for an object store that is not there or not in the scope; if a
    /// row cannot be read or written.
    pub fn delete(&mut self, object_store_id: ObjectStoreId, range: &KeyRange<'_>) -> Result<u64> {
        let database_id = self.scope().database_id();
        self.with_store(object_store_id, |transaction, store| match range.single() {
            _ if transaction.is_in_feed(store) => {
                transaction.delete_tracked(database_id, store, range)
            }
            Some(key) if !has_two_forms(key) => transaction
                .delete_one(database_id, store, key)
                .map(u64::from),
            _ => transaction.delete_in(database_id, store, range),
        })
    }

    /// Deletes one record, if it is there; whether it was.
    pub(super) fn delete_one(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        key: RawKey<'_>,
    ) -> Result<bool> {
        if !self.delete_record_row(database_id, store, RecordTable::Data, key)? {
            return Ok(false);
        }
        let deleted = DataRow::decode_exact(&store.buffers.value).ok();
        let version = deleted.map(|row| row.version.get());
        self.track_deleted(database_id, store, version);
        self.delete_record_row(database_id, store, RecordTable::Exists, key)?;
        if store.has_external_objects {
            self.delete_record_row(database_id, store, RecordTable::ExternalObject, key)?;
        }
        Ok(true)
    }

    /// Deletes the row of a table that belongs to a record, if it is there; whether it was.
    fn delete_record_row(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        table: RecordTable,
        primary_key: RawKey<'_>,
    ) -> Result<bool> {
        let mut buffers = std::mem::take(&mut store.buffers);
        store.record_row(database_id, table, primary_key, &mut buffers.key);
        let deleted = self.delete_existing_row(&buffers.key, &mut buffers.value);
        store.buffers = buffers;
        deleted
    }

    /// Deletes from the first to the last record there is, as Chromium does: the tables are asked for no more than that.
    pub(super) fn delete_in(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        range: &KeyRange<'_>,
    ) -> Result<u64> {
        let mut first = self.records_in(database_id, store.id, range, CursorDirection::Next);
        if !first.next()? {
            return Ok(0);
        }
        let first = first.primary_key()?.as_bytes().to_vec();
        let last = if range.single().is_some() {
            first.clone()
        } else {
            let mut last = self.records_in(database_id, store.id, range, CursorDirection::Prev);
            // Between the two nothing can have gone.
            last.next()?;
            last.primary_key()?.as_bytes().to_vec()
        };
        let mut tables = vec![RecordTable::Data, RecordTable::Exists];
        if store.has_external_objects {
            tables.push(RecordTable::ExternalObject);
        }
        self.track_deleted_in(database_id, store, &first, &last)?;
        let mut count = 0;
        for table in tables {
            let prefix = record_row_prefix(database_id, store.id, table);
            let (begin, end) = ([&*prefix, &first].concat(), [&*prefix, &last].concat());
            self.note_deleted(&begin, &end);
            count += self.delete_rows_counting(&begin, &end, true, &store.data_prefix)?;
        }
        Ok(count)
    }

    /// Notes the versions of the records from a key to another.
    fn track_deleted_in(
        &self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        first: &[u8],
        last: &[u8],
    ) -> Result<()> {
        if !self.is_tracked(database_id, store) {
            return Ok(());
        }
        let prefix = record_row_prefix(database_id, store.id, RecordTable::Exists);
        let (begin, end) = ([&*prefix, first].concat(), [&*prefix, last].concat());
        let mut iter = self.view().iter_near(&begin, &end);
        iter.seek(&begin)?;
        while iter.valid() && compare(iter.key(), &end).is_le() {
            let row = ExistsRow::decode_exact(iter.value()?).ok();
            let version = row.map(|row| row.version.get());
            self.track_deleted(database_id, store, version);
            iter.next()?;
        }
        Ok(())
    }

    /// Deletes all records, with their index rows, and returns how many there were. The key generator goes on from
    /// where it is, and so do the records' versions.
    ///
    /// # Errors
    /// As [`WriteTransaction::delete`].
    pub fn clear(&mut self, object_store_id: ObjectStoreId) -> Result<u64> {
        let database_id = self.scope().database_id();
        self.with_store(object_store_id, |transaction, store| {
            let tracked = match transaction.is_in_feed(store) {
                true => transaction.delete_tracked(database_id, store, &KeyRange::ALL)?,
                false => 0,
            };
            let count = tracked + transaction.clear_rows(database_id, store.id)?;
            store.has_external_objects = false;
            store.tracking = Tracking::of_empty();
            let indexes = store.indexes.iter().map(|index| index.id);
            let facts = &mut locked(transaction.pending()).facts;
            facts.note_cleared(store.id, indexes);
            Ok(count)
        })
    }

    /// Deletes all rows of an object store that are not metadata, and returns how many records there were.
    pub(super) fn clear_rows(
        &mut self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
    ) -> Result<u64> {
        let low = range::object_store_rows_low(database_id, object_store_id);
        let end = range::object_store_rows_end(database_id, object_store_id);
        let records = record_row_prefix(database_id, object_store_id, RecordTable::Data);
        self.note_deleted(&low, &end);
        self.delete_rows_counting(&low, &end, false, &records)
    }

    /// Deletes the row that lists a record's external objects, if there is one.
    pub(super) fn delete_external_objects(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        primary_key: RawKey<'_>,
    ) -> Result<()> {
        let table = RecordTable::ExternalObject;
        if !has_two_forms(primary_key) {
            return self
                .delete_record_row(database_id, store, table, primary_key)
                .map(drop);
        }
        let mut key = std::mem::take(&mut store.buffers.key);
        store.record_row(database_id, table, primary_key, &mut key);
        let deleted = self.delete_rows(&key, &key, true);
        store.buffers.key = key;
        deleted
    }
}
