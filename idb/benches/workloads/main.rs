//! IndexedDB's everyday work beside the raw backing store, Chromium's page, fake-indexeddb in Node, SQLite, redb, fjall and LMDB:
//! the same rows, on one machine, in one run. Medians; of CPU beside raw calls, the median of what each run found.
//!
//! `cargo bench -p larder-idb --bench workloads [-- RUNS [WHAT …] [records=N] [bytes=N]]`: so many runs (8) of each, and three times as many
//! of our own, with so many records (10,000) of 100 and 1024 bytes, or of one of the two. Ours, Chromium's and fake-indexeddb's take
//! turns, in four rounds: what makes the machine slower for a minute does so for all. Each round of ours is a process of its own. WHAT is
//! `idb`, `chromium`, `fake`, `peers`, `strict` or `slow`; without, all. A peer that is not there is skipped with a word: Chromium and Node as
//! for tests, fake-indexeddb by npm, the peers by cargo. Files go to the folder for temporary files; it should be on a disk.
//!
//! `… -- growth …` is another program ([`growth`]): how ours and the peers' times grow with the number of records.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

mod growth;
mod growth_plot;
mod ours;
mod pages;
mod raw;
mod rows;
mod scale;
mod slow_cases;
mod strict;
mod table;

use std::path::Path;
use std::process::{Command, Stdio};

use larder_codec::value::serde::to_bytes;
use larder_idb::StoreForm;
use ours::{Manner, Ours, Setup};
use rows::{Cost, ROWS, SINGLES, Time, Workload};
use scale::{SIZES, Scale};
use table::Column;

/// What a record's value is in Rust.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Row {
    i: u32,
    t: String,
}

/// Numbers of other object stores that runs begin with, by turns.
const OTHERS: usize = 8;

/// Runs of our own for each of the others': two of ours are compared by a fifth, and a run takes little time.
const OURS_RUNS: usize = 3;

/// Rounds in which ours and pages take turns.
const ROUNDS: usize = 4;

/// The first argument of the process that a round of ours is.
const OURS_ROUND: &str = "--ours";

/// The settings of glibc's allocator there: memory that was taken stays, as it does in a program that has run for a while. Without them,
/// the allocator gives some back and takes it anew: up to 5,000 page faults or 8 ms for a row of 17. It is luck which column that falls
/// to, and it is the same column all along.
const KEPT_MEMORY: [(&str, &str); 2] = [
    ("MALLOC_MMAP_THRESHOLD_", "33554432"),
    ("MALLOC_TRIM_THRESHOLD_", "4000000000"),
];

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let (scale, args) = Scale::take(args);
    match &*args {
        [first, round, runs] if first == OURS_ROUND => {
            ours_round(&scale, round.parse().unwrap(), runs.parse().unwrap());
            return;
        }
        [first] if first == growth::OURS => return growth::of_ours(&scale),
        [first, rest @ ..] if first == growth::GROWTH => return growth::run(&scale, rest),
        _ => {}
    }
    let runs = args.first().and_then(|runs| runs.parse().ok()).unwrap_or(8);
    let does = |what: &str| args.len() < 2 || args[1..].iter().any(|arg| arg == what);
    let dir = tempfile::tempdir().unwrap();
    let mut columns = Vec::new();
    if does("idb") {
        columns.extend(COLUMNS.iter().map(|(name, _)| Column::new(*name)));
    }
    let mut of_browsers = match does("chromium") {
        true => pages::browsers(),
        false => Vec::new(),
    };
    let has_fake = does("fake") && pages::install_fake(dir.path());
    let mut of_fake = has_fake.then(|| Column::new(table::FAKE));
    for round in 0..ROUNDS {
        let runs = runs * (round + 1) / ROUNDS - runs * round / ROUNDS;
        if runs == 0 {
            continue;
        }
        if does("idb") {
            add_ours_round(&scale, round, runs * OURS_RUNS, &mut columns);
        }
        for (size, bytes) in scale.sizes() {
            let args = pages::arguments(runs, scale.one(), text_len(scale.one(), bytes));
            for (chromium, column) in &mut of_browsers {
                column.add_page(size, pages::of_chromium(chromium, &args));
            }
            if let Some(column) = &mut of_fake {
                column.add_page(size, pages::of_fake(dir.path(), &args));
            }
        }
    }
    columns.extend(of_browsers.into_iter().map(|(_, column)| column));
    columns.extend(of_fake);
    if does("peers") {
        columns.extend(of_peers(&scale, runs, dir.path()));
    }
    table::print(&columns, scale.one());
    if does("strict") {
        for (_, size) in scale.sizes() {
            let workload = workload(scale.one(), size);
            strict::compare(dir.path(), size, &workload);
        }
    }
    if does("slow") {
        slow_cases::all(dir.path(), runs);
    }
}

fn encode(index_key: u32, text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let row = Row {
        i: index_key,
        t: text.to_owned(),
    };
    to_bytes(&row, &mut bytes).unwrap();
    bytes
}

/// Letters in a value that shall have so many bytes. Index keys differ by a byte or two in length.
fn text_len(records: u32, size: usize) -> usize {
    size - encode(records - 1, "").len()
}

/// So many records of so many bytes.
fn workload(records: u32, size: usize) -> Workload {
    Workload::new(records, text_len(records, size), encode)
}

/// The columns of ours: the manner and the form of the store; none for raw calls.
const COLUMNS: &[(&str, Option<(Manner, StoreForm)>)] = &[
    (table::OURS, Some((Manner::Types, StoreForm::LevelDb))),
    (table::OURS_BYTES, Some((Manner::Bytes, StoreForm::LevelDb))),
    ("idb, waiting", Some((Manner::Waiting, StoreForm::LevelDb))),
    (table::RAW, None),
    #[cfg(feature = "sqlite")]
    (table::OURS_SQLITE, Some((Manner::Bytes, StoreForm::Sqlite))),
];

/// A run's time of a row: in which column, of which size, which row, wall and CPU ms.
type Sample = (usize, usize, usize, f64, f64);

/// A round of ours in a process of its own: what comes to lie where in memory is luck that lasts as long as a process.
fn add_ours_round(scale: &Scale, round: usize, runs: usize, columns: &mut [Column]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([OURS_ROUND, &round.to_string(), &runs.to_string()])
        .args(scale.to_args())
        .envs(KEPT_MEMORY)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", output.status);
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let (at, size, row, wall_ms, cpu_ms): Sample = serde_json::from_str(line).unwrap();
        columns[at].add(size, row, wall_ms, Some(cpu_ms), None);
    }
}

/// What that process does. The first turn warms up. Each begins with another column: a later one finds more memory that is not new.
fn ours_round(scale: &Scale, round: usize, runs: usize) {
    let dir = tempfile::tempdir().unwrap();
    let keys = raw::Keys::new(scale.one() + SINGLES);
    for (size, bytes) in scale.sizes() {
        let workload = workload(scale.one(), bytes);
        let rows = ours::rows_of(&workload);
        for run in 0..=runs {
            let begun = round * runs + run;
            // The engine draws the heights of its memtable's nodes in the same way each time. What is drawn for the rows is luck; so
            // that each has its share of it, the rows written before differ from run to run.
            let others = begun % OTHERS;
            for turn in 0..COLUMNS.len() {
                let at = (begun + turn) % COLUMNS.len();
                let costs = match COLUMNS[at].1 {
                    Some((manner, form)) => rows::run(dir.path(), &workload, |dir, indexed| {
                        let setup = Setup {
                            form,
                            others,
                            ..Setup::of(manner)
                        };
                        Ours::create(dir, indexed, setup, &rows)
                    }),
                    None => rows::run(dir.path(), &workload, |dir, indexed| {
                        raw::Raw::create(dir, indexed, others, keys.clone())
                    }),
                };
                for (row, Cost { time, .. }) in costs.iter().enumerate().filter(|_| run > 0) {
                    let sample: Sample = (at, size, row, time.wall_ms, time.cpu_ms);
                    println!("{}", serde_json::to_string(&sample).unwrap());
                }
            }
        }
    }
}

fn of_peers(scale: &Scale, runs: usize, dir: &Path) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for (_, bytes) in scale.sizes() {
        let costs = pages::peers(runs, scale.one(), bytes, None, dir);
        for (name, size, row, cost) in costs.into_iter().flatten() {
            let n = match columns.iter().position(|column| column.is_of(&name)) {
                Some(n) => n,
                None => {
                    columns.push(Column::new(name));
                    columns.len() - 1
                }
            };
            let size = SIZES.iter().position(|one| *one == size).unwrap();
            let row = ROWS.iter().position(|one| *one == row).unwrap();
            let Time { wall_ms, cpu_ms } = cost.time;
            columns[n].add(size, row, wall_ms, Some(cpu_ms), None);
        }
    }
    columns
}
