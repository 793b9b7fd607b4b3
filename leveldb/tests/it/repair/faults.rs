//! Repairs that are cut off, or in which a file operation fails, at every operation there is.

use super::{DIR, Map, copy_of, files, mend, operations, options, rows_of, shown};
use crate::store::{StoreBuilder, get_file, put_file};
use crate::support::forward;
use larder_leveldb::storage::{CrashImage, Fault, FaultFileSystem, FileSystem, MemoryFileSystem};
use larder_leveldb::{Db, Repaired, Result, RowsInDoubt, repair};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A damaged store, and the bytes of its damaged table.
fn damaged_store() -> (StoreBuilder, Vec<u8>) {
    let operations = operations(300);
    let mut store = StoreBuilder::spread(&operations);
    let name = files(&store.fs)
        .into_iter()
        .find(|name| name.ends_with(".ldb"))
        .unwrap();
    let path = Path::new(DIR).join(&name);
    let mut bytes = get_file(&store.fs, &path);
    bytes[40] ^= 4;
    put_file(&store.fs, &path, &bytes);
    // Durable from here on.
    store.fs = store.fs.crash_image(CrashImage::KeepWritten);
    (store, bytes)
}

fn has(fs: &MemoryFileSystem, bytes: &[u8]) -> bool {
    let dirs = [Path::new(DIR).to_owned(), Path::new(DIR).join("lost")];
    let list = |dir: &PathBuf| {
        fs.list(dir)
            .unwrap_or_default()
            .into_iter()
            .map(|name| dir.join(name))
            .collect()
    };
    let paths: Vec<PathBuf> = dirs
        .iter()
        .flat_map(|dir| -> Vec<PathBuf> { list(dir) })
        .collect();
    paths
        .iter()
        .filter(|path| fs.metadata(path).is_ok_and(|metadata| !metadata.is_dir))
        .any(|path| get_file(fs, path) == bytes)
}

/// Runs a repair whose n-th file operation fails, for every n; gives each case what came of it.
fn with_every_fault(
    every_later_too: bool,
    mut look: impl FnMut(u64, Arc<MemoryFileSystem>, Result<Repaired>, &[u8]),
) -> u64 {
    let (store, bytes) = damaged_store();
    for n in 1.. {
        let memory = copy_of(&store.fs);
        let fs = Arc::new(FaultFileSystem::new(memory.clone()));
        fs.fail_at(Fault {
            operation: n,
            kind: io::ErrorKind::StorageFull,
            every_later_too,
        });
        let repaired = repair(
            fs.clone(),
            Path::new(DIR),
            &options(),
            RowsInDoubt::BringBack,
        );
        let is_last = fs.operations() < n;
        look(n, memory, repaired, &bytes);
        if is_last {
            return n;
        }
    }
    unreachable!("operations end")
}

#[test]
fn a_crash_at_any_operation_loses_nothing_and_the_next_repair_gives_the_same_rows() {
    let (store, _) = damaged_store();
    let fs = copy_of(&store.fs);
    mend(&fs, RowsInDoubt::BringBack, "without a crash");
    let expected = rows_of(&fs, "without a crash");
    let total = with_every_fault(true, |n, memory, _, bytes| {
        for image in [
            CrashImage::KeepWritten,
            CrashImage::LoseUnsynced,
            CrashImage::Tear { seed: n },
        ] {
            let case = format!("operation {n}, {image:?}");
            let fs = Arc::new(memory.crash_image(image));
            assert!(has(&fs, bytes), "{case}: the damaged table is gone");
            // If it opens at all, all is there, or the damage is met.
            if let Ok(db) = Db::open(copy_of(&fs), Path::new(DIR), options())
                && let Ok(rows) = forward(&db)
            {
                assert!(rows.into_iter().collect::<Map>() == expected, "{case}");
                drop(db);
                let fs = copy_of(&fs);
                drop(Db::open(fs.clone(), Path::new(DIR), options()));
                assert!(has(&fs, bytes), "{case}: opening removed the damaged table");
            }
            mend(&fs, RowsInDoubt::BringBack, &case);
            assert!(has(&fs, bytes), "{case}: the damaged table is gone");
            assert_eq!(rows_of(&fs, &case), expected, "{case}");
        }
    });
    println!("{total} operations");
    assert!(total > 100);
}

#[test]
fn a_failure_of_any_operation_is_an_error_or_listed_and_loses_nothing() {
    let (store, _) = damaged_store();
    let before = shown(&copy_of(&store.fs));
    let (mut errors, mut listed) = (0, 0);
    with_every_fault(false, |n, memory, repaired, bytes| {
        let case = format!("operation {n}");
        assert!(has(&memory, bytes), "{case}: the damaged table is gone");
        match repaired {
            Err(_) => {
                errors += 1;
                mend(&memory, RowsInDoubt::BringBack, &case);
                let rows = rows_of(&memory, &case);
                assert!(
                    before
                        .iter()
                        .all(|(key, value)| rows.get(key) == Some(value)),
                    "{case}"
                );
            }
            Ok(repaired) => {
                let rows = rows_of(&memory, &case);
                let is_lost = |(key, value): (&Vec<u8>, &Vec<u8>)| rows.get(key) != Some(value);
                if before.iter().any(is_lost) {
                    listed += 1;
                    assert!(repaired.damage.len() > 1, "{case}");
                }
            }
        }
    });
    println!("{errors} errors, {listed} with rows of unreadable files");
    assert!(errors > 20);
}
