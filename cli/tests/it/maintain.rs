//! `larder compact` and `larder clean`: what a page is shown stays, what is of no use goes, and a kill at any moment does no harm.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use larder::maintain::{Job, maintain};
use larder_backing_store::StorePaths;
use larder_fixtures::Fixture;
use larder_leveldb::storage::{DiskFileSystem, Fault, FaultFileSystem, FileSystem};
use serde_json::Value;

use crate::support::{compare_with_browser, for_every, larder, stderr};

fn run(command: &str, leveldb: &Path, options: &[&str]) -> Result<Value, String> {
    let mut arguments = vec![command.as_ref(), leveldb.as_os_str(), "--json".as_ref()];
    arguments.extend(options.iter().map(std::ffi::OsStr::new));
    let output = larder(arguments);
    match output.status.code() {
        Some(0) => Ok(serde_json::from_slice(&output.stdout).unwrap()),
        code => Err(format!("{command}: {code:?}: {}", stderr(&output))),
    }
}

fn bytes_of(dir: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

fn check(fixture: &Fixture) -> Result<(), String> {
    let name = &fixture.name;
    let source = fixture.copy();
    let store = source.leveldb();
    let before = bytes_of(&store);
    for command in ["clean", "compact"] {
        run(command, &store, &["--dry-run"])?;
    }
    if bytes_of(&store) != before {
        return Err(format!("{name}: a dry run has written"));
    }
    run("compact", &store, &[])?;
    compare_with_browser(fixture, &store, |_| {})?;
    let left = run("compact", &store, &["--dry-run"])?;
    if left["entries"] != 0 {
        return Err(format!("{name}: compacted, and there is still {left}"));
    }
    run("clean", &store, &[])?;
    compare_with_browser(fixture, &store, |_| {})?;
    let left = run("clean", &store, &["--dry-run"])?;
    for what in ["staleIndexRows", "undoLogRows", "looseBlobs"] {
        if left[what] != 0 {
            return Err(format!("{name}: cleaned, and there is still {left}"));
        }
    }
    let verified = larder(["verify".as_ref(), store.as_os_str(), "--full".as_ref()]);
    match verified.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{name}: {}",
            String::from_utf8_lossy(&verified.stdout)
        )),
    }
}

#[test]
fn every_golden_store_compacted_and_cleaned_is_what_its_browser_showed() {
    for_every(larder_fixtures::varied(), check);
}

#[test]
fn a_dry_run_of_clean_counts_what_a_clean_takes_away() {
    let source = larder_fixtures::get("c156-killed-blob").copy();
    let blobs = StorePaths::of_leveldb(&source.leveldb()).blob;
    fs::write(blobs.join("1/00/ff"), "of no record").unwrap();
    // Names that Chromium does not give are none of the store's.
    fs::write(blobs.join("1/00/FF"), "somebody's").unwrap();
    fs::write(blobs.join("1/00/note.txt"), "somebody's").unwrap();
    let count = || fs::read_dir(blobs.join("1/00")).unwrap().count() as u64;
    let before = count();
    let would = run("clean", &source.leveldb(), &["--dry-run"]).unwrap();
    let loose = would["looseBlobs"].as_u64().unwrap();
    assert!(
        loose >= 2 && would["undoLogRows"].as_u64() > Some(0),
        "{would}"
    );
    let done = run("clean", &source.leveldb(), &[]).unwrap();
    assert_eq!(before - count(), loose, "{done}");
    assert!(blobs.join("1/00/FF").exists() && blobs.join("1/00/note.txt").exists());
    assert!(!blobs.join("1/00/ff").exists());
    let fixture = larder_fixtures::get("c156-killed-blob");
    compare_with_browser(&fixture, &source.leveldb(), |_| {}).unwrap();
}

#[test]
fn a_damaged_store_is_left_as_it_is() {
    let source = larder_fixtures::get("c110-lite").copy();
    let mut tables = fs::read_dir(source.leveldb())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let table = tables.find(|path| path.extension().is_some_and(|end| end == "ldb"));
    let table = table.unwrap();
    let mut bytes = fs::read(&table).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&table, &bytes).unwrap();
    for command in ["compact", "clean"] {
        let output = larder([command.as_ref(), source.leveldb().as_os_str()]);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{command}: {}",
            stderr(&output)
        );
        assert!(
            stderr(&output).contains("larder repair"),
            "{}",
            stderr(&output)
        );
        assert_eq!(fs::read(&table).unwrap(), bytes, "{command}");
    }
}

/// `LARDER_FAULT_STRIDE=1` tries every operation; without it, every 61st.
#[test]
fn a_kill_at_any_operation_changes_nothing_that_is_shown() {
    let stride = std::env::var("LARDER_FAULT_STRIDE").map_or(61, |text| text.parse().unwrap());
    let fixture = larder_fixtures::get("c83-lite");
    let try_at = move |job: Job, operation: u64| {
        let source = fixture.copy();
        let fs = Arc::new(FaultFileSystem::new(Arc::new(DiskFileSystem::new())));
        fs.fail_at(Fault {
            operation,
            kind: io::ErrorKind::PermissionDenied,
            every_later_too: true,
        });
        let seam: Arc<dyn FileSystem> = fs.clone();
        let paths = StorePaths::of_leveldb(&source.leveldb());
        let done = maintain(&seam, &paths, job, &mut || {});
        let shown = compare_with_browser(&fixture, &source.leveldb(), |_| {});
        shown.unwrap_or_else(|error| panic!("{job:?}, operation {operation}: {error}"));
        (done.is_ok(), fs.operations())
    };
    larder_fixtures::canonical::with_large_stack(move || {
        for job in [Job::Compact, Job::Clean] {
            let (is_ok, all) = try_at(job, u64::MAX);
            assert!(is_ok && all > 30, "{all}");
            let failed = (1..all).step_by(stride).filter(|at| !try_at(job, *at).0);
            assert!(failed.count() > 1);
            println!("{job:?}: {all} operations");
        }
    });
}
