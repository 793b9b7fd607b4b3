//! `larder repair`: what is whole is there afterwards, and what was done is said.

use std::fs;

use crate::support::{compare_with_browser, for_every_golden_store, larder, stderr};
use larder_fixtures::Fixture;

fn check(fixture: &Fixture) -> Result<(), String> {
    let copy = fixture.copy();
    let store = copy.leveldb();
    // Without it the store does not open, and the MANIFEST still says what it said.
    fs::remove_file(store.join("CURRENT")).unwrap();
    let output = larder(["repair".as_ref(), store.as_os_str()]);
    let (text, reported) = (String::from_utf8_lossy(&output.stdout), stderr(&output));
    let name = &fixture.name;
    if output.status.code() != Some(1) || !reported.contains("CURRENT: file is missing") {
        return Err(format!("{name}: {:?}: {reported}", output.status));
    }
    if !text.contains("repaired, ") || !text.contains("set aside: lost/") {
        return Err(format!("{name}: {text}"));
    }
    compare_with_browser(fixture, &store, |_| {})?;
    // Nothing is wrong with it any more.
    let again = larder(["repair".as_ref(), store.as_os_str()]);
    match again.status.success() && stderr(&again).is_empty() {
        true => compare_with_browser(fixture, &store, |_| {}),
        false => Err(format!("{name}, again: {}", stderr(&again))),
    }
}

#[test]
fn every_golden_store_without_its_current_is_repaired_to_what_its_browser_showed() {
    for_every_golden_store(check);
}

#[test]
fn one_store_is_repaired_at_a_time_and_none_where_there_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let repair = || larder(["repair".as_ref(), dir.path().as_os_str()]);
    assert_eq!(repair().status.code(), Some(3));
    for name in ["https_a.example_0", "https_b.example_0"] {
        fs::create_dir(dir.path().join(format!("{name}.indexeddb.leveldb"))).unwrap();
    }
    let output = repair();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("https_b.example_0"),
        "{}",
        stderr(&output)
    );
}
