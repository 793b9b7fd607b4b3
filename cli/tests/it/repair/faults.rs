//! A repair that is killed at any file operation, or whose file system fails at any: the damaged store is as it was, and at the target is
//! nothing or everything. In place, the store is at its place or set aside, whole.

use std::io;
use std::path::Path;
use std::sync::Arc;

use larder::repair::{Destination, RepairOptions, repair_store};
use larder_backing_store::StorePaths;
use larder_fixtures::OpenFixture;
use larder_leveldb::storage::{DiskFileSystem, Fault, FaultFileSystem, FileSystem};

use super::contents;

/// Records of the store, at the least.
const RECORDS_MIN: u64 = 400;

fn stride() -> usize {
    std::env::var("LARDER_FAULT_STRIDE").map_or(41, |text| text.parse().unwrap())
}

fn source() -> OpenFixture {
    larder_fixtures::get("c83-lite").copy()
}

fn aside(source: &OpenFixture) -> std::path::PathBuf {
    format!("{}.before-repair", source.leveldb().display()).into()
}

fn fault(operation: u64, every_later_too: bool) -> Fault {
    Fault {
        operation,
        kind: io::ErrorKind::PermissionDenied,
        every_later_too,
    }
}

fn run(source: &OpenFixture, destination: Destination, fault: Fault) -> (bool, u64) {
    let fs = Arc::new(FaultFileSystem::new(Arc::new(DiskFileSystem::new())));
    fs.fail_at(fault);
    let options = RepairOptions {
        destination,
        with_doubtful: false,
    };
    let paths = StorePaths::of_leveldb(&source.leveldb());
    let seam: Arc<dyn FileSystem> = fs.clone();
    let repaired = repair_store(&seam, &paths, &options, &mut || {});
    (repaired.is_ok(), fs.operations())
}

/// Whether all records are in the repaired store, as a dry run counts them, and nothing is wrong with it; or it is said what could not be
/// read, in the report beside it. With nothing certain no store is made, and that is said, too.
fn is_whole(leveldb: &Path, dir: &Path) -> bool {
    let said = super::report(dir);
    let mut named = ["damage", "problems", "torn"].iter();
    let is_named = named.any(|what| !said[what].as_array().unwrap().is_empty())
        || said["doubtful"].as_u64() > Some(0);
    if said["makesStore"] == false {
        return is_named && !leveldb.exists();
    }
    let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
    let options = RepairOptions {
        destination: Destination::DryRun,
        with_doubtful: false,
    };
    let paths = StorePaths::of_leveldb(leveldb);
    let report = repair_store(&fs, &paths, &options, &mut || {}).unwrap();
    is_named || report.is_whole() && report.records > RECORDS_MIN
}

#[test]
fn a_repair_that_is_killed_or_fails_at_any_operation_leaves_all_or_nothing() {
    let source = source();
    let before = contents(source.dir());
    let name = source.leveldb().file_name().unwrap().to_owned();
    let to = tempfile::tempdir().unwrap();
    let target = to.path().join("deep/out");
    let folder = || Destination::Folder(target.clone());
    let (_, all) = run(&source, folder(), fault(u64::MAX, false));
    assert!(
        is_whole(&target.join(&name), &target) && all > 100,
        "{all} operations"
    );
    let tried = (1..all)
        .step_by(stride())
        .chain(all.saturating_sub(8)..=all);
    let (mut whole, mut none) = (0, 0);
    for operation in tried {
        for every_later_too in [true, false] {
            let what = format!("operation {operation}, killed: {every_later_too}");
            if target.exists() {
                std::fs::remove_dir_all(&target).unwrap();
            }
            let (is_ok, _) = run(&source, folder(), fault(operation, every_later_too));
            assert!(
                contents(source.dir()) == before,
                "{what}: the store was changed"
            );
            if target.exists() {
                assert!(is_whole(&target.join(&name), &target), "{what}");
                assert!(target.join("report.json").exists(), "{what}");
                whole += 1;
            } else {
                assert!(!is_ok, "{what}");
                none += 1;
            }
        }
    }
    println!("of {all} operations: {whole} times whole, {none} times none");
    assert!(whole > 1 && none > 5);
}

#[test]
fn a_repair_in_place_that_is_killed_or_fails_loses_nothing() {
    let source = source();
    let (is_ok, all) = run(&source, Destination::InPlace, fault(u64::MAX, false));
    assert!(is_ok && is_whole(&source.leveldb(), &aside(&source)));
    let tried = (1..all)
        .step_by(stride())
        .chain(all.saturating_sub(30)..=all);
    let mut places = [0; 3];
    for operation in tried {
        for every_later_too in [true, false] {
            let what = format!("operation {operation}, killed: {every_later_too}");
            let source = self::source();
            let before = contents(&source.leveldb());
            let place = source.leveldb();
            let aside = aside(&source);
            run(
                &source,
                Destination::InPlace,
                fault(operation, every_later_too),
            );
            let was = aside.join(place.file_name().unwrap());
            let is = |dir: &Path| {
                let bytes = |files: Vec<(std::path::PathBuf, Vec<u8>)>| {
                    files
                        .into_iter()
                        .map(|(_, bytes)| bytes)
                        .collect::<Vec<_>>()
                };
                dir.exists() && bytes(contents(dir)) == bytes(before.clone())
            };
            match (place.exists(), was.exists()) {
                (true, false) => {
                    assert!(is(&place), "{what}");
                    places[0] += 1;
                }
                (true, true) => {
                    assert!(is(&was) && is_whole(&place, &aside), "{what}");
                    places[1] += 1;
                }
                (false, true) => {
                    let new = aside.join("repaired").join(place.file_name().unwrap());
                    // Its blobs may have their place already.
                    assert!(every_later_too && is(&was), "{what}");
                    assert!(new.join("CURRENT").exists(), "{what}");
                    places[2] += 1;
                }
                (false, false) => panic!("{what}: the store is gone"),
            }
        }
    }
    println!("as it was, repaired, between: {places:?}");
    assert!(places.iter().all(|count| *count > 0), "{places:?}");
}
