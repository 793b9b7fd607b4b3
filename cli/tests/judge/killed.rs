//! Larder killed at any moment, in the middle of transactions that have gone to the undo log: what it leaves, both recover alike.

use std::process::{Command, Stdio};
use std::time::Duration;

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Store};

use crate::{ORIGIN, agree, dumped, ours, records, setting};
use larder_fixtures::random::Random;

/// The variable that gives the child its folder and its work.
const CHILD: &str = "LARDER_JUDGE_CHILD";

#[test]
fn a_child_that_writes_without_end_does_nothing_without_its_parent() {
    let Some(child) = std::env::var_os(CHILD) else {
        return;
    };
    let child = child.into_string().unwrap();
    let (seed, dir) = child.split_once(' ').unwrap();
    let store = Store::within(dir.as_ref(), ORIGIN);
    ours::change_without_end(&store, &mut Random::new(seed.parse().unwrap()));
}

#[test]
fn what_a_killed_larder_leaves_chromium_and_larder_recover_alike() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let (kills, seed) = (setting("LARDER_KILLS", 6), setting("LARDER_SEED", 1));
        println!("seed {seed}, {kills} kills");
        let mut random = Random::new(seed);
        let dir = tempfile::tempdir().unwrap();
        let store = Store::within(dir.path(), ORIGIN);
        let mut most = 0;
        for n in 0..kills {
            let path = dir.path().to_str().unwrap();
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args([
                    "killed::a_child_that_writes_without_end_does_nothing_without_its_parent",
                    "--exact",
                ])
                .env(CHILD, format!("{} {path}", random.next()))
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_millis(100 + random.below(900)));
            assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
            child.kill().unwrap();
            child.wait().unwrap();
            if !store.leveldb.join("CURRENT").exists() {
                continue;
            }
            let (ours, theirs) = (dumped(&store), databases_of(chromium.dump(&store).unwrap()));
            agree(&ours, &theirs, &format!("seed {seed}, kill {n}"));
            most = most.max(records(&ours));
        }
        assert!(
            most > 20,
            "{most} records at most: too few to tell anything"
        );
        println!("{kills} kills: what was left agreed; {most} records at most");
    });
}
