//! Requests, counted: taking and opening a store, gets in tables that are not cached.

use crate::ours::Host;
use larder_leveldb::storage::FileSystem;
use larder_leveldb::{Background, Db, Durability, Options as DbOptions};
use std::path::Path;
use std::sync::Arc;

/// A store of so many records of 200 bytes in tables of a size, opened anew: how many files it has, how many requests opening took, and how many each of
/// these gets.
pub(crate) fn round_trips(
    host: &Host,
    records: u32,
    table_bytes: usize,
    gets: &[u32],
) -> (usize, u64, Vec<u64>) {
    let name = format!("trips {table_bytes}");
    let fs = host.take(&name);
    let options = || DbOptions {
        create_if_missing: true,
        write_buffer_bytes: table_bytes * 2,
        table_file_bytes: table_bytes as u64,
        trusts_order: true,
        background: Background::Caller,
        ..DbOptions::default()
    };
    let db = Db::open(Arc::new(fs.clone()), Path::new("db"), options()).unwrap();
    let mut random = larder_fixtures::random::Random::new(1);
    let key = |number: u32| number.wrapping_mul(2_654_435_761).to_be_bytes();
    for number in 0..records {
        let value: Vec<u8> = (0..200).map(|_| random.next() as u8).collect();
        db.put(&key(number), &value, Durability::Relaxed).unwrap();
    }
    db.compact_range(None, None).unwrap();
    drop(db);
    let files = fs.list(Path::new("db")).unwrap().len();
    fs.close().unwrap();
    let requests = || host.cluster.statistics().requests();
    let before = requests();
    let fs = host.take(&name);
    let db = Db::open(Arc::new(fs.clone()), Path::new("db"), options()).unwrap();
    let opened = requests() - before;
    let trips = gets.iter().map(|number| {
        let before = requests();
        assert!(db.get(&key(*number)).unwrap().is_some());
        requests() - before
    });
    let trips = trips.collect();
    drop(db);
    fs.close().unwrap();
    (files, opened, trips)
}
