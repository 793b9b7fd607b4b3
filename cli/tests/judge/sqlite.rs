//! What `larder copy` makes of a store in SQLite files is for Chromium, as a LevelDB store, what its browser showed of the files, and what it makes of a
//! LevelDB store is the same to a Chromium that keeps SQLite files, which may change it.

use std::path::Path;
use std::process::Command;

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Chromium, Format, Store};
use larder_fixtures::random::Random;
use larder_fixtures::sample_of;
use serde_json::Value;

use crate::golden::shown_golden;
use crate::{
    NOT_MIGRATED_BY_CHROMIUM, ORIGIN, agree, check_entries, dumped, idb, leave_out_color_spaces,
    ours, records, setting, take_turns_in, theirs,
};

/// A sample; `LARDER_WHOLE` takes all.
const SAMPLE: [&str; 3] = ["s156-lite", "s156-odd", "s156-killed-blob"];

#[test]
fn stores_taken_from_sqlite_files_are_the_same_to_chromium() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let (mut all, mut stores) = (0, 0);
        for fixture in sample_of(larder_fixtures::in_sqlite(), &SAMPLE) {
            let name = &*fixture.name;
            let to = tempfile::tempdir().unwrap();
            let output = Command::new(env!("CARGO_BIN_EXE_larder"))
                .arg("copy")
                .args([fixture.open().dir(), to.path()])
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
            let ours = Store::within(to.path(), &fixture.origin);
            let ours = databases_of(chromium.dump(&ours).unwrap());
            let theirs = databases_of(fixture.expected_json());
            agree(&ours, &theirs, name);
            all += records(&theirs);
            stores += 1;
        }
        println!("{all} records of {stores} stores agreed");
        assert!(all > 1000);
    });
}

/// LevelDB stores that are taken by way of SQLite files; `LARDER_WHOLE` takes all.
const SAMPLE_IN_LEVELDB: [&str; 3] = ["c156-lite", "c64-lite", "c156-killed-blob"];

/// What Chromium's tables cannot say of a store.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unsaid {
    /// Key paths that are arrays of one part, of object stores and indexes.
    pub(crate) paths: usize,
    /// -0 in keys, of records and of entries.
    pub(crate) zeros: usize,
}

/// -0 in keys, and key paths of one part in an array, as the page of a browser shows them that keeps SQLite files; and how many there were.
pub(crate) fn as_in_sqlite(shown: &mut Value) -> Unsaid {
    let mut unsaid = Unsaid::default();
    for database in shown.as_array_mut().into_iter().flatten() {
        for store in database["stores"].as_array_mut().into_iter().flatten() {
            unsaid.paths += one_part_is_a_string(&mut store["keyPath"]);
            for record in store["records"].as_array_mut().into_iter().flatten() {
                unsaid.zeros += zeros_are_positive(&mut record[0]);
            }
            for index in store["indexes"].as_array_mut().into_iter().flatten() {
                unsaid.paths += one_part_is_a_string(&mut index["keyPath"]);
                unsaid.zeros += zeros_are_positive(&mut index["entries"]);
            }
        }
    }
    unsaid
}

fn one_part_is_a_string(path: &mut Value) -> usize {
    let Some([part]) = path.as_array().map(Vec::as_slice) else {
        return 0;
    };
    *path = part.clone();
    1
}

fn zeros_are_positive(key: &mut Value) -> usize {
    match key {
        Value::String(text) if text == "-0" => *text = "0".to_owned(),
        Value::String(bits) if bits == "8000000000000000" => *bits = "0".repeat(16),
        Value::Array(items) => return items.iter_mut().map(zeros_are_positive).sum(),
        Value::Object(members) => return members.values_mut().map(zeros_are_positive).sum(),
        _ => return 0,
    }
    1
}

pub(crate) fn larder_copy(from: &Path, to: &Path, format: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["copy", "--accept", "--format", format])
        .args([from, to])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", from.display());
}

fn names(dir: &Path) -> Vec<std::ffi::OsString> {
    let listed = dir.read_dir().unwrap();
    let mut names: Vec<_> = listed.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

/// What a page finds; and what it finds again in what the browser left, which is in the folder `out` then. A browser that closes deletes what it does
/// not like, silently.
fn found_twice(chromium: &Chromium, store: &Store, out: &Path, what: &str) -> (Value, Store) {
    // It writes, so that the file is not only looked at.
    let script = "
        const all = await indexedDB.databases();
        const opened = await new Promise((done, failed) => {
          const request = indexedDB.open(all[0].name);
          request.onsuccess = () => done(request.result);
          request.onerror = failed;
        });
        const [name] = opened.objectStoreNames;
        if (name !== undefined) {
          const transaction = opened.transaction(name, 'readwrite');
          transaction.objectStore(name).delete(IDBKeyRange.bound('no such key', 'no such key 2'));
          await new Promise((done) => { transaction.oncomplete = done; });
        }
        opened.close();
        return fixture.dump();";
    let first = chromium.run(store, script, &Value::Null, out).unwrap();
    let left = first.store;
    assert_eq!(names(&left.leveldb), names(&store.leveldb), "{what}");
    let second = databases_of(chromium.dump(&left).unwrap());
    let first = databases_of(first.value);
    agree(&first, &second, what);
    (first, left)
}

#[test]
fn stores_put_into_sqlite_files_are_the_same_to_chromium_and_come_back() {
    with_large_stack(|| {
        let (Some(leveldb), Some(sqlite)) = (chromium::shared(), chromium::shared_in_sqlite())
        else {
            return;
        };
        let (mut all, mut stores) = (0, 0);
        for fixture in sample_of(larder_fixtures::all(), &SAMPLE_IN_LEVELDB) {
            let name = &*fixture.name;
            let opened = fixture.copy();
            let to = tempfile::tempdir().unwrap();
            larder_copy(&opened.leveldb(), to.path(), "sqlite");
            let files = Store::in_sqlite_within(to.path(), &fixture.origin);
            let mut shown = match name == NOT_MIGRATED_BY_CHROMIUM {
                true => databases_of(fixture.expected_json()),
                false => shown_golden(leveldb, &fixture).clone(),
            };
            let out = tempfile::tempdir().unwrap();
            let (mut in_files, left) = found_twice(sqlite, &files, out.path(), name);
            // The other way, from what Chromium left: with the notes, if it leaves tables alone that it does not know.
            let back = tempfile::tempdir().unwrap();
            larder_copy(&left.leveldb, back.path(), "leveldb");
            let back = Store::within(back.path(), &fixture.origin);
            let mut again = databases_of(leveldb.dump(&back).unwrap());
            if name == NOT_MIGRATED_BY_CHROMIUM {
                [&mut again, &mut in_files]
                    .into_iter()
                    .for_each(leave_out_color_spaces);
            }
            agree(&again, &shown, &format!("{name}, back"));
            as_in_sqlite(&mut shown);
            agree(&in_files, &shown, &format!("{name}, in SQLite files"));
            all += records(&shown);
            stores += 1;
            println!("{name}: {} records agreed", records(&shown));
        }
        println!("{all} records of {stores} stores agreed in SQLite files, and back in LevelDB");
        assert!(stores >= SAMPLE_IN_LEVELDB.len() && all > 1000);
    });
}

#[test]
fn a_store_that_changes_its_form_by_turns_is_the_same_to_larder_and_chromium() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared_in_sqlite() else {
            return;
        };
        let (turns, seed) = (setting("LARDER_FORM_TURNS", 5), setting("LARDER_SEED", 1));
        println!("seed {seed}, {turns} turns");
        let mut random = Random::new(seed);
        let (mut most, mut entries) = (0, 0);
        let mut dir = tempfile::tempdir().unwrap();
        let mut store = Store::within(dir.path(), ORIGIN);
        for turn in 0..turns {
            if turn > 0 && turn.is_multiple_of(25) {
                // From nothing again.
                dir = tempfile::tempdir().unwrap();
                store = Store::within(dir.path(), ORIGIN);
            }
            let what = format!("seed {seed}, turn {turn}");
            // Larder changes it in LevelDB, and Chromium in SQLite files.
            let transactions = 1 + random.below(4);
            ours::change(&store, &mut random, transactions);
            let before = dumped(&store);
            let to = dir.path().join(format!("in files {turn}"));
            larder_copy(&store.leveldb, &to, "sqlite");
            let files = Store::in_sqlite_within(&to, ORIGIN);
            agree(
                &dumped(&files),
                &before,
                &format!("{what}, in SQLite files"),
            );
            let mut before = before;
            as_in_sqlite(&mut before);
            let theirs = databases_of(chromium.dump(&files).unwrap());
            agree(&before, &theirs, &format!("{what}, to the page"));
            let out = dir.path().join(format!("changed {turn}"));
            let arguments = theirs::arguments(random.next());
            let changed = chromium
                .run(&files, theirs::SCRIPT, &arguments, &out)
                .unwrap();
            let theirs = databases_of(changed.value);
            let ours = dumped(&changed.store);
            let mut as_theirs = ours.clone();
            as_in_sqlite(&mut as_theirs);
            agree(
                &as_theirs,
                &theirs,
                &format!("{what}, after Chromium's turn"),
            );
            let back = dir.path().join(format!("back {turn}"));
            larder_copy(&changed.store.leveldb, &back, "leveldb");
            store = Store::within(&back, ORIGIN);
            agree(&dumped(&store), &ours, &format!("{what}, back"));
            most = most.max(records(&ours));
            entries = entries.max(check_entries(&ours, &what));
        }
        assert!(
            most > 20 && entries > 20,
            "{most} records and {entries} index entries at most: too few to tell anything"
        );
        println!("{turns} turns in two forms agreed; {most} records at most");
    });
}

/// A program of hosts with `larder-idb` on SQLite files, and then a page's.
fn round(
    chromium: &Chromium,
    store: &Store,
    random: &mut Random,
    out: &Path,
    what: &str,
) -> (Store, usize) {
    let (did, mut found) = idb::host(store, random);
    let what = format!("{what}, after {did:?}");
    let again = idb::seen(store, random);
    agree(
        &again,
        &found,
        &format!("{what}: idb, then idb before it was closed"),
    );
    agree(
        &dumped(store),
        &found,
        &format!("{what}: the dump, then idb"),
    );
    as_in_sqlite(&mut found);
    let what = format!("{what}, to the page");
    let (shown, _) = found_twice(chromium, store, &out.join("twice"), &what);
    agree(&found, &shown, &what);
    let arguments = theirs::arguments(random.next());
    let changed = chromium
        .run(store, theirs::SCRIPT, &arguments, out)
        .unwrap();
    let mut ours = idb::seen(&changed.store, random);
    agree(
        &dumped(&changed.store),
        &ours,
        &format!("{what}, and Chromium's turn: the dump, then idb"),
    );
    as_in_sqlite(&mut ours);
    let theirs = databases_of(changed.value);
    agree(&ours, &theirs, &format!("{what}, and Chromium's turn"));
    (changed.store, records(&ours))
}

#[test]
fn chromium_shows_what_programs_of_idb_left_in_sqlite_files_and_idb_what_chromium_made_of_it() {
    take_turns_in(Format::Sqlite, "LARDER_SQLITE_ROUND_TRIPS", round);
}
