//! A store that is damaged somewhere, and opened for writing: an error that says where, or no harm; never less, and never
//! anything removed that was of use.
//!
//! Every case ends with the damage mended and the store opened again: then everything must be there, so nothing that was
//! done to the damaged store, opening, writing or compacting, took anything away.

use crate::store::{get_file, put_file};
use larder_leveldb::storage::{CrashImage, FileSystem, MemoryFileSystem};
use larder_leveldb::table::TableOptions;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Background, Db, Durability, Error, ErrorKind, Options};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

const DIR: &str = "db";
/// Before all other keys.
const WRITTEN: &[u8] = b"a key of its own";

fn options() -> Options {
    Options {
        create_if_missing: true,
        write_buffer_bytes: 4000,
        table_file_bytes: 1500,
        table: TableOptions {
            block_len: 300,
            ..TableOptions::default()
        },
        background: Background::Caller,
        ..Options::default()
    }
}

fn open(fs: &Arc<MemoryFileSystem>) -> larder_leveldb::Result<Db> {
    Db::open(fs.clone(), Path::new(DIR), options())
}

fn mix(n: u32) -> u32 {
    (n ^ (n >> 15)).wrapping_mul(0x85eb_ca6b).rotate_left(13)
}

/// A store as closing leaves it: tables of several levels, a log with three batches in it, and a MANIFEST with a history. With
/// it the log's length and the rows after none, one, ..., all of those batches.
fn store() -> (MemoryFileSystem, Vec<(u64, Map)>) {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(&fs).unwrap();
    let mut map = Map::new();
    let mut write = |rows: std::ops::Range<u32>| {
        let mut batch = BatchWriter::new();
        for n in rows {
            let key = format!("key {:03}", mix(n) % 60).into_bytes();
            if n % 5 == 4 {
                batch.delete(&key);
                map.remove(&key);
            } else {
                let value: Vec<u8> = (0..mix(n) % 60).map(|i| mix(i ^ n) as u8).collect();
                batch.put(&key, &value);
                map.insert(key, value);
            }
        }
        db.write(&mut batch, Durability::Relaxed).unwrap();
        map.clone()
    };
    for n in 0..60 {
        write(n * 4..n * 4 + 4);
        db.do_background_work().unwrap();
        if n == 30 {
            db.compact_range(None, None).unwrap();
        }
    }
    db.flush().unwrap();
    let after = |map| {
        let is_log = |path: &PathBuf| path.extension().is_some_and(|suffix| suffix == "log");
        let log = files(&fs).into_iter().find(is_log).unwrap();
        (fs.metadata(&log).unwrap().len_bytes, map)
    };
    let first = write(0..0);
    // The log begins with an empty batch.
    let mut states = vec![(0, first.clone()), after(first)];
    states.extend((60..63).map(|n| after(write(n * 4..n * 4 + 4))));
    let levels: std::collections::BTreeSet<usize> =
        db.files().iter().map(|file| file.level).collect();
    assert!(levels.len() > 1 && db.files().len() > 3, "{levels:?}");
    db.close().unwrap();
    (fs.crash_image(CrashImage::KeepWritten), states)
}

fn content(db: &Db) -> larder_leveldb::Result<Map> {
    let mut iter = db.iter();
    let mut map = Map::new();
    iter.seek_to_first()?;
    while iter.valid() {
        map.insert(iter.key().to_vec(), iter.value()?.to_vec());
        iter.next()?;
    }
    Ok(map)
}

/// How the cases of a test ended.
#[derive(Debug, Default)]
struct Outcomes {
    refused: u32,
    met: u32,
    torn: u32,
    harmless: u32,
}

fn says_where(error: &Error, is_whole: bool, case: &str) {
    assert_eq!(error.kind(), ErrorKind::Corruption, "{case}: {error}");
    assert!(error.file().is_some(), "{case}: {error}");
    // What is missing has no offset.
    assert!(error.offset().is_some() || !is_whole, "{case}: {error}");
}

/// Rows that are shown are right; those of other tables than the damaged one are shown.
fn reads_go_on(db: &Db, damaged: &str, truth: &Map, case: &str) {
    let files = db.files();
    let damaged = files.iter().find(|file| file.name == damaged).cloned();
    for (key, value) in truth {
        match db.get(key) {
            Ok(got) => assert_eq!(got.as_ref(), Some(value), "{case}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corruption, "{case}: {error}");
                let file = damaged.as_ref().expect("a table is damaged");
                let is_in =
                    file.smallest.as_ref() <= Some(key) && file.largest.as_ref() >= Some(key);
                assert!(is_in, "{case}: a row of another table: {error}");
            }
        }
    }
}

/// Opens a damaged store, reads it, writes to it, compacts it; then mends it.
fn check(
    fs: MemoryFileSystem,
    path: &Path,
    states: &[(u64, Map)],
    case: &str,
    outcomes: &mut Outcomes,
    whole: &[u8],
) {
    let fs = Arc::new(fs);
    let truth = &states[states.len() - 1].1;
    let damaged = get_file(&fs, path);
    let name = path.file_name().unwrap().to_str().unwrap();
    let is_log = name.ends_with(".log");
    match open(&fs) {
        Err(error) => {
            outcomes.refused += 1;
            says_where(&error, damaged.len() == whole.len(), case);
            assert!(get_file(&fs, path) == damaged, "{case}: it was changed");
        }
        Ok(db) => {
            let shown = content(&db);
            match shown {
                Ok(shown) if shown == *truth => outcomes.harmless += 1,
                Ok(shown) => {
                    // The rows of a log that ends early: up to the last batch that is whole, and with a word about the rest.
                    let len = damaged.len() as u64;
                    let state = states.iter().rfind(|(end, _)| *end <= len).unwrap();
                    assert!(is_log && len < whole.len() as u64, "{case}: rows are wrong");
                    assert_eq!(shown, state.1, "{case}");
                    assert_eq!(db.torn_tails().is_empty(), len == state.0, "{case}");
                    outcomes.torn += 1;
                    return;
                }
                Err(error) => {
                    outcomes.met += 1;
                    says_where(&error, damaged.len() == whole.len(), case);
                    reads_go_on(&db, name, truth, case);
                    let refused = db.compact_range(None, None).unwrap_err();
                    assert_eq!(refused.kind(), ErrorKind::Corruption, "{case}: {refused}");
                    reads_go_on(&db, name, truth, case);
                    // Writing goes on beside the damage, and what is written is kept.
                    db.put(WRITTEN, b"value", Durability::Strict).unwrap();
                    db.flush().unwrap();
                    assert_eq!(db.get(WRITTEN).unwrap().as_deref(), Some(&b"value"[..]));
                    reads_go_on(&db, name, truth, case);
                    db.close().unwrap();
                    let db = open(&fs).unwrap_or_else(|error| panic!("{case}: {error}"));
                    assert_eq!(db.get(WRITTEN).unwrap().as_deref(), Some(&b"value"[..]));
                    db.delete(WRITTEN, Durability::Strict).unwrap();
                    db.close().unwrap();
                    assert!(get_file(&fs, path) == damaged, "{case}: it was changed");
                }
            }
        }
    }
    if fs.metadata(path).is_err() {
        // It was replaced: what it said is elsewhere by now.
        assert_eq!(content(&open(&fs).unwrap()).unwrap(), *truth, "{case}");
        return;
    }
    put_file(&fs, path, whole);
    let db = open(&fs).unwrap_or_else(|error| panic!("{case}, mended: {error}"));
    assert_eq!(content(&db).unwrap(), *truth, "{case}, mended");
    db.compact_range(None, None).unwrap();
    assert_eq!(content(&db).unwrap(), *truth, "{case}, compacted");
}

fn files(fs: &MemoryFileSystem) -> Vec<PathBuf> {
    let mut names = fs.list(Path::new(DIR)).unwrap();
    names.retain(|name| name != "LOCK");
    names.sort();
    names.iter().map(|name| Path::new(DIR).join(name)).collect()
}

#[test]
fn a_byte_changed_anywhere_is_an_error_or_harmless_when_the_store_is_opened_for_writing() {
    let (fs, states) = store();
    let mut outcomes = Outcomes::default();
    for path in files(&fs) {
        let whole = get_file(&fs, &path);
        for at in 0..whole.len() {
            let bits = 1u8 << (mix(at as u32) % 8);
            let case = format!(
                "{} byte {at} of {} ^ {bits:02x}",
                path.display(),
                whole.len()
            );
            let damaged = fs.crash_image(CrashImage::KeepWritten);
            let mut bytes = whole.clone();
            bytes[at] ^= bits;
            put_file(&damaged, &path, &bytes);
            check(damaged, &path, &states, &case, &mut outcomes, &whole);
        }
    }
    println!("{outcomes:?}");
    assert!(outcomes.refused > 100 && outcomes.met > 100, "{outcomes:?}");
}

#[test]
fn a_file_cut_anywhere_or_gone_is_an_error_or_a_torn_tail_when_the_store_is_opened_for_writing() {
    let (fs, states) = store();
    let mut outcomes = Outcomes::default();
    for path in files(&fs) {
        let whole = get_file(&fs, &path);
        for len in 0..whole.len() {
            let case = format!("{} cut to {len} of {}", path.display(), whole.len());
            let damaged = fs.crash_image(CrashImage::KeepWritten);
            put_file(&damaged, &path, &whole[..len]);
            check(damaged, &path, &states, &case, &mut outcomes, &whole);
        }
        let damaged = Arc::new(fs.crash_image(CrashImage::KeepWritten));
        damaged.remove(&path).unwrap();
        let case = format!("{} removed", path.display());
        says_where(&open(&damaged).unwrap_err(), false, &case);
        put_file(&damaged, &path, &whole);
        let db = open(&damaged).unwrap();
        assert_eq!(
            content(&db).unwrap(),
            states[states.len() - 1].1,
            "{case}, mended"
        );
    }
    println!("{outcomes:?}");
    assert!(outcomes.refused > 100 && outcomes.torn > 20, "{outcomes:?}");
}
