//! `larder.changes`: what a script gets of a change feed.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::path::{Path, PathBuf};

use larder_js_host::{Outcome, RunOptions, run};

fn run_script(script: PathBuf, storage: Option<&Path>, threads: bool) -> Outcome {
    let options = RunOptions {
        script,
        arguments: Vec::new(),
        preloads: Vec::new(),
        files: None,
        all_modules: false,
        storage: storage.map(Path::to_owned),
        file_system: None,
        origin: "https://app.example".into(),
        threads,
        new_store_form: larder_idb::StoreForm::LevelDb,
        raise_data_version: false,
    };
    run(&options).unwrap()
}

#[test]
fn a_script_follows_what_it_and_others_change() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/changes/follow.mjs");
    for threads in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        for storage in [None, Some(dir.path())] {
            let outcome = run_script(script.clone(), storage, threads);
            assert_eq!(outcome.uncaught, 0, "threads: {threads}, {storage:?}");
        }
    }
}

/// A run in which nothing can happen any more ends, with its store closed.
#[test]
fn a_run_that_only_waits_for_changes_ends() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/changes/waits.js");
    for threads in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(
            run_script(script.clone(), Some(dir.path()), threads).uncaught,
            0
        );
    }
}
