//! Every operation that reads, over one consistent view of the rows.
//!
//! A store opened for reading, a transaction that reads and one that writes all have one of these, so there is one
//! implementation of each read.

mod entry_lookup;
mod exists;
mod index_lookup;
mod liveness;
mod multi_get;
mod point;
mod records;
mod rows;

use std::sync::Arc;

use larder_codec::primitive::int;
use larder_codec::row_key::{ObjectStoreField, ObjectStoreMetadataKey, RecordKey, RecordTable};
use larder_codec::versioned::DataRow;
use larder_codec::{
    DataVersion, DatabaseId, IndexId, JsString, Key, KeyPrefix, ObjectStoreId, RawKey,
    RecordVersion, feed, range,
};
use larder_leveldb::storage::FileSystem;

use crate::cursor::{CursorDirection, IndexCursor, RecordCursor};
use crate::error::{Error, Result};
use crate::key_range::KeyRange;
use crate::layout::StorePaths;
use crate::metadata::{
    DatabaseMetadata, DatabaseName, NamedIds, ObjectStoreMetadata, object_store_named,
    read_database, read_database_names, read_database_version, read_databases, read_object_stores,
    read_version,
};
use crate::staleness::IndexFacts;
use crate::view::View;

pub(crate) use entry_lookup::EntryLookup;
pub(crate) use exists::ExistsCheck;
pub use index_lookup::IndexLookup;
pub(crate) use liveness::Liveness;
pub use multi_get::FoundRecord;
pub(crate) use point::{get_row, has_two_forms};
pub use rows::StoreRows;

/// A key generator that has reached this is used up (2^53).
pub const KEY_GENERATOR_MAX: i64 = 1 << 53;

/// What reading needs of the store besides its rows.
#[derive(Debug)]
pub(crate) struct StoreContext {
    pub(crate) fs: Arc<dyn FileSystem>,
    pub(crate) paths: StorePaths,
    pub(crate) schema_version: Option<i64>,
    pub(crate) data_version: Option<DataVersion>,
    /// Whether damage may have taken newer writes, so that older rows may show.
    pub(crate) lost_writes: bool,
    pub(crate) named_ids: NamedIds,
    /// What is known of indexes: of a store that is open for reading nothing.
    pub(crate) index_facts: IndexFacts,
}

/// The reading operations. [`crate::Store`] derefs to them.
#[derive(Debug, Clone)]
pub struct Reads {
    view: View,
    context: Arc<StoreContext>,
    /// For each index row its record's row is asked: the naive twin of the tests.
    #[cfg(test)]
    asks_always: bool,
}

impl Reads {
    pub(crate) fn new(view: View, context: Arc<StoreContext>) -> Self {
        Self {
            view,
            context,
            #[cfg(test)]
            asks_always: false,
        }
    }

    /// Reads what these do, and asks for each index row its record's row.
    #[cfg(test)]
    pub(crate) fn naive(&self) -> Self {
        Self {
            asks_always: true,
            ..self.clone()
        }
    }

    #[cfg(test)]
    pub(crate) fn is_naive(&self) -> bool {
        self.asks_always
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// Where the store lies.
    #[must_use]
    pub fn paths(&self) -> &StorePaths {
        &self.context.paths
    }

    /// The file system it lies in.
    #[must_use]
    pub fn fs(&self) -> &Arc<dyn FileSystem> {
        &self.context.fs
    }

    /// The schema version: 3 to 5 in stores that Chromium still opens; `None` in an empty store.
    #[must_use]
    pub fn schema_version(&self) -> Option<i64> {
        self.context.schema_version
    }

    /// The versions of the value formats.
    #[must_use]
    pub fn data_version(&self) -> Option<DataVersion> {
        self.context.data_version
    }

    /// All databases with their object stores and indexes, in the order of their names. Rows that could not be read
    /// go to `problems`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io), or [`ErrorKind::Corruption`](crate::ErrorKind::Corruption) if damage is
    /// an error.
    pub fn databases(&self, problems: &mut Vec<Error>) -> Result<Vec<DatabaseMetadata>> {
        read_databases(&self.view, problems)
    }

    /// The names of all databases, in their order, without what is in them. Rows that could not be read go to `problems`, and so
    /// do two databases of one id.
    ///
    /// # Errors
    /// As [`Reads::databases`].
    pub fn database_names(&self, problems: &mut Vec<Error>) -> Result<Vec<DatabaseName>> {
        read_database_names(&self.view, problems)
    }

    /// The database of this origin (as its name row has it: `https_example.com_0@1`) and name. Rows that could not be
    /// read go to `problems`.
    ///
    /// # Errors
    /// As [`Reads::databases`].
    pub fn database(
        &self,
        origin: &JsString,
        name: &JsString,
        problems: &mut Vec<Error>,
    ) -> Result<Option<DatabaseMetadata>> {
        let named_ids = &self.context.named_ids;
        read_database(&self.view, named_ids, origin, name, problems)
    }

    /// The version of the database of this origin and name, which is all that deleting a damaged database needs: 0 if
    /// no version change has ever been committed or it cannot be read, which goes to `problems`; `None` if there is no
    /// such database.
    ///
    /// # Errors
    /// As [`Reads::databases`].
    pub fn database_version(
        &self,
        origin: &JsString,
        name: &JsString,
        problems: &mut Vec<Error>,
    ) -> Result<Option<i64>> {
        read_database_version(&self.view, origin, name, problems)
    }

    /// The object stores of a database with their indexes, in the order of their ids. Rows that could not be read go to
    /// `problems`.
    ///
    /// # Errors
    /// As [`Reads::databases`].
    pub fn object_stores(
        &self,
        database_id: DatabaseId,
        problems: &mut Vec<Error>,
    ) -> Result<Vec<ObjectStoreMetadata>> {
        read_object_stores(&self.view, database_id, problems)
    }

    /// The version of a database; `None` while no version change has ever been committed. If it cannot be read, that goes
    /// to `problems`.
    ///
    /// # Errors
    /// As [`Reads::databases`].
    pub fn version(
        &self,
        database_id: DatabaseId,
        problems: &mut Vec<Error>,
    ) -> Result<Option<i64>> {
        read_version(&self.view, database_id, problems)
    }

    /// A cursor over all of an object store's records.
    #[must_use]
    pub fn records(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        direction: CursorDirection,
    ) -> RecordCursor {
        self.records_in(database_id, object_store_id, &KeyRange::ALL, direction)
    }

    /// A cursor over the records with primary keys in a range.
    #[must_use]
    pub fn records_in(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        range: &KeyRange<'_>,
        direction: CursorDirection,
    ) -> RecordCursor {
        RecordCursor::new(self, database_id, object_store_id, range, direction)
    }

    /// A cursor over all of an index's live entries.
    #[must_use]
    pub fn index_entries(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        index_id: IndexId,
        direction: CursorDirection,
    ) -> IndexCursor {
        let range = KeyRange::ALL;
        self.index_entries_in(database_id, object_store_id, index_id, &range, direction)
    }

    /// A cursor over an index's live entries with index keys in a range.
    #[must_use]
    pub fn index_entries_in(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        index_id: IndexId,
        range: &KeyRange<'_>,
        direction: CursorDirection,
    ) -> IndexCursor {
        IndexCursor::new(
            self,
            database_id,
            object_store_id,
            index_id,
            range,
            direction,
            false,
        )
    }

    /// The keys of the records in a range, without the values. Values are not read, so large records cost no more than
    /// small ones.
    #[must_use]
    pub fn keys_in(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        range: &KeyRange<'_>,
        direction: CursorDirection,
    ) -> RecordCursor {
        let table = match self.is_history(database_id, object_store_id) {
            true => RecordTable::Data,
            false => RecordTable::Exists,
        };
        let place = (database_id, object_store_id);
        self.keys_in_table(table, place, range, direction)
    }

    /// What [`keys_in`](Self::keys_in) gives, for a caller that has the object store's name: the keys are in the exists rows, but of
    /// the [history](larder_codec::feed::is_history) in the data rows.
    #[must_use]
    pub fn keys_in_table(
        &self,
        table: RecordTable,
        (database_id, object_store_id): (DatabaseId, ObjectStoreId),
        range: &KeyRange<'_>,
        direction: CursorDirection,
    ) -> RecordCursor {
        match table {
            RecordTable::Exists => {
                RecordCursor::over_keys(self, database_id, object_store_id, range, direction)
            }
            _ => RecordCursor::new(self, database_id, object_store_id, range, direction),
        }
    }

    /// Whether an object store is the history of the database's change feed, whose records need not have exists rows.
    pub(super) fn is_history(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
    ) -> bool {
        let history = object_store_named(&self.view, database_id, feed::HISTORY);
        // Data rows are right for any object store.
        history.map_or(true, |history| history == Some(object_store_id))
    }

    /// The index keys and primary keys in a range, without the values. Values are not read, so large records cost no
    /// more than small ones. Whether a row is live is decided by the records' exists rows.
    #[must_use]
    pub fn index_keys_in(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        index_id: IndexId,
        range: &KeyRange<'_>,
        direction: CursorDirection,
    ) -> IndexCursor {
        let keys_only = !self.context.lost_writes;
        IndexCursor::new(
            self,
            database_id,
            object_store_id,
            index_id,
            range,
            direction,
            keys_only,
        )
    }

    /// Whether any record of the object store has external objects.
    ///
    /// # Errors
    /// If the rows cannot be read.
    pub fn has_external_objects(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
    ) -> Result<bool> {
        let table = RecordTable::ExternalObject;
        // Mostly there are none, and whatever lies behind.
        let end = range::table_high(database_id, object_store_id, table);
        let mut iter = self.view.iter_before(&end);
        iter.seek(&range::table_low(database_id, object_store_id, table))?;
        let prefix = record_row_prefix(database_id, object_store_id, table);
        Ok(iter.key().starts_with(&prefix))
    }

    /// The number the object store's key generator would give next. It is used up when this is above
    /// [`KEY_GENERATOR_MAX`].
    ///
    /// Without a stored number it is one more than the greatest number key, rounded down.
    ///
    /// # Errors
    /// If the rows it depends on cannot be read.
    pub fn key_generator(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
    ) -> Result<i64> {
        let mut key = Vec::new();
        ObjectStoreMetadataKey {
            database_id,
            object_store_id,
            field: ObjectStoreField::KeyGenerator,
        }
        .encode(&mut key);
        match self.view.get(&key)? {
            Some(value) if !value.is_empty() => {
                int::decode_exact(&value).map_err(|error| Error::row(&key, "key generator", error))
            }
            _ => self.key_generator_from_data(database_id, object_store_id),
        }
    }

    fn key_generator_from_data(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
    ) -> Result<i64> {
        let prefix = record_row_prefix(database_id, object_store_id, RecordTable::Data);
        // Numbers sort first and dates next, so the greatest number stands before the least date.
        let mut least_date = prefix.clone();
        Key::Date(f64::NEG_INFINITY).encode(&mut least_date);
        let mut iter = self.view.iter_near(&prefix, &least_date);
        iter.seek_for_prev(&least_date)?;
        let key = iter.key();
        let Some(Key::Number(greatest)) = key
            .strip_prefix(&*prefix)
            .and_then(|key| Key::decode_exact(key).ok())
        else {
            return Ok(1);
        };
        Ok(generator_after(greatest.max(0.0)))
    }

    /// Whether an index row is live: whether the data row of its primary key has its version.
    ///
    /// # Errors
    /// If the data row cannot be read.
    pub fn is_live(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        primary_key: RawKey<'_>,
        version: RecordVersion,
    ) -> Result<bool> {
        let mut key = Vec::new();
        RecordKey {
            database_id,
            object_store_id,
            table: RecordTable::Data,
            key: primary_key,
        }
        .encode(&mut key);
        let mut value = Vec::new();
        if !get_row(&self.view, &key, primary_key, &mut value)? {
            return Ok(false);
        }
        let row = DataRow::decode_exact(&value)
            .map_err(|error| Error::row(&key, "record row with an undecodable version", error))?;
        Ok(row.version == version)
    }

    /// Whether data rows are to be doubted; see [`ExistsCheck`].
    pub(crate) fn exists_check(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
    ) -> Option<ExistsCheck> {
        // Under a key of the history there is never another value, so none can be an older one.
        let is_doubted = self.context.lost_writes && !self.is_history(database_id, object_store_id);
        is_doubted.then(|| ExistsCheck::new(self.view.clone(), database_id, object_store_id))
    }
}

/// What a key generator that has given or seen this number gives next.
#[expect(
    clippy::cast_possible_truncation,
    reason = "clamped to what an i64 holds exactly"
)]
pub(crate) fn generator_after(number: f64) -> i64 {
    let max = KEY_GENERATOR_MAX as f64;
    number.floor().clamp(-max, max) as i64 + 1
}

/// The prefix of one of an object store's tables.
pub(crate) fn record_row_prefix(
    database_id: DatabaseId,
    object_store_id: ObjectStoreId,
    table: RecordTable,
) -> Vec<u8> {
    let mut prefix = Vec::new();
    KeyPrefix::of_object_store(database_id, object_store_id, table.index_number())
        .encode(&mut prefix);
    prefix
}
