//! How much of a store is what: records, indexes, blobs, what is stale or overwritten, and what maintenance would give back.
//!
//! Bytes are those of keys and values before compression ([`measure`]). One walk over all entries of all files counts those that are
//! hidden and the undo log, one over the rows as recovery leaves them the rest. Index rows are compared with their records by the
//! index cursors, if that is asked for.

mod command;

pub(crate) use command::Stat;

use std::collections::HashMap;

use larder_backing_store::{CursorDirection, DatabaseMetadata, Error, ErrorKind, Store};
use larder_codec::external_object::ExternalObject;
use larder_codec::row_key::RecordTable;
use larder_codec::{DatabaseId, IndexId, JsString, ObjectStoreId, RowKey, compare};
use larder_leveldb::EntryKind;
use serde::Serialize;

/// Some rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// How many.
    pub rows: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
}

impl Amount {
    fn add(&mut self, bytes: usize) {
        self.rows += 1;
        self.bytes += bytes as u64;
    }
}

/// A store. Field names are part of the command's contract.
#[derive(Debug, Default, Serialize)]
pub struct StoreSizes {
    /// The databases.
    pub databases: Vec<DatabaseSizes>,
    /// Rows of metadata.
    pub metadata: Amount,
    /// The undo log.
    pub undo_log: Amount,
    /// Rows of no database, object store or index that is there: what is deleted bit by bit, and what a fault has left.
    pub left_over: Amount,
    /// Entries that a newer one of their key hides.
    pub overwritten: Amount,
    /// Entries that delete a key.
    pub deletions: Amount,
}

/// A database.
#[derive(Debug, Serialize)]
pub struct DatabaseSizes {
    /// Its name.
    pub name: JsString,
    /// Its object stores.
    pub object_stores: Vec<ObjectStoreSizes>,
    /// Blobs and files that its records refer to, and their bytes.
    pub blobs: Amount,
}

/// An object store.
#[derive(Debug, Serialize)]
pub struct ObjectStoreSizes {
    /// Its name.
    pub name: JsString,
    /// Records: rows are counted once, bytes are those of all rows of each record.
    pub records: Amount,
    /// Its indexes.
    pub indexes: Vec<IndexSizes>,
}

/// An index.
#[derive(Debug, Serialize)]
pub struct IndexSizes {
    /// Its name.
    pub name: JsString,
    /// Its rows.
    pub entries: Amount,
    /// How many of them are stale; absent if that was not looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_rows: Option<u64>,
}

impl StoreSizes {
    /// How many index rows are stale, as far as that was looked for.
    #[must_use]
    pub fn stale_rows(&self) -> u64 {
        let stores = self.databases.iter().flat_map(|base| &base.object_stores);
        let indexes = stores.flat_map(|store| &store.indexes);
        indexes.filter_map(|index| index.stale_rows).sum()
    }

    /// Blobs that records refer to.
    #[must_use]
    pub fn blobs(&self) -> Amount {
        let sum = |sum: Amount, base: &DatabaseSizes| Amount {
            rows: sum.rows + base.blobs.rows,
            bytes: sum.bytes + base.blobs.bytes,
        };
        self.databases.iter().fold(Amount::default(), sum)
    }
}

/// Where rows are counted.
type Places = HashMap<(DatabaseId, ObjectStoreId, Option<IndexId>), (usize, usize, Option<usize>)>;

/// Measures a store. `tick` is called for each entry. With `stale`, index rows are compared with their records.
///
/// # Errors
/// If the store cannot be read on.
pub fn measure(store: &Store, stale: bool, tick: &mut dyn FnMut()) -> Result<StoreSizes, Error> {
    // Rows of what cannot be read have no owner.
    let databases = store.databases(&mut Vec::new())?;
    let mut sizes = StoreSizes {
        databases: databases.iter().map(empty).collect(),
        ..StoreSizes::default()
    };
    count_entries(store, &mut sizes, tick)?;
    count_rows(store, &databases, &mut sizes, tick)?;
    if stale {
        count_stale(store, &databases, &mut sizes)?;
    }
    Ok(sizes)
}

fn empty(database: &DatabaseMetadata) -> DatabaseSizes {
    let stores = database.object_stores.iter().map(|store| ObjectStoreSizes {
        name: store.name.clone(),
        records: Amount::default(),
        indexes: store
            .indexes
            .iter()
            .map(|index| IndexSizes {
                name: index.name.clone(),
                entries: Amount::default(),
                stale_rows: None,
            })
            .collect(),
    });
    DatabaseSizes {
        name: database.name.clone(),
        object_stores: stores.collect(),
        blobs: Amount::default(),
    }
}

fn places(databases: &[DatabaseMetadata]) -> Places {
    let mut places = Places::new();
    for (d, database) in databases.iter().enumerate() {
        for (s, store) in database.object_stores.iter().enumerate() {
            places.insert((database.id, store.id, None), (d, s, None));
            for (i, index) in store.indexes.iter().enumerate() {
                let id = (database.id, store.id, Some(index.id));
                places.insert(id, (d, s, Some(i)));
            }
        }
    }
    places
}

/// What only the files have: hidden entries and the undo log.
fn count_entries(
    store: &Store,
    sizes: &mut StoreSizes,
    tick: &mut dyn FnMut(),
) -> Result<(), Error> {
    let Some(snapshot) = store.snapshot() else {
        return Ok(());
    };
    let mut entries = snapshot.entries();
    let mut newest: Option<Vec<u8>> = None;
    while entries.advance()? {
        tick();
        let key = entries.key();
        let len = key.len() + entries.value()?.len();
        // Equal keys may differ in bytes: 0 and -0.
        if newest
            .as_ref()
            .is_some_and(|last| compare(last, key).is_eq())
        {
            sizes.overwritten.add(len);
            continue;
        }
        let last = newest.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        match (entries.kind(), RowKey::decode_exact(key)) {
            (EntryKind::Deletion, _) => sizes.deletions.add(len),
            (EntryKind::Value, Ok(RowKey::Scopes(_))) => sizes.undo_log.add(len),
            _ => {}
        }
    }
    Ok(())
}

/// The rows as recovery leaves them.
fn count_rows(
    store: &Store,
    databases: &[DatabaseMetadata],
    sizes: &mut StoreSizes,
    tick: &mut dyn FnMut(),
) -> Result<(), Error> {
    let places = places(databases);
    let mut rows = store.rows();
    while rows.next()? {
        tick();
        let len = match rows.value() {
            Ok(value) => rows.key().len() + value.len(),
            // Its key is there.
            Err(error) if error.kind() == ErrorKind::Corruption => rows.key().len(),
            Err(error) => return Err(error),
        };
        count_row(store, databases, &places, sizes, (rows.key(), len))?;
    }
    Ok(())
}

/// Counts a row that is visible.
fn count_row(
    store: &Store,
    databases: &[DatabaseMetadata],
    places: &Places,
    sizes: &mut StoreSizes,
    (key, len): (&[u8], usize),
) -> Result<(), Error> {
    let Ok(row) = RowKey::decode_exact(key) else {
        sizes.left_over.add(len);
        return Ok(());
    };
    let (place, is_counted) = match &row {
        RowKey::Record(row) => {
            let id = (row.database_id, row.object_store_id, None);
            (places.get(&id), row.table == RecordTable::Data)
        }
        RowKey::IndexData(row) => {
            let id = (row.database_id, row.object_store_id, Some(row.index_id));
            (places.get(&id), true)
        }
        row => {
            match has_owner(row, databases, places) {
                true => sizes.metadata.add(len),
                false => sizes.left_over.add(len),
            }
            return Ok(());
        }
    };
    let Some(amount) = place.and_then(|place| amount(sizes, *place)) else {
        sizes.left_over.add(len);
        return Ok(());
    };
    amount.rows += u64::from(is_counted);
    amount.bytes += len as u64;
    if let (RowKey::Record(row), Some((database, ..))) = (&row, place)
        && row.table == RecordTable::ExternalObject
        && let Some(database) = sizes.databases.get_mut(*database)
    {
        let objects = store.external_objects(row.database_id, row.object_store_id, row.key);
        count_blobs(database, objects)?;
    }
    Ok(())
}

/// Whether what a row of metadata is about is there.
fn has_owner(row: &RowKey<'_>, databases: &[DatabaseMetadata], places: &Places) -> bool {
    match row {
        RowKey::Database(row) => databases.iter().any(|base| base.id == row.database_id),
        RowKey::ObjectStoreMetadata(row) => {
            places.contains_key(&(row.database_id, row.object_store_id, None))
        }
        RowKey::IndexMetadata(row) => {
            let id = (row.database_id, row.object_store_id, Some(row.index_id));
            places.contains_key(&id)
        }
        _ => true,
    }
}

fn amount(
    sizes: &mut StoreSizes,
    (database, store, index): (usize, usize, Option<usize>),
) -> Option<&mut Amount> {
    let store = sizes
        .databases
        .get_mut(database)?
        .object_stores
        .get_mut(store)?;
    match index {
        None => Some(&mut store.records),
        Some(index) => Some(&mut store.indexes.get_mut(index)?.entries),
    }
}

fn count_blobs(
    database: &mut DatabaseSizes,
    objects: Result<Vec<ExternalObject>, Error>,
) -> Result<(), Error> {
    let objects = match objects {
        Ok(objects) => objects,
        Err(error) if error.kind() == ErrorKind::Corruption => return Ok(()),
        Err(error) => return Err(error),
    };
    for object in &objects {
        if let ExternalObject::Blob(blob) | ExternalObject::File { blob, .. } = object {
            database.blobs.rows += 1;
            database.blobs.bytes += u64::try_from(blob.size_bytes).unwrap_or(0);
        }
    }
    Ok(())
}

/// Walks over every index, whose cursor counts the rows that it passes over.
fn count_stale(
    store: &Store,
    databases: &[DatabaseMetadata],
    sizes: &mut StoreSizes,
) -> Result<(), Error> {
    for (database, of_database) in databases.iter().zip(&mut sizes.databases) {
        let stores = database
            .object_stores
            .iter()
            .zip(&mut of_database.object_stores);
        for (object_store, of_store) in stores {
            for (index, of_index) in object_store.indexes.iter().zip(&mut of_store.indexes) {
                let next = CursorDirection::Next;
                let mut cursor = store.index_entries(database.id, object_store.id, index.id, next);
                loop {
                    match cursor.next() {
                        Ok(true) => {}
                        Ok(false) => break,
                        Err(error) if error.kind() == ErrorKind::Corruption => {}
                        Err(error) => return Err(error),
                    }
                }
                of_index.stale_rows = Some(cursor.stale_rows());
            }
        }
    }
    Ok(())
}
