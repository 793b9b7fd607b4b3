//! The rows of the repaired store, in Chromium's order: those of records that are kept and of what they belong to, and rows added to them.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use larder_backing_store::{DATA_VERSION_MAX, Error, SCHEMA_VERSION_MAX, Store, StoreRows};
use larder_codec::primitive::{int, var_int};
use larder_codec::row_key::{
    DatabaseField, DatabaseKey, GlobalKey, ObjectStoreField, RecordTable, ScopesKey,
};
use larder_codec::versioned::IndexRow;
use larder_codec::{DatabaseId, IndexId, RawKey, RowKey, compare};

use super::survey::{StoreId, Survey, data_row, number_row, version_of};

/// The walk.
pub(super) struct RepairedRows<'a> {
    survey: &'a Survey,
    rows: StoreRows,
    lookup: StoreRows,
    databases: BTreeSet<DatabaseId>,
    stores: BTreeSet<StoreId>,
    indexes: BTreeSet<(StoreId, IndexId)>,
    /// Rows of no known form are kept only where nothing is in doubt.
    keeps_unknown: bool,
    /// Rows in place of those of the store, or between them; the least last.
    added: Vec<(Vec<u8>, Vec<u8>)>,
    /// The walk stands on a row that has not been given.
    is_waiting: bool,
    tick: &'a mut dyn FnMut(),
}

impl<'a> RepairedRows<'a> {
    /// The rows of a staged store. `all`: the store with the rows in doubt, of which it takes numbers that only ascend.
    ///
    /// # Errors
    /// If a store cannot be read.
    pub(super) fn new(
        store: &Store,
        all: &Store,
        survey: &'a Survey,
        keeps_unknown: bool,
        tick: &'a mut dyn FnMut(),
    ) -> Result<Self, Error> {
        let stores = survey.databases.iter().flat_map(|database| {
            let stores = database.object_stores.iter();
            stores.map(|object_store| (database.id, object_store))
        });
        let mut added = survey.index_rows.clone();
        numbers(store, all, survey, &mut added)?;
        added.sort_by(|(a, _), (b, _)| compare(b, a));
        added.dedup_by(|(a, _), (b, _)| compare(a, b) == Ordering::Equal);
        Ok(Self {
            survey,
            rows: store.rows(),
            lookup: store.rows(),
            databases: survey
                .databases
                .iter()
                .map(|database| database.id)
                .collect(),
            stores: stores.clone().map(|(id, store)| (id, store.id)).collect(),
            indexes: stores
                .flat_map(|(id, store)| {
                    let indexes = store.indexes.iter();
                    indexes.map(move |index| ((id, store.id), index.id))
                })
                .collect(),
            keeps_unknown,
            added,
            is_waiting: false,
            tick,
        })
    }

    /// Puts the next row into the buffers, which are empty; whether there is one.
    ///
    /// # Errors
    /// If the store cannot be read on.
    pub(super) fn next(&mut self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<bool, Error> {
        loop {
            if !self.is_waiting {
                self.is_waiting = self.rows.next()?;
            }
            let order = match (self.is_waiting, self.added.last()) {
                (false, None) => return Ok(false),
                (false, Some(_)) => Ordering::Greater,
                (true, None) => Ordering::Less,
                (true, Some((added, _))) => compare(self.rows.key(), added),
            };
            if order != Ordering::Less
                && let Some((added_key, added_value)) = self.added.pop()
            {
                // In place of a row with the same key.
                self.is_waiting &= order != Ordering::Equal;
                *key = added_key;
                *value = added_value;
                return Ok(true);
            }
            self.is_waiting = false;
            (self.tick)();
            key.extend_from_slice(self.rows.key());
            value.extend_from_slice(self.rows.value()?);
            if self.is_kept(key, value)? {
                return Ok(true);
            }
            key.clear();
            value.clear();
        }
    }

    fn is_kept(&mut self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        let Ok(row) = RowKey::decode_exact(key) else {
            return Ok(self.keeps_unknown);
        };
        Ok(match row {
            // Blobs to be removed are not taken over.
            RowKey::Global(GlobalKey::RecoveryBlobJournal | GlobalKey::ActiveBlobJournal)
            | RowKey::Scopes(_) => false,
            RowKey::Global(GlobalKey::DatabaseName { .. }) => {
                let id = int::decode_exact(value).ok().and_then(DatabaseId::new);
                id.is_some_and(|id| self.databases.contains(&id))
            }
            RowKey::Global(_) => true,
            RowKey::Database(key) => match &key.field {
                DatabaseField::ObjectStoreName(_) => {
                    let id = int::decode_exact(value).ok();
                    let id = id.and_then(larder_codec::ObjectStoreId::new);
                    id.is_some_and(|id| self.stores.contains(&(key.database_id, id)))
                }
                _ => self.databases.contains(&key.database_id),
            },
            RowKey::ObjectStoreMetadata(key) => self
                .stores
                .contains(&(key.database_id, key.object_store_id)),
            RowKey::IndexMetadata(key) => {
                let id = (key.database_id, key.object_store_id);
                self.indexes.contains(&(id, key.index_id))
            }
            RowKey::Record(record) => {
                let id = (record.database_id, record.object_store_id);
                if self.survey.feed_notes.has(id, record.key) {
                    return Ok(false);
                }
                let data = match record.table {
                    RecordTable::Data => return Ok(self.keeps(id, key)),
                    _ => data_row(id, record.key),
                };
                self.keeps(id, &data) && version_of(&mut self.lookup, &data)?.is_some()
            }
            RowKey::IndexData(entry) => {
                let id = (entry.database_id, entry.object_store_id);
                let Ok(row) = IndexRow::decode_exact(value) else {
                    return Ok(false);
                };
                self.indexes.contains(&(id, entry.index_id))
                    && self.has_version(id, row.primary_key, &row)?
            }
            RowKey::Unknown(_) => self.keeps_unknown,
        })
    }

    fn keeps(&self, id: StoreId, data_row: &[u8]) -> bool {
        self.stores.contains(&id) && !self.survey.dropped.contains_key(data_row)
    }

    /// Whether the record of an index row is kept, and has its version.
    fn has_version(
        &mut self,
        id: StoreId,
        primary_key: RawKey<'_>,
        row: &IndexRow<'_>,
    ) -> Result<bool, Error> {
        let data = data_row(id, primary_key);
        Ok(self.keeps(id, &data) && version_of(&mut self.lookup, &data)? == Some(row.version))
    }
}

/// Adds the rows with numbers, where those of the store are missing or below what is in use: whatever is given next must be new.
fn numbers(
    store: &Store,
    all: &Store,
    survey: &Survey,
    added: &mut Vec<(Vec<u8>, Vec<u8>)>,
) -> Result<(), Error> {
    let mut scopes = Vec::new();
    ScopesKey::GlobalMetadata.encode(&mut scopes);
    // Without it the store is one of a Chromium that has no undo log.
    let log = all
        .snapshot()
        .and_then(|rows| rows.get(&scopes).ok().flatten());
    added.extend(log.map(|value| (scopes, value)));
    if survey.databases.is_empty() {
        return Ok(());
    }
    let mut raise = |key: Vec<u8>, least: i64, form: Form| -> Result<(), Error> {
        let has = value_of(store, &key)?;
        let has = has.and_then(|value| match form {
            Form::Int => int::decode_exact(&value).ok(),
            Form::VarInt => var_int::decode_exact(&value).ok(),
        });
        if has.is_none_or(|has| has < least) {
            let mut value = Vec::new();
            match form {
                Form::Int => int::encode(least, &mut value),
                Form::VarInt => var_int::encode(least, &mut value),
            }
            added.push((key, value));
        }
        Ok(())
    };
    let global = |key: GlobalKey| {
        let mut bytes = Vec::new();
        key.encode(&mut bytes);
        bytes
    };
    if value_of(store, &global(GlobalKey::SchemaVersion))?.is_none() {
        raise(
            global(GlobalKey::SchemaVersion),
            SCHEMA_VERSION_MAX,
            Form::Int,
        )?;
    }
    let all_databases = all.databases(&mut Vec::new())?;
    let greatest = all_databases.iter().map(|database| database.id.get()).max();
    raise(
        global(GlobalKey::MaxDatabaseId),
        greatest.unwrap_or(0),
        Form::Int,
    )?;
    for database in &survey.databases {
        let of_all = all_databases.iter().find(|other| other.id == database.id);
        let stores = of_all.map_or(&*database.object_stores, |other| &*other.object_stores);
        let number = |field| {
            let mut bytes = Vec::new();
            let database_id = database.id;
            DatabaseKey { database_id, field }.encode(&mut bytes);
            bytes
        };
        let greatest = stores.iter().map(|store| store.id.get()).max();
        let key = number(DatabaseField::MaxObjectStoreId);
        raise(key, greatest.unwrap_or(0), Form::Int)?;
        let blobs = survey
            .blobs
            .iter()
            .filter(|blob| blob.database == database.id);
        if let Some(greatest) = blobs.map(|blob| blob.number.get()).max() {
            let key = number(DatabaseField::BlobNumberGenerator);
            raise(key, greatest.saturating_add(1), Form::VarInt)?;
        }
        for object_store in &database.object_stores {
            let id = (database.id, object_store.id);
            let indexes = object_store.indexes.iter().map(|index| index.id.get());
            let greatest = indexes.max().unwrap_or(30);
            raise(
                number_row(id, ObjectStoreField::MaxIndexId),
                greatest,
                Form::Int,
            )?;
            let numbers = survey.numbers.get(&id).copied().unwrap_or_default();
            let key = number_row(id, ObjectStoreField::LastVersion);
            raise(key, numbers.version, Form::Int)?;
            if object_store.auto_increment {
                let key = number_row(id, ObjectStoreField::KeyGenerator);
                // A store that no key was generated for has no such row.
                if numbers.next_key > 0 && value_of(store, &key)?.is_some() {
                    raise(key, numbers.next_key, Form::Int)?;
                }
            }
        }
    }
    let versions = global(GlobalKey::DataVersion);
    if value_of(store, &versions)?.is_none() {
        let mut value = Vec::new();
        // Not more than the values have: a browser throws a store away whose versions are above its own.
        let greatest = survey.versions.unwrap_or(DATA_VERSION_MAX);
        greatest.encode(&mut value);
        added.push((versions, value));
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Form {
    Int,
    VarInt,
}

fn value_of(store: &Store, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    let mut rows = store.rows();
    match rows.find(key)? {
        true => Ok(Some(rows.value()?.to_vec())),
        false => Ok(None),
    }
}
