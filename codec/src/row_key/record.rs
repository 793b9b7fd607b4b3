//! Keys of the three tables of an object store: «database, object store, 1 | 2 | 3, user key»
//! (`docs/FORMAT.md`, 4.6).

use crate::error::Result;
use crate::idb_key::RawKey;
use crate::ids::{DatabaseId, ObjectStoreId};
use crate::prefix::{DATA_INDEX, EXISTS_INDEX, EXTERNAL_OBJECT_INDEX, KeyPrefix};
use crate::reader::Reader;

/// The key of a row about one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordKey<'a> {
    /// The database.
    pub database_id: DatabaseId,
    /// The object store.
    pub object_store_id: ObjectStoreId,
    /// What the row says about the record.
    pub table: RecordTable,
    /// The record's primary key.
    pub key: RawKey<'a>,
}

/// What a row says about a record; the number is the index number in the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum RecordTable {
    /// Its value ([`crate::versioned::DataRow`]).
    Data = 1,
    /// Its version ([`crate::versioned::ExistsRow`]).
    Exists = 2,
    /// Its external objects ([`crate::external_object`]).
    ExternalObject = 3,
}

impl RecordTable {
    /// The index number in the prefix.
    #[must_use]
    pub const fn index_number(self) -> u32 {
        match self {
            Self::Data => DATA_INDEX,
            Self::Exists => EXISTS_INDEX,
            Self::ExternalObject => EXTERNAL_OBJECT_INDEX,
        }
    }
}

impl RecordKey<'_> {
    /// Appends the key's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let index = self.table.index_number();
        KeyPrefix::of_object_store(self.database_id, self.object_store_id, index).encode(out);
        self.key.encode(out);
    }
}

/// Reads what follows the prefix.
pub(super) fn read<'a>(prefix: KeyPrefix, reader: &mut Reader<'a>) -> Result<RecordKey<'a>> {
    Ok(RecordKey {
        database_id: prefix.database_id()?,
        object_store_id: prefix.object_store_id()?,
        table: match prefix.index {
            DATA_INDEX => RecordTable::Data,
            EXISTS_INDEX => RecordTable::Exists,
            _ => RecordTable::ExternalObject,
        },
        key: RawKey::read(reader)?,
    })
}
