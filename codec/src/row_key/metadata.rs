//! Keys of the metadata of object stores and indexes: «database, 0, 0, 50 or 100, …»
//! (`docs/FORMAT.md`, 4.4 and 4.5).

use super::tag;
use crate::error::Result;
use crate::ids::{DatabaseId, IndexId, ObjectStoreId};
use crate::prefix::KeyPrefix;
use crate::primitive::var_int;
use crate::reader::Reader;

/// One row of the metadata of an object store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectStoreMetadataKey {
    /// The database.
    pub database_id: DatabaseId,
    /// The object store.
    pub object_store_id: ObjectStoreId,
    /// Which row of it.
    pub field: ObjectStoreField,
}

/// The rows of an object store's metadata; the number is the type byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum ObjectStoreField {
    /// Name.
    Name = 0,
    /// Key path.
    KeyPath = 1,
    /// Whether it has a key generator.
    AutoIncrement = 2,
    /// Evictable. Obsolete, always false.
    Evictable = 3,
    /// Version of the record written last.
    LastVersion = 4,
    /// The greatest index id handed out; 30 before the first.
    MaxIndexId = 5,
    /// Whether the key path is not null. Obsolete.
    HasKeyPath = 6,
    /// The next number of the key generator.
    KeyGenerator = 7,
}

impl ObjectStoreField {
    /// All fields, each at the place of its type byte.
    pub const ALL: [Self; 8] = [
        Self::Name,
        Self::KeyPath,
        Self::AutoIncrement,
        Self::Evictable,
        Self::LastVersion,
        Self::MaxIndexId,
        Self::HasKeyPath,
        Self::KeyGenerator,
    ];
}

impl ObjectStoreMetadataKey {
    /// Appends the key's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        encode_object_store(
            self.database_id,
            self.object_store_id.get(),
            self.field as u8,
            out,
        );
    }
}

/// Also for ends of ranges, whose ids and type bytes are none that a row may have.
pub(crate) fn encode_object_store(
    database_id: DatabaseId,
    object_store_id: i64,
    field: u8,
    out: &mut Vec<u8>,
) {
    KeyPrefix::of_database(database_id).encode(out);
    out.push(tag::OBJECT_STORE_METADATA);
    var_int::encode(object_store_id, out);
    out.push(field);
}

/// Reads what follows the prefix, beginning with the type byte 50; `None` for an unknown field.
pub(super) fn read_object_store(
    database_id: DatabaseId,
    reader: &mut Reader<'_>,
) -> Result<Option<ObjectStoreMetadataKey>> {
    reader.byte("metadata type")?;
    let object_store_id = ObjectStoreId::read(reader)?;
    let field = usize::from(reader.byte("object store metadata type")?);
    Ok(ObjectStoreField::ALL
        .get(field)
        .map(|&field| ObjectStoreMetadataKey {
            database_id,
            object_store_id,
            field,
        }))
}

/// One row of the metadata of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexMetadataKey {
    /// The database.
    pub database_id: DatabaseId,
    /// The object store.
    pub object_store_id: ObjectStoreId,
    /// The index.
    pub index_id: IndexId,
    /// Which row of it.
    pub field: IndexField,
}

/// The rows of an index's metadata; the number is the type byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum IndexField {
    /// Name.
    Name = 0,
    /// Whether it refuses a second record with the same index key.
    Unique = 1,
    /// Key path.
    KeyPath = 2,
    /// Whether the elements of an array are index keys of their own.
    MultiEntry = 3,
}

impl IndexField {
    /// All fields, each at the place of its type byte.
    pub const ALL: [Self; 4] = [Self::Name, Self::Unique, Self::KeyPath, Self::MultiEntry];
}

impl IndexMetadataKey {
    /// Appends the key's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (object_store_id, index_id) = (self.object_store_id.get(), self.index_id.get());
        encode_index(
            self.database_id,
            object_store_id,
            index_id,
            self.field as u8,
            out,
        );
    }
}

/// Also for ends of ranges, whose ids and type bytes are none that a row may have.
pub(crate) fn encode_index(
    database_id: DatabaseId,
    object_store_id: i64,
    index_id: i64,
    field: u8,
    out: &mut Vec<u8>,
) {
    KeyPrefix::of_database(database_id).encode(out);
    out.push(tag::INDEX_METADATA);
    var_int::encode(object_store_id, out);
    var_int::encode(index_id, out);
    out.push(field);
}

/// Reads what follows the prefix, beginning with the type byte 100; `None` for an unknown field.
pub(super) fn read_index(
    database_id: DatabaseId,
    reader: &mut Reader<'_>,
) -> Result<Option<IndexMetadataKey>> {
    reader.byte("metadata type")?;
    let object_store_id = ObjectStoreId::read(reader)?;
    let index_id = IndexId::read(reader)?;
    let field = usize::from(reader.byte("index metadata type")?);
    Ok(IndexField::ALL.get(field).map(|&field| IndexMetadataKey {
        database_id,
        object_store_id,
        index_id,
        field,
    }))
}
