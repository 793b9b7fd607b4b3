//! Stores as others leave them, continued by the writing engine: tables under the old suffix, two logs that are both live, a
//! previous log that only the MANIFEST names.

use crate::store::{Operation, StoreBuilder};
use crate::support::*;
use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::{Background, Db, Durability, OnDamage, Options};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

fn operations(count: u32) -> Vec<Operation> {
    let operation = |i: u32| {
        let key = format!("key{:03}", i.wrapping_mul(7919) % 300).into_bytes();
        let value = format!("value {i}").repeat(1 + i as usize % 9);
        (key, (!i.is_multiple_of(5)).then(|| value.into_bytes()))
    };
    (0..count).map(operation).collect()
}

fn map_of(operations: &[Operation]) -> Map {
    let mut map = Map::new();
    for (key, value) in operations {
        match value {
            Some(value) => drop(map.insert(key.clone(), value.clone())),
            None => drop(map.remove(key)),
        }
    }
    map
}

fn open(dir: &Path) -> Db {
    let options = Options {
        write_buffer_bytes: 20_000,
        table_file_bytes: 10_000,
        background: Background::Caller,
        ..Options::default()
    };
    Db::open(Arc::new(DiskFileSystem::new()), dir, options).unwrap()
}

fn shows(db: &Db, map: &Map) {
    let expected: Rows = map.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    assert!(forward(db).unwrap() == expected, "forward");
    let mut reversed = backward(db).unwrap();
    reversed.reverse();
    assert!(reversed == expected, "backward");
    for n in 0..300 {
        let key = format!("key{n:03}").into_bytes();
        assert_eq!(db.get(&key).unwrap().as_ref(), map.get(&key), "get {n}");
    }
}

#[expect(clippy::disallowed_methods, reason = "tests look at stores")]
fn count_of(dir: &Path, suffix: &str) -> usize {
    let names = std::fs::read_dir(dir).unwrap();
    names
        .filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().ends_with(suffix)
        })
        .count()
}

/// Opens, reads, writes, compacts, reopens; after each step C++ LevelDB reads a copy.
fn is_continued(dir: &Path, mut map: Map) {
    let copies = tempfile::tempdir().unwrap();
    let cpp_agrees = |step: &str, map: &Map| {
        let copy = copies.path().join(step);
        copy_dir(dir, &copy);
        if let Some((rows, mut reversed)) = oracle_dump(&copy, "bytewise") {
            reversed.reverse();
            assert!(
                reversed == rows && rows.into_iter().eq(map.clone()),
                "C++ {step}"
            );
        }
    };
    let db = open(dir);
    shows(&db, &map);
    db.close().unwrap();
    cpp_agrees("opened", &map);
    let db = open(dir);
    for n in (0..300).step_by(7) {
        let key = format!("key{n:03}").into_bytes();
        db.put(&key, b"new", Durability::Relaxed).unwrap();
        map.insert(key, b"new".to_vec());
        let key = format!("key{:03}", n + 1).into_bytes();
        db.delete(&key, Durability::Relaxed).unwrap();
        map.remove(&key);
    }
    drop(db);
    cpp_agrees("written", &map);
    let db = open(dir);
    shows(&db, &map);
    while db.do_background_work().unwrap() {}
    shows(&db, &map);
    db.compact_range(None, None).unwrap();
    shows(&db, &map);
    assert_eq!(
        count_of(dir, ".sst"),
        0,
        "old tables go when they are replaced"
    );
    assert_eq!(count_of(dir, ".ldb"), db.files().len());
    assert_eq!((count_of(dir, ".log"), count_of(dir, "CURRENT")), (1, 1));
    db.close().unwrap();
    cpp_agrees("compacted", &map);
    shows(&open(dir), &map);
}

#[test]
fn old_tables_and_two_live_logs_are_continued_and_read_by_cpp_leveldb() {
    let operations = operations(3000);
    let dir = tempfile::tempdir().unwrap();
    StoreBuilder::spread(&operations).write_to(dir.path());
    assert!(count_of(dir.path(), ".sst") > 1 && count_of(dir.path(), ".log") == 2);
    is_continued(dir.path(), map_of(&operations));
}

#[test]
fn a_previous_log_that_the_manifest_names_is_continued_and_read_by_cpp_leveldb() {
    let operations = operations(900);
    let mut store = StoreBuilder::new();
    store.add_tables(1, 1, &operations[..400], 2);
    store.add_log(401, &operations[400..600], 3);
    store.prev_log = store.first_log.take().unwrap();
    store.add_log(601, &operations[600..], 3);
    store.finish();
    let dir = tempfile::tempdir().unwrap();
    store.write_to(dir.path());
    is_continued(dir.path(), map_of(&operations));
}

/// The oracle's store with every other table under its old name.
#[test]
#[expect(clippy::disallowed_methods, reason = "tests rename tables")]
fn tables_of_cpp_leveldb_under_their_old_names_are_continued_and_read_by_it_again() {
    for seed in 1..=2 {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store");
        let path = store.to_str().unwrap();
        let args = [
            "make",
            path,
            &seed.to_string(),
            "3000",
            "bytewise",
            "snappy",
        ];
        println!("{}", args[2..].join(" "));
        if run_oracle(&args).is_none() {
            return;
        }
        let paths = std::fs::read_dir(&store).unwrap();
        let mut paths: Vec<_> = paths.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|suffix| suffix == "ldb"));
        paths.sort();
        for path in paths.iter().step_by(2) {
            std::fs::rename(path, path.with_extension("sst")).unwrap();
        }
        assert!(count_of(&store, ".sst") > 0);
        let db = open_disk(&store, options("bytewise", OnDamage::Fail)).unwrap();
        let map: Map = forward(&db).unwrap().into_iter().collect();
        drop(db);
        let copy = dir.path().join("copy");
        copy_dir(&store, &copy);
        let cpp: Map = oracle_dump(&copy, "bytewise")
            .unwrap()
            .0
            .into_iter()
            .collect();
        assert!(cpp == map);
        is_continued(&store, map);
    }
}
