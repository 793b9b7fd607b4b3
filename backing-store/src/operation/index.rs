//! Indexes: created, renamed, deleted, filled. All but the last only in a version change.

use larder_codec::primitive::{boolean, int, string};
use larder_codec::row_key::{IndexField, IndexMetadataKey, ObjectStoreField};
use larder_codec::{DatabaseId, IndexId, JsString, KeyPath, ObjectStoreId, range};

use super::state::{metadata_key, no_store, read_int};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::locked;
use crate::transaction::WriteTransaction;
use crate::view::has_rows;

/// A new index. The caller checks that its name is free, and that an array of key paths is not combined with `multi_entry`.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexParameters {
    /// Its id, above all that the object store has ever had; `None` for the next.
    pub id: Option<IndexId>,
    /// Its name.
    pub name: JsString,
    /// Its key path.
    pub key_path: KeyPath,
    /// Whether no two records may have the same key.
    pub unique: bool,
    /// Whether an array gives one entry for each of its members.
    pub multi_entry: bool,
}

impl WriteTransaction {
    /// Creates an index, empty, and gives its id. The caller then walks the object store and puts the index keys of every
    /// record ([`WriteTransaction::put_index_keys`]).
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if this is no version change, there is no such object store, the id is not above all earlier
    /// ones, or there is none left; if a row cannot be read or written.
    pub fn create_index(
        &mut self,
        object_store_id: ObjectStoreId,
        parameters: &IndexParameters,
    ) -> Result<IndexId> {
        let database_id = self.version_change()?;
        let name_key = metadata_key(database_id, object_store_id, ObjectStoreField::Name);
        if self.view().get(&name_key)?.is_none() {
            return Err(no_store(object_store_id));
        }
        let max_key = metadata_key(database_id, object_store_id, ObjectStoreField::MaxIndexId);
        let max = read_int(self.view(), &max_key)?.unwrap_or(IndexId::MIN.get());
        let wanted = match parameters.id {
            Some(id) => Some(id),
            None => max.checked_add(1).and_then(IndexId::new),
        };
        let Some(id) = wanted.filter(|id| id.get() > max) else {
            let what = format!("index ids up to {max} have been used");
            return Err(Error::new(ErrorKind::Usage, what));
        };
        let metadata = (
            range::index_low(database_id, object_store_id, id),
            range::index_high(database_id, object_store_id, id),
        );
        let entries = (
            range::index_entries_low(database_id, object_store_id, id),
            range::index_entries_high(database_id, object_store_id, id),
        );
        for (low, end) in [metadata, entries] {
            // They must not become those of another index.
            if has_rows(self.view(), &low, &end)? {
                let what = format!("there are rows of index {id}, which has not been created yet");
                return Err(Error::inconsistent(&max_key, what));
            }
        }
        let mut value = Vec::new();
        int::encode(id.get(), &mut value);
        self.put_row(&max_key, &value)?;
        for field in IndexField::ALL {
            value.clear();
            match field {
                IndexField::Name => string::encode(&parameters.name, &mut value),
                IndexField::Unique => boolean::encode(parameters.unique, &mut value),
                IndexField::KeyPath => parameters.key_path.encode(&mut value),
                IndexField::MultiEntry => boolean::encode(parameters.multi_entry, &mut value),
            }
            let key = index_key(database_id, object_store_id, id, field);
            self.put_row(&key, &value)?;
        }
        locked(self.pending()).facts.note_empty(object_store_id, id);
        self.forget_store(object_store_id);
        Ok(id)
    }

    /// Refuses an index that is not there.
    fn check_index(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        id: IndexId,
    ) -> Result<Vec<u8>> {
        let key = index_key(database_id, object_store_id, id, IndexField::Name);
        if self.view().get(&key)?.is_none() {
            return Err(no_index(id));
        }
        Ok(key)
    }

    /// Gives an index another name. The caller checks that the name is free.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if this is no version change, or there is no such index; if a row cannot be read or written.
    pub fn rename_index(
        &mut self,
        object_store_id: ObjectStoreId,
        id: IndexId,
        name: &JsString,
    ) -> Result<()> {
        let database_id = self.version_change()?;
        let key = self.check_index(database_id, object_store_id, id)?;
        let mut value = Vec::new();
        string::encode(name, &mut value);
        self.put_row(&key, &value)
    }

    /// Deletes an index. Its id is not used again.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if this is no version change, or there is no such index; if a row cannot be read or written.
    pub fn delete_index(&mut self, object_store_id: ObjectStoreId, id: IndexId) -> Result<()> {
        let database_id = self.version_change()?;
        self.check_index(database_id, object_store_id, id)?;
        self.forget_store(object_store_id);
        let low = range::index_low(database_id, object_store_id, id);
        let high = range::index_high(database_id, object_store_id, id);
        self.delete_rows(&low, &high, false)?;
        let low = range::index_entries_low(database_id, object_store_id, id);
        let high = range::index_entries_high(database_id, object_store_id, id);
        self.note_deleted(&low, &high);
        locked(self.pending()).facts.note_gone(object_store_id, id);
        self.delete_rows(&low, &high, true)
    }
}

pub(super) fn no_index(id: IndexId) -> Error {
    Error::new(ErrorKind::Usage, format!("there is no index {id}"))
}

fn index_key(
    database_id: DatabaseId,
    object_store_id: ObjectStoreId,
    index_id: IndexId,
    field: IndexField,
) -> Vec<u8> {
    let mut key = Vec::new();
    IndexMetadataKey {
        database_id,
        object_store_id,
        index_id,
        field,
    }
    .encode(&mut key);
    key
}
