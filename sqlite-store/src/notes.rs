//! What a LevelDB store says and Chromium's tables cannot, in tables of our own beside them, which Chromium leaves alone.
//!
//! Chromium goes by its own tables. So a note counts only as long as they still have what it was written of: a path by the name of its
//! object store or index, and keys by the record's row with the value that it had.

use larder_codec::{JsString, Key, RawKey, sortable};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

/// Key paths that are arrays of one part. `index_id` is 0 for the object store's own.
pub(crate) const ARRAY_PATHS: &str = "larder_array_paths";

/// Keys with -0 in them. `index_id` is 0 for the record's own key; `key` is what Chromium's tables have, `exact` the key as LevelDB has it, `exact_record_key`
/// in the entry of an index the record's key as LevelDB has it there, and `digest` that of the record's value.
pub(crate) const NEGATIVE_ZEROS: &str = "larder_negative_zeros";

/// The id that stands for the object store itself: no index has it.
pub(crate) const NO_INDEX: i64 = 0;

const DIGEST_LEN: usize = 16;

/// Makes the table of array paths, if it is missing. One without notes is removed: whether there are any is known last.
pub(crate) const ARRAY_PATHS_TABLE: &str = "
CREATE TABLE IF NOT EXISTS larder_array_paths (
    object_store_id INTEGER NOT NULL,
    index_id INTEGER NOT NULL,
    name BLOB NOT NULL,
    PRIMARY KEY (object_store_id, index_id)
) WITHOUT ROWID;
";

/// Makes the table of keys with -0, if it is missing. One without notes is removed, too.
pub(crate) const NEGATIVE_ZEROS_TABLE: &str = "
CREATE TABLE IF NOT EXISTS larder_negative_zeros (
    record_row_id INTEGER NOT NULL,
    index_id INTEGER NOT NULL,
    key BLOB NOT NULL,
    exact BLOB NOT NULL,
    exact_record_key BLOB NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (record_row_id, index_id, key)
) WITHOUT ROWID;
";

/// Removes a table that has no note.
pub(crate) fn drop_if_empty(connection: &Connection, table: &str) -> rusqlite::Result<()> {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM {table})");
    if !connection.query_row(&sql, (), |row| row.get::<_, bool>(0))? {
        connection.execute(&format!("DROP TABLE {table}"), ())?;
    }
    Ok(())
}

/// Notes that a key path is an array of one part.
pub(crate) fn write_array_path(
    connection: &Connection,
    object_store: i64,
    index: i64,
    name: &[u8],
) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO larder_array_paths (object_store_id, index_id, name) VALUES (?1, ?2, ?3)";
    connection
        .execute(sql, params![object_store, index, name])
        .map(drop)
}

/// Removes the notes of a record's row, which must go before the row does: the next record may get its number.
pub(crate) const REMOVE_OF_RECORD: &str = "DELETE FROM larder_negative_zeros WHERE record_row_id IN \
     (SELECT row_id FROM records WHERE object_store_id = ?1 AND key = ?2)";

/// Removes the notes of all records of an object store.
pub(crate) const REMOVE_OF_STORE: &str = "DELETE FROM larder_negative_zeros WHERE record_row_id IN \
     (SELECT row_id FROM records WHERE object_store_id = ?1)";

/// The columns of [`ARRAY_PATHS`].
pub(crate) const ARRAY_PATHS_COLUMNS: [&str; 3] = ["object_store_id", "index_id", "name"];

/// The columns of [`NEGATIVE_ZEROS`].
pub(crate) const NEGATIVE_ZEROS_COLUMNS: [&str; 6] = [
    "record_row_id",
    "index_id",
    "key",
    "exact",
    "exact_record_key",
    "digest",
];

/// The keys of a row in LevelDB's coding: its own, and that of the record in the entry of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExactKeys {
    pub(crate) key: Vec<u8>,
    pub(crate) record_key: Vec<u8>,
}

/// Notes that a row has a key with -0 in it; its record has this value in its row.
pub(crate) fn write_negative_zero(
    connection: &Connection,
    (record_row_id, index): (i64, i64),
    sorted: &[u8],
    (key, record_key): (RawKey<'_>, Option<RawKey<'_>>),
    value: &[u8],
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO larder_negative_zeros \
               (record_row_id, index_id, key, exact, exact_record_key, digest) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let record_key = record_key.map(|key| key.as_bytes()).unwrap_or_default();
    let (key, digest) = (key.as_bytes(), digest(value));
    connection
        .prepare_cached(sql)?
        .execute(params![
            record_row_id,
            index,
            sorted,
            key,
            record_key,
            digest
        ])
        .map(drop)
}

/// Whether a note says that a key path, which reads as a string, is an array, and the keys that Chromium's tables have of it are all of that kind:
/// a Chromium that wrote there meanwhile took it for a string.
pub(crate) fn is_array_path(
    connection: &Connection,
    object_store: i64,
    index: i64,
    name: &JsString,
) -> rusqlite::Result<bool> {
    let sql = "SELECT name FROM larder_array_paths WHERE object_store_id = ?1 AND index_id = ?2";
    let noted: Option<Value> = connection
        .query_row(sql, [object_store, index], |row| row.get(0))
        .optional()?;
    let units = noted.as_ref().and_then(|noted| {
        let Value::Blob(noted) = noted else {
            return None;
        };
        let (units, rest) = noted.as_chunks();
        rest.is_empty().then_some(units)
    });
    let is_it = units.is_some_and(|units| {
        let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
        units.eq(name.units().iter().copied())
    });
    if !is_it {
        return Ok(false);
    }
    // What sorts before all arrays, and behind them.
    let others = match index {
        NO_INDEX => {
            "SELECT EXISTS (SELECT 1 FROM records WHERE object_store_id = ?1 AND key < x'50') \
             OR EXISTS (SELECT 1 FROM records WHERE object_store_id = ?1 AND key >= x'51') OR ?2 <> 0"
        }
        _ => {
            "SELECT EXISTS (SELECT 1 FROM index_references WHERE object_store_id = ?1 AND index_id = ?2 AND key < x'50') \
             OR EXISTS (SELECT 1 FROM index_references WHERE object_store_id = ?1 AND index_id = ?2 AND key >= x'51')"
        }
    };
    let has_others: bool = connection.query_row(others, [object_store, index], |row| row.get(0))?;
    Ok(!has_others)
}

/// The keys with -0 in them that were noted for a row, whose keys in Chromium's table are these.
pub(crate) fn exact_keys(
    connection: &Connection,
    (record_row_id, index): (i64, i64),
    sorted: &[u8],
    sorted_record_key: &[u8],
) -> rusqlite::Result<Option<ExactKeys>> {
    let sql = "SELECT exact, exact_record_key, digest, value FROM larder_negative_zeros \
               JOIN records ON row_id = record_row_id \
               WHERE record_row_id = ?1 AND index_id = ?2 AND larder_negative_zeros.key = ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row(params![record_row_id, index, sorted], |row| {
        // What is no blob was not written here.
        let column =
            |at: usize| Ok::<_, rusqlite::Error>(row.get_ref(at)?.as_blob().unwrap_or_default());
        let keys = ExactKeys {
            key: column(0)?.to_vec(),
            record_key: column(1)?.to_vec(),
        };
        let is_of_value = column(2)? == digest(column(3)?);
        let is_of_keys = is_form_of(&keys.key, sorted)
            && match index {
                NO_INDEX => keys.record_key.is_empty(),
                _ => is_form_of(&keys.record_key, sorted_record_key),
            };
        Ok((is_of_value && is_of_keys).then_some(keys))
    });
    Ok(found.optional()?.flatten())
}

/// Whether a key in LevelDB's coding is one that Chromium's tables have in these bytes.
fn is_form_of(exact: &[u8], sorted: &[u8]) -> bool {
    Key::decode_exact(exact).is_ok_and(|key| {
        let mut bytes = Vec::new();
        sortable::encode(&key, &mut bytes);
        bytes == sorted
    })
}

/// Whether a key in the sortable coding has a zero in it, which a note may say is -0.
pub(crate) fn may_have_zero(sorted: &[u8]) -> bool {
    const ZERO: [u8; 9] = [0x10, 0x80, 0, 0, 0, 0, 0, 0, 0];
    sorted.windows(ZERO.len()).any(|window| window == ZERO)
}

fn digest(value: &[u8]) -> [u8; DIGEST_LEN] {
    let whole: [u8; 32] = Sha256::digest(value).into();
    let mut short = [0; DIGEST_LEN];
    short.copy_from_slice(whole.get(..DIGEST_LEN).unwrap_or_default());
    short
}
