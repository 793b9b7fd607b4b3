//! Writing, against C++ LevelDB with the same operations and options: paired runs, medians of CPU and wall time, and the
//! longest single write.
//!
//! `cargo bench -p larder-leveldb --bench fill [-- RUNS]`. Needs g++ and libleveldb-dev; says so and ends without them. Each
//! run is a process of its own, ours and theirs by turns, on an empty directory.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that measures and prints"
)]

use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Durability, Options};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

/// Longest write, wall and CPU nanoseconds.
type Measured = [u64; 3];

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    if let [order, dir, count, value_len, batch_len] = &args[..] {
        let measured = measure(
            order,
            Path::new(dir),
            count.parse().unwrap(),
            value_len.parse().unwrap(),
            batch_len.parse().unwrap(),
        );
        println!("{} {} {}", measured[0], measured[1], measured[2]);
        return;
    }
    let runs = args.first().and_then(|runs| runs.parse().ok()).unwrap_or(5);
    let scratch = tempfile::tempdir().unwrap();
    let Some(peer) = build_peer(scratch.path()) else {
        return;
    };
    println!(
        "{:10} {:>8} {:>6} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>6}",
        "order",
        "rows",
        "bytes",
        "batch",
        "cpu ms",
        "C++ cpu",
        "wall ms",
        "C++ wall",
        "longest",
        "C++",
        "cpu x",
        "wall x"
    );
    for (count, value_len) in [(500_000, 100), (150_000, 1024)] {
        for order in ["seq", "random", "overwrite"] {
            for batch_len in [1, 100, 1000] {
                compare(
                    &peer,
                    scratch.path(),
                    order,
                    [count, value_len, batch_len],
                    runs,
                );
            }
        }
    }
}

fn build_peer(scratch: &Path) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = scratch.join("fill");
    let built = Command::new("g++")
        .args(["-O2", "-std=c++17", "-o"])
        .arg(&program)
        .arg(here.join("benches/peer/fill.cc"))
        .args(["-lleveldb", "-lpthread"])
        .output();
    match built {
        Ok(output) if output.status.success() => Some(program),
        other => {
            println!("no C++ LevelDB to compare with (install g++, libleveldb-dev): {other:?}");
            None
        }
    }
}

fn run(program: &Path, order: &str, scratch: &Path, numbers: [u64; 3]) -> Measured {
    let dir = tempfile::tempdir_in(scratch).unwrap();
    let store = dir.path().join("store");
    let output = Command::new(program)
        .arg(order)
        .arg(&store)
        .args(numbers.map(|number| number.to_string()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u64> = text
        .split_whitespace()
        .map(|number| number.parse().unwrap())
        .collect();
    numbers.try_into().unwrap()
}

fn compare(peer: &Path, scratch: &Path, order: &str, numbers: [u64; 3], runs: usize) {
    let this = std::env::current_exe().unwrap();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        ours.push(run(&this, order, scratch, numbers));
        theirs.push(run(peer, order, scratch, numbers));
    }
    let median = |measured: &[Measured], i: usize| {
        let mut values: Vec<u64> = measured.iter().map(|measured| measured[i]).collect();
        values.sort_unstable();
        values[values.len() / 2] as f64 / 1e6
    };
    let [count, value_len, batch_len] = numbers;
    let (cpu, their_cpu) = (median(&ours, 2), median(&theirs, 2));
    let (wall, their_wall) = (median(&ours, 1), median(&theirs, 1));
    let (longest, their_longest) = (median(&ours, 0), median(&theirs, 0));
    let (cpu_ratio, wall_ratio) = (cpu / their_cpu, wall / their_wall);
    println!(
        "{order:10} {count:8} {value_len:6} {batch_len:6} {cpu:9.1} {their_cpu:9.1} {wall:9.1} {their_wall:9.1} {longest:9.2} {their_longest:9.2} {cpu_ratio:6.2} {wall_ratio:6.2}"
    );
}

fn next(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Values are cut from it; it packs to about one half.
fn pool() -> Vec<u8> {
    let (mut state, mut bytes) = (1, Vec::new());
    while bytes.len() < 1 << 20 {
        let piece: Vec<u8> = (0..16)
            .map(|_| b' ' + (next(&mut state) % 95) as u8)
            .collect();
        bytes.extend([&piece[..], &piece[..]].concat());
    }
    bytes
}

/// Our side of `fill.cc`.
#[expect(clippy::disallowed_methods, reason = "measures time")]
fn measure(order: &str, dir: &Path, count: u64, value_len: usize, batch_len: u64) -> Measured {
    let values = pool();
    let mut state = 1;
    let mut longest = 0;
    let (wall, cpu) = (Instant::now(), cpu_nanoseconds());
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(Arc::new(DiskFileSystem::new()), dir, options).unwrap();
    let total = if order == "overwrite" {
        2 * count
    } else {
        count
    };
    let mut batch = BatchWriter::new();
    let mut key = Vec::new();
    for i in (0..total).step_by(batch_len as usize) {
        for j in i..total.min(i + batch_len) {
            let n = if order == "seq" {
                j
            } else {
                next(&mut state) % count
            };
            key.clear();
            write!(key, "{n:016}").unwrap();
            let at = (j * 131) as usize % (values.len() - value_len);
            batch.put(&key, &values[at..at + value_len]);
        }
        let before = Instant::now();
        db.write(&mut batch, Durability::Relaxed).unwrap();
        longest = longest.max(before.elapsed().as_nanos() as u64);
    }
    if order == "overwrite" {
        db.compact_range(None, None).unwrap();
    }
    db.close().unwrap();
    [
        longest,
        wall.elapsed().as_nanos() as u64,
        cpu_nanoseconds() - cpu,
    ]
}

fn cpu_nanoseconds() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
