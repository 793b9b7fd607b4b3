//! IndexedDB's everyday work beside the raw backing store, Chromium's page, fake-indexeddb in Node, SQLite, redb, fjall and LMDB:
//! the same rows, on one machine, in one run. Medians; of CPU beside raw calls, the median of what each run found.
//!
//! `cargo bench -p larder-idb --bench workloads [-- RUNS [WHAT …]]`: so many runs (8) of each, and three times as many of our own. Ours,
//! Chromium's and fake-indexeddb's take turns, in four rounds: what makes the machine slower for a minute does so for all. WHAT
//! is `idb`, `chromium`, `fake`, `peers`, `strict` or `pain`; without, all. Who is not to be had is skipped with a word: Chromium and
//! Node as for tests, fake-indexeddb by npm, the peers by cargo. Files go to the folder for temporary files; it should be on a disk.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

mod ours;
mod pages;
mod pain;
mod raw;
mod rows;
mod stopped;
mod strict;
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use larder_codec::value::serde::to_bytes;
use ours::{Manner, Ours};
use rows::{RECORDS, ROWS, SINGLES, SIZES, Workload};
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

/// What glibc's allocator is told: memory that was taken stays, as it does in a program that has run for a while. Left alone it gives some
/// back and takes it anew, up to 5,000 page faults or 8 ms for a row of 17; whom that falls to is luck, the same one all along.
const KEPT_MEMORY: [(&str, &str); 2] = [
    ("MALLOC_MMAP_THRESHOLD_", "33554432"),
    ("MALLOC_TRIM_THRESHOLD_", "4000000000"),
];

fn main() {
    if KEPT_MEMORY
        .iter()
        .any(|(name, _)| std::env::var_os(name).is_none())
    {
        // It is read when a program starts.
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(std::env::args_os().skip(1)).envs(KEPT_MEMORY);
        let status = again.status().unwrap();
        assert!(status.success(), "{status}");
        return;
    }
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let runs = args.first().and_then(|runs| runs.parse().ok()).unwrap_or(8);
    let does = |what: &str| args.len() < 2 || args[1..].iter().any(|arg| arg == what);
    let dir = tempfile::tempdir().unwrap();
    let mut ours = does("idb").then(|| InThisProcess::new(dir.path()));
    let browser = does("chromium").then(pages::browser).flatten();
    let mut of_browser = browser.map(|(chromium, name)| (chromium, Column::new(name)));
    let has_fake = does("fake") && pages::install_fake(dir.path());
    let mut of_fake = has_fake.then(|| Column::new(table::FAKE));
    for round in 0..ROUNDS {
        let runs = runs * (round + 1) / ROUNDS - runs * round / ROUNDS;
        if runs == 0 {
            continue;
        }
        for (size, bytes) in SIZES.into_iter().enumerate() {
            let text_len = text_len(bytes);
            if let Some(ours) = &mut ours {
                ours.run(size, runs * OURS_RUNS);
            }
            if let Some((chromium, column)) = &mut of_browser {
                column.add_page(size, pages::of_chromium(chromium, runs, text_len));
            }
            if let Some(column) = &mut of_fake {
                column.add_page(size, pages::of_fake(dir.path(), runs, text_len));
            }
        }
    }
    let mut columns = ours.map(|ours| ours.columns).unwrap_or_default();
    columns.extend(of_browser.map(|(_, column)| column));
    columns.extend(of_fake);
    if does("peers") {
        columns.extend(of_peers(runs, dir.path()));
    }
    table::print(&columns);
    if does("strict") {
        for size in SIZES {
            let workload = Workload::new(text_len(size), encode);
            strict::compare(dir.path(), size, &workload);
        }
    }
    if does("pain") {
        pain::all(dir.path(), runs);
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
fn text_len(size: usize) -> usize {
    size - encode(RECORDS - 1, "").len()
}

/// Ours, by turns. Each turn begins with another: who comes later finds more memory that is not new.
struct InThisProcess {
    columns: Vec<Column>,
    sizes: [OfSize; SIZES.len()],
    keys: Arc<raw::Keys>,
    dir: PathBuf,
}

struct OfSize {
    workload: Workload,
    rows: Arc<Vec<[Row; 2]>>,
    /// How many turns there were. The first warms up.
    turns: usize,
}

const MANNERS: [Manner; 3] = [Manner::Types, Manner::Bytes, Manner::Waiting];

impl InThisProcess {
    fn new(dir: &Path) -> Self {
        let names = [table::OURS, table::OURS_BYTES, "idb, waiting", table::RAW];
        let of_size = |size| {
            let workload = Workload::new(text_len(size), encode);
            let rows = ours::rows_of(&workload);
            OfSize {
                workload,
                rows,
                turns: 0,
            }
        };
        Self {
            columns: names.map(Column::new).into(),
            sizes: SIZES.map(of_size),
            keys: raw::Keys::new(RECORDS + SINGLES),
            dir: dir.join("ours"),
        }
    }

    /// So many runs of each with records of a size.
    fn run(&mut self, size: usize, runs: usize) {
        let of_size = &mut self.sizes[size];
        let (workload, rows) = (&of_size.workload, &of_size.rows);
        let end = of_size.turns.max(1) + runs;
        for run in of_size.turns..end {
            // The engine draws the heights of its memtable's nodes in the same way each time. What is drawn for the rows is luck; so
            // that each has its share of it, the rows written before differ from run to run.
            let others = run % OTHERS;
            for turn in 0..self.columns.len() {
                let at = (run + turn) % self.columns.len();
                let times = match MANNERS.get(at) {
                    Some(&manner) => rows::run(&self.dir, workload, |dir, indexed| {
                        Ours::create(dir, indexed, others, manner, rows)
                    }),
                    None => rows::run(&self.dir, workload, |dir, indexed| {
                        raw::Raw::create(dir, indexed, others, self.keys.clone())
                    }),
                };
                if run > 0 {
                    self.columns[at].add_run(size, &times);
                }
            }
        }
        of_size.turns = end;
    }
}

fn of_peers(runs: usize, dir: &Path) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for (name, size, row, time) in pages::peers(runs, dir) {
        let n = match columns.iter().position(|column| column.is_of(&name)) {
            Some(n) => n,
            None => {
                columns.push(Column::new(name));
                columns.len() - 1
            }
        };
        let size = SIZES.iter().position(|one| *one == size).unwrap();
        let row = ROWS.iter().position(|one| *one == row).unwrap();
        columns[n].add(size, row, time.wall_ms, Some(time.cpu_ms));
    }
    columns
}
