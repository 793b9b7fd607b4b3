//! What is measured: ten rows, the same for everything that stores records and has an index over them.
//!
//! The program of the peers (`peers/`) includes this file, too.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// Records in each row but the last two.
pub(crate) const RECORDS: u32 = 10_000;
/// One-put transactions in each of the last two rows.
pub(crate) const SINGLES: u32 = 200;
/// Bytes of a record's value.
pub(crate) const SIZES: [usize; 2] = [100, 1024];

/// The rows' names, in the order in which they are done.
pub(crate) const ROWS: [&str; 10] = [
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
];

/// A record as the rows write it first, and as they write over it.
#[derive(Debug)]
pub(crate) struct Record {
    /// Its key: 0, 1, 2, …
    pub(crate) key: u32,
    /// The value and what the index finds it by: every number below [`RECORDS`] once, scattered.
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
}

impl Workload {
    /// `encode` makes a value of an index key and a text of so many letters.
    pub(crate) fn new(text_len: usize, encode: impl Fn(u32, &str) -> Vec<u8>) -> Self {
        let mut letters = Letters(1);
        let mut value = |index_key: u32| Value {
            index_key,
            bytes: encode(index_key, &letters.text(text_len)),
        };
        let mut record = |key: u32| Record {
            key,
            first: value(scattered(key, 7919)),
            second: value(scattered(key + 1, 7919)),
        };
        Self {
            records: (0..RECORDS).map(&mut record).collect(),
            singles: (RECORDS..RECORDS + SINGLES).map(record).collect(),
            order: (0..RECORDS).map(|n| scattered(n, 4271)).collect(),
        }
    }
}

/// Different for different `n` below [`RECORDS`], since `factor` is a prime.
fn scattered(n: u32, factor: u32) -> u32 {
    (u64::from(n) * u64::from(factor) % u64::from(RECORDS)) as u32
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
#[derive(Debug, Clone, Copy)]
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

fn cpu_ms() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Does every row once in a new folder; `make` opens an empty store there, with or without the index. The times are in the order of
/// [`ROWS`].
///
/// # Panics
/// If the subject does not find what it was given.
pub(crate) fn run<S: Subject>(
    dir: &Path,
    workload: &Workload,
    mut make: impl FnMut(&Path, bool) -> S,
) -> Vec<Time> {
    let mut times = Vec::new();
    let plain = dir.join("plain");
    fs::create_dir_all(&plain).unwrap();
    let mut subject = make(&plain, false);
    let mut put = |subject: &mut S, second| {
        subject.prepare(&workload.records, second);
        times.push(measured(|| subject.put(&workload.records, second)).1);
    };
    put(&mut subject, false);
    let mut singles = Vec::new();
    for strict in [false, true] {
        subject.prepare(&workload.singles, strict);
        let all = || {
            let records = workload.singles.iter();
            records.for_each(|record| subject.put_one(record, strict));
        };
        singles.push(measured(all).1);
    }
    drop(subject);

    let indexed = dir.join("indexed");
    fs::create_dir_all(&indexed).unwrap();
    let mut subject = make(&indexed, true);
    put(&mut subject, false);
    put(&mut subject, true);
    let bytes: usize = (workload.records.iter())
        .map(|record| record.second.bytes.len())
        .sum();
    let mut read = |expected: usize, work: &mut dyn FnMut(&mut S) -> usize| {
        let (found, time) = measured(|| black_box(work(&mut subject)));
        assert_eq!(found, expected);
        times.push(time);
    };
    read(bytes, &mut |subject| subject.gets(&workload.order));
    read(bytes, &mut S::get_all);
    read(bytes, &mut S::index_cursor);
    read(workload.records.len(), &mut S::index_key_cursor);
    read(bytes, &mut |subject| subject.index_gets(&workload.order));
    drop(subject);
    fs::remove_dir_all(dir).unwrap();
    times.extend(singles);
    times
}
