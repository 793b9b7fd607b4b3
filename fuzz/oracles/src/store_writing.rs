//! Laws of writing to stores that may be anything: every file, every row may lie.
//!
//! Opening refuses a store or takes it; then it can be written to, closed, and opened again. What was committed is there then. A
//! row that lies may make an operation fail, never panic, and an operation that fails changes nothing once it is rolled back.

use std::sync::Arc;

use larder_backing_store::blob::NewExternalObject;
use larder_backing_store::{
    Background, BackingStore, Durability, FixedClock, KeyRange, Maintenance, ObjectStoreParameters,
    Put, PutKey, PutMode, Record, Result, Scope, WriteOptions, WriteTransaction,
};
use larder_codec::{DatabaseId, Key, KeyPath, ObjectStoreId, Origin, RawKey};
use larder_leveldb::storage::MemoryFileSystem;

use crate::base::Base;
use crate::store_directory::files;

fn open(fs: &Arc<MemoryFileSystem>) -> Result<BackingStore> {
    let origin = Origin::from_url("http://127.0.0.1:18917").expect("an origin");
    let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    options.background = Background::Caller;
    options.transaction_memory_bytes = 300;
    BackingStore::open(fs.clone(), Base::paths(), options)
}

/// A store as of [`store_directory`](crate::store_directory), written to.
pub fn store_writing(data: &[u8]) {
    write_to(&files(data).mount());
}

/// Opens a store, writes to it, closes it, and finds what was written when it is opened again.
pub(crate) fn write_to(fs: &Arc<MemoryFileSystem>) {
    let Ok(store) = open(fs) else {
        return;
    };
    let written = write(&store);
    // Quiet work may meet rows that lie, too.
    for _ in 0..100 {
        if !matches!(store.maintain(), Ok(Maintenance::Step)) {
            break;
        }
    }
    if store.close().is_err() {
        return;
    }
    let store = open(fs).expect("a store that was closed well opens again");
    if let Ok(Some((database_id, object_store_id))) = written {
        let mut record = Record::new();
        let key = key();
        let reads = store.read();
        let found = reads.get(database_id, object_store_id, raw(&key), &mut record);
        assert!(
            found.expect("what was written can be read"),
            "what was committed is there"
        );
        assert_eq!(record.value(), b"kept");
    }
}

fn key() -> Vec<u8> {
    let mut bytes = Vec::new();
    Key::from("a key").encode(&mut bytes);
    bytes
}

fn raw(key: &[u8]) -> RawKey<'_> {
    RawKey::decode_exact(key).expect("a key that was just encoded")
}

/// Changes what is there, rolls that back, and puts a record into an object store of its own: where.
fn write(store: &BackingStore) -> Result<Option<(DatabaseId, ObjectStoreId)>> {
    for database in store.databases().unwrap_or_default().iter().take(3) {
        let scope = Scope::VersionChange(database.id);
        let Ok(mut change) = store.begin(scope, Durability::Relaxed) else {
            continue;
        };
        for found in database.object_stores.iter().take(3) {
            // It is tried; rows that lie may be in the way.
            let _ = try_all(&mut change, found.id);
        }
        change.rollback();
    }
    let id = store.create_database(&"of the fuzzer".into())?;
    let mut change = store.begin(Scope::VersionChange(id), Durability::Strict)?;
    let object_store = change.create_object_store(&ObjectStoreParameters {
        id: None,
        name: "s".into(),
        key_path: KeyPath::Null,
        auto_increment: true,
    })?;
    put(&mut change, object_store, b"kept")?;
    change.set_version(1)?;
    change.commit()?;
    Ok(Some((id, object_store)))
}

fn put(change: &mut WriteTransaction, id: ObjectStoreId, value: &[u8]) -> Result<()> {
    let content = Arc::new(b"content".to_vec());
    let blob = NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content,
    };
    let key = key();
    let put = Put {
        key: PutKey::Given(raw(&key)),
        value,
        mode: PutMode::Put,
        index_keys: &[],
        external_objects: &[blob],
    };
    change.put(id, &put).map(drop)
}

fn try_all(change: &mut WriteTransaction, id: ObjectStoreId) -> Result<()> {
    put(change, id, &[7; 400])?;
    change.delete(id, &KeyRange::ALL)?;
    put(change, id, b"again")?;
    change.clear(id)?;
    change.rename_object_store(id, &"another".into())?;
    change.delete_object_store(id)
}
