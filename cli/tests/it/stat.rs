//! `larder stat`: counts are the browser's own, sums those of the files and of each row by itself.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use crate::support::{for_every, larder, stderr};
use larder_fixtures::Fixture;
use larder_fixtures::canonical::comparable;
use serde_json::Value;

fn stat(store: &Path, options: &[&str]) -> Value {
    let fixed = ["--format", "json"].iter().map(AsRef::as_ref);
    let path = ["stat".as_ref(), store.as_os_str()];
    let given = options.iter().map(AsRef::as_ref);
    let output = larder(path.into_iter().chain(given).chain(fixed));
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Files below a folder, and their bytes.
fn below(dir: &Path) -> (u64, u64) {
    let Ok(names) = fs::read_dir(dir) else {
        return (0, 0);
    };
    names.fold((0, 0), |(files, bytes), entry| {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        let (more, of_them) = match metadata.is_dir() {
            true => below(&entry.path()),
            false => (1, metadata.len()),
        };
        (files + more, bytes + of_them)
    })
}

/// The member of a list with this name.
fn named<'v>(list: &'v Value, name: &Value) -> &'v Value {
    let is_it = |one: &&Value| one["name"] == *name;
    list.as_array().unwrap().iter().find(is_it).unwrap()
}

fn counts_of(fixture: &Fixture) -> Result<(), String> {
    let (store, databases) = (fixture.open(), comparable(&fixture.expected()));
    let found = stat(&store.leveldb(), &[]);
    let number = |value: &Value| value.as_u64().unwrap();
    let mut stale = 0;
    for database in databases.as_array().unwrap() {
        let ours = named(&found["databases"], &database["name"]);
        for store in database["stores"].as_array().unwrap() {
            let ours = named(&ours["object_stores"], &store["name"]);
            let same = |ours: u64, theirs: &Value, what: &Value| match ours == number(theirs) {
                true => Ok(()),
                false => Err(format!("{}: {what}: {ours}, not {theirs}", fixture.name)),
            };
            same(
                number(&ours["records"]["rows"]),
                &store["count"],
                &store["name"],
            )?;
            for index in store["indexes"].as_array().unwrap() {
                let ours = named(&ours["indexes"], &index["name"]);
                let of_index = number(&ours["stale_rows"]);
                stale += of_index;
                same(
                    number(&ours["entries"]["rows"]) - of_index,
                    &index["count"],
                    &index["name"],
                )?;
            }
        }
    }
    let blobs = store.leveldb().with_extension("blob");
    let (leveldb, (blob_files, blob_bytes)) = (below(&store.leveldb()).1, below(&blobs));
    let files = [
        &found["leveldb_bytes"],
        &found["blob_files"],
        &found["blob_bytes"],
    ]
    .map(number);
    if files != [leveldb, blob_files, blob_bytes]
        || number(&found["gain"]["stale_index_rows"]) < stale
    {
        return Err(format!(
            "{}: {files:?}, {stale} stale, {}",
            fixture.name, found["gain"]
        ));
    }
    Ok(())
}

#[test]
fn counts_of_golden_stores_are_those_that_their_browsers_gave() {
    for_every(larder_fixtures::all(), counts_of);
}

/// Rows and bytes of a state and class, added up from `larder rows`.
fn sums(store: &Path) -> HashMap<(String, String), (u64, u64)> {
    let options = ["--history", "--json", "--hex"].iter().map(AsRef::as_ref);
    let output = larder(
        ["rows".as_ref(), store.as_os_str()]
            .into_iter()
            .chain(options),
    );
    let mut sums = HashMap::<_, (u64, u64)>::new();
    for line in output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let row: Value = serde_json::from_slice(line).unwrap();
        let hex = |member: &str| row[member].as_str().map_or(0, |hex| hex.len() as u64 / 2);
        let text = |member: &str| row[member].as_str().unwrap().to_owned();
        let sum = sums.entry((text("state"), text("class"))).or_default();
        sum.0 += 1;
        sum.1 += hex("key_hex") + hex("value_hex");
    }
    sums
}

#[test]
fn every_entry_of_the_files_is_counted_once() {
    let store = larder_fixtures::get("c156-lite").open();
    let (found, sums) = (stat(&store.leveldb(), &[]), sums(&store.leveldb()));
    let of = |states: &[&str], classes: &[&str]| {
        let is_in = |list: &[&str], word: &String| list.is_empty() || list.contains(&word.as_str());
        let some = sums
            .iter()
            .filter(|((state, class), _)| is_in(states, state) && is_in(classes, class));
        some.fold((0, 0), |(rows, bytes), (_, sum)| {
            (rows + sum.0, bytes + sum.1)
        })
    };
    let add = |(rows, bytes): (u64, u64), amount: &Value| {
        (
            rows + amount["rows"].as_u64().unwrap(),
            bytes + amount["bytes"].as_u64().unwrap(),
        )
    };
    let amount = |amount: &Value| add((0, 0), amount);
    let visible = ["live", "stale"];
    let mut records = (0, 0);
    let mut indexes = (0, 0);
    for database in found["databases"].as_array().unwrap() {
        for store in database["object_stores"].as_array().unwrap() {
            records = add(records, &store["records"]);
            for index in store["indexes"].as_array().unwrap() {
                indexes = add(indexes, &index["entries"]);
            }
        }
    }
    assert_eq!(records.0, of(&visible, &["data"]).0);
    assert_eq!(
        records.1,
        of(&visible, &["data", "exists", "external objects"]).1
    );
    assert_eq!(indexes, of(&visible, &["index data"]));
    assert_eq!(
        amount(&found["metadata"]),
        of(&visible, &["global", "database", "object store", "index"])
    );
    assert_eq!(amount(&found["undo_log"]), of(&visible, &["undo log"]));
    // A deletion that another one hides is one more hidden entry.
    let hidden = add(amount(&found["overwritten"]), &found["deletions"]);
    assert_eq!(hidden, of(&["overwritten", "deletion"], &[]));
    assert_eq!(hidden, amount(&found["gain"]["entries"]));
    assert!(found["deletions"]["rows"].as_u64().unwrap() > 100);
    assert_eq!(amount(&found["left_over"]), (0, 0));
}

#[test]
fn a_quick_look_says_nothing_of_stale_rows_and_eyes_get_the_whole() {
    let store = larder_fixtures::get("c156-lite").open();
    let found = stat(&store.leveldb(), &["--quick"]);
    assert!(found["gain"].get("stale_index_rows").is_none());
    assert!(!found.to_string().contains("stale_rows"));
    let output = larder(["stat".as_ref(), store.leveldb().as_os_str()]);
    let shown = String::from_utf8(output.stdout).unwrap();
    for words in [
        "index \"by_name\": 72 rows 2.3 KiB, 21 of them stale\n",
        "maintenance would give back: ",
        "19 blob files 66.6 KiB\n",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}
