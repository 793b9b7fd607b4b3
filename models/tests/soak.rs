//! Many origins, one after the other and all at once: what they cost while they are visited, and that nothing of it stays.
//!
//! `LARDER_ORIGINS` says how many are visited, `LARDER_OPEN` how many are open at once; without them there are few. The command for
//! many is `LARDER_ORIGINS=10000 cargo test -p larder-models --test soak -- --nocapture origins`.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail and print, and take threads, files and time as they are"
)]

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use larder_idb::{
    Connection, DiskFileSystem, Key, ObjectStoreParameters, Origin, Storage, StorageOptions,
    SystemClock, TransactionMode, TransactionOptions, Value,
};

/// As the issue has it.
const THREADS_MAX: u64 = 16;
/// Files that a store of one record has open: its lock, its log, its MANIFEST and, when it was opened again, a table.
const FILES_PER_STORE: u64 = 4;

/// Closing takes no longer than this, if a number is given.
const CLOSE_MAX: Duration = Duration::from_secs(2);

/// What is measured is the process's: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// What the process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    threads: u64,
    files: u64,
    memory_kib: u64,
}

impl Process {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let number = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        Self {
            threads: number("Threads:"),
            files: std::fs::read_dir("/proc/self/fd").unwrap().count() as u64,
            memory_kib: number("VmRSS:"),
        }
    }

    fn most(self, other: Self) -> Self {
        Self {
            threads: self.threads.max(other.threads),
            files: self.files.max(other.files),
            memory_kib: self.memory_kib.max(other.memory_kib),
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().unwrap())
}

fn options(folder: &Path) -> StorageOptions {
    let (fs, clock) = (Arc::new(DiskFileSystem::new()), Arc::new(SystemClock));
    StorageOptions::new(fs, folder, clock)
}

fn open(storage: &Storage, n: u64) -> Connection {
    let origin = Origin::from_url(&format!("https://o{n}.example")).unwrap();
    let request = storage.factory(&origin).open("db", None).unwrap();
    let opened = request.with_upgrade(|upgrade| {
        let parameters = ObjectStoreParameters::default();
        upgrade.transaction.create_object_store("a", parameters)?;
        Ok(())
    });
    opened.wait().unwrap()
}

fn put(connection: &Connection, n: u64) {
    let options = TransactionOptions::default();
    let transaction = connection
        .transaction(["a"], TransactionMode::ReadWrite, options)
        .unwrap();
    let store = transaction.object_store("a").unwrap();
    let value = Value::serialize(&format!("of origin {n}")).unwrap();
    store.put(value, Some(Key::Number(1.0))).unwrap().detach();
    transaction.commit().unwrap().wait().unwrap();
}

fn get(connection: &Connection) -> String {
    let options = TransactionOptions::default();
    let transaction = connection
        .transaction(["a"], TransactionMode::ReadOnly, options)
        .unwrap();
    let store = transaction.object_store("a").unwrap();
    let found = store.get(Key::Number(1.0)).unwrap().wait().unwrap();
    found.unwrap().deserialize().unwrap()
}

#[test]
fn origins_that_are_visited_leave_no_threads_no_files_and_no_memory() {
    let asked = number("LARDER_ORIGINS");
    let count = asked.unwrap_or(200);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let before = Process::now();
    let options = options(dir.path());
    let idle_max = options.idle_stores_max as u64;
    let storage = Storage::new(options).unwrap();
    let (mut most, mut after_some) = (before, before);
    let begin = Instant::now();
    for n in 0..count {
        let connection = open(&storage, n);
        put(&connection, n);
        connection.close();
        drop(connection);
        most = most.most(Process::now());
        if n == count / 10 {
            after_some = Process::now();
        }
    }
    let took = begin.elapsed();
    for n in (0..count).step_by(10) {
        assert_eq!(get(&open(&storage, n)), format!("of origin {n}"));
        most = most.most(Process::now());
    }
    let at_end = Process::now();
    let begin = Instant::now();
    storage.close().unwrap();
    let closing = begin.elapsed();
    let after = Process::now();
    let each = took / u32::try_from(count).unwrap();
    println!("{count} origins, {each:.2?} each; closed in {closing:.2?}");
    println!(
        "before {before:?}\nmost   {most:?}\nafter {} origins {after_some:?}",
        count / 10
    );
    println!("at end {at_end:?}\nclosed {after:?}");
    assert!(most.threads <= THREADS_MAX);
    // Those that are idle, and the ones that are opened and closed in this moment.
    let files_max = (idle_max + 4) * FILES_PER_STORE;
    assert!(most.files - before.files <= files_max, "above {files_max}");
    // An origin that is closed takes next to nothing, and is forgotten in the end.
    assert!(at_end.memory_kib - after_some.memory_kib.min(at_end.memory_kib) < 16 << 10);
    assert!(after.threads <= before.threads, "threads are left");
    assert_eq!(after.files, before.files);
    assert!(asked.is_none() || closing < CLOSE_MAX, "{closing:?}");
}

#[test]
fn origins_that_are_open_at_once_share_their_threads_and_close_together() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let before = Process::now();
    let storage = Storage::new(options(dir.path())).unwrap();
    let count = number("LARDER_OPEN").unwrap_or(100);
    let connections: Vec<Connection> = (0..count)
        .map(|n| {
            let connection = open(&storage, n);
            put(&connection, n);
            connection
        })
        .collect();
    let open = Process::now();
    let begin = Instant::now();
    storage.close().unwrap();
    let closing = begin.elapsed();
    println!("{count} origins open: {open:?}; closed in {closing:.2?}");
    assert!(open.threads <= THREADS_MAX);
    assert!(open.files - before.files <= (count + 1) * FILES_PER_STORE);
    drop(connections);
}
