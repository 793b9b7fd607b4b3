//! A database's file being written.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use larder_backing_store::{DatabaseMetadata, Error, ObjectStoreMetadata};
use larder_codec::external_object::ExternalObject;
use larder_codec::{DataVersion, IndexId, JsString, ObjectStoreId, RawKey};
use rusqlite::{Connection, params};

use super::statements::{self, NewEntry, NewRecord, Statements, sort, utf16_le};
use super::tables;
use crate::file_names::file_name;
use crate::notes;
use crate::schema::version_text;
use crate::sql;
use crate::value::Packer;

/// SQLite keeps so many KiB of pages in memory.
const CACHE_KIB: i64 = 12 << 10;

/// A file with one database, being written. It is whole with [`finish`](Self::finish); dropped without, it is good for nothing.
///
/// Records come first and then the entries of indexes, each best in the order of keys.
///
/// ```
/// use larder_backing_store::DatabaseMetadata;
/// use larder_codec::{DataVersion, DatabaseId, JsString};
/// use larder_sqlite_store::NewDatabase;
///
/// let folder = tempfile::tempdir()?;
/// let metadata = DatabaseMetadata {
///     id: DatabaseId::MIN,
///     origin: JsString::from("http_127.0.0.1_80@1"),
///     name: JsString::from(""),
///     version: Some(1),
///     object_stores: Vec::new(),
/// };
/// let version = DataVersion { v8: 15, blink: 21 };
/// let database = NewDatabase::create(folder.path(), &metadata, version, 0)?;
/// database.finish()?;
/// assert!(folder.path().join("0").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NewDatabase {
    path: PathBuf,
    connection: Connection,
    packer: Packer,
    key: Vec<u8>,
    record_key: Vec<u8>,
    unsaid: Unsaid,
    /// Those that did not have to wait.
    entries: u64,
}

/// What a file has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finished {
    /// What is noted.
    pub unsaid: Unsaid,
    /// Entries of indexes that were added.
    pub entries: u64,
}

/// What a database has that Chromium's tables cannot say. It is noted in tables of our own; a Chromium that opens the file goes on without.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsaid {
    /// Key paths of one part in an array, which Chromium takes for strings: the object store, and the index if it is an index's.
    pub array_paths: Vec<(JsString, Option<JsString>)>,
    /// Keys with -0 in them, which are 0 for Chromium: of records, and of entries of indexes.
    pub negative_zeros: u64,
}

impl NewDatabase {
    /// Creates the file in a folder on the disk, under the name that Chromium looks for. `created` is the time in microseconds since 1601.
    ///
    /// # Errors
    /// `Io`; `Corruption` if there is a file that is no such database.
    pub fn create(
        folder: &Path,
        metadata: &DatabaseMetadata,
        data_version: DataVersion,
        created: i64,
    ) -> Result<Self, Error> {
        let path = folder.join(file_name(&metadata.name));
        let made = || {
            let connection = Connection::open(&path)?;
            // Nobody else has the file, and what is interrupted is thrown away.
            connection.execute_batch(
                "PRAGMA page_size = 4096; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF; \
                 PRAGMA synchronous = OFF; PRAGMA temp_store = FILE; BEGIN",
            )?;
            connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
            connection.execute_batch(tables::TABLES)?;
            let [by_key, ..] = tables::RELIED_ON;
            connection.execute_batch(by_key)?;
            connection.execute_batch(tables::LATER_ENTRIES)?;
            connection.execute_batch(notes::ARRAY_PATHS_TABLE)?;
            connection.execute_batch(notes::NEGATIVE_ZEROS_TABLE)?;
            for (key, value) in [
                ("mmap_status", "-1".to_owned()),
                ("version", "1".to_owned()),
                ("last_compatible_version", "1".to_owned()),
                ("v8_data_version", version_text(data_version)),
                ("created_time", created.to_string()),
            ] {
                let sql = "INSERT INTO meta (key, value) VALUES (?1, ?2)";
                connection.execute(sql, [key, &*value])?;
            }
            let sql = "INSERT INTO indexed_db_metadata (name, version) VALUES (?1, ?2)";
            let version = metadata.version.unwrap_or(0);
            connection.execute(sql, params![utf16_le(&metadata.name), version])?;
            Ok(connection)
        };
        let connection = made().map_err(|error: rusqlite::Error| sql::error(&path, &error))?;
        Ok(Self {
            path,
            connection,
            packer: Packer::new()?,
            key: Vec::new(),
            record_key: Vec::new(),
            unsaid: Unsaid::default(),
            entries: 0,
        })
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        sql::error(&self.path, error)
    }

    /// Adds an object store with its indexes. `next_key` is the next number of its key generator.
    ///
    /// # Errors
    /// `Io`.
    pub fn object_store(
        &mut self,
        object_store: &ObjectStoreMetadata,
        next_key: i64,
    ) -> Result<(), Error> {
        let added = self.add_object_store(object_store, next_key);
        added.map_err(|error| self.failed(&error))
    }

    fn add_object_store(
        &mut self,
        object_store: &ObjectStoreMetadata,
        next_key: i64,
    ) -> rusqlite::Result<()> {
        let name = &object_store.name;
        if statements::insert_object_store(&self.connection, object_store, next_key)? {
            self.unsaid.array_paths.push((name.clone(), None));
        }
        for index in &object_store.indexes {
            let ids = (object_store.id.get(), index.id.get());
            if statements::insert_index(&self.connection, ids, index)? {
                let names = (name.clone(), Some(index.name.clone()));
                self.unsaid.array_paths.push(names);
            }
        }
        Ok(())
    }

    /// Adds a record: its row. `value` is what LevelDB has behind the version.
    ///
    /// # Errors
    /// `Io`; `Corruption` if there is a record with the key already.
    pub fn record(
        &mut self,
        object_store: ObjectStoreId,
        key: RawKey<'_>,
        value: &[u8],
    ) -> Result<RecordRow, Error> {
        sort(key, &mut self.key);
        let (compression, packed) = self.packer.pack(value)?;
        let row = NewRecord {
            object_store: object_store.get(),
            key,
            sorted: &self.key,
            compression,
            packed,
        };
        let written = Statements::new(&self.connection).insert_record(&row);
        let (row_id, has_negative_zero) =
            written.map_err(|error| sql::error(&self.path, &error))?;
        self.unsaid.negative_zeros += u64::from(has_negative_zero);
        Ok(RecordRow(row_id))
    }

    /// Adds an external object of a record; those of one record in the order that LevelDB's row has. `content` is read to its end: how many bytes
    /// it had, or why it could not be read; then a page sees the blob and cannot read it. Handles have none.
    ///
    /// # Errors
    /// `Io`, in writing.
    pub fn external_object(
        &mut self,
        record: RecordRow,
        object: &ExternalObject,
        content: io::Result<&mut dyn Read>,
    ) -> Result<io::Result<u64>, Error> {
        super::blob::write(&self.connection, (None, record.0), object, content)
            .map_err(|error| self.failed(&error))
    }

    /// Adds an entry of an index. One that is there already is passed over, and one whose record is not there.
    ///
    /// Entries come in the order of their keys, and lie in the file by their records: they wait in a temporary file to be sorted.
    ///
    /// # Errors
    /// `Io`.
    pub fn entry(
        &mut self,
        object_store: ObjectStoreId,
        index: IndexId,
        key: RawKey<'_>,
        primary_key: RawKey<'_>,
    ) -> Result<(), Error> {
        sort(key, &mut self.key);
        sort(primary_key, &mut self.record_key);
        let entry = NewEntry {
            object_store: object_store.get(),
            index: index.get(),
            key,
            sorted: &self.key,
            primary_key,
            sorted_primary_key: &self.record_key,
        };
        let failed = |error: rusqlite::Error| sql::error(&self.path, &error);
        if !entry.has_negative_zero() {
            return statements::insert_later(&self.connection, &entry).map_err(failed);
        }
        // It has a note, which is of its record's row.
        let row_id = entry.record_row(&self.connection).map_err(failed)?;
        if let Some(row_id) = row_id {
            let added = Statements::new(&self.connection).insert_entry(row_id, &entry);
            self.unsaid.negative_zeros += u64::from(added.map_err(failed)?);
            self.entries += 1;
        }
        Ok(())
    }

    /// Makes the file whole and durable, as one that a browser has closed.
    ///
    /// # Errors
    /// `Io`.
    pub fn finish(self) -> Result<Finished, Error> {
        let Self {
            path,
            connection,
            unsaid,
            entries,
            ..
        } = self;
        let finished = || {
            let added = connection.execute(tables::ADD_LATER_ENTRIES, ())?;
            connection.execute_batch("DROP TABLE temp.later_entries")?;
            notes::drop_if_empty(&connection, notes::ARRAY_PATHS)?;
            notes::drop_if_empty(&connection, notes::NEGATIVE_ZEROS)?;
            connection.execute_batch(tables::AFTER_ROWS)?;
            let [_, triggers @ ..] = tables::RELIED_ON;
            for trigger in triggers {
                connection.execute_batch(trigger)?;
            }
            connection.execute_batch("COMMIT; PRAGMA synchronous = FULL")?;
            let mode: String =
                connection
                    .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
            debug_assert_eq!(mode, "wal");
            connection.close().map_err(|(_, error)| error)?;
            Ok(added as u64)
        };
        let added = finished().map_err(|error| sql::error(&path, &error))?;
        sync(&path).map_err(|error| {
            let what = format!("{}: cannot be made durable: {error}", path.display());
            Error::new(larder_backing_store::ErrorKind::Io, what)
        })?;
        Ok(Finished {
            unsaid,
            entries: entries + added,
        })
    }
}

/// A record that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordRow(i64);

#[expect(
    clippy::disallowed_methods,
    reason = "SQLite writes the file on the disk, not through the file system's seam"
)]
fn sync(path: &Path) -> io::Result<()> {
    std::fs::File::open(path)?.sync_all()
}
