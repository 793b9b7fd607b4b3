//! Two engines on one store by turns: ours and C++ LevelDB.

use crate::support::*;
use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Background, Db, Durability, OnDamage, Options};
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

    /// The same keys as the oracle's.
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

/// Random operations in our engine.
fn continue_ours(store: &Path, comparator: &str, random: &mut Random, map: &mut Map, batches: u64) {
    let open = |background| {
        Db::open(
            Arc::new(DiskFileSystem::new()),
            store,
            write_options(comparator, background),
        )
        .unwrap()
    };
    let mut db = open(Background::Thread);
    assert!(forward(&db).unwrap() == rows_of(&db, map), "as it was left");
    for _ in 0..batches {
        let mut batch = BatchWriter::new();
        let size = if random.below(10) == 0 {
            random.below(50)
        } else {
            1
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
        db.write(&mut batch, Durability::Relaxed).unwrap();
        match random.below(1500) {
            0 => db
                .compact_range(Some(&random.key(comparator)), None)
                .unwrap(),
            1 => db.flush().unwrap(),
            2 => {
                db.close().unwrap();
                let by_caller = random.below(2) == 0;
                db = open(if by_caller {
                    Background::Caller
                } else {
                    Background::Thread
                });
            }
            _ => {}
        }
    }
    let rows = rows_of(&db, map);
    assert!(forward(&db).unwrap() == rows, "forward");
    let mut reversed = backward(&db).unwrap();
    reversed.reverse();
    assert!(reversed == rows, "backward");
    for (key, value) in map.iter() {
        assert_eq!(db.get(key).unwrap().as_ref(), Some(value));
    }
    for _ in 0..2000 {
        let key = random.key(comparator);
        assert_eq!(db.get(&key).unwrap().as_ref(), map.get(&key));
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

fn by_turns(comparator: &str, compression: &str, rounds: u64, batches: u64) {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let mut random = Random(rounds);
    let mut map = Map::new();
    for round in 0..rounds {
        println!("round {round}, {comparator}, {compression}");
        let (seed, count) = (round.to_string(), batches.to_string());
        let args = [
            "make",
            store.to_str().unwrap(),
            &seed,
            &count,
            comparator,
            compression,
        ];
        if run_oracle(&args).is_none() {
            return;
        }
        let copy = dir.path().join(format!("cpp-{round}"));
        copy_dir(&store, &copy);
        map = oracle_dump(&copy, comparator)
            .unwrap()
            .0
            .into_iter()
            .collect();
        continue_ours(&store, comparator, &mut random, &mut map, batches);
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
    assert!(!map.is_empty());
}

#[test]
fn bytewise_stores_go_from_engine_to_engine() {
    by_turns("bytewise", "snappy", 3, 5000);
}

#[test]
fn stores_with_the_comparator_of_indexeddb_go_from_engine_to_engine() {
    by_turns("idb", "none", 3, 5000);
}
