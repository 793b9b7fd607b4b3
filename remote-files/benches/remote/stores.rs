//! Stores beside each other: the same work by Larder's engine on every engine and on the local disk, and by SlateDB on the same
//! gateway of S3. The columns take turns; the table has medians.

use crate::ours::{Host, Place, Store};
use crate::slate::{SETTINGS, Slate};
use crate::work::{self, Costs, ROWS, Work};
use std::path::Path;

/// What a column is measured by: the number of the round.
type Run<'a> = Box<dyn FnMut(u32) -> Costs + 'a>;

/// Runs so many rounds of all columns and prints the table.
pub(crate) fn run(hosts: &[(&str, Host)], slate: Option<&Slate>, work: Work, rounds: u32) {
    let folder = tempfile::tempdir().unwrap();
    let mut columns: Vec<(&str, Run<'_>)> = Vec::new();
    for (name, host) in hosts {
        columns.push((*name, Box::new(move |round| on_cluster(host, round, &work))));
    }
    let folder = folder.path();
    let disk = move |round| on_disk(folder, round, &work);
    columns.push(("local disk", Box::new(disk)));
    for (settings, name) in SETTINGS {
        if let Some(slate) = slate {
            let run = move |round| slate.run(&format!("slate/{settings}/{round}"), &work, settings);
            columns.push((name, Box::new(run)));
        }
    }
    let mut found: Vec<Vec<Costs>> = columns.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for ((_, run), found) in columns.iter_mut().zip(&mut found) {
            found.push(run(round));
        }
    }
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    print(&names, &found, &work);
}

fn on_cluster(host: &Host, round: u32, work: &Work) -> Costs {
    let name = format!("store {round}");
    work::run(work, || Store::open(Place::Remote(host, &name)))
}

fn on_disk(folder: &Path, round: u32, work: &Work) -> Costs {
    let folder = folder.join(round.to_string());
    work::run(work, || Store::open(Place::Folder(&folder)))
}

fn print(names: &[&str], found: &[Vec<Costs>], work: &Work) {
    println!(
        "{} strict puts; {} records of {} bytes; {} gets; medians of {} rounds",
        work.strict_puts,
        work.records,
        work::VALUE_LEN,
        work.gets,
        found.first().map_or(0, Vec::len)
    );
    println!("| | {} |", names.join(" | "));
    println!("|{}", "---|".repeat(names.len() + 1));
    for (row, what) in ROWS.into_iter().enumerate() {
        let cells: Vec<String> = found.iter().map(|runs| cell(runs, row)).collect();
        println!("| {what} | {} |", cells.join(" | "));
    }
}

/// The median of a row.
fn cell(runs: &[Costs], row: usize) -> String {
    let numbers: Vec<f64> = runs.iter().filter_map(|costs| costs[row]).collect();
    match numbers.is_empty() {
        true => "–".to_owned(),
        false => digits(work::median(numbers)),
    }
}

/// A number with two or three digits that say something.
pub(crate) fn digits(number: f64) -> String {
    match number {
        100.0.. => format!("{number:.0}"),
        10.0..100.0 => format!("{number:.1}"),
        0.1..10.0 => format!("{number:.2}"),
        _ => format!("{number:.4}"),
    }
}
