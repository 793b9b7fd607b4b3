//! Long use: threads that open, write, read, upgrade, delete and close databases of several origins, beside a model. What is
//! read is always what the model has; and files, threads, memory and disk stay what they were, however long it goes on.
//!
//! `LARDER_SOAK_MINUTES` says how long it goes on; without it each thread makes a small number of visits. `LARDER_SEED` says what
//! they do. In minutes the command is `cargo test --release -p larder-models --test long_use -- --nocapture`.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail and print, and take threads, files and time as they are"
)]

mod machine;
mod model;
mod visit;

use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_fixtures::random::Random;
use larder_idb::{DiskFileSystem, Storage, StorageOptions, SystemClock};
use machine::Machine;
use model::Model;
use visit::Until;

/// Threads of the host, each with connections of its own.
const THREADS: u64 = 6;
/// So often everything is closed, measured, opened again and read whole.
const ROUNDS: u64 = 12;
/// Visits of a thread in a round, if no time is given.
const VISITS: u64 = 6;
/// Closing takes no longer than this, if a time is given.
const CLOSE_MAX: Duration = Duration::from_secs(2);

fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().unwrap())
}

fn open(folder: &std::path::Path) -> Storage {
    let (files, clock) = (Arc::new(DiskFileSystem::new()), Arc::new(SystemClock));
    let mut options = StorageOptions::new(files, folder, clock);
    // Small enough that tables are made and compacted all the time.
    options.write_buffer_bytes = 512 << 10;
    options.transaction_memory_bytes = 256 << 10;
    Storage::new(options).unwrap()
}

#[test]
fn what_is_there_after_long_use_is_what_the_model_has_and_nothing_grows() {
    let minutes = number("LARDER_SOAK_MINUTES");
    let seed = number("LARDER_SEED").unwrap_or(1);
    println!("LARDER_SEED={seed}, {minutes:?} minutes");
    let dir = tempfile::tempdir().unwrap();
    let model = Model::new();
    let mut storage = open(dir.path());
    let mut seen: Vec<Machine> = Vec::new();
    for round in 0..ROUNDS {
        let until = match minutes {
            Some(minutes) => Until::Time(Instant::now() + Duration::from_secs(minutes * 60) / 12),
            None => Until::Visits(VISITS),
        };
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (storage, model) = (&storage, &model);
                let random = Random::new(seed ^ (round << 32) ^ (thread << 48));
                scope.spawn(move || visit::visit(storage, model, random, until));
            }
        });
        let before = Machine::now(dir.path());
        let begin = Instant::now();
        storage.close().unwrap();
        let took = begin.elapsed();
        let after = Machine::now(dir.path());
        println!("round {round}: {model}; open: {before}; closed in {took:.2?}: {after}");
        if minutes.is_some() {
            assert!(took < CLOSE_MAX, "closed in {took:?}");
        }
        after.check_blobs(dir.path(), &model);
        storage = open(dir.path());
        model.check_all(&storage);
        seen.push(after);
    }
    // The first rounds fill the databases.
    let (first, last) = (&seen[2], &seen[seen.len() - 1]);
    last.check_no_more_than(first);
    storage.close().unwrap();
}
