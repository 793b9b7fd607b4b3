//! The walk over all wanted records that the streaming forms share.

use std::io;

use larder_backing_store::{CursorDirection, DatabaseMetadata, ObjectStoreMetadata};
use larder_codec::RawKey;
use larder_codec::external_object::ExternalObject;
use larder_codec::value::Tree;

use super::blobs::{BlobFolder, SavedObject};
use crate::record::ValueReader;
use crate::scan::{Scan, Stop};

/// One record on its way out.
pub(super) struct Record<'r> {
    pub(super) key: RawKey<'r>,
    /// The value's bytes as they are stored.
    pub(super) bytes: &'r [u8],
    /// The value, or why it cannot be shown.
    pub(super) value: Result<RecordValue<'r>, &'r str>,
}

/// A readable value.
pub(super) struct RecordValue<'r> {
    pub(super) tree: &'r Tree<'r>,
    /// The external objects it refers to.
    pub(super) objects: &'r [SavedObject],
}

/// A form of output that takes records one by one.
pub(super) trait RecordWriter {
    /// The records of this object store come next.
    fn object_store(
        &mut self,
        database: &DatabaseMetadata,
        object_store: &ObjectStoreMetadata,
    ) -> io::Result<()>;

    /// One record.
    fn record(&mut self, record: &Record<'_>) -> io::Result<()>;
}

/// Hands all wanted records of a scan's store to `writer`: databases in the order of their names, object stores by id,
/// records by key. Databases that Chromium does not show are left out.
pub(super) fn write_records(
    scan: &mut Scan<'_>,
    mut blobs: Option<&mut BlobFolder>,
    writer: &mut dyn RecordWriter,
) -> Result<(), Stop> {
    for database in scan.databases()? {
        if database.version.is_none() {
            continue;
        }
        for object_store in scan.object_stores(&database) {
            writer.object_store(&database, object_store)?;
            write_object_store(scan, &database, object_store, blobs.as_deref_mut(), writer)?;
        }
    }
    Ok(())
}

fn write_object_store(
    scan: &mut Scan<'_>,
    database: &DatabaseMetadata,
    object_store: &ObjectStoreMetadata,
    mut blobs: Option<&mut BlobFolder>,
    writer: &mut dyn RecordWriter,
) -> Result<(), Stop> {
    let store = scan.store;
    let mut reader = ValueReader::new(store, database.id, object_store);
    let mut records = store.records(database.id, object_store.id, CursorDirection::Next);
    while scan.advance(|| records.next())? {
        let key = records.primary_key()?;
        let bytes = records.value()?;
        let read = reader.read(key, bytes, |tree, objects| {
            let objects = save(
                scan,
                database,
                object_store,
                key,
                objects,
                blobs.as_deref_mut(),
            )?;
            writer.record(&Record {
                key,
                bytes,
                value: Ok(RecordValue {
                    tree,
                    objects: &objects,
                }),
            })
        });
        match read {
            Ok(written) => written?,
            Err(error) => {
                scan.value_damage(database, object_store, key, &error);
                let problem = error.to_string();
                writer.record(&Record {
                    key,
                    bytes,
                    value: Err(&problem),
                })?;
            }
        }
    }
    Ok(())
}

/// Looks at the files of a record's external objects, and copies them if that is wanted. An error means that the copy
/// could not be written; a file that cannot be read is reported.
fn save(
    scan: &mut Scan<'_>,
    database: &DatabaseMetadata,
    object_store: &ObjectStoreMetadata,
    key: RawKey<'_>,
    objects: &[ExternalObject],
    mut blobs: Option<&mut BlobFolder>,
) -> io::Result<Vec<SavedObject>> {
    objects
        .iter()
        .map(|object| {
            let (saved, problem) =
                SavedObject::save(scan.store, database.id, object, blobs.as_deref_mut())?;
            if let Some(problem) = problem {
                scan.value_damage(database, object_store, key, &*problem);
            }
            Ok(saved)
        })
        .collect()
}
