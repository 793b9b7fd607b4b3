//! `larder run`: what scripts store is there for the next, and what goes wrong is reported.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::io::Write;
use std::path::PathBuf;

use larder_js_host::{RunOptions, run};

fn options(scripts: &[&str], folder: &tempfile::TempDir, extension: &str) -> RunOptions {
    let files = scripts.iter().enumerate().map(|(number, source)| {
        let path = folder.path().join(format!("{number}.{extension}"));
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .unwrap();
        file.write_all(source.as_bytes()).unwrap();
        path
    });
    let mut scripts: Vec<PathBuf> = files.collect();
    RunOptions {
        script: scripts.remove(0),
        arguments: Vec::new(),
        preloads: Vec::new(),
        files: None,
        all_modules: false,
        storage: Some(folder.path().join("IndexedDB")),
        file_system: None,
        origin: "https://app.example".into(),
        threads: false,
        new_store_form: larder_idb::StoreForm::LevelDb,
        raise_data_version: false,
    }
}

fn uncaught(options: &RunOptions) -> u64 {
    run(options).unwrap().uncaught
}

const WRITE: &str = "
const request = indexedDB.open('db', 1);
request.onupgradeneeded = () => request.result.createObjectStore('s').put({ list: [1, new Date(2)] }, 'k');
";
/// Throws if it is not as `WRITE` left it.
const READ: &str = "
const request = indexedDB.open('db');
request.onupgradeneeded = () => { throw new Error('not there'); };
request.onsuccess = () => {
  request.result.transaction('s').objectStore('s').get('k').onsuccess = (event) => {
    if (event.target.result.list[1].getTime() !== 2) throw new Error('not the same');
  };
};
";

#[test]
fn what_a_script_stores_the_next_finds_in_chromiums_layout() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(uncaught(&options(&[WRITE], &folder, "js")), 0);
    let store = folder
        .path()
        .join("IndexedDB/https_app.example_0.indexeddb.leveldb/CURRENT");
    assert!(store.exists());
    for threads in [false, true] {
        let again = RunOptions {
            threads,
            ..options(&[READ], &folder, "js")
        };
        assert_eq!(uncaught(&again), 0);
    }
    let elsewhere = RunOptions {
        origin: "https://other.example".into(),
        ..options(&[READ], &folder, "js")
    };
    assert!(uncaught(&elsewhere) > 0);
}

/// Half of a character has no UTF-8.
#[test]
fn text_with_unpaired_surrogates_is_printed_and_what_throws_it_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let print =
        "console.log('a \\ud800 b', { c: '\\udfff' }); console.error(new Error('\\ud800'));";
    assert_eq!(uncaught(&options(&[print], &folder, "js")), 0);
    let throw = "Promise.reject(new Error('\\ud800')); setTimeout(() => { throw '\\udfff'; }); throw Error('\\ud800');";
    assert_eq!(uncaught(&options(&[throw], &folder, "js")), 3);
}

#[test]
fn modules_import_each_other_and_not_the_hosts_own() {
    let folder = tempfile::tempdir().unwrap();
    let first = "import { two } from './1.mjs'; if (two !== 2) throw new Error('not two');";
    let modules = options(&[first, "export const two = await 2;"], &folder, "mjs");
    assert_eq!(uncaught(&modules), 0);
    let own = options(&["import 'larder:binding/mod.js';"], &folder, "mjs");
    assert_eq!(uncaught(&own), 1);
}

#[test]
fn what_cannot_be_run_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut missing = options(&["1"], &folder, "js");
    missing.script.push("no such file");
    assert!(run(&missing).is_err());
    let nobody = RunOptions {
        origin: "no origin".into(),
        ..options(&["1"], &folder, "js")
    };
    assert!(run(&nobody).is_err());
}
