//! Stores in SQLite files: every command that reads takes them, and `copy` makes LevelDB stores of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::{OpenOptions, Store, StorePaths};
use larder_leveldb::storage::DiskFileSystem;

use crate::support::{compare_with_browser, dump_canonical, for_every, larder, stderr};
use rusqlite::Connection;

/// Every file and folder below, with bytes and times.
fn state(dir: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut all = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(dir) = pending.pop() {
        let modified = fs::metadata(&dir).unwrap().modified().unwrap();
        all.push((dir.clone(), Vec::new(), modified));
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => pending.push(path),
                false => {
                    let modified = fs::metadata(&path).unwrap().modified().unwrap();
                    all.push((path.clone(), fs::read(&path).unwrap(), modified));
                }
            }
        }
    }
    all.sort();
    all
}

#[test]
fn every_store_dumps_to_what_its_browser_showed_and_stays_as_it_was() {
    for_every(larder_fixtures::in_sqlite(), |fixture| {
        let store = fixture.copy();
        let before = state(store.dir());
        compare_with_browser(fixture, &store.sqlite(), |_| {})?;
        match state(store.dir()) == before {
            true => Ok(()),
            false => Err(format!("{}: reading has changed it", fixture.name)),
        }
    });
}

#[test]
fn a_copy_is_a_leveldb_store_with_the_same_in_it() {
    for_every(larder_fixtures::in_sqlite(), |fixture| {
        let store = fixture.open();
        let to = tempfile::tempdir().unwrap();
        let copied = larder([
            "copy".as_ref(),
            store.dir().as_os_str(),
            to.path().as_os_str(),
        ]);
        if !copied.status.success() {
            return Err(format!("{}: {}", fixture.name, stderr(&copied)));
        }
        let leveldb = to.path().join("http_127.0.0.1_18917.indexeddb.leveldb");
        assert!(leveldb.join("CURRENT").exists());
        compare_with_browser(fixture, &leveldb, |_| {})?;
        // Chromium takes a store without this row for one of its days without an undo log.
        let fs = Arc::new(DiskFileSystem::new());
        let paths = StorePaths::of_leveldb(&leveldb);
        let opened = Store::open_read_only(fs, paths, OpenOptions::default()).unwrap();
        let undo_log = opened.snapshot().unwrap().get(&[0, 0, 0, 0, 50, 0]);
        assert!(undo_log.unwrap().is_some());
        let verified = larder(["verify".as_ref(), leveldb.as_os_str()]);
        match verified.status.success() {
            true => Ok(()),
            false => Err(format!(
                "{}: {}",
                fixture.name,
                String::from_utf8_lossy(&verified.stdout)
            )),
        }
    });
}

#[test]
fn every_command_that_reads_takes_a_store_in_sqlite_files() {
    let store = larder_fixtures::get("s156-lite").open();
    let (dir, to) = (store.dir().as_os_str(), tempfile::tempdir().unwrap());
    let archive = to.path().join("a.jsonl");
    for arguments in [
        vec!["ls".as_ref(), dir],
        vec!["dump".as_ref(), dir],
        vec!["stat".as_ref(), dir],
        vec!["verify".as_ref(), dir],
        vec!["find".as_ref(), dir, "a".as_ref()],
        vec!["diff".as_ref(), dir, dir],
        vec!["export".as_ref(), dir, archive.as_os_str()],
    ] {
        let output = larder(&arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn commands_that_work_on_leveldb_say_what_to_do_instead() {
    let store = larder_fixtures::get("s156-lite").open();
    let dir = store.dir().as_os_str();
    for command in ["rows", "compact", "clean", "repair"] {
        let output = larder([command.as_ref(), dir]);
        assert!(!output.status.success(), "{command}");
        let said = stderr(&output);
        assert!(
            said.contains("larder copy makes a LevelDB store of it"),
            "{command}: {said}"
        );
    }
}

#[test]
fn what_a_program_that_has_it_open_has_committed_is_shown_and_nothing_else() {
    let store = larder_fixtures::get("s156-killed-upgrade").copy();
    let file = fs::read_dir(store.sqlite())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_none() && !path.to_string_lossy().ends_with("-wal"))
        .max_by_key(|path| fs::metadata(path).unwrap().len())
        .unwrap();
    let browser = Connection::open(&file).unwrap();
    for pragma in ["locking_mode = EXCLUSIVE", "journal_mode = WAL"] {
        browser
            .query_row(&format!("PRAGMA {pragma}"), (), |_| Ok(()))
            .unwrap();
    }
    let count = || {
        let output = larder([
            "dump".as_ref(),
            "--format".as_ref(),
            "jsonl".as_ref(),
            store.dir().as_os_str(),
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains("in use by"), "{said}");
        output.stdout.iter().filter(|byte| **byte == b'\n').count()
    };
    let delete = "DELETE FROM records WHERE row_id = (SELECT min(row_id) FROM records)";
    browser.execute(delete, ()).unwrap();
    let committed = count();
    browser.execute("BEGIN", ()).unwrap();
    browser.execute(delete, ()).unwrap();
    assert_eq!(count(), committed);
    browser.execute("COMMIT", ()).unwrap();
    assert_eq!(count(), committed - 1);
    assert_eq!(dump_canonical(store.dir()).status.code(), Some(0));
}
