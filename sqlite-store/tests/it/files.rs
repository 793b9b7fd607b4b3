//! Which files are databases, and what lies in them beside rows.

use std::time::{Duration, UNIX_EPOCH};

use larder_backing_store::{CursorDirection, Store, last_modified_ms};
use larder_codec::DatabaseId;
use larder_codec::external_object::ExternalObject;

use crate::support::{Files, change, count_records, files, open};

#[test]
fn what_a_first_upgrade_left_that_was_killed_is_no_database() {
    let files = files("s156-odd");
    let store = open(&files).unwrap();
    let databases = store.databases(&mut Vec::new()).unwrap();
    assert_eq!(databases.len() + 1, files.len());
    assert!(databases.iter().all(|database| database.name != "first"));
}

#[test]
fn of_two_files_with_one_database_the_one_with_its_name_is_read() {
    let whole = files("s156-killed-upgrade");
    let (_, bytes) = whole.iter().max_by_key(|(_, bytes)| bytes.len()).unwrap();
    let expected = count_records(&open(&whole).unwrap());
    for name in ["A", "7"] {
        let (mut both, mut other) = (whole.clone(), bytes.clone());
        change(&mut other, "DELETE FROM records");
        both.push((name.repeat(52), other));
        let store = open(&both).unwrap();
        assert_eq!(count_records(&store), expected);
        let problems = &store.recovery().problems;
        assert_eq!(problems.len(), 1, "{problems:?}");
        let said = problems[0].to_string();
        assert!(said.contains(&name.repeat(52)), "{said}");
    }
}

/// All external objects, record by record.
fn objects(store: &Store) -> Vec<(DatabaseId, Vec<ExternalObject>)> {
    let mut all = Vec::new();
    for database in store.databases(&mut Vec::new()).unwrap() {
        for object_store in &database.object_stores {
            let mut records = store.records(database.id, object_store.id, CursorDirection::Next);
            while records.next().unwrap() {
                let key = records.primary_key().unwrap();
                let objects = store
                    .external_objects(database.id, object_store.id, key)
                    .unwrap();
                all.push((database.id, objects));
            }
        }
    }
    all
}

#[test]
fn files_have_the_time_of_their_last_modification() {
    for name in ["s156-lite", "s156-migrated"] {
        let fixture = larder_fixtures::get(name).open();
        let fs = std::sync::Arc::new(larder_leveldb::storage::DiskFileSystem::new());
        let fs: std::sync::Arc<dyn larder_leveldb::storage::FileSystem> = fs;
        let store = larder_sqlite_store::open(&fs, &fixture.sqlite(), fixture.dir()).unwrap();
        let mut checked = 0;
        for (database, objects) in objects(&store) {
            for object in objects {
                let ExternalObject::File {
                    blob,
                    last_modified_micros,
                    ..
                } = object
                else {
                    continue;
                };
                let path = store.paths().blob_file(database, blob.number);
                let modified = store.fs().metadata(&path).unwrap().modified.unwrap();
                let since = last_modified_ms(last_modified_micros);
                let distance = Duration::from_millis(since.unsigned_abs());
                let expected = match since {
                    0.. => UNIX_EPOCH + distance,
                    _ => UNIX_EPOCH - distance,
                };
                assert_eq!(modified, expected, "{name}");
                checked += 1;
            }
        }
        assert!(checked > 3, "{name}: {checked}");
    }
}

#[test]
fn handles_stand_behind_blobs_and_files_whatever_their_row_ids() {
    let whole = files("s156-lite");
    let changed: Files = whole
        .into_iter()
        .map(|(name, mut bytes)| {
            // The first object of each record that has several becomes a handle.
            change(
                &mut bytes,
                "UPDATE blobs SET object_type = 2, bytes = x'0801' WHERE row_id IN \
                 (SELECT min(blob_row_id) FROM blob_references GROUP BY record_row_id HAVING count(*) > 1)",
            );
            (name, bytes)
        })
        .collect();
    let mut mixed = 0;
    for (_, objects) in objects(&open(&changed).unwrap()) {
        let is_handle = |object: &ExternalObject| {
            matches!(object, ExternalObject::FileSystemAccessHandle { .. })
        };
        let first = objects.iter().position(is_handle);
        mixed += usize::from(first > Some(0));
        assert!(first.is_none_or(|first| objects[first..].iter().all(is_handle)));
    }
    assert!(mixed > 0);
}
