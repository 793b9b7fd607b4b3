//! What only deletes works on a full disk and makes room: `clear`, `delete` of a range, and object stores that are deleted.

use larder_idb::KeyRange;

use super::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Clear,
    DeleteRange,
    DeleteObjectStore,
}

/// Deletes all that fills the disk.
fn delete(storage: &Storage, how: How) -> Result<()> {
    let name = "filled";
    if how == How::DeleteObjectStore {
        let request = factory(storage).open(name, Some(2))?;
        let request = request.with_upgrade(|upgrade| {
            let transaction = &upgrade.transaction;
            transaction.delete_object_store("a")?;
            let parameters = ObjectStoreParameters::default();
            transaction.create_object_store("a", parameters).map(drop)
        });
        return request.wait().map(drop);
    }
    let connection = open(storage, "filled")?;
    let options = TransactionOptions::default();
    let transaction = connection.transaction(["a"], TransactionMode::ReadWrite, options)?;
    let store = transaction.object_store("a")?;
    let deleted = match how {
        How::Clear => store.clear()?,
        _ => store.delete(KeyRange::bound(
            Key::Number(0.0),
            Key::Number(1e9),
            false,
            false,
        )?)?,
    };
    deleted.wait()?;
    transaction.commit()?.wait()
}

fn is_empty(storage: &Storage) -> bool {
    let filled = open(storage, "filled").unwrap();
    let options = TransactionOptions::default();
    let transaction = filled.transaction(["a"], TransactionMode::ReadOnly, options);
    let store = transaction.unwrap().object_store("a").unwrap();
    store.count(KeyRange::all()).unwrap().wait().unwrap() == 0
}

fn fill_and_delete(disk: &Disk, executor: Executor, how: How, what: &str) {
    let what = &format!("{what}, {how:?}, {executor:?}");
    let value_of = |key| text_of(key, 20_000);
    let committed = fill_to_the_last_block(disk, executor, what, value_of);
    let full = disk.used_bytes();
    let storage = storage(disk, executor);
    fill_the_rest(&open(&storage, "filled").unwrap(), 300_000);
    delete(&storage, how).unwrap_or_else(|error| panic!("{what}: {error}"));
    let left = disk.used_bytes();
    println!("{what}: {committed} transactions, {full} bytes, {left} when deleted");
    let check = |storage: &Storage| {
        assert!(is_empty(storage), "{what}");
        assert!(is_whole(&open(storage, "kept").unwrap()), "{what}");
    };
    check(&storage);
    if matches!(executor, Executor::Driven { .. }) {
        assert!(left < full / 2, "{what}: {full} bytes, and still {left}");
    }
    // Behind threads the tables of what was deleted go in the background, maybe after the next writes: closing waits for that.
    if matches!(executor, Executor::Driven { .. }) {
        write_again(&storage, committed, what, value_of);
    }
    storage.close().unwrap();
    let storage = self::storage(disk, executor);
    check(&storage);
    if matches!(executor, Executor::Threads(_)) {
        write_again(&storage, committed, what, value_of);
    }
    // What comes later in the same place stays.
    let filled = open(&storage, "filled").unwrap();
    write(
        &filled,
        TransactionDurability::Strict,
        [(3, text_of(3, 500))],
    )
    .unwrap();
    drop(filled);
    storage.close().unwrap();
    let storage = self::storage(disk, executor);
    let filled = open(&storage, "filled").unwrap();
    assert_eq!(read(&filled, 3).unwrap(), noise(3, 500), "{what}");
    drop(filled);
    storage.close().unwrap();
}

fn all(make: impl Fn() -> Disk, what: &str) {
    for executor in [DRIVEN, THREADS] {
        for how in [How::Clear, How::DeleteRange, How::DeleteObjectStore] {
            fill_and_delete(&make(), executor, how, what);
        }
    }
}

#[test]
fn a_full_disk_in_memory_is_cleared() {
    all(Disk::in_memory, "memory");
}

#[test]
fn a_full_file_system_is_cleared() {
    if Disk::mounted().is_none() {
        println!("SKIPPED: a file system of a few MiB can only be mounted by root (on Linux)");
        return;
    }
    all(|| Disk::mounted().unwrap(), "tmpfs");
}
