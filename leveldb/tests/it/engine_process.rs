//! Other processes: killed ones of our own, and C++ LevelDB that holds the lock or asks for it.

use crate::support::*;
use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::{Db, Durability, ErrorKind, Options};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

const STORE: &str = "LARDER_TEST_CHILD_STORE";

fn write_options() -> Options {
    Options {
        create_if_missing: true,
        write_buffer_bytes: 50_000,
        table_file_bytes: 30_000,
        ..Options::default()
    }
}

fn open_for_writing(dir: &Path) -> larder_leveldb::Result<Db> {
    Db::open(Arc::new(DiskFileSystem::new()), dir, write_options())
}

/// The child: writes until it is killed, and says what was acknowledged.
#[test]
fn a_child_that_writes_does_nothing_without_its_parent() {
    let Some(dir) = std::env::var_os(STORE) else {
        return;
    };
    let db = open_for_writing(Path::new(&dir)).unwrap();
    let first = db
        .get(b"count")
        .unwrap()
        .map_or(0, |bytes| u64::from_be_bytes(bytes[..].try_into().unwrap()));
    for n in first + 1.. {
        let mut batch = larder_leveldb::write_batch::BatchWriter::new();
        batch.put(&(n % 500).to_be_bytes(), &vec![n as u8; 300]);
        batch.put(b"count", &n.to_be_bytes());
        db.write(&mut batch, Durability::Relaxed).unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "acknowledged {n}").unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn whatever_a_killed_process_acknowledged_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let mut last = 0u64;
    for round in 1..=5u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "engine_process::a_child_that_writes_does_nothing_without_its_parent",
                "--nocapture",
            ])
            .env(STORE, &store)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = 0;
        let mut read = |acknowledged: &mut u64| -> bool {
            let Some(Ok(line)) = lines.next() else {
                return false;
            };
            if let Some(at) = line.find("acknowledged ") {
                *acknowledged = line[at + 13..].parse().unwrap_or(*acknowledged);
            }
            true
        };
        while acknowledged < last + 1500 * round {
            assert!(read(&mut acknowledged), "the child ended by itself");
        }
        child.kill().unwrap();
        // What it said before it died.
        while read(&mut acknowledged) {}
        child.wait().unwrap();
        let db = open_for_writing(&store).unwrap();
        let count = u64::from_be_bytes(db.get(b"count").unwrap().unwrap()[..].try_into().unwrap());
        assert!(
            count >= acknowledged && count <= acknowledged + 1,
            "{count} of {acknowledged}"
        );
        for n in count - 499..=count {
            let value = db.get(&(n % 500).to_be_bytes()).unwrap().unwrap();
            assert_eq!(value, vec![n as u8; 300], "{n} of {count}");
        }
        last = count;
    }
}

#[test]
fn cpp_leveldb_and_we_see_each_others_lock() {
    let Some(oracle) = oracle() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let path = store.to_str().unwrap();
    let db = open_for_writing(&store).unwrap();
    let refused = Command::new(oracle)
        .args(["dump", path, "bytewise"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("LOCK"), "{said}");
    db.put(b"key", b"value", Durability::Relaxed).unwrap();
    drop(db);
    let (rows, _) = oracle_dump(&store, "bytewise").unwrap();
    assert_eq!(rows, [(b"key".to_vec(), b"value".to_vec())]);
    let mut holder = Command::new(oracle)
        .args(["hold", path])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(holder.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert_eq!(said, "held\n");
    assert_eq!(
        open_for_writing(&store).unwrap_err().kind(),
        ErrorKind::Conflict
    );
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
    assert_eq!(
        open_for_writing(&store)
            .unwrap()
            .get(b"key")
            .unwrap()
            .unwrap(),
        b"value"
    );
}
