//! What it costs to bring a database to another device: from the database into its page (take), from the page into a folder (upload), from
//! the folder into the other page (download), from there into the other database (apply). With a key and without one.
//!
//! `cargo bench -p larder-sync [-- RECORDS [ROUNDS]]`: 100,000 records of 1 KiB, 3 rounds, medians. `... -- step NAME FOLDER [key]` does one
//! step in a folder that the steps before have filled, for a profiler. Each step is a process of its own, which opens what it works
//! on before the measurement, and whose peak of memory is its own. Processor time is that of the process, the engines' threads included.
//! Everything is on the disk in the temporary directory, and durable as by default.
//!
//! Beside it, `copy`: the cloud's files, read and written elsewhere with one fsync for each, as `cp -r` with fsync would.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

mod device;
mod measure;
mod steps;

use measure::{Measured, median};
use std::path::Path;
use std::process::Command;

const RECORDS: u32 = 100_000;
const ROUNDS: usize = 3;

/// Runs a step in a process of its own.
fn run(step: &str, folder: &Path, records: u32, key: Option<&str>) -> Measured {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["step", step])
        .arg(folder)
        .args(key)
        .env("RECORDS", records.to_string())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{step}: {errors}");
    Measured::parse(&String::from_utf8(output.stdout).unwrap())
}

fn rounds(records: u32, rounds: usize, key: Option<&str>) {
    let mut measured: Vec<Vec<Measured>> = vec![Vec::new(); steps::NAMES.len()];
    for _ in 0..rounds {
        let folder = tempfile::tempdir().unwrap();
        for (step, of_step) in steps::NAMES.iter().zip(&mut measured) {
            of_step.push(run(step, folder.path(), records, key));
        }
    }
    let kind = key.map_or("without a key", |_| "with a key");
    println!("{records} records of 1 KiB, {kind}:");
    println!("            records/s of CPU  records/s  CPU, s  wall, s  peak, MiB");
    for (step, of_step) in steps::NAMES.iter().zip(&measured) {
        let of = |get: fn(&Measured) -> f64| median(of_step.iter().map(get).collect());
        let (cpu, wall, peak) = (of(|m| m.cpu), of(|m| m.wall), of(|m| m.peak_mib));
        let count = f64::from(records);
        println!(
            "{step:10} {:17.0} {:10.0} {cpu:7.2} {wall:8.2} {peak:10.1}",
            count / cpu,
            count / wall
        );
    }
}

fn main() {
    let args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let args: Vec<String> = args.collect();
    let records = std::env::var("RECORDS").ok();
    let records = records.map_or(RECORDS, |number| number.parse().unwrap());
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["step", name, folder] => {
            println!("{}", steps::step(name, folder.as_ref(), records, false))
        }
        ["step", name, folder, "key"] => {
            println!("{}", steps::step(name, folder.as_ref(), records, true));
        }
        ref numbers => {
            let number = |at: usize| numbers.get(at).map(|number| number.parse().unwrap());
            let records = number(0).map_or(records, |number: usize| number as u32);
            let count = number(1).unwrap_or(ROUNDS);
            rounds(records, count, None);
            rounds(records, count, Some("key"));
        }
    }
}
