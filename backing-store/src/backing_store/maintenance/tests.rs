//! Sweeping and compacting: what goes, what stays, and when.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use larder_codec::{DatabaseId, Origin};
use larder_leveldb::storage::MemoryFileSystem;

use super::*;
use crate::{Background, BackingStore, Clock, Scope, StorePaths, WriteOptions};

#[derive(Debug, Default)]
struct Hand(AtomicI64);

impl Clock for Hand {
    fn now_us(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct World {
    fs: MemoryFileSystem,
    clock: Arc<Hand>,
    schedule: Arc<MaintenanceSchedule>,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(Hand::default());
        clock.0.store(13_400_000_000_000_000, Ordering::Relaxed);
        Self {
            fs: MemoryFileSystem::new(),
            clock,
            schedule: Arc::default(),
        }
    }

    fn open(&self, name: &str, seed: u64) -> BackingStore {
        let mut options = WriteOptions::new(
            Origin::from_url("https://a.example").unwrap(),
            self.clock.clone(),
        );
        options.create_if_missing = true;
        options.background = Background::Caller;
        options.maintenance = Arc::clone(&self.schedule);
        options.random_seed = seed;
        let paths = StorePaths::of_leveldb(Path::new(name));
        let store = BackingStore::open(Arc::new(self.fs.clone()), paths, options).unwrap();
        // As if something had been written: without that there is no maintenance.
        store.core.settle().unwrap();
        store
    }

    fn pass(&self, micros: i64) {
        self.clock.0.fetch_add(micros, Ordering::Relaxed);
    }
}

fn finish(store: &BackingStore) -> u32 {
    let mut steps = 0;
    while store.maintain().unwrap() == Maintenance::Step {
        steps += 1;
    }
    steps
}

fn earliest(store: &BackingStore, job: Job) -> Option<i64> {
    let row = store.core.db.get(&job.key()).unwrap()?;
    Some(int::decode_exact(&row).unwrap())
}

fn put(store: &BackingStore, key: &[u8], value: &[u8]) {
    store.core.db.put(key, value, Durability::Relaxed).unwrap();
}

/// Database 1 with object store 1 and index 31: record `n` has version 2, an index row of version 2 and a stale one of
/// version 1, and the odd ones have no exists row.
fn fill(store: &BackingStore, records: u16) {
    store.create_database(&"d".into()).unwrap();
    let metadata: [(&[u8], &[u8]); 11] = [
        (&[0, 1, 0, 0, 4], &[1]),
        (&[0, 1, 0, 0, 50, 1, 0], &[0, 0x73]),
        (&[0, 1, 0, 0, 50, 1, 1], &[0, 0, 0]),
        (&[0, 1, 0, 0, 50, 1, 2], &[0]),
        (&[0, 1, 0, 0, 50, 1, 3], &[0]),
        (&[0, 1, 0, 0, 50, 1, 4], &[2]),
        (&[0, 1, 0, 0, 50, 1, 5], &[31]),
        (&[0, 1, 0, 0, 100, 1, 31, 0], &[0, 0x69]),
        (&[0, 1, 0, 0, 100, 1, 31, 1], &[0]),
        (&[0, 1, 0, 0, 100, 1, 31, 2], &[0, 0, 1, 1, 0, 0x6b]),
        (&[0, 1, 0, 0, 100, 1, 31, 3], &[0]),
    ];
    for (key, value) in metadata {
        put(store, key, value);
    }
    for n in 0..records {
        let primary: Vec<u8> = [vec![3], f64::from(n).to_le_bytes().to_vec()].concat();
        put(
            store,
            &[vec![0, 1, 1, 1], primary.clone()].concat(),
            b"\x02value",
        );
        if n.is_multiple_of(2) {
            put(store, &[vec![0, 1, 1, 2], primary.clone()].concat(), &[2]);
        }
        for (index_key, version) in [(b'a', 1), (b'b', 2)] {
            let key = [vec![0, 1, 1, 31, 1, 1, 0, index_key, 0], primary.clone()].concat();
            put(store, &key, &[vec![version], primary.clone()].concat());
        }
    }
}

/// Index rows: how many stale, how many live.
fn index_rows(store: &BackingStore) -> (usize, usize) {
    let mut iter = store.core.db.iter();
    let (mut stale, mut live) = (0, 0);
    iter.seek(&[0, 1, 1, 31, 5]).unwrap();
    while iter.valid() && iter.key().starts_with(&[0, 1, 1, 31]) {
        match iter.value().unwrap()[0] {
            1 => stale += 1,
            _ => live += 1,
        }
        iter.next().unwrap();
    }
    (stale, live)
}

#[test]
fn a_sweep_deletes_exactly_the_index_rows_whose_exists_row_has_another_version() {
    for seed in 0..4 {
        let world = World::new();
        let store = world.open("a", seed);
        fill(&store, 1500);
        assert_eq!(index_rows(&store), (1500, 1500));
        // 3000 rows are three rounds, and one call looks once more and finds nothing.
        assert_eq!(store.maintain().unwrap(), Maintenance::Step);
        assert_eq!(index_rows(&store), (1500, 1500));
        assert_eq!(store.maintain().unwrap(), Maintenance::Step);
        assert_eq!(index_rows(&store), (1000, 1500));
        finish(&store);
        assert_eq!(index_rows(&store), (750, 1500));
    }
}

#[test]
fn a_sweep_waits_for_transactions_that_write() {
    let world = World::new();
    let store = world.open("a", 1);
    fill(&store, 10);
    assert_eq!(store.maintain().unwrap(), Maintenance::Step);
    let scope = Scope::VersionChange(DatabaseId::MIN);
    let writer = store.begin(scope, Durability::Relaxed).unwrap();
    assert_eq!(store.maintain().unwrap(), Maintenance::Waiting);
    assert_eq!(index_rows(&store).0, 10);
    drop(writer);
    finish(&store);
    assert_eq!(index_rows(&store).0, 5);
}

#[test]
fn maintenance_runs_again_in_a_store_after_days_and_in_a_process_after_minutes() {
    for seed in 0..20 {
        let world = World::new();
        let (a, b) = (world.open("a", seed), world.open("b", seed + 100));
        let start = world.clock.now_us();
        assert_eq!(earliest(&a, Job::Sweep), None);
        assert!(finish(&a) >= 4);
        assert_eq!(finish(&b), 0);
        for job in [Job::Sweep, Job::Compaction] {
            let next = earliest(&a, job).unwrap() - start;
            assert!((DAY_US..3 * DAY_US).contains(&next), "{next}");
            let next = job
                .process_earliest(&world.schedule)
                .load(Ordering::Relaxed)
                - start;
            assert!((300 * SECOND_US..HOUR_US).contains(&next), "{next}");
        }
        world.pass(299 * SECOND_US);
        assert_eq!(finish(&b), 0);
        world.pass(HOUR_US);
        assert_eq!(finish(&a), 0);
        assert!(finish(&b) >= 4);
        world.pass(3 * DAY_US);
        assert!(finish(&a) >= 4);
    }
}

#[test]
fn a_compaction_leaves_nothing_of_deleted_values_in_any_table() {
    let world = World::new();
    let store = world.open("a", 1);
    for n in 0..20_u8 {
        put(
            &store,
            &[0, 1, 1, 1, 1, 1, 0, n],
            b"a secret that is to be forgotten",
        );
        store.core.db.flush().unwrap();
    }
    for n in 0..20_u8 {
        let key = [0, 1, 1, 1, 1, 1, 0, n];
        store.core.db.delete(&key, Durability::Relaxed).unwrap();
    }
    finish(&store);
    let mut entries = store.core.db.snapshot().entries();
    let mut left = 0;
    while entries.advance().unwrap() {
        left += usize::from(entries.key().starts_with(&[0, 1, 1, 1]));
    }
    assert_eq!(left, 0);
}
