//! What a database says of itself: its versions, object stores and indexes.

use std::collections::BTreeSet;
use std::path::Path;

use larder_backing_store::{
    DatabaseMetadata, Error, ErrorKind, IndexMetadata, ObjectStoreMetadata,
};
use larder_codec::{DataVersion, DatabaseId, IndexId, JsString, KeyPath, ObjectStoreId};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use crate::sql;

/// The newest form of the tables that is known here.
const VERSION_MAX: i64 = 1;

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

/// What is read of a database once.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) metadata: DatabaseMetadata,
    pub(crate) data_version: Option<DataVersion>,
    pub(crate) next_keys: Vec<(ObjectStoreId, i64)>,
    /// The ids that the file has for indexes, which may lie below those that LevelDB reserves.
    pub(crate) index_ids: Vec<(ObjectStoreId, IndexId, i64)>,
    /// Stores before Chromium 150 pack no values.
    pub(crate) has_compression: bool,
    pub(crate) has_blobs: bool,
    /// The greatest row id of a blob.
    pub(crate) blob_max: i64,
}

/// Reads it; nothing if the file is no database: a browser was killed in its first upgrade, or the file is empty.
pub(crate) fn read(
    path: &Path,
    connection: &Connection,
    problems: &mut Vec<Error>,
) -> Result<Option<Schema>, Error> {
    let failed = |error: rusqlite::Error| sql::error(path, &error);
    let wrong =
        |what: String| Error::new(ErrorKind::Corruption, format!("{}: {what}", path.display()));
    let is_new = !has_table(connection, "meta").map_err(failed)?;
    if is_new && !has_table(connection, "indexed_db_metadata").map_err(failed)? {
        return Err(wrong(
            "an SQLite file without the tables of IndexedDB".to_owned(),
        ));
    }
    for key in ["version", "last_compatible_version"] {
        if let Some(version) = meta(connection, key).map_err(failed)?
            && key == "last_compatible_version"
            && version > VERSION_MAX
        {
            let what = format!(
                "{}: its form is version {version}; this Larder reads {VERSION_MAX}",
                path.display()
            );
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
    }
    for (table, needed) in COLUMNS {
        let columns = columns(connection, table).map_err(failed)?;
        if let Some(missing) = needed.iter().find(|name| !columns.contains(**name)) {
            return Err(wrong(format!("table {table} has no column {missing}")));
        }
    }
    let mut has_blobs = true;
    for (table, needed) in BLOB_COLUMNS {
        let columns = columns(connection, table).map_err(failed)?;
        has_blobs &= needed.iter().all(|name| columns.contains(*name));
    }
    if !has_blobs {
        problems.push(wrong("the tables of blobs are missing".to_owned()));
    }
    let has_compression = columns(connection, "records")
        .map_err(failed)?
        .contains("compression_type");
    let mut statement = connection
        .prepare("SELECT name, version FROM indexed_db_metadata ORDER BY rowid LIMIT 1")
        .map_err(failed)?;
    let row = |row: &Row<'_>| Ok((name(row, 0)?, row.get::<_, i64>(1)?));
    let mut found = statement.query_map((), row).map_err(failed)?;
    let (database_name, version) = match found.next() {
        Some(found) => found.map_err(failed)?,
        None => return Err(wrong("it does not say which database it is".to_owned())),
    };
    drop(found);
    if version < 0 {
        return Ok(None);
    }
    let data_version = meta(connection, "v8_data_version").map_err(failed)?;
    let mut schema = Schema {
        metadata: DatabaseMetadata {
            id: DatabaseId::MIN,
            origin: JsString::from(""),
            name: database_name,
            version: Some(version),
            object_stores: Vec::new(),
        },
        data_version: data_version.map(|version| {
            let version = version.cast_unsigned();
            DataVersion {
                v8: (version >> 32) as u32,
                blink: version as u32,
            }
        }),
        next_keys: Vec::new(),
        index_ids: Vec::new(),
        has_compression,
        has_blobs: false,
        blob_max: 0,
    };
    if has_blobs {
        let max = "SELECT coalesce(max(row_id), 0) FROM blobs";
        let blob_max = connection.query_row(max, (), |row| row.get(0));
        schema.blob_max = blob_max.map_err(failed)?;
        let any = "SELECT EXISTS (SELECT 1 FROM blob_references WHERE record_row_id IS NOT NULL)";
        let any = connection.query_row(any, (), |row| row.get(0));
        schema.has_blobs = any.map_err(failed)?;
    }
    schema.object_stores(path, connection, problems)?;
    schema.indexes(path, connection, problems)?;
    Ok(Some(schema))
}

impl Schema {
    fn object_stores(
        &mut self,
        path: &Path,
        connection: &Connection,
        problems: &mut Vec<Error>,
    ) -> Result<(), Error> {
        let failed = |error: rusqlite::Error| sql::error(path, &error);
        let mut statement = connection
            .prepare(
                "SELECT id, name, key_path, auto_increment, key_generator_current_number \
                 FROM object_stores ORDER BY id",
            )
            .map_err(failed)?;
        let mut rows = statement.query(()).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let read = || -> rusqlite::Result<_> {
                let key_path = key_path(row, 2)?;
                Ok((
                    row.get(0)?,
                    name(row, 1)?,
                    key_path,
                    row.get(3)?,
                    row.get(4)?,
                ))
            };
            let (id, name, key_path, auto_increment, next_key): (i64, _, _, bool, i64) =
                match read() {
                    Ok(read) => read,
                    Err(error) => {
                        problems.push(sql::error(path, &error));
                        continue;
                    }
                };
            let Some(id) = ObjectStoreId::new(id) else {
                let what = format!("{}: object store id {id} is none", path.display());
                problems.push(Error::new(ErrorKind::Corruption, what));
                continue;
            };
            self.next_keys.push((id, next_key));
            self.metadata.object_stores.push(ObjectStoreMetadata {
                id,
                name,
                key_path,
                auto_increment,
                indexes: Vec::new(),
            });
        }
        Ok(())
    }

    fn indexes(
        &mut self,
        path: &Path,
        connection: &Connection,
        problems: &mut Vec<Error>,
    ) -> Result<(), Error> {
        let failed = |error: rusqlite::Error| sql::error(path, &error);
        let mut statement = connection
            .prepare(
                "SELECT object_store_id, id, name, key_path, is_unique, multi_entry \
                 FROM indexes ORDER BY object_store_id, id",
            )
            .map_err(failed)?;
        let mut rows = statement.query(()).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let read = || -> rusqlite::Result<_> {
                let key_path = key_path(row, 3)?;
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    name(row, 2)?,
                    key_path,
                    row.get(4)?,
                    row.get(5)?,
                ))
            };
            let (store, id, name, key_path, unique, multi_entry): (i64, i64, _, _, bool, bool) =
                match read() {
                    Ok(read) => read,
                    Err(error) => {
                        problems.push(sql::error(path, &error));
                        continue;
                    }
                };
            let mut stores = self.metadata.object_stores.iter_mut();
            let Some(object_store) = stores.find(|candidate| candidate.id.get() == store) else {
                let what = format!(
                    "{}: index {id} is of object store {store}, which is not there",
                    path.display()
                );
                problems.push(Error::new(ErrorKind::Corruption, what));
                continue;
            };
            // Ids up to Chromium's first one, as a store has them that was made after a reopening, move behind those of its own.
            let last = object_store
                .indexes
                .last()
                .map_or(INDEX_ID_BASE, |index| index.id.get());
            let Some(given) = IndexId::new(id.max(last + 1)) else {
                let what = format!("{}: index id {id} is none", path.display());
                problems.push(Error::new(ErrorKind::Corruption, what));
                continue;
            };
            self.index_ids.push((object_store.id, given, id));
            object_store.indexes.push(IndexMetadata {
                id: given,
                name,
                key_path,
                unique,
                multi_entry,
            });
        }
        Ok(())
    }
}

/// The names of a table's columns; none if there is no such table. What is computed is no column here.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<BTreeSet<String>> {
    if !has_table(connection, table)? {
        return Ok(BTreeSet::new());
    }
    let mut columns = BTreeSet::new();
    connection.pragma(None, "table_info", table, |row| {
        columns.insert(row.get::<_, String>("name")?);
        Ok(())
    })?;
    Ok(columns)
}

fn has_table(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    // A view, or a table that a module makes up, has no root page.
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND rootpage > 0)";
    connection.query_row(sql, [table], |row| row.get(0))
}

/// A number in `meta`, which has text or numbers.
fn meta(connection: &Connection, key: &str) -> rusqlite::Result<Option<i64>> {
    if !columns(connection, "meta")?.contains("value") {
        return Ok(None);
    }
    let mut statement =
        connection.prepare("SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?1")?;
    let mut rows = statement.query([key])?;
    match rows.next()? {
        Some(row) => row.get(0),
        None => Ok(None),
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
