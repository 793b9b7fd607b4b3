//! The rules of the house: which crate may import which, and which modules may need each other. ARCHITECTURE.md says both; the
//! tests take them from there.
#![cfg(test)]
#![expect(
    clippy::disallowed_methods,
    reason = "a test that reads the sources of this workspace"
)]

mod circles;
mod crates;
mod graph;
mod source;

use std::fs;
use std::path::PathBuf;

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
