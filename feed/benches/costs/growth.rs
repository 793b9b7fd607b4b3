//! What a feed costs as it grows: a table, and a plot.
//!
//! Records of 100 bytes are put in ascending order, 100 to a transaction, into a store on the disk, which is closed and opened again before its
//! feed is read. Caches are as they are by default.

use std::path::Path;

use larder_feed::ReadOptions;
use larder_fixtures::random::Random;
use larder_idb::{Executor, StorageOptions};

use super::plot::{self, Line};
use super::{Database, ROUND_LEN, cpu, median};

const REVISIONS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
/// How often one is looked up, and the last ones are read.
const LOOKUPS: u32 = 201;
const LAST: u64 = 100;
const NAMES: [&str; 4] = [
    "put",
    "replay, each revision",
    "the last 100 revisions, each",
    "a revision by its number, with its value, / 10",
];

/// Megabytes of memory that the process has now.
fn memory_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0.0) / 1e3
}

/// Prints the table, and draws the plot if that is wanted.
pub(crate) fn run(svg: Option<&Path>) {
    println!(
        "microseconds of processor time\n| revisions | put without a feed | {} | ms to open | MB more in memory after replay |",
        NAMES.join(" | ")
    );
    println!("|---|---|{}---|---|", "---|".repeat(NAMES.len()));
    let mut costs: [Vec<f64>; NAMES.len()] = Default::default();
    let mut without_feed = Vec::new();
    for revisions in REVISIONS {
        let untracked = put_all(revisions, false).1;
        let (of, open_ms, memory) = measure(revisions);
        let cells: Vec<String> = of.iter().map(|cost| format!("{cost:.2}")).collect();
        println!(
            "| {revisions} | {untracked:.2} | {} | {open_ms:.1} | {memory:.1} |",
            cells.join(" | ")
        );
        without_feed.push(untracked);
        for (all, cost) in costs.iter_mut().zip(of) {
            all.push(cost);
        }
    }
    let Some(path) = svg else {
        return;
    };
    let mut beside = vec![without_feed];
    let lines = NAMES.into_iter().zip(costs).map(|(name, costs)| Line {
        name,
        costs,
        beside: beside.pop().unwrap_or_default(),
    });
    let titles = [
        "CPU time of what a change feed does by revisions in it (100-byte values, no index)",
        "microseconds; dashed: a put without a feed",
    ];
    plot::write(path, titles, &REVISIONS, &Vec::from_iter(lines));
}

fn options(dir: &Path) -> StorageOptions {
    let mut options = StorageOptions::on_disk(dir);
    options.executor = Executor::Driven { seed: None };
    options
}

/// A store with so many records, closed; and microseconds for a put.
fn put_all(records: u64, is_tracked: bool) -> (tempfile::TempDir, f64) {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::with(options(dir.path()), is_tracked, false);
    let starts = (0..records as u32).step_by(ROUND_LEN as usize);
    let costs = starts.map(|start| database.put(start..start + ROUND_LEN, 0, 100) / 1e3);
    let costs: Vec<f64> = costs.collect();
    database.storage.close().unwrap();
    (dir, costs.iter().sum::<f64>() / costs.len() as f64)
}

fn micros(work: impl FnOnce()) -> f64 {
    let begun = cpu();
    work();
    (cpu() - begun).as_secs_f64() * 1e6
}

/// Microseconds for each operation, milliseconds to open, and the memory that replay takes.
fn measure(revisions: u64) -> ([f64; NAMES.len()], f64, f64) {
    let (dir, put) = put_all(revisions, true);
    let mut opened = None;
    let opening = micros(|| opened = Some(Database::with(options(dir.path()), true, false)));
    let database = opened.unwrap();
    let feed = database.feed();
    let memory = memory_mb();
    let replay = micros(|| {
        let mut reader = feed.read_from(0, ReadOptions::new());
        let mut read = 0;
        while let Some(batch) = database.wait(reader.next()).unwrap() {
            read += batch.revisions().len() as u64;
        }
        assert_eq!(read, revisions);
    });
    let more = (memory_mb() - memory).max(0.0);
    let mut random = Random::new(1);
    let one = (0..LOOKUPS).map(|_| {
        let number = 1 + random.below(revisions);
        micros(|| assert!(database.wait(feed.revision(number)).unwrap().is_some()))
    });
    let one = median(one.collect());
    let last = (0..LOOKUPS).map(|_| {
        micros(|| {
            let mut reader = feed.read_from(revisions - LAST, ReadOptions::new());
            let batch = database.wait(reader.next()).unwrap();
            assert_eq!(batch.unwrap().revisions().len() as u64, LAST);
        })
    });
    let last = median(last.collect());
    let each = [
        put,
        replay / revisions as f64,
        last / LAST as f64,
        one / 10.0,
    ];
    (each, opening / 1e3, more)
}
