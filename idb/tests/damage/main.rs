//! Golden stores whose rows of metadata are damaged one at a time. Through the public interface that is an error that reports the
//! damage, or it is what the rows say. It is never a panic, nothing is deleted, and the other databases stay as they are.
//!
//! Up to 60 of a store's rows are damaged; `LARDER_DAMAGES=20` makes that 1,200, each row several times if there are fewer;
//! `LARDER_SEED` chooses other rows and damages.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail like tests, and tell what they did"
)]

mod contradictions;
mod damage;
mod deletion;
mod golden;
mod look;
mod write;

use std::collections::BTreeSet;
use std::sync::Arc;

use larder_fixtures::random::Random;
use larder_idb::{Executor, Factory, FixedClock, Storage, StorageOptions};
use larder_leveldb::storage::MemoryFileSystem;

use damage::damages;
use golden::Golden;
use look::{Found, look};

/// The golden store's databases, read and written step by step by this thread alone.
fn open(golden: &Golden, fs: &MemoryFileSystem) -> (Storage, Factory) {
    let mut options =
        StorageOptions::new(Arc::new(fs.clone()), "idb", Arc::new(FixedClock::default()));
    options.executor = Executor::Driven { seed: None };
    let storage = Storage::new(options).unwrap();
    let factory = storage.factory(&golden.origin);
    (storage, factory)
}

/// So many damages of each store, if it has as many rows.
const DAMAGES: usize = 60;

fn setting<T: std::str::FromStr<Err: std::fmt::Debug>>(name: &str, default: T) -> T {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Every `shards`th golden store.
fn check(shard: usize, shards: usize) {
    let times: usize = setting("LARDER_DAMAGES", 1);
    let seed: u64 = setting("LARDER_SEED", 1);
    println!("seed {seed}");
    let (mut count, mut refused) = (0, 0);
    let fixtures = larder_fixtures::all().into_iter().enumerate();
    for (number, fixture) in fixtures.filter(|(number, _)| number % shards == shard) {
        let golden = Golden::of(&fixture);
        let whole = look_at(&golden, &golden.copy());
        assert!(
            whole
                .values()
                .all(|found| !matches!(found, Found::Error(_))),
            "{}: {whole:?}",
            fixture.name
        );
        let mut random = Random::new(seed ^ ((number as u64) << 32));
        for damage in damages(&golden, &mut random, DAMAGES * times) {
            let what = format!("{}: {damage:?}", fixture.name);
            let fs = golden.copy();
            let rows = golden.apply(&fs, &damage);
            let affected = golden.affected(&damage);
            let found = look_at(&golden, &fs);
            compare(&whole, &found, &affected, &what);
            golden.check_kept(&fs, &rows, &what);
            let (storage, factory) = open(&golden, &fs);
            for name in &affected.names {
                write::write(&storage, &factory, name, &what);
            }
            storage.close().unwrap();
            compare(&whole, &look_at(&golden, &fs), &affected, &what);
            count += 1;
            refused += u64::from(found.values().any(|found| matches!(found, Found::Error(_))));
        }
    }
    println!("{count} damages, {refused} told");
    assert!(count > 100 && refused * 4 > count, "{refused} of {count}");
}

fn look_at(golden: &Golden, fs: &MemoryFileSystem) -> look::Contents {
    let (storage, factory) = open(golden, fs);
    let contents = look(&storage, &factory, &golden.names);
    storage.close().unwrap();
    contents
}

/// Others are as they were; those that are affected are an error that names a row, or are there, or not any more.
fn compare(
    whole: &look::Contents,
    found: &look::Contents,
    affected: &golden::Affected,
    what: &str,
) {
    let mut differing = BTreeSet::new();
    for (name, found) in found {
        let before = whole.get(name);
        if let Found::Error(error) = found {
            assert!(!error.contains("panicked"), "{what}: {error}");
            assert!(error.contains("(row ") || affected.all, "{what}: {error}");
        }
        // One that is not there may be refused the id that another seems to have.
        let is_refused = before == Some(&Found::Nothing) && matches!(found, Found::Error(_));
        let is_other = !affected.all && !affected.names.contains(name);
        if is_other && before != Some(found) && !is_refused {
            differing.insert((name, found));
        }
    }
    assert!(differing.is_empty(), "{what}: {differing:?}");
}

#[test]
fn damaged_metadata_is_reported_or_read_and_harms_no_other_database_1() {
    check(0, 4);
}

#[test]
fn damaged_metadata_is_reported_or_read_and_harms_no_other_database_2() {
    check(1, 4);
}

#[test]
fn damaged_metadata_is_reported_or_read_and_harms_no_other_database_3() {
    check(2, 4);
}

#[test]
fn damaged_metadata_is_reported_or_read_and_harms_no_other_database_4() {
    check(3, 4);
}
