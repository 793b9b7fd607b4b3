//! Files of blobs that stay while a reader has them, or cannot be removed: they go without the store being opened anew.

use std::io::ErrorKind as IoErrorKind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use larder_backing_store::{Maintenance, ReadTransaction};
use larder_codec::blob_journal::BlobJournal;
use larder_codec::row_key::GlobalKey;
use larder_leveldb::storage::{CrashImage, Fault, FaultFileSystem};

use super::*;

/// How many entries both journals have.
fn journalled(store: &BackingStore) -> usize {
    let kinds = [GlobalKey::RecoveryBlobJournal, GlobalKey::ActiveBlobJournal];
    let entries = kinds.map(|kind| {
        let mut key = Vec::new();
        kind.encode(&mut key);
        let row = store.snapshot().get(&key).unwrap().unwrap_or_default();
        BlobJournal::decode_exact(&row).unwrap().entries.len()
    });
    entries.iter().sum()
}

fn overwrite(store: &BackingStore, id: DatabaseId, content: &[u8]) -> Result<()> {
    let mut transaction = begin(store, id, Durability::Relaxed)?;
    put(&mut transaction, 1, &[blob(content)])?;
    transaction.commit()
}

fn quiet_down(store: &BackingStore) {
    while store.maintain().unwrap() == Maintenance::Step {}
}

/// What is done while the reader reads, or ends.
type Change = fn(&BackingStore, DatabaseId);

fn overwrites(store: &BackingStore, id: DatabaseId) {
    overwrite(store, id, b"two").unwrap();
}

fn deletes_the_database(store: &BackingStore, _: DatabaseId) {
    assert!(store.delete_database(&database()).unwrap());
}

#[test]
fn a_reader_that_ends_at_any_moment_of_a_commit_leaves_no_file_that_nothing_refers_to() {
    let changes: [(Change, usize); 2] = [(overwrites, 1), (deletes_the_database, 0)];
    for (change, files) in changes {
        let mut ended_within = 0;
        for after in 1.. {
            let memory = MemoryFileSystem::new();
            let fs = Arc::new(FaultFileSystem::new(Arc::new(memory.clone())));
            let store = open(fs.clone()).unwrap();
            let id = set_up(&store).unwrap();
            overwrite(&store, id, b"one").unwrap();
            let reader: Mutex<Option<ReadTransaction>> = Mutex::new(Some(store.read()));
            let reader = Arc::new(reader);
            let end_at = fs.operations() + after;
            let ending = Arc::clone(&reader);
            fs.watch(move |operation| {
                if operation == end_at {
                    ending.lock().unwrap().take();
                }
            });
            change(&store, id);
            let is_over = reader.lock().unwrap().take().is_some();
            quiet_down(&store);
            assert_eq!(
                (file_count(&memory), journalled(&store)),
                (files, 0),
                "the reader ended at operation {after}"
            );
            if is_over {
                break;
            }
            ended_within += 1;
        }
        assert!(ended_within > 2, "{ended_within} moments of a commit");
    }
}

#[test]
fn readers_that_come_and_go_while_blobs_are_overwritten_leave_as_many_files_as_there_are_blobs() {
    let fs = MemoryFileSystem::new();
    let yielding = FaultFileSystem::new(Arc::new(fs.clone()));
    // Readers end in the middle of commits, as they do where a write takes its time.
    yielding.watch(|_| thread::yield_now());
    let store = open(Arc::new(yielding)).unwrap();
    let id = set_up(&store).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let read = contents(&store.read(), id);
                    assert!(read.values().flatten().all(|content| content.len() == 5));
                }
            });
        }
        for n in 0..400_u32 {
            overwrite(&store, id, format!("{n:05}").as_bytes()).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    quiet_down(&store);
    assert_eq!((file_count(&fs), journalled(&store)), (1, 0));
}

#[test]
fn files_that_a_reader_kept_go_in_quiet_times_though_nothing_is_written_any_more() {
    let fs = MemoryFileSystem::new();
    let store = open(Arc::new(fs.clone())).unwrap();
    let id = set_up(&store).unwrap();
    overwrite(&store, id, b"one").unwrap();
    let reader = store.read();
    overwrite(&store, id, b"two").unwrap();
    quiet_down(&store);
    assert_eq!((file_count(&fs), journalled(&store)), (2, 1));
    drop(reader);
    quiet_down(&store);
    assert_eq!((file_count(&fs), journalled(&store)), (1, 0));
}

#[test]
fn a_file_operation_that_fails_once_leaves_no_file_behind_for_longer_than_until_the_next_commit() {
    let mut seen = std::collections::BTreeSet::new();
    for after in 1.. {
        let memory = MemoryFileSystem::new();
        let fs = Arc::new(FaultFileSystem::new(Arc::new(memory.clone())));
        let store = open(fs.clone()).unwrap();
        let id = set_up(&store).unwrap();
        overwrite(&store, id, b"one").unwrap();
        fs.fail_at(Fault {
            operation: fs.operations() + after,
            kind: IoErrorKind::PermissionDenied,
            every_later_too: false,
        });
        let _ = overwrite(&store, id, b"two");
        fs.heal();
        let failed = fs.failed();
        if failed.is_empty() {
            break;
        }
        if store.check_writable().is_err() {
            // The log could not be written: only opening shows what is there.
            continue;
        }
        seen.extend(failed.iter().copied());
        overwrite(&store, id, b"three").unwrap();
        let found = (file_count(&memory), journalled(&store));
        assert_eq!(found, (1, 0), "operation {after}, {failed:?}");
    }
    assert!(
        seen.contains("remove") && seen.contains("create"),
        "{seen:?}"
    );
}

#[test]
fn a_blob_file_that_cannot_be_removed_keeps_no_store_shut_and_goes_with_the_next_one() {
    let memory = MemoryFileSystem::new();
    let store = open(Arc::new(memory.clone())).unwrap();
    let id = set_up(&store).unwrap();
    overwrite(&store, id, b"one").unwrap();
    let reader = store.read();
    overwrite(&store, id, b"two").unwrap();
    let left = memory.crash_image(CrashImage::LoseUnsynced);
    drop(reader);
    let mut has_failed = false;
    for operation in 1.. {
        let image = left.crash_image(CrashImage::LoseUnsynced);
        let fs = Arc::new(FaultFileSystem::new(Arc::new(image.clone())));
        fs.fail_at(Fault {
            operation,
            kind: IoErrorKind::PermissionDenied,
            every_later_too: false,
        });
        let opened = open(fs.clone());
        let (failed, count) = (fs.failed(), file_count(&image));
        if failed.is_empty() {
            break;
        }
        if failed != ["remove"] || count != 2 {
            continue;
        }
        has_failed = true;
        let store = opened.unwrap();
        assert_eq!(journalled(&store), 1, "what is left stays listed");
        overwrite(&store, id, b"three").unwrap();
        assert_eq!((file_count(&image), journalled(&store)), (1, 0));
    }
    assert!(has_failed);
}
