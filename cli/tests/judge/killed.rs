//! Larder killed at any moment, in the middle of transactions that have gone to the undo log: what it leaves, both recover alike.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Chromium, Store};
use serde_json::Value;

use crate::sqlite::as_in_sqlite;
use crate::{ORIGIN, agree, dumped, ours, records, setting};
use larder_fixtures::random::Random;

/// The variable that gives the child its folder and its work.
const CHILD: &str = "LARDER_JUDGE_CHILD";

/// A store of the form in a folder.
fn store_within(form: &str, dir: &Path) -> Store {
    match form {
        "leveldb" => Store::within(dir, ORIGIN),
        _ => Store::in_sqlite_within(dir, ORIGIN),
    }
}

#[test]
fn a_child_that_writes_without_end_does_nothing_without_its_parent() {
    let Some(child) = std::env::var_os(CHILD) else {
        return;
    };
    let child = child.into_string().unwrap();
    let mut parts = child.splitn(3, ' ');
    let mut part = || parts.next().unwrap();
    let (form, seed, dir) = (part(), part(), part());
    let store = store_within(form, dir.as_ref());
    ours::change_without_end(&store, &mut Random::new(seed.parse().unwrap()));
}

#[test]
fn what_a_killed_larder_leaves_chromium_and_larder_recover_alike() {
    with_large_stack(|| {
        if let Some(chromium) = chromium::shared() {
            kill_and_look(chromium, "leveldb", |_| {});
        }
    });
}

#[test]
fn what_a_killed_larder_leaves_in_sqlite_files_chromium_and_larder_recover_alike() {
    with_large_stack(|| {
        if let Some(chromium) = chromium::shared_in_sqlite() {
            kill_and_look(chromium, "sqlite", |shown| {
                as_in_sqlite(shown);
            });
        }
    });
}

/// Kills a child time after time, and compares what both read then. What is read here is made into what the form can say.
fn kill_and_look(chromium: &Chromium, form: &str, as_said: fn(&mut Value)) {
    let (kills, seed) = (setting("LARDER_KILLS", 6), setting("LARDER_SEED", 1));
    println!("seed {seed}, {kills} kills");
    let mut random = Random::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let store = store_within(form, dir.path());
    let mut most = 0;
    for n in 0..kills {
        let path = dir.path().to_str().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "killed::a_child_that_writes_without_end_does_nothing_without_its_parent",
                "--exact",
            ])
            .env(CHILD, format!("{form} {} {path}", random.next()))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(100 + random.below(900)));
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        child.kill().unwrap();
        child.wait().unwrap();
        let is_there = match form {
            "leveldb" => store.leveldb.join("CURRENT").exists(),
            _ => store.leveldb.exists(),
        };
        if !is_there {
            continue;
        }
        let (mut ours, theirs) = (dumped(&store), databases_of(chromium.dump(&store).unwrap()));
        as_said(&mut ours);
        agree(&ours, &theirs, &format!("seed {seed}, kill {n}"));
        most = most.max(records(&ours));
    }
    assert!(
        most > 20,
        "{most} records at most: too few to tell anything"
    );
    println!("{kills} kills: what was left agreed; {most} records at most");
}
