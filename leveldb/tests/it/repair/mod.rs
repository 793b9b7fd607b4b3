//! Repair: what is whole comes back, what is not is listed, nothing that could not be read is deleted.
//!
//! The expectations come from what was written: a row whose newest entry lies in an undamaged file must come back as it was;
//! whatever else comes back was written once, and is said to be in doubt.

mod damaged;
mod faults;
mod known;
mod peer;

use crate::store::{Operation, StoreBuilder, get_file, put_file};
use crate::support::{
    Rows, backward, copy_dir, forward, open_disk, oracle_dump, oracle_repair, run_oracle,
};
use larder_leveldb::file_name::FileName;
use larder_leveldb::internal_key;
use larder_leveldb::storage::{CrashImage, DiskFileSystem, FileSystem, MemoryFileSystem};
use larder_leveldb::{
    Background, Db, Durability, EntryKind, ErrorKind, OnDamage, Options, Repaired, RowsInDoubt,
    repair,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

const DIR: &str = "store";

fn options() -> Options {
    Options {
        log_value_bytes: 500,
        table_file_bytes: 4000,
        background: Background::Caller,
        ..Options::default()
    }
}

/// Keys are overwritten and deleted over and over.
fn operations(count: u32) -> Vec<Operation> {
    let operation = |i: u32| {
        let random = i.wrapping_mul(0x9e37_79b9) >> 12;
        let key = format!("key{:03}", random % 90).into_bytes();
        let len = if random.is_multiple_of(37) {
            700
        } else {
            random % 30
        };
        let value = format!("{i}:{}", "v".repeat(len as usize)).into_bytes();
        (key, (!(random >> 8).is_multiple_of(4)).then_some(value))
    };
    (0..count).map(operation).collect()
}

fn put(key: &str, value: &str) -> Operation {
    (key.into(), Some(value.into()))
}

/// What was written, and where it is.
struct Truth {
    rows: Map,
    /// Everything that was ever written.
    written: BTreeSet<(Vec<u8>, Vec<u8>)>,
    /// For each key, the file with its newest entry.
    files: BTreeMap<Vec<u8>, String>,
}

impl Truth {
    fn of(store: &StoreBuilder, operations: &[Operation]) -> Truth {
        let mut rows = Map::new();
        for (key, value) in operations {
            match value {
                Some(value) => drop(rows.insert(key.clone(), value.clone())),
                None => drop(rows.remove(key)),
            }
        }
        let pairs = operations.iter();
        let pairs = pairs.filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
        let db = store.open(options()).unwrap();
        let mut entries = db.snapshot().entries();
        let mut files = BTreeMap::new();
        while entries.advance().unwrap() {
            let file = entries.file_name().to_owned();
            files.entry(entries.key().to_vec()).or_insert(file);
        }
        Truth {
            rows,
            written: pairs.collect(),
            files,
        }
    }
}

fn copy_of(fs: &MemoryFileSystem) -> Arc<MemoryFileSystem> {
    Arc::new(fs.crash_image(CrashImage::KeepWritten))
}

fn mend(fs: &Arc<MemoryFileSystem>, rows_in_doubt: RowsInDoubt, case: &str) -> Repaired {
    let repaired = repair(fs.clone(), Path::new(DIR), &options(), rows_in_doubt);
    repaired.unwrap_or_else(|error| panic!("{case}: {error}"))
}

/// The rows of a store that must be without damage, and can be written.
fn rows_of(fs: &Arc<MemoryFileSystem>, case: &str) -> Map {
    let db = Db::open(fs.clone(), Path::new(DIR), options());
    let db = db.unwrap_or_else(|error| panic!("{case}: {error}"));
    let rows = forward(&db).unwrap();
    let mut reversed = backward(&db).unwrap();
    reversed.reverse();
    assert!(rows == reversed, "{case}");
    for (key, value) in &rows {
        assert_eq!(db.get(key).unwrap().as_ref(), Some(value), "{case}");
    }
    db.put(b"written after", b"x", Durability::Strict).unwrap();
    assert_eq!(
        db.get(b"written after").unwrap().as_deref(),
        Some(&b"x"[..])
    );
    db.close().unwrap();
    rows.into_iter().collect()
}

/// What a careful reader is shown.
fn shown(fs: &Arc<MemoryFileSystem>) -> Map {
    let options = Options {
        on_damage: OnDamage::Skip,
        ..options()
    };
    let db = Db::open_read_only(fs.clone(), Path::new(DIR), options).unwrap();
    forward(&db).unwrap().into_iter().collect()
}

fn is_map(name: &str) -> bool {
    name == "CURRENT" || name.starts_with("MANIFEST")
}

/// Repairs a store of which one file is damaged, and holds the result against what was written.
fn check(damaged: &MemoryFileSystem, name: &str, truth: &Truth, case: &str) {
    let fs = copy_of(damaged);
    let before = shown(&fs);
    let repaired = mend(&fs, RowsInDoubt::BringBack, case);
    let bytes = damaged.open_random(&Path::new(DIR).join(name)).is_ok();
    if bytes && !repaired.damage.is_empty() {
        let kept = get_file(&fs, &Path::new(DIR).join("lost").join(name));
        let original = get_file(damaged, &Path::new(DIR).join(name));
        assert!(kept == original, "{case}: the original is not there");
    }
    let rows = rows_of(&fs, case);
    assert_eq!(rows.len() as u64, repaired.rows, "{case}");
    let doubted: BTreeSet<_> = repaired.rows_in_doubt.iter().map(|row| &row.key).collect();
    assert_eq!(doubted.len() as u64, repaired.in_doubt, "{case}");
    let any_in_doubt = repaired
        .damage
        .iter()
        .any(|damage| damage.outdated_possible);
    for (key, value) in &rows {
        assert!(
            truth.written.contains(&(key.clone(), value.clone())),
            "{case}"
        );
        if truth.rows.get(key) != Some(value) {
            assert!(any_in_doubt || doubted.contains(key), "{case}: {key:?}");
        }
    }
    let is_safe = |key: &Vec<u8>| is_map(name) || truth.files[key] != name;
    for (key, value) in &truth.rows {
        if is_safe(key) {
            assert_eq!(rows.get(key), Some(value), "{case}: {key:?}");
        }
        assert!(
            rows.contains_key(key) || !repaired.damage.is_empty(),
            "{case}"
        );
    }
    for (key, value) in &before {
        assert_eq!(rows.get(key), Some(value), "{case}: {key:?} was shown");
    }
    let fs = copy_of(damaged);
    let left_out = mend(&fs, RowsInDoubt::LeaveOut, case);
    assert_eq!(left_out.rows_in_doubt, repaired.rows_in_doubt, "{case}");
    assert_eq!(rows_of(&fs, case), before, "{case}: without rows in doubt");
}

fn files(fs: &MemoryFileSystem) -> Vec<String> {
    let names = fs.list(Path::new(DIR)).unwrap();
    let mut names: Vec<String> = names
        .iter()
        .map(|name| name.to_str().unwrap().into())
        .collect();
    names.sort();
    names
}

#[test]
fn a_byte_changed_anywhere_costs_at_most_rows_of_its_file_and_doubt_is_said() {
    let operations = operations(600);
    let store = StoreBuilder::spread(&operations);
    let truth = Truth::of(&store, &operations);
    let mut cases = 0;
    for name in files(&store.fs) {
        let path = Path::new(DIR).join(&name);
        let whole = get_file(&store.fs, &path);
        for at in (cases % 23..whole.len()).step_by(23) {
            let bits = 1u8 << (at % 8);
            let mut damaged = whole.clone();
            damaged[at] ^= bits;
            put_file(&store.fs, &path, &damaged);
            check(
                &store.fs,
                &name,
                &truth,
                &format!("{name} byte {at} ^ {bits:02x}"),
            );
            cases += 1;
        }
        put_file(&store.fs, &path, &whole);
    }
    println!("{cases} damaged stores");
    assert!(cases > 500);
}

#[test]
fn a_file_cut_or_missing_costs_at_most_its_own_rows() {
    let operations = operations(600);
    let store = StoreBuilder::spread(&operations);
    let truth = Truth::of(&store, &operations);
    let mut cases = 0;
    let last_log = FileName::Log(11).to_string();
    for name in files(&store.fs) {
        let path = Path::new(DIR).join(&name);
        let whole = get_file(&store.fs, &path);
        // A log that ends early, or is empty, or was never made, is what a crash leaves: that is no damage.
        if name != last_log {
            store.fs.remove(&path).unwrap();
            check(&store.fs, &name, &truth, &format!("{name} removed"));
        }
        if !name.ends_with(".log") {
            for len in (0..whole.len()).step_by(61) {
                put_file(&store.fs, &path, &whole[..len]);
                check(&store.fs, &name, &truth, &format!("{name} cut to {len}"));
                cases += 1;
            }
        }
        put_file(&store.fs, &path, &whole);
    }
    println!("{cases} cut files");
    assert!(cases > 100);
}

#[test]
fn without_current_and_any_manifest_tables_and_logs_come_back() {
    let operations = operations(600);
    let store = StoreBuilder::spread(&operations);
    let truth = Truth::of(&store, &operations);
    for name in files(&store.fs).into_iter().filter(|name| is_map(name)) {
        store.fs.remove(&Path::new(DIR).join(name)).unwrap();
    }
    check(&store.fs, "CURRENT", &truth, "no CURRENT, no MANIFEST");
    let fs = copy_of(&store.fs);
    let repaired = mend(&fs, RowsInDoubt::BringBack, "again");
    // Nothing obsolete was there, so all is as it was.
    assert_eq!((repaired.in_doubt, rows_of(&fs, "again")), (0, truth.rows));
}

#[test]
fn a_store_without_damage_is_as_before_and_nothing_is_set_aside() {
    let operations = operations(600);
    let store = StoreBuilder::spread(&operations);
    let truth = Truth::of(&store, &operations);
    let fs = copy_of(&store.fs);
    let repaired = mend(&fs, RowsInDoubt::LeaveOut, "whole");
    assert_eq!(repaired.rows, truth.rows.len() as u64);
    assert_eq!((repaired.damage.len(), repaired.set_aside.len()), (0, 0));
    assert_eq!(rows_of(&fs, "whole"), truth.rows);
    let names = files(&fs);
    assert!(!names.contains(&"lost".to_owned()), "{names:?}");
    // The sequence numbers go on, and the repair counts as a write: a number that was noted before it shows that something was done. The
    // row that was written after it is the other.
    let db = Db::open(fs, Path::new(DIR), options()).unwrap();
    assert_eq!(db.latest_sequence(), operations.len() as u64 + 2);
}

#[test]
fn tables_that_an_intact_manifest_does_not_list_are_set_aside_and_bring_back_nothing_deleted() {
    let mut store = StoreBuilder::new();
    store.add_tables(1, 10, &[put("a", "new")], 1);
    store.add_log(20, &[put("b", "logged")], 1);
    store.finish();
    // What a compaction left when it was interrupted, long ago.
    let mut stranger = StoreBuilder::new();
    stranger.add_tables(1, 1, &[put("a", "old"), put("gone", "deleted since")], 1);
    let name = files(&stranger.fs).remove(0);
    let bytes = get_file(&stranger.fs, &Path::new(DIR).join(&name));
    let path = Path::new(DIR).join("000001.ldb");
    put_file(&store.fs, &path, &bytes);
    let fs = copy_of(&store.fs);
    let repaired = mend(&fs, RowsInDoubt::BringBack, "stranger");
    assert_eq!(repaired.set_aside, [Path::new("lost/000001.ldb")]);
    assert!(get_file(&fs, &Path::new(DIR).join("lost/000001.ldb")) == bytes);
    let rows = rows_of(&fs, "stranger");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[&b"a"[..]], b"new");
    // If the MANIFEST cannot say so, the table is read, and nothing is sure.
    let fs = copy_of(&store.fs);
    fs.remove(&Path::new(DIR).join("MANIFEST-000001")).unwrap();
    let repaired = mend(&fs, RowsInDoubt::BringBack, "stranger, no MANIFEST");
    assert!(
        repaired
            .damage
            .iter()
            .any(|damage| damage.outdated_possible)
    );
    let rows = rows_of(&fs, "stranger, no MANIFEST");
    assert_eq!(rows[&b"a"[..]], b"new");
    assert_eq!(rows[&b"gone"[..]], b"deleted since");
}

#[test]
fn where_the_store_has_lost_rows_those_of_tables_and_logs_beside_it_come_back_in_doubt() {
    let rows = [put("a", "1"), put("c", "3"), put("e", "5")];
    let mut store = StoreBuilder::new();
    store.add_tables(1, 10, &rows, 1);
    store.add_log(20, &[put("f", "6")], 1);
    store.finish();
    let table = Path::new(DIR).join("000003.sst");
    let mut bytes = get_file(&store.fs, &table);
    // The log that the table was made of, and something older, were not removed.
    let mut beside = StoreBuilder::new();
    beside.add_log(10, &rows, 1);
    let log = get_file(&beside.fs, &Path::new(DIR).join("000003.log"));
    put_file(&store.fs, &Path::new(DIR).join("000002.log"), &log);
    let mut older = StoreBuilder::new();
    older.add_tables(
        1,
        1,
        &[put("a", "0"), put("b", "gone"), put("z", "gone")],
        1,
    );
    let older = get_file(&older.fs, &Path::new(DIR).join("000003.sst"));
    put_file(&store.fs, &Path::new(DIR).join("000001.ldb"), &older);
    let fs = copy_of(&store.fs);
    assert_eq!(mend(&fs, RowsInDoubt::BringBack, "whole").in_doubt, 0);
    assert_eq!(rows_of(&fs, "whole").len(), 4);
    bytes[3] ^= 1;
    put_file(&store.fs, &table, &bytes);
    let fs = copy_of(&store.fs);
    let repaired = mend(&fs, RowsInDoubt::BringBack, "damaged");
    let doubted = repaired.rows_in_doubt.iter();
    let doubted: Vec<_> = doubted.map(|row| (&row.key[..], &row.file[..])).collect();
    // The table's filter shows that the table never held b; z is outside of the table's range.
    let log = "000002.log";
    let expected: [(&[u8], &str); 3] = [(b"a", log), (b"c", log), (b"e", log)];
    assert_eq!(doubted, expected);
    let found = rows_of(&fs, "damaged");
    for (key, value) in rows {
        assert_eq!(found.get(&key), value.as_ref());
    }
    assert_eq!(found.len(), 4);
}

#[test]
fn a_value_whose_successor_is_lost_comes_back_in_doubt_or_is_left_out() {
    let mut store = StoreBuilder::new();
    store.add_tables(
        2,
        1,
        &[put("a", "old"), put("b", "kept"), put("z", "old")],
        1,
    );
    store.add_tables(1, 10, &[put("a", "new"), ("m".into(), None)], 1);
    store.add_log(20, &[put("c", "logged")], 1);
    store.finish();
    let newer = Path::new(DIR).join(FileName::Table(4).to_string());
    let mut bytes = get_file(&store.fs, &newer);
    bytes[3] ^= 1;
    put_file(&store.fs, &newer, &bytes);
    let fs = copy_of(&store.fs);
    let repaired = mend(&fs, RowsInDoubt::BringBack, "in doubt");
    let doubted = &repaired.rows_in_doubt[..];
    assert!(
        matches!(doubted, [row] if row.key == b"a" && row.sequence == 1 && row.file == "000003.sst"),
        "{doubted:?}"
    );
    let [damage] = &repaired.damage[..] else {
        panic!("{:?}", repaired.damage);
    };
    assert_eq!(
        (damage.file.to_str(), damage.offset),
        (Some("000004.ldb"), Some(0))
    );
    let range = damage.key_range.as_ref().unwrap();
    assert_eq!(
        (range.low.as_deref(), range.high.as_deref()),
        (Some(&b"a"[..]), Some(&b"m"[..]))
    );
    assert_eq!(rows_of(&fs, "in doubt")[&b"a"[..]], b"old");
    let fs = copy_of(&store.fs);
    let repaired = mend(&fs, RowsInDoubt::LeaveOut, "left out");
    assert_eq!(rows_of(&fs, "left out").len(), 3);
    // The file with the row that was left out is not deleted either.
    assert!(
        repaired
            .set_aside
            .contains(&PathBuf::from("lost/000003.sst"))
    );
}

#[test]
fn rows_of_a_table_in_disorder_come_back_in_order() {
    let mut store = StoreBuilder::new();
    let internal = |key: &str, sequence| {
        let mut internal = Vec::new();
        internal_key::encode(&mut internal, key.as_bytes(), sequence, EntryKind::Value);
        internal
    };
    let entries = ["b", "d", "a", "c", "e"].map(|key| (internal(key, 7), key.as_bytes()));
    store.add_table(1, &entries);
    store.add_log(20, &[put("bb", "logged")], 1);
    store.finish();
    let fs = copy_of(&store.fs);
    let repaired = mend(&fs, RowsInDoubt::BringBack, "disorder");
    assert_eq!(repaired.damage, []);
    let keys: Vec<_> = rows_of(&fs, "disorder").into_keys().collect();
    let expected = ["a", "b", "bb", "c", "d", "e"].map(|key| key.as_bytes().to_vec());
    assert_eq!(keys, expected);
}

#[test]
fn repairs_one_after_the_other_keep_what_was_set_aside() {
    let mut store = StoreBuilder::new();
    store.add_tables(1, 1, &[put("a", "1")], 1);
    store.add_log(2, &[put("b", "2")], 1);
    store.finish();
    let fs = copy_of(&store.fs);
    for (n, name) in ["CURRENT", "CURRENT.2", "CURRENT.3"]
        .into_iter()
        .enumerate()
    {
        let junk = format!("junk {n}");
        put_file(&fs, &Path::new(DIR).join("CURRENT"), junk.as_bytes());
        let repaired = mend(&fs, RowsInDoubt::BringBack, name);
        assert!(repaired.set_aside.contains(&Path::new("lost").join(name)));
        let kept = get_file(&fs, &Path::new(DIR).join("lost").join(name));
        assert_eq!(kept, junk.as_bytes());
    }
    assert!(rows_of(&fs, "at last").len() >= 2);
}

#[test]
fn what_is_no_store_or_another_order_or_in_use_is_left_alone() {
    let fs = Arc::new(MemoryFileSystem::new());
    let kind = |fs: &Arc<MemoryFileSystem>, options: &Options| {
        repair(fs.clone(), Path::new(DIR), options, RowsInDoubt::BringBack)
            .unwrap_err()
            .kind()
    };
    assert_eq!(kind(&fs, &options()), ErrorKind::NotAStore);
    fs.create_dir(Path::new(DIR)).unwrap();
    put_file(&fs, &Path::new(DIR).join("letter.txt"), b"dear");
    assert_eq!(kind(&fs, &options()), ErrorKind::NotAStore);
    assert_eq!(files(&fs), ["letter.txt"]);
    let create = Options {
        create_if_missing: true,
        ..options()
    };
    let db = Db::open(fs.clone(), Path::new(DIR), create).unwrap();
    assert_eq!(kind(&fs, &options()), ErrorKind::Conflict);
    db.close().unwrap();
    let before = files(&fs);
    let other = Options::new(Arc::new(crate::idb_like::IdbLike));
    assert_eq!(kind(&fs, &other), ErrorKind::Usage);
    assert_eq!(files(&fs), before);
}
