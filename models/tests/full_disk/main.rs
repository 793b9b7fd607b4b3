//! A full disk: what is there can be listed, opened, read and deleted, deleting makes room, and writing goes on with that. In
//! memory, in a folder, and on a file system of a few MiB.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail like tests"
)]

mod clearing;
mod disks;
mod operations;

use std::num::NonZeroUsize;
use std::sync::Arc;

use larder_idb::{
    Connection, Error, ErrorName, Executor, Factory, FileSystem, FixedClock, JsString, Key,
    NewExternalObject, ObjectStoreParameters, Origin, Result, Storage, StorageOptions,
    TransactionDurability, TransactionMode, TransactionOptions, Value,
};

use disks::Disk;

const DRIVEN: Executor = Executor::Driven { seed: None };
const THREADS: Executor = Executor::Threads(NonZeroUsize::MIN.saturating_add(1));

fn storage(disk: &Disk, executor: Executor) -> Storage {
    let mut options = StorageOptions::new(
        disk.fs.clone(),
        &disk.folder,
        Arc::new(FixedClock::default()),
    );
    options.executor = executor;
    options.write_buffer_bytes = 1 << 20;
    options.transaction_memory_bytes = 256 << 10;
    Storage::new(options).unwrap()
}

fn factory(storage: &Storage) -> Factory {
    storage.factory(&Origin::from_url("https://a.example").unwrap())
}

/// A connection to a database with an object store "a".
fn open(storage: &Storage, name: &str) -> Result<Connection> {
    let request = factory(storage).open(name, None)?;
    let request = request.with_upgrade(|upgrade| {
        let parameters = ObjectStoreParameters::default();
        upgrade.transaction.create_object_store("a", parameters)?;
        Ok(())
    });
    request.wait()
}

/// So many bytes that cannot be packed.
fn noise(seed: u32, len_bytes: usize) -> String {
    let mut state = u64::from(seed) << 32 | 0x9e37_79b9;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b' ' + (state % 94) as u8)
    };
    (0..len_bytes).map(|_| next()).collect()
}

/// Writes records in one transaction.
fn write(
    connection: &Connection,
    durability: TransactionDurability,
    records: impl IntoIterator<Item = (u32, Value)>,
) -> Result<()> {
    let options = TransactionOptions::new().durability(durability);
    let transaction = connection.transaction(["a"], TransactionMode::ReadWrite, options)?;
    let store = transaction.object_store("a")?;
    for (key, value) in records {
        store
            .put(value, Some(Key::Number(f64::from(key))))?
            .wait()?;
    }
    transaction.commit()?.wait()
}

fn text_of(key: u32, len_bytes: usize) -> Value {
    Value::serialize(&noise(key, len_bytes)).unwrap()
}

fn blob_of(key: u32, len_bytes: usize) -> Value {
    let blob = NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content: Arc::new(noise(key, len_bytes).into_bytes()),
    };
    Value::serialize("with a blob")
        .unwrap()
        .and_objects(vec![blob])
}

fn read(connection: &Connection, key: u32) -> Option<String> {
    let options = TransactionOptions::default();
    let transaction = connection.transaction(["a"], TransactionMode::ReadOnly, options);
    let store = transaction.unwrap().object_store("a").unwrap();
    let got = store.get(Key::Number(f64::from(key))).unwrap().wait();
    got.unwrap().map(|value| value.deserialize().unwrap())
}

fn names(storage: &Storage) -> Vec<JsString> {
    let databases = factory(storage).databases().wait().unwrap();
    databases.into_iter().map(|info| info.name).collect()
}

fn is_about_room(error: &Error, what: &str) {
    assert_eq!(
        error.name(),
        ErrorName::QuotaExceededError,
        "{what}: {error}"
    );
}

/// Writes until there is no room: how many transactions were committed.
fn fill(connection: &Connection, what: &str, value_of: impl Fn(u32) -> Value) -> u32 {
    for key in 0..100_000 {
        let durability = match key % 3 {
            0 => TransactionDurability::Strict,
            _ => TransactionDurability::Relaxed,
        };
        if let Err(error) = write(connection, durability, [(key, value_of(key))]) {
            is_about_room(&error, what);
            assert!(!connection.is_close_pending(), "{what}");
            return key;
        }
    }
    panic!("{what}: the disk is never full");
}

const KEPT: u32 = 20;

fn is_whole(kept: &Connection) -> bool {
    (0..KEPT).all(|key| read(kept, key).unwrap() == noise(key, 100))
}

/// Makes two databases, and fills the disk with one of them: how many transactions were committed.
fn fill_to_the_last_block(
    disk: &Disk,
    executor: Executor,
    what: &str,
    value_of: impl Fn(u32) -> Value,
) -> u32 {
    let storage = storage(disk, executor);
    let kept = open(&storage, "kept").unwrap();
    let records = (0..KEPT).map(|key| (key, text_of(key, 100)));
    write(&kept, TransactionDurability::Strict, records).unwrap();
    let filled = open(&storage, "filled").unwrap();
    disk.limit();
    let committed = fill(&filled, what, &value_of);
    assert!(committed > 3, "{what}: {committed}");
    fill_the_rest(&filled, 200_000);
    drop((kept, filled));
    let _ = storage.close();
    committed
}

/// To the last block. Each has a key of its own, so that nothing gives room back. They are of the database that is deleted: what
/// others have put into the same logs has to be written anew before those can go. No more than a thousand rows fit the reserve when
/// they are deleted: a table that is given up behind threads gives room back that would take many thousands of small ones.
fn fill_the_rest(filled: &Connection, first_key: u32) {
    let mut key = first_key;
    for (len_bytes, count_max) in [(20_000, 100), (2000, 100), (300, 100), (20, 300)] {
        let end = key + count_max;
        let record = |key| [(key, text_of(7, len_bytes))];
        while key < end && write(filled, TransactionDurability::Relaxed, record(key)).is_ok() {
            key += 1;
        }
    }
}

/// Fills a disk, and finds everything possible that has to be.
fn fill_and_empty(disk: &Disk, executor: Executor, what: &str, value_of: impl Fn(u32) -> Value) {
    let storage_of = || storage(disk, executor);
    let committed = fill_to_the_last_block(disk, executor, what, &value_of);
    let full = disk.used_bytes();
    let storage = storage_of();
    assert_eq!(names(&storage), ["filled", "kept"], "{what}");
    let kept = open(&storage, "kept").unwrap();
    assert!(is_whole(&kept), "{what}");
    let large = (9999, text_of(1, 2 << 20));
    let error = write(&kept, TransactionDurability::Relaxed, [large]).unwrap_err();
    is_about_room(&error, what);
    drop(kept);
    let deleted = factory(&storage).delete_database("filled").done().wait();
    deleted.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(names(&storage), ["kept"], "{what}");
    let left = disk.used_bytes();
    println!("{what}: {committed} transactions, {full} bytes, {left} when deleted");
    // There is room again. Behind threads a table may have been given up a moment before, and there was some all the time: then
    // what is deleted goes when it is cleaned up.
    if matches!(executor, Executor::Driven { .. }) {
        assert!(left < full / 2, "{what}: {full} bytes, and still {left}");
        assert!(operations::has_reserve(disk), "{what}");
        write_again(&storage, committed, what, &value_of);
    }
    storage.close().unwrap();
    let is_small = |when: &str| {
        let (left, written) = (disk.used_bytes(), full / 3 + full / 16);
        let is_small = left < full / 2 + written;
        assert!(is_small, "{what}: {full} bytes, and {left} when {when}");
    };
    // Behind threads the compaction for it may have begun before there was room. Then it is done when the store is opened next.
    if matches!(executor, Executor::Driven { .. }) {
        is_small("closed");
    }
    let storage = storage_of();
    let kept = open(&storage, "kept").unwrap();
    assert!(is_whole(&kept), "{what}");
    drop(kept);
    if matches!(executor, Executor::Threads(_)) {
        write_again(&storage, committed, what, &value_of);
    }
    storage.close().unwrap();
    is_small("closed again");
}

/// Writes a third of what went into the disk before.
fn write_again(storage: &Storage, committed: u32, what: &str, value_of: impl Fn(u32) -> Value) {
    let again = open(storage, "again").unwrap();
    for key in 0..committed / 3 {
        write(
            &again,
            TransactionDurability::Relaxed,
            [(key, value_of(key))],
        )
        .unwrap_or_else(|error| panic!("{what}, {key} of {committed}: {error}"));
    }
}

fn fill_with_all(make: impl Fn() -> Disk, name: &str) {
    for executor in [DRIVEN, THREADS] {
        let what = |kind: &str| format!("{name}, {kind}, {executor:?}");
        fill_and_empty(&make(), executor, &what("records"), |key| {
            text_of(key, 20_000)
        });
        fill_and_empty(&make(), executor, &what("blobs"), |key| {
            blob_of(key, 50_000)
        });
    }
}

#[test]
fn a_full_disk_in_memory_is_read_and_deleted_from() {
    fill_with_all(Disk::in_memory, "memory");
}

#[test]
fn a_full_disk_in_a_folder_is_read_and_deleted_from() {
    fill_with_all(Disk::in_a_folder, "folder");
}

#[test]
fn a_full_file_system_is_read_and_deleted_from() {
    if Disk::mounted().is_none() {
        println!("SKIPPED: a file system of a few MiB can only be mounted by root (on Linux)");
        return;
    }
    fill_with_all(|| Disk::mounted().unwrap(), "tmpfs");
}

/// A transaction that is too large for memory writes before it commits.
#[test]
fn a_transaction_that_finds_no_room_before_it_commits_says_so_and_leaves_nothing() {
    for executor in [DRIVEN, THREADS] {
        let disk = Disk::in_memory();
        let storage = storage(&disk, executor);
        let connection = open(&storage, "kept").unwrap();
        write(
            &connection,
            TransactionDurability::Strict,
            [(1, text_of(1, 100))],
        )
        .unwrap();
        disk.limit();
        let records = (10..1000).map(|key| (key, text_of(key, 20_000)));
        let error = write(&connection, TransactionDurability::Relaxed, records).unwrap_err();
        is_about_room(&error, "spilled");
        drop(connection);
        let _ = storage.close();
        let storage = self::storage(&disk, executor);
        let connection = open(&storage, "kept").unwrap();
        assert_eq!(read(&connection, 1).unwrap(), noise(1, 100));
        assert!((10..1000).all(|key| read(&connection, key).is_none()));
        disk.extend();
        write(
            &connection,
            TransactionDurability::Strict,
            [(2, text_of(2, 100))],
        )
        .unwrap();
        assert!((10..1000).all(|key| read(&connection, key).is_none()));
        drop(connection);
        storage.close().unwrap();
    }
}
