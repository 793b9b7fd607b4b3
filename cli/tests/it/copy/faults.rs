//! A copy that is killed at any file operation, or whose file system fails at any: the source is as it was, at the target there is no store
//! or the whole one, and the next copy succeeds.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use larder::copy::{CopyOptions, copy_store};
use larder_backing_store::{OpenOptions, Store, StorePaths};
use larder_leveldb::OnDamage;
use larder_leveldb::storage::{DiskFileSystem, Fault, FaultFileSystem};

use super::{files, folder};

fn open(leveldb: &Path) -> Store {
    let options = OpenOptions {
        on_damage: OnDamage::Skip,
        ..OpenOptions::default()
    };
    let paths = StorePaths::of_leveldb(leveldb);
    Store::open_read_only(Arc::new(DiskFileSystem::new()), paths, options).unwrap()
}

/// Rows by key and value, and blobs by length and time.
type Content = (Vec<(Vec<u8>, Vec<u8>)>, Vec<(u64, SystemTime)>);

/// Every row of a store but those of the undo log and of journals, and every blob with its time.
fn content(leveldb: &Path) -> Content {
    let store = open(leveldb);
    let mut rows = store.rows();
    let mut found = Vec::new();
    while rows.next().unwrap() {
        let is_journal = matches!(rows.key(), [0, 0, 0, 0, 3 | 4]);
        if !is_journal {
            found.push((rows.key().to_vec(), rows.value().unwrap().to_vec()));
        }
    }
    let blobs = files(&store.paths().blob).into_iter();
    (found, blobs.map(|(_, len, time)| (len, time)).collect())
}

/// Copies to a new folder with a fault at this operation: whether the copy is there, and how many operations there were.
fn try_copy(store: &Store, fault: Fault, wanted: &Content) -> (bool, u64) {
    let to = folder();
    let name = store.paths().leveldb.file_name().unwrap();
    let paths = StorePaths::of_leveldb(&to.path().join("deep").join(name));
    let fs = Arc::new(FaultFileSystem::new(Arc::new(DiskFileSystem::new())));
    fs.fail_at(fault);
    let options = CopyOptions::default();
    let copied = copy_store(store, fs.clone(), &paths, &options, &mut || {});
    let (operation, every_later_too) = (fault.operation, fault.every_later_too);
    let what = format!("operation {operation}, killed: {every_later_too}");
    let is_there = paths.leveldb.exists();
    if is_there {
        assert!(content(&paths.leveldb) == *wanted, "{what}");
    } else {
        assert!(copied.is_err(), "{what}");
        let disk = Arc::new(DiskFileSystem::new());
        copy_store(store, disk, &paths, &options, &mut || {}).unwrap();
        assert!(content(&paths.leveldb) == *wanted, "{what}, again");
        let left = std::fs::read_dir(to.path().join("deep")).unwrap().count();
        assert_eq!(left, 2, "{what}: a folder is left");
    }
    (is_there, fs.operations())
}

/// `LARDER_FAULT_STRIDE=1` tries every operation; without it, every 23rd and all of the last, in which the folders get their names.
#[test]
fn a_copy_that_is_killed_or_fails_at_any_operation_leaves_all_or_nothing() {
    let stride = std::env::var("LARDER_FAULT_STRIDE").map_or(23, |text| text.parse().unwrap());
    let source = larder_fixtures::get("c156-lite").open();
    let before = files(source.dir());
    let store = open(&source.leveldb());
    let wanted = content(&source.leveldb());
    let fault = |operation, every_later_too| Fault {
        operation,
        kind: io::ErrorKind::PermissionDenied,
        every_later_too,
    };
    let (is_there, all) = try_copy(&store, fault(u64::MAX, false), &wanted);
    assert!(is_there && all > 100, "{all} operations");
    let tried = (1..all).step_by(stride).chain(all.saturating_sub(12)..=all);
    let (mut whole, mut none) = (0, 0);
    for operation in tried {
        // A process that is killed does nothing after the operation; one whose operation fails clears up.
        for every_later_too in [true, false] {
            match try_copy(&store, fault(operation, every_later_too), &wanted) {
                (true, _) => whole += 1,
                (false, _) => none += 1,
            }
        }
    }
    println!("of {all} operations: {whole} times whole, {none} times none");
    assert!(whole > 1 && none > 20);
    assert_eq!(files(source.dir()), before);
}
