//! Operations against what the engine beneath takes for the same rows: paired runs, medians of CPU time.
//!
//! `cargo bench -p larder-backing-store [-- RUNS [WHAT]]`, where WHAT is part of a line's name. Both sides are done by turns
//! in one process, on stores on the disk; the first pair warms up and does not count. Keys are numbers, values 100 bytes, one
//! index. The engine's side gets its keys encoded and gives its rows as they are.
//!
//! `... -- deleted` measures what deleted databases and records cost later.
//!
//! `... -- growth [SVG]` measures stores of 10,000 to 10,000,000 records and draws the plot; the largest takes 2 GB in the
//! system's folder for temporary files.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that measures and prints"
)]

mod deleted;
mod growth;
#[path = "../../../leveldb/benches/engine/plot.rs"]
mod plot;

use larder_backing_store::{
    Background, BackingStore, CursorDirection, Durability, FixedClock, IdbComparator, IndexKeys,
    IndexParameters, ObjectStoreParameters, Put, PutKey, PutMode, Record, Scope, StorePaths,
    WriteOptions,
};
use larder_codec::row_key::{IndexDataKey, RecordKey, RecordTable};
use larder_codec::versioned::{DataRow, ExistsRow, IndexRow};
use larder_codec::{
    DatabaseId, IndexId, JsString, Key, KeyPath, ObjectStoreId, Origin, RawKey, RecordVersion,
    range,
};
use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Options};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

const RECORDS: u64 = 200_000;
const PER_TRANSACTION: u64 = 1000;
const GETS: u64 = 100_000;
const STORE: ObjectStoreId = ObjectStoreId::MIN;
const VALUE: [u8; 100] = [b'v'; 100];

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    match args.first().map(String::as_str) {
        Some("growth") => return growth::run(args.get(1).map(Path::new)),
        Some("deleted") => return deleted::run(tempfile::tempdir().unwrap().path()),
        Some(growth::ONE) => return growth::measure(&args[1..]),
        _ => {}
    }
    let bench = Bench {
        runs: args.first().and_then(|runs| runs.parse().ok()).unwrap_or(7),
        what: args.get(1).cloned().unwrap_or_default(),
    };
    println!(
        "{:34} {:>10} {:>10} {:>6} {:>6}",
        "", "cpu ms", "engine", "x", "goal"
    );
    let dir = tempfile::tempdir().unwrap();
    puts(dir.path(), &bench);
    let filled = dir.path().join("filled.indexeddb.leveldb");
    fill(&filled);
    reads(&filled, &bench);
    deletion(&filled);
}

fn cpu_ms() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn measured(work: impl FnOnce()) -> f64 {
    let before = cpu_ms();
    work();
    cpu_ms() - before
}

struct Bench {
    runs: usize,
    what: String,
}

impl Bench {
    /// Runs both by turns and prints the medians.
    fn compare(
        &self,
        what: &str,
        goal: f64,
        mut ours: impl FnMut(usize) -> f64,
        mut engine: impl FnMut(usize) -> f64,
    ) {
        if !what.contains(&self.what) {
            return;
        }
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for run in 0..=self.runs {
            let pair = (ours(run), engine(run));
            if run > 0 {
                a.push(pair.0);
                b.push(pair.1);
            }
        }
        let median = |values: &mut Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let (ours, engine) = (median(&mut a), median(&mut b));
        let ratio = ours / engine;
        println!("{what:34} {ours:10.1} {engine:10.1} {ratio:6.2} {goal:6.1}");
    }
}

fn number(n: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    Key::Number(n as f64).encode(&mut bytes);
    bytes
}

fn raw(bytes: &[u8]) -> RawKey<'_> {
    RawKey::decode_exact(bytes).unwrap()
}

/// What the index has a record under: many records share a key, and neighbours have others.
fn index_key(n: u64) -> Vec<u8> {
    number(n * 7919 % 5003)
}

fn open(dir: &Path) -> BackingStore {
    open_with(dir, Background::Caller)
}

fn open_with(dir: &Path, background: Background) -> BackingStore {
    let origin = Origin::from_url("https://a.example").unwrap();
    let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    options.create_if_missing = true;
    options.background = background;
    let fs = Arc::new(DiskFileSystem::new());
    BackingStore::open(fs, StorePaths::of_leveldb(dir), options).unwrap()
}

fn engine_options() -> Options {
    let mut options = Options::new(Arc::new(IdbComparator));
    options.key_facts = Some(IdbComparator::KEY_FACTS);
    options
}

fn open_engine(dir: &Path) -> Db {
    let mut options = engine_options();
    options.create_if_missing = true;
    options.background = Background::Caller;
    Db::open(Arc::new(DiskFileSystem::new()), dir, options).unwrap()
}

/// Makes the database, and gives its index.
fn create(store: &BackingStore) -> (DatabaseId, IndexId) {
    create_named(store, "d")
}

fn create_named(store: &BackingStore, name: &str) -> (DatabaseId, IndexId) {
    let database = store.create_database(&JsString::from(name)).unwrap();
    let scope = Scope::VersionChange(database);
    let mut change = store.begin(scope, Durability::Relaxed).unwrap();
    let parameters = ObjectStoreParameters {
        id: Some(STORE),
        name: "s".into(),
        key_path: KeyPath::Null,
        auto_increment: false,
    };
    change.create_object_store(&parameters).unwrap();
    let parameters = IndexParameters {
        id: None,
        name: "i".into(),
        key_path: KeyPath::String("i".into()),
        unique: false,
        multi_entry: false,
    };
    let index = change.create_index(STORE, &parameters).unwrap();
    change.commit().unwrap();
    (database, index)
}

fn put_range(store: &BackingStore, place: (DatabaseId, IndexId), keys: &[(Vec<u8>, Vec<u8>)]) {
    for keys in keys.chunks(PER_TRANSACTION as usize) {
        let scope = Scope::Stores(place.0, [STORE].into());
        let mut transaction = store.begin(scope, Durability::Relaxed).unwrap();
        for (key, index_key) in keys {
            let put = Put {
                key: PutKey::Given(raw(key)),
                value: &VALUE,
                mode: PutMode::Put,
                index_keys: &[IndexKeys {
                    index_id: place.1,
                    keys: &[raw(index_key)],
                }],
                external_objects: &[],
            };
            transaction.put(STORE, &put).unwrap();
        }
        transaction.commit().unwrap();
    }
}

fn keys(count: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    (0..count).map(|n| (number(n), index_key(n))).collect()
}

fn record_key(database_id: DatabaseId, table: RecordTable, key: RawKey<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    RecordKey {
        database_id,
        object_store_id: STORE,
        table,
        key,
    }
    .encode(&mut bytes);
    bytes
}

/// The rows of the records, in the order of the puts.
fn rows_of(
    (database_id, index_id): (DatabaseId, IndexId),
    keys: &[(Vec<u8>, Vec<u8>)],
) -> Vec<[(Vec<u8>, Vec<u8>); 3]> {
    let encoded = |encode: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        encode(&mut bytes);
        bytes
    };
    let record = |(n, (key, index_key)): (usize, &(Vec<u8>, Vec<u8>))| {
        let version = RecordVersion::new(n as i64 + 2).unwrap();
        let value = &VALUE;
        let (key, index_key) = (raw(key), raw(index_key));
        let index_row_key = IndexDataKey::new(database_id, STORE, index_id, index_key, key);
        let index_row = IndexRow {
            version,
            primary_key: key,
        };
        [
            (
                record_key(database_id, RecordTable::Data, key),
                encoded(&|out| DataRow { version, value }.encode(out)),
            ),
            (
                record_key(database_id, RecordTable::Exists, key),
                encoded(&|out| ExistsRow { version }.encode(out)),
            ),
            (
                encoded(&|out| index_row_key.encode(out)),
                encoded(&|out| index_row.encode(out)),
            ),
        ]
    };
    keys.iter().enumerate().map(record).collect()
}

fn puts(dir: &Path, bench: &Bench) {
    let keys = keys(50_000);
    let place = (DatabaseId::MIN, IndexId::new(31).unwrap());
    let rows = rows_of(place, &keys);
    let ours = |run: usize| {
        let store = open(&dir.join(format!("ours{run}.indexeddb.leveldb")));
        let place = create(&store);
        measured(|| put_range(&store, place, &keys))
    };
    let engine = |run: usize| {
        let db = open_engine(&dir.join(format!("engine{run}")));
        measured(|| {
            for records in rows.chunks(PER_TRANSACTION as usize) {
                let mut batch = BatchWriter::new();
                for (key, value) in records.iter().flatten() {
                    batch.put(key, value);
                }
                db.write(&mut batch, Durability::Relaxed).unwrap();
            }
        })
    };
    bench.compare("50k puts with an index, 1k each", 1.5, ours, engine);
}

fn fill(dir: &Path) {
    let store = open(dir);
    let place = create(&store);
    put_range(&store, place, &keys(RECORDS));
    store.close().unwrap();
    // All in tables, as a store that has been lying.
    let db = open_engine(dir);
    db.compact_range(None, None).unwrap();
    db.close().unwrap();
}

fn reads(dir: &Path, bench: &Bench) {
    let place = (DatabaseId::MIN, IndexId::new(31).unwrap());
    let store = open(dir);
    let read = store.read();
    let order: Vec<Vec<u8>> = (0..GETS).map(|n| number(n * 48_271 % RECORDS)).collect();
    let row_keys: Vec<Vec<u8>> = order
        .iter()
        .map(|key| record_key(place.0, RecordTable::Data, raw(key)))
        .collect();
    let fs = Arc::new(DiskFileSystem::new());
    let db = Db::open_read_only(fs, dir, engine_options()).unwrap();
    let snapshot = db.snapshot();
    let ours = |_| {
        let mut record = Record::new();
        measured(|| {
            for key in &order {
                assert!(read.get(place.0, STORE, raw(key), &mut record).unwrap());
                black_box(record.value());
            }
        })
    };
    let engine = |_| {
        let mut value = Vec::new();
        measured(|| {
            for key in &row_keys {
                assert!(snapshot.get_into(key, &mut value).unwrap());
                black_box(&value);
            }
        })
    };
    bench.compare("100k gets", 1.3, ours, engine);
    let ours = |_| {
        let mut cursor = read.records(place.0, STORE, CursorDirection::Next);
        measured(|| {
            let mut count = 0;
            while cursor.next().unwrap() {
                black_box((cursor.primary_key().unwrap(), cursor.value().unwrap()));
                count += 1;
            }
            assert_eq!(count, RECORDS);
        })
    };
    let (low, high) = (
        range::table_low(place.0, STORE, RecordTable::Data),
        range::table_high(place.0, STORE, RecordTable::Data),
    );
    let engine = |_| {
        let mut iter = snapshot.iter();
        measured(|| {
            let mut count = 0;
            iter.seek(&low).unwrap();
            while iter.valid() && larder_codec::compare(iter.key(), &high).is_lt() {
                black_box((iter.key(), iter.value().unwrap()));
                count += 1;
                iter.next().unwrap();
            }
            assert_eq!(count, RECORDS);
        })
    };
    bench.compare("cursor over 200k records", 1.3, ours, engine);
    let ours = |_| {
        let mut cursor = read.index_entries(place.0, STORE, place.1, CursorDirection::Next);
        measured(|| {
            let mut count = 0;
            while cursor.next().unwrap() {
                black_box((cursor.index_key().unwrap(), cursor.primary_key().unwrap()));
                black_box(cursor.value());
                count += 1;
            }
            assert_eq!(count, RECORDS);
        })
    };
    let (low, high) = (
        range::index_entries_low(place.0, STORE, place.1),
        range::index_entries_high(place.0, STORE, place.1),
    );
    let engine = |_| {
        let mut iter = snapshot.iter();
        let (mut key, mut value) = (Vec::new(), Vec::new());
        measured(|| {
            let mut count = 0;
            iter.seek(&low).unwrap();
            while iter.valid() && larder_codec::compare(iter.key(), &high).is_lt() {
                // Numbers all: nine bytes, at the end of the row's value.
                let row = iter.value().unwrap();
                key.clear();
                key.extend_from_slice(&[0, 1, 1, 1]);
                key.extend_from_slice(&row[row.len() - 9..]);
                assert!(snapshot.get_into(&key, &mut value).unwrap());
                black_box((iter.key(), &value));
                count += 1;
                iter.next().unwrap();
            }
            assert_eq!(count, RECORDS);
        })
    };
    bench.compare("cursor over an index, with values", 1.3, ours, engine);
}

/// Not compared: a goal in seconds.
fn deletion(dir: &Path) {
    let store = open(dir);
    let scope = Scope::VersionChange(DatabaseId::MIN);
    let mut change = store.begin(scope, Durability::Relaxed).unwrap();
    let cpu = measured(|| {
        change.delete_object_store(STORE).unwrap();
        change.commit().unwrap();
    });
    println!(
        "{:34} {cpu:10.1} {:>10} {:>6} {:>6}",
        "200k records deleted", "", "", "1 s"
    );
}
