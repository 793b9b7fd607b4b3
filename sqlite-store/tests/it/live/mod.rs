//! Stores that are written to: what the tables have then, what readers of other moments see, and what is left by whom.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::blob::NewExternalObject;
use larder_backing_store::{
    BackingStore, CursorDirection, Durability, ErrorKind, FixedClock, IndexKeys, IndexParameters,
    KeyRange, Maintenance, ObjectStoreParameters, Put, PutKey, PutMode, Quota, RaiseDataVersion,
    ReadTransaction, Reads, Record, Result, Scope, WriteOptions,
};
use larder_codec::external_object::{BlobInfo, ExternalObject};
use larder_codec::{DatabaseId, IndexId, JsString, Key, KeyPath, ObjectStoreId, Origin, RawKey};
use larder_leveldb::storage::{DiskFileSystem, FileSystem};
use rusqlite::Connection;
use tempfile::TempDir;

mod blobs;
mod moments;
mod others;
mod records;

/// The file of the database without a name.
const FILE: &str = "0";
const VALUE: &[u8] = &[0xff, 0x15, 0xff, 0x0f, b'0'];

/// The range of one key.
fn only(key: &[u8]) -> KeyRange<'_> {
    KeyRange::only(RawKey::decode_exact(key).unwrap())
}

/// A folder for a store of one database without a name, with an object store "s" and an index "i".
struct Place {
    folder: TempDir,
}

struct Ids {
    database: DatabaseId,
    store: ObjectStoreId,
    index: IndexId,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("http_127.0.0.1_18917")
    }

    fn file(&self) -> PathBuf {
        self.dir().join(FILE)
    }

    fn options() -> WriteOptions {
        let origin = Origin::from_url("http://127.0.0.1:18917").unwrap();
        let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
        options.raise_data_version = RaiseDataVersion::WhenNeeded;
        options
    }

    fn open(&self) -> Result<BackingStore> {
        let fs = Arc::new(DiskFileSystem::new());
        larder_sqlite_store::open_for_writing(fs, &self.dir(), Self::options())
    }

    fn made(&self, key_path: KeyPath) -> (BackingStore, Ids) {
        let mut options = Self::options();
        options.create_if_missing = true;
        let fs = Arc::new(DiskFileSystem::new());
        let store = larder_sqlite_store::open_for_writing(fs, &self.dir(), options).unwrap();
        let ids = Self::make(&store, key_path);
        (store, ids)
    }

    /// Makes the database, and puts a record with a blob.
    fn fill(&self, store: BackingStore) -> (BackingStore, DatabaseId) {
        let ids = Self::make(&store, KeyPath::Null);
        let other = blob(b"of another database".to_vec());
        ids.put(&store, &Key::Number(1.0), VALUE, &[other]);
        (store, ids.database)
    }

    fn make(store: &BackingStore, key_path: KeyPath) -> Ids {
        let database = store.create_database(&JsString::from("")).unwrap();
        let scope = Scope::VersionChange(database);
        let mut change = store.begin(scope, Durability::Strict).unwrap();
        change.set_version(1).unwrap();
        let parameters = ObjectStoreParameters {
            id: None,
            name: "s".into(),
            key_path: key_path.clone(),
            auto_increment: false,
        };
        let object_store = change.create_object_store(&parameters).unwrap();
        let parameters = IndexParameters {
            id: None,
            name: "i".into(),
            key_path: match key_path {
                KeyPath::Null => KeyPath::String("i".into()),
                path => path,
            },
            unique: false,
            multi_entry: true,
        };
        let index = change.create_index(object_store, &parameters).unwrap();
        change.commit().unwrap();
        Ids {
            database,
            store: object_store,
            index,
        }
    }

    /// The first number of an answer of the file itself.
    fn ask(&self, sql: &str) -> i64 {
        let connection = Connection::open(self.file()).unwrap();
        connection.query_row(sql, (), |row| row.get(0)).unwrap()
    }

    /// The names of what lies in the folder.
    fn names(&self) -> Vec<String> {
        let listed = fs::read_dir(self.dir()).unwrap();
        let mut names: Vec<_> = listed
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn encoded(key: &Key) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}

impl Ids {
    fn put(&self, store: &BackingStore, key: &Key, value: &[u8], objects: &[NewExternalObject]) {
        self.try_put(store, key, value, objects).unwrap();
    }

    /// Puts a record with a blob, under 1; a reader, and the blob as it sees it.
    fn put_blob(&self, store: &BackingStore, content: &[u8]) -> (ReadTransaction, ExternalObject) {
        let key = Key::Number(1.0);
        self.put(store, &key, VALUE, &[blob(content.to_vec())]);
        let read = store.read();
        let object = self.objects(&read, &key).pop().unwrap();
        (read, object)
    }

    /// Puts a record under a key, which is its key in the index, too.
    fn try_put(
        &self,
        store: &BackingStore,
        key: &Key,
        value: &[u8],
        objects: &[NewExternalObject],
    ) -> Result<()> {
        let scope = Scope::Stores(self.database, [self.store].into());
        let mut transaction = store.begin(scope, Durability::Relaxed).unwrap();
        let key = encoded(key);
        let key = RawKey::decode_exact(&key).unwrap();
        transaction
            .put(
                self.store,
                &Put {
                    key: PutKey::Given(key),
                    value,
                    mode: PutMode::Put,
                    index_keys: &[IndexKeys {
                        index_id: self.index,
                        keys: &[key],
                    }],
                    external_objects: objects,
                },
            )
            .unwrap();
        transaction.commit()
    }

    fn delete(&self, store: &BackingStore, key: &Key) {
        let scope = Scope::Stores(self.database, [self.store].into());
        let mut transaction = store.begin(scope, Durability::Relaxed).unwrap();
        let key = encoded(key);
        let range = only(&key);
        assert_eq!(transaction.delete(self.store, &range).unwrap(), 1);
        transaction.commit().unwrap();
    }

    fn value(&self, reads: &Reads, key: &Key) -> Option<Vec<u8>> {
        let key = encoded(key);
        let key = RawKey::decode_exact(&key).unwrap();
        let mut record = Record::default();
        let found = reads.get(self.database, self.store, key, &mut record);
        found.unwrap().then(|| record.value().to_vec())
    }

    fn objects(&self, reads: &Reads, key: &Key) -> Vec<ExternalObject> {
        let key = encoded(key);
        let key = RawKey::decode_exact(&key).unwrap();
        reads
            .external_objects(self.database, self.store, key)
            .unwrap()
    }

    /// The keys of the records, and of the entries.
    fn keys(&self, reads: &Reads) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let (mut keys, mut entries) = (Vec::new(), Vec::new());
        let next = CursorDirection::Next;
        let mut records = reads.records(self.database, self.store, next);
        while records.next().unwrap() {
            keys.push(records.primary_key().unwrap().as_bytes().to_vec());
        }
        let mut cursor = reads.index_entries(self.database, self.store, self.index, next);
        while cursor.next().unwrap() {
            entries.push(cursor.index_key().unwrap().as_bytes().to_vec());
        }
        (keys, entries)
    }
}

fn blob(content: Vec<u8>) -> NewExternalObject {
    NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content: Arc::new(content),
    }
}

fn info(object: &ExternalObject) -> &BlobInfo {
    match object {
        ExternalObject::Blob(blob) | ExternalObject::File { blob, .. } => blob,
        ExternalObject::FileSystemAccessHandle { .. } => panic!("a handle"),
    }
}

fn content(reads: &Reads, database: DatabaseId, object: &ExternalObject) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut reader = reads.open_blob(database, info(object)).unwrap();
    reader.read_to_end(&mut bytes).unwrap();
    bytes
}
