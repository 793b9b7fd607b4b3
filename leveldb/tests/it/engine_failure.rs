//! A failure at every single file operation of the workloads of `engine_crash`.
//!
//! After a failure the process goes on: with the same handle, if that still takes writes, and after opening the store anew. What
//! was acknowledged is there, what failed is not, wherever the error came from and whatever the operation had done by then.

use crate::engine_crash::{
    Acknowledged, BATCHES, Ran, no_unknown_files, operations, options, prefix, run_in, work,
};
use crate::support::{fault_stride, sampled};
use larder_leveldb::storage::{
    CrashImage, DiskFileSystem, Effect, Fault, FaultFileSystem, FileSystem, Manner,
    MemoryFileSystem,
};
use larder_leveldb::{Db, Durability, ErrorKind};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Errors of the system by their numbers (Linux): EIO, EACCES, ENOSPC, ETIMEDOUT, EDQUOT.
const SYSTEM_ERRORS: [i32; 5] = [5, 13, 28, 110, 122];
/// Those of them that are for want of room.
const ROOM_ERRORS: [Option<i32>; 2] = [Some(28), Some(122)];

/// What the failures of a loop led to.
#[derive(Debug, Default)]
struct Outcomes {
    /// Operations that failed without an error.
    silent: BTreeMap<&'static str, u64>,
    /// Runs with an error after which the handle went on, and after which it refused writes.
    went_on: u64,
    refused: u64,
    /// Writes of which it was said to be open whether they are there.
    uncertain: u64,
}

/// Where the files are.
trait Files {
    fn fs(&self) -> Arc<dyn FileSystem>;
    /// What a power cut leaves, if that can be shown.
    fn after_power_cut(&self, seed: u64) -> Vec<Arc<dyn FileSystem>>;
}

impl Files for MemoryFileSystem {
    fn fs(&self) -> Arc<dyn FileSystem> {
        Arc::new(self.clone())
    }

    fn after_power_cut(&self, seed: u64) -> Vec<Arc<dyn FileSystem>> {
        let images = [CrashImage::LoseUnsynced, CrashImage::Tear { seed }];
        let show = |image| Arc::new(self.crash_image(image)) as Arc<dyn FileSystem>;
        images.map(show).into()
    }
}

fn open(fs: Arc<dyn FileSystem>, dir: &Path, what: &str) -> Db {
    Db::open(fs, dir, options()).unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// Lets one operation fail, or it and all later ones until the disk is mended, and goes on.
fn fail(
    files: &dyn Files,
    dir: &Path,
    fault: Fault,
    manner: Manner,
    batches: u32,
    outcomes: &mut Outcomes,
) {
    let what = format!("{fault:?}, {manner:?}");
    let fs = Arc::new(FaultFileSystem::new(files.fs()));
    fs.set_manner(manner);
    fs.fail_at(fault);
    let acknowledged = Acknowledged::default();
    let ran = run_in(&fs, dir, &acknowledged, batches);
    let is_uncertain =
        matches!(&ran, Ran::Failed(_, error) if error.kind() == ErrorKind::Uncertain);
    outcomes.uncertain += u64::from(is_uncertain);
    let most = acknowledged.any() + u32::from(is_uncertain);
    for after in files.after_power_cut(fault.operation) {
        let number = prefix(&open(after, dir, &what));
        let least = acknowledged.strict();
        assert!(
            number >= least && number <= most,
            "{what}: {number}, {acknowledged:?}"
        );
    }
    fs.heal();
    match ran {
        // Without room opening does less.
        Ran::Through if ROOM_ERRORS.contains(&manner.raw_os_error) => {}
        Ran::Through => {
            for failed in fs.failed() {
                *outcomes.silent.entry(failed).or_insert(0) += 1;
            }
        }
        Ran::Without => {}
        Ran::Failed(db, error) if db.check_writable().is_ok() => {
            outcomes.went_on += 1;
            assert!(!is_uncertain, "{what}: {error}");
            assert_eq!(prefix(&db), acknowledged.any(), "{what}");
            work(&db, &acknowledged, batches)
                .unwrap_or_else(|error| panic!("{what}, mended: {error}"));
            assert_eq!(prefix(&db), batches, "{what}");
            for after in files.after_power_cut(fault.operation) {
                let number = prefix(&open(after, dir, &what));
                let least = acknowledged.strict();
                assert!(number >= least, "{what}, mended: {number}, {least}");
            }
            db.close().unwrap();
        }
        Ran::Failed(db, _) => {
            outcomes.refused += 1;
            assert_eq!(prefix(&db), acknowledged.any(), "{what}");
            let error = db.put(b"k", b"v", Durability::Relaxed).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Closed, "{what}");
            assert!(db.flush().is_err() && db.compact_range(None, None).is_err());
            assert_eq!(prefix(&db), acknowledged.any(), "{what}");
            assert!(db.close().is_err(), "{what}");
        }
    }
    let db = open(fs.clone(), dir, &what);
    let number = prefix(&db);
    let least = acknowledged.any();
    let most = least.max(most);
    assert!(
        number >= least && number <= most,
        "{what}: {number}, {acknowledged:?}"
    );
    if fault.operation % 16 < 2 {
        work(&db, &Acknowledged::upto(number), batches).unwrap();
        assert_eq!(prefix(&db), batches);
        db.close().unwrap();
        no_unknown_files(&files.fs(), dir);
    }
}

/// The manners in which an operation can fail: once or from then on, having done nothing, a part or all of its work.
fn manners(operation: u64) -> impl Iterator<Item = (Fault, Manner)> {
    let ways = [Effect::Part, Effect::All].map(|effect| [(effect, false), (effect, true)]);
    ways.into_iter()
        .flatten()
        .enumerate()
        .map(move |(i, (effect, every_later_too))| {
            let fault = Fault {
                operation,
                kind: io::ErrorKind::Other,
                every_later_too,
            };
            let error = SYSTEM_ERRORS[(operation as usize + i) % SYSTEM_ERRORS.len()];
            let manner = Manner {
                raw_os_error: Some(error),
                effect,
            };
            (fault, manner)
        })
}

#[test]
fn after_a_failure_of_any_operation_all_that_was_acknowledged_is_there_and_nothing_that_failed() {
    let (stride, total) = (sampled(9), operations(BATCHES));
    let mut outcomes = Outcomes::default();
    for (fault, manner) in (1..=total).step_by(stride).flat_map(manners) {
        let memory = MemoryFileSystem::new();
        fail(
            &memory,
            Path::new("db"),
            fault,
            manner,
            BATCHES,
            &mut outcomes,
        );
    }
    let tried = total / stride as u64;
    println!("{tried} of {total} file operations failed in four manners: {outcomes:?}");
    assert!(outcomes.went_on > tried, "{outcomes:?}");
    assert!(
        outcomes.refused > tried / 4 && outcomes.uncertain > 3,
        "{outcomes:?}"
    );
    // What is not removed, or not found to be obsolete, is when the store is opened next; a table that cannot be opened
    // early is opened when it is read; blocks that cannot be read ahead are read one by one; a compaction that cannot be
    // done while writers could wait for it is done later; what a failed sync of the log was to make durable becomes a
    // table; the mark that closing adds to a log says what is so without it.
    let consequences = ["create", "rename"];
    let has_any = |what: &&str| outcomes.silent.contains_key(what);
    assert!(!consequences.iter().any(has_any), "{:?}", outcomes.silent);
}

struct OnDisk(tempfile::TempDir);

impl Files for OnDisk {
    fn fs(&self) -> Arc<dyn FileSystem> {
        Arc::new(DiskFileSystem::new())
    }

    fn after_power_cut(&self, _: u64) -> Vec<Arc<dyn FileSystem>> {
        Vec::new()
    }
}

#[test]
fn on_a_real_disk_too_what_failed_is_not_there_and_what_was_acknowledged_is() {
    // A disk takes its time.
    const ON_DISK_BATCHES: u32 = 75;
    let (stride, total) = (fault_stride(7 * sampled(15)), operations(ON_DISK_BATCHES));
    let mut outcomes = Outcomes::default();
    let tried = (1..=total).step_by(stride).count() as u64;
    for (fault, manner) in (1..=total).step_by(stride).flat_map(manners) {
        let files = OnDisk(tempfile::tempdir().unwrap());
        let dir = files.0.path().join("db");
        fail(&files, &dir, fault, manner, ON_DISK_BATCHES, &mut outcomes);
    }
    println!("on a disk {tried} of {total} file operations failed in four manners: {outcomes:?}");
    assert!(
        outcomes.went_on > tried && outcomes.refused > tried / 4,
        "{outcomes:?}"
    );
}
