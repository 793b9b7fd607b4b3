//! A disk that fails: what was not committed is taken back, requests and connections report it, and the next open looks at what is there.

use std::io;

use larder_idb::{ConnectionEvent, ErrorKind, ErrorName, TransactionDurability};
use larder_leveldb::storage::{Fault, FaultFileSystem};

use super::*;

/// Lets the next strict commit fail while it writes to the log, after it has asked for the lock; and all later operations, if
/// `every_later_too`.
fn fail_next_commit(fs: &FaultFileSystem, kind: io::ErrorKind, every_later_too: bool) {
    fs.fail_at(Fault {
        operation: fs.operations() + 2,
        kind,
        every_later_too,
    });
}

#[test]
fn a_store_that_cannot_be_written_to_is_closed_by_force_and_opened_again() {
    for executor in EXECUTORS {
        for kind in [io::ErrorKind::Other, io::ErrorKind::StorageFull] {
            let fs = Arc::new(FaultFileSystem::new(Arc::new(MemoryFileSystem::new())));
            let storage = storage_on(fs.clone(), executor);
            let connection = open(&storage).wait().unwrap();
            let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
            put(&transaction, "a", 1.0, "kept").wait().unwrap();
            commit(&transaction).unwrap();
            let beside = begin(&connection, &["b"], TransactionMode::ReadWrite);
            put(&beside, "b", 1.0, "lost").wait().unwrap();
            let options = TransactionOptions::new().durability(TransactionDurability::Strict);
            let failing = connection
                .transaction(["a"], TransactionMode::ReadWrite, options)
                .unwrap();
            put(&failing, "a", 2.0, "?").wait().unwrap();
            fail_next_commit(&fs, kind, true);
            let error = commit(&failing).unwrap_err();
            // What the disk has of it cannot be found out before it works again.
            assert_eq!(error.name(), ErrorName::UnknownError);
            assert_eq!(error.kind(), ErrorKind::Uncertain);
            assert!(error.message().contains("opened again"), "{error}");
            assert!(beside.finished().wait().is_err());
            assert!(matches!(
                connection.events().wait_next(),
                Some(ConnectionEvent::Close)
            ));
            assert!(connection.is_close_pending());
            // It fails as long as the disk does.
            assert!(open(&storage).wait().is_err());
            fs.heal();
            let connection = open(&storage).wait().unwrap();
            assert_eq!(look(&connection, "a", 1.0).unwrap(), "kept");
            assert_eq!(look(&connection, "b", 1.0), None);
            let again = begin(&connection, &["a"], TransactionMode::ReadWrite);
            put(&again, "a", 2.0, "again").wait().unwrap();
            commit(&again).unwrap();
            assert_eq!(look(&connection, "a", 2.0).unwrap(), "again");
        }
    }
}

#[test]
fn a_commit_that_a_disk_refuses_once_is_no_other_transactions_business() {
    for executor in EXECUTORS {
        for (kind, name) in [
            (io::ErrorKind::Other, ErrorName::UnknownError),
            (io::ErrorKind::StorageFull, ErrorName::QuotaExceededError),
        ] {
            let fs = Arc::new(FaultFileSystem::new(Arc::new(MemoryFileSystem::new())));
            let storage = storage_on(fs.clone(), executor);
            let connection = open(&storage).wait().unwrap();
            let beside = begin(&connection, &["b"], TransactionMode::ReadWrite);
            put(&beside, "b", 1.0, "beside").wait().unwrap();
            let options = TransactionOptions::new().durability(TransactionDurability::Strict);
            let failing = connection
                .transaction(["a"], TransactionMode::ReadWrite, options)
                .unwrap();
            put(&failing, "a", 2.0, "never").wait().unwrap();
            fail_next_commit(&fs, kind, false);
            assert_eq!(commit(&failing).unwrap_err().name(), name);
            assert_eq!(fs.failed(), ["append bytes"]);
            assert_eq!(look(&connection, "a", 2.0), None);
            commit(&beside).unwrap();
            let again = begin(&connection, &["a"], TransactionMode::ReadWrite);
            put(&again, "a", 3.0, "again").wait().unwrap();
            commit(&again).unwrap();
            factory(&storage).close().wait().unwrap();
            let connection = open(&storage).wait().unwrap();
            assert_eq!(look(&connection, "a", 2.0), None);
            assert_eq!(look(&connection, "b", 1.0).unwrap(), "beside");
            assert_eq!(look(&connection, "a", 3.0).unwrap(), "again");
        }
    }
}

/// Wherever the disk fails during an upgrade: the request ends, and the database is there as it was or as it was to be.
#[test]
fn an_upgrade_that_fails_at_any_write_ends_and_leaves_all_or_nothing() {
    for executor in [EXECUTORS[0], DRIVEN] {
        let mut operation = 1;
        loop {
            let fs = Arc::new(FaultFileSystem::new(Arc::new(MemoryFileSystem::new())));
            let storage = storage_on(fs.clone(), executor);
            fs.fail_at(Fault {
                operation,
                kind: io::ErrorKind::Other,
                every_later_too: true,
            });
            let opened = open(&storage).wait();
            let has_failed = !fs.failed().is_empty();
            fs.heal();
            if opened.is_ok() {
                drop(opened);
            }
            factory(&storage).close().wait().ok();
            let connection = open(&storage).wait().unwrap();
            assert_eq!(connection.version(), 1);
            assert_eq!(
                connection.object_store_names().len(),
                3,
                "operation {operation}"
            );
            if !has_failed {
                break;
            }
            operation += 1;
        }
        assert!(operation > 10, "nothing was tried");
        println!("{operation} operations");
    }
}
