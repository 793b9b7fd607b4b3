//! `larder verify`: the golden stores are clean, and what is harmed is found and named.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{for_every, larder, stderr};
use larder_fixtures::Fixture;
use serde_json::Value;

mod harms;

/// What `larder verify --format json` says of the one store at a path, with its exit status.
fn verify(path: &Path, full: bool) -> (Value, Option<i32>) {
    let mut arguments: Vec<&OsStr> = vec!["verify".as_ref(), path.as_os_str()];
    arguments.push("--format=json".as_ref());
    if full {
        arguments.push("--full".as_ref());
    }
    let output = larder(arguments);
    assert_eq!(stderr(&output), "", "problems are in the report");
    let report = serde_json::from_slice(&output.stdout).unwrap();
    (report, output.status.code())
}

/// The findings of a severity, each as one line.
fn findings(report: &Value, severity: &str) -> Vec<String> {
    let all = report["findings"].as_array().unwrap().iter();
    let of = all.filter(|finding| finding["severity"] == severity);
    let line = |finding: &Value| {
        let text = |member: &str| finding[member].as_str().unwrap_or_default().to_owned();
        let (check, place, problem) = (text("check"), text("place"), text("problem"));
        format!("{check}: {place}: {problem}")
    };
    of.map(line).collect()
}

fn records(expected: &Value) -> u64 {
    let count = |list: &Value| list.as_array().map_or(0, Vec::len) as u64;
    let databases = expected["databases"].as_array().unwrap().iter();
    databases
        .flat_map(|database| database["stores"].as_array().unwrap())
        .map(|store| count(&store["records"]))
        .sum()
}

fn check(fixture: &Fixture) -> Result<(), String> {
    let store = fixture.open();
    let mut expected: Value = larder_fixtures::parse_json(&fixture.expected());
    let shown = records(&expected);
    expected.take();
    for full in [false, true] {
        let (report, status) = verify(&store.leveldb(), full);
        let faults = findings(&report, "fault");
        if status != Some(0) || report["clean"] != true || !faults.is_empty() {
            return Err(format!("{}: {status:?}: {faults:#?}", fixture.name));
        }
        // Records of databases without a version are there as well.
        let counted = report["counts"]["records"].as_u64().unwrap();
        if counted < shown {
            return Err(format!("{}: {counted} of {shown} records", fixture.name));
        }
        let values = if full { counted } else { 0 };
        if report["counts"]["values"] != values {
            return Err(format!("{}: {}", fixture.name, report["counts"]));
        }
    }
    Ok(())
}

#[test]
fn every_golden_store_is_clean() {
    for_every(larder_fixtures::all(), check);
}

#[test]
fn stores_in_another_order_are_clean_and_the_order_is_named() {
    for fixture in larder_fixtures::in_another_order() {
        let store = fixture.open();
        let (report, status) = verify(&store.leveldb(), true);
        assert_eq!(status, Some(0), "{:#?}", report["findings"]);
        let notes = findings(&report, "note");
        let words = match &*fixture.name {
            "qt5-order" => "in the order of signed bytes",
            _ => "in no single order",
        };
        let named = |note: &String| note.starts_with("order: ") && note.contains(words);
        assert!(notes.iter().any(named), "{notes:#?}");
    }
}

#[test]
fn a_report_for_eyes_says_what_was_looked_at_and_what_is_wrong() {
    let store = larder_fixtures::get("c156-lite").copy();
    let path = store.leveldb();
    let output = larder(["verify".as_ref(), "--full".as_ref(), path.as_os_str()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("nothing is wrong: 11 databases, "), "{text}");
    let renamed = path.with_file_name("https_other.example_0.indexeddb.leveldb");
    fs::rename(&path, &renamed).unwrap();
    let output = larder(["verify".as_ref(), renamed.as_os_str()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    let words = "it is a database of http://127.0.0.1:18917, and the folder is that of https://other.example";
    assert!(text.contains(words), "{text}");
    assert!(text.contains("things are wrong"), "{text}");
}

#[test]
fn what_is_no_store_is_said_and_a_missing_origin_too() {
    let dir = tempfile::tempdir().unwrap();
    let output = larder(["verify".as_ref(), dir.path().as_os_str()]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("no IndexedDB store here"));
    let store = larder_fixtures::get("c156-lite").open();
    let path: PathBuf = store.leveldb();
    let output = larder([
        "verify".as_ref(),
        path.as_os_str(),
        "--origin".as_ref(),
        "https://b.example".as_ref(),
    ]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("no store of origin https://b.example here"));
}
