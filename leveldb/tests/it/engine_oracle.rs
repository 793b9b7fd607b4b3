//! Two engines on one store by turns: ours and C++ LevelDB, or rusty-leveldb.

use crate::support::*;
use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Background, Db, Durability, OnDamage, Options, Snapshot};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A random key. The oracle makes the same keys.
    fn key(&mut self, comparator: &str) -> Vec<u8> {
        let n = self.below(2000);
        if comparator != "idb" {
            let prefix = self.below(12) as usize;
            return format!("{}{n}", "k".repeat(prefix)).into_bytes();
        }
        let mut key = vec![0, 1, 1 + self.below(3) as u8, 1];
        if n.is_multiple_of(2) {
            key.push(3);
            key.extend_from_slice(&(n as f64).to_le_bytes());
        } else {
            let digits = n.to_string();
            key.extend([1, digits.len() as u8]);
            key.extend(digits.bytes().flat_map(|digit| [0, digit]));
        }
        key
    }

    fn value(&mut self) -> Vec<u8> {
        let len = match self.below(500) {
            0 => self.below(100_000),
            1..10 => self.below(5000),
            _ => self.below(200),
        };
        let same = self.next() as u8;
        (0..len)
            .map(|i| if i % 5 == 0 { self.next() as u8 } else { same })
            .collect()
    }
}

fn write_options(comparator: &str, background: Background) -> Options {
    Options {
        create_if_missing: true,
        write_buffer_bytes: 64 << 10,
        table_file_bytes: 100 << 10,
        background,
        ..options(comparator, OnDamage::Fail)
    }
}

/// What our engine did in a turn.
#[derive(Debug, Default)]
struct Done {
    operations: u64,
    snapshots: u64,
    reopenings: u64,
    ingestions: u64,
}

fn random_batch(comparator: &str, random: &mut Random, map: &mut Map) -> BatchWriter {
    let mut batch = BatchWriter::new();
    let size = match random.below(10) {
        0 => random.below(50),
        _ => 1,
    };
    for _ in 0..size {
        let key = random.key(comparator);
        if random.below(4) == 0 {
            batch.delete(&key);
            map.remove(&key);
        } else {
            let value = random.value();
            batch.put(&key, &value);
            map.insert(key, value);
        }
    }
    batch
}

/// Writes some runs of rows as tables, now and then in vain; how many rows.
fn ingest(db: &Db, comparator: &str, random: &mut Random, map: &mut Map) -> u64 {
    let order = options(comparator, OnDamage::Fail).comparator;
    let (mut ingestion, mut ingested, mut rows) = (db.ingest(b"").unwrap(), map.clone(), 0);
    for _ in 0..1 + random.below(20) {
        let mut run = Map::new();
        let mut keys: Vec<_> = (0..random.below(60))
            .map(|_| random.key(comparator))
            .collect();
        keys.sort_by(|a, b| order.compare(a, b));
        keys.dedup_by(|a, b| order.compare(a, b).is_eq());
        for key in &keys {
            match random.below(4) {
                0 => drop(ingested.remove(key)),
                _ => drop(run.insert(key.clone(), random.value())),
            }
        }
        let one_in = 1 + random.below(30);
        let must_end = |_: &[u8], next: &[u8]| (next.len() as u64).is_multiple_of(one_in);
        let row = |key: &'_ Vec<u8>| run.get(key).map(Vec::as_slice);
        let sorted = keys.iter().map(|key| (&**key, row(key)));
        ingestion.add(sorted, must_end).unwrap();
        rows += keys.len() as u64;
        ingested.extend(run);
        if random.below(10) == 0 {
            agree(&ingestion.snapshot(), &ingested, comparator, random);
        }
    }
    if random.below(5) > 0 {
        let before = db.snapshot();
        ingestion.install().unwrap();
        if random.below(10) == 0 {
            agree(&before, map, comparator, random);
        }
        *map = ingested;
    }
    rows
}

/// Random operations in our engine.
fn continue_ours(
    store: &Path,
    comparator: &str,
    random: &mut Random,
    map: &mut Map,
    batches: u64,
) -> Done {
    let open = |background| {
        Db::open(
            Arc::new(DiskFileSystem::new()),
            store,
            write_options(comparator, background),
        )
        .unwrap()
    };
    let mut db = open(Background::Thread);
    let mut done = Done::default();
    assert!(forward(&db).unwrap() == rows_of(&db, map), "as it was left");
    let mut snapshots: Vec<(Snapshot, Map)> = Vec::new();
    for _ in 0..batches {
        let mut batch = random_batch(comparator, random, map);
        done.operations += u64::from(batch.entry_count());
        db.write(&mut batch, Durability::Relaxed).unwrap();
        if random.below(120) == 0 {
            done.operations += ingest(&db, comparator, random, map);
            done.ingestions += 1;
        }
        match random.below(1500) {
            0 => db
                .compact_range(Some(&random.key(comparator)), None)
                .unwrap(),
            1 => db.flush().unwrap(),
            2 => {
                db.close().unwrap();
                done.reopenings += 1;
                db = open(match random.below(2) {
                    0 => Background::Caller,
                    _ => Background::Thread,
                });
            }
            3..8 => snapshots.push((db.snapshot(), map.clone())),
            8..11 if !snapshots.is_empty() => {
                let at = random.below(snapshots.len() as u64) as usize;
                let (snapshot, map) = snapshots.swap_remove(at);
                agree(&snapshot, &map, comparator, random);
                done.snapshots += 1;
            }
            _ => {}
        }
    }
    for (snapshot, map) in snapshots {
        agree(&snapshot, &map, comparator, random);
        done.snapshots += 1;
    }
    agree(&db.snapshot(), map, comparator, random);
    done
}

/// Forward, backward and by get a snapshot shows a map.
fn agree(snapshot: &Snapshot, map: &Map, comparator: &str, random: &mut Random) {
    let mut iter = snapshot.iter();
    iter.seek_to_first().unwrap();
    let mut keys = Vec::new();
    while iter.valid() {
        let row = (iter.key(), iter.value().unwrap());
        assert!(map.get(row.0).is_some_and(|value| value == row.1));
        keys.push(iter.key().to_vec());
        iter.next().unwrap();
    }
    assert_eq!(keys.len(), map.len());
    let order = options(comparator, OnDamage::Fail).comparator;
    assert!(keys.is_sorted_by(|a, b| order.compare(a, b).is_lt()));
    iter.seek_to_last().unwrap();
    for key in keys.iter().rev() {
        assert_eq!(iter.key(), key, "backward");
        assert!(iter.value().unwrap() == map[key], "backward");
        iter.prev().unwrap();
    }
    assert!(!iter.valid());
    let others = (0..1000).map(|_| random.key(comparator));
    for key in keys.iter().cloned().chain(others) {
        assert_eq!(snapshot.get(&key).unwrap().as_ref(), map.get(&key));
    }
}

/// The map's rows in the store's order; taken from the store's keys, each of which must be in the map.
fn rows_of(db: &Db, map: &Map) -> Rows {
    let mut iter = db.iter();
    let mut rows = Rows::new();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        let key = iter.key().to_vec();
        let value = map.get(&key).expect("a key that is not in the map").clone();
        rows.push((key, value));
        iter.next().unwrap();
    }
    assert_eq!(rows.len(), map.len());
    rows
}

/// Whose turn it is takes the store as the other one left it: C++ LevelDB as after a kill.
fn by_turns(comparator: &str) {
    let (rounds, batches) = if sampled(2) == 1 {
        (4, 4500)
    } else {
        (2, 2500)
    };
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let mut random = Random(rounds);
    let (mut map, mut cpp_operations, mut done) = (Map::new(), 0, Done::default());
    for round in 0..rounds {
        let (seed, count) = (round.to_string(), batches.to_string());
        let args = [
            "make",
            store.to_str().unwrap(),
            &seed,
            &count,
            comparator,
            ["snappy", "none"][round as usize % 2],
        ];
        println!("{}, then ours with seed {rounds}", args[2..].join(" "));
        let Some(operations) = run_oracle(&args) else {
            return;
        };
        cpp_operations += operations.trim().parse::<u64>().unwrap();
        let copy = dir.path().join(format!("cpp-{round}"));
        copy_dir(&store, &copy);
        map = oracle_dump(&copy, comparator)
            .unwrap()
            .0
            .into_iter()
            .collect();
        let turn = continue_ours(&store, comparator, &mut random, &mut map, batches);
        done.operations += turn.operations;
        done.snapshots += turn.snapshots;
        done.reopenings += turn.reopenings;
        done.ingestions += turn.ingestions;
        let copy = dir.path().join(format!("ours-{round}"));
        copy_dir(&store, &copy);
        let (cpp_forward, cpp_backward) = oracle_dump(&copy, comparator).unwrap();
        let mut reversed = cpp_backward;
        reversed.reverse();
        assert!(reversed == cpp_forward, "backward in C++");
        assert!(
            cpp_forward.into_iter().collect::<Map>() == map,
            "round {round}"
        );
    }
    println!("{comparator}: {cpp_operations} operations in C++, ours: {done:?}");
    assert!(!map.is_empty() && done.reopenings > rounds / 2);
    assert!(done.snapshots > 5 * rounds && done.ingestions > 20 * rounds);
    assert!(cpp_operations + done.operations > 5 * rounds * batches);
}

#[test]
fn bytewise_stores_go_from_engine_to_engine() {
    by_turns("bytewise");
}

#[test]
fn stores_with_the_comparator_of_indexeddb_go_from_engine_to_engine() {
    by_turns("idb");
}

/// A turn of rusty-leveldb, without what it does wrong: gets, backward scans, iterators and snapshots beside compactions.
fn continue_rusty(store: &Path, random: &mut Random, map: &mut Map, batches: u64) -> u64 {
    let options = rusty_leveldb::Options {
        write_buffer_size: 64 << 10,
        ..rusty_leveldb::Options::default()
    };
    let mut db = rusty_leveldb::DB::open(store, options).unwrap();
    let mut iter = db.new_iter().unwrap();
    let mut rows = Rows::new();
    while let Some((key, value)) = rusty_leveldb::LdbIterator::next(&mut iter) {
        rows.push((key.to_vec(), value.to_vec()));
    }
    let expected = map.iter().map(|(key, value)| (key.clone(), value.clone()));
    assert!(
        expected.eq(rows),
        "rusty-leveldb reads what the other one left"
    );
    drop(iter);
    let mut operations = 0;
    for _ in 0..batches {
        let key = random.key("bytewise");
        operations += 1;
        if random.below(4) == 0 {
            db.delete(&key).unwrap();
            map.remove(&key);
        } else {
            let value = random.value();
            db.put(&key, &value).unwrap();
            map.insert(key, value);
        }
    }
    db.close().unwrap();
    operations
}

#[test]
fn stores_go_from_our_engine_to_rusty_leveldb_and_back() {
    let dir = tempfile::tempdir().unwrap();
    let (mut map, mut random, mut operations) = (Map::new(), Random(7), 0);
    let rounds = if sampled(2) == 1 { 3 } else { 1 };
    for round in 0..rounds {
        println!("round {round} with seed 7");
        operations += continue_rusty(dir.path(), &mut random, &mut map, 5000);
        let done = continue_ours(dir.path(), "bytewise", &mut random, &mut map, 3000);
        operations += done.operations;
    }
    continue_rusty(dir.path(), &mut random, &mut map, 0);
    println!("{operations} operations");
}
