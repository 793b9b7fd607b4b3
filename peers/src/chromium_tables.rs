//! SQLite with the tables, triggers and packed values that Chromium's stores have: the rows that `larder-idb` writes in SQLite files, by plain calls.

use std::path::Path;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};
use zstd::bulk::{Compressor, Decompressor};

use crate::number;
use crate::rows::{Record, Subject};
use crate::value;

/// Chromium packs values of so many bytes, at this level.
const PACKED_MIN: usize = 450;
const LEVEL: i32 = -4;

const TABLES: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA cache_size = -16384;
    PRAGMA wal_autocheckpoint = 10000;
    PRAGMA recursive_triggers = ON;
    CREATE TABLE records (row_id INTEGER PRIMARY KEY, object_store_id INTEGER NOT NULL, compression_type INTEGER NOT NULL,
        key BLOB NOT NULL, value BLOB NOT NULL);
    CREATE UNIQUE INDEX records_by_key ON records (object_store_id, key);
    CREATE TABLE index_references (record_row_id INTEGER NOT NULL, index_id INTEGER NOT NULL, key BLOB NOT NULL,
        object_store_id INTEGER NOT NULL, record_key BLOB NOT NULL, PRIMARY KEY (record_row_id, index_id, key)) WITHOUT ROWID;
    CREATE INDEX index_references_by_key ON index_references (object_store_id, index_id, key, record_key);
    CREATE TABLE blobs (row_id INTEGER PRIMARY KEY AUTOINCREMENT, object_type INTEGER NOT NULL, mime_type TEXT, size_bytes INTEGER,
        file_name BLOB, last_modified INTEGER, bytes BLOB);
    CREATE INDEX legacy_blobs ON blobs (object_type) WHERE bytes IS NULL;
    CREATE TABLE overflow_blob_chunks (row_id INTEGER PRIMARY KEY, blob_row_id INTEGER NOT NULL, chunk_index INTEGER NOT NULL,
        bytes BLOB NOT NULL);
    CREATE INDEX overflow_chunks_by_blob ON overflow_blob_chunks (blob_row_id, chunk_index);
    CREATE TABLE blob_references (row_id INTEGER PRIMARY KEY, blob_row_id INTEGER NOT NULL, record_row_id INTEGER);
    CREATE INDEX blob_references_by_blob ON blob_references (blob_row_id);
    CREATE INDEX blob_references_by_record ON blob_references (record_row_id, blob_row_id);
    CREATE TRIGGER on_blob_deleted AFTER DELETE ON blobs BEGIN
        DELETE FROM overflow_blob_chunks WHERE blob_row_id = OLD.row_id;
    END;
    CREATE TRIGGER on_blob_reference_deleted AFTER DELETE ON blob_references
        WHEN NOT EXISTS (SELECT 1 FROM blob_references WHERE blob_row_id = OLD.blob_row_id) BEGIN
        DELETE FROM blobs WHERE row_id = OLD.blob_row_id;
    END;
    CREATE TRIGGER on_record_deleted AFTER DELETE ON records BEGIN
        DELETE FROM index_references WHERE record_row_id = OLD.row_id;
        DELETE FROM blob_references WHERE record_row_id = OLD.row_id;
    END;";

const PUT: &str = "INSERT OR REPLACE INTO records (object_store_id, compression_type, key, value) VALUES (1, ?1, ?2, ?3)";

const ADD: &str = "INSERT OR IGNORE INTO index_references VALUES (?1, 31, ?2, 1, ?3)";

const BY_INDEX: &str = "SELECT value, compression_type FROM index_references JOIN records ON row_id = record_row_id \
     WHERE index_references.object_store_id = 1 AND index_id = 31";

pub(crate) struct ChromiumTables {
    connection: Connection,
    compressor: Compressor<'static>,
    decompressor: Decompressor<'static>,
    indexed: bool,
}

impl ChromiumTables {
    pub(crate) fn create(dir: &Path, indexed: bool) -> Self {
        let connection = Connection::open(dir.join("chromium")).unwrap();
        connection.execute_batch(TABLES).unwrap();
        Self {
            connection,
            compressor: Compressor::new(LEVEL).unwrap(),
            decompressor: Decompressor::new().unwrap(),
            indexed,
        }
    }

    fn sum(&mut self, query: &str) -> usize {
        let mut statement = self.connection.prepare_cached(query).unwrap();
        let mut rows = statement.query([]).unwrap();
        let mut bytes = 0;
        while let Some(row) = rows.next().unwrap() {
            bytes += unpacked(&mut self.decompressor, row).len();
        }
        bytes
    }

    fn sum_of(&mut self, query: &str, keys: &[u32]) -> usize {
        self.connection.execute_batch("BEGIN").unwrap();
        let mut statement = self.connection.prepare_cached(query).unwrap();
        let decompressor = &mut self.decompressor;
        let get = |key: &u32| {
            let value = statement.query_row([number(*key)], |row| Ok(unpacked(decompressor, row)));
            value.optional().unwrap().unwrap().len()
        };
        let bytes = keys.iter().map(get).sum();
        drop(statement);
        self.connection.execute_batch("COMMIT").unwrap();
        bytes
    }
}

fn unpacked(decompressor: &mut Decompressor<'_>, row: &Row<'_>) -> Vec<u8> {
    let bytes = row.get_ref(0).unwrap().as_blob().unwrap();
    match row.get::<_, i64>(1).unwrap() {
        0 => bytes.to_vec(),
        _ => {
            let len = zstd::zstd_safe::get_frame_content_size(bytes);
            let len = usize::try_from(len.unwrap().unwrap()).unwrap();
            decompressor.decompress(bytes, len).unwrap()
        }
    }
}

/// Puts a record: its row's id.
fn put_record(
    put: &mut CachedStatement<'_>,
    compressor: &mut Compressor<'_>,
    key: &[u8],
    value: &[u8],
) -> i64 {
    let packed = (value.len() >= PACKED_MIN).then(|| compressor.compress(value).unwrap());
    match packed.filter(|packed| packed.len() * 100 <= value.len() * 80) {
        Some(packed) => put.insert(params![1, key, packed]).unwrap(),
        None => put.insert(params![0, key, value]).unwrap(),
    }
}

impl Subject for ChromiumTables {
    fn put(&mut self, records: &[Record], second: bool) {
        let transaction = self.connection.transaction().unwrap();
        {
            let mut put = transaction.prepare_cached(PUT).unwrap();
            let mut add = transaction.prepare_cached(ADD).unwrap();
            for record in records {
                let key = number(record.key);
                let value = value(record, second);
                let row_id = put_record(&mut put, &mut self.compressor, &key, value);
                if self.indexed {
                    let side = if second {
                        &record.second
                    } else {
                        &record.first
                    };
                    add.execute(params![row_id, number(side.index_key), key])
                        .unwrap();
                }
            }
        }
        transaction.commit().unwrap();
    }

    fn gets(&mut self, order: &[u32]) -> usize {
        self.sum_of(
            "SELECT value, compression_type FROM records WHERE object_store_id = 1 AND key = ?1",
            order,
        )
    }

    fn get_all(&mut self) -> usize {
        let query =
            "SELECT value, compression_type FROM records WHERE object_store_id = 1 ORDER BY key";
        let mut statement = self.connection.prepare_cached(query).unwrap();
        let decompressor = &mut self.decompressor;
        let values = statement
            .query_map([], |row| Ok(unpacked(decompressor, row)))
            .unwrap();
        let values: Vec<Vec<u8>> = values.map(Result::unwrap).collect();
        values.iter().map(Vec::len).sum()
    }

    fn index_cursor(&mut self) -> usize {
        self.sum(&format!(
            "{BY_INDEX} ORDER BY index_references.key, record_key"
        ))
    }

    fn index_key_cursor(&mut self) -> usize {
        let query = "SELECT record_key FROM index_references WHERE object_store_id = 1 AND index_id = 31 ORDER BY key, record_key";
        let mut statement = self.connection.prepare_cached(query).unwrap();
        let keys = statement
            .query_map([], |row| Ok(row.get_ref(0)?.as_blob()?.len()))
            .unwrap();
        keys.map(Result::unwrap).sum::<usize>() / 9
    }

    fn index_gets(&mut self, order: &[u32]) -> usize {
        let query = format!("{BY_INDEX} AND index_references.key = ?1 ORDER BY record_key LIMIT 1");
        self.sum_of(&query, order)
    }

    fn put_one(&mut self, record: &Record, strict: bool) {
        let synchronous = if strict { "FULL" } else { "NORMAL" };
        self.connection
            .pragma_update(None, "synchronous", synchronous)
            .unwrap();
        let mut put = self.connection.prepare_cached(PUT).unwrap();
        let key = number(record.key);
        put_record(&mut put, &mut self.compressor, &key, value(record, strict));
    }
}
