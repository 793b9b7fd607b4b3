//! `larder copy`: what comes out is what went in, under another origin if that is wanted, whole or not at all.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::{compare_with_browser, dump_canonical, for_every, larder, stderr};
use larder_fixtures::Fixture;
use larder_fixtures::canonical::{comparable, first_difference, with_large_stack};
use serde_json::Value;

#[cfg(unix)]
mod faults;
#[cfg(all(unix, feature = "sqlite"))]
mod forms;
#[cfg(feature = "scripts")]
mod merge;

const OTHER_ORIGIN: &str = "https://other.example:8443";
const OTHER_FOLDER: &str = "https_other.example_8443.indexeddb.leveldb";

fn copy(from: &Path, to: &Path, options: &[&str]) -> Output {
    let mut arguments: Vec<OsString> = vec!["copy".into(), from.into(), to.into()];
    arguments.extend(options.iter().map(OsString::from));
    larder(arguments)
}

/// A folder of stores for a test.
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

/// Every file of a store with its length and time.
fn files(dir: &Path) -> Vec<(PathBuf, u64, std::time::SystemTime)> {
    let mut found = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let (path, metadata) = {
                let entry = entry.unwrap();
                (entry.path(), entry.metadata().unwrap())
            };
            match metadata.is_dir() {
                true => pending.push(path),
                false => found.push((path, metadata.len(), metadata.modified().unwrap())),
            }
        }
    }
    found.sort();
    found
}

fn check(fixture: &Fixture) -> Result<(), String> {
    let name = &fixture.name;
    // Times of blobs count, and are not those of a checkout.
    let source = fixture.copy();
    let before = files(source.dir());
    let to = folder();
    let failed = |output: &Output| Err(format!("{name}: {:?}: {}", output.status, stderr(output)));
    let plain = copy(&source.leveldb(), &to.path().join("plain"), &[]);
    let renamed = copy(
        &source.leveldb(),
        &to.path().join("renamed"),
        &["--origin", OTHER_ORIGIN],
    );
    for output in [&plain, &renamed] {
        if !output.status.success() {
            return failed(output);
        }
    }
    if files(source.dir()) != before {
        return Err(format!("{name}: the source was changed"));
    }
    let plain = leveldb_in(&to.path().join("plain"));
    let renamed = to.path().join("renamed").join(OTHER_FOLDER);
    compare_with_browser(fixture, &plain, |_| {})?;
    compare_with_browser(fixture, &renamed, |_| {})?;
    let verified = larder(["verify".as_ref(), "--full".as_ref(), renamed.as_os_str()]);
    match verified.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{name}: {}",
            String::from_utf8_lossy(&verified.stdout)
        )),
    }
}

#[test]
fn every_golden_store_is_copied_to_what_its_browser_showed_also_under_another_origin() {
    for_every(larder_fixtures::varied(), check);
}

#[test]
fn a_store_in_another_order_is_written_anew_in_chromiums() {
    with_large_stack(|| {
        for fixture in larder_fixtures::in_another_order() {
            let source = fixture.open();
            let to = folder();
            let output = copy(&source.leveldb(), to.path(), &[]);
            assert!(output.status.success(), "{}", stderr(&output));
            let copied = leveldb_in(to.path());
            let dumped = dump_canonical(&copied);
            assert_eq!(stderr(&dumped), "", "no word of another order");
            let text: Value = larder_fixtures::parse_json(&dumped.stdout);
            assert!(text.get("order").is_none());
            let by_key = |output: &[u8]| sorted_records(comparable(output));
            let (ours, source) = (
                by_key(&dumped.stdout),
                by_key(&dump_canonical(&source.leveldb()).stdout),
            );
            assert_eq!(first_difference(&ours, &source, "databases"), None);
        }
    });
}

/// Records, entries and positions in an order that is no store's.
fn sorted_records(mut databases: Value) -> Value {
    let sort = |list: &mut Value| {
        let list = list.as_array_mut().unwrap();
        list.sort_by_key(ToString::to_string);
    };
    for database in databases.as_array_mut().unwrap() {
        for store in database["stores"].as_array_mut().unwrap() {
            sort(&mut store["records"]);
            store["orders"].take();
            for index in store["indexes"].as_array_mut().unwrap() {
                sort(&mut index["entries"]);
                index["orders"].take();
            }
        }
    }
    databases
}

#[test]
fn a_part_is_what_was_asked_for_and_agrees_with_itself() {
    with_large_stack(|| {
        let fixture = larder_fixtures::get("c156-lite");
        let source = fixture.open();
        let whole = comparable(&fixture.expected());
        let databases = whole.as_array().unwrap();
        let (database, store) = databases
            .iter()
            .flat_map(|database| {
                let stores = database["stores"].as_array().unwrap();
                stores.iter().map(move |store| (database, store))
            })
            .find(|(_, store)| {
                let indexes = store["indexes"].as_array().unwrap();
                let has_entries = |index: &Value| index["count"].as_u64().unwrap() > 3;
                let keys = store["records"].as_array().unwrap();
                let are_numbers = keys.iter().all(|record| record[0]["t"] == "number");
                keys.len() > 5 && are_numbers && indexes.iter().any(has_entries)
            })
            .unwrap();
        let names = [
            database["name"].as_str().unwrap(),
            store["name"].as_str().unwrap(),
        ];
        let to = folder();
        let key = |n: usize| store["records"][n][0]["v"].to_string();
        let (lower, upper) = (key(1).replace('"', ""), key(3).replace('"', ""));
        let options = [
            "--database",
            names[0],
            "--store",
            names[1],
            "--lower",
            &lower,
            "--upper",
            &upper,
        ];
        let output = copy(&source.leveldb(), to.path(), &options);
        assert!(output.status.success(), "{}", stderr(&output));
        let copied = leveldb_in(to.path());
        let found = comparable(&dump_canonical(&copied).stdout);
        let found = found.as_array().unwrap();
        assert_eq!(found.len(), 1);
        let stores = found[0]["stores"].as_array().unwrap();
        assert_eq!(stores.len(), 1);
        let wanted = &store["records"].as_array().unwrap()[1..=3];
        assert_eq!(stores[0]["records"].as_array().unwrap(), wanted);
        let verified = larder(["verify".as_ref(), "--full".as_ref(), copied.as_os_str()]);
        assert!(
            verified.status.success(),
            "{}",
            String::from_utf8_lossy(&verified.stdout)
        );
    });
}

#[test]
fn what_cannot_be_done_is_said_and_leaves_nothing() {
    let source = larder_fixtures::get("c156-lite").open();
    let (to, from) = (folder(), source.leveldb());
    let refused = |options: &[&str], words: &str| {
        let output = copy(&from, to.path(), options);
        assert_eq!(output.status.code(), Some(2), "{words}");
        let said = stderr(&output);
        assert!(said.contains(words), "{words}: {said}");
        assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0);
    };
    refused(&["--origin", "no origin"], "--origin no origin: ");
    refused(&["--lower", "true"], "--lower: true is no key");
    refused(
        &["--database", "kees"],
        "there is no database \"kees\" here",
    );
    refused(
        &["--store", "nothing"],
        "there is no object store \"nothing\" here",
    );

    let dry = copy(&from, to.path(), &["--dry-run"]);
    assert!(String::from_utf8_lossy(&dry.stdout).contains("would be copied to"));
    assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0);

    assert!(copy(&from, to.path(), &[]).status.success());
    let before = files(to.path());
    let output = copy(&from, to.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("there is a store already"),
        "{}",
        stderr(&output)
    );
    assert_eq!(files(to.path()), before);

    let lone = folder();
    fs::create_dir(lone.path().join("http_127.0.0.1_18917.indexeddb.blob")).unwrap();
    let output = copy(&from, lone.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("move this folder away first"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_missing_blob_is_named_and_the_rest_is_copied() {
    let source = larder_fixtures::get("c156-lite").copy();
    let files = files(source.dir());
    let is_blob = |path: &Path| path.to_string_lossy().contains(".indexeddb.blob");
    let (blob, ..) = files.iter().find(|(path, ..)| is_blob(path)).unwrap();
    fs::remove_file(blob).unwrap();
    let to = folder();
    let output = copy(&source.leveldb(), to.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("not copied: ") && said.contains(blob.to_str().unwrap()),
        "{said}"
    );
    let text = |store: &Path| String::from_utf8(dump_canonical(store).stdout).unwrap();
    let records = |text: &str| text.matches("UNREADABLE").count();
    assert_eq!(
        records(&text(&leveldb_in(to.path()))),
        records(&text(&source.leveldb()))
    );
}

#[test]
fn several_stores_lie_as_they_lay() {
    let from = folder();
    for name in ["c156-lite", "c110-lite"] {
        let fixture = larder_fixtures::get(name).open();
        let profile = from.path().join(name).join("IndexedDB");
        fs::create_dir_all(&profile).unwrap();
        assert!(copy(&fixture.leveldb(), &profile, &[]).status.success());
    }
    let to = folder();
    let output = copy(from.path(), to.path(), &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    for name in ["c156-lite", "c110-lite"] {
        leveldb_in(&to.path().join(name).join("IndexedDB"));
    }
}
