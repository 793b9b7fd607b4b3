//! An export or import that is killed at any file operation, or whose file system fails at any: the source is as it was, at the target there is
//! nothing or all of it, and the next attempt succeeds.

use std::io;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use larder::archive::{ArchiveWriter, Form, ImportOptions, Source, import_archive};
use larder::progress::Progress;
use larder::report::Report;
use larder::scan::{Scan, Selection};
use larder_backing_store::{OpenOptions, Store, StorePaths};
use larder_leveldb::OnDamage;
use larder_leveldb::storage::{DiskFileSystem, Fault, FaultFileSystem, FileSystem};

use super::{folder, run};
use crate::support::{dump_canonical, stderr};

fn disk() -> Arc<dyn FileSystem> {
    Arc::new(DiskFileSystem::new())
}

fn export(store: &Store, fs: Arc<dyn FileSystem>, to: &Path) -> Result<(), String> {
    let (selection, mut report, mut progress) = (
        Selection::default(),
        Report::new(Box::new(io::sink())),
        Progress::new(true),
    );
    let mut scan = Scan::new(store, &selection, &mut report, &mut progress);
    let name = store.paths().leveldb.file_name().unwrap();
    let source = Source {
        origin: "https://example.com",
        identifier: Some("https_example.com_0"),
        bucket: None,
        folder: Path::new(name),
    };
    let mut writer =
        ArchiveWriter::begin(fs, to, Form::of_name(to)).map_err(|error| error.to_string())?;
    writer
        .store(&mut scan, &source)
        .map_err(|error| error.to_string())?;
    writer.finish().map(drop).map_err(|error| error.to_string())
}

fn open(leveldb: &Path) -> Store {
    let options = OpenOptions {
        on_damage: OnDamage::Skip,
        ..OpenOptions::default()
    };
    Store::open_read_only(disk(), StorePaths::of_leveldb(leveldb), options).unwrap()
}

/// Names and lengths below a folder, or of a file.
fn content(path: &Path) -> Vec<(String, Vec<u8>)> {
    if path.is_file() {
        return vec![(String::new(), std::fs::read(path).unwrap())];
    }
    let mut all = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let below = content(&path).into_iter();
        all.extend(below.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
    }
    all.sort();
    all
}

const fn fault(operation: u64, every_later_too: bool) -> Fault {
    Fault {
        operation,
        kind: io::ErrorKind::PermissionDenied,
        every_later_too,
    }
}

fn faulty(fault: Fault) -> Arc<FaultFileSystem> {
    let fs = Arc::new(FaultFileSystem::new(disk()));
    fs.fail_at(fault);
    fs
}

/// `LARDER_FAULT_STRIDE=1` tries every operation.
fn tried(all: u64, usual: usize) -> impl Iterator<Item = u64> {
    let stride = std::env::var("LARDER_FAULT_STRIDE").map_or(usual, |text| text.parse().unwrap());
    (1..all).step_by(stride).chain(all.saturating_sub(12)..=all)
}

#[test]
fn an_export_that_is_killed_or_fails_at_any_operation_leaves_all_or_nothing() {
    let source = larder_fixtures::get("c156-lite").copy();
    let before = content(source.dir());
    let store = open(&source.leveldb());
    for name in ["folder", "a.jsonl"] {
        let dir = folder();
        let whole = dir.path().join(name);
        export(&store, disk(), &whole).unwrap();
        let wanted = content(&whole);
        let fs = faulty(fault(u64::MAX, false));
        export(
            &store,
            fs.clone(),
            &dir.path().join(format!("counted-{name}")),
        )
        .unwrap();
        let (all, mut counts) = (fs.operations(), [0, 0]);
        for operation in tried(all, 7) {
            for every_later_too in [true, false] {
                let dir = folder();
                let to = dir.path().join(name);
                let done = export(&store, faulty(fault(operation, every_later_too)), &to);
                let what = format!("{name}, operation {operation}, killed: {every_later_too}");
                counts[usize::from(to.exists())] += 1;
                if !to.exists() {
                    assert!(done.is_err(), "{what}");
                    export(&store, disk(), &to).unwrap();
                }
                assert!(content(&to) == wanted, "{what}");
                assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "{what}");
            }
        }
        println!(
            "{name}: of {all} operations: {} times whole, {} times none",
            counts[1], counts[0]
        );
        assert!(counts[0] > 5 && counts[1] > 1, "{counts:?} of {all}");
    }
    assert!(content(source.dir()) == before);
}

#[test]
fn an_import_that_is_killed_or_fails_at_any_operation_leaves_all_or_nothing() {
    let source = larder_fixtures::get("c156-lite").copy();
    let dir = folder();
    for name in ["folder", "a.jsonl"] {
        let archive = dir.path().join(name);
        let exported = run("export", &source.leveldb(), &archive, &[]);
        assert!(exported.status.success(), "{}", stderr(&exported));
        let before = content(&archive);
        let leveldb = source.leveldb();
        let store = leveldb.file_name().unwrap();
        let wanted = dumped(&dump_canonical(&source.leveldb()));
        let import = |fs: Arc<dyn FileSystem>, to: &Path| {
            import_archive(
                &disk(),
                &archive,
                &fs,
                to,
                &ImportOptions::default(),
                &mut || {},
            )
        };
        let fs = faulty(fault(u64::MAX, false));
        import(fs.clone(), &dir.path().join(format!("counted-{name}"))).unwrap();
        let (all, mut counts) = (fs.operations(), [0, 0]);
        for operation in tried(all, 211) {
            for every_later_too in [true, false] {
                let dir = folder();
                let to = dir.path().join("deep");
                let done = import(faulty(fault(operation, every_later_too)), &to);
                let what = format!("{name}, operation {operation}, killed: {every_later_too}");
                let there = to.join(store);
                counts[usize::from(there.exists())] += 1;
                if !there.exists() {
                    assert!(done.is_err(), "{what}");
                    import(disk(), &to).unwrap();
                }
                assert!(dumped(&dump_canonical(&there)) == wanted, "{what}");
                assert!(std::fs::read_dir(&to).unwrap().count() <= 3, "{what}");
            }
        }
        println!(
            "{name}: of {all} operations: {} times whole, {} times none",
            counts[1], counts[0]
        );
        assert!(counts[0] > 5 && counts[1] > 1, "{counts:?} of {all}");
        assert!(content(&archive) == before);
    }
}

fn dumped(output: &Output) -> Vec<u8> {
    assert!(output.status.success(), "{}", stderr(output));
    output.stdout.clone()
}
