//! One process at a time has a store.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use larder_idb::{DiskFileSystem, ErrorKind, ErrorName};

use super::*;

/// The folder that a child of this test holds.
const FOLDER: &str = "LARDER_IDB_TEST_FOLDER";

fn storage_in(folder: &std::path::Path) -> Storage {
    let fs = Arc::new(DiskFileSystem::new());
    Storage::new(StorageOptions::new(
        fs,
        folder,
        Arc::new(FixedClock::default()),
    ))
    .unwrap()
}

#[test]
fn a_store_that_another_process_has_open_is_refused_at_once_and_named() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return hold(folder.as_ref());
    }
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("processes::a_store_that_another_process_has_open_is_refused_at_once_and_named")
        .env(FOLDER, dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let is_held = output
        .by_ref()
        .lines()
        .any(|line| line.unwrap().contains("it is held"));
    assert!(is_held);
    let storage = storage_in(dir.path());
    let error = open(&storage).wait().unwrap_err();
    assert_eq!(
        (error.name(), error.kind()),
        (ErrorName::UnknownError, ErrorKind::Conflict)
    );
    assert!(error.message().contains(&child.id().to_string()), "{error}");
    assert!(factory(&storage).databases().wait().is_err());
    assert!(
        factory(&storage)
            .delete_database("db")
            .done()
            .wait()
            .is_err()
    );
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
    let connection = open(&storage).wait().unwrap();
    assert_eq!(look(&connection, "a", 1.0).unwrap(), "the child's");
}

#[expect(clippy::print_stdout, reason = "tells the parent")]
fn hold(folder: &std::path::Path) {
    let storage = storage_in(folder);
    let connection = open(&storage).wait().unwrap();
    let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
    put(&transaction, "a", 1.0, "the child's").wait().unwrap();
    commit(&transaction).unwrap();
    println!("it is held");
    std::io::stdin().lines().next().unwrap().unwrap();
    storage.close().unwrap();
}
