//! `larder repair`: what is certain is there afterwards, what is in doubt is beside it, and the damaged store is as it was.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::{compare_with_browser, for_every, larder, stderr};
use larder_fixtures::{Fixture, OpenFixture};
use serde_json::Value;

#[cfg(unix)]
mod faults;
mod forms;
mod harms;
mod peers;

/// Runs `larder repair PATH --to DIR` with these options.
fn repair(leveldb: &Path, to: &Path, options: &[&str]) -> Output {
    let mut arguments: Vec<std::ffi::OsString> =
        vec!["repair".into(), leveldb.into(), "--to".into(), to.into()];
    arguments.extend(options.iter().map(std::ffi::OsString::from));
    larder(arguments)
}

/// The LevelDB folder of the repaired store in a folder that `repair` made.
fn repaired(source: &OpenFixture, to: &Path) -> PathBuf {
    to.join(source.leveldb().file_name().unwrap())
}

/// The report that lies beside it.
fn report(to: &Path) -> Value {
    serde_json::from_slice(&fs::read(to.join("report.json")).unwrap()).unwrap()
}

/// Every file below a folder with its content.
fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => pending.push(path),
                false => found.push((path.clone(), fs::read(path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

/// Whether a log of the store ends within a record, as a crash leaves it: then it is as it was before.
fn is_torn(source: &OpenFixture) -> bool {
    let path = source.leveldb();
    let output = larder([
        "repair".as_ref(),
        path.as_os_str(),
        "--dry-run".as_ref(),
        "--json".as_ref(),
    ]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    !report["torn"].as_array().unwrap().is_empty()
}

fn check_whole(fixture: &Fixture) -> Result<(), String> {
    let source = fixture.copy();
    let before = contents(source.dir());
    let to = tempfile::tempdir().unwrap();
    let dir = to.path().join("out");
    let is_torn = is_torn(&source);
    let output = repair(&source.leveldb(), &dir, &[]);
    let status = output.status.code();
    if status != Some(i32::from(is_torn)) {
        let text = String::from_utf8_lossy(&output.stdout);
        return Err(format!(
            "{}: {status:?}: {}{text}",
            fixture.name,
            stderr(&output)
        ));
    }
    if contents(source.dir()) != before {
        return Err(format!("{}: the store was changed", fixture.name));
    }
    compare_with_browser(fixture, &repaired(&source, &dir), |_| {})
}

#[test]
fn of_an_undamaged_store_everything_is_certain_also_after_a_crash() {
    for_every(larder_fixtures::varied(), check_whole);
}

fn check_without_current(fixture: &Fixture) -> Result<(), String> {
    let source = fixture.copy();
    let store = source.leveldb();
    // Without it the store does not open, and the MANIFEST still says what it said.
    fs::remove_file(store.join("CURRENT")).unwrap();
    let output = larder(["repair".as_ref(), store.as_os_str(), "--in-place".as_ref()]);
    let text = String::from_utf8_lossy(&output.stdout);
    let name = &fixture.name;
    if output.status.code() != Some(1) || !text.contains("CURRENT: file is missing") {
        return Err(format!(
            "{name}: {:?}: {}{text}",
            output.status,
            stderr(&output)
        ));
    }
    let aside = PathBuf::from(format!("{}.before-repair", store.display()));
    let was = aside.join(store.file_name().unwrap());
    if was.join("CURRENT").exists() || !was.join("LOCK").exists() {
        return Err(format!(
            "{name}: what was there is not in {}",
            was.display()
        ));
    }
    compare_with_browser(fixture, &store, |_| {})?;
    // Nothing is wrong with it any more.
    let to = source.dir().join("again");
    let again = repair(&store, &to, &[]);
    match again.status.success() && stderr(&again).is_empty() {
        true => compare_with_browser(fixture, &repaired(&source, &to), |_| {}),
        false => Err(format!("{name}, again: {}", stderr(&again))),
    }
}

#[test]
fn every_golden_store_without_its_current_is_repaired_to_what_its_browser_showed() {
    for_every(larder_fixtures::varied(), check_without_current);
}

#[test]
fn a_dry_run_says_what_a_repair_would_keep_and_writes_nothing() {
    let source = larder_fixtures::get("c156-killed-blob").copy();
    fs::remove_file(source.leveldb().join("CURRENT")).unwrap();
    let before = contents(source.dir());
    let dry = larder([
        "repair".as_ref(),
        source.leveldb().as_os_str(),
        "--dry-run".as_ref(),
        "--json".as_ref(),
    ]);
    assert_eq!(dry.status.code(), Some(1), "{}", stderr(&dry));
    assert_eq!(contents(source.dir()), before);
    let dry: Value = serde_json::from_slice(&dry.stdout).unwrap();
    let to = tempfile::tempdir().unwrap();
    let dir = to.path().join("out");
    repair(&source.leveldb(), &dir, &[]);
    let real = report(&dir);
    for what in [
        "records",
        "databases",
        "blobs",
        "doubtful",
        "lost",
        "looseBlobs",
        "damage",
    ] {
        assert!(!real[what].is_null(), "{what} is not in {real}");
        assert_eq!(dry[what], real[what], "{what}");
    }
    assert!(real["records"].as_u64().unwrap() > 700);
}
