//! The rules of the house: which crate may import which, which modules may need each other, and which words are in use.
//! ARCHITECTURE.md has the lists; the tests take them from there.
#![cfg(test)]
#![expect(
    clippy::disallowed_methods,
    reason = "a test that reads the sources of this workspace"
)]

mod circles;
mod commands;
mod crates;
mod glossary;
mod graph;
mod nameable;
mod source;
mod words;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The folders of the packages that are the product: libraries, bindings and the command.
const PRODUCT: [&str; 15] = [
    "codec",
    "fdb",
    "leveldb",
    "librados",
    "remote-files",
    "backing-store",
    "idb",
    "feed",
    "pages",
    "sync",
    "c",
    "binding",
    "js-host",
    "view",
    "cli",
];

/// The folders of the libraries that are published.
const LIBRARIES: [&str; 4] = ["codec", "leveldb", "backing-store", "idb"];

/// The folders of what tests and measures the product.
const TOOLS: [&str; 5] = ["fdb-double", "fixtures", "fuzz", "rules", "peers"];

/// The folders of what is in JavaScript alone.
const SCRIPTS: [&str; 1] = ["node"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// The lines of the first code block under a heading of ARCHITECTURE.md.
fn architecture(heading: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, section) = text.split_once(heading).unwrap();
    let block = section.split("```").nth(1).unwrap();
    block
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The files of a folder and the folders below it, sorted, whose names end so; no sources of others, and nothing that was built.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !["target", "node_modules", "corpus"].contains(&name) {
                open.push(path);
            } else if path.extension().is_some_and(|own| own == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The packages of the workspace, as cargo describes them.
fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}
