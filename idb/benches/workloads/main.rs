//! IndexedDB's everyday work beside the raw backing store, Chromium's page, fake-indexeddb in Node, SQLite, redb, fjall and LMDB:
//! the same rows, on one machine, in one run. Medians; of CPU beside raw calls, the median of what each run found.
//!
//! `cargo bench -p larder-idb --bench workloads [-- RUNS [WHAT …]]`: so many runs (8) of each, and three times as many of our own. WHAT
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

use std::path::Path;

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

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let runs = args.first().and_then(|runs| runs.parse().ok()).unwrap_or(8);
    let does = |what: &str| args.len() < 2 || args[1..].iter().any(|arg| arg == what);
    let dir = tempfile::tempdir().unwrap();
    let mut columns = Vec::new();
    if does("idb") {
        columns.extend(in_this_process(runs * OURS_RUNS, dir.path()));
    }
    if does("chromium")
        && let Some((chromium, name)) = pages::browser()
    {
        columns.push(of_pages(name, |text_len| {
            pages::of_chromium(chromium, runs, text_len)
        }));
    }
    if does("fake") && pages::install_fake(dir.path()) {
        columns.push(of_pages(table::FAKE.to_owned(), |text_len| {
            pages::of_fake(dir.path(), runs, text_len)
        }));
    }
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

/// Runs ours by turns; the first turn warms up. Each begins with another: who comes later finds more memory that is not new.
fn in_this_process(runs: usize, dir: &Path) -> Vec<Column> {
    let manners = [Manner::Types, Manner::Bytes, Manner::Waiting];
    let names = [table::OURS, table::OURS_BYTES, "idb, waiting", table::RAW];
    let mut columns = names.map(Column::new);
    let keys = raw::Keys::new(RECORDS + SINGLES);
    let dir = dir.join("ours");
    for (n, size) in SIZES.into_iter().enumerate() {
        let workload = Workload::new(text_len(size), encode);
        let rows = ours::rows_of(&workload);
        for run in 0..=runs {
            // The engine draws the heights of its memtable's nodes in the same way each time. What is drawn for the rows is luck; so
            // that each has its share of it, the rows written before differ from run to run.
            let others = run % OTHERS;
            for turn in 0..columns.len() {
                let at = (run + turn) % columns.len();
                let times = match manners.get(at) {
                    Some(&manner) => rows::run(&dir, &workload, |dir, indexed| {
                        Ours::create(dir, indexed, others, manner, &rows)
                    }),
                    None => rows::run(&dir, &workload, |dir, indexed| {
                        raw::Raw::create(dir, indexed, others, keys.clone())
                    }),
                };
                if run > 0 {
                    columns[at].add_run(n, &times);
                }
            }
        }
    }
    columns.into()
}

fn of_pages(name: String, runs: impl Fn(usize) -> pages::Runs) -> Column {
    let mut column = Column::new(name);
    for (n, size) in SIZES.into_iter().enumerate() {
        for run in runs(text_len(size)) {
            for (row, (wall_ms, cpu_ms)) in run.into_iter().enumerate() {
                column.add(n, row, wall_ms, cpu_ms);
            }
        }
    }
    column
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
