//! Libraries that pages use, from npm, on this host: each with a program of its own under
//! `tests/libraries/`.
//!
//! `LARDER_NPM_DIR` names a folder in which they were installed (`npm install dexie idb idb-keyval
//! localforage`). Without it nothing is run, and that is said.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "what fails here fails the test; a skipped test says so"
)]

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use larder_idb::{Executor, StorageOptions, SystemClock};
use larder_js_host::{Host, Options};

fn installed() -> Option<PathBuf> {
    let folder = std::env::var_os("LARDER_NPM_DIR").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: LARDER_NPM_DIR does not name a folder with the libraries");
    }
    folder
}

/// Runs a program beside the libraries; all that was said.
fn said(libraries: &Path, program: &str, before: Option<&str>) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let modules = folder.path().join("node_modules");
    std::os::unix::fs::symlink(libraries.join("node_modules"), &modules).unwrap();
    let mut storage = StorageOptions::in_memory(Arc::new(SystemClock));
    storage.executor = Executor::Driven { seed: None };
    let lines = Rc::new(RefCell::new(Vec::new()));
    let told = Rc::clone(&lines);
    let host = Host::new(Options {
        origin: "https://example.com".into(),
        search: String::new(),
        storage,
        console: Box::new(move |_, line| told.borrow_mut().push(line.to_owned())),
    })
    .unwrap();
    if let Some(before) = before {
        let source = std::fs::read_to_string(modules.join(before)).unwrap();
        host.run_script(before, &source);
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/libraries");
    let source = std::fs::read_to_string(here.join(program)).unwrap();
    let name = folder.path().join(program);
    if program.ends_with(".mjs") {
        host.run_module(name.to_str().unwrap(), &source);
    } else {
        host.run_script(program, &source);
    }
    host.run_until_idle();
    drop(host);
    lines.take()
}

#[test]
fn programs_on_libraries_from_npm_come_to_their_ends() {
    let Some(libraries) = installed() else { return };
    for (program, before) in [
        ("dexie.mjs", None),
        ("idb.mjs", None),
        ("idb-keyval.mjs", None),
        ("localforage.js", Some("localforage/dist/localforage.js")),
    ] {
        let said = said(&libraries, program, before);
        assert_eq!(said, ["came to its end"], "{program}");
    }
}
