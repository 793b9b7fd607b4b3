//! Object stores: created, renamed, deleted. Only in a version change.

use larder_codec::primitive::{boolean, int, string};
use larder_codec::row_key::{DatabaseField, DatabaseKey, ObjectStoreField};
use larder_codec::{DatabaseId, IndexId, JsString, KeyPath, ObjectStoreId, range};

use super::state::{metadata_key, no_store, read_int};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::locked;
use crate::transaction::WriteTransaction;
use crate::view::has_rows;

/// The version before the first record's.
const FIRST_VERSION: i64 = 1;

/// The number that a key generator gives first.
const FIRST_GENERATED: i64 = 1;

/// A new object store. The caller checks that its name is free.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectStoreParameters {
    /// Its id, above all that the database has ever had; `None` for the next.
    pub id: Option<ObjectStoreId>,
    /// Its name.
    pub name: JsString,
    /// Its key path.
    pub key_path: KeyPath,
    /// Whether it has a key generator.
    pub auto_increment: bool,
}

impl WriteTransaction {
    /// Creates an object store and gives its id.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if this is no version change, if the id is not above all earlier ones, or there is none left;
    /// if a row cannot be read or written.
    pub fn create_object_store(
        &mut self,
        parameters: &ObjectStoreParameters,
    ) -> Result<ObjectStoreId> {
        let database_id = self.version_change()?;
        let max_key = database_key(database_id, DatabaseField::MaxObjectStoreId);
        let max = read_int(self.view(), &max_key)?.unwrap_or(0);
        let wanted = match parameters.id {
            Some(id) => Some(id),
            None => max.checked_add(1).and_then(ObjectStoreId::new),
        };
        let Some(id) = wanted.filter(|id| id.get() > max) else {
            let what = format!("object store ids up to {max} have been used");
            return Err(Error::new(ErrorKind::Usage, what));
        };
        self.check_no_rows_of(database_id, id, &max_key)?;
        let mut value = Vec::new();
        int::encode(id.get(), &mut value);
        self.put_row(&max_key, &value)?;
        for field in ObjectStoreField::ALL {
            value.clear();
            encode_field(field, parameters, &mut value);
            self.put_row(&metadata_key(database_id, id, field), &value)?;
        }
        self.put_name_row(database_id, &parameters.name, id)?;
        Ok(id)
    }

    /// Refuses an id that has rows, though it is above all that are said to have been used: they must not become those of
    /// another object store.
    fn check_no_rows_of(
        &self,
        database_id: DatabaseId,
        id: ObjectStoreId,
        max_key: &[u8],
    ) -> Result<()> {
        let metadata = (
            range::object_store_low(database_id, id),
            range::object_store_high(database_id, id),
        );
        let indexes = (
            range::all_indexes_low(database_id, id),
            range::all_indexes_high(database_id, id),
        );
        let records = (
            range::object_store_rows_low(database_id, id),
            range::object_store_rows_end(database_id, id),
        );
        for (low, end) in [metadata, indexes, records] {
            if has_rows(self.view(), &low, &end)? {
                let what =
                    format!("there are rows of object store {id}, which has not been created yet");
                return Err(Error::inconsistent(max_key, what));
            }
        }
        Ok(())
    }

    fn put_name_row(
        &mut self,
        database_id: DatabaseId,
        name: &JsString,
        id: ObjectStoreId,
    ) -> Result<()> {
        let key = database_key(database_id, DatabaseField::ObjectStoreName(name.clone()));
        let mut value = Vec::new();
        int::encode(id.get(), &mut value);
        self.put_row(&key, &value)
    }

    fn object_store_name(&self, database_id: DatabaseId, id: ObjectStoreId) -> Result<JsString> {
        let key = metadata_key(database_id, id, ObjectStoreField::Name);
        let value = self.view().get(&key)?.ok_or_else(|| no_store(id))?;
        string::decode_exact(&value).map_err(|error| Error::row(&key, "object store name", error))
    }

    /// Gives an object store another name. The caller checks that the name is free.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if this is no version change, or there is no such object store; if a row cannot be read or
    /// written.
    pub fn rename_object_store(&mut self, id: ObjectStoreId, name: &JsString) -> Result<()> {
        let database_id = self.version_change()?;
        let old_name = self.object_store_name(database_id, id)?;
        if old_name == *name {
            return Ok(());
        }
        let mut value = Vec::new();
        string::encode(name, &mut value);
        let key = metadata_key(database_id, id, ObjectStoreField::Name);
        self.put_row(&key, &value)?;
        self.put_name_row(database_id, name, id)?;
        self.forget_store(id);
        self.delete_row(&database_key(
            database_id,
            DatabaseField::ObjectStoreName(old_name),
        ))
    }

    /// Deletes an object store with everything in it. Its id is not used again.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if this is no version change, or there is no such object store; if a row cannot be read or
    /// written.
    pub fn delete_object_store(&mut self, id: ObjectStoreId) -> Result<()> {
        let database_id = self.version_change()?;
        let name = self.object_store_name(database_id, id)?;
        match self.feed().is_some_and(|feed| feed.keeps(id)) {
            true => self.end_feed()?,
            false => self.note_store_cleared(database_id, id)?,
        }
        self.forget_store(id);
        locked(self.pending()).facts.note_store_gone(id);
        let low = range::object_store_low(database_id, id);
        self.delete_rows(&low, &range::object_store_high(database_id, id), true)?;
        let name_field = DatabaseField::ObjectStoreName(name);
        self.delete_row(&database_key(database_id, name_field))?;
        let free = |index_id| database_key(database_id, DatabaseField::IndexFreeList(id, index_id));
        self.delete_rows(&free(IndexId::MIN), &free(IndexId::MAX), true)?;
        let low = range::all_indexes_low(database_id, id);
        self.delete_rows(&low, &range::all_indexes_high(database_id, id), true)?;
        self.clear_rows(database_id, id).map(drop)
    }
}

fn encode_field(field: ObjectStoreField, parameters: &ObjectStoreParameters, value: &mut Vec<u8>) {
    match field {
        ObjectStoreField::Name => string::encode(&parameters.name, value),
        ObjectStoreField::KeyPath => parameters.key_path.encode(value),
        ObjectStoreField::AutoIncrement => boolean::encode(parameters.auto_increment, value),
        ObjectStoreField::Evictable => boolean::encode(false, value),
        ObjectStoreField::LastVersion => int::encode(FIRST_VERSION, value),
        ObjectStoreField::MaxIndexId => int::encode(IndexId::MIN.get(), value),
        ObjectStoreField::HasKeyPath => {
            boolean::encode(parameters.key_path != KeyPath::Null, value);
        }
        // Written whether or not there is a generator.
        ObjectStoreField::KeyGenerator => int::encode(FIRST_GENERATED, value),
    }
}

fn database_key(database_id: DatabaseId, field: DatabaseField) -> Vec<u8> {
    let mut key = Vec::new();
    DatabaseKey { database_id, field }.encode(&mut key);
    key
}
