//! The write-ahead log beside a file.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use larder_leveldb::storage::{
    FileSystem, LockHolder, MemoryFileSystem, Metadata, RandomFile, SequentialFile,
};

use crate::support::{FOLDER, Files, count_records, files, in_memory, open};

/// What SQLite itself shows of a log that ends anywhere.
#[test]
fn a_log_that_ends_anywhere_shows_what_sqlite_shows() {
    let whole = files("s156-killed-blob");
    let log = whole
        .iter()
        .position(|(name, _)| name.ends_with("-wal"))
        .unwrap();
    let main = whole[log].0.trim_end_matches("-wal").to_owned();
    let len = whole[log].1.len();
    let mut seen = BTreeSet::new();
    for n in 0..40 {
        let mut cut = whole.clone();
        cut[log].1.truncate(len * n / 39);
        if n % 3 == 1 {
            // Garbage in the middle ends it as well.
            let at = len * n / 80;
            if let Some(byte) = cut[log].1.get_mut(at) {
                *byte ^= 0x40;
            }
        }
        let ours = count_records(&open(&cut).unwrap());
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in &cut {
            fs::write(dir.path().join(name), bytes).unwrap();
        }
        let sqlite = rusqlite::Connection::open(dir.path().join(&main)).unwrap();
        let theirs = sqlite.query_row("SELECT count(*) FROM records", (), |row| {
            row.get::<_, i64>(0)
        });
        let theirs = theirs.unwrap_or(0);
        assert_eq!(ours as i64, theirs, "cut at {}", len * n / 39);
        seen.insert(theirs);
    }
    assert!(seen.len() > 2, "{seen:?}");
    println!("counts of records: {seen:?}");
}

/// Files that become others when the database's has been opened: a browser has moved its log into the file, and begun it anew.
#[derive(Debug)]
struct Moved {
    before: MemoryFileSystem,
    after: MemoryFileSystem,
    is_moved: AtomicBool,
}

impl Moved {
    fn now(&self) -> &MemoryFileSystem {
        match self.is_moved.load(Ordering::Relaxed) {
            true => &self.after,
            false => &self.before,
        }
    }
}

impl FileSystem for Moved {
    fn open_random(&self, path: &Path) -> io::Result<Arc<dyn RandomFile>> {
        let opened = self.now().open_random(path);
        if path.extension().is_none() && !path.to_string_lossy().ends_with("-wal") {
            self.is_moved.store(true, Ordering::Relaxed);
        }
        opened
    }

    fn open_sequential(&self, path: &Path) -> io::Result<Box<dyn SequentialFile>> {
        self.now().open_sequential(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<OsString>> {
        self.now().list(dir)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.now().metadata(path)
    }

    fn lock_holder(&self, _path: &Path) -> io::Result<Option<LockHolder>> {
        Ok(None)
    }
}

#[test]
fn a_log_that_is_moved_into_the_file_meanwhile_is_noticed() {
    let whole = files("s156-killed-upgrade");
    let (name, bytes) = whole.iter().max_by_key(|(_, bytes)| bytes.len()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    let browser = rusqlite::Connection::open(&path).unwrap();
    let set = |pragma: &str| browser.query_row(pragma, (), |_| Ok(())).unwrap();
    set("PRAGMA journal_mode = WAL");
    set("PRAGMA wal_autocheckpoint = 0");
    let state = || -> Files {
        let log = format!("{name}-wal");
        let names = [name.clone(), log];
        names
            .map(|name| (name.clone(), fs::read(dir.path().join(&name)).unwrap()))
            .into()
    };
    browser
        .execute_batch("DELETE FROM records WHERE row_id % 2 = 0")
        .unwrap();
    let before = state();
    set("PRAGMA wal_checkpoint(RESTART)");
    browser
        .execute_batch("DELETE FROM records WHERE row_id = (SELECT max(row_id) FROM records)")
        .unwrap();
    let after = state();
    let expected = count_records(&open(&after).unwrap());
    assert_eq!(count_records(&open(&before).unwrap()), expected + 1);
    let moved: Arc<dyn FileSystem> = Arc::new(Moved {
        before: in_memory(&before),
        after: in_memory(&after),
        is_moved: AtomicBool::new(false),
    });
    let store = larder_sqlite_store::open(&moved, Path::new(FOLDER), dir.path()).unwrap();
    assert_eq!(count_records(&store), expected);
    assert!(store.recovery().problems.is_empty());
}
