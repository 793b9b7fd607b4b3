//! A store keeps its versions: opening and reading changes nothing, and writing raises them only where the host has asked for it.

use super::*;
use crate::{NEW_STORE_VERSION, RaiseDataVersion, WriteTransaction};

#[test]
fn opening_a_golden_store_for_writing_and_reading_it_changes_no_row() {
    let mut checked = 0;
    for fixture in larder_fixtures::all() {
        let copy = fixture.copy();
        let leveldb = copy.leveldb();
        let blob = StorePaths::of_leveldb(&leveldb).blob;
        let before = read_disk(&leveldb);
        let (raw, seen, files) = (
            raw_rows(before.snapshot().unwrap()),
            rows(before.view()),
            files_below(&blob),
        );
        let versions = (before.schema_version(), before.data_version());
        drop(before);

        let store = open_disk(&leveldb).unwrap_or_else(|error| panic!("{}: {error}", fixture.name));
        assert!(rows(store.read().view()) == seen, "{}", fixture.name);
        let databases = store.databases().unwrap();
        let own = store.core.options.origin.row_text();
        if let Some(database) = databases.iter().find(|database| database.origin == own) {
            assert_eq!(
                store.create_database(&database.name).unwrap(),
                database.id,
                "{}: it is there",
                fixture.name
            );
        }
        assert!(!store.delete_database(&"not there".into()).unwrap());
        assert_eq!(store.maintain().unwrap(), Maintenance::Idle);
        assert_eq!(Some(store.versions().data()), versions.1);
        store.close().unwrap();

        let after = read_disk(&leveldb);
        assert!(
            raw_rows(after.snapshot().unwrap()) == raw,
            "{}",
            fixture.name
        );
        assert_eq!((after.schema_version(), after.data_version()), versions);
        assert_eq!(files_below(&blob), files, "{}", fixture.name);
        checked += 1;
    }
    assert!(checked >= 10, "{checked} stores");
}

fn data_version_row(fs: &MemoryFileSystem) -> DataVersion {
    let store = Store::open_read_only(Arc::new(fs.clone()), paths(), OpenOptions::default());
    store.unwrap().data_version().unwrap()
}

/// A transaction on an object store of a new database.
fn begin_in(store: &BackingStore, name: &str) -> WriteTransaction {
    let id = store.create_database(&name.into()).unwrap();
    let transaction = store.begin(Scope::VersionChange(id), Durability::Relaxed);
    transaction.unwrap()
}

const V8_14: DataVersion = DataVersion { v8: 14, blink: 20 };
const V8_16: DataVersion = DataVersion { v8: 16, blink: 21 };

#[test]
fn the_data_version_rises_in_the_batch_that_commits_the_value_and_with_no_other() {
    let fs = MemoryFileSystem::new();
    let store = create(&fs);
    let mut low = begin_in(&store, "low");
    let mut high = begin_in(&store, "high");
    let mut dropped = begin_in(&store, "dropped");
    for (transaction, version) in [(&mut low, V8_14), (&mut high, V8_16), (&mut dropped, V8_16)] {
        transaction.require_data_version(version).unwrap();
        assert_eq!(transaction.data_version(), version);
        transaction.set_version(1).unwrap();
    }
    assert_eq!(store.versions().data(), NEW_STORE_VERSION);
    dropped.rollback();
    assert_eq!(store.versions().data(), NEW_STORE_VERSION);
    let image = |fs: &MemoryFileSystem| {
        data_version_row(&fs.crash_image(larder_leveldb::storage::CrashImage::LoseUnsynced))
    };
    assert_eq!(image(&fs), NEW_STORE_VERSION);
    low.commit().unwrap();
    assert_eq!((store.versions().data(), image(&fs)), (V8_14, V8_14));
    high.commit().unwrap();
    assert_eq!((store.versions().data(), image(&fs)), (V8_16, V8_16));
    // What has less does not lower it.
    let mut after = begin_in(&store, "after");
    after.require_data_version(V8_14).unwrap();
    assert_eq!(after.data_version(), V8_16);
    after.set_version(1).unwrap();
    after.commit().unwrap();
    assert_eq!(image(&fs), V8_16);
}

#[test]
fn a_store_that_is_there_is_raised_only_if_the_host_has_asked_for_it() {
    let fs = MemoryFileSystem::new();
    create(&fs).close().unwrap();
    for raise in [RaiseDataVersion::Never, RaiseDataVersion::WhileNew] {
        let mut options = options();
        options.raise_data_version = raise;
        options.new_store_version = V8_16;
        let store = BackingStore::open(Arc::new(fs.clone()), paths(), options).unwrap();
        assert!(store.versions().may_hold(NEW_STORE_VERSION) && !store.versions().may_hold(V8_14));
        let mut transaction = begin_in(&store, "d");
        let error = transaction.require_data_version(V8_14).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        transaction.set_version(1).unwrap();
        transaction.commit().unwrap();
        store.close().unwrap();
        assert_eq!(data_version_row(&fs), NEW_STORE_VERSION, "{raise:?}");
    }
    let mut options = options();
    options.raise_data_version = RaiseDataVersion::WhenNeeded;
    let store = BackingStore::open(Arc::new(fs.clone()), paths(), options).unwrap();
    let unknown = DataVersion { v8: 17, blink: 21 };
    assert!(store.versions().may_hold(V8_14) && !store.versions().may_hold(unknown));
    let mut transaction = begin_in(&store, "d");
    transaction.require_data_version(V8_14).unwrap();
    transaction.set_version(2).unwrap();
    transaction.commit().unwrap();
    store.close().unwrap();
    assert_eq!(data_version_row(&fs), V8_14);
}
