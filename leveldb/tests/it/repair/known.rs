//! Up to which write a damaged store is known, and what it was then.

use crate::store::{get_file, put_file};
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};
use larder_leveldb::{Background, Db, Durability, Options, RowState, Salvage};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DIR: &str = "db";

fn options() -> Options {
    Options {
        create_if_missing: true,
        background: Background::Caller,
        ..Options::default()
    }
}

/// A store of which each step is a put of the next number under one of three keys; `None` is a flush.
fn store(steps: &[Option<u8>]) -> Arc<MemoryFileSystem> {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = Db::open(fs.clone(), Path::new(DIR), options()).unwrap();
    for (number, step) in (1_u8..).zip(steps.iter()) {
        match step {
            Some(key) => db.put(&[*key], &[number; 50], Durability::Relaxed).unwrap(),
            None => db.flush().unwrap(),
        }
    }
    drop(db);
    fs
}

fn named(fs: &MemoryFileSystem, part: &str) -> PathBuf {
    let names = fs.list(Path::new(DIR)).unwrap();
    let mut names = names.into_iter().map(|name| name.into_string().unwrap());
    Path::new(DIR).join(names.find(|name| name.contains(part)).unwrap())
}

/// Up to which write all is known, and the rows as of then: keys with their numbers.
fn known(fs: &Arc<MemoryFileSystem>) -> Option<(u64, Vec<(u8, u8)>)> {
    let salvage = Salvage::open(fs.clone(), Path::new(DIR), &options()).unwrap();
    let mut rows = salvage.rows();
    while rows.advance().unwrap().is_some() {}
    let up_to = salvage.known_up_to()?;
    let mut rows = salvage.rows_as_of(up_to);
    let mut found = Vec::new();
    while let Some(state) = rows.advance().unwrap() {
        assert_eq!(state, RowState::Certain);
        found.push((rows.key()[0], rows.value().unwrap()[0]));
    }
    Some((up_to.min(rows.greatest_sequence()), found))
}

#[test]
fn a_log_that_was_cut_is_known_up_to_its_last_whole_write() {
    let fs = store(&[Some(1), Some(2), Some(1)]);
    let log = named(&fs, ".log");
    let bytes = get_file(&fs, &log);
    put_file(&fs, &log, &bytes[..bytes.len() - 30]);
    assert_eq!(known(&fs), Some((2, vec![(1, 1), (2, 2)])));
}

#[test]
fn writes_behind_a_damaged_one_are_not_of_the_state_before_it() {
    let fs = store(&[Some(1), Some(2), Some(1), Some(3)]);
    let log = named(&fs, ".log");
    let mut bytes = get_file(&fs, &log);
    let second = bytes.len() / 4;
    bytes[second + 10..second + 40].fill(0xaa);
    put_file(&fs, &log, &bytes);
    assert_eq!(known(&fs), Some((1, vec![(1, 1)])));
}

#[test]
fn without_its_log_a_store_is_known_as_its_tables_have_it() {
    let fs = store(&[Some(1), Some(2), None, Some(1)]);
    fs.remove(&named(&fs, ".log")).unwrap();
    assert_eq!(known(&fs), Some((2, vec![(1, 1), (2, 2)])));
}

#[test]
fn without_a_manifest_only_logs_from_the_first_write_on_have_everything() {
    let fs = store(&[Some(1), Some(2), Some(1)]);
    fs.remove(&named(&fs, "MANIFEST")).unwrap();
    assert_eq!(known(&fs), Some((3, vec![(1, 3), (2, 2)])));
    // A table is there, and others may have been.
    let fs = store(&[Some(1), Some(2), None, Some(1)]);
    assert_eq!(known(&fs), Some((3, vec![(1, 4), (2, 2)])));
    fs.remove(&named(&fs, "MANIFEST")).unwrap();
    assert_eq!(known(&fs), None);
}

#[test]
fn a_state_that_tables_have_gone_beyond_is_not_known() {
    let early = store(&[Some(1), Some(2), Some(3)]);
    let bytes = get_file(&early, &named(&early, ".log"));
    let fs = store(&[Some(1), Some(2), Some(3), None, Some(1), None]);
    put_file(&fs, &named(&fs, ".log"), &bytes[..bytes.len() - 30]);
    assert_eq!(known(&fs), None);
}

#[test]
fn a_manifest_without_its_last_edits_lists_what_is_whole_unless_there_are_other_tables() {
    let fs = store(&[Some(1), Some(2), None]);
    let db = Db::open(fs.clone(), Path::new(DIR), options()).unwrap();
    db.put(&[3], &[4; 50], Durability::Relaxed).unwrap();
    let log = named(&fs, ".log");
    let (bytes, first_table) = (get_file(&fs, &log), named(&fs, ".ldb"));
    db.flush().unwrap();
    drop(db);
    let manifest = named(&fs, "MANIFEST");
    let edits = get_file(&fs, &manifest);
    put_file(&fs, &manifest, &edits[..edits.len() - 3]);
    // The log that the last edit has replaced by a table is there. The edit may have added more than that table.
    put_file(&fs, &log, &bytes);
    assert_eq!(known(&fs), None);
    for name in fs.list(Path::new(DIR)).unwrap() {
        let path = Path::new(DIR).join(name);
        let is_table = path.extension().is_some_and(|extension| extension == "ldb");
        if is_table && path != first_table {
            fs.remove(&path).unwrap();
        }
    }
    assert_eq!(known(&fs), Some((3, vec![(1, 1), (2, 2), (3, 4)])));
}
