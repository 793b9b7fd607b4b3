//! A commit of rows, said in statements.
//!
//! The rows come in their order: those of metadata first, and of each object store its records, what shows that they exist, their external objects,
//! and the entries of its indexes. In LevelDB a record that is replaced leaves its entries behind, which are stale by its version;
//! here they go with the record's row, by Chromium's triggers. So of the entries that come with a commit only those are inserted that are of
//! their record's last version.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::{BlobReader, ChangedRow, Error, ErrorKind, RowCommit, StorePaths};
use larder_codec::external_object::{ExternalObject, decode_all};
use larder_codec::primitive::int;
use larder_codec::row_key::{
    IndexDataKey, ObjectStoreField, ObjectStoreMetadataKey, RecordKey, RecordTable, RowKey,
};
use larder_codec::versioned::{DataRow, IndexRow};
use larder_codec::{BlobNumber, DataVersion, DatabaseId, ObjectStoreId, RawKey};
use larder_leveldb::storage::FileSystem;
use rusqlite::{Connection, params};

use super::schema_changes;
use crate::database::row_id;
use crate::notes;
use crate::schema::{ORIGIN, Schema, version_text};
use crate::sql;
use crate::value::{Packer, RECORD_VERSION};
use crate::write::blob;
use crate::write::statements::{
    NewEntry, NewRecord, Statements, has_negative_zero, record_row, sort,
};

/// Keeps the blobs and files of an object store's records for those that may be reading them; handles are copied when they are read. The next program that opens the file takes such references away.
pub(super) const HOLD_BLOBS_OF_STORE: &str = "INSERT INTO blob_references (blob_row_id, record_row_id) \
     SELECT blob_row_id, NULL FROM blob_references JOIN blobs ON blobs.row_id = blob_row_id \
     WHERE object_type <> 2 AND record_row_id IN (SELECT row_id FROM records WHERE object_store_id = ?1)";

/// Keeps those of one record.
const HOLD_BLOBS_OF_RECORD: &str = "INSERT INTO blob_references (blob_row_id, record_row_id) \
     SELECT blob_row_id, NULL FROM blob_references JOIN blobs ON blobs.row_id = blob_row_id \
     WHERE object_type <> 2 AND record_row_id IN \
     (SELECT row_id FROM records WHERE object_store_id = ?1 AND key = ?2)";

/// A record that a commit has put: its version in LevelDB's terms, and its row.
#[derive(Debug, Clone, Copy)]
struct Written {
    version: i64,
    row_id: i64,
}

/// Where contents of blobs lie that are to be put into the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contents<'a> {
    pub(super) fs: &'a dyn FileSystem,
    pub(super) paths: &'a StorePaths,
}

/// A commit on its way into a file, within a transaction of the connection.
#[derive(Debug)]
pub(super) struct Application<'a> {
    pub(super) path: &'a Path,
    pub(super) connection: &'a Connection,
    pub(super) packer: &'a mut Packer,
    pub(super) schema: Arc<Schema>,
    pub(super) contents: Contents<'a>,
    /// Files of contents that are in the tables now.
    pub(super) taken: Vec<PathBuf>,
    handles: std::slice::Iter<'a, BlobNumber>,
    statements: Statements<'a>,
    /// The last record that was put replaced one.
    replaces: bool,
    written: HashMap<(i64, Vec<u8>), Written>,
    key: Vec<u8>,
    primary_key: Vec<u8>,
}

impl<'a> Application<'a> {
    pub(super) fn new(
        path: &'a Path,
        (connection, packer): (&'a Connection, &'a mut Packer),
        schema: Arc<Schema>,
        contents: Contents<'a>,
        handles: &'a [BlobNumber],
    ) -> Self {
        Self {
            path,
            connection,
            packer,
            schema,
            contents,
            taken: Vec::new(),
            handles: handles.iter(),
            statements: Statements::new(connection),
            replaces: false,
            written: HashMap::new(),
            key: Vec::new(),
            primary_key: Vec::new(),
        }
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        sql::error(self.path, error)
    }

    /// Says all of it.
    pub(super) fn apply(&mut self, commit: RowCommit<'_>) -> Result<(), Error> {
        if let Some(metadata) = &commit.metadata {
            let schema = Arc::make_mut(&mut self.schema);
            let changed = schema_changes::apply(self.connection, schema, metadata);
            changed.map_err(|error| sql::error(self.path, &error))?;
            let noted = self.note_origin();
            noted.map_err(|error| self.failed(&error))?;
        }
        let raised = self.raise_version(commit.data_version);
        raised.map_err(|error| self.failed(&error))?;
        for row in commit.rows {
            if says_that_a_record_exists(row.key) {
                continue;
            }
            let decoded = RowKey::decode_exact(row.key).map_err(|error| wrong(row.key, &error))?;
            self.row(commit.database_id, &decoded, row)?;
        }
        Ok(())
    }

    /// What the file is now, and files whose contents are in the tables.
    pub(super) fn finish(self) -> (Arc<Schema>, Vec<PathBuf>) {
        (self.schema, self.taken)
    }

    /// Notes the origin where no folder is called by it.
    fn note_origin(&mut self) -> rusqlite::Result<()> {
        let origin = &self.schema.metadata.origin;
        if self.contents.paths.identifier().is_some() || self.schema.origin.as_ref() == Some(origin)
        {
            return Ok(());
        }
        let origin = origin.clone();
        let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
        self.connection
            .execute(sql, [ORIGIN, &origin.to_string_lossy()])?;
        Arc::make_mut(&mut self.schema).origin = Some(origin);
        Ok(())
    }

    fn raise_version(&mut self, version: DataVersion) -> rusqlite::Result<()> {
        if self.schema.data_version.is_some_and(|now| now == version) {
            return Ok(());
        }
        let raised = self
            .schema
            .data_version
            .map_or(version, |now| now.max(version));
        if self.schema.data_version != Some(raised) {
            let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES ('v8_data_version', ?1)";
            self.connection.execute(sql, [version_text(raised)])?;
            Arc::make_mut(&mut self.schema).data_version = Some(raised);
        }
        Ok(())
    }

    fn row(
        &mut self,
        database_id: DatabaseId,
        key: &RowKey<'_>,
        row: ChangedRow<'_>,
    ) -> Result<(), Error> {
        match key {
            RowKey::ObjectStoreMetadata(key) if key.database_id == database_id => {
                self.metadata(key, row)
            }
            RowKey::Record(key)
                if key.database_id == database_id && self.has(key.object_store_id) =>
            {
                self.record(key, row)
            }
            RowKey::IndexData(key)
                if key.database_id == database_id && self.has(key.object_store_id) =>
            {
                self.entry(key, row)
            }
            // The others of metadata were said together, and of the whole store's none has a place in a file.
            _ => Ok(()),
        }
    }

    fn has(&self, id: ObjectStoreId) -> bool {
        let stores = &self.schema.metadata.object_stores;
        stores.iter().any(|store| store.id == id)
    }

    fn has_indexes(&self, id: ObjectStoreId) -> bool {
        let mut stores = self.schema.metadata.object_stores.iter();
        stores.any(|store| store.id == id && !store.indexes.is_empty())
    }

    /// The key generator's next number; the rest is said with the database's metadata.
    fn metadata(&self, key: &ObjectStoreMetadataKey, row: ChangedRow<'_>) -> Result<(), Error> {
        let (ObjectStoreField::KeyGenerator, Some(value)) = (key.field, row.value) else {
            return Ok(());
        };
        let next = int::decode_exact(value).map_err(|error| wrong(row.key, &error))?;
        let sql = "UPDATE object_stores SET key_generator_current_number = ?2 WHERE id = ?1";
        let said = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute([key.object_store_id.get(), next]));
        said.map(drop).map_err(|error| self.failed(&error))
    }

    fn record(&mut self, key: &RecordKey<'_>, row: ChangedRow<'_>) -> Result<(), Error> {
        match (key.table, row.value) {
            (RecordTable::Data, Some(value)) => {
                let row = DataRow::decode_exact(value).map_err(|error| wrong(row.key, &error))?;
                self.put(key, &row)
            }
            (RecordTable::Data, None) => {
                let deleted = self.delete(key);
                deleted.map(drop).map_err(|error| self.failed(&error))
            }
            (RecordTable::ExternalObject, Some(value)) => {
                let objects = decode_all(value).map_err(|error| wrong(row.key, &error))?;
                self.put_objects(key, &objects)
            }
            // They go with the record's row, and that a record exists is said by it.
            (RecordTable::ExternalObject, None) | (RecordTable::Exists, _) => Ok(()),
        }
    }

    /// Deletes a record's row, if it is there, and with it what refers to it; whether it was.
    fn delete(&mut self, key: &RecordKey<'_>) -> rusqlite::Result<bool> {
        sort(key.key, &mut self.key);
        self.delete_sorted(key.object_store_id.get())
    }

    fn delete_sorted(&mut self, object_store: i64) -> rusqlite::Result<bool> {
        let values = params![object_store, self.key];
        if self.schema.has_blobs {
            self.connection
                .prepare_cached(HOLD_BLOBS_OF_RECORD)?
                .execute(values)?;
        }
        if self.schema.has_negative_zeros {
            self.connection
                .prepare_cached(notes::REMOVE_OF_RECORD)?
                .execute(values)?;
        }
        self.statements.delete_record(object_store, &self.key)
    }

    fn put(&mut self, key: &RecordKey<'_>, row: &DataRow<'_>) -> Result<(), Error> {
        let object_store = key.object_store_id.get();
        sort(key.key, &mut self.key);
        self.make_notes_for(has_negative_zero(key.key))?;
        let row_id = self.replace(object_store, key.key, row.value)?;
        if self.has_indexes(key.object_store_id) {
            let version = row.version.get();
            let place = (object_store, self.key.clone());
            self.written.insert(place, Written { version, row_id });
        }
        Ok(())
    }

    /// Inserts a record in place of the one that may be there: its row's id.
    ///
    /// INSERT OR REPLACE, which does that, copies every page that it changes before, so that it can take back what the triggers do. So what is there is
    /// deleted first, if the record before replaced one, or else when the insertion says that it is there: many that are put are mostly of one kind.
    fn replace(&mut self, object_store: i64, key: RawKey<'_>, value: &[u8]) -> Result<i64, Error> {
        let failed = |error: rusqlite::Error| sql::error(self.path, &error);
        if self.replaces {
            self.replaces = self.delete_sorted(object_store).map_err(failed)?;
        }
        let inserted = match self.insert(object_store, key, value)? {
            Err(error) if is_there(&error) => {
                self.replaces = self.delete_sorted(object_store).map_err(failed)?;
                self.insert(object_store, key, value)?
            }
            inserted => inserted,
        };
        inserted.map_err(failed)
    }

    /// Inserts a record with the key that was sorted last: its row's id.
    fn insert(
        &mut self,
        object_store: i64,
        key: RawKey<'_>,
        value: &[u8],
    ) -> Result<rusqlite::Result<i64>, Error> {
        let (compression, packed) = self.packer.pack(value)?;
        let record = NewRecord {
            object_store,
            key,
            sorted: &self.key,
            compression,
            packed,
        };
        let inserted = self.statements.insert_record(&record);
        Ok(inserted.map(|(row_id, _)| row_id))
    }

    /// Makes the tables for notes, if one is to be written.
    fn make_notes_for(&mut self, is_noted: bool) -> Result<(), Error> {
        if is_noted && !self.schema.has_negative_zeros {
            let made = self.connection.execute_batch(notes::NEGATIVE_ZEROS_TABLE);
            made.map_err(|error| self.failed(&error))?;
            Arc::make_mut(&mut self.schema).has_negative_zeros = true;
        }
        Ok(())
    }

    fn put_objects(
        &mut self,
        key: &RecordKey<'_>,
        objects: &[ExternalObject],
    ) -> Result<(), Error> {
        sort(key.key, &mut self.key);
        let found = record_row(self.connection, key.object_store_id.get(), &self.key)
            .and_then(|found| found.ok_or(rusqlite::Error::QueryReturnedNoRows));
        let record_row_id = found.map_err(|error| self.failed(&error))?;
        for object in objects {
            let Contents { fs, paths } = self.contents;
            let (number, mut content): (_, Box<dyn Read>) = match object {
                ExternalObject::Blob(blob) | ExternalObject::File { blob, .. } => {
                    let content = BlobReader::open(fs, paths, key.database_id, blob)?;
                    if blob.size_bytes != 0 {
                        let path = paths.blob_file(key.database_id, blob.number);
                        self.taken.push(path);
                    }
                    (Some(blob.number), Box::new(content))
                }
                ExternalObject::FileSystemAccessHandle { .. } => {
                    (self.handles.next().copied(), Box::new(io::empty()))
                }
            };
            let ids = (number.map(row_id), record_row_id);
            blob::write(self.connection, ids, object, Ok(&mut *content))
                .map_err(|error| self.failed(&error))?
                .map_err(|error| unreadable(self.path, &error))?;
        }
        if !self.schema.has_blobs && !objects.is_empty() {
            Arc::make_mut(&mut self.schema).has_blobs = true;
        }
        Ok(())
    }

    fn entry(&mut self, key: &IndexDataKey<'_>, row: ChangedRow<'_>) -> Result<(), Error> {
        let Some(index) = self.schema.index_in_file(key.object_store_id, key.index_id) else {
            return Ok(());
        };
        let object_store = key.object_store_id.get();
        sort(key.index_key, &mut self.key);
        let Some(value) = row.value else {
            let Some(primary_key) = key.primary_key() else {
                return Ok(());
            };
            sort(primary_key, &mut self.primary_key);
            let sql = "DELETE FROM index_references WHERE object_store_id = ?1 AND index_id = ?2 AND key = ?3 \
                       AND record_key = ?4";
            let values = params![object_store, index, self.key, self.primary_key];
            let deleted = self
                .connection
                .prepare_cached(sql)
                .and_then(|mut statement| statement.execute(values));
            return deleted.map(drop).map_err(|error| self.failed(&error));
        };
        let row = IndexRow::decode_exact(value).map_err(|error| wrong(row.key, &error))?;
        sort(row.primary_key, &mut self.primary_key);
        self.make_notes_for(
            has_negative_zero(key.index_key) || has_negative_zero(row.primary_key),
        )?;
        let place = (object_store, std::mem::take(&mut self.primary_key));
        let written = self.written.get(&place).copied();
        self.primary_key = place.1;
        let is_stale = |last: i64| last != row.version.get();
        if is_stale(written.map_or(RECORD_VERSION, |written| written.version)) {
            return Ok(());
        }
        let entry = NewEntry {
            object_store,
            index,
            key: key.index_key,
            sorted: &self.key,
            primary_key: row.primary_key,
            sorted_primary_key: &self.primary_key,
        };
        let inserted = match written {
            Some(written) => Ok(Some(written.row_id)),
            None => entry.record_row(self.connection),
        }
        .and_then(|row_id| match row_id {
            Some(row_id) => self.statements.insert_entry(row_id, &entry).map(drop),
            None => Ok(()),
        });
        inserted.map_err(|error| self.failed(&error))
    }
}

/// Whether the statement would have made two rows that must differ.
fn is_there(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE)
}

/// Whether a row is one of those, which the record's own row says here. Of long ids this is found out later.
fn says_that_a_record_exists(key: &[u8]) -> bool {
    matches!(key, [0, database, object_store, table, ..]
        if *database != 0 && *object_store != 0 && u32::from(*table) == RecordTable::Exists.index_number())
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    let path = path.display();
    let what = format!("{path}: the content of a blob cannot be read: {error}");
    Error::new(ErrorKind::Io, what)
}

/// A row that is staged is one that was made here.
fn wrong(key: &[u8], error: &larder_codec::Error) -> Error {
    Error::new(
        ErrorKind::Corruption,
        format!("a row to be written: {error}"),
    )
    .with_key(key)
}
