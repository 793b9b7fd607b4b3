//! What a stored key is: one enum over every class of key (`docs/FORMAT.md`, section 4).
//!
//! [`RowKey::decode_exact`] classifies any stored key and borrows user keys from it. The areas have
//! a file each. Ends of ranges, which are looked up and never stored, are in [`crate::range`].

mod database;
mod global;
mod index_data;
pub(crate) mod metadata;
mod record;
mod scopes;

#[cfg(test)]
pub(crate) mod tests;

pub use database::{DatabaseField, DatabaseKey};
pub use global::GlobalKey;
pub use index_data::IndexDataKey;
pub use metadata::{IndexField, IndexMetadataKey, ObjectStoreField, ObjectStoreMetadataKey};
pub use record::{RecordKey, RecordTable};
pub use scopes::{ScopeTask, ScopesKey};

use crate::error::{Error, ErrorKind, Result};
use crate::prefix::{KeyPrefix, PrefixKind};
use crate::reader::Reader;

/// Metadata type bytes, which follow the prefix.
pub(crate) mod tag {
    /// Global types below this one have nothing after them.
    pub(crate) const GLOBAL_SIMPLE_END: u8 = 7;
    pub(crate) const SCOPES: u8 = 50;
    pub(crate) const DATABASE_FREE_LIST: u8 = 100;
    pub(crate) const DATABASE_NAME: u8 = 201;

    /// Database types below this one have nothing after them.
    pub(crate) const DATABASE_SIMPLE_END: u8 = 6;
    pub(crate) const OBJECT_STORE_METADATA: u8 = 50;
    pub(crate) const INDEX_METADATA: u8 = 100;
    pub(crate) const OBJECT_STORE_FREE_LIST: u8 = 150;
    pub(crate) const INDEX_FREE_LIST: u8 = 151;
    pub(crate) const OBJECT_STORE_NAME: u8 = 200;
    pub(crate) const INDEX_NAME: u8 = 201;
    /// Above every metadata type; only in ends of ranges.
    pub(crate) const METADATA_END: u8 = 255;
}

/// A stored key, classified.
///
/// ```
/// use larder_codec::row_key::{RecordTable, RowKey};
/// let key = [0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
/// let RowKey::Record(record) = RowKey::decode_exact(&key)? else { unreachable!() };
/// assert_eq!(record.table, RecordTable::Data);
/// assert_eq!(record.key.to_key(), larder_codec::Key::Number(1.0));
/// # Ok::<(), larder_codec::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowKey<'a> {
    /// Metadata of the whole store.
    Global(GlobalKey),
    /// The undo log.
    Scopes(ScopesKey),
    /// Metadata of a database, its name rows and free lists.
    Database(DatabaseKey),
    /// Metadata of an object store.
    ObjectStoreMetadata(ObjectStoreMetadataKey),
    /// Metadata of an index.
    IndexMetadata(IndexMetadataKey),
    /// A row about one record: its value, its existence, its external objects.
    Record(RecordKey<'a>),
    /// An entry of an index.
    IndexData(IndexDataKey<'a>),
    /// A readable prefix, but a type of row that this version does not define.
    Unknown(UnknownKey<'a>),
}

impl<'a> RowKey<'a> {
    /// Classifies and decodes a whole stored key.
    ///
    /// # Errors
    /// If the key is of a known class and does not have its form: cut short, ids out of range, a
    /// user key that does not decode, bytes left over.
    pub fn decode_exact(input: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(input);
        let prefix = KeyPrefix::read(&mut reader)?;
        let after_prefix = reader.rest();
        let reader = &mut reader;
        let known = match prefix.kind() {
            _ if !prefix.is_writable() => None,
            PrefixKind::Global => match reader.rest().first() {
                Some(&tag::SCOPES) => scopes::read(reader)?.map(Self::Scopes),
                _ => global::read(reader)?.map(Self::Global),
            },
            PrefixKind::Database => Self::read_database(prefix, reader)?,
            PrefixKind::Data | PrefixKind::Exists | PrefixKind::ExternalObject => {
                Some(Self::Record(record::read(prefix, reader)?))
            }
            PrefixKind::IndexData => Some(Self::IndexData(index_data::read(prefix, reader)?)),
            PrefixKind::Unassigned => None,
        };
        let Some(known) = known else {
            return Ok(Self::Unknown(UnknownKey {
                prefix,
                rest: after_prefix,
            }));
        };
        reader.finish("stored key")?;
        Ok(known)
    }

    fn read_database(prefix: KeyPrefix, reader: &mut Reader<'a>) -> Result<Option<Self>> {
        let database_id = prefix.database_id()?;
        Ok(match reader.rest().first() {
            Some(&tag::OBJECT_STORE_METADATA) => {
                metadata::read_object_store(database_id, reader)?.map(Self::ObjectStoreMetadata)
            }
            Some(&tag::INDEX_METADATA) => {
                metadata::read_index(database_id, reader)?.map(Self::IndexMetadata)
            }
            _ => database::read(database_id, reader)?.map(Self::Database),
        })
    }

    /// Appends the key's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Global(key) => key.encode(out),
            Self::Scopes(key) => key.encode(out),
            Self::Database(key) => key.encode(out),
            Self::ObjectStoreMetadata(key) => key.encode(out),
            Self::IndexMetadata(key) => key.encode(out),
            Self::Record(key) => key.encode(out),
            Self::IndexData(key) => key.encode(out),
            Self::Unknown(key) => key.encode(out),
        }
    }
}

/// A key with a readable prefix and unknown contents. Made by decoding only, so that no known key
/// can be written as an unknown one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownKey<'a> {
    prefix: KeyPrefix,
    rest: &'a [u8],
}

impl<'a> UnknownKey<'a> {
    /// The three numbers.
    #[must_use]
    pub const fn prefix(&self) -> KeyPrefix {
        self.prefix
    }

    /// What follows the prefix; in metadata its first byte is the type.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Appends the key's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.prefix.encode(out);
        out.extend_from_slice(self.rest);
    }
}

/// The error for a type byte that is missing where a key must have one.
fn missing_tag(reader: &Reader<'_>) -> Error {
    reader.error(ErrorKind::Truncated { missing: 1 }, "metadata type")
}
