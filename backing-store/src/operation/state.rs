//! The state of the object stores that a transaction has written to, so that a put reads no metadata; and a cache of it
//! that committed transactions leave for the next ones.

use std::collections::BTreeMap;

use larder_codec::primitive::int;
use larder_codec::row_key::{ObjectStoreField, ObjectStoreMetadataKey, RecordKey, RecordTable};
use larder_codec::{DatabaseId, IndexId, KeyPrefix, ObjectStoreId, RawKey};

use super::tracking::Tracking;
use crate::error::{Error, ErrorKind, Result};
use crate::metadata::read_object_store;
use crate::reads::{EntryLookup, record_row_prefix};
use crate::transaction::{Scope, WriteTransaction};
use crate::view::View;

/// One object store, as far as writing needs it. Holds what its rows hold, as the transaction sees them.
#[derive(Debug)]
pub(super) struct OpenStore {
    pub(super) id: ObjectStoreId,
    pub(super) auto_increment: bool,
    pub(super) indexes: Vec<OpenIndex>,
    pub(super) data_prefix: Vec<u8>,
    pub(super) exists_prefix: Vec<u8>,
    pub(super) version_key: Vec<u8>,
    pub(super) last_version: i64,
    pub(super) generator_key: Vec<u8>,
    /// Read when it is needed.
    pub(super) generator: Option<i64>,
    /// Whether any record has external objects; if none has, none is looked for.
    pub(super) has_external_objects: bool,
    pub(super) tracking: Tracking,
    pub(super) buffers: Buffers,
}

/// One of its indexes.
#[derive(Debug)]
pub(super) struct OpenIndex {
    pub(super) id: IndexId,
    pub(super) prefix: Vec<u8>,
    pub(super) is_unique: bool,
    /// For the look-ups of a unique one, as the transaction sees it; made when it is needed.
    pub(super) lookup: Option<EntryLookup>,
}

/// Memory that is used again.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub(super) primary_key: Vec<u8>,
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
}

/// The object stores that a transaction has opened.
#[derive(Debug, Default)]
#[expect(
    clippy::vec_box,
    reason = "they are taken out and put back for every operation"
)]
pub(crate) struct OpenStores {
    stores: Vec<Box<OpenStore>>,
}

/// Longer buffers are not kept for the next transaction.
const KEPT_LEN_MAX: usize = 4 << 10;

/// So many object stores are cached at once.
const CACHED_MAX: usize = 256;

/// The state of object stores that committed transactions had cached at their end. It always equals what the rows say:
/// a transaction that writes to an object store takes the entry out, and the object store's lock keeps others from
/// writing to that store meanwhile.
#[derive(Debug, Default)]
pub(crate) struct StoreCache {
    stores: BTreeMap<(DatabaseId, ObjectStoreId), Box<OpenStore>>,
}

impl StoreCache {
    /// Takes over what a committed transaction has opened.
    pub(crate) fn keep(&mut self, database_id: DatabaseId, open: OpenStores) {
        for mut store in open.stores {
            store
                .indexes
                .iter_mut()
                .for_each(|index| index.lookup = None);
            store.tracking.end_of_transaction();
            if store.buffers.is_large() {
                store.buffers = Buffers::default();
            }
            if self.stores.len() >= CACHED_MAX {
                // Any store can be read again.
                self.stores.clear();
            }
            self.stores.insert((database_id, store.id), store);
        }
    }

    /// The database's metadata may change.
    pub(crate) fn forget(&mut self, database_id: DatabaseId) {
        self.stores.retain(|(of, _), _| *of != database_id);
    }

    fn take(&mut self, database_id: DatabaseId, id: ObjectStoreId) -> Option<Box<OpenStore>> {
        self.stores.remove(&(database_id, id))
    }
}

impl Buffers {
    fn is_large(&self) -> bool {
        let all = [&self.primary_key, &self.key, &self.value];
        all.iter().any(|buffer| buffer.capacity() > KEPT_LEN_MAX)
    }
}

impl OpenStores {
    fn take(&mut self, id: ObjectStoreId) -> Option<Box<OpenStore>> {
        let at = self.stores.iter().position(|store| store.id == id)?;
        Some(self.stores.swap_remove(at))
    }
}

impl WriteTransaction {
    /// Lends an object store to `work`.
    pub(super) fn with_store<T>(
        &mut self,
        id: ObjectStoreId,
        work: impl FnOnce(&mut Self, &mut OpenStore) -> Result<T>,
    ) -> Result<T> {
        let mut store = match self.open_stores().take(id) {
            Some(store) => store,
            None => self.open_store(id)?,
        };
        let done = work(self, &mut store);
        self.open_stores().stores.push(store);
        done
    }

    /// Its metadata have changed.
    pub(super) fn forget_store(&mut self, id: ObjectStoreId) {
        self.open_stores().take(id);
    }

    fn open_store(&self, id: ObjectStoreId) -> Result<Box<OpenStore>> {
        match self.scope() {
            Scope::VersionChange(database_id) => self.read_store(*database_id, id),
            Scope::Stores(database_id, ids) if ids.contains(id) => {
                match self.store_cache().take(*database_id, id) {
                    Some(cached) => Ok(cached),
                    None => self.read_store(*database_id, id),
                }
            }
            Scope::Stores(..) => {
                let what = format!("object store {id} is not in the transaction's scope");
                Err(Error::new(ErrorKind::Usage, what))
            }
        }
    }

    fn read_store(&self, database_id: DatabaseId, id: ObjectStoreId) -> Result<Box<OpenStore>> {
        let view = self.view();
        let mut problems = Vec::new();
        let metadata = read_object_store(view, database_id, id, &mut problems)?;
        if let Some(problem) = problems.into_iter().next() {
            return Err(problem);
        }
        let Some(metadata) = metadata else {
            return Err(no_store(id));
        };
        let version_key = metadata_key(database_id, id, ObjectStoreField::LastVersion);
        let indexes = metadata.indexes.iter().map(|index| {
            let mut prefix = Vec::new();
            KeyPrefix::of_index(database_id, id, index.id).encode(&mut prefix);
            OpenIndex {
                id: index.id,
                prefix,
                is_unique: index.unique,
                lookup: None,
            }
        });
        Ok(Box::new(OpenStore {
            id,
            auto_increment: metadata.auto_increment,
            indexes: indexes.collect(),
            data_prefix: record_row_prefix(database_id, id, RecordTable::Data),
            exists_prefix: record_row_prefix(database_id, id, RecordTable::Exists),
            last_version: read_int(view, &version_key)?.unwrap_or(0),
            version_key,
            generator_key: metadata_key(database_id, id, ObjectStoreField::KeyGenerator),
            generator: None,
            has_external_objects: self.has_new_objects(id)
                || self.has_external_objects(database_id, id)?,
            tracking: Tracking::default(),
            buffers: Buffers::default(),
        }))
    }
}

impl OpenStore {
    /// The row of a table that belongs to a record.
    pub(super) fn record_row(
        &self,
        database_id: DatabaseId,
        table: RecordTable,
        primary_key: RawKey<'_>,
        row: &mut Vec<u8>,
    ) {
        row.clear();
        RecordKey {
            database_id,
            object_store_id: self.id,
            table,
            key: primary_key,
        }
        .encode(row);
    }
}

pub(super) fn no_store(id: ObjectStoreId) -> Error {
    Error::new(ErrorKind::Usage, format!("there is no object store {id}"))
}

pub(super) fn metadata_key(
    database_id: DatabaseId,
    object_store_id: ObjectStoreId,
    field: ObjectStoreField,
) -> Vec<u8> {
    let mut key = Vec::new();
    ObjectStoreMetadataKey {
        database_id,
        object_store_id,
        field,
    }
    .encode(&mut key);
    key
}

/// The number in a row of type Int.
pub(super) fn read_int(view: &View, key: &[u8]) -> Result<Option<i64>> {
    let Some(value) = view.get(key)? else {
        return Ok(None);
    };
    int::decode_exact(&value)
        .map(Some)
        .map_err(|error| Error::row(key, "number of the metadata", error))
}
