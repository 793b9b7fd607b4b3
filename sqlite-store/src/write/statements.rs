//! The statements that put object stores, indexes, records and entries into a database's tables.

use std::fmt;

use larder_backing_store::{IndexMetadata, ObjectStoreMetadata};
use larder_codec::idb_key::KeyPart;
use larder_codec::{JsString, KeyPath, RawKey, sortable};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use crate::notes::{self, NO_INDEX};

/// A record to be inserted.
#[derive(Debug)]
pub(crate) struct NewRecord<'a> {
    pub(crate) object_store: i64,
    pub(crate) key: RawKey<'a>,
    /// The key as Chromium's tables have it.
    pub(crate) sorted: &'a [u8],
    /// How the value is packed.
    pub(crate) compression: i64,
    pub(crate) packed: &'a [u8],
}

/// An entry of an index to be inserted.
#[derive(Debug)]
pub(crate) struct NewEntry<'a> {
    pub(crate) object_store: i64,
    /// The index's id in the file.
    pub(crate) index: i64,
    pub(crate) key: RawKey<'a>,
    pub(crate) sorted: &'a [u8],
    pub(crate) primary_key: RawKey<'a>,
    pub(crate) sorted_primary_key: &'a [u8],
}

/// Inserts an object store, without its indexes: whether its key path is an array of one part, which is noted.
pub(crate) fn insert_object_store(
    connection: &Connection,
    object_store: &ObjectStoreMetadata,
    next_key: i64,
) -> rusqlite::Result<bool> {
    let ObjectStoreMetadata {
        id,
        name,
        key_path,
        auto_increment,
        indexes: _,
    } = object_store;
    let (id, name) = (id.get(), utf16_le(name));
    let sql = "INSERT INTO object_stores (id, name, key_path, auto_increment, key_generator_current_number) \
               VALUES (?1, ?2, ?3, ?4, ?5)";
    let path = path_bytes(key_path);
    connection.execute(sql, params![id, name, path, auto_increment, next_key])?;
    note_array_path(connection, (id, NO_INDEX), &name, key_path)
}

/// Inserts an index, with its object store's id and its own in the file: whether its key path is an array of one part, which is noted.
pub(crate) fn insert_index(
    connection: &Connection,
    (object_store, id): (i64, i64),
    index: &IndexMetadata,
) -> rusqlite::Result<bool> {
    let IndexMetadata {
        id: _,
        name,
        key_path,
        unique,
        multi_entry,
    } = index;
    let sql = "INSERT INTO indexes (object_store_id, id, name, key_path, is_unique, multi_entry) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let (name, path) = (utf16_le(name), path_bytes(key_path));
    let values = params![object_store, id, name, path, unique, multi_entry];
    connection.execute(sql, values)?;
    note_array_path(connection, (object_store, id), &name, key_path)
}

fn note_array_path(
    connection: &Connection,
    (object_store, index): (i64, i64),
    name: &[u8],
    key_path: &KeyPath,
) -> rusqlite::Result<bool> {
    let is_array_of_one = matches!(key_path, KeyPath::Array(parts) if parts.len() == 1);
    if is_array_of_one {
        notes::write_array_path(connection, object_store, index, name)?;
    }
    Ok(is_array_of_one)
}

/// The object store or index has another name from now on, also in a note of its key path.
pub(crate) fn note_name(
    connection: &Connection,
    (object_store, index): (i64, i64),
    name: &[u8],
) -> rusqlite::Result<()> {
    let sql =
        "UPDATE larder_array_paths SET name = ?3 WHERE object_store_id = ?1 AND index_id = ?2";
    let values = params![object_store, index, name];
    connection.execute(sql, values).map(drop)
}

/// What is said for each of many records and entries. A statement that is prepared is found by its text: here each is found once.
pub(crate) struct Statements<'c> {
    connection: &'c Connection,
    insert_record: Option<CachedStatement<'c>>,
    delete_record: Option<CachedStatement<'c>>,
    insert_entry: Option<CachedStatement<'c>>,
}

impl fmt::Debug for Statements<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statements").finish_non_exhaustive()
    }
}

/// The statement in its place, found by its text the first time.
fn statement<'s, 'c>(
    place: &'s mut Option<CachedStatement<'c>>,
    connection: &'c Connection,
    sql: &str,
) -> rusqlite::Result<&'s mut CachedStatement<'c>> {
    Ok(match place {
        Some(statement) => statement,
        none => none.insert(connection.prepare_cached(sql)?),
    })
}

impl<'c> Statements<'c> {
    pub(crate) fn new(connection: &'c Connection) -> Self {
        Self {
            connection,
            insert_record: None,
            delete_record: None,
            insert_entry: None,
        }
    }

    /// Inserts a record whose key no other has: its row's id, and whether its key has -0 in it, which is noted.
    pub(crate) fn insert_record(
        &mut self,
        record: &NewRecord<'_>,
    ) -> rusqlite::Result<(i64, bool)> {
        let NewRecord {
            object_store,
            key,
            sorted,
            compression,
            packed,
        } = record;
        let sql = "INSERT INTO records (object_store_id, compression_type, key, value) VALUES (?1, ?2, ?3, ?4)";
        let values = params![object_store, compression, sorted, packed];
        let row_id = statement(&mut self.insert_record, self.connection, sql)?.insert(values)?;
        let has_negative_zero = has_negative_zero(*key);
        if has_negative_zero {
            let place = (row_id, NO_INDEX);
            notes::write_negative_zero(self.connection, place, sorted, (*key, None), packed)?;
        }
        Ok((row_id, has_negative_zero))
    }

    /// Deletes a record, and with its row what refers to it; whether it was there.
    pub(crate) fn delete_record(
        &mut self,
        object_store: i64,
        sorted: &[u8],
    ) -> rusqlite::Result<bool> {
        let sql = "DELETE FROM records WHERE object_store_id = ?1 AND key = ?2";
        let statement = statement(&mut self.delete_record, self.connection, sql)?;
        Ok(statement.execute(params![object_store, sorted])? > 0)
    }

    /// Inserts an entry of a record's row, unless it is there: whether its own key has -0 in it, which is noted.
    pub(crate) fn insert_entry(
        &mut self,
        row_id: i64,
        entry: &NewEntry<'_>,
    ) -> rusqlite::Result<bool> {
        let sql = "INSERT OR IGNORE INTO index_references (record_row_id, index_id, key, object_store_id, record_key) \
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        let NewEntry { index, sorted, .. } = entry;
        let values = params![
            row_id,
            index,
            sorted,
            entry.object_store,
            entry.sorted_primary_key
        ];
        statement(&mut self.insert_entry, self.connection, sql)?.execute(values)?;
        if entry.has_negative_zero() {
            let sql = "SELECT value FROM records WHERE row_id = ?1";
            let value: Vec<u8> = self.connection.query_row(sql, [row_id], |row| row.get(0))?;
            let (place, keys) = ((row_id, *index), (entry.key, Some(entry.primary_key)));
            notes::write_negative_zero(self.connection, place, sorted, keys, &value)?;
        }
        Ok(has_negative_zero(entry.key))
    }
}

/// The row of the record with a key, as Chromium's tables have it, if there is one.
pub(crate) fn record_row(
    connection: &Connection,
    object_store: i64,
    sorted: &[u8],
) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT row_id FROM records WHERE object_store_id = ?1 AND key = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let values = params![object_store, sorted];
    statement.query_row(values, |row| row.get(0)).optional()
}

impl NewEntry<'_> {
    /// The row of its record, if that is there.
    pub(crate) fn record_row(&self, connection: &Connection) -> rusqlite::Result<Option<i64>> {
        record_row(connection, self.object_store, self.sorted_primary_key)
    }

    /// Whether Chromium's tables cannot say one of its keys.
    pub(crate) fn has_negative_zero(&self) -> bool {
        has_negative_zero(self.key) || has_negative_zero(self.primary_key)
    }
}

/// Keeps an entry for the end of a new file, in [`tables::LATER_ENTRIES`](super::tables::LATER_ENTRIES).
pub(super) fn insert_later(connection: &Connection, entry: &NewEntry<'_>) -> rusqlite::Result<()> {
    let sql = "INSERT INTO temp.later_entries (object_store_id, record_key, index_id, key) VALUES (?1, ?2, ?3, ?4)";
    let values = params![
        entry.object_store,
        entry.sorted_primary_key,
        entry.index,
        entry.sorted
    ];
    connection.prepare_cached(sql)?.execute(values).map(drop)
}

/// A key as Chromium's tables have it, into the caller's buffer.
pub(crate) fn sort(key: RawKey<'_>, sorted: &mut Vec<u8>) {
    sorted.clear();
    sortable::encode_raw(key, sorted);
}

/// Whether a key has -0 in it.
pub(crate) fn has_negative_zero(key: RawKey<'_>) -> bool {
    key.parts()
        .any(|part| matches!(part, KeyPart::Number(number) if number == 0.0 && number.is_sign_negative()))
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

/// The bytes of a name.
pub(crate) fn utf16_le(text: &JsString) -> Vec<u8> {
    let units = text.units().iter();
    units.flat_map(|unit| unit.to_le_bytes()).collect()
}
