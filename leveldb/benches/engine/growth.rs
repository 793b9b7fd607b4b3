//! What an operation costs in stores of growing size: a table, and a plot.

use super::run::{Job, Measured, Pair};
use std::fmt::Write;
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
        write_svg(path, &costs);
    }
}

#[expect(clippy::disallowed_methods, reason = "writes what was asked for")]
fn write_svg(path: &Path, costs: &Costs) {
    std::fs::write(path, plot(costs)).unwrap();
}

const COLOURS: [&str; OPERATIONS.len()] = ["#1b6ca8", "#c0392b", "#7d3c98", "#1e8449", "#b9770e"];

/// Both axes logarithmic; ours drawn through, theirs dashed.
fn plot(costs: &Costs) -> String {
    let x = |size: usize| 70.0 + 130.0 * size as f64;
    let y = |cost: f64| 300.0 - 90.0 * (cost.max(0.01) / 0.1).log10();
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 400\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"720\" height=\"400\" fill=\"white\"/>\n\
         <text x=\"70\" y=\"20\">CPU time of an operation by rows in the store (16-byte keys, 100-byte values)</text>\n\
         <text x=\"70\" y=\"36\" fill=\"#555\">drawn through: Larder; dashed: C++ LevelDB 1.23; microseconds</text>\n",
    );
    for cost in [0.1, 1.0, 10.0, 100.0] {
        let y = y(cost);
        let _ = writeln!(
            svg,
            "<path d=\"M70 {y:.0}H460\" stroke=\"#ddd\"/><text x=\"62\" y=\"{:.0}\" text-anchor=\"end\">{cost}</text>",
            y + 4.0
        );
    }
    for (size, rows) in ROWS.iter().enumerate() {
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"372\" text-anchor=\"middle\">{rows}</text>",
            x(size)
        );
    }
    for (i, (of, (_, name))) in costs.iter().zip(OPERATIONS).enumerate() {
        let colour = COLOURS[i];
        for (side, dash) in ["", " stroke-dasharray=\"5 4\""].iter().enumerate() {
            let points: Vec<String> = (0..ROWS.len())
                .map(|size| format!("{:.0},{:.1}", x(size), y(of[size][side])))
                .collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>",
                points.join(" ")
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"490\" y=\"{}\" fill=\"{colour}\">{name}</text>",
            90 + 20 * i
        );
    }
    svg.push_str("</svg>\n");
    svg
}
