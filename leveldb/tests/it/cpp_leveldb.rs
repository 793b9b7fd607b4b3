//! Stores that C++ LevelDB made are read as C++ LevelDB reads them.

use crate::support::*;
use larder_leveldb::{EntryKind, OnDamage};
use std::collections::BTreeMap;

/// Random operations in C++, left as a kill leaves them; then both read.
fn agrees_with_cpp(comparator: &str, compression: &str) {
    for seed in 1..=4u64 {
        println!("seed {seed}, {comparator}, {compression}");
        let dir = tempfile::tempdir().unwrap();
        let (store, copy) = (dir.path().join("store"), dir.path().join("copy"));
        let args = [
            "make",
            store.to_str().unwrap(),
            &seed.to_string(),
            "4000",
            comparator,
            compression,
        ];
        if run_oracle(&args).is_none() {
            return;
        }
        copy_dir(&store, &copy);
        let (cpp_forward, cpp_backward) = oracle_dump(&copy, comparator).unwrap();
        assert!(cpp_forward.len() > 1000);
        let db = open_disk(&store, options(comparator, OnDamage::Fail)).unwrap();
        assert!(db.files().len() > 1, "no tables to merge");
        assert!(forward(&db).unwrap() == cpp_forward, "forward");
        assert!(backward(&db).unwrap() == cpp_backward, "backward");
        let skipping = open_disk(&store, options(comparator, OnDamage::Skip)).unwrap();
        assert!(
            forward(&skipping).unwrap() == cpp_forward,
            "forward, skipping damage"
        );
        assert_eq!(skipping.damage(), []);
        gets_agree(&db, &cpp_forward);
        entries_agree(&db, &cpp_forward);
    }
}

fn gets_agree(db: &larder_leveldb::Db, rows: &Rows) {
    let snapshot = db.snapshot();
    let mut value = Vec::new();
    for (key, expected) in rows {
        assert!(
            snapshot.get_into(key, &mut value).unwrap() && value == *expected,
            "{key:?}"
        );
    }
    let mut entries = snapshot.entries();
    let live: BTreeMap<_, _> = rows.iter().map(|(key, value)| (key, value)).collect();
    let mut dead = 0;
    while entries.advance().unwrap() {
        let key = entries.key().to_vec();
        if !live.contains_key(&key) {
            dead += 1;
            assert_eq!(snapshot.get(&key).unwrap(), None, "{key:?}");
        }
    }
    assert!(dead > 50, "{dead} deleted keys");
}

/// The newest of each key's entries is the row.
fn entries_agree(db: &larder_leveldb::Db, rows: &Rows) {
    let mut entries = db.snapshot().entries();
    let (mut seen, mut last): (Rows, Option<(Vec<u8>, u64)>) = (Vec::new(), None);
    while entries.advance().unwrap() {
        assert!(!entries.file_name().is_empty());
        let key = entries.key().to_vec();
        match &last {
            Some((before, sequence)) if *before == key => assert!(entries.sequence() <= *sequence),
            _ if entries.kind() == EntryKind::Value => {
                seen.push((key.clone(), entries.value().unwrap().to_vec()))
            }
            _ => {}
        }
        last = Some((key, entries.sequence()));
    }
    assert!(seen == *rows);
}

#[test]
fn bytewise_snappy_stores_agree() {
    agrees_with_cpp("bytewise", "snappy");
}

#[test]
fn bytewise_unpacked_stores_agree() {
    agrees_with_cpp("bytewise", "none");
}

#[test]
fn stores_with_a_comparator_that_shortens_nothing_agree() {
    agrees_with_cpp("idb", "snappy");
}
