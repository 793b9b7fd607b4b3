//! What an operation costs in stores of growing size: a table, and a plot.

use super::plot::{self, Line};
use super::run::{Job, Measured, Pair};
use std::path::Path;

const ROWS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
const VALUE_LEN: usize = 100;
const OPERATIONS: [(&str, &str); 5] = [
    ("random", "random put, batches of 100"),
    ("get", "get"),
    ("miss", "get of a missing key"),
    ("seek", "seek and 10 steps"),
    ("scan", "one step of a scan"),
];

/// Microseconds of CPU time for each operation, ours and theirs: by operation, then by size.
type Costs = [[[f64; 2]; ROWS.len()]; OPERATIONS.len()];

pub(crate) fn run(pair: &Pair, svg: Option<&Path>, divide: u64) {
    let mut costs = Costs::default();
    println!(
        "| rows | {} |",
        OPERATIONS.map(|(_, name)| name).join(" | ")
    );
    println!("|---|{}", "---|".repeat(OPERATIONS.len()));
    for (size, rows) in ROWS.iter().map(|rows| rows / divide).enumerate() {
        let dir = tempfile::tempdir_in(&pair.scratch).unwrap();
        let store = dir.path().join("store");
        let shape = ("flat", rows, VALUE_LEN);
        pair.theirs(&Job::new("load", &store, shape));
        for (of, (mode, _)) in costs.iter_mut().zip(OPERATIONS) {
            let mut job = Job::new(mode, &store, shape);
            job.extra = if mode == "random" { 100 } else { 200_000 };
            let operations = match mode {
                "random" | "scan" => rows,
                _ => job.extra,
            };
            if mode != "random" {
                pair.ours(&job);
            }
            let (ours, theirs) = pair.alternate(&job, mode == "random");
            let cpu = |m: &Measured| m.cpu;
            of[size] = [ours, theirs].map(|runs| runs.median(cpu) / 1000.0 / operations as f64);
        }
        let cells = costs.map(|of| format!("{:.2} / {:.2}", of[size][0], of[size][1]));
        println!("| {rows} | {} |", cells.join(" | "));
    }
    if let Some(path) = svg {
        let line = |(of, (_, name)): (&[[f64; 2]; ROWS.len()], (_, &'static str))| Line {
            name,
            costs: of.map(|pair| pair[0]).to_vec(),
            beside: of.map(|pair| pair[1]).to_vec(),
        };
        let lines: Vec<Line> = costs.iter().zip(OPERATIONS).map(line).collect();
        let titles = [
            "CPU time of an operation by rows in the store (16-byte keys, 100-byte values)",
            "drawn through: Larder; dashed: C++ LevelDB 1.23; microseconds",
        ];
        plot::write(path, titles, &ROWS, &lines);
    }
}
