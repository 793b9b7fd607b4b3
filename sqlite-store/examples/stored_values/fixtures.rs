//! Every value of every golden store.

use std::io::Write;
use std::sync::Arc;

use larder_backing_store::{
    CursorDirection, DatabaseMetadata, ObjectStoreMetadata, OpenOptions, Store, StorePaths,
};
use larder_codec::external_object::{BlobInfo, ExternalObject, last_modified_ms};
use larder_codec::value::Envelope;
use larder_leveldb::OnDamage;
use larder_leveldb::storage::{DiskFileSystem, FileSystem};
use serde_json::json;

use crate::{both, frame};

/// Writes all values: for each its place and what lies beside it (JSON), the bytes that say what it is (the record's, or the blob's that it
/// lies in), what these unpack to, the value written anew, and the value written as it was read.
pub(crate) fn write(out: &mut dyn Write) -> Result<(), String> {
    let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
    let mut lost = 0;
    let on_leveldb = larder_fixtures::all();
    for fixture in [on_leveldb, larder_fixtures::in_another_order()].concat() {
        let files = fixture.open();
        let options = OpenOptions {
            on_damage: OnDamage::Skip,
            ..OpenOptions::default()
        };
        let paths = StorePaths::of_leveldb(&files.leveldb());
        let store = Store::open_read_only(Arc::clone(&fs), paths, options);
        lost += each(&store.map_err(text)?, &fixture.name, out)?;
    }
    for fixture in larder_fixtures::in_sqlite() {
        let files = fixture.open();
        let store = larder_sqlite_store::open(&fs, &files.sqlite(), &std::env::temp_dir());
        lost += each(&store.map_err(text)?, &fixture.name, out)?;
    }
    eprintln!("{lost} values lie in blobs that are gone");
    out.flush().map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Writes the values of one store. Killed browsers leave records whose blob is gone: how many.
fn each(store: &Store, fixture: &str, out: &mut dyn Write) -> Result<usize, String> {
    let mut lost = 0;
    for database in store.databases(&mut Vec::new()).map_err(text)? {
        for object_store in &database.object_stores {
            lost += each_of(store, fixture, (&database, object_store), out)?;
        }
    }
    Ok(lost)
}

fn each_of(
    store: &Store,
    fixture: &str,
    (database, object_store): (&DatabaseMetadata, &ObjectStoreMetadata),
    out: &mut dyn Write,
) -> Result<usize, String> {
    let mut lost = 0;
    let mut position = 0;
    let mut records = store.records(database.id, object_store.id, CursorDirection::Next);
    while records.next().map_err(text)? {
        let key = records.primary_key().map_err(text)?;
        let inline = records.value().map_err(text)?;
        let objects = store.external_objects(database.id, object_store.id, key);
        let objects = objects.map_err(text)?;
        let place = json!({
            "fixture": fixture,
            "database": database.name.to_hex(),
            "objectStore": object_store.name.to_hex(),
            "position": position,
            "objects": objects.iter().map(shown).collect::<Vec<_>>(),
        });
        position += 1;
        let (mut buffer, mut blob_buffer) = (Vec::new(), Vec::new());
        let content;
        let (outer, payload) = match Envelope::peel(inline, &mut buffer).map_err(text)? {
            Envelope::Inline(payload) => (inline, payload),
            Envelope::InBlob { size, index } => {
                let Ok(bytes) = store.wrapped_value(database.id, &objects, index, size) else {
                    lost += 1;
                    continue;
                };
                content = bytes;
                let payload = Envelope::peel_blob(&content, &mut blob_buffer).map_err(text)?;
                (content.as_slice(), payload)
            }
        };
        let [anew, as_read] = both(&payload).map_err(text)?;
        frame(out, place.to_string().as_bytes())?;
        for bytes in [outer, payload.bytes(), &anew, &as_read] {
            frame(out, bytes)?;
        }
    }
    Ok(lost)
}

/// What a test can make of an external object.
fn shown(object: &ExternalObject) -> serde_json::Value {
    let blob = |blob: &BlobInfo| json!({"type": blob.mime_type.to_hex(), "size": blob.size_bytes});
    match object {
        ExternalObject::Blob(info) => blob(info),
        ExternalObject::File {
            blob: info,
            name,
            last_modified_micros,
        } => {
            let mut file = blob(info);
            file["name"] = name.to_hex().into();
            file["lastModified"] = last_modified_ms(*last_modified_micros).into();
            file
        }
        ExternalObject::FileSystemAccessHandle { token } => json!({"token": token}),
    }
}
