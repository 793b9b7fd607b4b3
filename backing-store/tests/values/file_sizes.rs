//! Sizes and times of files in stores of schema 3, which are those of the blob files.

use std::io;
use std::sync::Arc;

use larder_backing_store::{CursorDirection, ErrorKind, OpenOptions, Result, Store, StorePaths};
use larder_codec::external_object::ExternalObject;
use larder_leveldb::OnDamage;
use larder_leveldb::storage::{DiskFileSystem, Fault, FaultFileSystem};

use crate::stores::each_object_store;

/// The external objects of all records.
fn external_objects(store: &Store) -> Result<Vec<ExternalObject>> {
    let mut all = Vec::new();
    let mut result = Ok(());
    each_object_store(store, |database, object_store| {
        let mut records = store.records(database.id, object_store.id, CursorDirection::Next);
        while result.is_ok() && records.next().unwrap() {
            let key = records.primary_key().unwrap();
            match store.external_objects(database.id, object_store.id, key) {
                Ok(objects) => all.extend(objects),
                Err(error) => result = Err(error),
            }
        }
    });
    result.map(|()| all)
}

#[test]
fn a_size_that_cannot_be_found_out_is_an_error_and_not_zero() {
    let files = larder_fixtures::get("c64-lite").open();
    let fs = Arc::new(FaultFileSystem::new(Arc::new(DiskFileSystem::new())));
    let options = OpenOptions {
        on_damage: OnDamage::Skip,
        ..OpenOptions::default()
    };
    let paths = StorePaths::of_leveldb(&files.leveldb());
    let store = Store::open_read_only(fs.clone(), paths, options).unwrap();
    let whole = external_objects(&store).unwrap();
    let first = fs.operations();
    // Tables and blocks are in memory: what is asked of the system now is about the files.
    assert_eq!(external_objects(&store).unwrap(), whole);
    let asked = fs.operations() - first;
    assert!(asked > 0);
    for n in 1..=asked {
        fs.fail_at(Fault {
            operation: fs.operations() + n,
            kind: io::ErrorKind::PermissionDenied,
            every_later_too: false,
        });
        let error = external_objects(&store).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        fs.heal();
        assert_eq!(external_objects(&store).unwrap(), whole);
    }
    assert!(fs.failed().iter().all(|what| *what == "metadata"));
}
