//! Harmed stores repaired by others: for `docs/measurements.md`, and so that no other recovers more.

use std::path::{Path, PathBuf};
use std::process::Command;

use larder_fixtures::canonical::{comparable, with_large_stack};

use super::harms::{dumped, harmed, judged, records, shown};
use super::{repair, repaired};

/// C++ `LevelDB`'s `RepairDB` in the oracle of the engine's tests; `None`, with a word about it, where it cannot be built.
#[expect(clippy::print_stdout, reason = "CI shows what was skipped")]
fn oracle() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../leveldb/tests/oracle/oracle.cc");
    let name = format!("repair-oracle-{}", std::process::id());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let built = Command::new("g++")
        .args(["-O2", "-std=c++17", "-o"])
        .args([&program, &source])
        .args(["-lleveldb", "-lpthread"])
        .output();
    if built.is_ok_and(|output| output.status.success()) {
        return Some(program);
    }
    let message = "SKIPPED: no C++ LevelDB to compare with (install g++, libleveldb-dev)";
    let must = std::env::var_os("LARDER_REQUIRE_PEERS").is_some_and(|value| value == "1");
    assert!(!must, "{message}");
    println!("{message}");
    None
}

const STORES: [&str; 6] = [
    "c156-killed-blob",
    "c156-killed-spill",
    "c110-lite",
    "c131-lite",
    "c92-killed-commit",
    "c83-lite",
];

/// `LARDER_PEER_HARMS=50` tries so many harms to each of six stores (3 in the default run).
#[test]
fn no_fewer_records_come_back_than_repairdb_brings_back() {
    let harms = std::env::var("LARDER_PEER_HARMS").map_or(3, |text| text.parse().unwrap());
    with_large_stack(move || {
        let Some(oracle) = oracle() else {
            return;
        };
        let (mut ours, mut theirs, mut all) = ([0; 3], [0; 2], 0);
        for name in STORES {
            let fixture = larder_fixtures::get(name);
            let truth = shown(&comparable(&fixture.expected()));
            for seed in 1..=harms {
                let (source, _) = harmed(&fixture, seed);
                let to = tempfile::tempdir().unwrap();
                let dir = to.path().join("out");
                repair(&source.leveldb(), &dir, &[]);
                ours[0] += judged(&dumped(&repaired(&source, &dir)), &truth).0;
                let dir = to.path().join("all");
                repair(&source.leveldb(), &dir, &["--with-doubtful"]);
                let (right, wrong) = judged(&dumped(&repaired(&source, &dir)), &truth);
                ours[1] += right;
                ours[2] += wrong;
                // It may fail; what it has left is looked at all the same.
                let done = Command::new(&oracle)
                    .args([
                        "repair".as_ref(),
                        source.leveldb().as_os_str(),
                        "idb".as_ref(),
                    ])
                    .output()
                    .unwrap();
                let after = match done.status.success() {
                    true => judged(&dumped(&source.leveldb()), &truth),
                    false => (0, 0),
                };
                theirs[0] += after.0;
                theirs[1] += after.1;
                all += records(&truth);
            }
        }
        println!(
            "of {all} records: certain {}, with the doubtful right {} and wrong {}; RepairDB right {} and wrong {}",
            ours[0], ours[1], ours[2], theirs[0], theirs[1]
        );
        assert!(ours[1] >= theirs[0], "RepairDB has brought more back");
    });
}
