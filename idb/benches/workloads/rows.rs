//! What is measured: twelve rows, the same for everything that stores records and has an index over them.
//!
//! The program of the peers (`peers/`) includes this file, too.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// One-put transactions in each of the last two rows.
pub(crate) const SINGLES: u32 = 200;
/// Where the records of an index, and gets, lie in the order of the others: every so-manieth. Primes, which no number of records may be
/// a multiple of.
const INDEX_FACTOR: u32 = 7919;
const GET_FACTOR: u32 = 4271;

/// So many relaxed transactions of one put come after the load, those of the ninth row first. Of the slowest its wall time counts, which
/// stands for CPU time, too: to ask for that costs as much as a third of a commit.
const SLOWEST_OF: u32 = 1000;

/// The rows' names. A page does those up to the ninth and tenth.
pub(crate) const ROWS: [&str; 12] = [
    "put",
    "put with one index",
    "overwrite with one index",
    "gets, pipelined",
    "getAll",
    "index cursor with values",
    "index key cursor",
    "index gets, pipelined",
    "200 transactions, relaxed",
    "200 transactions, strict",
    "index key cursor, clean",
    "slowest commit of 1,000",
];

/// With so many records, nothing is done to warm up: what a first run has beside is little of it.
pub(crate) const WARM_BELOW: u32 = 1_000_000;

/// The number of the first run: run 0 warms up.
pub(crate) fn first_run(records: u32) -> u32 {
    u32::from(records >= WARM_BELOW)
}

/// A record as the rows write it first, and as they write over it.
#[derive(Debug)]
pub(crate) struct Record {
    /// Its key: 0, 1, 2, …
    pub(crate) key: u32,
    /// The value and what the index finds it by: every number below that of the records once, scattered.
    pub(crate) first: Value,
    /// Another value and index key.
    pub(crate) second: Value,
}

impl Record {
    /// What is written, first or over it.
    pub(crate) const fn value(&self, second: bool) -> &Value {
        match second {
            false => &self.first,
            true => &self.second,
        }
    }
}

/// What a record holds.
#[derive(Debug)]
pub(crate) struct Value {
    pub(crate) index_key: u32,
    pub(crate) bytes: Vec<u8>,
}

/// Records of one size.
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) records: Vec<Record>,
    /// More records, for the one-put transactions.
    pub(crate) singles: Vec<Record>,
    /// Every key once, scattered: the order of the gets.
    pub(crate) order: Vec<u32>,
    /// What the process had in memory when this was made.
    resident_mib: f64,
}

impl Workload {
    /// So many records in each row but the last two. `encode` makes a value of an index key and a text of so many letters.
    ///
    /// # Panics
    /// If `records` is a multiple of a prime by which they are scattered.
    pub(crate) fn new(
        records: u32,
        text_len: usize,
        encode: impl Fn(u32, &str) -> Vec<u8>,
    ) -> Self {
        for factor in [INDEX_FACTOR, GET_FACTOR] {
            assert!(
                !records.is_multiple_of(factor),
                "{records} records are a multiple of {factor}"
            );
        }
        let scattered =
            |n: u32, factor: u32| (u64::from(n) * u64::from(factor) % u64::from(records)) as u32;
        let mut letters = Letters(1);
        let mut value = |index_key: u32| Value {
            index_key,
            bytes: encode(index_key, &letters.text(text_len)),
        };
        let mut record = |key: u32| Record {
            key,
            first: value(scattered(key, INDEX_FACTOR)),
            second: value(scattered(key + 1, INDEX_FACTOR)),
        };
        Self {
            records: (0..records).map(&mut record).collect(),
            singles: (records..records + SINGLES).map(record).collect(),
            order: (0..records).map(|n| scattered(n, GET_FACTOR)).collect(),
            resident_mib: memory_mib("VmRSS:"),
        }
    }
}

/// Letters that compress little.
struct Letters(u64);

impl Letters {
    fn text(&mut self, len: usize) -> String {
        let letter = |_| {
            // MINSTD, as in page.js.
            self.0 = self.0 * 48_271 % 2_147_483_647;
            char::from(b'A' + (self.0 % 58) as u8)
        };
        (0..len).map(letter).collect()
    }
}

/// Something that stores records.
pub(crate) trait Subject {
    /// Makes what the host of [`Subject::put`] has at hand before it begins; nothing is measured yet.
    fn prepare(&mut self, _records: &[Record], _second: bool) {}
    /// Writes all in one relaxed transaction: `first` of each record, or `second`.
    fn put(&mut self, records: &[Record], second: bool);
    /// Gets records by key, all asked for at once: bytes of the values.
    fn gets(&mut self, order: &[u32]) -> usize;
    /// All records in one piece: bytes of the values.
    fn get_all(&mut self) -> usize;
    /// A cursor over the index with the values: bytes of the values.
    fn index_cursor(&mut self) -> usize;
    /// A cursor over the index without the values: how many.
    fn index_key_cursor(&mut self) -> usize;
    /// Gets records by index key: bytes of the values.
    fn index_gets(&mut self, order: &[u32]) -> usize;
    /// Writes one record in a transaction of its own and waits for its end: `first` relaxed, `second` strict (a store may notice
    /// that it has been given what it has).
    fn put_one(&mut self, record: &Record, strict: bool);
}

/// How long something took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Time {
    pub(crate) wall_ms: f64,
    /// CPU time of the whole process.
    pub(crate) cpu_ms: f64,
}

/// Runs `work`.
pub(crate) fn measured<T>(work: impl FnOnce() -> T) -> (T, Time) {
    let (wall, cpu) = (Instant::now(), cpu_ms());
    let done = work();
    let time = Time {
        wall_ms: wall.elapsed().as_secs_f64() * 1e3,
        cpu_ms: cpu_ms() - cpu,
    };
    (done, time)
}

/// What a row took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    pub(crate) time: Time,
    /// The most that the process had in memory meanwhile, beside the workload. 0 where the system does not say.
    pub(crate) peak_mib: f64,
}

/// A line of JSON with what a column took for a row.
pub(crate) fn line(column: &str, bytes: usize, row: &str, Cost { time, peak_mib }: Cost) -> String {
    serde_json::json!([column, bytes, row, time.wall_ms, time.cpu_ms, peak_mib]).to_string()
}

impl Workload {
    /// Runs `work`.
    fn costs<T>(&self, work: impl FnOnce() -> T) -> (T, Cost) {
        // The greatest memory is counted anew from here on.
        let _ = fs::write("/proc/self/clear_refs", "5");
        let (done, time) = measured(work);
        let peak_mib = memory_mib("VmHWM:") - self.resident_mib;
        (done, Cost { time, peak_mib })
    }
}

/// A line of what Linux says of the process.
fn memory_mib(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

fn cpu_ms() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Does every row once in a new folder; `make` opens an empty store there, with or without the index. The costs are in the order of
/// [`ROWS`].
///
/// # Panics
/// If the subject does not find what it was given.
pub(crate) fn run<S: Subject>(
    dir: &Path,
    workload: &Workload,
    mut make: impl FnMut(&Path, bool) -> S,
) -> Vec<Cost> {
    let mut costs = Vec::new();
    let plain = dir.join("plain");
    fs::create_dir_all(&plain).unwrap();
    let mut subject = make(&plain, false);
    let mut put = |subject: &mut S, second| {
        subject.prepare(&workload.records, second);
        costs.push(workload.costs(|| subject.put(&workload.records, second)).1);
    };
    put(&mut subject, false);
    let mut last_rows = Vec::new();
    let mut slowest = Cost::default();
    for begun in (0..=SLOWEST_OF).step_by(workload.singles.len()) {
        let strict = begun >= SLOWEST_OF;
        subject.prepare(&workload.singles, strict);
        let mut slowest_ms = 0_f64;
        let all = || {
            for record in &workload.singles {
                let begun = Instant::now();
                subject.put_one(record, strict);
                slowest_ms = slowest_ms.max(begun.elapsed().as_secs_f64() * 1e3);
            }
        };
        let ((), cost) = workload.costs(all);
        if begun == 0 || strict {
            last_rows.push(cost);
        }
        if !strict && slowest_ms > slowest.time.wall_ms {
            slowest = cost;
            slowest.time.wall_ms = slowest_ms;
            slowest.time.cpu_ms = slowest_ms;
        }
    }
    drop(subject);

    let indexed = dir.join("indexed");
    fs::create_dir_all(&indexed).unwrap();
    let mut subject = make(&indexed, true);
    put(&mut subject, false);
    let (count, clean) = workload.costs(|| black_box(subject.index_key_cursor()));
    assert_eq!(count, workload.records.len());
    last_rows.push(clean);
    put(&mut subject, true);
    let bytes: usize = (workload.records.iter())
        .map(|record| record.second.bytes.len())
        .sum();
    let mut read = |expected: usize, work: &mut dyn FnMut(&mut S) -> usize| {
        let (found, cost) = workload.costs(|| black_box(work(&mut subject)));
        assert_eq!(found, expected);
        costs.push(cost);
    };
    read(bytes, &mut |subject| subject.gets(&workload.order));
    read(bytes, &mut S::get_all);
    read(bytes, &mut S::index_cursor);
    read(workload.records.len(), &mut S::index_key_cursor);
    read(bytes, &mut |subject| subject.index_gets(&workload.order));
    drop(subject);
    fs::remove_dir_all(dir).unwrap();
    costs.extend(last_rows.into_iter().chain([slowest]));
    costs
}
