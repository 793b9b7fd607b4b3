//! Keys of the metadata of the whole store: «0, 0, 0, type, …» (`docs/FORMAT.md`, 4.1).

use super::{missing_tag, tag};
use crate::error::Result;
use crate::ids::DatabaseId;
use crate::js_string::JsString;
use crate::prefix::KeyPrefix;
use crate::primitive::{string_with_length, var_int};
use crate::reader::Reader;

/// Metadata of the whole store, but for the scopes area ([`super::ScopesKey`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GlobalKey {
    /// 0: version of the backing store's schema.
    SchemaVersion,
    /// 1: the greatest database id handed out.
    MaxDatabaseId,
    /// 2: versions of the serialised values.
    DataVersion,
    /// 3: blobs to be deleted.
    RecoveryBlobJournal,
    /// 4: blobs to be deleted once no reader uses them.
    ActiveBlobJournal,
    /// 5: not to be swept before.
    EarliestSweep,
    /// 6: not to be compacted before.
    EarliestCompaction,
    /// 100: the database id is free. Obsolete.
    DatabaseFreeList(DatabaseId),
    /// 201: a database of this origin and name.
    DatabaseName {
        /// The origin's identifier followed by `@1`; see [`crate::Origin`].
        origin: JsString,
        /// The database's name.
        name: JsString,
    },
}

/// The keys without anything after their type byte, which is their place here.
const SIMPLE: [GlobalKey; tag::GLOBAL_SIMPLE_END as usize] = [
    GlobalKey::SchemaVersion,
    GlobalKey::MaxDatabaseId,
    GlobalKey::DataVersion,
    GlobalKey::RecoveryBlobJournal,
    GlobalKey::ActiveBlobJournal,
    GlobalKey::EarliestSweep,
    GlobalKey::EarliestCompaction,
];

impl GlobalKey {
    /// The type byte.
    #[must_use]
    pub const fn type_byte(&self) -> u8 {
        match self {
            Self::SchemaVersion => 0,
            Self::MaxDatabaseId => 1,
            Self::DataVersion => 2,
            Self::RecoveryBlobJournal => 3,
            Self::ActiveBlobJournal => 4,
            Self::EarliestSweep => 5,
            Self::EarliestCompaction => 6,
            Self::DatabaseFreeList(_) => tag::DATABASE_FREE_LIST,
            Self::DatabaseName { .. } => tag::DATABASE_NAME,
        }
    }

    /// Appends the key's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        KeyPrefix::GLOBAL.encode(out);
        out.push(self.type_byte());
        match self {
            Self::DatabaseFreeList(id) => var_int::encode(id.get(), out),
            Self::DatabaseName { origin, name } => {
                string_with_length::encode(origin, out);
                string_with_length::encode(name, out);
            }
            _ => {}
        }
    }
}

/// Reads what follows the prefix; `None` for an unknown type.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Option<GlobalKey>> {
    let Some(&tag) = reader.rest().first() else {
        return Err(missing_tag(reader));
    };
    reader.byte("metadata type")?;
    Ok(match tag {
        tag::DATABASE_FREE_LIST => Some(GlobalKey::DatabaseFreeList(DatabaseId::read(reader)?)),
        tag::DATABASE_NAME => Some(GlobalKey::DatabaseName {
            origin: string_with_length::read_owned(reader, "origin")?,
            name: string_with_length::read_owned(reader, "database name")?,
        }),
        _ => SIMPLE.get(usize::from(tag)).cloned(),
    })
}
