//! Walks over all records of all golden stores.

use std::sync::Arc;

use larder_backing_store::{
    CursorDirection, DatabaseMetadata, ObjectStoreMetadata, OpenOptions, Store, StorePaths,
};
use larder_codec::value::{Envelope, Payload};
use larder_fixtures::Fixture;
use larder_leveldb::OnDamage;
use larder_leveldb::storage::DiskFileSystem;

/// Opens a golden store; of damaged ones, what is whole.
pub(crate) fn open(fixture: &Fixture) -> (larder_fixtures::OpenFixture, Store) {
    let files = fixture.open();
    let options = OpenOptions {
        on_damage: OnDamage::Skip,
        ..OpenOptions::default()
    };
    let paths = StorePaths::of_leveldb(&files.leveldb());
    let store = Store::open_read_only(Arc::new(DiskFileSystem::new()), paths, options);
    (files, store.unwrap())
}

/// A record's value.
pub(crate) struct Stored<'a> {
    /// Its bytes in the row.
    pub(crate) inline: &'a [u8],
    /// The content of the blob that it lies in, and that blob's place.
    pub(crate) blob: Option<(&'a [u8], u32)>,
    /// The value with all that taken off.
    pub(crate) payload: Payload<'a>,
}

/// Calls `f` with every value of an object store that can be fetched, and its primary key.
pub(crate) fn each_value(
    store: &Store,
    database: &DatabaseMetadata,
    object_store: &ObjectStoreMetadata,
    mut f: impl FnMut(larder_codec::RawKey<'_>, &Stored<'_>),
) {
    let mut records = store.records(database.id, object_store.id, CursorDirection::Next);
    while records.next().unwrap() {
        let key = records.primary_key().unwrap();
        let inline = records.value().unwrap();
        let (mut buffer, mut blob_buffer) = (Vec::new(), Vec::new());
        let content;
        let (payload, blob) = match Envelope::peel(inline, &mut buffer).unwrap() {
            Envelope::Inline(payload) => (payload, None),
            Envelope::InBlob { size, index } => {
                let objects = store
                    .external_objects(database.id, object_store.id, key)
                    .unwrap();
                // Killed browsers leave records whose blob is gone.
                let Ok(bytes) = store.wrapped_value(database.id, &objects, index, size) else {
                    continue;
                };
                content = bytes;
                let payload = Envelope::peel_blob(&content, &mut blob_buffer).unwrap();
                (payload, Some((content.as_slice(), index)))
            }
        };
        let stored = Stored {
            inline,
            blob,
            payload,
        };
        f(key, &stored);
    }
}

/// Calls `f` with every object store.
pub(crate) fn each_object_store(
    store: &Store,
    mut f: impl FnMut(&DatabaseMetadata, &ObjectStoreMetadata),
) {
    for database in store.databases(&mut Vec::new()).unwrap() {
        for object_store in &database.object_stores {
            f(&database, object_store);
        }
    }
}
