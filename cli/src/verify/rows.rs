//! The walk over the rows as recovery leaves them: each row's key and value, each record's rows beside each other.

use std::collections::BTreeMap;

use larder_backing_store::{Error, SCHEMA_VERSION_MAX, StoreRows};
use larder_codec::row_key::{IndexDataKey, RecordKey, RecordTable};
use larder_codec::versioned::{DataRow, ExistsRow, IndexRow};
use larder_codec::{RowKey, RowValue};

use super::finding::Place;
use super::indexes::IndexSums;
use super::metadata::Numbers;
use super::records::Values;
use super::sum::Sum;
use super::{Check, Checker, FullIndexId, StoreId};

/// What the walk adds up of one object store.
struct OpenStore<'a> {
    id: StoreId,
    data: Sum,
    exists: Sum,
    /// The values' reader and the sums of the keys that indexes should have; none without metadata, and in a quick check.
    values: Option<Values<'a>>,
    indexes: BTreeMap<FullIndexId, IndexSums>,
}

impl<'a> Checker<'a> {
    /// Walks over all rows: what the metadata and the blobs must agree with.
    pub(super) fn rows(&mut self) -> Result<Numbers, Error> {
        let schema = self.store.schema_version().unwrap_or(SCHEMA_VERSION_MAX);
        let mut numbers = Numbers::default();
        let mut rows = self.store.rows();
        let mut open: Option<OpenStore<'a>> = None;
        // A second position, to look rows up.
        let mut lookup = self.store.rows();
        while rows.next()? {
            (self.tick)()?;
            self.verdict.counts.rows += 1;
            let key = rows.key();
            // The walk over all entries has named those that cannot be decoded.
            let Ok(row) = RowKey::decode_exact(key) else {
                continue;
            };
            let id = match &row {
                RowKey::Record(row) => Some((row.database_id, row.object_store_id)),
                RowKey::IndexData(row) => Some((row.database_id, row.object_store_id)),
                _ => None,
            };
            if open.as_ref().map(|store| store.id) != id {
                if let Some(before) = open.take() {
                    self.close(before)?;
                }
                open = id.map(|id| self.open(id, key));
            }
            let value = match rows.value() {
                Ok(value) => value,
                Err(error) => {
                    self.row(Check::Row, key, error);
                    continue;
                }
            };
            match (&row, &mut open) {
                (RowKey::Record(row), Some(store)) => {
                    self.record_row(key, row, value, store, &mut lookup, &mut numbers)?;
                }
                (RowKey::IndexData(row), Some(store)) => {
                    self.index_row(key, row, value, store, &numbers);
                }
                (RowKey::Unknown(_), _) => {
                    self.row(Check::Row, key, "a row of a kind that no Chromium writes");
                }
                (row, _) => match RowValue::decode_exact(row, value, schema) {
                    Ok(value) => numbers.take(row, &value),
                    Err(error) => self.row(Check::Row, key, format!("the value: {error}")),
                },
            }
        }
        if let Some(last) = open {
            self.close(last)?;
        }
        Ok(numbers)
    }

    fn open(&mut self, id: StoreId, key: &[u8]) -> OpenStore<'a> {
        let metadata = self.object_store(id.0, id.1);
        if metadata.is_none() {
            let place = Place::around_row(self.names.place(key));
            let what = match self.database(id.0) {
                Some(_) => "there are rows of an object store that the database does not have",
                None => "there are rows of a database that no name leads to",
            };
            self.fault(Check::Metadata, place, what);
        }
        let values = metadata
            .filter(|_| self.options.full)
            .map(|metadata| Values::new(self.store, id.0, metadata));
        OpenStore {
            id,
            data: Sum::default(),
            exists: Sum::default(),
            values,
            indexes: BTreeMap::new(),
        }
    }

    /// All rows of an object store have come.
    fn close(&mut self, store: OpenStore<'a>) -> Result<(), Error> {
        self.verdict.counts.records += store.data.count();
        if store.data != store.exists {
            self.compare_exists(store.id)?;
        }
        match store.values {
            Some(values) => self.compare_indexes(store.id, values, store.indexes),
            None => Ok(()),
        }
    }

    fn record_row(
        &mut self,
        row_key: &[u8],
        row: &RecordKey<'_>,
        value: &[u8],
        store: &mut OpenStore<'a>,
        lookup: &mut StoreRows,
        numbers: &mut Numbers,
    ) -> Result<(), Error> {
        let key = row.key.as_bytes();
        match row.table {
            RecordTable::Data => match DataRow::decode_exact(value) {
                Ok(data) => {
                    store.data.add(&[key], data.version.get());
                    numbers.record(store.id, data.version, row.key);
                    if let Some(values) = &mut store.values {
                        self.value(row_key, row.key, data, values);
                    }
                }
                Err(error) => self.row(Check::Row, row_key, format!("the record: {error}")),
            },
            RecordTable::Exists => match ExistsRow::decode_exact(value) {
                Ok(exists) => store.exists.add(&[key], exists.version.get()),
                Err(error) => self.row(Check::Row, row_key, format!("the exists row: {error}")),
            },
            RecordTable::ExternalObject => {
                self.external_objects(row_key, row, lookup, numbers)?;
            }
        }
        Ok(())
    }

    fn index_row(
        &mut self,
        row_key: &[u8],
        row: &IndexDataKey<'_>,
        value: &[u8],
        store: &mut OpenStore<'a>,
        numbers: &Numbers,
    ) {
        self.verdict.counts.index_rows += 1;
        let entry = match IndexRow::decode_exact(value) {
            Ok(entry) => entry,
            Err(error) => {
                self.row(Check::Row, row_key, format!("the index row: {error}"));
                return;
            }
        };
        let order = self.store.order().of_rows();
        let is_of_key = row.primary_key().is_none_or(|key| {
            order
                .compare_user_keys(key.as_bytes(), entry.primary_key.as_bytes())
                .is_eq()
        });
        if !is_of_key {
            let what = "its key and its value have different primary keys";
            self.row(Check::Index, row_key, what);
        }
        if numbers
            .last_version(store.id)
            .is_some_and(|last| entry.version.get() > last)
        {
            let what = "its version is above the last that the object store has given";
            self.row(Check::Index, row_key, what);
        }
        let id = (row.database_id, row.object_store_id, row.index_id);
        let sums = store.indexes.entry(id).or_default();
        if sums.is_empty() && !self.has_index(id) && self.object_store(id.0, id.1).is_some() {
            let place = Place::around_row(self.names.place(row_key));
            let what = "there are rows of an index that the object store does not have";
            self.fault(Check::Metadata, place, what);
        }
        sums.take(row.index_key, &entry);
    }

    fn has_index(&self, (database, object_store, index): FullIndexId) -> bool {
        let store = self.object_store(database, object_store);
        store.is_some_and(|store| store.indexes.iter().any(|other| other.id == index))
    }
}
