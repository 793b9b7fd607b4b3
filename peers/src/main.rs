//! The rows of `idb/benches/workloads` by SQLite, redb, fjall and LMDB, each as its users would write it: a table of records
//! by key, a table (or keyspace) of index key and key. Relaxed is each store's way to commit without waiting for the disk;
//! strict waits.
//!
//! `larder-peers RUNS RECORDS BYTES FOLDER [COLUMN]`, with values of so many bytes, prints a line of JSON for every column (or the one)
//! and row of each run: `[column, bytes, row, wall ms, CPU ms, peak of memory, MiB]`. The columns take turns; a run before the first
//! warms up and is not printed, if there are fewer than [`rows::WARM_BELOW`] records. Nothing of Larder is in here.

#![expect(
    clippy::disallowed_methods,
    reason = "a program that measures: it has a clock and makes folders"
)]

mod chromium_tables;
mod fjall;
mod heed;
mod redb;
#[path = "../../idb/benches/workloads/rows.rs"]
mod rows;
mod sqlite;

use std::path::Path;

use rows::{Cost, ROWS, Workload};

/// Opens an empty store of one kind, with or without an index, and does every row.
type Column = fn(&Path, &Workload) -> Vec<Cost>;

const COLUMNS: [(&str, Column); 5] = [
    ("SQLite", |dir, workload| {
        rows::run(dir, workload, sqlite::Sqlite::create)
    }),
    ("Chromium's tables", |dir, workload| {
        rows::run(dir, workload, chromium_tables::ChromiumTables::create)
    }),
    ("redb", |dir, workload| {
        rows::run(dir, workload, redb::Redb::create)
    }),
    ("fjall", |dir, workload| {
        rows::run(dir, workload, fjall::Fjall::create)
    }),
    ("heed", |dir, workload| {
        rows::run(dir, workload, heed::Heed::create)
    }),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (numbers, [dir, names @ ..]) = args.split_at(args.len().min(3)) else {
        panic!("usage: larder-peers RUNS RECORDS BYTES FOLDER [COLUMN]");
    };
    let number_of = |n: usize| numbers[n].parse::<u32>().expect("a number");
    let (runs, records, bytes) = (number_of(0), number_of(1), number_of(2));
    let dir = Path::new(dir).join("peers");
    // A value is its index key and text; Larder's has tags besides, and is as long.
    let workload = Workload::new(records, bytes as usize - 9, |index_key, text| {
        let mut bytes = number(index_key).to_vec();
        bytes.extend_from_slice(text.as_bytes());
        bytes
    });
    let is_wanted = |name: &str| names.first().is_none_or(|one| one == name);
    for run in rows::first_run(records)..=runs {
        for (name, column) in COLUMNS.into_iter().filter(|(name, _)| is_wanted(name)) {
            let costs = column(&dir, &workload);
            for (row, cost) in ROWS.into_iter().zip(costs).filter(|_| run > 0) {
                println!("{}", rows::line(name, bytes as usize, row, cost));
            }
        }
    }
}

/// A key as bytes that sort as it does, as long as a number key of IndexedDB: keys there are of many types.
fn number(n: u32) -> [u8; 9] {
    let mut bytes = [3; 9];
    bytes[1..].copy_from_slice(&f64::from(n).to_bits().to_be_bytes());
    bytes
}

/// The key of an index row: index key and key.
fn index_row(index_key: u32, key: u32) -> [u8; 18] {
    let mut bytes = [0; 18];
    bytes[..9].copy_from_slice(&number(index_key));
    bytes[9..].copy_from_slice(&number(key));
    bytes
}

/// The index rows that writing a record adds, and that it takes away.
fn index_rows(record: &rows::Record, second: bool) -> ([u8; 18], Option<[u8; 18]>) {
    let first = index_row(record.first.index_key, record.key);
    match second {
        false => (first, None),
        true => (index_row(record.second.index_key, record.key), Some(first)),
    }
}

/// What is written for a record.
const fn value(record: &rows::Record, second: bool) -> &[u8] {
    record.value(second).bytes.as_slice()
}
