//! Medians, tables of them, and the goals.

use std::fmt::Write as _;

use crate::pages::Runs;
use crate::rows::ROWS;
use crate::scale::SIZES;

/// The column that the goals are about: values come from and go to Rust types, as a page's come from and go to objects.
pub(crate) const OURS: &str = "idb";
/// The column where values come and go as bytes.
pub(crate) const OURS_BYTES: &str = "idb, bytes";
/// Values as bytes, on SQLite files.
#[cfg(feature = "sqlite")]
pub(crate) const OURS_SQLITE: &str = "idb, SQLite";
/// The backing store beneath.
pub(crate) const RAW: &str = "backing-store";
/// fake-indexeddb.
pub(crate) const FAKE: &str = "fake-idb";

/// How many times faster than Chromium's page each row should be; 0: not asked.
const TIMES_CHROMIUM: [f64; ROWS.len()] = [
    20.0, 20.0, 20.0, 20.0, 20.0, 10.0, 10.0, 20.0, 10.0, 0.0, 0.0, 0.0,
];
/// How many times faster than the page of a Chromium that keeps SQLite files, on such files.
#[cfg(feature = "sqlite")]
const TIMES_CHROMIUM_IN_SQLITE: f64 = 10.0;
/// How much CPU more than plain calls of SQLite with the same rows, in the tables that Chromium has.
#[cfg(feature = "sqlite")]
const PLAIN_SQLITE_MAX: f64 = 1.4;
/// How much CPU more than the raw calls the rows may take.
const RAW_MAX: f64 = 1.2;

/// What did the rows, by name, and its times.
#[derive(Debug)]
pub(crate) struct Column {
    name: String,
    /// Wall and CPU ms and MiB, by size, row and run.
    samples: [[[Vec<f64>; 3]; ROWS.len()]; SIZES.len()],
}

impl Column {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            samples: Default::default(),
        }
    }

    pub(crate) fn is_of(&self, name: &str) -> bool {
        self.name == name
    }

    /// A run's time of a row, and the most memory that the process had meanwhile, where that is this column's alone.
    pub(crate) fn add(
        &mut self,
        size: usize,
        row: usize,
        wall_ms: f64,
        cpu_ms: Option<f64>,
        peak_mib: Option<f64>,
    ) {
        let [walls, cpus, peaks] = &mut self.samples[size][row];
        walls.push(wall_ms);
        cpus.extend(cpu_ms);
        peaks.extend(peak_mib);
    }

    /// A page's runs.
    pub(crate) fn add_page(&mut self, size: usize, runs: Runs) {
        for run in runs {
            for (row, (wall_ms, cpu_ms)) in run.into_iter().enumerate() {
                self.add(size, row, wall_ms, cpu_ms, None);
            }
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn median(&self, size: usize, row: usize, what: What) -> Option<f64> {
        median(&self.samples[size][row][what as usize])
    }

    /// How much CPU it took beside another in the same run. The two followed each other closely: what makes the machine slower for a
    /// while does so for both.
    fn cpu_beside(&self, other: &Self, size: usize, row: usize) -> Option<f64> {
        let at = What::Cpu as usize;
        let (ours, theirs) = (&self.samples[size][row][at], &other.samples[size][row][at]);
        let ratios = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs);
        median(&ratios.collect::<Vec<_>>())
    }
}

/// The median, or the greater of the two in the middle.
pub(crate) fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// What is in a table.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    Wall,
    Cpu,
    Memory,
}

/// Prints the tables of all sizes, and the goals that follow from them.
pub(crate) fn print(columns: &[Column], records: u32) {
    for (size, bytes) in SIZES.iter().enumerate() {
        let tables = [
            (What::Wall, "wall ms"),
            (What::Cpu, "CPU ms"),
            (What::Memory, "peak of memory beside the workload, MiB"),
        ];
        for (what, unit) in tables {
            let has_any = |column: &&Column| column.median(size, 0, what).is_some();
            let columns: Vec<&Column> = columns.iter().filter(has_any).collect();
            if !columns.is_empty() {
                println!("\n{records} records of {bytes} B, {unit}\n");
                print!("{}", table(&columns, size, what));
            }
        }
    }
    println!();
    for (size, bytes) in SIZES.iter().enumerate() {
        goals(columns, size, *bytes);
        #[cfg(feature = "sqlite")]
        goals_in_sqlite(columns, size, *bytes);
    }
}

fn table(columns: &[&Column], size: usize, what: What) -> String {
    let mut out = format!("| {:24} |", "");
    for column in columns {
        let _ = write!(out, " {:>13} |", column.name);
    }
    out.push_str("\n|---|");
    out.push_str(&"---:|".repeat(columns.len()));
    out.push('\n');
    for (row, name) in ROWS.iter().enumerate() {
        let _ = write!(out, "| {name:24} |");
        for column in columns {
            let time = column.median(size, row, what).unwrap_or(f64::NAN);
            let _ = write!(out, " {time:13.2} |");
        }
        out.push('\n');
    }
    out
}

/// One goal's line: what was found, what should be, met or missed.
pub(crate) fn goal(what: &str, found: f64, relation: &str, goal: f64, unit: &str) {
    let is_met = match relation {
        "<" => found < goal,
        "<=" => found <= goal,
        _ => found >= goal,
    };
    let verdict = if is_met { "met" } else { "MISSED" };
    println!("{what:64} {found:9.2}{unit} ({relation} {goal}{unit}) {verdict}");
}

fn goals(columns: &[Column], size: usize, bytes: usize) {
    let find = |name: &str| {
        let has_name =
            |column: &&Column| column.name == name || column.name.starts_with(&format!("{name} "));
        columns.iter().find(has_name)
    };
    let Some(ours) = find(OURS) else { return };
    let (chromium, fake) = (find("Chromium"), find(FAKE));
    let (raw, ours_bytes) = (find(RAW), find(OURS_BYTES));
    for (row, name) in ROWS.iter().enumerate() {
        let wall = ours.median(size, row, What::Wall);
        let times = |other: Option<&Column>| Some(other?.median(size, row, What::Wall)? / wall?);
        if let Some(times) = times(chromium).filter(|_| TIMES_CHROMIUM[row] > 0.0) {
            let what = format!("{bytes} B, {name}: times Chromium's speed");
            goal(&what, times, ">=", TIMES_CHROMIUM[row], "");
        }
        if let Some(times) = times(fake).filter(|_| row < 8) {
            let what = format!("{bytes} B, {name}: times fake-indexeddb's speed");
            goal(&what, times, ">=", 1.0, "");
        }
        if let (Some(ours), Some(raw)) = (ours_bytes, raw)
            && let Some(ratio) = ours.cpu_beside(raw, size, row)
        {
            let what = format!("{bytes} B, {name}: CPU beside raw backing-store calls");
            goal(&what, ratio, "<=", RAW_MAX, "");
        }
    }
}

/// Those of SQLite files.
#[cfg(feature = "sqlite")]
fn goals_in_sqlite(columns: &[Column], size: usize, bytes: usize) {
    let find = |is_it: &dyn Fn(&str) -> bool| columns.iter().find(|column| is_it(&column.name));
    let Some(ours) = find(&|name| name == OURS_SQLITE) else {
        return;
    };
    let page = find(&|name| name.starts_with("Chromium ") && name.ends_with("SQLite"));
    let plain = find(&|name| name == "Chromium's tables");
    for (row, name) in ROWS.iter().enumerate() {
        let ratio = |what: What, other: &Column, times: bool| {
            let (ours, other) = (
                ours.median(size, row, what)?,
                other.median(size, row, what)?,
            );
            Some(if times { other / ours } else { ours / other })
        };
        if let Some(times) = page.and_then(|page| ratio(What::Wall, page, true)) {
            let what = format!("{bytes} B, {name}: times Chromium's speed, SQLite files");
            goal(&what, times, ">=", TIMES_CHROMIUM_IN_SQLITE, "");
        }
        if let Some(cpu) = plain.and_then(|plain| ratio(What::Cpu, plain, false)) {
            let what = format!("{bytes} B, {name}: CPU beside plain SQLite, Chromium's tables");
            goal(&what, cpu, "<=", PLAIN_SQLITE_MAX, "");
        }
    }
}
