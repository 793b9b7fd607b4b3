//! The tables of a new file, as Chromium 150 to 156 makes them.
//!
//! A table that is missing makes Chromium refuse the file. Indexes and triggers may be missing; but rows that its page deletes would leave
//! theirs behind without the triggers.

/// Tables, without what belongs to them.
pub(super) const TABLES: &str = "
CREATE TABLE meta(key LONGVARCHAR NOT NULL UNIQUE PRIMARY KEY, value LONGVARCHAR);
CREATE TABLE indexed_db_metadata (name BLOB NOT NULL, version INTEGER NOT NULL);
CREATE TABLE object_stores (
    id INTEGER PRIMARY KEY,
    name BLOB NOT NULL,
    key_path BLOB,
    auto_increment INTEGER NOT NULL,
    key_generator_current_number INTEGER NOT NULL
);
CREATE TABLE indexes (
    object_store_id INTEGER NOT NULL,
    id INTEGER NOT NULL,
    name BLOB NOT NULL,
    key_path BLOB,
    is_unique INTEGER NOT NULL,
    multi_entry INTEGER NOT NULL,
    PRIMARY KEY (object_store_id, id)
) WITHOUT ROWID;
CREATE TABLE records (
    row_id INTEGER PRIMARY KEY,
    object_store_id INTEGER NOT NULL,
    compression_type INTEGER NOT NULL,
    key BLOB NOT NULL,
    value BLOB NOT NULL
);
CREATE TABLE index_references (
    record_row_id INTEGER NOT NULL,
    index_id INTEGER NOT NULL,
    key BLOB NOT NULL,
    object_store_id INTEGER NOT NULL,
    record_key BLOB NOT NULL,
    PRIMARY KEY (record_row_id, index_id, key)
) WITHOUT ROWID;
CREATE TABLE blobs (
    row_id INTEGER PRIMARY KEY AUTOINCREMENT,
    object_type INTEGER NOT NULL,
    mime_type TEXT,
    size_bytes INTEGER,
    file_name BLOB,
    last_modified INTEGER,
    bytes BLOB
);
CREATE TABLE overflow_blob_chunks (
    row_id INTEGER PRIMARY KEY,
    blob_row_id INTEGER NOT NULL,
    chunk_index INTEGER NOT NULL,
    bytes BLOB NOT NULL
);
CREATE TABLE blob_references (
    row_id INTEGER PRIMARY KEY,
    blob_row_id INTEGER NOT NULL,
    record_row_id INTEGER
);
";

/// What writing relies on: that there is one record for each key, and that its row takes what refers to it along. Chromium opens files without these, and
/// with others.
pub(crate) const RELIED_ON: [&str; 4] = [
    "CREATE UNIQUE INDEX records_by_key ON records(object_store_id, key)",
    "CREATE TRIGGER on_blob_deleted AFTER DELETE ON blobs BEGIN \
     DELETE FROM overflow_blob_chunks WHERE blob_row_id = OLD.row_id; END",
    "CREATE TRIGGER on_blob_reference_deleted AFTER DELETE ON blob_references \
     WHEN NOT EXISTS (SELECT 1 FROM blob_references WHERE blob_row_id = OLD.blob_row_id) BEGIN \
     DELETE FROM blobs WHERE row_id = OLD.blob_row_id; END",
    "CREATE TRIGGER on_record_deleted AFTER DELETE ON records BEGIN \
     DELETE FROM index_references WHERE record_row_id = OLD.row_id; \
     DELETE FROM blob_references WHERE record_row_id = OLD.row_id; END",
];

/// Where the entries of a new file wait.
pub(super) const LATER_ENTRIES: &str = "
CREATE TEMP TABLE later_entries (
    object_store_id INTEGER NOT NULL,
    record_key BLOB NOT NULL,
    index_id INTEGER NOT NULL,
    key BLOB NOT NULL
);
";

/// Puts them into their table in the order that it has. The limit, which is none, keeps SQLite from walking over the records instead, and sorting later.
pub(super) const ADD_LATER_ENTRIES: &str = "
INSERT OR IGNORE INTO index_references (record_row_id, index_id, key, object_store_id, record_key)
SELECT records.row_id, entries.index_id, entries.key, entries.object_store_id, entries.record_key
FROM (SELECT * FROM temp.later_entries ORDER BY object_store_id, record_key, index_id, key LIMIT -1) AS entries
CROSS JOIN records ON records.object_store_id = entries.object_store_id AND records.key = entries.record_key
";

/// What is made when all rows are there: an index of many rows is sorted once then.
pub(super) const AFTER_ROWS: &str = "
CREATE INDEX index_references_by_key ON index_references (object_store_id, index_id, key, record_key);
CREATE INDEX legacy_blobs ON blobs (object_type) WHERE bytes IS NULL;
CREATE INDEX overflow_chunks_by_blob ON overflow_blob_chunks (blob_row_id, chunk_index);
CREATE INDEX blob_references_by_blob ON blob_references (blob_row_id);
CREATE INDEX blob_references_by_record ON blob_references (record_row_id, blob_row_id);
";
