//! The engine against C++ LevelDB, with the same operations on the same options (snappy, Bloom filter of 10 bits, 4 MiB
//! write buffer, 8 MiB block cache): every line with its goal.
//!
//! `cargo bench -p larder-leveldb --bench engine [-- SECTION... runs=N]`, where a section is one of write, read, open,
//! threads; all without one. `ENGINE_BENCH_QUICK=1` takes a tenth of the rows and one run. Each run is a process of its own, ours
//! and theirs by turns; ratios are medians of the pairs'. CPU time is the process's: background work is waited for and
//! counted on both sides.
//!
//! `... -- growth [SVG]` measures stores of 10,000 to 10,000,000 rows and draws the plot.
//!
//! Needs g++, libleveldb-dev and libsnappy-dev; says so and ends without them.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that measures and prints"
)]

mod growth;
#[path = "../../tests/it/idb_like.rs"]
mod idb_like;
mod ours;
mod plot;
mod run;

use run::{Job, Pair, Runs, Shape, ratio};
use std::path::Path;

const SHAPES: [Shape; 2] = [("flat", 500_000, 100), ("flat", 150_000, 1024)];
const IDB_SHAPES: [Shape; 2] = [("idb", 500_000, 100), ("idb", 150_000, 1024)];

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    if let Some(job) = Job::parse(&args) {
        let m = ours::run(&job);
        println!(
            "{} {} {} {} {} {}",
            m.longest, m.wall, m.cpu, m.peak, m.rows, m.bytes
        );
        return;
    }
    let quick = std::env::var_os("ENGINE_BENCH_QUICK").is_some();
    let runs = args.iter().find_map(|arg| arg.strip_prefix("runs="));
    let default_runs = if quick { 1 } else { 5 };
    let runs = runs.and_then(|n| n.parse().ok()).unwrap_or(default_runs);
    let scratch = tempfile::tempdir().unwrap();
    let Some(pair) = Pair::build(scratch.path(), runs) else {
        return;
    };
    let divide = if quick { 10 } else { 1 };
    let sections: Vec<&String> = args.iter().filter(|arg| !arg.contains('=')).collect();
    if sections.first().is_some_and(|section| *section == "growth") {
        growth::run(&pair, sections.get(1).map(Path::new), divide);
        return;
    }
    let wanted =
        |name: &str| sections.is_empty() || sections.iter().any(|section| *section == name);
    if wanted("write") {
        writes(&pair, divide);
    }
    if wanted("read") {
        reads(&pair, divide);
    }
    if wanted("threads") {
        threads(&pair, divide);
    }
    if wanted("open") {
        opens(&pair, divide);
    }
}

fn smaller((kind, count, value_len): Shape, divide: u64) -> Shape {
    (kind, count / divide, value_len)
}

fn verdict(ratio: f64, goal: f64) -> &'static str {
    if ratio <= goal { "" } else { "  above" }
}

fn writes(pair: &Pair, divide: u64) {
    println!(
        "\n{:10} {:>8} {:>6} {:>6} {:>8} {:>8} {:>6} {:>5} {:>7} {:>8} {:>8} {:>8} {:>8}",
        "write",
        "rows",
        "bytes",
        "batch",
        "cpu ms",
        "C++",
        "ratio",
        "goal",
        "wall x",
        "longest",
        "C++ ms",
        "peak MiB",
        "C++"
    );
    for shape in SHAPES.map(|shape| smaller(shape, divide)) {
        for mode in ["seq", "random", "overwrite"] {
            for batch_len in [1, 100, 1000] {
                let mut job = Job::new(mode, Path::new(""), shape);
                job.extra = batch_len;
                let both = pair.alternate(&job, true);
                let (ours, theirs) = &both;
                let cpu = ratio(&both, |m| m.cpu);
                println!(
                    "{mode:10} {:8} {:6} {batch_len:6} {:8.1} {:8.1} {cpu:6.2} {:>5} {:7.2} {:8.2} {:8.2} {:8.1} {:8.1}{}",
                    shape.1,
                    shape.2,
                    ours.median(|m| m.cpu) / 1e6,
                    theirs.median(|m| m.cpu) / 1e6,
                    "0.9",
                    ratio(&both, |m| m.wall),
                    ours.median(|m| m.longest) / 1e6,
                    theirs.median(|m| m.longest) / 1e6,
                    ours.median(|m| m.peak) / f64::from(1 << 20),
                    theirs.median(|m| m.peak) / f64::from(1 << 20),
                    verdict(cpu, 0.9)
                );
            }
        }
    }
}

/// A store that C++ LevelDB has made.
fn load(pair: &Pair, shape: Shape) -> tempfile::TempDir {
    let dir = tempfile::tempdir_in(&pair.scratch).unwrap();
    pair.theirs(&Job::new("load", &dir.path().join("store"), shape));
    dir
}

fn reads(pair: &Pair, divide: u64) {
    println!(
        "\n{:8} {:5} {:>8} {:>6} {:>8} {:>8} {:>6} {:>5} {:>10} {:>8} {:>8}",
        "read",
        "keys",
        "rows",
        "bytes",
        "cpu ms",
        "C++",
        "ratio",
        "goal",
        "unverified",
        "peak MiB",
        "C++"
    );
    let shapes = SHAPES.into_iter().chain(IDB_SHAPES);
    for shape in shapes.map(|shape| smaller(shape, divide)) {
        let dir = load(pair, shape);
        let goals = [
            ("get", 0.8),
            ("miss", 0.7),
            ("seek", 0.8),
            ("scan", 0.7),
            ("reverse", 0.7),
        ];
        for (mode, goal) in goals {
            read(pair, &dir.path().join("store"), shape, mode, goal);
        }
    }
}

fn read(pair: &Pair, store: &Path, shape: Shape, mode: &str, goal: f64) {
    let mut job = Job::new(mode, store, shape);
    job.extra = 200_000.min(shape.1);
    // Warms the page cache.
    pair.ours(&job);
    let both = pair.alternate(&job, false);
    let (ours, theirs) = &both;
    assert_eq!(
        (ours.0[0].rows, ours.0[0].bytes),
        (theirs.0[0].rows, theirs.0[0].bytes),
        "both read the same"
    );
    job.verify = false;
    let unverified = ratio(&pair.alternate(&job, false), |m| m.cpu);
    let cpu = ratio(&both, |m| m.cpu);
    println!(
        "{mode:8} {:5} {:8} {:6} {:8.1} {:8.1} {cpu:6.2} {goal:5} {unverified:10.2} {:8.1} {:8.1}{}",
        shape.0,
        shape.1,
        shape.2,
        ours.median(|m| m.cpu) / 1e6,
        theirs.median(|m| m.cpu) / 1e6,
        ours.median(|m| m.peak) / f64::from(1 << 20),
        theirs.median(|m| m.peak) / f64::from(1 << 20),
        verdict(cpu, goal)
    );
}

/// Rows in a nanosecond of `of`.
fn speed(runs: &Runs, of: impl Fn(&run::Measured) -> u64) -> f64 {
    let mut speeds: Vec<f64> = runs
        .0
        .iter()
        .map(|m| m.rows as f64 / of(m) as f64)
        .collect();
    speeds.sort_by(f64::total_cmp);
    speeds[speeds.len() / 2]
}

fn threads(pair: &Pair, divide: u64) {
    println!(
        "\n{:34} {:>6} {:>6} {:>6} {:>6} {:>6}",
        "threads (speed, of wall or CPU time)", "wall", "goal", "CPU", "C++", "C++ CPU"
    );
    let shape = smaller(SHAPES[0], divide);
    let lines = [
        ("two readers / one", "readers", [1, 2], 1.8),
        ("reader beside a writer / alone", "beside", [0, 1], 0.7),
    ];
    for (what, mode, extras, goal) in lines {
        let dir = load(pair, shape);
        let jobs = extras.map(|extra| Job {
            extra,
            ..Job::new(mode, &dir.path().join("store"), shape)
        });
        let mut runs: [(Vec<_>, Vec<_>); 2] = Default::default();
        for _ in 0..pair.runs {
            for (job, (ours, theirs)) in jobs.iter().zip(&mut runs) {
                ours.push(pair.ours(job));
                theirs.push(pair.theirs(job));
            }
        }
        let [few, many] = runs.map(|(ours, theirs)| (Runs(ours), Runs(theirs)));
        let wall = |m: &run::Measured| m.wall;
        let cpu = |m: &run::Measured| m.cpu;
        let ours = speed(&many.0, wall) / speed(&few.0, wall);
        println!(
            "{what:34} {ours:6.2} {goal:6} {:6.2} {:6.2} {:6.2}{}",
            speed(&many.0, cpu) / speed(&few.0, cpu),
            speed(&many.1, wall) / speed(&few.1, wall),
            speed(&many.1, cpu) / speed(&few.1, cpu),
            if ours < goal { "  below" } else { "" }
        );
    }
}

fn opens(pair: &Pair, divide: u64) {
    println!(
        "\n{:24} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "open", "cpu ms", "C++", "wall ms", "C++", "peak MiB", "C++"
    );
    // About 500 MB of tables.
    let shape = smaller(("flat", 1_700_000, 1024), divide);
    let dir = load(pair, shape);
    let mut job = Job::new("open", &dir.path().join("store"), shape);
    job.verify = false;
    pair.ours(&job);
    let many = Pair::build(&pair.scratch, 4 * pair.runs);
    let Some(many) = many else { return };
    let both = many.alternate(&job, false);
    let (ours, theirs) = &both;
    println!(
        "{:24} {:8.2} {:8.2} {:8.2} {:8.2} {:8.1} {:8.1}  ratios: cpu {:.2}, wall {:.2}",
        format!("{} MB of tables", stored_bytes(&job.dir) / 1_000_000),
        ours.median(|m| m.cpu) / 1e6,
        theirs.median(|m| m.cpu) / 1e6,
        ours.median(|m| m.wall) / 1e6,
        theirs.median(|m| m.wall) / 1e6,
        ours.median(|m| m.peak) / f64::from(1 << 20),
        theirs.median(|m| m.peak) / f64::from(1 << 20),
        ratio(&both, |m| m.cpu),
        ratio(&both, |m| m.wall),
    );
}

#[expect(clippy::disallowed_methods, reason = "sums the files' lengths")]
fn stored_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).unwrap();
    entries
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum()
}
