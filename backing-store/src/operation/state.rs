//! Opening an object store for writing: its state is the transaction's already, or a cache's, or is read from its rows.

use larder_codec::primitive::int;
use larder_codec::row_key::{ObjectStoreField, ObjectStoreMetadataKey, RecordTable};
use larder_codec::{DatabaseId, KeyPrefix, ObjectStoreId, feed};

use crate::error::{Error, ErrorKind, Result};
use crate::metadata::read_object_store;
use crate::open_stores::{Buffers, OpenIndex, OpenStore, Tracking};
use crate::reads::record_row_prefix;
use crate::scope::Scope;
use crate::transaction::WriteTransaction;
use crate::view::{AscendingLookups, View};

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
            is_reserved: feed::is_reserved(&metadata.name),
            name: metadata.name,
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
            old_rows: AscendingLookups::default(),
            buffers: Buffers::default(),
        }))
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
