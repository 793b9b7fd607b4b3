//! Makes a large store: one database, one object store of contacts and messages with an index, as tables of LevelDB in
//! Chromium's format. Deterministic.

use std::io;
use std::path::Path;
use std::sync::Arc;

use larder_backing_store::IdbComparator;
use larder_codec::row_key::{
    DatabaseField, DatabaseKey, GlobalKey, IndexDataKey, IndexField, IndexMetadataKey,
    ObjectStoreField, ObjectStoreMetadataKey, RecordKey, RecordTable,
};
use larder_codec::versioned::{DataRow, ExistsRow, IndexRow};
use larder_codec::{
    DataVersion, DatabaseId, IndexId, Key, KeyPath, ObjectStoreId, RawKey, RecordVersion,
};
use larder_leveldb::internal_key::{EntryKind, InternalOrder, encode};
use larder_leveldb::log::LogWriter;
use larder_leveldb::storage::FileSystem;
use larder_leveldb::table::{TableBuilder, TableOptions, TableSummary};
use larder_leveldb::version_edit::{NewFile, VersionEdit};

/// What `LevelDB` has in a table, about.
const TABLE_BYTES: u64 = 2 << 20;
/// A level that no compaction pushed further.
const LEVEL: usize = 3;
const FIRST_TABLE: u64 = 10;

/// What records hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    /// Sentences of few words, which Snappy packs well.
    Text,
    /// Among them a picture in letters, which Snappy cannot pack.
    Pictures,
}

impl Values {
    /// `LARDER_BENCH_PICTURES=1` asks for pictures.
    pub(crate) fn asked() -> Self {
        match std::env::var_os("LARDER_BENCH_PICTURES") {
            Some(value) if value == "1" => Self::Pictures,
            _ => Self::Text,
        }
    }
}

/// Writes a store of about `bytes` bytes into `leveldb`, whose parent is there. Returns the number of records.
pub(crate) fn generate(
    fs: &dyn FileSystem,
    leveldb: &Path,
    bytes: u64,
    values: Values,
) -> io::Result<u64> {
    fs.create_dir(leveldb)?;
    let mut tables = Tables::new(fs, leveldb);
    metadata(&mut tables)?;
    let mut records = 0;
    let mut value = Vec::new();
    let database_id = id(DatabaseId::new(1));
    let object_store_id = id(ObjectStoreId::new(1));
    let version = |n: u64| id(RecordVersion::new(i64::try_from(n).unwrap_or(i64::MAX) + 2));
    let row_key = |table, number: u64| {
        let mut key = Vec::new();
        let primary_key = number_key(number);
        let key_of = RawKey::decode_exact(&primary_key).expect("a key");
        RecordKey {
            database_id,
            object_store_id,
            table,
            key: key_of,
        }
        .encode(&mut key);
        key
    };
    // Exists and index rows are small: data rows make up nearly all of the size.
    while tables.bytes < bytes {
        value.clear();
        let mut script_value = Vec::new();
        contact(records, values, &mut script_value);
        DataRow {
            version: version(records),
            value: &script_value,
        }
        .encode(&mut value);
        tables.add(&row_key(RecordTable::Data, records), &value)?;
        records += 1;
    }
    for n in 0..records {
        value.clear();
        ExistsRow {
            version: version(n),
        }
        .encode(&mut value);
        tables.add(&row_key(RecordTable::Exists, n), &value)?;
    }
    for n in 0..records {
        let (index_key, primary_key) = (number_key(n / 10), number_key(n));
        let raw = |bytes| RawKey::decode_exact(bytes).expect("a key");
        let mut key = Vec::new();
        let index_id = id(IndexId::new(31));
        let row = IndexDataKey::new(
            database_id,
            object_store_id,
            index_id,
            raw(&index_key),
            raw(&primary_key),
        );
        row.encode(&mut key);
        value.clear();
        IndexRow {
            version: version(n),
            primary_key: raw(&primary_key),
        }
        .encode(&mut value);
        tables.add(&key, &value)?;
    }
    tables.finish()?;
    Ok(records)
}

fn id<T>(id: Option<T>) -> T {
    id.expect("a valid id")
}

fn number_key(number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    Key::Number(number as f64).encode(&mut bytes);
    bytes
}

fn metadata(tables: &mut Tables<'_>) -> io::Result<()> {
    let database_id = id(DatabaseId::new(1));
    let object_store_id = id(ObjectStoreId::new(1));
    let index_id = id(IndexId::new(31));
    let global = |key: GlobalKey| {
        let mut bytes = Vec::new();
        key.encode(&mut bytes);
        bytes
    };
    let database = |field| {
        let mut bytes = Vec::new();
        DatabaseKey { database_id, field }.encode(&mut bytes);
        bytes
    };
    let store = |field| {
        let mut bytes = Vec::new();
        ObjectStoreMetadataKey {
            database_id,
            object_store_id,
            field,
        }
        .encode(&mut bytes);
        bytes
    };
    let index = |field| {
        let mut bytes = Vec::new();
        IndexMetadataKey {
            database_id,
            object_store_id,
            index_id,
            field,
        }
        .encode(&mut bytes);
        bytes
    };
    let key_path = |path: &str| {
        let mut bytes = Vec::new();
        KeyPath::String(path.into()).encode(&mut bytes);
        bytes
    };
    let mut data_version = Vec::new();
    DataVersion { v8: 15, blink: 21 }.encode(&mut data_version);
    let origin = "http_127.0.0.1_8000@1".into();
    let name_row = GlobalKey::DatabaseName {
        origin,
        name: "bench".into(),
    };
    let null_path = [0, 0, 0];
    tables.add(&global(GlobalKey::SchemaVersion), &[5])?;
    tables.add(&global(GlobalKey::MaxDatabaseId), &[1])?;
    tables.add(&global(GlobalKey::DataVersion), &data_version)?;
    tables.add(&global(name_row), &[1])?;
    tables.add(&database(DatabaseField::MaxObjectStoreId), &[1])?;
    tables.add(&database(DatabaseField::UserVersion), &[1])?;
    tables.add(&database(DatabaseField::BlobNumberGenerator), &[2])?;
    tables.add(&store(ObjectStoreField::Name), &[0, b'c'])?;
    tables.add(&store(ObjectStoreField::KeyPath), &null_path)?;
    tables.add(&store(ObjectStoreField::AutoIncrement), &[0])?;
    tables.add(&store(ObjectStoreField::Evictable), &[0])?;
    tables.add(
        &store(ObjectStoreField::LastVersion),
        &[0xff, 0xff, 0xff, 0x7f],
    )?;
    tables.add(&store(ObjectStoreField::MaxIndexId), &[31])?;
    tables.add(&store(ObjectStoreField::HasKeyPath), &[0])?;
    tables.add(&store(ObjectStoreField::KeyGenerator), &[1])?;
    tables.add(&index(IndexField::Name), &[0, b'i'])?;
    tables.add(&index(IndexField::Unique), &[0])?;
    tables.add(&index(IndexField::KeyPath), &key_path("group"))?;
    tables.add(&index(IndexField::MultiEntry), &[0])
}

const WORDS: [&str; 32] = [
    "larder", "pantry", "shelf", "basket", "bread", "butter", "honey", "winter", "summer",
    "garden", "kitchen", "window", "letter", "answer", "monday", "friday", "meeting", "project",
    "travel", "ticket", "number", "street", "river", "mountain", "paper", "pencil", "picture",
    "music", "concert", "family", "friend", "morning",
];

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A value of about one kilobyte, as Chromium 110 to 143 serialise it (dfindexeddb does not read the version after it).
fn contact(n: u64, values: Values, out: &mut Vec<u8>) {
    let mut state = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut text = |words: u64| -> String {
        let words = (0..words).map(|_| WORDS[random(32) as usize]);
        words.flat_map(|word| [word, " "]).collect()
    };
    out.extend_from_slice(b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0fo");
    let mut fields = vec![("name", text(3)), ("subject", text(8))];
    if values == Values::Text {
        fields.push(("body", text(110)));
    }
    fields.push(("address", text(6)));
    if values == Values::Pictures {
        let letters = (0..700).map(|_| char::from(BASE64[random(64) as usize]));
        fields.push(("picture", letters.collect()));
    }
    for (name, text) in &fields {
        string(name, out);
        string(text, out);
    }
    string("group", out);
    out.push(b'I');
    varint((n / 10) << 1, out);
    string("score", out);
    out.push(b'N');
    out.extend_from_slice(&(n as f64 / 7.0).to_le_bytes());
    string("created", out);
    out.push(b'D');
    out.extend_from_slice(&(1.6e12 + n as f64 * 1000.0).to_le_bytes());
    string("read", out);
    out.push(if n.is_multiple_of(3) { b'T' } else { b'F' });
    string("tags", out);
    out.extend_from_slice(b"A\x03");
    for tag in 0..3 {
        string(WORDS[((n + tag * 7) % 32) as usize], out);
    }
    out.extend_from_slice(b"$\0\x03");
    out.extend_from_slice(b"{\x09");
}

fn string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    varint(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Tables of one level in ascending order, and then the MANIFEST that lists them.
struct Tables<'a> {
    fs: &'a dyn FileSystem,
    leveldb: &'a Path,
    order: InternalOrder,
    /// Rows of the table to come.
    rows: Vec<(Vec<u8>, Vec<u8>)>,
    rows_bytes: u64,
    files: Vec<NewFile>,
    sequence: u64,
    bytes: u64,
}

impl<'a> Tables<'a> {
    fn new(fs: &'a dyn FileSystem, leveldb: &'a Path) -> Self {
        Self {
            fs,
            leveldb,
            order: InternalOrder::new(Arc::new(IdbComparator)),
            rows: Vec::new(),
            rows_bytes: 0,
            files: Vec::new(),
            sequence: 0,
            bytes: 0,
        }
    }

    fn add(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.sequence += 1;
        let mut internal = Vec::new();
        encode(&mut internal, key, self.sequence, EntryKind::Value);
        self.rows_bytes += (internal.len() + value.len()) as u64;
        self.rows.push((internal, value.to_vec()));
        // Snappy makes half of text.
        if self.rows_bytes >= TABLE_BYTES * 2 {
            self.table()
        } else {
            Ok(())
        }
    }

    fn table(&mut self) -> io::Result<()> {
        let number = FIRST_TABLE + self.files.len() as u64;
        let mut file = self
            .fs
            .create(&self.leveldb.join(format!("{number:06}.ldb")))?;
        let mut builder =
            TableBuilder::new(&mut *file, self.order.clone(), TableOptions::default());
        for (key, value) in self.rows.drain(..) {
            builder.add(&key, &value)?;
        }
        let TableSummary {
            len_bytes,
            smallest,
            largest,
            ..
        } = builder.finish()?;
        file.flush()?;
        self.rows_bytes = 0;
        self.bytes += len_bytes;
        self.files.push(NewFile {
            level: LEVEL,
            number,
            len_bytes,
            smallest,
            largest,
        });
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        if !self.rows.is_empty() {
            self.table()?;
        }
        let edit = VersionEdit {
            comparator: Some(larder_codec::COMPARATOR_NAME.into()),
            log_number: Some(2),
            prev_log_number: Some(0),
            next_file_number: Some(FIRST_TABLE + self.files.len() as u64),
            last_sequence: Some(self.sequence),
            new_files: self.files,
            ..VersionEdit::default()
        };
        let mut record = Vec::new();
        edit.encode(&mut record);
        let mut manifest =
            LogWriter::new(self.fs.create(&self.leveldb.join("MANIFEST-000001"))?, 0);
        manifest.add(&record)?;
        manifest.file().flush()?;
        self.fs.create(&self.leveldb.join("000002.log"))?.flush()?;
        let mut current = self.fs.create(&self.leveldb.join("CURRENT"))?;
        current.append(b"MANIFEST-000001\n")?;
        current.flush()
    }
}
