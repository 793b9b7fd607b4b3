//! Files that are written here: as Chromium makes them, and with what its tables cannot say, as long as nothing has changed it.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::{
    CursorDirection, DatabaseMetadata, IndexMetadata, ObjectStoreMetadata, Store,
};
use larder_codec::external_object::{BlobInfo, ExternalObject};
use larder_codec::{
    BlobNumber, DataVersion, DatabaseId, IndexId, JsString, Key, KeyPath, ObjectStoreId, RawKey,
};
use larder_leveldb::storage::{DiskFileSystem, FileSystem};
use larder_sqlite_store::{Finished, NewDatabase, Unsaid};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::Rows;

const STORE: ObjectStoreId = ObjectStoreId::MIN;
const VERSION: DataVersion = DataVersion { v8: 15, blink: 21 };

/// A store in a folder with one object store, which has one index, both with these key paths.
struct Written {
    folder: TempDir,
    database: Option<NewDatabase>,
}

fn index_id() -> IndexId {
    IndexId::new(31).unwrap()
}

fn encoded(key: &Key) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}

impl Written {
    fn new(key_path: KeyPath, index_path: KeyPath) -> Self {
        let metadata = DatabaseMetadata {
            id: DatabaseId::MIN,
            origin: JsString::from("http_127.0.0.1_18917@1"),
            name: JsString::from(""),
            version: Some(3),
            object_stores: Vec::new(),
        };
        let object_store = ObjectStoreMetadata {
            id: STORE,
            name: JsString::from("s"),
            key_path,
            auto_increment: true,
            indexes: vec![IndexMetadata {
                id: index_id(),
                name: JsString::from("i"),
                key_path: index_path,
                unique: false,
                multi_entry: true,
            }],
        };
        let folder = tempfile::tempdir().unwrap();
        let mut database = NewDatabase::create(folder.path(), &metadata, VERSION, 7).unwrap();
        database.object_store(&object_store, 42).unwrap();
        Self {
            folder,
            database: Some(database),
        }
    }

    fn plain() -> Self {
        Self::new(KeyPath::Null, KeyPath::String(JsString::from("i")))
    }

    fn database(&mut self) -> &mut NewDatabase {
        self.database.as_mut().unwrap()
    }

    fn put(&mut self, key: &Key, value: &[u8], entries: &[Key]) -> larder_sqlite_store::RecordRow {
        let key = encoded(key);
        let key = RawKey::decode_exact(&key).unwrap();
        let row = self.database().record(STORE, key, value).unwrap();
        for entry in entries {
            let entry = encoded(entry);
            let entry = RawKey::decode_exact(&entry).unwrap();
            self.database()
                .entry(STORE, index_id(), entry, key)
                .unwrap();
        }
        row
    }

    fn finish(&mut self) -> Unsaid {
        self.finish_whole().unsaid
    }

    fn finish_whole(&mut self) -> Finished {
        self.database.take().unwrap().finish().unwrap()
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("0")
    }

    fn open(&self) -> Store {
        let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
        let store = larder_sqlite_store::open(&fs, self.folder.path(), &std::env::temp_dir());
        let store = store.unwrap();
        assert!(store.recovery().problems.is_empty());
        store
    }

    /// As a browser would.
    fn execute(&self, statements: &str) {
        let connection = Connection::open(self.file()).unwrap();
        connection.execute_batch(statements).unwrap();
        connection.close().unwrap();
    }
}

/// The keys of all records, and of all entries with those of their records, in LevelDB's coding.
fn keys(store: &Store) -> (Vec<Vec<u8>>, Rows) {
    let (mut records, mut entries) = (Vec::new(), Vec::new());
    let (database, next) = (DatabaseId::MIN, CursorDirection::Next);
    let mut cursor = store.records(database, STORE, next);
    while cursor.next().unwrap() {
        records.push(cursor.primary_key_bytes().to_vec());
    }
    let mut cursor = store.index_entries(database, STORE, index_id(), next);
    while cursor.next().unwrap() {
        let (key, primary_key) = cursor.key_bytes().unwrap();
        entries.push((key.to_vec(), primary_key.to_vec()));
    }
    (records, entries)
}

/// What a file says of its tables: columns with types, indexes with columns, triggers, and settings of the file.
fn described(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut all = Vec::new();
    for sql in [
        "SELECT t.name, t.wr, c.cid, c.name, c.type, c.\"notnull\", c.pk FROM pragma_table_list t \
         JOIN pragma_table_xinfo(t.name) c WHERE t.schema = 'main' ORDER BY t.name, c.cid",
        "SELECT t.name, i.name, i.\"unique\", i.origin, i.partial, x.seqno, x.name FROM sqlite_schema t \
         JOIN pragma_index_list(t.name) i JOIN pragma_index_xinfo(i.name) x \
         WHERE t.type = 'table' ORDER BY t.name, i.name, x.seqno",
        "SELECT name, tbl_name, 0, 0, 0, 0, 0 FROM sqlite_schema WHERE type = 'trigger' ORDER BY name",
        "SELECT key, typeof(value), 0, 0, 0, 0, 0 FROM meta ORDER BY key",
        "SELECT page_size, application_id, user_version, encoding, auto_vacuum, schema_version > 0, 0 \
         FROM pragma_page_size, pragma_application_id, pragma_user_version, pragma_encoding, \
         pragma_auto_vacuum, pragma_schema_version",
    ] {
        let mut statement = connection.prepare(sql).unwrap();
        let mut rows = statement.query(()).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values: Vec<_> = (0..7).map(|n| row.get_ref(n).unwrap()).collect();
            all.push(format!("{values:?}"));
        }
    }
    all
}

#[test]
fn a_file_has_the_tables_that_chromium_makes() {
    let mut written = Written::plain();
    written.finish();
    let fixture = larder_fixtures::get("s156-lite").copy();
    let theirs = fixture.sqlite().join("0");
    assert_eq!(described(&written.file()), described(&theirs));
    // Read and written with a write-ahead log, as Chromium's, which is not there any more.
    let header = |path: &Path| fs::read(path).unwrap()[16..20].to_vec();
    assert_eq!(header(&written.file()), header(&theirs));
    assert_eq!(written.folder.path().read_dir().unwrap().count(), 1);
}

#[test]
fn what_is_deleted_takes_what_belongs_to_it_along() {
    let mut written = Written::plain();
    let row = written.put(&Key::from("a"), b"value", &[Key::from("x"), Key::from("y")]);
    let other = written.put(&Key::from("b"), b"value", &[Key::from("x")]);
    let content = vec![3; (5 << 20) + 9];
    for row in [row, other] {
        let added = written
            .database()
            .external_object(row, &blob(0), Ok(&mut &*content));
        assert_eq!(added.unwrap().unwrap(), content.len() as u64);
    }
    written.finish();
    let counts = || {
        let connection = Connection::open(written.file()).unwrap();
        [
            "index_references",
            "blob_references",
            "blobs",
            "overflow_blob_chunks",
        ]
        .map(|table| {
            let sql = format!("SELECT count(*) FROM {table}");
            connection
                .query_row(&sql, (), |row| row.get::<_, i64>(0))
                .unwrap()
        })
    };
    assert_eq!(counts(), [3, 2, 2, 2]);
    written.execute("DELETE FROM records WHERE row_id = 1");
    assert_eq!(counts(), [1, 1, 1, 1]);
}

fn blob(size_bytes: i64) -> ExternalObject {
    ExternalObject::Blob(BlobInfo {
        number: BlobNumber::new(2).unwrap(),
        mime_type: JsString::from("text/plain"),
        size_bytes,
    })
}

/// Gives so many bytes, then fails.
struct Failing(u64);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::other("no more"));
        }
        let len = usize::try_from(self.0).unwrap().min(buffer.len());
        self.0 -= len as u64;
        Ok(len)
    }
}

#[test]
fn contents_of_every_length_around_a_piece_are_read_back() {
    let piece = 5 << 20;
    let mut written = Written::plain();
    let lens = [0, 1, piece - 1, piece, piece + 1, 2 * piece, 2 * piece + 3];
    for len in lens {
        let row = written.put(&Key::Number(len as f64), b"value", &[]);
        let content: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
        // The size that the row said does not count.
        let added = written
            .database()
            .external_object(row, &blob(77), Ok(&mut &*content));
        assert_eq!(added.unwrap().unwrap(), len as u64);
    }
    written.finish();
    let store = written.open();
    for len in lens {
        let key = encoded(&Key::Number(len as f64));
        let key = RawKey::decode_exact(&key).unwrap();
        let objects = store.external_objects(DatabaseId::MIN, STORE, key).unwrap();
        let [ExternalObject::Blob(blob)] = &*objects else {
            panic!("{objects:?}");
        };
        assert_eq!(blob.size_bytes, len as i64);
        let mut bytes = Vec::new();
        let mut reader = store.open_blob(DatabaseId::MIN, blob).unwrap();
        reader.read_to_end(&mut bytes).unwrap();
        assert!(
            bytes
                .iter()
                .enumerate()
                .all(|(n, byte)| *byte == (n % 251) as u8)
        );
        assert_eq!(bytes.len(), len);
    }
    // Chromium reads for ever if the first piece is not full.
    let connection = Connection::open(written.file()).unwrap();
    let sql = "SELECT count(*) FROM blobs JOIN overflow_blob_chunks ON blob_row_id = blobs.row_id \
               WHERE length(blobs.bytes) <> 5 << 20";
    let short: i64 = connection.query_row(sql, (), |row| row.get(0)).unwrap();
    assert_eq!(short, 0);
}

#[test]
fn a_blob_whose_content_cannot_be_read_is_there_without_it() {
    let mut written = Written::plain();
    for (n, fails_at) in [0, 10, 5 << 20, (5 << 20) + 10].into_iter().enumerate() {
        let row = written.put(&Key::Number(n as f64), b"value", &[]);
        let added =
            written
                .database()
                .external_object(row, &blob(6 << 20), Ok(&mut Failing(fails_at)));
        assert_eq!(added.unwrap().unwrap_err().to_string(), "no more");
    }
    let row = written.put(&Key::from("gone"), b"value", &[]);
    let gone = Err(io::ErrorKind::NotFound.into());
    let added = written.database().external_object(row, &blob(5), gone);
    assert_eq!(added.unwrap().unwrap_err().kind(), io::ErrorKind::NotFound);
    written.finish();
    let connection = Connection::open(written.file()).unwrap();
    let sql =
        "SELECT count(*), count(bytes), (SELECT count(*) FROM overflow_blob_chunks) FROM blobs";
    let counts: (i64, i64, i64) = connection
        .query_row(sql, (), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap();
    assert_eq!(counts, (5, 0, 0));
}

#[test]
fn minus_zero_comes_back_as_long_as_the_record_is_the_same() {
    let zero =
        |bits: f64| Key::Array(larder_codec::KeyArray::new(vec![Key::Number(bits)]).unwrap());
    let written = || {
        let mut written = Written::plain();
        written.put(&zero(-0.0), b"value", &[Key::Number(-0.0), Key::from("x")]);
        written.put(&Key::Number(0.0), b"other", &[Key::Number(-0.0)]);
        let unsaid = written.finish();
        assert_eq!(unsaid.negative_zeros, 3);
        written
    };
    let of = |keys: [&Key; 2], entries: [(&Key, &Key); 3]| {
        let entries = entries.map(|(key, primary)| (encoded(key), encoded(primary)));
        (keys.map(encoded).to_vec(), entries.to_vec())
    };
    let (plus, minus, x) = (Key::Number(0.0), Key::Number(-0.0), Key::from("x"));
    let untouched = of(
        [&plus, &zero(-0.0)],
        [(&minus, &plus), (&minus, &zero(-0.0)), (&x, &zero(-0.0))],
    );
    assert_eq!(keys(&written().open()), untouched);
    // What a browser does that puts a record again: another row, or the same one with another value.
    let replaced = of(
        [&plus, &zero(0.0)],
        [(&minus, &plus), (&plus, &zero(0.0)), (&x, &zero(0.0))],
    );
    for change in [
        "UPDATE records SET row_id = 9 WHERE row_id = 1; UPDATE index_references SET record_row_id = 9 WHERE record_row_id = 1",
        "UPDATE records SET value = x'00' WHERE row_id = 1",
        "UPDATE larder_negative_zeros SET digest = x'' WHERE record_row_id = 1",
        "UPDATE larder_negative_zeros SET exact = x'03', exact_record_key = x'' WHERE record_row_id = 1",
    ] {
        let written = written();
        written.execute(change);
        assert_eq!(keys(&written.open()), replaced, "{change}");
    }
}

#[test]
fn an_array_of_one_part_comes_back_as_long_as_all_keys_are_arrays() {
    let path = || KeyPath::Array(vec![JsString::from("x")]);
    let one = |key: f64| Key::Array(larder_codec::KeyArray::new(vec![Key::Number(key)]).unwrap());
    let paths = |written: &Written| {
        let databases = written.open().databases(&mut Vec::new()).unwrap();
        let object_store = &databases[0].object_stores[0];
        (
            object_store.key_path.clone(),
            object_store.indexes[0].key_path.clone(),
        )
    };
    let written = || {
        let mut written = Written::new(path(), path());
        written.put(&one(1.0), b"value", &[one(2.0)]);
        let unsaid = written.finish();
        let (store, index) = (JsString::from("s"), JsString::from("i"));
        assert_eq!(
            unsaid.array_paths,
            [(store.clone(), None), (store, Some(index))]
        );
        written
    };
    assert_eq!(paths(&written()), (path(), path()));
    let string = || KeyPath::String(JsString::from("x"));
    let number = "x'10c000000000000000'";
    for (change, expected) in [
        // A record and an entry that Chromium adds, for which the path is a string.
        (
            format!(
                "INSERT INTO records (object_store_id, compression_type, key, value) VALUES (1, 0, {number}, x'00')"
            ),
            (string(), path()),
        ),
        (
            format!("INSERT INTO index_references VALUES (1, 31, {number}, 1, x'50')"),
            (path(), string()),
        ),
        (
            "INSERT INTO index_references VALUES (1, 31, x'60', 1, x'50')".to_owned(),
            (path(), string()),
        ),
        // Others of the same id.
        (
            "UPDATE object_stores SET name = x'7a00'".to_owned(),
            (string(), path()),
        ),
        (
            "UPDATE indexes SET name = x'7a00'".to_owned(),
            (path(), string()),
        ),
        (
            "DROP TABLE larder_array_paths".to_owned(),
            (string(), string()),
        ),
        (
            "ALTER TABLE larder_array_paths DROP COLUMN name".to_owned(),
            (string(), string()),
        ),
        (
            "UPDATE larder_array_paths SET name = x'ff'".to_owned(),
            (string(), string()),
        ),
        (
            "UPDATE larder_array_paths SET name = 'text'".to_owned(),
            (string(), string()),
        ),
    ] {
        let written = written();
        written.execute(&change);
        assert_eq!(paths(&written), expected, "{change}");
    }
}

#[test]
fn values_of_a_written_file_are_packed_and_come_back() {
    let mut written = Written::plain();
    let values = [vec![], vec![5; 449], vec![5; 450], vec![5; 9_000_000]];
    for (n, value) in values.iter().enumerate() {
        written.put(&Key::Number(n as f64), value, &[]);
    }
    written.finish();
    assert!(fs::metadata(written.file()).unwrap().len() < 200_000);
    let store = written.open();
    let mut records = store.records(DatabaseId::MIN, STORE, CursorDirection::Next);
    for value in &values {
        assert!(records.next().unwrap());
        assert_eq!(records.value().unwrap(), &**value);
    }
    assert_eq!(store.key_generator(DatabaseId::MIN, STORE).unwrap(), 42);
    assert_eq!(store.data_version(), Some(VERSION));
}

#[test]
fn a_record_that_is_there_is_an_error_and_an_entry_without_one_is_none() {
    let mut written = Written::plain();
    written.put(&Key::from("a"), b"value", &[Key::from("x"), Key::from("x")]);
    let (a, b) = (encoded(&Key::from("a")), encoded(&Key::from("b")));
    let (a, b) = (
        RawKey::decode_exact(&a).unwrap(),
        RawKey::decode_exact(&b).unwrap(),
    );
    assert!(written.database().record(STORE, a, b"again").is_err());
    written.database().entry(STORE, index_id(), a, b).unwrap();
    assert_eq!(written.finish_whole().entries, 1);
    let (records, entries) = keys(&written.open());
    assert_eq!((records.len(), entries.len()), (1, 1));
}
