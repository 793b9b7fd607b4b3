//! Harmed stores repaired by others: for `docs/measurements.md`, and so that no other recovers more.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use larder_fixtures::OpenFixture;
use larder_fixtures::canonical::{comparable, with_large_stack};
use serde_json::Value;

use super::harms::{dumped, harmed, judged, records, shown};
use super::{repair, repaired};
use crate::support::{larder, stderr};

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

/// The rows with values of records in a LevelDB folder: what is stored, by key, both in hexadecimal.
type Rows = HashMap<String, String>;

/// Those of a golden store as its browser saw them: a copy has no rows of the undo log, and none that recovery takes back.
fn rows_of_records(source: &OpenFixture) -> Rows {
    let to = tempfile::tempdir().unwrap();
    let (from, dir) = (source.leveldb(), to.path().join("copy"));
    let copied = larder(["copy".as_ref(), from.as_os_str(), dir.as_os_str()]);
    assert!(copied.status.success(), "{}", stderr(&copied));
    let listed = larder([
        "rows".as_ref(),
        dir.as_os_str(),
        "--json".as_ref(),
        "--hex".as_ref(),
    ]);
    assert!(listed.status.success(), "{}", stderr(&listed));
    let lines = listed.stdout.split(|byte| *byte == b'\n');
    let rows = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let hex = |row: &Value, what: &str| row[what].as_str().unwrap().to_owned();
    rows.filter(|row| row["class"] == "data")
        .map(|row| (hex(&row, "key_hex"), hex(&row, "value_hex")))
        .collect()
}

/// How many of a golden store's rows another's reader finds in the harmed one as they were, and how many otherwise.
fn found_by(python: &OsStr, reader: &str, harmed: &OpenFixture, truth: &Rows) -> (usize, usize) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/readers.py");
    let output = Command::new(python)
        .arg(script)
        .arg(reader)
        .arg(harmed.leveldb())
        .output()
        .unwrap();
    assert!(output.status.success(), "{reader}: {}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let found = text.lines().filter_map(|line| line.split_once(' '));
    let of_records = found.filter_map(|(key, value)| Some((truth.get(key)?, value)));
    let (right, wrong): (Vec<_>, Vec<_>) = of_records.partition(|(own, value)| own == value);
    (right.len(), wrong.len())
}

/// `LARDER_PEER_HARMS=50` tries so many harms to each of six stores (3 in the default run). `LARDER_PEER_PYTHON` is a Python that has
/// dfindexeddb and `ccl_chromium_reader`: then these read the same.
#[test]
fn no_fewer_records_come_back_than_others_bring_back() {
    let harms = std::env::var("LARDER_PEER_HARMS").map_or(3, |text| text.parse().unwrap());
    let python = std::env::var_os("LARDER_PEER_PYTHON");
    let readers: &[&str] = match python {
        Some(_) => &["dfindexeddb", "ccl_chromium_reader"],
        None => &[],
    };
    with_large_stack(move || {
        let Some(oracle) = oracle() else {
            return;
        };
        let (mut certain, mut all) = (0, 0);
        // RepairDB is the first of the others.
        let (mut ours, mut theirs) = ((0, 0), vec![(0, 0); 1 + readers.len()]);
        for name in STORES {
            let fixture = larder_fixtures::get(name);
            let truth = shown(&comparable(&fixture.expected()));
            let rows = match readers {
                [] => Rows::new(),
                _ => rows_of_records(&fixture.copy()),
            };
            for seed in 1..=harms {
                let (source, harm) = harmed(&fixture, seed);
                let to = tempfile::tempdir().unwrap();
                let dir = to.path().join("out");
                repair(&source.leveldb(), &dir, &[]);
                let of_certain = judged(&dumped(&repaired(&source, &dir)), &truth).0;
                let dir = to.path().join("all");
                repair(&source.leveldb(), &dir, &["--with-doubtful"]);
                let (right, wrong) = judged(&dumped(&repaired(&source, &dir)), &truth);
                certain += of_certain;
                ours = (ours.0 + right, ours.1 + wrong);
                let mut one = vec![(0, 0)];
                for reader in readers {
                    let python = python.as_deref().unwrap();
                    one.push(found_by(python, reader, &source, &rows));
                }
                // It may fail; what it has left is looked at all the same.
                let done = Command::new(&oracle)
                    .args([
                        "repair".as_ref(),
                        source.leveldb().as_os_str(),
                        "idb".as_ref(),
                    ])
                    .output()
                    .unwrap();
                if done.status.success() {
                    one[0] = judged(&dumped(&source.leveldb()), &truth);
                }
                if std::env::var_os("LARDER_LIST").is_some() {
                    println!(
                        "{name} seed {seed}: {of_certain} certain, {right} right, {wrong} wrong; others {one:?}: {harm}"
                    );
                }
                for (sum, one) in theirs.iter_mut().zip(one) {
                    *sum = (sum.0 + one.0, sum.1 + one.1);
                }
                all += records(&truth);
            }
        }
        println!(
            "of {all} records: certain {certain}, with the doubtful right {} and wrong {}",
            ours.0, ours.1
        );
        for (name, sum) in ["RepairDB"].iter().chain(readers).zip(&theirs) {
            println!("{name} right {} and wrong {}", sum.0, sum.1);
            assert!(ours.0 >= sum.0, "{name} has brought more back");
        }
    });
}
