//! A disk that is full from any operation on: the store can be opened, read and closed, nothing that was acknowledged is lost and
//! nothing that failed is there, and writing goes on when there is room again.

use crate::engine_crash::{Acknowledged, no_unknown_files, options, prefix, work};
use crate::store::get_file;
use crate::support::{fault_stride, sampled};
use larder_leveldb::storage::{
    CrashImage, DiskFileSystem, Fault, FaultFileSystem, FileSystem, LimitedFileSystem,
    MemoryFileSystem,
};
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{
    Background, Db, Durability, Error, ErrorKind, Options, Result, TailKind, TornTail,
};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

const BATCHES: u32 = 75;
/// Small, so that little fits in what files have.
const BLOCK_LEN: u64 = 64;
/// `ENOSPC`, `EDQUOT` and `EFBIG` (Linux).
const SYSTEM_ERRORS: [i32; 3] = [28, 122, 27];

struct Disk {
    fs: Arc<FaultFileSystem>,
    limited: LimitedFileSystem,
}

impl Disk {
    fn new(inner: Arc<dyn FileSystem>) -> Disk {
        let limited = LimitedFileSystem::new(inner, BLOCK_LEN);
        let fs = Arc::new(FaultFileSystem::new(Arc::new(limited.clone())));
        Disk { fs, limited }
    }

    /// Has so many blocks left from an operation on.
    fn fill_at(&self, operation: u64, blocks: u64) {
        let limited = self.limited.clone();
        let error = SYSTEM_ERRORS[operation as usize % SYSTEM_ERRORS.len()];
        self.fs.watch(move |n| {
            if n == operation {
                limited.leave(blocks, Some(error));
            }
        });
    }
}

/// Opens the store, writes and closes it, more than once: what stopped it, and the handle if that was open.
fn run(disk: &Disk, dir: &Path, acknowledged: &Acknowledged) -> Option<(Option<Db>, Error)> {
    for upto in [20, 60, BATCHES] {
        let db = match Db::open(disk.fs.clone(), dir, options()) {
            Ok(db) => db,
            Err(error) => return Some((None, error)),
        };
        if let Err(error) = work(&db, acknowledged, upto) {
            return Some((Some(db), error));
        }
        if let Err(error) = db.close() {
            return Some((None, error));
        }
    }
    None
}

fn operations() -> u64 {
    let disk = Disk::new(Arc::new(MemoryFileSystem::new()));
    assert!(run(&disk, Path::new("db"), &Acknowledged::upto(0)).is_none());
    disk.fs.operations()
}

/// What is there is this batch, and another write, which changes nothing, is taken or refused for want of room: whether all that
/// is there is durable then.
fn is_whole_and_may_lack_room(db: &Db, number: u32, what: &str) -> bool {
    assert_eq!(prefix(db), number, "{what}");
    let durability = match number % 2 {
        0 => Durability::Strict,
        _ => Durability::Relaxed,
    };
    let mut batch = BatchWriter::new();
    batch.put(b"k", &[7; 200]);
    batch.delete(b"k");
    let written = db.write(&mut batch, durability);
    if let Err(error) = &written {
        let is_known = error.is_out_of_space() && error.kind() != ErrorKind::Uncertain;
        assert!(is_known, "{what}: {:?} {error}", error.kind());
    }
    assert_eq!(prefix(db), number, "{what}");
    written.is_ok() && durability == Durability::Strict
}

/// What power cuts leave is at least one batch, and at most another one.
fn survives(memory: &MemoryFileSystem, dir: &Path, (least, most): (u32, u32), what: &str) {
    let seed = u64::from(most);
    let cuts = CrashImage::POWER_CUTS.map(|model| model(seed));
    for image in cuts.into_iter().chain([CrashImage::LoseUnsynced]) {
        let after = Arc::new(memory.crash_image(image));
        let db = Db::open(after, dir, options());
        let number = prefix(&db.unwrap_or_else(|error| panic!("{what}, {image:?}: {error}")));
        assert!(
            (least..=most).contains(&number),
            "{what}, {image:?}: {number}"
        );
    }
}

#[derive(Debug, Default)]
struct Outcomes {
    stopped: u64,
    not_made: u64,
    kept: u64,
    strict: u64,
    went_on: u64,
}

fn fill(disk: &Disk, dir: &Path, memory: Option<&MemoryFileSystem>, what: &str) -> Outcomes {
    let mut outcomes = Outcomes::default();
    let acknowledged = Acknowledged::upto(0);
    let stopped = run(disk, dir, &acknowledged);
    let Some((db, error)) = stopped else {
        return outcomes;
    };
    outcomes.stopped += 1;
    assert!(error.is_out_of_space(), "{what}: {error}");
    let mut durable = acknowledged.strict();
    if let Some(memory) = memory {
        survives(memory, dir, (durable, acknowledged.any()), what);
    }
    if let Some(db) = &db {
        is_whole_and_may_lack_room(db, acknowledged.any(), what);
    }
    drop(db);
    // Twice: what the first leaves is opened again.
    for _ in 0..2 {
        let refused = disk.limited.refused();
        let db = match Db::open(disk.fs.clone(), dir, options()) {
            Ok(db) => db,
            // There is no store yet.
            Err(error) if acknowledged.any() == 0 => {
                assert!(error.is_out_of_space(), "{what}: {error}");
                outcomes.not_made += 1;
                break;
            }
            Err(error) => panic!("{what}: {error}"),
        };
        outcomes.kept += u64::from(disk.limited.refused() > refused);
        if is_whole_and_may_lack_room(&db, acknowledged.any(), what) {
            durable = acknowledged.any();
            outcomes.strict += 1;
        }
        if let Some(memory) = memory {
            survives(memory, dir, (durable, acknowledged.any()), what);
        }
        let is_refused = db.check_writable().is_err();
        assert_eq!(db.close().is_err(), is_refused, "{what}");
    }
    disk.limited.extend();
    let db = Db::open(disk.fs.clone(), dir, options()).unwrap();
    work(&db, &acknowledged, BATCHES).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(prefix(&db), BATCHES, "{what}");
    db.close().unwrap();
    let inner: Arc<dyn FileSystem> = Arc::new(disk.limited.clone());
    no_unknown_files(&inner, dir);
    outcomes
}

/// A handle that was opened without room takes writes, and tidies up, once there is room.
fn goes_on(disk: &Disk, dir: &Path, what: &str) -> bool {
    let acknowledged = Acknowledged::upto(0);
    run(disk, dir, &acknowledged);
    let Ok(db) = Db::open(disk.fs.clone(), dir, options()) else {
        return false;
    };
    assert_eq!(prefix(&db), acknowledged.any(), "{what}");
    disk.limited.extend();
    work(&db, &acknowledged, BATCHES).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(prefix(&db), BATCHES, "{what}");
    db.flush().unwrap();
    db.close().unwrap();
    let inner: Arc<dyn FileSystem> = Arc::new(disk.limited.clone());
    no_unknown_files(&inner, dir);
    true
}

#[test]
fn a_disk_that_is_full_from_any_operation_on_locks_no_store() {
    // Odd, so that both a full disk and one with some blocks are tried.
    let (stride, total) = (sampled(9), operations());
    let mut all = Outcomes::default();
    let mut tried = 0;
    for n in (1..=total).step_by(stride) {
        tried += 1;
        let blocks = [0, 1 + n % 40][n as usize % 2];
        let what = format!("operation {n}, {blocks} blocks");
        let memory = MemoryFileSystem::new();
        let disk = Disk::new(Arc::new(memory.clone()));
        disk.fill_at(n, blocks);
        let dir = Path::new("db");
        let outcomes = fill(&disk, dir, Some(&memory), &what);
        all.stopped += outcomes.stopped;
        all.not_made += outcomes.not_made;
        all.kept += outcomes.kept;
        all.strict += outcomes.strict;
        let disk = Disk::new(Arc::new(MemoryFileSystem::new()));
        disk.fill_at(n, blocks);
        all.went_on += u64::from(goes_on(&disk, dir, &what));
    }
    println!("{tried} of {total} file operations: {all:?}");
    assert!(all.stopped > tried / 2 && all.kept > tried / 2 && all.went_on > tried / 2);
    assert!(all.strict > 15);
}

#[test]
fn a_full_disk_locks_no_store_in_a_real_folder() {
    let (stride, total) = (fault_stride(23 * sampled(4)), operations());
    let (mut tried, mut stopped) = (0, 0);
    for n in (1..=total).step_by(stride) {
        let parent = tempfile::tempdir().unwrap();
        let disk = Disk::new(Arc::new(DiskFileSystem::new()));
        disk.fill_at(n, n % 7);
        let what = format!("operation {n}");
        tried += 1;
        stopped += fill(&disk, &parent.path().join("db"), None, &what).stopped;
    }
    println!("on a disk, full from {tried} of {total} file operations on: {stopped} stopped");
    assert!(stopped > tried / 2, "{stopped}");
}

#[test]
fn what_a_power_cut_leaves_is_the_same_with_and_without_room() {
    let mut torn = BTreeMap::new();
    for n in (1..=operations()).step_by(fault_stride(3)) {
        let memory = MemoryFileSystem::new();
        let fs = Arc::new(FaultFileSystem::new(Arc::new(memory.clone())));
        fs.fail_at(Fault {
            operation: n,
            kind: io::ErrorKind::Other,
            every_later_too: true,
        });
        let limited = LimitedFileSystem::new(Arc::new(memory.clone()), BLOCK_LEN);
        let disk = Disk { fs, limited };
        let dir = Path::new("db");
        let _handle = run(&disk, dir, &Acknowledged::upto(0));
        let image = CrashImage::POWER_CUTS[n as usize % CrashImage::POWER_CUTS.len()](n);
        let what = format!("operation {n}, {image:?}");
        let db = Db::open(Arc::new(memory.crash_image(image)), dir, options()).unwrap();
        let number = prefix(&db);
        let tails = db.torn_tails().to_vec();
        let after = memory.crash_image(image);
        let limited = LimitedFileSystem::new(Arc::new(after.clone()), BLOCK_LEN);
        limited.leave(0, None);
        let open = || Db::open(Arc::new(limited.clone()), dir, options());
        if after.metadata(&dir.join("CURRENT")).is_err() {
            assert!(open().unwrap_err().is_out_of_space(), "{what}");
            continue;
        }
        // Then room for a log, and then for more.
        for blocks in [0, 10, 40] {
            limited.leave(blocks, None);
            let db = open().unwrap_or_else(|error| panic!("{what}: {error}"));
            let is_durable = is_whole_and_may_lack_room(&db, number, &what);
            if blocks == 0 {
                assert!(
                    db.torn_tails()
                        .iter()
                        .map(|t| &t.file)
                        .eq(tails.iter().map(|t| &t.file))
                );
            }
            let least = if is_durable { number } else { 0 };
            survives(&after, dir, (least, number), &what);
        }
        limited.extend();
        for tail in &tails {
            *torn.entry(format!("{:?}", tail.kind)).or_insert(0) += 1;
        }
        let db = open().unwrap();
        assert_eq!(prefix(&db), number, "{what}");
        let is_kept = |tail: &&TornTail| match tail.kind {
            TailKind::Zeros => false,
            TailKind::AfterLoss => tail.len_bytes > 19,
            _ => true,
        };
        let lost = after.list(&dir.join("lost")).unwrap_or_default();
        for tail in tails.iter().filter(is_kept) {
            let is_of = |name: &&std::ffi::OsString| name.to_string_lossy().starts_with(&tail.file);
            let len = |name| {
                after
                    .metadata(&dir.join("lost").join(name))
                    .unwrap()
                    .len_bytes
            };
            let mut copies = lost.iter().filter(is_of).map(len);
            assert!(
                copies.any(|len| len == tail.len_bytes),
                "{what}: {tail}, {lost:?}"
            );
        }
        db.close().unwrap();
        no_unknown_files(&(Arc::new(after) as Arc<dyn FileSystem>), dir);
    }
    println!("{torn:?}");
    assert_eq!(torn.len(), 4, "{torn:?}");
}

/// A store with rows in its log and in tables.
fn store(fs: Arc<dyn FileSystem>, options: Options) -> Result<()> {
    let db = Db::open(fs, Path::new("db"), options)?;
    work(&db, &Acknowledged::upto(0), 20)?;
    db.close()
}

#[test]
fn opening_and_reading_without_room_changes_no_file() {
    let memory = MemoryFileSystem::new();
    let limited = LimitedFileSystem::new(Arc::new(memory.clone()), BLOCK_LEN);
    store(Arc::new(limited.clone()), options()).unwrap();
    let files = || {
        let mut names = limited.list(Path::new("db")).unwrap();
        names.sort();
        let read = |name: std::ffi::OsString| {
            let bytes = get_file(&memory, &Path::new("db").join(&name));
            (name, bytes)
        };
        names.into_iter().map(read).collect::<Vec<_>>()
    };
    let before = files();
    limited.leave(0, None);
    let db = Db::open(Arc::new(limited.clone()), Path::new("db"), options()).unwrap();
    assert_eq!(prefix(&db), 20);
    assert!(!db.do_background_work().unwrap());
    assert!(limited.refused() > 0);
    assert_eq!(prefix(&db), 20);
    db.close().unwrap();
    assert_eq!(files(), before);
}

#[test]
fn a_flush_makes_tables_of_the_logs_that_there_was_no_room_for() {
    let limited = LimitedFileSystem::new(Arc::new(MemoryFileSystem::new()), BLOCK_LEN);
    store(Arc::new(limited.clone()), options()).unwrap();
    limited.leave(0, None);
    let db = Db::open(Arc::new(limited.clone()), Path::new("db"), options()).unwrap();
    limited.extend();
    // Nothing is in the log that it begins.
    db.flush().unwrap();
    let names = limited.list(Path::new("db")).unwrap();
    let is_log = |name: &&std::ffi::OsString| name.to_string_lossy().ends_with(".log");
    assert_eq!(names.iter().filter(is_log).count(), 1, "{names:?}");
    assert_eq!(prefix(&db), 20);
}

#[test]
fn the_first_strict_write_without_room_makes_durable_what_the_logs_held_before() {
    let memory = MemoryFileSystem::new();
    let limited = LimitedFileSystem::new(Arc::new(memory.clone()), BLOCK_LEN);
    let fs = Arc::new(FaultFileSystem::new(Arc::new(limited.clone())));
    let open = || Db::open(fs.clone(), Path::new("db"), options()).unwrap();
    let db = open();
    // None of them strict.
    work(&db, &Acknowledged::upto(0), 4).unwrap();
    // As when the process is killed: closing can do nothing.
    fs.fail_at(Fault {
        operation: fs.operations() + 1,
        kind: io::ErrorKind::Other,
        every_later_too: true,
    });
    drop(db);
    fs.heal();
    limited.leave(10, None);
    let db = open();
    assert!(limited.refused() > 0);
    assert!(is_whole_and_may_lack_room(&db, 4, "a strict write"));
    survives(&memory, Path::new("db"), (4, 4), "after it");
}

#[test]
fn with_a_thread_too_a_store_without_room_is_read_and_goes_on_when_there_is_some() {
    let limited = LimitedFileSystem::new(Arc::new(MemoryFileSystem::new()), BLOCK_LEN);
    let threaded = || Options {
        background: Background::Thread,
        ..options()
    };
    store(Arc::new(limited.clone()), threaded()).unwrap();
    limited.leave(0, None);
    let open = || Db::open(Arc::new(limited.clone()), Path::new("db"), threaded()).unwrap();
    let db = open();
    assert_eq!(prefix(&db), 20);
    let error = db.put(b"k", &[1; 500], Durability::Strict).unwrap_err();
    assert!(error.is_out_of_space(), "{error}");
    assert!(db.flush().unwrap_err().is_out_of_space());
    assert_eq!(prefix(&db), 20);
    // Room for a log, and no table.
    limited.leave(10, None);
    let acknowledged = Acknowledged::upto(20);
    let error = work(&db, &acknowledged, BATCHES).unwrap_err();
    assert!(error.is_out_of_space(), "{error}");
    assert_eq!(prefix(&db), acknowledged.any());
    drop(db);
    let db = open();
    assert_eq!(prefix(&db), acknowledged.any());
    limited.extend();
    work(&db, &acknowledged, BATCHES).unwrap();
    db.flush().unwrap();
    assert_eq!(prefix(&db), BATCHES);
}
