//! `larder dump --format jsonl` of a 500 MB store, beside `dfindexeddb` if that is on PATH (`pip install dfindexeddb`).
//!
//! ```text
//! cargo bench -p larder --bench dump
//! LARDER_BENCH_STORE=DIR   an existing *.indexeddb.leveldb folder instead of a generated one
//! LARDER_BENCH_MB=500      size of the generated one
//! LARDER_BENCH_PICTURES=1  records whose values can hardly be packed
//! LARDER_BENCH_RUNS=5      runs of larder; of dfindexeddb, which takes minutes, one
//! ```
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark prints, and stops on trouble"
)]
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "figures for people, made-up data"
)]

#[path = "support/generate.rs"]
mod generate;
#[path = "support/measure.rs"]
mod measure;

use std::path::{Path, PathBuf};

use larder_backing_store::StorePaths;
use larder_leveldb::storage::{DiskFileSystem, FileSystem};
use measure::Measured;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments
        .first()
        .is_some_and(|first| first == measure::MEASURE)
    {
        return measure::measure_one(&arguments[1..]);
    }
    let megabytes = number("LARDER_BENCH_MB", 500);
    let runs = number("LARDER_BENCH_RUNS", 5);
    let fs = DiskFileSystem::new();
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let store = std::env::var_os("LARDER_BENCH_STORE").map_or_else(
        || {
            let store = temporary
                .path()
                .join("http_127.0.0.1_8000.indexeddb.leveldb");
            let values = generate::Values::asked();
            let generated = generate::generate(&fs, &store, megabytes << 20, values);
            let records = generated.expect("the store");
            // dfindexeddb insists on it.
            fs.create_dir(&StorePaths::of_leveldb(&store).blob)
                .expect("the blob folder");
            println!("generated {records} records");
            store
        },
        PathBuf::from,
    );
    let store_bytes = size(&fs, &store);
    println!("store of {:.1} MB", store_bytes as f64 / 1e6);
    let text = store.display().to_string();
    let larder = ["larder", "dump", &text, "--format", "jsonl", "--quiet"].map(str::to_owned);
    let mut larder = larder.to_vec();
    env!("CARGO_BIN_EXE_larder").clone_into(&mut larder[0]);
    let ours: Vec<Measured> = (0..runs).map(|_| measure::run(&larder)).collect();
    let ours = report("larder dump --format jsonl", &ours, store_bytes);
    let peer = [
        "dfindexeddb",
        "db",
        "-s",
        &text,
        "--format",
        "chrome",
        "-o",
        "jsonl",
    ]
    .map(str::to_owned);
    let on_path = std::process::Command::new("dfindexeddb")
        .arg("--help")
        .output()
        .is_ok();
    if !on_path {
        println!("dfindexeddb is not on PATH: no comparison");
        return;
    }
    let theirs = report(
        "dfindexeddb db -o jsonl",
        &[measure::run(&peer)],
        store_bytes,
    );
    let ratio = |ours: std::time::Duration, theirs: std::time::Duration| {
        theirs.as_secs_f64() / ours.as_secs_f64()
    };
    println!(
        "dfindexeddb / larder: wall {:.0}x, CPU {:.0}x",
        ratio(ours.wall, theirs.wall),
        ratio(ours.cpu, theirs.cpu)
    );
}

/// Prints the medians and returns them.
fn report(name: &str, runs: &[Measured], store_bytes: u64) -> Measured {
    let median = |mut values: Vec<std::time::Duration>| {
        values.sort_unstable();
        values[values.len() / 2]
    };
    let result = Measured {
        wall: median(runs.iter().map(|run| run.wall).collect()),
        cpu: median(runs.iter().map(|run| run.cpu).collect()),
        peak_bytes: runs.iter().map(|run| run.peak_bytes).max().unwrap_or(0),
        ok: runs.iter().all(|run| run.ok),
    };
    println!(
        "{name}: wall {:.2} s, CPU {:.2} s, {:.1} MB/s, peak memory {:.1} MiB, {} runs{}",
        result.wall.as_secs_f64(),
        result.cpu.as_secs_f64(),
        store_bytes as f64 / 1e6 / result.wall.as_secs_f64(),
        result.peak_bytes as f64 / f64::from(1 << 20),
        runs.len(),
        if result.ok { "" } else { ", FAILED" },
    );
    result
}

fn size(fs: &DiskFileSystem, dir: &Path) -> u64 {
    let names = fs.list(dir).expect("the store");
    names
        .iter()
        .filter_map(|name| fs.metadata(&dir.join(name)).ok())
        .map(|metadata| metadata.len_bytes)
        .sum()
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}
