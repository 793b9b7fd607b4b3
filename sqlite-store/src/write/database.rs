//! A database's file being written.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use larder_backing_store::{DatabaseMetadata, Error, IndexMetadata, ObjectStoreMetadata};
use larder_codec::external_object::ExternalObject;
use larder_codec::idb_key::KeyPart;
use larder_codec::{DataVersion, IndexId, JsString, KeyPath, ObjectStoreId, RawKey, sortable};
use rusqlite::{Connection, OptionalExtension, params};

use super::tables;
use crate::file_names::file_name;
use crate::notes::{self, NO_INDEX};
use crate::sql;
use crate::value::Packer;

/// SQLite keeps so many KiB of pages in memory.
const CACHE_KIB: i64 = 24 << 10;

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
            connection.execute_batch(notes::TABLES)?;
            let v8_data_version =
                (u64::from(data_version.v8) << 32) | u64::from(data_version.blink);
            for (key, value) in [
                ("mmap_status", "-1".to_owned()),
                ("version", "1".to_owned()),
                ("last_compatible_version", "1".to_owned()),
                ("v8_data_version", v8_data_version.to_string()),
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
        let ObjectStoreMetadata {
            id,
            name,
            key_path,
            auto_increment,
            indexes,
        } = object_store;
        let id = id.get();
        let sql = "INSERT INTO object_stores (id, name, key_path, auto_increment, key_generator_current_number) \
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        let path = path_bytes(key_path);
        let values = params![id, utf16_le(name), path, auto_increment, next_key];
        self.connection.execute(sql, values)?;
        if is_array_of_one(key_path) {
            notes::write_array_path(&self.connection, id, NO_INDEX, &utf16_le(name))?;
            self.unsaid.array_paths.push((name.clone(), None));
        }
        for index in indexes {
            let IndexMetadata {
                id: index_id,
                name: index_name,
                key_path,
                unique,
                multi_entry,
            } = index;
            let index_id = index_id.get();
            let sql = "INSERT INTO indexes (object_store_id, id, name, key_path, is_unique, multi_entry) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let (bytes, path) = (utf16_le(index_name), path_bytes(key_path));
            let values = params![id, index_id, bytes, path, unique, multi_entry];
            self.connection.execute(sql, values)?;
            if is_array_of_one(key_path) {
                notes::write_array_path(&self.connection, id, index_id, &bytes)?;
                let names = (name.clone(), Some(index_name.clone()));
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
        self.key.clear();
        sortable::encode(&key.to_key(), &mut self.key);
        let (compression, packed) = self.packer.pack(value)?;
        let written = || {
            let sql = "INSERT INTO records (object_store_id, compression_type, key, value) VALUES (?1, ?2, ?3, ?4)";
            let values = params![object_store.get(), compression, self.key, packed];
            let row_id = self.connection.prepare_cached(sql)?.insert(values)?;
            if has_negative_zero(key) {
                let id = (row_id, NO_INDEX);
                notes::write_negative_zero(&self.connection, id, &self.key, (key, None), packed)?;
                self.unsaid.negative_zeros += 1;
            }
            Ok(RecordRow(row_id))
        };
        let mut written = written;
        written().map_err(|error| sql::error(&self.path, &error))
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
        super::blob::write(&self.connection, record.0, object, content)
            .map_err(|error| self.failed(&error))
    }

    /// Adds an entry of an index. One that is there already is passed over. Whether the record is there: without it no entry is added.
    ///
    /// # Errors
    /// `Io`.
    pub fn entry(
        &mut self,
        object_store: ObjectStoreId,
        index: IndexId,
        key: RawKey<'_>,
        primary_key: RawKey<'_>,
    ) -> Result<bool, Error> {
        for (key, sorted) in [(key, &mut self.key), (primary_key, &mut self.record_key)] {
            sorted.clear();
            sortable::encode(&key.to_key(), sorted);
        }
        let added = self.add_entry((object_store.get(), index.get()), key, primary_key);
        added.map_err(|error| self.failed(&error))
    }

    fn add_entry(
        &mut self,
        (object_store, index): (i64, i64),
        key: RawKey<'_>,
        primary_key: RawKey<'_>,
    ) -> rusqlite::Result<bool> {
        let (sorted, record_key) = (&self.key, &self.record_key);
        let sql = "SELECT row_id FROM records WHERE object_store_id = ?1 AND key = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_row(params![object_store, record_key], |row| row.get(0));
        let Some(row_id): Option<i64> = found.optional()? else {
            return Ok(false);
        };
        let sql = "INSERT OR IGNORE INTO index_references (record_row_id, index_id, key, object_store_id, record_key) \
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        let values = params![row_id, index, sorted, object_store, record_key];
        self.connection.prepare_cached(sql)?.execute(values)?;
        let is_in_key = has_negative_zero(key);
        if is_in_key || has_negative_zero(primary_key) {
            let sql = "SELECT value FROM records WHERE row_id = ?1";
            let value: Vec<u8> = self.connection.query_row(sql, [row_id], |row| row.get(0))?;
            let keys = (key, Some(primary_key));
            notes::write_negative_zero(&self.connection, (row_id, index), sorted, keys, &value)?;
            self.unsaid.negative_zeros += u64::from(is_in_key);
        }
        Ok(true)
    }

    /// Makes the file whole and durable, as one that a browser has closed: what it could not say.
    ///
    /// # Errors
    /// `Io`.
    pub fn finish(self) -> Result<Unsaid, Error> {
        let Self {
            path,
            connection,
            unsaid,
            ..
        } = self;
        let finished = || {
            notes::drop_empty_tables(&connection)?;
            connection.execute_batch(tables::AFTER_ROWS)?;
            connection.execute_batch("COMMIT; PRAGMA synchronous = FULL")?;
            let mode: String =
                connection
                    .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
            debug_assert_eq!(mode, "wal");
            connection.close().map_err(|(_, error)| error)
        };
        finished().map_err(|error| sql::error(&path, &error))?;
        sync(&path).map_err(|error| {
            let what = format!("{}: cannot be made durable: {error}", path.display());
            Error::new(larder_backing_store::ErrorKind::Io, what)
        })?;
        Ok(unsaid)
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

fn has_negative_zero(key: RawKey<'_>) -> bool {
    key.parts()
        .any(|part| matches!(part, KeyPart::Number(number) if number == 0.0 && number.is_sign_negative()))
}

fn is_array_of_one(path: &KeyPath) -> bool {
    matches!(path, KeyPath::Array(parts) if parts.len() == 1)
}

/// Parts of an array stand with spaces between.
fn path_bytes(path: &KeyPath) -> Option<Vec<u8>> {
    match path {
        KeyPath::Null => None,
        KeyPath::String(path) => Some(utf16_le(path)),
        KeyPath::Array(parts) => {
            let parts: Vec<Vec<u8>> = parts.iter().map(utf16_le).collect();
            Some(parts.join(&b" \0"[..]))
        }
    }
}

fn utf16_le(text: &JsString) -> Vec<u8> {
    let units = text.units().iter();
    units.flat_map(|unit| unit.to_le_bytes()).collect()
}
