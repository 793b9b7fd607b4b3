//! What a change feed costs: the same puts in a database that has one and in one that has none, side by side; then replay and clean-up.
//!
//! `cargo bench -p larder-feed [-- SECTION]`, where SECTION is one of puts, replay, clean; all without one. Times are processor time of the
//! process, the engine's thread included. The storage is in memory and executes where it is called; values are made beforehand.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that measures and prints"
)]

use std::future::Future;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use larder_feed::{CleanUp, Feed, ReadOptions};
use larder_idb::{
    Connection, Executor, IndexParameters, ObjectStoreParameters, Origin, Storage, StorageOptions,
    SystemClock, TransactionMode, TransactionOptions, Value,
};
use rustix::time::{ClockId, clock_gettime};

/// Puts to a transaction.
const TRANSACTION_LEN: u32 = 100;
/// Puts to a measurement.
const ROUND_LEN: u32 = 10_000;
const ROUNDS: u32 = 9;
const REPLAYED: u32 = 1_000_000;
const OVERWRITTEN: u32 = 100_000;

/// Processor time so far: of the process, the engine's thread included, or of this thread.
fn cpu(clock: ClockId) -> Duration {
    let now = clock_gettime(clock);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

struct Database {
    storage: Storage,
    connection: Connection,
}

impl Database {
    fn new(is_tracked: bool, has_index: bool) -> Self {
        let mut options = StorageOptions::in_memory(Arc::new(SystemClock));
        options.executor = Executor::Driven { seed: None };
        let storage = Storage::new(options).unwrap();
        let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
        let opening = factory.open("db", Some(1)).unwrap();
        let opening = opening.with_upgrade(move |upgrade| {
            let transaction = &upgrade.transaction;
            let store = transaction.create_object_store("s", ObjectStoreParameters::new())?;
            if has_index {
                store.create_index("by group", "group", IndexParameters::new())?;
            }
            transaction.set_change_feed(is_tracked)
        });
        let connection = opening.wait().unwrap();
        Self {
            storage,
            connection,
        }
    }

    /// Puts records with these numbers as keys: how long a put takes, in nanoseconds.
    fn put(&self, keys: Range<u32>, len_bytes: usize) -> f64 {
        let count = keys.len() as f64;
        let mut values: Vec<_> = keys.clone().map(|key| value(key, len_bytes)).collect();
        let mut values = values.drain(..);
        let begun = cpu(ClockId::ProcessCPUTime);
        for start in keys.clone().step_by(TRANSACTION_LEN as usize) {
            let options = TransactionOptions::default();
            let mode = TransactionMode::ReadWrite;
            let transaction = self.connection.transaction(["s"], mode, options).unwrap();
            let store = transaction.object_store("s").unwrap();
            for key in start..keys.end.min(start + TRANSACTION_LEN) {
                let put = store.put(values.next().unwrap(), Some(f64::from(key).into()));
                put.unwrap().detach();
            }
            transaction.commit().unwrap().wait().unwrap();
        }
        (cpu(ClockId::ProcessCPUTime) - begun).as_nanos() as f64 / count
    }

    /// Does what there is to do until a future is ready.
    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
                return result;
            }
            assert!(self.storage.run_one(), "nothing is left to be done");
        }
    }

    fn feed(&self) -> Feed {
        Feed::of(&self.connection).unwrap()
    }
}

/// A value of so many bytes, and a few for the index.
fn value(key: u32, len_bytes: usize) -> Value {
    let text = "x".repeat(len_bytes - 30);
    Value::serialize(&serde_json::json!({ "group": key % 1000, "text": text })).unwrap()
}

fn puts() {
    println!(
        "puts, {TRANSACTION_LEN} to a transaction: ns without a feed, ns with one, their ratio; medians of {ROUNDS} pairs"
    );
    for has_index in [false, true] {
        for len_bytes in [100, 1024] {
            let [plain, tracked] = [false, true].map(|is_tracked| {
                let database = Database::new(is_tracked, has_index);
                // What the first transactions alone do.
                database.put(0..ROUND_LEN, len_bytes);
                database
            });
            let index = if has_index { "one index" } else { "no index" };
            for what in ["new", "overwrite"] {
                let (mut costs, mut tracked_costs, mut ratios) = (vec![], vec![], vec![]);
                for round in 1..=ROUNDS {
                    // The same keys, once new and once there.
                    let start = round * ROUND_LEN;
                    let keys = start..start + ROUND_LEN;
                    let cost = plain.put(keys.clone(), len_bytes);
                    let tracked_cost = tracked.put(keys, len_bytes);
                    costs.push(cost);
                    tracked_costs.push(tracked_cost);
                    ratios.push(tracked_cost / cost);
                }
                println!(
                    "{what:9} {len_bytes:4} B, {index:9} {:6.0} {:6.0}  {:.2}",
                    median(costs),
                    median(tracked_costs),
                    median(ratios)
                );
            }
        }
    }
}

fn replay() {
    let database = Database::new(true, false);
    database.put(0..REPLAYED, 100);
    let mut reader = database.feed().read_from(0, ReadOptions::new());
    let begun = cpu(ClockId::ProcessCPUTime);
    let mut count = 0;
    while count < REPLAYED as usize {
        count += database
            .wait(reader.next())
            .unwrap()
            .unwrap()
            .revisions()
            .len();
    }
    let seconds = (cpu(ClockId::ProcessCPUTime) - begun).as_secs_f64();
    println!(
        "replay of {count} revisions without values: {:.0} a second",
        count as f64 / seconds
    );
}

/// Each record is overwritten once: its creation goes, with what it was.
fn clean() {
    let database = Database::new(true, false);
    for _ in 0..2 {
        database.put(0..OVERWRITTEN, 100);
    }
    let feed = database.feed();
    let (mut revisions, mut steps, mut seconds, mut longest) = (0, 0, 0.0, 0.0f64);
    loop {
        let begun_all = cpu(ClockId::ProcessCPUTime);
        let begun = cpu(ClockId::ThreadCPUTime);
        let cleaned = database.wait(feed.clean(CleanUp::new())).unwrap();
        // The caller waits for its own thread's work alone.
        seconds += (cpu(ClockId::ProcessCPUTime) - begun_all).as_secs_f64();
        longest = longest.max((cpu(ClockId::ThreadCPUTime) - begun).as_secs_f64());
        revisions += cleaned.revisions;
        steps += 1;
        if !cleaned.is_more {
            break;
        }
    }
    // A revision is a record of the feed, and so is what a record was.
    let records = 2 * revisions;
    println!(
        "clean-up of {records} records ({revisions} revisions and their values) in {steps} steps: {:.0} records a second, the longest step {:.1} ms",
        records as f64 / seconds,
        longest * 1e3
    );
}

fn main() {
    let section = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let sections: [(&str, fn()); 3] = [("puts", puts), ("replay", replay), ("clean", clean)];
    for (name, run) in sections {
        if section.as_deref().is_none_or(|wanted| wanted == name) {
            run();
        }
    }
}
