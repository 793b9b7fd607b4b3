//! How everyday work grows with the number of records: ours, values as bytes, beside SQLite, redb, fjall and LMDB in one run.
//!
//! `… -- growth [RUNS [FOLDER]] [records=N,N,…] [bytes=N] [cache=MIB]`: so many runs (3) with each number of records (10,000), of 100 B or
//! so many, ours with a block cache of 64 MiB or so many. Each run of a column is a process of its own, and the columns take turns. Below a million records, it does all rows
//! once before, to warm up. Prints tables of medians: wall time, CPU time of the whole process, and the most memory that it had beside
//! what was prepared for all rows (a map of a file counts; so do values that are prepared for one row of ours, which takes them
//! over). With a FOLDER, plots of CPU time and memory are written there.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::growth_plot::{self, Line, Panel};
use crate::ours::{Manner, Ours, Setup};
use crate::rows::{self, ROWS, SINGLES};
use crate::scale::{SIZES, Scale};
use crate::table::{self, Column, What};
use crate::{pages, workload};

/// The first argument that asks for this.
pub(crate) const GROWTH: &str = "growth";
/// The first argument of the process that does one run of ours.
pub(crate) const OURS: &str = "--growth-of-ours";

/// The name of our column, and the peers'.
const LARDER: &str = "Larder";
const PEERS: [&str; 4] = ["SQLite", "redb", "fjall", "heed"];

/// The plots, and what they show.
const PLOTS: [(What, &str, &str); 2] = [
    (
        What::Cpu,
        "growth-everyday.svg",
        "CPU time of the whole process for each record (each transaction) by records in the store, microseconds",
    ),
    (
        What::Memory,
        "growth-everyday-memory.svg",
        "The most memory beside the workload by records in the store, MiB",
    ),
];

/// All numbers of records.
pub(crate) fn run(scale: &Scale, args: &[String]) {
    let runs = args.first().map_or(3, |runs| runs.parse().unwrap());
    let (size, bytes) = scale.sizes().next().unwrap();
    let dir = tempfile::tempdir().unwrap();
    // No runs of a few records: whether the peers' program can be built.
    let has_peers = pages::peers(0, 10, bytes, None, dir.path()).is_some();
    let peers = PEERS.into_iter().filter(|_| has_peers);
    let names: Vec<&str> = [LARDER].into_iter().chain(peers).collect();
    let mut found = Vec::new();
    for records in scale.all() {
        let mut columns: Vec<Column> = names.iter().copied().map(Column::new).collect();
        for _ in 0..runs {
            for column in &mut columns {
                one_run(column, scale, (*records, bytes), dir.path());
            }
        }
        table::print(&columns, *records);
        found.push(columns);
    }
    if let Some(folder) = args.get(1) {
        for (what, file, title) in PLOTS {
            let panels = panels(scale.all(), &found, size, what);
            growth_plot::write(&Path::new(folder).join(file), title, scale.all(), &panels);
        }
    }
}

/// One run of a column in a process of its own.
fn one_run(column: &mut Column, scale: &Scale, (records, bytes): (u32, usize), dir: &Path) {
    let costs = match column.is_of(LARDER) {
        true => run_of_ours(&scale.of(records, bytes)),
        false => pages::peers(1, records, bytes, Some(column.name()), dir).unwrap(),
    };
    for (_, bytes, row, cost) in costs {
        let size = SIZES.iter().position(|one| *one == bytes).unwrap();
        let row = ROWS.iter().position(|one| *one == row).unwrap();
        let time = cost.time;
        column.add(
            size,
            row,
            time.wall_ms,
            Some(time.cpu_ms),
            Some(cost.peak_mib),
        );
    }
}

fn run_of_ours(scale: &Scale) -> Vec<pages::PeerCost> {
    let output = Command::new(std::env::current_exe().unwrap())
        .arg(OURS)
        .args(scale.to_args())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", output.status);
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(pages::peer_cost).collect()
}

/// What that process does.
pub(crate) fn of_ours(scale: &Scale) {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes) = scale.sizes().next().unwrap();
    let workload = workload(scale.one(), bytes);
    // Values as bytes have no use for Rust types.
    let types = Arc::default();
    let setup = Setup {
        cache_bytes: scale.cache_bytes(),
        ..Setup::of(Manner::Bytes)
    };
    for run in rows::first_run(scale.one())..=1 {
        let costs = rows::run(dir.path(), &workload, |dir, indexed| {
            Ours::create(dir, indexed, setup, &types)
        });
        for (row, cost) in ROWS.into_iter().zip(costs).filter(|_| run > 0) {
            println!("{}", rows::line(LARDER, bytes, row, cost));
        }
    }
}

/// How many operations a row has with so many records.
fn operations(row: usize, records: u32) -> u32 {
    match row {
        8 | 9 => SINGLES,
        11 => 1,
        _ => records,
    }
}

/// A panel for each row.
fn panels(records: &[u32], found: &[Vec<Column>], size: usize, what: What) -> Vec<Panel> {
    let panel = |(row, name): (usize, &&'static str)| {
        let line = |column: usize| {
            let cost = |(columns, records): (&Vec<Column>, &u32)| {
                let cost = columns[column].median(size, row, what).unwrap_or(f64::NAN);
                match what {
                    What::Memory => cost,
                    _ => cost * 1e3 / f64::from(operations(row, *records)),
                }
            };
            Line {
                name: found[0][column].name().to_owned(),
                costs: found.iter().zip(records).map(cost).collect(),
            }
        };
        Panel {
            title: name,
            lines: (0..found[0].len()).map(line).collect(),
        }
    };
    ROWS.iter().enumerate().map(panel).collect()
}
