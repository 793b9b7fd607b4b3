//! What `larder repair` makes of harmed stores opens in Chromium, and holds exactly the certain part; what `larder compact` and `larder
//! clean` have done no page can see.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use larder_fixtures::OpenFixture;
use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium;
use larder_fixtures::random::Random;

use crate::golden::{shown, shown_golden, store_of};
use crate::{NOT_MIGRATED_BY_CHROMIUM, agree, dumped, records};

/// Runs the command: its exit status.
fn larder(arguments: &[&std::ffi::OsStr]) -> Option<i32> {
    let output = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(arguments)
        .output()
        .unwrap();
    output.status.code()
}

fn tables(source: &OpenFixture) -> Vec<PathBuf> {
    let all = fs::read_dir(source.leveldb()).unwrap();
    let mut all: Vec<_> = all
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|end| end == "ldb" || end == "log")
        })
        .filter(|path| fs::metadata(path).unwrap().len() > 8192)
        .collect();
    all.sort();
    all
}

#[test]
fn chromium_shows_exactly_the_certain_part_of_harmed_stores() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let (mut stores, mut certain, mut of) = (0, 0, 0);
        for name in [
            "c156",
            "c156-linger",
            "c156-killed-spill",
            "c156-killed-spill-small",
            "c156-killed-blob",
        ] {
            let fixture = larder_fixtures::get(name);
            let all = records(&databases_of(fixture.expected_json()));
            for seed in 1..=4 {
                let source = fixture.copy();
                let mut random = Random::new(seed);
                let path = random.pick(&tables(&source));
                let mut bytes = fs::read(&path).unwrap();
                let at = random.index(bytes.len() - 4096);
                bytes[at..at + 1 + random.index(4096)].fill(0);
                fs::write(&path, bytes).unwrap();
                let to = tempfile::tempdir().unwrap();
                let dir = to.path().join("out");
                let leveldb = source.leveldb();
                let mut arguments = vec![
                    "repair".as_ref(),
                    leveldb.as_os_str(),
                    "--to".as_ref(),
                    dir.as_os_str(),
                ];
                if seed == 4 {
                    arguments.push("--with-doubtful".as_ref());
                }
                // A file that is no part of the store may be harmed, too.
                let status = larder(&arguments);
                assert!(
                    matches!(status, Some(0 | 1)),
                    "{name}, seed {seed}: {status:?}"
                );
                let repaired = dir.join(source.leveldb().file_name().unwrap());
                // If no database is certain, there is none.
                if !repaired.exists() {
                    continue;
                }
                let store = store_of(&fixture, &repaired);
                let ours = dumped(&store);
                agree(
                    &ours,
                    &shown(chromium, &store),
                    &format!("{name}, seed {seed}"),
                );
                stores += 1;
                certain += records(&ours);
                of += all;
            }
        }
        assert!(certain > 5000, "{certain} of {of} records");
        println!("{stores} repaired stores agreed, {certain} of {of} records");
    });
}

#[test]
fn compacted_and_cleaned_golden_stores_are_the_same_to_chromium() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let (mut stores, mut all) = (0, 0);
        for fixture in larder_fixtures::varied() {
            if fixture.name == NOT_MIGRATED_BY_CHROMIUM {
                continue;
            }
            let changed = fixture.copy();
            for command in ["compact", "clean"] {
                let done = larder(&[command.as_ref(), changed.leveldb().as_os_str()]);
                assert_eq!(done, Some(0), "{command}: {}", fixture.name);
            }
            let theirs = shown_golden(chromium, &fixture);
            let after = shown(chromium, &store_of(&fixture, &changed.leveldb()));
            agree(&after, theirs, &fixture.name);
            stores += 1;
            all += records(theirs);
        }
        assert!(stores > 8 && all > 1_000, "{stores} stores, {all} records");
        println!("{stores} maintained stores agreed, {all} records");
    });
}
