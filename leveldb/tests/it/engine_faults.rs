//! Errors that pass, damage in the way of compactions, and locks that are lost: which writer may go on writing, and which may not.

use crate::store::{get_file, put_file};
use larder_leveldb::storage::{
    CrashImage, DiskFileSystem, Fault, FaultFileSystem, FileSystem, MemoryFileSystem,
};
use larder_leveldb::{Background, Db, Durability, ErrorKind, Options};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

const DIR: &str = "db";
const CHILD: &str = "LARDER_TEST_SECOND_WRITER";

fn options() -> Options {
    Options {
        create_if_missing: true,
        write_buffer_bytes: 2000,
        background: Background::Caller,
        ..Options::default()
    }
}

fn open(fs: Arc<dyn FileSystem>) -> larder_leveldb::Result<Db> {
    Db::open(fs, Path::new(DIR), options())
}

/// A table further down, and five of level 0 that overlap: a compaction is due.
fn store_with_work() -> MemoryFileSystem {
    let fs = MemoryFileSystem::new();
    let db = open(Arc::new(fs.clone())).unwrap();
    for n in 0..6u8 {
        for key in ["a", "m", "z"] {
            let key = format!("{key}{n}");
            db.put(key.as_bytes(), &[n; 50], Durability::Relaxed)
                .unwrap();
            db.put(b"n", &[n], Durability::Relaxed).unwrap();
        }
        db.flush().unwrap();
    }
    db.close().unwrap();
    fs
}

fn shows_all(db: &Db) {
    assert_eq!(db.get(b"n").unwrap().unwrap(), [5]);
    for n in 0..6u8 {
        for key in ["a", "m", "z"] {
            let key = format!("{key}{n}");
            assert_eq!(db.get(key.as_bytes()).unwrap().unwrap(), [n; 50]);
        }
    }
}

#[test]
fn a_compaction_that_fails_stops_no_writer_and_is_done_when_the_error_has_passed() {
    let store = store_with_work();
    let mut failed = 0;
    for n in 1.. {
        let memory = store.crash_image(CrashImage::KeepWritten);
        let fs = Arc::new(FaultFileSystem::new(Arc::new(memory)));
        let db = open(fs.clone()).unwrap();
        fs.fail_at(Fault {
            operation: fs.operations() + n,
            kind: io::ErrorKind::TimedOut,
            every_later_too: false,
        });
        if let Err(error) = db.do_background_work() {
            failed += 1;
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
            db.check_writable().unwrap();
            db.put(b"new", b"value", Durability::Strict).unwrap();
            shows_all(&db);
            assert!(db.do_background_work().unwrap(), "it stays due");
        }
        assert!(
            db.files().iter().all(|file| file.level > 0),
            "operation {n}"
        );
        shows_all(&db);
        let is_over = fs.failed().is_empty();
        fs.heal();
        db.close().unwrap();
        shows_all(&open(fs).unwrap());
        if is_over {
            break;
        }
    }
    assert!(failed > 10, "{failed}");
}

#[test]
fn damage_in_the_way_of_level_0_lets_writers_go_on_until_it_is_full_and_then_says_so() {
    let fs = store_with_work();
    let db = open(Arc::new(fs.clone())).unwrap();
    let name = db.files()[0].name.clone();
    let path = Path::new(DIR).join(&name);
    let mut bytes = get_file(&fs, &path);
    bytes[5] ^= 1;
    put_file(&fs, &path, &bytes);
    let mut written = 0;
    let error = loop {
        let key = format!("key {written:05}");
        match db.put(key.as_bytes(), &[7; 100], Durability::Relaxed) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1000, "it never ends");
    };
    // Twelve tables, and two memtables of some twelve rows.
    assert!(written > 60, "{written}: {error}");
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    let text = error.to_string();
    assert!(text.contains(&name) && text.contains("repaired"), "{text}");
    assert_eq!(error.file(), Some(Path::new(&name)));
    db.check_writable().unwrap();
    for n in 0..written {
        let key = format!("key {n:05}");
        assert_eq!(db.get(key.as_bytes()).unwrap().unwrap(), [7; 100]);
    }
    drop(db);
    let db = open(Arc::new(fs)).unwrap();
    let key = format!("key {:05}", written - 1);
    assert!(db.get(key.as_bytes()).unwrap().is_some());
}

/// A failure that is taken back leaves open what no sync has covered, and the next one must find it so.
#[test]
fn of_two_writes_that_fail_one_after_the_other_neither_costs_what_was_acknowledged() {
    let mut failed = 0;
    for (first, second) in (1..8).flat_map(|n| (1..16).map(move |m| (n, m))) {
        let memory = MemoryFileSystem::new();
        let fs = Arc::new(FaultFileSystem::new(Arc::new(memory.clone())));
        let db = open(fs.clone()).unwrap();
        let fail_in = |n: u64| {
            fs.fail_at(Fault {
                operation: fs.operations() + n,
                kind: io::ErrorKind::Other,
                every_later_too: false,
            });
        };
        let put = |key: &[u8], durability| db.put(key, b"value", durability).is_ok();
        let mut is_there = vec![put(b"a", Durability::Relaxed)];
        fail_in(first);
        is_there.push(put(b"b", Durability::Relaxed));
        fail_in(second);
        is_there.push(put(b"c", Durability::Strict));
        fs.heal();
        is_there.push(put(b"d", Durability::Strict));
        assert!(is_there[0] && is_there[3]);
        failed += u64::from(!is_there[1] && !is_there[2]);
        let after = open(Arc::new(memory.crash_image(CrashImage::LoseUnsynced))).unwrap();
        let keys: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
        let found = keys.map(|key| after.get(key).unwrap().is_some());
        assert_eq!(found[..], is_there, "operations {first} and {second}");
    }
    assert!(failed > 5, "{failed}");
}

/// Opens a store.
type Open = fn(Arc<dyn FileSystem>) -> larder_leveldb::Result<Db>;

#[test]
fn an_error_that_passes_is_never_reported_as_a_missing_store_or_table() {
    let read_only: Open = |fs| Db::open_read_only(fs, Path::new(DIR), Options::default());
    let store = store_with_work();
    for every_later_too in [false, true] {
        for (way, open_it) in [("for reading", read_only), ("for writing", open)] {
            for n in 1.. {
                let memory = store.crash_image(CrashImage::KeepWritten);
                let fs = Arc::new(FaultFileSystem::new(Arc::new(memory)));
                let kinds = [io::ErrorKind::TimedOut, io::ErrorKind::PermissionDenied];
                fs.fail_at(Fault {
                    operation: n,
                    kind: kinds[(n as usize + usize::from(every_later_too)) % 2],
                    every_later_too,
                });
                let got = open_it(fs.clone()).and_then(|db| db.get(b"a0"));
                if let Err(error) = got {
                    let what = format!("{way}, operation {n}: {error}");
                    assert_eq!(error.kind(), ErrorKind::Io, "{what}");
                }
                if fs.failed().is_empty() {
                    break;
                }
                fs.heal();
                shows_all(&open(fs).unwrap());
            }
        }
    }
}

/// The child: opens the store, writes a row and waits.
#[test]
fn a_second_writer_does_nothing_without_its_parent() {
    let Some(dir) = std::env::var_os(CHILD) else {
        return;
    };
    let db = Db::open(Arc::new(DiskFileSystem::new()), Path::new(&dir), options()).unwrap();
    for n in 0..100u8 {
        db.put(&[b't', n], b"theirs", Durability::Strict).unwrap();
    }
    println!("\nwritten");
    io::stdout().flush().unwrap();
    io::stdin().read_line(&mut String::new()).unwrap();
    db.close().unwrap();
}

fn second_writer(dir: &Path) -> Child {
    let test = "engine_faults::a_second_writer_does_nothing_without_its_parent";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while line != "written\n" {
        line.clear();
        let len = said.read_line(&mut line).unwrap();
        assert!(len > 0, "the second writer has failed");
    }
    // It has more to say.
    child.stdout = Some(said.into_inner());
    child
}

/// What is done to a store while it is open.
type Take = fn(&Path);

#[test]
#[expect(clippy::disallowed_methods, reason = "tests take folders away")]
fn of_two_writers_the_one_whose_lock_was_taken_away_writes_nothing_more() {
    let ways: [(&str, Take); 4] = [
        ("LOCK removed", |dir| {
            std::fs::remove_file(dir.join("LOCK")).unwrap()
        }),
        ("LOCK renamed", |dir| {
            std::fs::rename(dir.join("LOCK"), dir.join("LOCK.old")).unwrap();
        }),
        ("folder renamed", |dir| {
            std::fs::rename(dir, dir.with_extension("old")).unwrap();
        }),
        ("folder removed", |dir| {
            std::fs::remove_dir_all(dir).unwrap()
        }),
    ];
    for (way, take) in ways {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("store");
        let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
        let db = Db::open(fs.clone(), &dir, options()).unwrap();
        db.put(b"first", b"ours", Durability::Strict).unwrap();
        take(&dir);
        // This process has not given the store up.
        if way.starts_with("LOCK") {
            let again = Db::open(fs.clone(), &dir, options()).unwrap_err();
            assert_eq!(again.kind(), ErrorKind::Conflict, "{way}");
        }
        let mut child = second_writer(&dir);
        let error = db.put(b"second", b"lost", Durability::Strict).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{way}: {error}");
        assert!(error.to_string().contains("store"), "{error}");
        let refused = db.put(b"third", b"lost", Durability::Relaxed).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Closed, "{way}");
        assert!(db.flush().is_err() && db.compact_range(None, None).is_err());
        assert_eq!(db.get(b"first").unwrap().unwrap(), b"ours");
        assert!(db.close().is_err(), "{way}");
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success(), "{way}");
        let db = Db::open(fs, &dir, options()).unwrap();
        for n in 0..100u8 {
            assert_eq!(db.get(&[b't', n]).unwrap().unwrap(), b"theirs", "{way}");
        }
        let first = db.get(b"first").unwrap();
        assert_eq!(first.is_some(), way.starts_with("LOCK"), "{way}");
        assert!(db.get(b"second").unwrap().is_none(), "{way}");
    }
}

/// At each operation of a strict write the lock may be lost, by then or in the middle of it.
#[test]
fn a_lock_that_is_lost_during_a_strict_write_fails_it() {
    let mut kinds = Vec::new();
    for n in 1.. {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("store");
        let disk = DiskFileSystem::new();
        let fs = Arc::new(FaultFileSystem::new(Arc::new(disk)));
        let db = Db::open(fs.clone(), &dir, options()).unwrap();
        db.put(b"before", b"ours", Durability::Strict).unwrap();
        let (first, lock) = (fs.operations(), dir.join("LOCK"));
        fs.watch(move |operation| {
            if operation == first + n {
                disk.remove(&lock).unwrap();
            }
        });
        let written = db.put(b"during", b"ours", Durability::Strict);
        let last = fs.operations();
        if last < first + n {
            written.unwrap();
            break;
        }
        let error = written.unwrap_err();
        kinds.push(error.kind());
        // What the medium has is not taken off it again: the files may be another writer's by now.
        assert_eq!(fs.operations(), last);
        assert_eq!(db.get(b"during").unwrap(), None, "{error}");
        let refused = db.put(b"after", b"lost", Durability::Relaxed).unwrap_err();
        assert_eq!(
            refused.kind(),
            ErrorKind::Closed,
            "operation {n}: {refused}"
        );
        assert!(db.close().is_err());
        let db = Db::open(fs, &dir, options()).unwrap();
        let is_there = db.get(b"during").unwrap().is_some();
        assert_eq!(
            is_there,
            error.kind() == ErrorKind::Uncertain,
            "operation {n}"
        );
    }
    // Only before anything is written it is certain that nothing is there.
    assert!(
        kinds.len() > 4 && kinds[0] == ErrorKind::Conflict,
        "{kinds:?}"
    );
    let is_uncertain = |kind: &ErrorKind| *kind == ErrorKind::Uncertain;
    assert!(kinds[1..].iter().all(is_uncertain), "{kinds:?}");
}

/// A relaxed write is not asked for each time, but before the next file is made.
#[test]
#[expect(clippy::disallowed_methods, reason = "tests take folders away")]
fn relaxed_writes_end_with_the_log_when_the_folder_is_anothers() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("store");
    let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
    let db = Db::open(fs.clone(), &dir, options()).unwrap();
    std::fs::rename(&dir, parent.path().join("other")).unwrap();
    let mut child = second_writer(&dir);
    let put = |n: u32| db.put(&n.to_be_bytes(), &[1; 100], Durability::Relaxed);
    let error = (0..1000).find_map(|n| put(n).err()).unwrap();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    drop(db);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let db = Db::open(fs, &dir, options()).unwrap();
    for n in 0..100u8 {
        assert_eq!(db.get(&[b't', n]).unwrap().unwrap(), b"theirs");
    }
}
