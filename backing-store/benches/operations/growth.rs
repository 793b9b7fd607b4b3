//! What an operation costs in stores of growing size: a table, and a plot.
//!
//! Records have a number as key, 100 bytes as value, and one index key, a number that about ten of them share. They are put in
//! random order, 1,000 a transaction, and stay as compaction behind the writes leaves them; that compaction counts. Each size is
//! a process of its own.

use super::plot::{self, Line};
use super::{STORE, create, measured, number, open, raw};
use larder_backing_store::{
    BackingStore, CursorDirection, Durability, IndexKeys, KeyRange, Put, PutKey, PutMode, Record,
    Scope, WriteTransaction,
};
use larder_codec::{DatabaseId, IndexId};
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

/// The argument that makes this program measure one size.
pub(crate) const ONE: &str = "growth-of-one-size";

const RECORDS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
/// Gets, steps over the index and deletions that are measured.
const OPERATIONS: u64 = 100_000;
const PER_TRANSACTION: u64 = 1000;
const NAMES: [&str; 7] = [
    "put with an index, random order",
    "get",
    "step of a record cursor",
    "step of an index cursor, with values",
    "count, each record",
    "count by index key, each call",
    "delete, random order",
];

/// Prints the table, and draws the plot if that is wanted.
pub(crate) fn run(svg: Option<&Path>) {
    println!(
        "| records | {} | peak memory, MiB | on disk, MB |",
        NAMES.join(" | ")
    );
    println!("|---|{}---|---|", "---|".repeat(NAMES.len()));
    let mut costs: [Vec<f64>; NAMES.len()] = Default::default();
    for records in RECORDS {
        let dir = tempfile::tempdir().unwrap();
        let program = std::env::current_exe().unwrap();
        let output = Command::new(program)
            .args([ONE, &records.to_string()])
            .arg(dir.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let numbers: Vec<f64> = text
            .split_whitespace()
            .map(|number| number.parse().unwrap())
            .collect();
        let (of, rest) = numbers.split_at(NAMES.len());
        for (all, cost) in costs.iter_mut().zip(of) {
            all.push(*cost);
        }
        let cells: Vec<String> = of.iter().map(|cost| format!("{cost:.2}")).collect();
        println!(
            "| {records} | {} | {:.1} | {:.0} |",
            cells.join(" | "),
            rest[0] / f64::from(1 << 20),
            rest[1] / 1e6
        );
    }
    let Some(path) = svg else {
        return;
    };
    let line = |(name, costs)| Line {
        name,
        costs,
        beside: Vec::new(),
    };
    let lines: Vec<Line> = NAMES.into_iter().zip(costs).map(line).collect();
    let titles = [
        "CPU time of an operation of the backing store by records in it (100-byte values, one index)",
        "microseconds; what the compaction behind the writes takes is counted",
    ];
    plot::write(path, titles, &RECORDS, &lines);
}

/// One size, in a process of its own: prints microseconds for each operation, the peak of memory and the size on the disk.
pub(crate) fn measure(args: &[String]) {
    let (records, dir) = (args[0].parse().unwrap(), Path::new(&args[1]));
    let dir = dir.join("store.indexeddb.leveldb");
    let size = Size {
        records,
        store: open(&dir),
    };
    let place = create(&size.store);
    let each = |count: u64, work: &dyn Fn()| measured(work) * 1000.0 / count as f64;
    let operations = OPERATIONS.min(records);
    let costs = [
        each(records, &|| size.put_all(place)),
        each(operations, &|| size.get(place, operations)),
        each(records, &|| size.step(place)),
        each(operations, &|| size.step_index(place, operations)),
        each(records, &|| size.count(place)),
        each(operations / 10, &|| {
            size.count_by_index(place, operations / 10)
        }),
        each(operations, &|| size.delete(place, operations)),
    ];
    let Size { store, .. } = size;
    store.close().unwrap();
    let costs = costs.map(|cost| cost.to_string());
    println!("{} {} {}", costs.join(" "), peak_bytes(), len_bytes(&dir));
}

/// A store, and how many records it is to hold.
struct Size {
    records: u64,
    store: BackingStore,
}

type Place = (DatabaseId, IndexId);

impl Size {
    /// The primary key that is number `i` in random order: the factor and the number of records have no common divisor.
    fn key(&self, i: u64) -> Vec<u8> {
        const FACTOR: u128 = 2_862_933_555_777_941_757;
        number((u128::from(i) * FACTOR % u128::from(self.records)) as u64)
    }

    /// About ten records share a key, and neighbours have others.
    fn index_key(&self, i: u64) -> Vec<u8> {
        number(i % (self.records / 10))
    }

    fn transact(&self, place: Place, count: u64, mut work: impl FnMut(&mut WriteTransaction, u64)) {
        for first in (0..count).step_by(PER_TRANSACTION as usize) {
            let scope = Scope::Stores(place.0, [STORE].into());
            let mut transaction = self.store.begin(scope, Durability::Relaxed).unwrap();
            for i in first..count.min(first + PER_TRANSACTION) {
                work(&mut transaction, i);
            }
            transaction.commit().unwrap();
        }
    }

    fn put_all(&self, place: Place) {
        let mut value = [0; 100];
        self.transact(place, self.records, |transaction, i| {
            let (key, index_key) = (self.key(i), self.index_key(i));
            // Half of it cannot be compressed.
            noise(i, &mut value[..50]);
            let put = Put {
                key: PutKey::Given(raw(&key)),
                value: &value,
                mode: PutMode::Put,
                index_keys: &[IndexKeys {
                    index_id: place.1,
                    keys: &[raw(&index_key)],
                }],
                external_objects: &[],
            };
            transaction.put(STORE, &put).unwrap();
        });
    }

    fn get(&self, place: Place, count: u64) {
        let read = self.store.read();
        let mut record = Record::new();
        for i in 0..count {
            // In another order than they were put.
            let key = self.key(i * 7);
            assert!(read.get(place.0, STORE, raw(&key), &mut record).unwrap());
            black_box(record.value());
        }
    }

    fn step(&self, place: Place) {
        let mut cursor = self
            .store
            .read()
            .records(place.0, STORE, CursorDirection::Next);
        let mut count = 0;
        while cursor.next().unwrap() {
            black_box((cursor.primary_key().unwrap(), cursor.value().unwrap()));
            count += 1;
        }
        assert_eq!(count, self.records);
    }

    fn step_index(&self, place: Place, count: u64) {
        let read = self.store.read();
        let mut cursor = read.index_entries(place.0, STORE, place.1, CursorDirection::Next);
        for _ in 0..count {
            assert!(cursor.next().unwrap());
            black_box((cursor.index_key().unwrap(), cursor.primary_key().unwrap()));
            black_box(cursor.value());
        }
    }

    fn count(&self, place: Place) {
        let count = self.store.read().count(place.0, STORE, &KeyRange::ALL);
        assert_eq!(count.unwrap(), self.records);
    }

    fn count_by_index(&self, place: Place, count: u64) {
        let read = self.store.read();
        for i in 0..count {
            let key = self.index_key(i);
            let range = KeyRange::only(raw(&key));
            let count = read.count_by_index(place.0, STORE, place.1, &range);
            assert_eq!(count.unwrap(), 10);
        }
    }

    fn delete(&self, place: Place, count: u64) {
        self.transact(place, count, |transaction, i| {
            let key = self.key(i * 7);
            let range = KeyRange::only(raw(&key));
            transaction.delete(STORE, &range).unwrap();
        });
    }
}

/// Bytes that follow from a number and look like nothing else: SplitMix64.
fn noise(number: u64, out: &mut [u8]) {
    let mut state = number;
    for piece in out.chunks_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        piece.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..piece.len()]);
    }
}

/// The most memory that was resident.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// What all files of the store take.
#[expect(clippy::disallowed_methods, reason = "asks the system")]
fn len_bytes(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).unwrap();
    files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum()
}
