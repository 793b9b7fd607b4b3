//! What a database says of itself: its versions, object stores and indexes.

use std::collections::BTreeSet;
use std::path::Path;

use larder_backing_store::{
    DatabaseMetadata, Error, ErrorKind, IndexMetadata, ObjectStoreMetadata,
};
use larder_codec::{DataVersion, DatabaseId, IndexId, JsString, KeyPath, ObjectStoreId};
use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::notes::{self, NO_INDEX};
use crate::sql;

/// The newest form of the tables that is known here.
const VERSION_MAX: i64 = 1;

/// The row of `meta` in which Larder notes the origin of a bucket's databases. Chromium leaves it alone.
pub(crate) const ORIGIN: &str = "larder_origin";

/// Chromium's first index id is the one behind this.
const INDEX_ID_BASE: i64 = 30;

/// The columns without which a database cannot be read.
const COLUMNS: [(&str, &[&str]); 5] = [
    ("indexed_db_metadata", &["name", "version"]),
    (
        "object_stores",
        &[
            "id",
            "name",
            "key_path",
            "auto_increment",
            "key_generator_current_number",
        ],
    ),
    (
        "indexes",
        &[
            "object_store_id",
            "id",
            "name",
            "key_path",
            "is_unique",
            "multi_entry",
        ],
    ),
    ("records", &["row_id", "object_store_id", "key", "value"]),
    (
        "index_references",
        &["object_store_id", "index_id", "key", "record_key"],
    ),
];

/// Those of the tables of blobs, which early stores may lack.
const BLOB_COLUMNS: [(&str, &[&str]); 3] = [
    (
        "blobs",
        &[
            "row_id",
            "object_type",
            "mime_type",
            "size_bytes",
            "file_name",
            "last_modified",
            "bytes",
        ],
    ),
    (
        "overflow_blob_chunks",
        &["blob_row_id", "chunk_index", "bytes"],
    ),
    ("blob_references", &["blob_row_id", "record_row_id"]),
];

/// What is read of a database once. The numbers are as they were then.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    pub(crate) metadata: DatabaseMetadata,
    pub(crate) data_version: Option<DataVersion>,
    /// The origin that Larder has noted, in the form that LevelDB's rows have.
    pub(crate) origin: Option<JsString>,
    pub(crate) next_keys: Vec<(ObjectStoreId, i64)>,
    /// The ids that the file has for indexes, which may lie below those that LevelDB reserves.
    pub(crate) index_ids: Vec<(ObjectStoreId, IndexId, i64)>,
    /// Stores before Chromium 150 pack no values.
    pub(crate) has_compression: bool,
    pub(crate) has_blobs: bool,
    pub(crate) has_negative_zeros: bool,
    /// The greatest row id of a blob.
    pub(crate) blob_max: i64,
}

impl Schema {
    /// The id that the file has for an index.
    pub(crate) fn index_in_file(&self, store: ObjectStoreId, index: IndexId) -> Option<i64> {
        let mut ids = self.index_ids.iter();
        let found = ids.find(|(of, given, _)| (*of, *given) == (store, index));
        found.map(|(.., in_file)| *in_file)
    }
}

/// Reads it; nothing if the file is no database: a browser was killed in its first upgrade. What cannot be read of it goes to `problems`.
pub(crate) fn read(
    path: &Path,
    connection: &Connection,
    problems: &mut Vec<Error>,
) -> Result<Option<Schema>, Error> {
    let mut reader = Reader {
        path,
        connection,
        problems,
    };
    reader.check_tables()?;
    let Some((name, version)) = reader.database()? else {
        return Ok(None);
    };
    let has_blob_tables = reader.has_blob_tables()?;
    let blob_max = "SELECT coalesce(max(row_id), 0) FROM blobs";
    let any = "SELECT EXISTS (SELECT 1 FROM blob_references WHERE record_row_id IS NOT NULL)";
    let mut schema = Schema {
        metadata: DatabaseMetadata {
            id: DatabaseId::MIN,
            origin: JsString::from(""),
            name,
            version: Some(version),
            object_stores: Vec::new(),
        },
        data_version: reader.meta("v8_data_version")?.map(data_version),
        origin: reader.origin()?,
        next_keys: Vec::new(),
        index_ids: Vec::new(),
        has_compression: reader.columns("records")?.contains("compression_type"),
        has_blobs: has_blob_tables && reader.one(any)?,
        has_negative_zeros: reader
            .has_columns(notes::NEGATIVE_ZEROS, &notes::NEGATIVE_ZEROS_COLUMNS)?,
        blob_max: if has_blob_tables {
            reader.one(blob_max)?
        } else {
            0
        },
    };
    reader.object_stores(&mut schema)?;
    reader.indexes(&mut schema)?;
    reader.array_paths(&mut schema)?;
    Ok(Some(schema))
}

/// V8's version stands above Blink's.
fn data_version(version: i64) -> DataVersion {
    let version = version.cast_unsigned();
    DataVersion {
        v8: (version >> 32) as u32,
        blink: version as u32,
    }
}

/// Both as one number, as `meta` has it.
pub(crate) fn version_text(version: DataVersion) -> String {
    ((u64::from(version.v8) << 32) | u64::from(version.blink)).to_string()
}

struct Reader<'a> {
    path: &'a Path,
    connection: &'a Connection,
    problems: &'a mut Vec<Error>,
}

impl Reader<'_> {
    fn failed(&self, error: &rusqlite::Error) -> Error {
        sql::error(self.path, error)
    }

    /// Fails if the tables have another form than is known here.
    fn check_tables(&self) -> Result<(), Error> {
        if let Some(version) = self.meta("last_compatible_version")?
            && version > VERSION_MAX
        {
            let path = self.path.display();
            let what =
                format!("{path}: its form is version {version}; this Larder reads {VERSION_MAX}");
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        for (table, needed) in COLUMNS {
            let columns = self.columns(table)?;
            if let Some(missing) = needed.iter().find(|name| !columns.contains(**name)) {
                let what = format!("its table {table} has no column {missing}");
                return Err(sql::damage(self.path, &what));
            }
        }
        Ok(())
    }

    fn has_blob_tables(&mut self) -> Result<bool, Error> {
        for (table, needed) in BLOB_COLUMNS {
            if !self.has_columns(table, needed)? {
                let what =
                    format!("its table {table}, of blobs, is missing or has not all columns");
                self.problems.push(sql::damage(self.path, &what));
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Its name and version; nothing if no version was ever committed.
    fn database(&self) -> Result<Option<(JsString, i64)>, Error> {
        let sql = "SELECT name, version FROM indexed_db_metadata ORDER BY rowid LIMIT 1";
        let read = |row: &Row<'_>| Ok((name(row, 0)?, row.get::<_, i64>(1)?));
        let found = self.connection.query_row(sql, (), read).optional();
        match found.map_err(|error| self.failed(&error))? {
            Some((name, version)) => Ok((version >= 0).then_some((name, version))),
            None => Err(sql::damage(
                self.path,
                "it does not say which database it is",
            )),
        }
    }

    fn object_stores(&mut self, schema: &mut Schema) -> Result<(), Error> {
        let sql = "SELECT id, name, key_path, auto_increment, key_generator_current_number \
                   FROM object_stores ORDER BY id";
        self.each(sql, |row| {
            let (id, name, key_path) = (row.get(0)?, name(row, 1)?, key_path(row, 2)?);
            let (auto_increment, next_key) = (row.get(3)?, row.get(4)?);
            let Some(id) = ObjectStoreId::new(id) else {
                return Ok(Err(format!("object store id {id} is none")));
            };
            schema.next_keys.push((id, next_key));
            schema.metadata.object_stores.push(ObjectStoreMetadata {
                id,
                name,
                key_path,
                auto_increment,
                indexes: Vec::new(),
            });
            Ok(Ok(()))
        })
    }

    fn indexes(&mut self, schema: &mut Schema) -> Result<(), Error> {
        let sql = "SELECT object_store_id, id, name, key_path, is_unique, multi_entry \
                   FROM indexes ORDER BY object_store_id, id";
        self.each(sql, |row| {
            let (store, id): (i64, i64) = (row.get(0)?, row.get(1)?);
            let (name, key_path) = (name(row, 2)?, key_path(row, 3)?);
            let (unique, multi_entry) = (row.get(4)?, row.get(5)?);
            let mut stores = schema.metadata.object_stores.iter_mut();
            let Some(object_store) = stores.find(|candidate| candidate.id.get() == store) else {
                let what = format!("index {id} is of object store {store}, which is not there");
                return Ok(Err(what));
            };
            // Ids up to Chromium's first one, as a store has them that was made after a reopening, move behind those of its own.
            let last = object_store.indexes.last();
            let last = last.map_or(INDEX_ID_BASE, |index| index.id.get());
            let Some(given) = IndexId::new(id.max(last + 1)) else {
                return Ok(Err(format!("index id {id} is none")));
            };
            schema.index_ids.push((object_store.id, given, id));
            object_store.indexes.push(IndexMetadata {
                id: given,
                name,
                key_path,
                unique,
                multi_entry,
            });
            Ok(Ok(()))
        })
    }

    /// Takes from the notes which key paths are arrays of one part.
    fn array_paths(&self, schema: &mut Schema) -> Result<(), Error> {
        if !self.has_columns(notes::ARRAY_PATHS, &notes::ARRAY_PATHS_COLUMNS)? {
            return Ok(());
        }
        let ids = &schema.index_ids;
        for store in &mut schema.metadata.object_stores {
            self.array_path(&mut store.key_path, (store.id, NO_INDEX), &store.name)?;
            for index in &mut store.indexes {
                let mut ids = ids.iter().filter(|(of, ..)| *of == store.id);
                let in_file = ids.find(|(_, given, _)| *given == index.id);
                if let Some((_, _, in_file)) = in_file {
                    self.array_path(&mut index.key_path, (store.id, *in_file), &index.name)?;
                }
            }
        }
        Ok(())
    }

    fn array_path(
        &self,
        path: &mut KeyPath,
        (store, index): (ObjectStoreId, i64),
        name: &JsString,
    ) -> Result<(), Error> {
        if let KeyPath::String(one) = path {
            let is_array = notes::is_array_path(self.connection, store.get(), index, name);
            if is_array.map_err(|error| self.failed(&error))? {
                *path = KeyPath::Array(vec![one.clone()]);
            }
        }
        Ok(())
    }

    /// Calls `take` with each row of an answer, which reads it and may say what is wrong with it; the others are read all the same.
    fn each(
        &mut self,
        sql: &str,
        mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<Result<(), String>>,
    ) -> Result<(), Error> {
        let mut statement = self
            .connection
            .prepare(sql)
            .map_err(|error| self.failed(&error))?;
        let mut rows = statement.query(()).map_err(|error| self.failed(&error))?;
        while let Some(row) = rows.next().map_err(|error| self.failed(&error))? {
            match take(row) {
                Ok(Ok(())) => {}
                Ok(Err(what)) => self.problems.push(sql::damage(self.path, &what)),
                Err(error) => self.problems.push(sql::error(self.path, &error)),
            }
        }
        Ok(())
    }

    /// The one value of an answer.
    fn one<T: FromSql>(&self, sql: &str) -> Result<T, Error> {
        let found = self.connection.query_row(sql, (), |row| row.get(0));
        found.map_err(|error| self.failed(&error))
    }

    /// The names of a table's columns; none if there is no such table. What is computed is no column here.
    fn columns(&self, table: &str) -> Result<BTreeSet<String>, Error> {
        // A view, or a table that a module makes up, has no root page.
        let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND rootpage > 0)";
        let mut columns = BTreeSet::new();
        let is_there = self.connection.query_row(sql, [table], |row| row.get(0));
        if is_there.map_err(|error| self.failed(&error))? {
            let listed = self.connection.pragma(None, "table_info", table, |row| {
                columns.insert(row.get::<_, String>("name")?);
                Ok(())
            });
            listed.map_err(|error| self.failed(&error))?;
        }
        Ok(columns)
    }

    fn has_columns(&self, table: &str, needed: &[&str]) -> Result<bool, Error> {
        let columns = self.columns(table)?;
        Ok(needed.iter().all(|name| columns.contains(*name)))
    }

    /// The origin, which Chromium's tables do not have, and its folders only for an origin's default bucket.
    fn origin(&self) -> Result<Option<JsString>, Error> {
        if !self.columns("meta")?.contains("value") {
            return Ok(None);
        }
        let sql = "SELECT CAST(value AS TEXT) FROM meta WHERE key = ?1";
        let found = self
            .connection
            .query_row(sql, [ORIGIN], |row| row.get::<_, Option<String>>(0))
            .optional();
        let found = found.map_err(|error| self.failed(&error))?.flatten();
        Ok(found.map(|origin| JsString::from(&*origin)))
    }

    /// A number in `meta`, which has text or numbers.
    fn meta(&self, key: &str) -> Result<Option<i64>, Error> {
        if !self.columns("meta")?.contains("value") {
            return Ok(None);
        }
        let sql = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?1";
        let found = self
            .connection
            .query_row(sql, [key], |row| row.get(0))
            .optional();
        Ok(found.map_err(|error| self.failed(&error))?.flatten())
    }
}

/// A name or key path: UTF-16LE in bytes.
fn name(row: &Row<'_>, at: usize) -> rusqlite::Result<JsString> {
    let bytes = row.get_ref(at)?.as_blob()?;
    let (units, []) = bytes.as_chunks() else {
        return Err(rusqlite::Error::IntegralValueOutOfRange(
            at,
            bytes.len() as i64,
        ));
    };
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    Ok(JsString::from_units(units))
}

/// The parts of an array stand with spaces between, which no path has. An array of one part looks like a string.
fn key_path(row: &Row<'_>, at: usize) -> rusqlite::Result<KeyPath> {
    if matches!(row.get_ref(at)?, ValueRef::Null) {
        return Ok(KeyPath::Null);
    }
    let path = name(row, at)?;
    let mut parts = path.units().split(|unit| *unit == u16::from(b' '));
    let parts: Vec<JsString> = parts
        .by_ref()
        .map(|part| JsString::from_units(part.to_vec()))
        .collect();
    Ok(match <[JsString; 1]>::try_from(parts) {
        Ok([one]) => KeyPath::String(one),
        Err(parts) => KeyPath::Array(parts),
    })
}
