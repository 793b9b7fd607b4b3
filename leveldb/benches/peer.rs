//! Reading, against C++ LevelDB on the same stores: paired runs, medians of wall and CPU time.
//!
//! `cargo bench -p larder-leveldb --bench peer [-- RUNS]`. Needs g++, libleveldb-dev and libsnappy-dev; says so and ends
//! without them. Each run is a process of its own, ours and theirs by turns; the first pair warms the page cache and does
//! not count.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that measures and prints"
)]

#[path = "../tests/it/idb_like.rs"]
mod idb_like;

use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::{Db, Options};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

/// One measurement: rows, bytes, wall and CPU nanoseconds.
type Measured = [u64; 4];

const STORES: [(&str, u64, usize); 4] = [
    ("flat", 1_000_000, 100),
    ("flat", 150_000, 1024),
    ("idb", 1_000_000, 40),
    ("idb", 150_000, 1024),
];

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    if let [mode, dir, kind, count] = &args[..] {
        measure(mode, Path::new(dir), kind, count.parse().unwrap());
        return;
    }
    let runs = args.first().and_then(|runs| runs.parse().ok()).unwrap_or(9);
    let scratch = tempfile::tempdir().unwrap();
    let Some(peer) = build_peer(scratch.path()) else {
        return;
    };
    println!(
        "{:24} {:8} {:>10} {:>10} {:>10} {:>10} {:>6} {:>6}",
        "store", "mode", "cpu ms", "C++ cpu", "wall ms", "C++ wall", "cpu x", "wall x"
    );
    for (kind, count, value_len) in STORES {
        let dir = scratch.path().join(format!("{kind}-{value_len}"));
        let fill = [
            "fill",
            dir.to_str().unwrap(),
            &count.to_string(),
            &value_len.to_string(),
            kind,
        ];
        assert!(Command::new(&peer).args(fill).status().unwrap().success());
        for mode in ["scan", "reverse", "seek", "get"] {
            for verify in ["0", "1"] {
                compare(&peer, mode, &dir, kind, count, verify, runs);
            }
        }
        remove_dir(&dir);
    }
}

#[expect(clippy::disallowed_methods, reason = "cleans up")]
fn remove_dir(dir: &Path) {
    std::fs::remove_dir_all(dir).unwrap();
}

fn build_peer(scratch: &Path) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = scratch.join("peer");
    let built = Command::new("g++")
        .args(["-O2", "-std=c++17", "-I"])
        .arg(here.join("tests/oracle"))
        .arg("-o")
        .arg(&program)
        .arg(here.join("benches/peer/peer.cc"))
        .args(["-lleveldb", "-lpthread"])
        .output();
    match built {
        Ok(output) if output.status.success() => Some(program),
        other => {
            println!(
                "no C++ LevelDB to compare with (install g++, libleveldb-dev, libsnappy-dev): {other:?}"
            );
            None
        }
    }
}

fn run(command: &mut Command) -> Measured {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u64> = text
        .split_whitespace()
        .map(|number| number.parse().unwrap())
        .collect();
    numbers.try_into().unwrap()
}

fn compare(peer: &Path, mode: &str, dir: &Path, kind: &str, count: u64, verify: &str, runs: usize) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let this = std::env::current_exe().unwrap();
    for i in 0..=runs {
        let a =
            run(Command::new(&this).args([mode, dir.to_str().unwrap(), kind, &count.to_string()]));
        let b = run(Command::new(peer).args([
            mode,
            dir.to_str().unwrap(),
            kind,
            verify,
            &count.to_string(),
        ]));
        assert_eq!(a[..2], b[..2], "both read the same");
        if i > 0 {
            ours.push(a);
            theirs.push(b);
        }
    }
    let median = |measured: &[Measured], i: usize| {
        let mut values: Vec<u64> = measured.iter().map(|measured| measured[i]).collect();
        values.sort_unstable();
        values[values.len() / 2] as f64 / 1e6
    };
    let (cpu, their_cpu) = (median(&ours, 3), median(&theirs, 3));
    let (wall, their_wall) = (median(&ours, 2), median(&theirs, 2));
    let store = dir.file_name().unwrap().to_string_lossy();
    let mode = format!("{mode}{}", if verify == "1" { "+sum" } else { "" });
    let (cpu_ratio, wall_ratio) = (cpu / their_cpu, wall / their_wall);
    println!(
        "{store:24} {mode:12} {cpu:10.1} {their_cpu:10.1} {wall:10.1} {their_wall:10.1} {cpu_ratio:6.2} {wall_ratio:6.2}"
    );
}

fn key_of(i: u64, kind: &str) -> Vec<u8> {
    match kind {
        "idb" => [&[0, 1, 1, 1, 3], &(i as f64).to_le_bytes()[..]].concat(),
        _ => format!("{i:016}").into_bytes(),
    }
}

/// Our side of `peer.cc`.
#[expect(clippy::disallowed_methods, reason = "measures time")]
fn measure(mode: &str, dir: &Path, kind: &str, count: u64) {
    let options = match kind {
        "idb" => Options::new(Arc::new(idb_like::IdbLike)),
        _ => Options::default(),
    };
    let db = Db::open_read_only(Arc::new(DiskFileSystem::new()), dir, options).unwrap();
    let snapshot = db.snapshot();
    let (wall, cpu) = (Instant::now(), cpu_nanoseconds());
    let (mut rows, mut bytes) = (0u64, 0u64);
    let mut add = |key: &[u8], value: &[u8]| {
        rows += 1;
        bytes +=
            (key.len() + value.len()) as u64 + value.last().map_or(0, |byte| u64::from(byte & 1));
    };
    let mut iter = snapshot.iter();
    match mode {
        "scan" => {
            iter.seek_to_first().unwrap();
            while iter.valid() {
                add(iter.key(), iter.value().unwrap());
                iter.next().unwrap();
            }
        }
        "reverse" => {
            iter.seek_to_last().unwrap();
            while iter.valid() {
                add(iter.key(), iter.value().unwrap());
                iter.prev().unwrap();
            }
        }
        _ => {
            let mut state = 1u64;
            let mut value = Vec::new();
            for _ in 0..100_000 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let key = key_of((state >> 33) % count, kind);
                if mode == "seek" {
                    iter.seek(&key).unwrap();
                    let mut steps = 0;
                    while iter.valid() && steps < 10 {
                        add(iter.key(), iter.value().unwrap());
                        iter.next().unwrap();
                        steps += 1;
                    }
                } else if snapshot.get_into(&key, &mut value).unwrap() {
                    add(&key, &value);
                }
            }
        }
    }
    let (wall, cpu) = (wall.elapsed().as_nanos(), cpu_nanoseconds() - cpu);
    println!("{rows} {bytes} {wall} {cpu}");
}

fn cpu_nanoseconds() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
