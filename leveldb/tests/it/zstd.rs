//! Tables with zstd: we read what we write, the zstd command too, C++ LevelDB 1.23 does not.

use crate::support::{Rows, backward, forward, oracle};
use larder_leveldb::compression::{Compression, compress_zstd};
use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::table::TableOptions;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Durability, Options};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Text, bytes that do not pack, and something of both.
fn value(n: u32) -> Vec<u8> {
    let random = (0..n % 400).map(|i| (i ^ n).wrapping_mul(0x9e37_79b9) as u8 ^ (n >> 3) as u8);
    match n % 3 {
        0 => format!("{{\"name\": \"row {n}\", \"kind\": \"text\"}}")
            .repeat(1 + n as usize % 9)
            .into_bytes(),
        1 => random.collect(),
        _ => random.flat_map(|byte| [byte, b'-', b'-', b'-']).collect(),
    }
}

fn rows() -> Rows {
    let row = |n: u32| (format!("key {n:06}").into_bytes(), value(n));
    (0..5000).map(row).collect()
}

/// Writes the rows into tables; how many bytes those are.
fn write(dir: &Path, compression: Compression) -> u64 {
    let options = Options {
        create_if_missing: true,
        table: TableOptions {
            compression,
            ..TableOptions::default()
        },
        ..Options::default()
    };
    let db = Db::open(Arc::new(DiskFileSystem::new()), dir, options).unwrap();
    let mut batch = BatchWriter::new();
    for (key, value) in rows() {
        batch.put(&key, &value);
    }
    db.write(&mut batch, Durability::Relaxed).unwrap();
    db.compact_range(None, None).unwrap();
    let len = db.files().iter().filter_map(|file| file.len_bytes).sum();
    db.close().unwrap();
    len
}

#[test]
fn rows_in_zstd_blocks_come_back_and_are_smaller() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("zstd");
    let len = write(&store, Compression::Zstd);
    let plain = write(&dir.path().join("none"), Compression::None);
    println!("{len} bytes with zstd, {plain} without");
    assert!(len < plain * 7 / 10);
    let db = Db::open(Arc::new(DiskFileSystem::new()), &store, Options::default()).unwrap();
    let mut reversed = backward(&db).unwrap();
    reversed.reverse();
    assert!(forward(&db).unwrap() == rows() && reversed == rows());
    // Written on with snappy: blocks of both sorts in one store.
    db.put(b"key 002500", b"again", Durability::Strict).unwrap();
    db.flush().unwrap();
    assert_eq!(
        db.get(b"key 002500").unwrap().as_deref(),
        Some(&b"again"[..])
    );
    assert_eq!(db.get(b"key 002501").unwrap(), Some(value(2501)));
    db.close().unwrap();
}

#[test]
fn what_zstd_packs_beyond_what_is_read_again_is_packed_with_snappy() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        create_if_missing: true,
        table: TableOptions {
            compression: Compression::Zstd,
            ..TableOptions::default()
        },
        ..Options::default()
    };
    let db = Db::open(Arc::new(DiskFileSystem::new()), dir.path(), options).unwrap();
    // Snappy makes 22 bytes of one; zstd here thousands.
    let value = vec![7; 1 << 20];
    db.put(b"long", &value, Durability::Relaxed).unwrap();
    db.flush().unwrap();
    let len: u64 = db.files().iter().filter_map(|file| file.len_bytes).sum();
    assert!((20_000..60_000).contains(&len), "{len}");
    assert!(db.get(b"long").unwrap() == Some(value));
    db.close().unwrap();
}

#[test]
fn cpp_leveldb_1_23_takes_a_store_with_zstd_for_a_damaged_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("zstd");
    write(&store, Compression::Zstd);
    let Some(oracle) = oracle() else { return };
    let dump = Command::new(oracle)
        .arg("dump")
        .arg(&store)
        .arg("bytewise")
        .output();
    let dump = dump.unwrap();
    assert!(!dump.status.success());
    assert!(String::from_utf8_lossy(&dump.stderr).contains("Corruption"));
}

#[test]
fn the_zstd_command_unpacks_our_blocks() {
    let blocks: Vec<Vec<u8>> = (0..300u32)
        .map(|n| (n..n + n % 40).flat_map(value).collect())
        .collect();
    let mut frames = Vec::new();
    let mut packed = Vec::new();
    for block in &blocks {
        compress_zstd(block, &mut packed);
        frames.extend_from_slice(&packed);
    }
    let started = Command::new("zstd")
        .args(["-d", "-c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut zstd = match started {
        Ok(zstd) => zstd,
        Err(error) => {
            let is_required = std::env::var_os("LARDER_REQUIRE_PEERS").is_some();
            assert!(!is_required, "no zstd command: {error}");
            println!("SKIPPED: no zstd command to compare with: {error}");
            return;
        }
    };
    let mut input = zstd.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(&frames).unwrap());
        let output = zstd.wait_with_output().unwrap();
        assert!(output.status.success());
        assert!(output.stdout == blocks.concat());
    });
}
