//! Stores that Larder and a real Chromium write by turns. After each turn both say what is in the store, and must agree.
//!
//! Chromium wipes a store that it cannot make sense of and says nothing, so agreement is the verdict: what Larder wrote is
//! there for a page, record by record, and what the page wrote is there for Larder. Everything is random and follows from a
//! seed, which is printed. `LARDER_ROUND_TRIPS` says how many rounds (12), `LARDER_SEED` where they start.
#![cfg(test)]

mod ages;
mod buckets;
mod copies;
mod entries;
mod foreign;
mod golden;
mod idb;
mod keys;
mod killed;
mod killed_load;
mod killed_script;
mod left_behind;
mod libraries;
mod migration;
mod nesting;
mod node;
mod ours;
mod pages;
mod platform_objects;
mod programs;
#[expect(clippy::disallowed_methods, reason = "the tests harm real files")]
mod repaired;
mod scripts;
mod sqlite;
mod synced;
mod theirs;
mod tracked;

use std::path::Path;
use std::process::Command;

use larder_backing_store::SCHEMA_VERSION_MAX;
use larder_fixtures::canonical::{comparable, databases_of, first_difference, with_large_stack};
use larder_fixtures::chromium::{self, Chromium, Format, Store};
use larder_fixtures::random::Random;
use serde_json::Value;

use entries::check_entries;

const ORIGIN: &str = "http://127.0.0.1:18917";

fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().unwrap())
}

/// What `larder dump` finds.
fn dumped(store: &Store) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["dump", "--format", "canonical", "--digests"])
        .arg(&store.leveldb)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    comparable(&output.stdout)
}

fn agree(ours: &Value, theirs: &Value, what: &str) {
    let difference = first_difference(ours, theirs, "databases");
    assert_eq!(difference, None, "{what}: ours, then the page's");
}

/// What the page of a newer browser shows otherwise than the browser that wrote the store.
#[derive(Debug, Clone, Copy)]
struct Forgiven {
    /// Values with an Error in them are null.
    errors: bool,
    /// Images have a colour space; Larder shows a store as a browser of its schema, which it keeps.
    color_spaces: bool,
}

const NOTHING: Forgiven = Forgiven {
    errors: false,
    color_spaces: false,
};

fn leave_out_color_spaces(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(leave_out_color_spaces),
        Value::Object(members) => {
            members.remove("colorSpace");
            members.values_mut().for_each(leave_out_color_spaces);
        }
        _ => {}
    }
}

/// Larder's turn in place, then Chromium's on a copy: the store after it, and how many records there were at most.
fn round(
    chromium: &Chromium,
    store: &Store,
    random: &mut Random,
    out: &Path,
    what: &str,
    forgiven: Forgiven,
) -> (Store, usize) {
    let transactions = 1 + random.below(4);
    let did = ours::change(store, random, transactions);
    let what = format!("{what}, after {did:?}");
    then_theirs(chromium, store, random, out, &what, forgiven)
}

/// A turn has been taken in place: all say the same of it. Then Chromium's on a copy, as [`round`] has it.
fn then_theirs(
    chromium: &Chromium,
    store: &Store,
    random: &mut Random,
    out: &Path,
    what: &str,
    forgiven: Forgiven,
) -> (Store, usize) {
    let mut ours = dumped(store);
    let mut theirs = databases_of(chromium.dump(store).unwrap());
    if forgiven.errors {
        lose_errors(&mut ours, &theirs);
    }
    if forgiven.color_spaces {
        leave_out_color_spaces(&mut ours);
        leave_out_color_spaces(&mut theirs);
    }
    agree(&ours, &theirs, what);
    let seed = random.next();
    let changed = chromium
        .run(store, theirs::SCRIPT, &theirs::arguments(seed), out)
        .unwrap();
    let theirs = databases_of(changed.value);
    let mut ours = dumped(&changed.store);
    if forgiven.errors {
        lose_errors(&mut ours, &theirs);
    }
    agree(&ours, &theirs, &format!("{what}, after Chromium's turn"));
    (changed.store, records(&ours))
}

fn stores(databases: &Value) -> impl Iterator<Item = &Value> {
    let databases = databases.as_array().into_iter().flatten();
    databases.flat_map(|database| database["stores"].as_array().into_iter().flatten())
}

fn len(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

fn records(databases: &Value) -> usize {
    stores(databases).map(|store| len(&store["records"])).sum()
}

/// Takes turns on one store, begun from nothing every 25 rounds: so many rounds as the setting says. A round gets Chromium, the store, random
/// choices, a folder and words for messages, and returns the store as Chromium left it, with how many records it has.
fn take_turns(
    rounds: &'static str,
    round: impl FnMut(&Chromium, &Store, &mut Random, &Path, &str) -> (Store, usize) + Send + 'static,
) {
    take_turns_in(Format::LevelDb, rounds, round);
}

fn take_turns_in(
    format: Format,
    rounds: &'static str,
    mut round: impl FnMut(&Chromium, &Store, &mut Random, &Path, &str) -> (Store, usize)
    + Send
    + 'static,
) {
    with_large_stack(move || {
        let (chromium, within): (_, fn(&Path, &str) -> Store) = match format {
            Format::LevelDb => (chromium::shared(), Store::within),
            Format::Sqlite | Format::Migrating => {
                (chromium::shared_in_sqlite(), Store::in_sqlite_within)
            }
        };
        let Some(chromium) = chromium else {
            return;
        };
        let default = match format {
            Format::LevelDb => 12,
            Format::Sqlite | Format::Migrating => 20,
        };
        let (rounds, seed) = (setting(rounds, default), setting("LARDER_SEED", 1));
        println!("seed {seed}, {rounds} rounds");
        let mut random = Random::new(seed);
        let mut dir = tempfile::tempdir().unwrap();
        let mut store = within(dir.path(), ORIGIN);
        let (mut most, mut entries) = (0, 0);
        for n in 0..rounds {
            if n > 0 && n.is_multiple_of(25) {
                // From nothing again.
                dir = tempfile::tempdir().unwrap();
                store = within(dir.path(), ORIGIN);
            }
            let out = dir.path().join(format!("after {n}"));
            let what = format!("seed {seed}, round {n}");
            let (after, count) = round(chromium, &store, &mut random, &out, &what);
            (store, most) = (after, most.max(count));
            entries = entries.max(check_entries(&dumped(&store), &what));
        }
        assert!(
            most > 20 && entries > 20,
            "{most} records and {entries} index entries at most: too few to tell anything"
        );
        println!("{rounds} round trips agreed; {most} records at most");
    });
}

#[test]
fn larder_and_chromium_take_turns_on_one_store_and_always_agree() {
    take_turns(
        "LARDER_ROUND_TRIPS",
        |chromium, store, random, out, what| round(chromium, store, random, out, what, NOTHING),
    );
}

/// Written by Chromium 110 and 119: a value with an Error of theirs in it Chromium 156 reads as null.
const WITH_LOST_ERRORS: [&str; 3] = ["c110", "c110-lite", "c119-lite"];

/// Chromium 92 and later fail to open it as it is: it has empty files that their migration does not find
/// (`fixtures/generate/README.md`). Ours does.
const NOT_MIGRATED_BY_CHROMIUM: &str = "c75-lite";

/// Records with the key 0 lie under the bytes of -0, and index rows say 0 (decision 54). As long as the rows lie in a log or in a table of Larder's,
/// Chromium finds them. Changed by a large transaction the store has two tables in level 0; Chromium merges these while it reads, and the
/// filter of its own table has one form of the key: 1 or 2 index entries are not found from then on.
const WITH_TWO_FORMS_OF_ZERO: &str = "c156-killed-zero";

fn has_error(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_error),
        Value::Object(members) => {
            members.get("t").is_some_and(|t| t == "Error") || members.values().any(has_error)
        }
        _ => false,
    }
}

/// Ours says null where it says something with an Error and the page says null.
fn lose_errors(ours: &mut Value, theirs: &Value) {
    if theirs.get("t").is_some_and(|t| t == "null") && has_error(ours) {
        *ours = theirs.clone();
        return;
    }
    match (ours, theirs) {
        (Value::Array(ours), Value::Array(theirs)) => {
            let pairs = ours.iter_mut().zip(theirs);
            pairs.for_each(|(ours, theirs)| lose_errors(ours, theirs));
        }
        (Value::Object(ours), Value::Object(theirs)) => {
            for (name, ours) in ours {
                lose_errors(ours, theirs.get(name).unwrap_or(&Value::Null));
            }
        }
        _ => {}
    }
}

#[test]
fn golden_stores_that_larder_changed_are_what_larder_says_and_chromium_changes_them_further() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let fixtures = larder_fixtures::varied();
        let (mut stores, mut all_entries) = (0, 0);
        for (n, fixture) in fixtures.iter().enumerate() {
            let name = &*fixture.name;
            if name == WITH_TWO_FORMS_OF_ZERO {
                continue;
            }
            let opened = fixture.copy();
            let store = golden::store_of(fixture, &opened.leveldb());
            let out = tempfile::tempdir().unwrap();
            let mut random = Random::new(n as u64 + 100);
            if name == NOT_MIGRATED_BY_CHROMIUM {
                ours::raise_schema(&store);
            }
            let forgiven = Forgiven {
                errors: WITH_LOST_ERRORS.contains(&name),
                color_spaces: ages::schema(&store) < SCHEMA_VERSION_MAX,
            };
            let (after, count) = round(chromium, &store, &mut random, out.path(), name, forgiven);
            let entries = check_entries(&dumped(&after), name);
            println!("{name}: {count} records, {entries} index entries, agreed");
            all_entries += entries;
            stores += 1;
        }
        assert!(
            stores > 8 && all_entries > 0,
            "{stores} stores, {all_entries} index entries"
        );
        println!("{stores} golden stores changed by both agreed, {all_entries} index entries");
    });
}

#[test]
fn chromium_finds_every_one_of_many_records_and_of_their_index_entries() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let count = setting("LARDER_JUDGED_RECORDS", 5000);
        let dir = tempfile::tempdir().unwrap();
        let store = Store::within(dir.path(), ORIGIN);
        ours::fill(&store, count);
        let ours = dumped(&store);
        assert_eq!(records(&ours) as u64, count);
        assert_eq!(check_entries(&ours, "many records") as u64, count);
        let theirs = databases_of(chromium.dump(&store).unwrap());
        agree(&ours, &theirs, "many records");
        println!("{count} records agreed");
    });
}
