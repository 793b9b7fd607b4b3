//! Operations of transactions that write, against a reference in plain maps.
//!
//! A run is a list of transactions, each a list of four numbers that say what is done and to what. Both sides do it; what
//! they answer is compared at once, and everything there is after each transaction, committed or rolled back.

mod cursors;
mod edges;
mod model;
mod run;

use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{Background, BackingStore, Clock, StorePaths, WriteOptions};
use larder_codec::{IdbKey, Origin};
use larder_leveldb::storage::MemoryFileSystem;
use quickcheck::{Gen, QuickCheck};

use run::{Run, Step};

#[derive(Debug)]
struct Stopped;

impl Clock for Stopped {
    fn now_us(&self) -> i64 {
        13_400_000_000_000_000
    }
}

/// Opens the store, or makes it.
pub(crate) fn open(fs: &MemoryFileSystem) -> BackingStore {
    let origin = Origin::from_url("https://a.example").unwrap();
    let mut options = WriteOptions::new(origin, Arc::new(Stopped));
    options.create_if_missing = true;
    options.background = Background::Caller;
    // Small enough that transactions are written out of order.
    options.transaction_memory_bytes = 2 << 10;
    let paths = StorePaths::of_leveldb(Path::new("https_a.example_0.indexeddb.leveldb"));
    BackingStore::open(Arc::new(fs.clone()), paths, options).unwrap()
}

/// The bytes of a key.
pub(crate) fn bytes(key: &IdbKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}

#[test]
fn stores_do_what_maps_do() {
    fn law(transactions: Vec<Vec<Step>>) -> bool {
        let mut run = Run::new();
        for steps in &transactions {
            run.transaction(steps);
        }
        true
    }
    QuickCheck::new()
        .rng(Gen::new(40))
        .tests(60)
        .quickcheck(law as fn(Vec<Vec<Step>>) -> bool);
}
