//! Cases that are known to be slow elsewhere: objects with many index entries each, counting large records, the first of many by cursor.

use std::path::Path;
use std::sync::Arc;

use larder_idb::{
    Connection, CursorDirection, DiskFileSystem, IndexParameters, Key, KeyPath, KeyRange,
    ObjectStoreParameters, Origin, Storage, StorageOptions, TransactionMode, TransactionOptions,
    Value,
};

use crate::rows::{Time, measured};
use crate::table::{goal, median};
use larder_backing_store::FixedClock;

const COUNTED: u32 = 200_000;
/// Bytes of a counted record.
const LARGE: usize = 1024;
const PER_TRANSACTION: u32 = 10_000;

#[derive(serde::Serialize)]
struct Tagged {
    tags: Vec<u32>,
}

pub(crate) fn all(dir: &Path, runs: usize) {
    let dir = dir.join("slow");
    let options = StorageOptions::new(
        Arc::new(DiskFileSystem::new()),
        &dir,
        Arc::new(FixedClock::default()),
    );
    let storage = Storage::new(options).unwrap();
    let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
    let request = factory.open("d", Some(1)).unwrap();
    let opened = request.with_upgrade(|upgrade| {
        let transaction = &upgrade.transaction;
        let parameters = ObjectStoreParameters::default();
        transaction.create_object_store("large", parameters.clone())?;
        let tagged = transaction.create_object_store("tagged", parameters)?;
        let options = IndexParameters::new().multi_entry(true);
        tagged.create_index("by tag", KeyPath::String("tags".into()), options)?;
        Ok(())
    });
    let connection = opened.wait().unwrap();
    many_entries(&connection, runs);
    fill(&connection);
    count_and_first(&connection, runs);
    connection.close();
    storage.close().unwrap();
}

/// Does the work once to warm up and so many times more; prints the medians and whether the goal is met.
fn timed(what: &str, max_ms: f64, runs: usize, mut work: impl FnMut()) {
    let times: Vec<Time> = (0..=runs).map(|_| measured(&mut work).1).collect();
    let of = |part: fn(&Time) -> f64| {
        let samples: Vec<f64> = times[1..].iter().map(part).collect();
        median(&samples).unwrap()
    };
    println!("{what}: {:.2} ms of CPU", of(|time| time.cpu_ms));
    goal(what, of(|time| time.wall_ms), "<", max_ms, " ms");
}

fn many_entries(connection: &Connection, runs: usize) {
    let mut first = 0;
    let what = "1,000 objects with 100 multiEntry keys each, put";
    timed(what, 50.0, runs, || {
        let options = TransactionOptions::default();
        let transaction = connection.transaction(["tagged"], TransactionMode::ReadWrite, options);
        let transaction = transaction.unwrap();
        let store = transaction.object_store("tagged").unwrap();
        for n in 0..1000 {
            let tags = (0..100).map(|tag| (n * 37 + tag * 101) % 10_000).collect();
            let value = Value::serialize(&Tagged { tags }).unwrap();
            let key = Some(Key::Number(f64::from(first + n)));
            store.put(value, key).unwrap().detach();
        }
        transaction.commit().unwrap().wait().unwrap();
        // Every run writes new records.
        first += 1000;
    });
}

fn fill(connection: &Connection) {
    let value = Value::serialize(&"x".repeat(LARGE)).unwrap();
    for first in (0..COUNTED).step_by(PER_TRANSACTION as usize) {
        let options = TransactionOptions::default();
        let transaction = connection.transaction(["large"], TransactionMode::ReadWrite, options);
        let transaction = transaction.unwrap();
        let store = transaction.object_store("large").unwrap();
        for n in first..first + PER_TRANSACTION {
            let key = Some(Key::Number(f64::from(n)));
            store.put(value.clone(), key).unwrap().detach();
        }
        transaction.commit().unwrap().wait().unwrap();
    }
}

fn count_and_first(connection: &Connection, runs: usize) {
    let options = TransactionOptions::default();
    let transaction = connection.transaction(["large"], TransactionMode::ReadOnly, options);
    let transaction = transaction.unwrap();
    let store = transaction.object_store("large").unwrap();
    timed("count of 200,000 records of 1 KiB", 20.0, runs, || {
        let count = store.count(KeyRange::all()).unwrap().wait().unwrap();
        assert_eq!(count, u64::from(COUNTED));
    });
    timed("the first of 100,000 by cursor", 1.0, runs, || {
        let range = KeyRange::lower_bound(Key::Number(f64::from(COUNTED / 2)), false);
        let opened = store.open_cursor(range, CursorDirection::Next);
        assert!(opened.unwrap().wait().unwrap().is_some());
    });
}
