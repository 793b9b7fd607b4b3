//! What a change feed costs: the same puts in a database that has one and in one that has none, side by side; then replay, clean-up,
//! the comparison with what others may have changed, and how long a reader waits that follows live.
//!
//! `cargo bench -p larder-feed [-- SECTION]`, where SECTION is one of puts, replay, clean, others, live; all without one. Times are processor time of the
//! process, the engine's thread included. The storage is in memory and executes where it is called; values are made beforehand.
//!
//! `cargo bench -p larder-feed -- growth [SVG]` measures feeds of 10,000 to 10,000,000 revisions and draws the plot: minutes, and 5 GB in the
//! temporary directory.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

mod growth;
#[path = "../../../leveldb/benches/engine/plot.rs"]
mod plot;

use std::future::Future;
use std::ops::Range;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures_executor::block_on;
use larder_backing_store::{BackingStore, StorePaths, WriteOptions};
use larder_feed::{CleanUp, Feed, ReadOptions};
use larder_fixtures::random::Random;
use larder_idb::codec::DatabaseId;
use larder_idb::{
    Connection, Executor, IndexParameters, ObjectStoreParameters, Origin, Storage, StorageOptions,
    SystemClock, TransactionMode, TransactionOptions, Value,
};
use larder_leveldb::storage::{CrashImage, MemoryFileSystem};
use rustix::time::{ClockId, clock_gettime};

/// Puts to a transaction.
const TRANSACTION_LEN: u32 = 100;
/// Puts to a measurement.
const ROUND_LEN: u32 = 10_000;
const ROUNDS: u32 = 9;
const REPLAYED: u32 = 1_000_000;
const OVERWRITTEN: u32 = 100_000;
const FOLLOWED: u32 = 10_000;

/// Processor time of the process so far, the engine's thread included.
fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
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
        Self::executed(is_tracked, has_index, Executor::Driven { seed: None })
    }

    fn executed(is_tracked: bool, has_index: bool, executor: Executor) -> Self {
        let mut options = StorageOptions::in_memory(Arc::new(SystemClock));
        options.executor = executor;
        Self::with(options, is_tracked, has_index)
    }

    fn with(options: StorageOptions, is_tracked: bool, has_index: bool) -> Self {
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
    fn put(&self, keys: Range<u32>, turn: u32, len_bytes: usize) -> f64 {
        let count = keys.len() as f64;
        let values = keys.clone().map(|key| value(key, turn, len_bytes));
        let mut values: Vec<_> = values.collect();
        let mut values = values.drain(..);
        let begun = cpu();
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
        (cpu() - begun).as_nanos() as f64 / count
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

/// A value of so many bytes, and a few for the index: letters in no order, as a text that hardly repeats itself, and another one each time.
fn value(key: u32, turn: u32, len_bytes: usize) -> Value {
    let mut random = Random::new(u64::from(key) << 32 | u64::from(turn));
    let letters = (0..len_bytes - 30).map(|_| char::from(b'a' + random.below(26) as u8));
    let text: String = letters.collect();
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
                database.put(0..ROUND_LEN, 0, len_bytes);
                database
            });
            let index = if has_index { "one index" } else { "no index" };
            for (turn, what) in (1..).zip(["new", "overwrite"]) {
                let (mut costs, mut tracked_costs, mut ratios) = (vec![], vec![], vec![]);
                for round in 1..=ROUNDS {
                    // These keys, once new and once there.
                    let start = round * ROUND_LEN;
                    let keys = start..start + ROUND_LEN;
                    let cost = plain.put(keys.clone(), turn, len_bytes);
                    let tracked_cost = tracked.put(keys, turn, len_bytes);
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
    database.put(0..REPLAYED, 0, 100);
    let mut reader = database.feed().read_from(0, ReadOptions::new());
    let begun = cpu();
    let mut count = 0;
    while count < REPLAYED as usize {
        count += database
            .wait(reader.next())
            .unwrap()
            .unwrap()
            .revisions()
            .len();
    }
    let seconds = (cpu() - begun).as_secs_f64();
    println!(
        "replay of {count} revisions without values: {:.0} a second",
        count as f64 / seconds
    );
}

/// Each record is overwritten once: its creation goes, with what it was. The engine has its thread, as usual: what it merges meanwhile is
/// in the rate, but no part of a step.
fn clean() {
    let database = Database::executed(true, false, Executor::default());
    for turn in 0..2 {
        database.put(0..OVERWRITTEN, turn, 100);
    }
    let feed = database.feed();
    let (mut revisions, mut steps, mut waits) = (0, Vec::new(), Vec::new());
    let begun_all = cpu();
    loop {
        let (begun, begun_cpu) = (Instant::now(), cpu());
        let cleaned = block_on(feed.clean(CleanUp::new())).unwrap();
        waits.push(begun.elapsed().as_secs_f64() * 1e3);
        steps.push((cpu() - begun_cpu).as_secs_f64() * 1e3);
        revisions += cleaned.revisions;
        if !cleaned.is_more {
            break;
        }
    }
    let seconds = (cpu() - begun_all).as_secs_f64();
    // A revision is a record of the feed, and so is what a record was.
    let records = 2 * revisions;
    println!(
        "clean-up of {records} records ({revisions} revisions and their values) in {} steps: {:.0} records a second of processor time",
        steps.len(),
        records as f64 / seconds,
    );
    for (what, mut times) in [
        ("processor time of all threads", steps),
        ("the clock", waits),
    ] {
        times.sort_by(f64::total_cmp);
        let part = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
        println!(
            "a step by {what}: {:.2} ms (median), {:.2} ms (99 of 100), {:.2} ms (the longest)",
            part(0.5),
            part(0.99),
            part(1.0)
        );
    }
}

/// Opening a store whose feed is to be compared with its records, beside one that was not written to since it was closed.
fn others() {
    let fs = MemoryFileSystem::new();
    let options = |fs: &MemoryFileSystem| {
        let mut options =
            StorageOptions::new(Arc::new(fs.clone()), "/store", Arc::new(SystemClock));
        options.executor = Executor::Driven { seed: None };
        options
    };
    let database = Database::with(options(&fs), true, false);
    database.put(0..REPLAYED, 0, 100);
    let crashed = fs.crash_image(CrashImage::KeepWritten);
    database.storage.close().unwrap();
    for (what, fs) in [("closed", fs), ("crashed", crashed)] {
        // What is to be recovered from logs is not what is measured.
        let paths = StorePaths::of_leveldb("/store/https_a.example_0.indexeddb.leveldb".as_ref());
        let origin = Origin::from_url("https://a.example").unwrap();
        let options = WriteOptions::new(origin, Arc::new(SystemClock));
        let store = BackingStore::open(Arc::new(fs), paths, options).unwrap();
        let begun = cpu();
        let done = store.catch_up(DatabaseId::MIN).unwrap();
        let ms = (cpu() - begun).as_secs_f64() * 1e3;
        println!("a feed of {REPLAYED} records, {what}: {ms:.2} ms ({done:?})");
        store.close().unwrap();
    }
}

/// A reader that follows: from the end of a commit until it has the batch.
fn live() {
    let database = Database::new(true, false);
    let mut reader = database.feed().read_from(0, ReadOptions::new());
    let mut times = Vec::new();
    for key in 0..FOLLOWED {
        database.put(key..key + 1, 0, 100);
        let begun = Instant::now();
        let batch = database.wait(reader.next_live()).unwrap();
        times.push(begun.elapsed().as_secs_f64() * 1e6);
        assert_eq!(batch.revisions().len(), 1);
    }
    println!(
        "following live: {:.1} microseconds by the clock from the end of a commit to its batch; median of {FOLLOWED}",
        median(times)
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let section = arguments.next();
    let sections: [(&str, fn()); 5] = [
        ("puts", puts),
        ("replay", replay),
        ("clean", clean),
        ("others", others),
        ("live", live),
    ];
    if section.as_deref() == Some("growth") {
        growth::run(arguments.next().as_deref().map(Path::new));
    }
    for (name, run) in sections {
        if section.as_deref().is_none_or(|wanted| wanted == name) {
            run();
        }
    }
}
