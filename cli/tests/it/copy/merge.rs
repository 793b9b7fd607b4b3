//! `larder copy --on-conflict`: one store merged into another.

use std::io;
use std::path::Path;
use std::sync::Arc;

use larder::copy::{CopyOptions, OnConflict, merge_store};
use larder_backing_store::{OpenOptions, Store, StorePaths};
use larder_fixtures::Fixture;
use larder_fixtures::canonical::comparable;
use larder_leveldb::storage::{DiskFileSystem, Fault, FaultFileSystem, FileSystem};
use serde_json::{Value, json};

use super::{copy, files, folder, leveldb_in};
use crate::support::{compare_with_browser, dump_canonical, for_every, larder, run_script, stderr};

fn check(fixture: &Fixture) -> Result<(), String> {
    let source = fixture.copy();
    let to = folder();
    // Some records, and then all.
    let runs: [&[&str]; 3] = [
        &["--upper", "5"],
        &["--on-conflict", "fail"],
        &["--on-conflict", "fail"],
    ];
    let mut said = String::new();
    for options in runs {
        let output = copy(&source.leveldb(), to.path(), options);
        if !output.status.success() {
            return Err(format!(
                "{}, {options:?}: {}",
                fixture.name,
                stderr(&output)
            ));
        }
        said = String::from_utf8_lossy(&output.stdout).into_owned();
    }
    if !said.contains(" 0 records added, ") {
        return Err(format!("{}: {said}", fixture.name));
    }
    compare_with_browser(fixture, &leveldb_in(to.path()), |_| {})
}

#[test]
fn every_golden_store_merged_into_a_part_of_itself_is_what_its_browser_showed() {
    for_every(larder_fixtures::varied(), check);
}

const SCHEMA: &str = "
    const request = indexedDB.open('d', 1);
    request.onupgradeneeded = () => {
      const db = request.result;
      const numbered = db.createObjectStore('numbered', { autoIncrement: true, keyPath: 'id' });
      numbered.createIndex('by id and name', ['id', 'name']);
      const named = db.createObjectStore('named');
      named.createIndex('unique', 'mark', { unique: true });
      const put = (store, value, key) => db.objectStoreNames && request.transaction.objectStore(store).put(value, key);
      PUTS
    };";

const ORIGIN: [&str; 2] = ["--origin", "https://a.example"];

/// A folder with the store of a script.
fn store_of(puts: &str) -> tempfile::TempDir {
    let dir = folder();
    let storage = dir.path().join("stores");
    run_script(&storage, &ORIGIN, &SCHEMA.replace("PUTS", puts));
    dir
}

fn ours() -> tempfile::TempDir {
    store_of("
      put('numbered', { name: 'same' }); put('numbered', { name: 'ours' }); put('numbered', { name: 'new' });
      put('named', { mark: 1, blob: new Blob(['ours']) }, 'a'); put('named', { mark: 5 }, 'c');")
}

fn theirs() -> tempfile::TempDir {
    store_of(
        "
      put('numbered', { name: 'same' }); put('numbered', { name: 'theirs' });
      put('named', { mark: 1, blob: new Blob(['them']) }, 'a'); put('named', { mark: 5 }, 'b');",
    )
}

fn merge(from: &Path, to: &Path, options: &[&str]) -> (Option<i32>, String, String) {
    let output = copy(&from.join("stores"), &to.join("stores"), options);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), said, stderr(&output))
}

/// Keys and names of 'numbered', keys of 'named', contents of its blobs.
fn shown(dir: &Path) -> Value {
    let databases = comparable(&dump_canonical(&leveldb_in(&dir.join("stores"))).stdout);
    let stores = databases[0]["stores"].as_array().unwrap();
    let records = |name: &str| {
        let store = stores.iter().find(|store| store["name"] == name).unwrap();
        store["records"].as_array().unwrap().clone()
    };
    let property = |value: &Value, name: &str| {
        let properties = value["props"].as_array().unwrap();
        let found = properties.iter().find(|pair| pair[0] == name);
        found.map_or(Value::Null, |pair| match pair[1].get("bytes") {
            Some(bytes) => bytes["hex"].clone(),
            None => pair[1]["v"].clone(),
        })
    };
    let numbered = records("numbered").into_iter();
    let named = records("named").into_iter();
    json!([
        numbered
            .map(|record| json!([
                record[0]["v"],
                property(&record[1], "id"),
                property(&record[1], "name")
            ]))
            .collect::<Vec<_>>(),
        named
            .map(|record| json!([record[0]["v"], property(&record[1], "blob")]))
            .collect::<Vec<_>>(),
    ])
}

#[test]
fn what_differs_is_skipped_replaced_kept_beside_or_fails() {
    let ours = ours();
    let (them, us) = ("7468656d", "6f757273");
    // A record whose key in a unique index another one has is never merged.
    let first = |name: &str| json!([["1", "1", "same"], ["2", "2", name], ["3", "3", "new"]]);
    let second = |blob: &str| json!([["a", blob], ["b", null]]);
    for (rule, expected) in [
        ("skip", json!([first("theirs"), second(them)])),
        ("replace", json!([first("ours"), second(us)])),
    ] {
        let theirs = theirs();
        let before = shown(theirs.path());
        let (status, said, _) = merge(
            ours.path(),
            theirs.path(),
            &["--on-conflict", rule, "--dry-run"],
        );
        assert_eq!(status, Some(0));
        assert!(said.contains("would be merged into"), "{said}");
        assert_eq!(shown(theirs.path()), before);
        let (status, said, errors) = merge(ours.path(), theirs.path(), &["--on-conflict", rule]);
        assert_eq!(status, Some(1), "{errors}");
        assert!(
            errors.contains(
                "object store \"named\", key \"c\": a unique index has the key for another record"
            ),
            "{errors}"
        );
        assert!(
            said.contains("1 databases, 1 records added, 1 the same, 2 "),
            "{said}"
        );
        assert_eq!(shown(theirs.path()), expected, "{rule}");
        let verified = larder([
            "verify".as_ref(),
            "--full".as_ref(),
            theirs.path().as_os_str(),
        ]);
        assert!(
            verified.status.success(),
            "{}",
            String::from_utf8_lossy(&verified.stdout)
        );
    }
    let theirs = theirs();
    let before = shown(theirs.path());
    let (status, _, errors) = merge(ours.path(), theirs.path(), &["--on-conflict", "fail"]);
    assert_eq!(status, Some(2));
    assert!(
        errors.contains(
            "key 2: there is another record: choose --on-conflict skip, replace or keep-both"
        ),
        "{errors}"
    );
    assert_eq!(shown(theirs.path()), before);
    let (status, _, errors) = merge(ours.path(), theirs.path(), &["--on-conflict", "keep-both"]);
    assert_eq!(status, Some(2));
    assert!(errors.contains("has no key generator that would give a second key: choose --on-conflict skip or replace"), "{errors}");
    assert_eq!(shown(theirs.path()), before);
    let options = ["--on-conflict", "keep-both", "--store", "numbered"];
    let (status, said, errors) = merge(ours.path(), theirs.path(), &options);
    assert_eq!(status, Some(0), "{errors}");
    assert!(
        said.contains("1 kept beside those that were there"),
        "{said}"
    );
    let numbered = &shown(theirs.path())[0];
    // The one that comes next has taken the number that the first of both had asked for.
    let names: Vec<&str> = numbered
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record[2].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 4, "{numbered}");
    assert!(
        ["same", "theirs", "ours", "new"]
            .iter()
            .all(|name| names.contains(name)),
        "{numbered}"
    );
    let verified = larder([
        "verify".as_ref(),
        "--full".as_ref(),
        theirs.path().as_os_str(),
    ]);
    assert!(
        verified.status.success(),
        "{}",
        String::from_utf8_lossy(&verified.stdout)
    );
}

#[test]
fn what_cannot_be_merged_is_refused_with_what_to_do() {
    let (ours, theirs) = (ours(), theirs());
    let before = files(theirs.path());
    let refused = |to: &Path, options: &[&str], words: &str| {
        let (status, _, errors) = merge(ours.path(), to, options);
        assert_eq!(status, Some(2), "{words}: {errors}");
        assert!(errors.contains(words), "{words}: {errors}");
    };
    refused(
        theirs.path(),
        &[],
        "there is a store already: choose another place, or merge into it with --on-conflict",
    );
    refused(
        theirs.path(),
        &["--on-conflict", "skip", "--store", "x"],
        "there is no object store \"x\" here",
    );
    assert_eq!(files(theirs.path()), before);
    let lock = leveldb_in(&theirs.path().join("stores")).join("LOCK");
    let held = DiskFileSystem::new().lock(&lock).unwrap();
    refused(
        theirs.path(),
        &["--on-conflict", "skip"],
        "has the store open",
    );
    drop(held);
    let newer = store_of("");
    let storage = newer.path().join("stores");
    run_script(&storage, &ORIGIN, "indexedDB.open('d', 2)");
    refused(
        newer.path(),
        &["--on-conflict", "skip"],
        "it has version 2 there and 1 here: let the app open the older one first",
    );
}

fn open(leveldb: &Path) -> Store {
    let paths = StorePaths::of_leveldb(leveldb);
    Store::open_read_only(
        Arc::new(DiskFileSystem::new()),
        paths,
        OpenOptions::default(),
    )
    .unwrap()
}

/// `LARDER_FAULT_STRIDE=1` tries every operation.
#[test]
fn a_merge_that_is_killed_or_fails_at_any_operation_leaves_each_database_as_it_was_or_merged() {
    let stride = std::env::var("LARDER_FAULT_STRIDE").map_or(11, |text| text.parse().unwrap());
    let ours = ours();
    let source = open(&leveldb_in(&ours.path().join("stores")));
    let dumped = |dir: &Path| comparable(&dump_canonical(&leveldb_in(&dir.join("stores"))).stdout);
    let run = |dir: &Path, fault: Fault| {
        let fs = Arc::new(FaultFileSystem::new(Arc::new(DiskFileSystem::new())));
        fs.fail_at(fault);
        let target: Arc<dyn FileSystem> = fs.clone();
        let paths = StorePaths::of_leveldb(&leveldb_in(&dir.join("stores")));
        let options = CopyOptions::default();
        let merged = merge_store(
            &source,
            &target,
            &paths,
            &options,
            OnConflict::Replace,
            &mut || {},
        );
        (merged.is_ok(), fs.operations())
    };
    let fault = |operation, every_later_too| Fault {
        operation,
        kind: io::ErrorKind::PermissionDenied,
        every_later_too,
    };
    let example = theirs();
    let before = dumped(example.path());
    let (_, all) = run(example.path(), fault(u64::MAX, false));
    let after = dumped(example.path());
    assert_ne!(before, after);
    let mut counts = [0, 0];
    for operation in (1..all).step_by(stride) {
        for every_later_too in [true, false] {
            let dir = theirs();
            let (is_ok, _) = run(dir.path(), fault(operation, every_later_too));
            let now = dumped(dir.path());
            let what = format!("operation {operation} of {all}, killed: {every_later_too}");
            assert!(now == after || (now == before && !is_ok), "{what}");
            counts[usize::from(now == after)] += 1;
            let (is_ok, _) = run(dir.path(), fault(u64::MAX, false));
            assert!(is_ok && dumped(dir.path()) == after, "{what}, again");
        }
    }
    println!(
        "of {all} operations: {} times merged, {} times as it was",
        counts[1], counts[0]
    );
    assert!(counts[0] > 2, "{counts:?} of {all}");
}
