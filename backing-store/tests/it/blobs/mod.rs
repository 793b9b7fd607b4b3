//! External objects, from put to the removal of their files, at every moment of which a crash may come.

mod crash;
mod life;
mod release;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use larder_backing_store::blob::NewExternalObject;
use larder_backing_store::{
    Background, BackingStore, CursorDirection, Durability, FixedClock, KeyRange,
    ObjectStoreParameters, Put, PutKey, PutMode, Reads, Result, Scope, StorePaths, WriteOptions,
    WriteTransaction,
};
use larder_codec::external_object::ExternalObject;
use larder_codec::{DatabaseId, JsString, Key, KeyPath, ObjectStoreId, Origin, RawKey};
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};

const STORE: ObjectStoreId = ObjectStoreId::MIN;
/// In folders that opening makes: their names must be durable, too.
const LEVELDB: &str = "profile/IndexedDB/https_a.example_0.indexeddb.leveldb";
const BLOB: &str = "profile/IndexedDB/https_a.example_0.indexeddb.blob";

/// What a file's last modification is, in microseconds since 1601 and in seconds since 1970.
const MODIFIED_MICROS: i64 = 13_300_000_000_000_000;
const MODIFIED_SECONDS: u64 = 1_655_526_400;

fn open(fs: Arc<dyn FileSystem>) -> Result<BackingStore> {
    let origin = Origin::from_url("https://a.example").unwrap();
    let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    options.create_if_missing = true;
    options.background = Background::Caller;
    let paths = StorePaths::of_leveldb(Path::new(LEVELDB));
    BackingStore::open(fs, paths, options)
}

fn database() -> JsString {
    "d".into()
}

/// A database with one object store.
fn set_up(store: &BackingStore) -> Result<DatabaseId> {
    let id = store.create_database(&database())?;
    if store
        .databases()?
        .iter()
        .any(|found| !found.object_stores.is_empty())
    {
        return Ok(id);
    }
    let mut change = store.begin(Scope::VersionChange(id), Durability::Strict)?;
    let parameters = ObjectStoreParameters {
        id: Some(STORE),
        name: "s".into(),
        key_path: KeyPath::Null,
        auto_increment: false,
    };
    change.create_object_store(&parameters)?;
    change.set_version(1)?;
    change.commit()?;
    Ok(id)
}

fn begin(store: &BackingStore, id: DatabaseId, durability: Durability) -> Result<WriteTransaction> {
    store.begin(Scope::Stores(id, [STORE].into()), durability)
}

fn key(n: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    Key::Number(n.into()).encode(&mut bytes);
    bytes
}

fn raw(key: &[u8]) -> RawKey<'_> {
    RawKey::decode_exact(key).unwrap()
}

fn put(transaction: &mut WriteTransaction, n: u8, objects: &[NewExternalObject]) -> Result<()> {
    let key = key(n);
    let put = Put {
        key: PutKey::Given(raw(&key)),
        value: &[n],
        mode: PutMode::Put,
        index_keys: &[],
        external_objects: objects,
    };
    transaction.put(STORE, &put).map(drop)
}

fn delete(transaction: &mut WriteTransaction, n: u8) -> Result<()> {
    transaction
        .delete(STORE, &KeyRange::only(raw(&key(n))))
        .map(drop)
}

fn blob(content: &[u8]) -> NewExternalObject {
    NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content: Arc::new(content.to_vec()),
    }
}

fn file(content: &[u8]) -> NewExternalObject {
    NewExternalObject::File {
        mime_type: JsString::default(),
        content: Arc::new(content.to_vec()),
        name: "f".into(),
        last_modified_micros: MODIFIED_MICROS,
    }
}

/// Each record's contents of blobs and files.
type Contents = BTreeMap<u8, Vec<Vec<u8>>>;

fn contents(reads: &Reads, id: DatabaseId) -> Contents {
    let mut contents = Contents::new();
    let mut records = reads.records(id, STORE, CursorDirection::Next);
    while records.next().unwrap() {
        let primary_key = records.primary_key().unwrap();
        let n = records.value().unwrap()[0];
        assert_eq!(primary_key.as_bytes(), key(n));
        let objects = reads.external_objects(id, STORE, primary_key).unwrap();
        let read = objects.iter().map(|object| match object {
            ExternalObject::Blob(blob) | ExternalObject::File { blob, .. } => {
                let mut content = Vec::new();
                let mut reader = reads.open_blob(id, blob).unwrap();
                reader.read_to_end(&mut content).unwrap();
                content
            }
            ExternalObject::FileSystemAccessHandle { token } => token.clone(),
        });
        contents.insert(n, read.collect());
    }
    contents
}

/// How many blob files there are.
fn file_count(fs: &MemoryFileSystem) -> usize {
    fn below(fs: &MemoryFileSystem, dir: &Path) -> usize {
        let Ok(names) = fs.list(dir) else {
            return 0;
        };
        let paths = names.into_iter().map(|name| dir.join(name));
        let counts = paths.map(|path| match fs.metadata(&path) {
            Ok(metadata) if !metadata.is_dir => 1,
            _ => below(fs, &path),
        });
        counts.sum()
    }
    below(fs, Path::new(BLOB))
}
