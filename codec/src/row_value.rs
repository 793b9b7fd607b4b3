//! The value of any row, decoded by what its key is (`docs/FORMAT.md`, sections 4 and 6).
//!
//! For tools that show a store as it is. Serialised values of records stay bytes, and rows of
//! unknown classes do, too.

use crate::blob_journal::BlobJournal;
use crate::data_version::DataVersion;
use crate::error::Result;
use crate::external_object::schema_3::{self, Schema3Object};
use crate::external_object::{self, ExternalObject};
use crate::js_string::JsString;
use crate::key_path::KeyPath;
use crate::primitive::{boolean, int, string, var_int};
use crate::row_key::{
    DatabaseField, GlobalKey, IndexField, ObjectStoreField, RecordTable, RowKey, ScopeTask,
    ScopesKey,
};
use crate::scopes::{CleanupTask, ScopeMetadata, ScopesMetadata, UndoTask};
use crate::versioned::{DataRow, ExistsRow, IndexRow};

/// What a row holds.
///
/// ```
/// use larder_codec::{RowKey, RowValue};
/// let key = RowKey::decode_exact(&[0, 0, 0, 0, 0])?;
/// assert_eq!(RowValue::decode_exact(&key, &[5], 5)?, RowValue::Int(5));
/// # Ok::<(), larder_codec::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowValue<'a> {
    /// An Int: the schema version, a greatest or last id, the id in a name row, a last version, a
    /// key generator's next number; or microseconds since 1601-01-01 UTC (earliest sweep and
    /// earliest compaction).
    Int(i64),
    /// A VarInt: the version that users see, a blob number generator's next number.
    VarInt(i64),
    /// A Bool.
    Bool(bool),
    /// A String: a name, an old string version.
    String(JsString),
    /// A key path.
    KeyPath(KeyPath),
    /// Versions of the serialised values.
    DataVersion(DataVersion),
    /// Blobs to be deleted.
    BlobJournal(BlobJournal),
    /// A record's version and serialised value.
    Data(DataRow<'a>),
    /// A record's version.
    Exists(ExistsRow),
    /// A record's external objects.
    ExternalObjects(Vec<ExternalObject>),
    /// A record's external objects in a store of schema 3.
    Schema3Objects(Vec<Schema3Object>),
    /// An index entry's version and primary key.
    Index(IndexRow<'a>),
    /// The undo log's version.
    ScopesMetadata(ScopesMetadata),
    /// A scope's locks.
    ScopeMetadata(ScopeMetadata<'a>),
    /// A step of undoing a scope.
    UndoTask(UndoTask<'a>),
    /// A step of cleaning up after a scope.
    CleanupTask(CleanupTask<'a>),
    /// A row that says all by being there (free lists), or one of an unknown class.
    Opaque(&'a [u8]),
}

impl<'a> RowValue<'a> {
    /// The value that is the whole of `input`, in the form that `key` requires.
    ///
    /// `schema_version` is that of the store (row [`GlobalKey::SchemaVersion`]): below 4, external objects have another
    /// form. All other rows are the same in all schemas that are still read.
    ///
    /// # Errors
    /// If `input` does not have that form.
    pub fn decode_exact(key: &RowKey<'_>, input: &'a [u8], schema_version: i64) -> Result<Self> {
        match key {
            RowKey::Global(key) => Self::decode_global(key, input),
            RowKey::Scopes(key) => Self::decode_scopes(key, input),
            RowKey::Database(key) => Self::decode_database(&key.field, input),
            RowKey::ObjectStoreMetadata(key) => Self::decode_object_store(key.field, input),
            RowKey::IndexMetadata(key) => match key.field {
                IndexField::Name => string::decode_exact(input).map(Self::String),
                IndexField::KeyPath => KeyPath::decode_exact(input).map(Self::KeyPath),
                IndexField::Unique | IndexField::MultiEntry => {
                    boolean::decode_exact(input).map(Self::Bool)
                }
            },
            RowKey::Record(key) => match key.table {
                RecordTable::Data => DataRow::decode_exact(input).map(Self::Data),
                RecordTable::Exists => ExistsRow::decode_exact(input).map(Self::Exists),
                RecordTable::ExternalObject if schema_version < 4 => {
                    schema_3::decode_all(input).map(Self::Schema3Objects)
                }
                RecordTable::ExternalObject => {
                    external_object::decode_all(input).map(Self::ExternalObjects)
                }
            },
            RowKey::IndexData(_) => IndexRow::decode_exact(input).map(Self::Index),
            RowKey::Unknown(_) => Ok(Self::Opaque(input)),
        }
    }

    fn decode_global(key: &GlobalKey, input: &'a [u8]) -> Result<Self> {
        match key {
            GlobalKey::SchemaVersion
            | GlobalKey::MaxDatabaseId
            | GlobalKey::EarliestSweep
            | GlobalKey::EarliestCompaction
            | GlobalKey::DatabaseName { .. } => int::decode_exact(input).map(Self::Int),
            GlobalKey::DataVersion => DataVersion::decode_exact(input).map(Self::DataVersion),
            GlobalKey::RecoveryBlobJournal | GlobalKey::ActiveBlobJournal => {
                BlobJournal::decode_exact(input).map(Self::BlobJournal)
            }
            GlobalKey::DatabaseFreeList(_) => Ok(Self::Opaque(input)),
        }
    }

    fn decode_scopes(key: &ScopesKey, input: &'a [u8]) -> Result<Self> {
        match key {
            ScopesKey::GlobalMetadata => {
                ScopesMetadata::decode_exact(input).map(Self::ScopesMetadata)
            }
            ScopesKey::ScopeMetadata(_) => {
                ScopeMetadata::decode_exact(input).map(Self::ScopeMetadata)
            }
            ScopesKey::Task { task, .. } => match task {
                ScopeTask::Undo => UndoTask::decode_exact(input).map(Self::UndoTask),
                ScopeTask::Cleanup => CleanupTask::decode_exact(input).map(Self::CleanupTask),
            },
        }
    }

    fn decode_database(field: &DatabaseField, input: &'a [u8]) -> Result<Self> {
        match field {
            DatabaseField::OriginName
            | DatabaseField::DatabaseName
            | DatabaseField::StringVersion => string::decode_exact(input).map(Self::String),
            DatabaseField::MaxObjectStoreId
            | DatabaseField::ObjectStoreName(_)
            | DatabaseField::IndexName(..) => int::decode_exact(input).map(Self::Int),
            DatabaseField::UserVersion | DatabaseField::BlobNumberGenerator => {
                var_int::decode_exact(input).map(Self::VarInt)
            }
            DatabaseField::ObjectStoreFreeList(_) | DatabaseField::IndexFreeList(..) => {
                Ok(Self::Opaque(input))
            }
        }
    }

    fn decode_object_store(field: ObjectStoreField, input: &'a [u8]) -> Result<Self> {
        match field {
            ObjectStoreField::Name => string::decode_exact(input).map(Self::String),
            ObjectStoreField::KeyPath => KeyPath::decode_exact(input).map(Self::KeyPath),
            ObjectStoreField::AutoIncrement
            | ObjectStoreField::Evictable
            | ObjectStoreField::HasKeyPath => boolean::decode_exact(input).map(Self::Bool),
            ObjectStoreField::LastVersion
            | ObjectStoreField::MaxIndexId
            | ObjectStoreField::KeyGenerator => int::decode_exact(input).map(Self::Int),
        }
    }

    /// Appends the value's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Int(number) => int::encode(*number, out),
            Self::VarInt(number) => var_int::encode(*number, out),
            Self::Bool(flag) => boolean::encode(*flag, out),
            Self::String(text) => string::encode(text, out),
            Self::KeyPath(path) => path.encode(out),
            Self::DataVersion(version) => version.encode(out),
            Self::BlobJournal(journal) => journal.encode(out),
            Self::Data(row) => row.encode(out),
            Self::Exists(row) => row.encode(out),
            Self::ExternalObjects(objects) => external_object::encode_all(objects, out),
            Self::Schema3Objects(objects) => {
                objects.iter().for_each(|object| object.encode(out));
            }
            Self::Index(row) => row.encode(out),
            Self::ScopesMetadata(message) => message.encode(out),
            Self::ScopeMetadata(message) => message.encode(out),
            Self::UndoTask(message) => message.encode(out),
            Self::CleanupTask(message) => message.encode(out),
            Self::Opaque(bytes) => out.extend_from_slice(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_key::tests::StoredKey;
    use crate::testing::{bytes_of, properties};

    #[test]
    fn the_key_decides_the_form_of_the_value() {
        for (key, value, expected) in [
            (&[0, 0, 0, 0, 0][..], &[5][..], RowValue::Int(5)),
            (&[0, 1, 0, 0, 4], &[0xac, 2], RowValue::VarInt(300)),
            (&[0, 1, 0, 0, 3], &[0x2c, 1], RowValue::Int(300)),
            (
                &[0, 1, 0, 0, 50, 1, 0],
                &[0, 0x73],
                RowValue::String("s".into()),
            ),
            (
                &[0, 1, 0, 0, 50, 1, 1],
                &[0, 0, 0],
                RowValue::KeyPath(KeyPath::Null),
            ),
            (&[0, 1, 0, 0, 50, 1, 2], &[1], RowValue::Bool(true)),
            (&[0, 1, 0, 0, 100, 1, 31, 3], &[0], RowValue::Bool(false)),
            (&[0, 0, 0, 0, 100, 1], &[], RowValue::Opaque(&[])),
            (&[0, 0, 0, 0, 99], &[1, 2], RowValue::Opaque(&[1, 2])),
        ] {
            let key = RowKey::decode_exact(key).unwrap();
            assert_eq!(RowValue::decode_exact(&key, value, 5), Ok(expected.clone()));
            assert_eq!(bytes_of(|out| expected.encode(out)), value);
        }
    }

    #[test]
    fn files_of_schema_3_have_their_own_form() {
        // A row of a store of Chromium 64: a File without size and time.
        let key = RowKey::decode_exact(&[0, 12, 1, 3, 1, 0]).unwrap();
        let value = [1, 8, 0, 0];
        assert!(RowValue::decode_exact(&key, &value, 4).is_err());
        let decoded = RowValue::decode_exact(&key, &value, 3).unwrap();
        assert!(matches!(&decoded, RowValue::Schema3Objects(objects) if objects.len() == 1));
        assert_eq!(bytes_of(|out| decoded.encode(out)), value);
    }

    properties! {
        fn any_value_decodes_by_its_key_and_again_from_its_encoding_or_errs(key: StoredKey, value: Vec<u8>, old: bool) -> bool {
            let StoredKey(key) = key;
            let key = RowKey::decode_exact(&key).unwrap();
            let schema = if old { 3 } else { 5 };
            match RowValue::decode_exact(&key, &value, schema) {
                Ok(decoded) => {
                    RowValue::decode_exact(&key, &bytes_of(|out| decoded.encode(out)), schema) == Ok(decoded)
                }
                Err(error) => error.offset() <= value.len(),
            }
        }
    }
}
