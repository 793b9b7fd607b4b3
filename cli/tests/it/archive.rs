//! `larder export` and `larder import`: what comes back is what went in, whole or not at all.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use larder_fixtures::Fixture;

use crate::support::{compare_with_browser, for_every_golden_store, larder, stderr};

#[cfg(unix)]
mod faults;
mod hostile;
mod messages;
#[cfg(feature = "scripts")]
mod table;

fn run(command: &str, from: &Path, to: &Path, options: &[&str]) -> Output {
    let mut arguments: Vec<OsString> = vec![command.into(), from.into(), to.into()];
    arguments.extend(options.iter().map(OsString::from));
    larder(arguments)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// The one LevelDB folder in a folder.
fn leveldb_in(dir: &Path) -> PathBuf {
    let names = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut stores = names.filter(|path| path.to_string_lossy().ends_with(".leveldb"));
    stores.next().unwrap()
}

/// The archive of this name, and the store made of it, in a folder.
fn there_and_back(store: &Path, dir: &Path, archive: &str) -> Result<PathBuf, String> {
    let archive = dir.join(archive);
    let to = archive.with_extension("back");
    for output in [
        run("export", store, &archive, &[]),
        run("import", &archive, &to, &[]),
    ] {
        if !output.status.success() {
            return Err(format!(
                "{}: {:?}: {}",
                archive.display(),
                output.status,
                stderr(&output)
            ));
        }
    }
    Ok(leveldb_in(&to))
}

fn check(fixture: &Fixture) -> Result<(), String> {
    // Times of blobs count in old stores, and are not those of a checkout.
    let source = fixture.copy();
    let dir = folder();
    for archive in ["folder", "a.jsonl"] {
        let back = there_and_back(&source.leveldb(), dir.path(), archive);
        let back = back.map_err(|error| format!("{}: {error}", fixture.name))?;
        compare_with_browser(fixture, &back, |_| {})
            .map_err(|error| format!("{archive}: {error}"))?;
    }
    Ok(())
}

#[test]
fn every_golden_store_exported_and_imported_is_what_its_browser_showed() {
    for_every_golden_store(check);
}
