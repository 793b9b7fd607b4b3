//! How much memory a transaction takes that is larger than memory should be. A program of its own: it looks at the greatest
//! memory of the process.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests stop on trouble and say what they measured"
)]

use std::sync::Arc;

use larder_backing_store::{
    BackingStore, Durability, FixedClock, ObjectStoreParameters, Put, PutKey, PutMode, Record,
    Scope, StorePaths, WriteOptions, WriteTransaction,
};
use larder_codec::{DatabaseId, Key, KeyPath, ObjectStoreId, Origin, RawKey};
use larder_leveldb::storage::DiskFileSystem;

const MEMORY_MAX_KIB: u64 = 100 << 10;
const VALUE_LEN: usize = 1000;

/// The greatest memory that the process has had.
fn memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn open(dir: &std::path::Path) -> BackingStore {
    let origin = Origin::from_url("https://a.example").unwrap();
    let paths = StorePaths::of_leveldb(&dir.join(origin.leveldb_folder_name()));
    let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    options.create_if_missing = true;
    BackingStore::open(Arc::new(DiskFileSystem::new()), paths, options).unwrap()
}

fn key(n: u32) -> Vec<u8> {
    let mut key = Vec::new();
    Key::Number(f64::from(n)).encode(&mut key);
    key
}

/// Puts records 0 to `count` with values that do not pack.
fn fill(transaction: &mut WriteTransaction, store: ObjectStoreId, count: u32, seed: u32) {
    let mut value = vec![0; VALUE_LEN];
    for n in 0..count {
        let mut state = u64::from(n) << 32 | u64::from(seed);
        for part in value.chunks_exact_mut(8) {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            part.copy_from_slice(&(state ^ state >> 29).to_le_bytes());
        }
        let key = key(n);
        let put = Put {
            key: PutKey::Given(RawKey::decode_exact(&key).unwrap()),
            value: &value,
            mode: PutMode::Put,
            index_keys: &[],
            external_objects: &[],
        };
        transaction.put(store, &put).unwrap();
    }
}

fn value_of(store: &BackingStore, scope: &Scope, id: ObjectStoreId, n: u32) -> Option<Vec<u8>> {
    let mut record = Record::new();
    let read = store.read();
    let key = key(n);
    let key = RawKey::decode_exact(&key).unwrap();
    let database_id: DatabaseId = scope.database_id();
    let is_there = read.get(database_id, id, key, &mut record).unwrap();
    is_there.then(|| record.value().to_vec())
}

fn run(len_bytes: usize) {
    let count = u32::try_from(len_bytes / VALUE_LEN).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let database = store.create_database(&"d".into()).unwrap();
    let scope = Scope::VersionChange(database);
    let mut upgrade = store.begin(scope.clone(), Durability::Strict).unwrap();
    upgrade.set_version(1).unwrap();
    let parameters = ObjectStoreParameters {
        id: None,
        name: "s".into(),
        key_path: KeyPath::Null,
        auto_increment: false,
    };
    let id = upgrade.create_object_store(&parameters).unwrap();
    fill(&mut upgrade, id, count, 1);
    assert_eq!(value_of(&store, &scope, id, 7), None);
    upgrade.commit().unwrap();
    let value = value_of(&store, &scope, id, 7).unwrap();
    println!("{count} records put: {} KiB", memory_kib());

    // All of it again: now the undo log has the old values.
    let writes = Scope::Stores(database, [id].into());
    let mut again = store.begin(writes.clone(), Durability::Relaxed).unwrap();
    fill(&mut again, id, count, 2);
    assert_eq!(value_of(&store, &scope, id, 7).unwrap(), value);
    again.rollback();
    assert_eq!(
        value_of(&store, &scope, id, count - 1).unwrap().len(),
        VALUE_LEN
    );
    assert_eq!(value_of(&store, &scope, id, 7).unwrap(), value);
    println!("overwritten and rolled back: {} KiB", memory_kib());

    let mut cleared = store.begin(writes, Durability::Relaxed).unwrap();
    cleared.clear(id).unwrap();
    assert_eq!(value_of(&store, &scope, id, 7).unwrap(), value);
    cleared.commit().unwrap();
    assert_eq!(value_of(&store, &scope, id, 7), None);
    store.close().unwrap();
    println!("cleared: {} KiB", memory_kib());
    let found = memory_kib();
    assert!(found < MEMORY_MAX_KIB, "{found} KiB");
}

#[test]
fn a_transaction_of_120_mb_takes_less_than_100_mib() {
    run(120_000_000);
}

#[test]
#[ignore = "long: writes several gigabytes"]
fn a_transaction_of_1_gb_takes_less_than_100_mib() {
    run(1_000_000_000);
}
