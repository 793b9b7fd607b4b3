//! What the tests share: files of real stores, in memory, and walks over their rows.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{CursorDirection, ErrorKind, Store, StoreRows};
use larder_codec::compare;
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};

pub(crate) const FOLDER: &str = "http_127.0.0.1_18917";

pub(crate) type Files = Vec<(String, Vec<u8>)>;

pub(crate) fn files(name: &str) -> Files {
    let fixture = larder_fixtures::get(name).open();
    let mut files: Files = fs::read_dir(fixture.sqlite())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

pub(crate) fn open(files: &Files) -> larder_backing_store::Result<Store> {
    let fs: Arc<dyn FileSystem> = Arc::new(in_memory(files));
    larder_sqlite_store::open(&fs, Path::new(FOLDER), &std::env::temp_dir())
}

pub(crate) fn in_memory(files: &Files) -> MemoryFileSystem {
    let memory = MemoryFileSystem::new();
    memory.create_dir(Path::new(FOLDER)).unwrap();
    for (name, bytes) in files {
        let path = Path::new(FOLDER).join(name);
        memory.create(&path).unwrap().append(bytes).unwrap();
    }
    memory
}

pub(crate) type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// All rows in order, and how many could not be read.
pub(crate) fn walk(rows: &mut StoreRows) -> (Rows, usize) {
    let (mut all, mut lost) = (Rows::new(), 0);
    loop {
        match rows.next() {
            Ok(true) => {
                let last: Option<&(Vec<u8>, _)> = all.last();
                assert!(last.is_none_or(|(last, _)| compare(last, rows.key()).is_lt()));
                all.push((rows.key().to_vec(), rows.value().unwrap().to_vec()));
            }
            Ok(false) => return (all, lost),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
                lost += 1;
            }
        }
    }
}

pub(crate) fn rows_of(files: &Files) -> Rows {
    let store = open(files).unwrap();
    assert!(store.recovery().problems.is_empty());
    let (rows, lost) = walk(&mut store.rows());
    assert_eq!(lost, 0);
    rows
}

/// Changes a file by SQLite itself, as a browser would. The file is whole again afterwards, without a log.
pub(crate) fn change(file: &mut Vec<u8>, statements: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0");
    fs::write(&path, &*file).unwrap();
    let sqlite = rusqlite::Connection::open(&path).unwrap();
    sqlite.execute_batch(statements).unwrap();
    sqlite.close().unwrap();
    *file = fs::read(&path).unwrap();
}

/// How many records all object stores of all databases have.
pub(crate) fn count_records(store: &Store) -> usize {
    let databases = store.databases(&mut Vec::new()).unwrap();
    let stores = databases.iter().flat_map(|database| {
        let stores = database.object_stores.iter();
        stores.map(move |object_store| (database.id, object_store.id))
    });
    stores
        .map(|(database, object_store)| {
            let mut records = store.records(database, object_store, CursorDirection::Next);
            std::iter::from_fn(|| records.next().unwrap().then_some(())).count()
        })
        .sum()
}
