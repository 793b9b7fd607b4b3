//! Errors of the system that pass, while a store is read that may be damaged: whatever call meets one fails, and the next shows
//! what there is. Nothing is taken for damage because of it, and nothing stays hidden.

use crate::store::{Operation, StoreBuilder, get_file, put_file};
use crate::support::{backward, forward};
use larder_leveldb::storage::{CrashImage, Fault, FaultFileSystem, Manner, MemoryFileSystem};
use larder_leveldb::{BlockCache, Db, ErrorKind, OnDamage, Options, Result};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Too many open files, as Linux and macOS number it.
#[cfg(unix)]
const TOO_MANY_FILES: i32 = 24;
#[cfg(not(unix))]
const TOO_MANY_FILES: i32 = 4;

fn options() -> Options {
    Options {
        on_damage: OnDamage::Skip,
        // So that tables are opened again and again.
        open_tables_max: 2,
        block_cache: BlockCache::new(1000),
        ..Options::default()
    }
}

/// Rows in several tables of two levels and in logs.
fn store() -> StoreBuilder {
    let operation = |n: u32| -> Operation {
        let key = format!("key {:03}", n * 7 % 40).into_bytes();
        let value = (n % 5 != 4).then(|| vec![n as u8; 40]);
        (key, value)
    };
    StoreBuilder::spread(&(0..80).map(operation).collect::<Vec<_>>())
}

/// A value, or none; none at all of what may be lost.
type Found = Option<Option<Vec<u8>>>;

/// All that reading shows, forward, backward and by key, and how much is damaged.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    forward: Vec<(Vec<u8>, Vec<u8>)>,
    backward: Vec<(Vec<u8>, Vec<u8>)>,
    by_key: Vec<Found>,
    damage: Vec<(PathBuf, Option<u64>)>,
}

fn show(db: &Db) -> Result<Shown> {
    let key = |n: u32| format!("key {n:03}").into_bytes();
    let forward = forward(db)?;
    let backward = backward(db)?;
    let get = |n| match db.get(&key(n)) {
        Err(error) if error.kind() == ErrorKind::Corruption => Ok(None),
        found => found.map(Some),
    };
    let by_key: Result<_> = (0..40).map(get).collect();
    let mut damage: Vec<_> = (db.damage().into_iter())
        .map(|damage| (damage.file, damage.offset))
        .collect();
    damage.sort();
    damage.dedup();
    Ok(Shown {
        forward,
        backward,
        by_key: by_key?,
        damage,
    })
}

fn open(fs: &Arc<FaultFileSystem>, dir: &Path) -> Result<Db> {
    Db::open_read_only(fs.clone(), dir, options())
}

/// Lets each operation fail once, and reads on.
fn goes_on_after_each(files: &MemoryFileSystem, dir: &Path, what: &str) {
    let whole = Arc::new(FaultFileSystem::new(Arc::new(files.clone())));
    let expected = show(&open(&whole, dir).unwrap()).unwrap();
    assert_eq!(expected.damage.is_empty(), what == "whole");
    let mut failed = 0;
    for operation in 1..=whole.operations() {
        let files = files.crash_image(CrashImage::KeepWritten);
        let fs = Arc::new(FaultFileSystem::new(Arc::new(files)));
        fs.set_manner(Manner {
            raw_os_error: operation.is_multiple_of(2).then_some(TOO_MANY_FILES),
            ..Manner::default()
        });
        fs.fail_at(Fault {
            operation,
            kind: io::ErrorKind::TimedOut,
            every_later_too: false,
        });
        let mut retry = |error: larder_leveldb::Error| {
            failed += 1;
            assert_eq!(error.kind(), ErrorKind::Io, "{what}, {operation}: {error}");
        };
        let db = open(&fs, dir).map_err(&mut retry);
        let db = db.unwrap_or_else(|()| open(&fs, dir).unwrap());
        let shown = show(&db).map_err(&mut retry);
        let shown = shown.unwrap_or_else(|()| show(&db).unwrap());
        assert!(
            shown == expected,
            "{what}, operation {operation} ({:?}): {shown:?} in place of {expected:?}",
            fs.failed()
        );
    }
    println!("{what}: {failed} of {} failed", whole.operations());
    assert!(failed > 20, "{what}: {failed}");
}

#[test]
fn what_an_error_that_passes_has_hidden_is_there_when_it_has_passed() {
    let store = store();
    goes_on_after_each(&store.fs, &store.dir, "whole");
}

/// What is done to a file's bytes.
type Change = fn(&mut Vec<u8>);

/// The store's files that end like this, by name.
fn files(store: &StoreBuilder, ending: &str) -> Vec<PathBuf> {
    use larder_leveldb::storage::FileSystem;
    let names = store.fs.list(&store.dir).unwrap();
    let mut names: Vec<PathBuf> = names.iter().map(|name| store.dir.join(name)).collect();
    names.retain(|name| name.to_string_lossy().ends_with(ending));
    names.sort();
    names
}

#[test]
fn damage_stays_damage_and_errors_that_pass_beside_it_do_not() {
    let damages: [(&str, Change); 4] = [
        // The footer: the index is found by its blocks.
        (".ldb", |bytes| bytes.truncate(bytes.len() - 3)),
        (".sst", |bytes| bytes[7] ^= 1),
        (".log", |bytes| bytes[30] ^= 1),
        ("CURRENT", |bytes| bytes.truncate(4)),
    ];
    for (ending, damage) in damages {
        let store = store();
        let path = &files(&store, ending)[0];
        let mut bytes = get_file(&store.fs, path);
        damage(&mut bytes);
        put_file(&store.fs, path, &bytes);
        goes_on_after_each(&store.fs, &store.dir, ending);
    }
}
