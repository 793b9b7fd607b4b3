//! Opening: what real stores hold before and after, and what is refused without being touched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use larder_codec::row_key::{GlobalKey, RecordTable, RowKey};
use larder_codec::{DataVersion, Origin};
use larder_leveldb::storage::{DiskFileSystem, MemoryFileSystem};
use larder_leveldb::{Db, Options};

use super::open::global_key;
use super::*;
use crate::view::{SCOPES_PREFIX, View};
use crate::{
    Durability, Error, ErrorKind, FixedClock, IdbComparator, OpenOptions, SCHEMA_VERSION_MAX,
    Scope, Store,
};

mod reserve;
mod row_store;
mod tombstones;
mod versions;

fn options() -> WriteOptions {
    let origin = Origin::from_url("http://127.0.0.1:18917").unwrap();
    let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    options.background = Background::Caller;
    options
}

fn paths() -> StorePaths {
    StorePaths::of_leveldb(Path::new(
        "p/IndexedDB/http_127.0.0.1_18917.indexeddb.leveldb",
    ))
}

fn create(fs: &MemoryFileSystem) -> BackingStore {
    let mut options = options();
    options.create_if_missing = true;
    BackingStore::open(Arc::new(fs.clone()), paths(), options).unwrap()
}

/// The key of the undo log's version.
const UNDO_LOG_VERSION: [u8; 6] = [0, 0, 0, 0, 50, 0];

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn rows(view: &View) -> Rows {
    let mut iter = view.iter();
    // The least key that a row can have.
    iter.seek(&global_key(&GlobalKey::SchemaVersion)).unwrap();
    let mut rows = Rows::new();
    while iter.valid() {
        rows.insert(iter.key().to_vec(), iter.value().unwrap().to_vec());
        iter.next().unwrap();
    }
    rows
}

/// What the first write may change: the active journal.
fn take_out_what_writing_changes(rows: &mut Rows) {
    rows.remove(&global_key(&GlobalKey::ActiveBlobJournal));
}

/// Everything, the undo log's rows, too.
fn raw_rows(snapshot: &Snapshot) -> Rows {
    let mut iter = snapshot.iter();
    iter.seek_to_first().unwrap();
    let mut rows = Rows::new();
    while iter.valid() {
        rows.insert(iter.key().to_vec(), iter.value().unwrap().to_vec());
        iter.next().unwrap();
    }
    rows
}

/// Every file below, with its length.
fn files_below(dir: &Path) -> BTreeMap<PathBuf, u64> {
    let fs = DiskFileSystem::new();
    let mut files = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for name in fs.list(&dir).unwrap_or_default() {
            let path = dir.join(name);
            let metadata = fs.metadata(&path).unwrap();
            if metadata.is_dir {
                dirs.push(path);
            } else {
                files.insert(path, metadata.len_bytes);
            }
        }
    }
    files
}

fn open_disk(leveldb: &Path) -> Result<BackingStore> {
    let fs = Arc::new(DiskFileSystem::new());
    BackingStore::open(fs, StorePaths::of_leveldb(leveldb), options())
}

fn read_disk(leveldb: &Path) -> Store {
    let fs = Arc::new(DiskFileSystem::new());
    let paths = StorePaths::of_leveldb(leveldb);
    Store::open_read_only(fs, paths, OpenOptions::default()).unwrap()
}

#[test]
fn every_golden_store_has_before_the_first_write_what_recovery_in_memory_showed() {
    let fixtures = larder_fixtures::all();
    let mut recovered = 0;
    for fixture in &fixtures {
        let copy = fixture.copy();
        let leveldb = copy.leveldb();
        let blob = StorePaths::of_leveldb(&leveldb).blob;
        let before = read_disk(&leveldb);
        recovered += before.recovery().undone.len() + before.recovery().finished.len();
        let versions = (before.schema_version(), before.data_version());
        let has_log = raw_rows(before.snapshot().unwrap()).contains_key(&UNDO_LOG_VERSION[..]);
        let (mut rows_before, files_before) = (rows(before.view()), files_below(&blob));
        drop(before);

        let store = open_disk(&leveldb).unwrap_or_else(|error| panic!("{}: {error}", fixture.name));
        let mut rows_open = rows(store.read().view());
        assert!(rows_open == rows_before, "{}", fixture.name);
        store.core.settle().unwrap();
        rows_open = rows(store.read().view());
        store.close().unwrap();

        let after = read_disk(&leveldb);
        assert!(after.recovery().is_empty(), "{}", fixture.name);
        assert_eq!((after.schema_version(), after.data_version()), versions);
        let raw = raw_rows(after.snapshot().unwrap());
        let log = raw.keys().filter(|key| key.starts_with(&SCOPES_PREFIX));
        let is_started = has_log || versions.0 > Some(3);
        let expected = is_started.then_some(&UNDO_LOG_VERSION[..]);
        let expected: Vec<_> = expected.into_iter().collect();
        assert_eq!(log.collect::<Vec<_>>(), expected, "{}", fixture.name);

        let mut rows_after = rows(after.view());
        assert_eq!(rows_open, rows_after, "{}", fixture.name);
        let active = global_key(&GlobalKey::ActiveBlobJournal);
        assert_eq!(rows_after.get(&active), None);
        assert!(rows_before.len() > 5);
        let recovery = global_key(&GlobalKey::RecoveryBlobJournal);
        let has_entries = |key| rows_before.get(key).is_some_and(|row| !row.is_empty());
        let (had_active, had_recovery) = (has_entries(&active), has_entries(&recovery));
        if had_recovery {
            assert_eq!(rows_after.get(&recovery), Some(&Vec::new()));
            for rows in [&mut rows_before, &mut rows_after, &mut rows_open] {
                rows.remove(&recovery);
            }
        }
        for rows in [&mut rows_before, &mut rows_after, &mut rows_open] {
            take_out_what_writing_changes(rows);
        }
        assert!(rows_before == rows_after, "{}", fixture.name);
        if !had_active && !had_recovery {
            assert_eq!(files_below(&blob), files_before, "{}", fixture.name);
        }
    }
    assert!(
        fixtures.len() >= 10 && recovered >= 3,
        "{recovered} transactions"
    );
}

#[test]
fn the_files_of_schema_3_get_what_reading_in_memory_showed_if_the_host_raises_the_schema() {
    let fixture = larder_fixtures::all().into_iter().find(|fixture| {
        let store = read_disk(&fixture.open().leveldb());
        store.schema_version() == Some(3)
    });
    let copy = fixture.unwrap().copy();
    let leveldb = copy.leveldb();
    let objects = |store: &Store| {
        let rows = rows(store.view());
        let external = rows
            .keys()
            .filter_map(|key| match RowKey::decode_exact(key) {
                Ok(RowKey::Record(key)) if key.table == RecordTable::ExternalObject => Some(key),
                _ => None,
            });
        external
            .map(|key| {
                let objects = store.external_objects(key.database_id, key.object_store_id, key.key);
                objects.unwrap()
            })
            .collect::<Vec<_>>()
    };
    let before = objects(&read_disk(&leveldb));
    let mut raising = options();
    raising.raise_schema = true;
    let fs = Arc::new(DiskFileSystem::new());
    let store = BackingStore::open(fs, StorePaths::of_leveldb(&leveldb), raising).unwrap();
    store.close().unwrap();
    let after = read_disk(&leveldb);
    assert_eq!(after.schema_version(), Some(SCHEMA_VERSION_MAX));
    assert_eq!(objects(&after), before);
    let is_file = |object: &larder_codec::external_object::ExternalObject| {
        matches!(
            object,
            larder_codec::external_object::ExternalObject::File { .. }
        )
    };
    assert!(before.iter().flatten().any(is_file));
}

#[test]
fn a_new_store_has_the_undo_logs_version_first_then_schema_and_data_version() {
    let fs = MemoryFileSystem::new();
    create(&fs).close().unwrap();
    let engine = Options::new(Arc::new(IdbComparator));
    let db = Db::open_read_only(Arc::new(fs), &paths().leveldb, engine).unwrap();
    let mut entries: Vec<(u64, Vec<u8>, Vec<u8>)> = Vec::new();
    let mut iter = db.iter();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        let (key, value) = (iter.key().to_vec(), iter.value().unwrap().to_vec());
        entries.push((iter.sequence(), key, value));
        iter.next().unwrap();
    }
    entries.sort();
    assert_eq!(
        entries,
        [
            (1, vec![0, 0, 0, 0, 50, 0], vec![8, 1]),
            (2, vec![0, 0, 0, 0, 0], vec![5]),
            // Those of Chromium 92.
            (3, vec![0, 0, 0, 0, 2], vec![20, 0, 0, 0, 13]),
        ]
    );
}

#[test]
fn a_missing_store_is_made_only_if_that_is_asked_for() {
    let fs = MemoryFileSystem::new();
    let error = BackingStore::open(Arc::new(fs.clone()), paths(), options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotAStore);
    assert_eq!(
        fs.list(Path::new("p")).unwrap_err().kind(),
        std::io::ErrorKind::NotFound
    );
}

#[test]
fn a_store_that_is_open_elsewhere_is_a_conflict() {
    let fs = MemoryFileSystem::new();
    let store = create(&fs);
    let error = BackingStore::open(Arc::new(fs.clone()), paths(), options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    store.close().unwrap();
    BackingStore::open(Arc::new(fs), paths(), options()).unwrap();
}

/// All bytes of all files of the store.
fn content(fs: &MemoryFileSystem) -> BTreeMap<String, Vec<u8>> {
    let dir = paths().leveldb;
    let mut files = BTreeMap::new();
    for name in fs.list(&dir).unwrap() {
        let file = fs.open_random(&dir.join(&name)).unwrap();
        let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
        let mut at = 0;
        while at < bytes.len() {
            at += file.read_at(at as u64, &mut bytes[at..]).unwrap();
        }
        files.insert(name.into_string().unwrap(), bytes);
    }
    files
}

/// Opens a new store after `change`, and says how that is refused. Nothing may have been touched.
fn refusal(change: impl FnOnce(&Db)) -> Error {
    let fs = MemoryFileSystem::new();
    let store = create(&fs);
    change(&store.core.db);
    store.close().unwrap();
    let before = content(&fs);
    let error = BackingStore::open(Arc::new(fs.clone()), paths(), options()).unwrap_err();
    assert!(content(&fs) == before, "{error}");
    error
}

fn put(db: &Db, key: &[u8], value: &[u8]) {
    db.put(key, value, Durability::Relaxed).unwrap();
}

#[test]
fn newer_schemas_and_value_versions_and_schemas_too_old_are_refused_untouched() {
    for (row, value) in [
        (GlobalKey::SchemaVersion, &[6][..]),
        (GlobalKey::SchemaVersion, &[2]),
        (GlobalKey::DataVersion, &[21, 0, 0, 0, 17]),
        (GlobalKey::DataVersion, &[22, 0, 0, 0, 16]),
    ] {
        let error = refusal(|db| put(db, &global_key(&row), value));
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{row:?} {error}");
    }
}

#[test]
fn what_cannot_be_read_is_damage_and_left_as_it_is() {
    let journal = global_key(&GlobalKey::ActiveBlobJournal);
    let (schema, data) = (
        global_key(&GlobalKey::SchemaVersion),
        global_key(&GlobalKey::DataVersion),
    );
    for (key, value) in [
        (&journal[..], &[1][..]),
        (&schema, &[]),
        (&data, &[0; 9]),
        // The undo log: a newer version; metadata, a task, a key that are none.
        (&[0, 0, 0, 0, 50, 0], &[8, 2]),
        (&[0, 0, 0, 0, 50, 1, 7], &[0x0a]),
        (&[0, 0, 0, 0, 50, 1], &[]),
    ] {
        let error = refusal(|db| put(db, key, value));
        assert_eq!(error.kind(), ErrorKind::Corruption, "{key:?} {error}");
        assert!(error.to_string().contains("left as it is"), "{error}");
    }
    let error = refusal(|db| {
        put(db, &[0, 0, 0, 0, 50, 1, 7], b"\x0a\x08\x12\x06\x0a\x04kill");
        put(
            db,
            &[
                0, 0, 0, 0, 50, 2, 7, 0, 0x7f, 255, 255, 255, 255, 255, 255, 255,
            ],
            &[9],
        );
    });
    assert_eq!(error.kind(), ErrorKind::Corruption);
    let error = refusal(|db| {
        put(db, &[0, 0, 0, 0, 1], &[1]);
        db.delete(&schema, Durability::Relaxed).unwrap();
    });
    assert_eq!(error.kind(), ErrorKind::Corruption);
}

fn write_file(fs: &MemoryFileSystem, path: &Path, bytes: &[u8]) {
    let mut file = fs.create(path).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

#[test]
fn a_store_that_chromium_has_condemned_is_refused_and_a_note_that_says_nothing_is_not() {
    let fs = MemoryFileSystem::new();
    create(&fs).close().unwrap();
    let note = paths().leveldb.join("corruption_info.json");
    write_file(&fs, &note, b"{\"message\": \"bad\"}");
    let error = BackingStore::open(Arc::new(fs.clone()), paths(), options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    write_file(&fs, &note, b"");
    BackingStore::open(Arc::new(fs), paths(), options()).unwrap();
}

#[test]
fn blobs_where_a_new_stores_will_be_are_removed() {
    let fs = MemoryFileSystem::new();
    let blob = paths().blob;
    for dir in ["p", "p/IndexedDB"] {
        fs.create_dir(Path::new(dir)).unwrap();
    }
    fs.create_dir(&blob).unwrap();
    fs.create_dir(&blob.join("1")).unwrap();
    fs.create_dir(&blob.join("1/00")).unwrap();
    write_file(&fs, &blob.join("1/00/2"), b"old");
    create(&fs);
    assert!(fs.metadata(&blob).is_err());
}

#[test]
fn the_active_journal_is_cleaned_before_the_first_write_and_not_by_reading() {
    let fs = MemoryFileSystem::new();
    let store = create(&fs);
    let active = global_key(&GlobalKey::ActiveBlobJournal);
    put(&store.core.db, &active, &[1, 2, 2, 1]);
    store.close().unwrap();
    let blob = paths().blob;
    for dir in ["", "1", "1/00", "2", "2/00"] {
        fs.create_dir(&blob.join(dir)).unwrap();
    }
    for file in ["1/00/2", "1/00/3", "2/00/2"] {
        write_file(&fs, &blob.join(file), b"blob");
    }
    let store = BackingStore::open(Arc::new(fs.clone()), paths(), options()).unwrap();
    store.databases().unwrap();
    assert!(store.snapshot().get(&active).unwrap().is_some());
    assert!(fs.metadata(&blob.join("1/00/2")).is_ok());
    store.create_database(&"d".into()).unwrap();
    assert_eq!(store.snapshot().get(&active).unwrap(), None);
    assert!(fs.metadata(&blob.join("1/00/2")).is_err() && fs.metadata(&blob.join("2")).is_err());
    assert!(fs.metadata(&blob.join("1/00/3")).is_ok());
}

#[test]
fn a_new_database_has_chromiums_rows_in_its_order() {
    let fs = MemoryFileSystem::new();
    let store = create(&fs);
    let id = store.create_database(&"d".into()).unwrap();
    assert_eq!(store.create_database(&"d".into()).unwrap(), id);
    let mut iter = store.core.db.iter();
    let mut entries = Vec::new();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        entries.push((
            iter.sequence(),
            iter.key().to_vec(),
            iter.value().unwrap().to_vec(),
        ));
        iter.next().unwrap();
    }
    entries.sort();
    let origin = b"http_127.0.0.1_18917@1";
    let mut name_key = vec![0, 0, 0, 0, 201, u8::try_from(origin.len()).unwrap()];
    name_key.extend(origin.iter().flat_map(|byte| [0, *byte]));
    name_key.extend([1, 0, b'd']);
    let added: Vec<_> = entries
        .into_iter()
        .skip(3)
        .map(|(_, k, v)| (k, v))
        .collect();
    assert_eq!(
        added,
        [
            (vec![0, 0, 0, 0, 1], vec![1]),
            (name_key, vec![1]),
            (vec![0, 1, 0, 0, 4], vec![0]),
            (vec![0, 1, 0, 0, 5], vec![2]),
        ]
    );
    let listed = store.databases().unwrap();
    assert_eq!(
        (listed.len(), listed[0].id, listed[0].version),
        (1, id, None)
    );
}

#[test]
fn a_deleted_database_leaves_no_row_and_no_blob_and_its_id_is_not_given_again() {
    let fs = MemoryFileSystem::new();
    let store = create(&fs);
    let (one, two): (JsString, JsString) = ("one".into(), "two".into());
    let id = store.create_database(&one).unwrap();
    let other = store.create_database(&two).unwrap();
    for database in [1, 2] {
        for n in 0..5000_u16 {
            let mut key = vec![0, database, 1, 1, 3];
            key.extend(f64::from(n).to_le_bytes());
            put(&store.core.db, &key, b"value");
        }
    }
    let blob = paths().blob;
    for dir in ["", "1", "1/00", "2", "2/00"] {
        fs.create_dir(&blob.join(dir)).unwrap();
    }
    for file in ["1/00/2", "2/00/2"] {
        write_file(&fs, &blob.join(file), b"blob");
    }
    let scope = Scope::VersionChange(id);
    let reader = store.read();
    let writer = store.begin(scope, Durability::Relaxed).unwrap();
    let error = store.delete_database(&one).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    drop(writer);
    assert!(store.delete_database(&one).unwrap());
    assert!(!store.delete_database(&one).unwrap());
    assert_eq!(store.databases().unwrap().len(), 1);
    let is_there = |name: &str| fs.metadata(&blob.join(name)).is_ok();
    assert!(is_there("1/00/2"), "a reader may still ask for it");
    assert!(rows(reader.view()).len() > 10_000);
    drop(reader);
    assert_eq!(store.create_database(&one).unwrap().get(), 3);
    store.close().unwrap();
    assert!(!is_there("1") && is_there("2/00/2"));

    let store = Store::open_read_only(Arc::new(fs), paths(), OpenOptions::default()).unwrap();
    assert!(store.recovery().is_empty());
    let left = rows(store.view());
    assert!(left.keys().all(|key| key[..2] != [0, 1]));
    assert_eq!(left.keys().filter(|key| key[..2] == [0, 2]).count(), 5002);
    let journal = global_key(&GlobalKey::RecoveryBlobJournal);
    assert_eq!(left.get(&journal), None);
    let other_name = store.databases(&mut Vec::new()).unwrap();
    assert!(other_name.iter().any(|d| d.id == other && d.name == two));
}

#[test]
fn a_deletion_that_a_crash_cut_short_is_finished_by_opening() {
    let fs = MemoryFileSystem::new();
    let store = create(&fs);
    store.create_database(&"d".into()).unwrap();
    put(&store.core.db, &[0, 1, 1, 1, 1, 1, 0, 0x61], b"value");
    store.delete_database(&"d".into()).unwrap();
    assert!(store.core.db.get(&[0, 1, 0, 0, 4]).unwrap().is_some());
    let image = fs.crash_image(larder_leveldb::storage::CrashImage::KeepWritten);
    let store = BackingStore::open(Arc::new(image), paths(), options()).unwrap();
    let view = store.read();
    assert!(rows(view.view()).keys().all(|key| key[..2] == [0, 0]));
}

#[test]
fn a_scope_takes_no_number_that_is_on_disk_not_even_one_that_only_tasks_have() {
    let fs = MemoryFileSystem::new();
    let store = create(&fs);
    let record = [0, 1, 1, 1, 1, 1, 0, 0x61];
    put(&store.core.db, &record, b"stays");
    // An undo task of scope 9, which has no metadata: deletes the record.
    let mut task = vec![0x12, 10, 0x0a, 8];
    task.extend(record);
    let orphan = [
        0, 0, 0, 0, 50, 2, 9, 0, 0x7f, 255, 255, 255, 255, 255, 255, 254,
    ];
    put(&store.core.db, &orphan, &task);
    store.close().unwrap();
    let store = BackingStore::open(Arc::new(fs), paths(), options()).unwrap();
    let scope = Scope::VersionChange(DatabaseId::MIN);
    let mut transaction = store.begin(scope, Durability::Relaxed).unwrap();
    transaction
        .put_row(&[0, 1, 1, 1, 1, 1, 0, 0x62], b"value")
        .unwrap();
    transaction.commit().unwrap();
    assert_eq!(store.core.new_scope_id().unwrap().get(), 10);
    assert!(store.core.db.get(&record).unwrap().is_some());
}

#[test]
fn closing_leaves_little_in_the_log_and_a_little_stays_there() {
    for (rows, is_left) in [(3, true), (5, false)] {
        let fs = MemoryFileSystem::new();
        let store = create(&fs);
        for n in 0..rows {
            put(
                &store.core.db,
                &[0, 1, 1, 1, 1, 1, 0, 0x61 + n],
                &[n; 1 << 20],
            );
        }
        store.close().unwrap();
        let folder = paths().leveldb;
        let logs = fs.list(&folder).unwrap();
        let logs = logs
            .iter()
            .filter(|name| name.to_string_lossy().ends_with(".log"));
        let len_bytes = |name| fs.metadata(&folder.join(name)).unwrap().len_bytes;
        assert_eq!(logs.map(len_bytes).sum::<u64>() > 3 << 20, is_left);
        let store = BackingStore::open(Arc::new(fs), paths(), options()).unwrap();
        let value = store
            .core
            .db
            .get(&[0, 1, 1, 1, 1, 1, 0, 0x60 + rows])
            .unwrap();
        assert_eq!(value, Some(vec![rows - 1; 1 << 20]));
    }
}
