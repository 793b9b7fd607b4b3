//! Keys of a database's own metadata: «database, 0, 0, type, …» (`docs/FORMAT.md`, 4.3).

use super::{missing_tag, tag};
use crate::error::Result;
use crate::ids::{DatabaseId, IndexId, ObjectStoreId};
use crate::js_string::JsString;
use crate::prefix::KeyPrefix;
use crate::primitive::{string_with_length, var_int};
use crate::reader::Reader;

/// Metadata of a database, its name rows and free lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseKey {
    /// The database.
    pub database_id: DatabaseId,
    /// Which row of it.
    pub field: DatabaseField,
}

/// The rows of a database's metadata, but for those of its object stores and indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseField {
    /// 0: the origin. Not written today.
    OriginName,
    /// 1: the database's name. Not written today.
    DatabaseName,
    /// 2: a version that is a string. Obsolete.
    StringVersion,
    /// 3: the greatest object store id handed out.
    MaxObjectStoreId,
    /// 4: the version that users see.
    UserVersion,
    /// 5: the next blob number.
    BlobNumberGenerator,
    /// 150: the object store id is free. Obsolete.
    ObjectStoreFreeList(ObjectStoreId),
    /// 151: the index id is free. Obsolete.
    IndexFreeList(ObjectStoreId, IndexId),
    /// 200: from an object store's name to its id.
    ObjectStoreName(JsString),
    /// 201: from an index's name to its id. Not written today.
    IndexName(ObjectStoreId, JsString),
}

/// The rows without anything after their type byte, which is their place here.
const SIMPLE: [DatabaseField; tag::DATABASE_SIMPLE_END as usize] = [
    DatabaseField::OriginName,
    DatabaseField::DatabaseName,
    DatabaseField::StringVersion,
    DatabaseField::MaxObjectStoreId,
    DatabaseField::UserVersion,
    DatabaseField::BlobNumberGenerator,
];

impl DatabaseField {
    /// The type byte.
    #[must_use]
    pub const fn type_byte(&self) -> u8 {
        match self {
            Self::OriginName => 0,
            Self::DatabaseName => 1,
            Self::StringVersion => 2,
            Self::MaxObjectStoreId => 3,
            Self::UserVersion => 4,
            Self::BlobNumberGenerator => 5,
            Self::ObjectStoreFreeList(_) => tag::OBJECT_STORE_FREE_LIST,
            Self::IndexFreeList(..) => tag::INDEX_FREE_LIST,
            Self::ObjectStoreName(_) => tag::OBJECT_STORE_NAME,
            Self::IndexName(..) => tag::INDEX_NAME,
        }
    }
}

impl DatabaseKey {
    /// Appends the key's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        KeyPrefix::of_database(self.database_id).encode(out);
        out.push(self.field.type_byte());
        match &self.field {
            DatabaseField::ObjectStoreFreeList(object_store) => {
                var_int::encode(object_store.get(), out);
            }
            DatabaseField::IndexFreeList(object_store, index) => {
                var_int::encode(object_store.get(), out);
                var_int::encode(index.get(), out);
            }
            DatabaseField::ObjectStoreName(name) => string_with_length::encode(name, out),
            DatabaseField::IndexName(object_store, name) => {
                var_int::encode(object_store.get(), out);
                string_with_length::encode(name, out);
            }
            _ => {}
        }
    }
}

/// Reads what follows the prefix; `None` for an unknown type.
pub(super) fn read(
    database_id: DatabaseId,
    reader: &mut Reader<'_>,
) -> Result<Option<DatabaseKey>> {
    let Some(&tag) = reader.rest().first() else {
        return Err(missing_tag(reader));
    };
    reader.byte("metadata type")?;
    let field = match tag {
        tag::OBJECT_STORE_FREE_LIST => Some(DatabaseField::ObjectStoreFreeList(
            ObjectStoreId::read(reader)?,
        )),
        tag::INDEX_FREE_LIST => Some(DatabaseField::IndexFreeList(
            ObjectStoreId::read(reader)?,
            IndexId::read(reader)?,
        )),
        tag::OBJECT_STORE_NAME => Some(DatabaseField::ObjectStoreName(
            string_with_length::read_owned(reader, "object store name")?,
        )),
        tag::INDEX_NAME => Some(DatabaseField::IndexName(
            ObjectStoreId::read(reader)?,
            string_with_length::read_owned(reader, "index name")?,
        )),
        _ => SIMPLE.get(usize::from(tag)).cloned(),
    };
    Ok(field.map(|field| DatabaseKey { database_id, field }))
}
