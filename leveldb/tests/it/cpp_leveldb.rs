//! Stores that C++ LevelDB made are read as C++ LevelDB reads them.

use crate::store::{Operation, StoreBuilder};
use crate::support::*;
use larder_leveldb::{EntryKind, ErrorKind, OnDamage};
use std::collections::BTreeMap;

/// Random operations in C++, left as a kill leaves them; then both read.
fn agrees_with_cpp(comparator: &str, compression: &str) {
    // How many a store has at its end is up to the timing of C++ LevelDB's compactions.
    let mut most_tables = 0;
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
        most_tables = most_tables.max(db.files().len());
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
    assert!(most_tables > 1, "no tables to merge");
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
    // The walk from a key on is the rest of the walk from the first, of keys that were deleted, too.
    let walk = |entries: &mut larder_leveldb::Entries, most: usize| {
        let mut all = Vec::new();
        while all.len() < most && entries.advance().unwrap() {
            all.push((entries.key().to_vec(), entries.sequence()));
        }
        all
    };
    let all = walk(&mut db.snapshot().entries(), usize::MAX);
    for (key, _) in all.iter().step_by(97) {
        let first = all.iter().position(|(other, _)| other == key).unwrap();
        let mut rest = db.snapshot().entries();
        rest.seek(key);
        let expected: Vec<_> = all.iter().skip(first).take(5).cloned().collect();
        assert_eq!(walk(&mut rest, 5), expected);
    }
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

#[test]
fn cpp_leveldb_reads_what_our_encoders_write() {
    let operations: Vec<Operation> = (0..3000u32)
        .map(|i| {
            let key = format!("key{:04}", i.wrapping_mul(7919) % 1000).into_bytes();
            (
                key,
                (i % 5 > 0).then(|| {
                    format!("value {i}")
                        .repeat(1 + i as usize % 40)
                        .into_bytes()
                }),
            )
        })
        .collect();
    let store = StoreBuilder::spread(&operations);
    let expected = forward(&store.open(options("bytewise", OnDamage::Fail)).unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    store.write_to(dir.path());
    let Some((cpp_forward, cpp_backward)) = oracle_dump(dir.path(), "bytewise") else {
        return;
    };
    assert!(cpp_forward == expected);
    assert!(cpp_backward.into_iter().rev().eq(expected));
}

#[test]
fn a_store_that_cpp_leveldb_is_writing_to_is_read_as_of_one_moment() {
    let Some(oracle) = oracle() else { return };
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let mut writer = std::process::Command::new(oracle)
        .arg("churn")
        .arg(&store)
        .arg("3000")
        .spawn()
        .unwrap();
    let (mut opened, mut held, mut last) = (0, 0, 0u32);
    while writer.try_wait().unwrap().is_none() {
        let db = match open_disk(&store, options("bytewise", OnDamage::Fail)) {
            Ok(db) => db,
            // Before its first file.
            Err(error) if error.kind() == ErrorKind::NotAStore && opened == 0 => continue,
            Err(error) if opened == 0 && error.kind() == ErrorKind::Corruption => continue,
            Err(error) => panic!("{error}"),
        };
        held += u32::from(db.lock_holder().and_then(|holder| holder.pid) == Some(writer.id()));
        let rows = forward(&db).unwrap();
        if rows.is_empty() {
            continue;
        }
        opened += 1;
        assert_eq!(rows.len(), 100, "a batch is seen whole or not at all");
        let number = |value: &[u8]| {
            let text = String::from_utf8_lossy(value).into_owned();
            text.split_once('.').unwrap().0.parse::<u32>().unwrap()
        };
        let first = number(&rows[0].1);
        assert!(
            rows.iter().all(|(_, value)| number(value) == first),
            "two moments in one"
        );
        assert!(first >= last, "{first} after {last}");
        last = first;
    }
    assert!(writer.wait().unwrap().success());
    println!("opened {opened} times while it was written, {held} times with the lock held");
    assert!(opened == 0 || held > 0);
}
