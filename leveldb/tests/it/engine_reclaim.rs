//! Room made of rows that are of no more use, where there is hardly any: tables that have other rows, too, are written anew; nothing else
//! is lost by that, nothing comes back, whatever fails meanwhile.

use larder_leveldb::storage::{
    CrashImage, Fault, FaultFileSystem, FileSystem, LimitedFileSystem, MemoryFileSystem,
};
use larder_leveldb::table::TableOptions;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Background, Db, Durability, ErrorKind, Options};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

const DIR: &str = "db";
const BLOCK_LEN: u64 = 64;
/// What is deleted: all that begins with "b".
const RANGE: (&[u8], &[u8]) = (b"b", b"c");

fn options() -> Options {
    Options {
        create_if_missing: true,
        write_buffer_bytes: 20_000,
        table_file_bytes: 15_000,
        table: TableOptions {
            block_len: 400,
            ..TableOptions::default()
        },
        background: Background::Caller,
        ..Options::default()
    }
}

fn mix(n: u32) -> u32 {
    (n ^ (n >> 15)).wrapping_mul(0x85eb_ca6b).rotate_left(13)
}

/// Does not pack.
fn value(n: u32, len: u32) -> Vec<u8> {
    (0..len).map(|i| mix(mix(n) ^ mix(i + 7)) as u8).collect()
}

struct Disk {
    memory: MemoryFileSystem,
    limited: LimitedFileSystem,
    fs: Arc<FaultFileSystem>,
}

impl Disk {
    fn new(memory: MemoryFileSystem) -> Disk {
        let limited = LimitedFileSystem::new(Arc::new(memory.clone()), BLOCK_LEN);
        let fs = Arc::new(FaultFileSystem::new(Arc::new(limited.clone())));
        Disk {
            memory,
            limited,
            fs,
        }
    }

    fn open(&self) -> Db {
        Db::open(self.fs.clone(), Path::new(DIR), options()).unwrap()
    }

    fn used_bytes(&self) -> u64 {
        let names = self.memory.list(Path::new(DIR)).unwrap();
        let len = |name| {
            let metadata = self.memory.metadata(&Path::new(DIR).join(name)).unwrap();
            metadata.len_bytes.next_multiple_of(BLOCK_LEN)
        };
        names.into_iter().map(len).sum()
    }
}

/// Rows to be deleted and others in turns, so that most tables have both, over several levels.
fn fill(db: &Db) -> Rows {
    let mut rows = Rows::new();
    for n in 0..900_u32 {
        let random = mix(n);
        let (first, len) = match random % 5 {
            0 => (b'a', 30),
            1 => (b'c', 40),
            _ => (b'b', 300),
        };
        let key = [vec![first], (random % 600).to_be_bytes().to_vec()].concat();
        let value = value(n, len);
        db.put(&key, &value, Durability::Relaxed).unwrap();
        rows.insert(key, value);
    }
    db.put(b"c", b"last", Durability::Strict).unwrap();
    rows.insert(b"c".to_vec(), b"last".to_vec());
    rows
}

fn rows(db: &Db) -> Rows {
    let mut iter = db.snapshot().iter();
    iter.seek_to_first().unwrap();
    let mut rows = Rows::new();
    while iter.valid() {
        rows.insert(iter.key().to_vec(), iter.value().unwrap().to_vec());
        iter.next().unwrap();
    }
    rows
}

fn others(rows: &Rows) -> Rows {
    let is_other = |key: &Vec<u8>| **key < *RANGE.0 || **key >= *RANGE.1;
    let others = rows.iter().filter(|(key, _)| is_other(key));
    others.map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// Why rows are of no more use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// They are not read any more.
    Unseen,
    Deleted,
}

impl Why {
    /// What is to be seen of all that there is.
    fn seen(self, rows: &Rows) -> Rows {
        match self {
            Why::Unseen => others(rows),
            Why::Deleted => rows.clone(),
        }
    }

    fn forget(self, db: &Db) -> larder_leveldb::Result<()> {
        match self {
            Why::Unseen => db.forget(RANGE.0, RANGE.1),
            Why::Deleted => db.forget_deleted(RANGE.0, RANGE.1),
        }
    }
}

/// A store with rows to be deleted, deleted if they are to be; what there is to be seen.
fn prepare(disk: &Disk, why: Why) -> (Db, Rows) {
    let db = disk.open();
    let rows = fill(&db);
    if why == Why::Deleted {
        let mut batch = BatchWriter::new();
        for key in rows.keys().filter(|key| key.starts_with(b"b")) {
            batch.delete(key);
        }
        db.write(&mut batch, Durability::Strict).unwrap();
    }
    (db, others(&rows))
}

fn is_whole(db: &Db, why: Why, expected: &Rows, what: &str) {
    assert!(why.seen(&rows(db)) == *expected, "{what}");
    for (key, value) in expected {
        assert_eq!(db.get(key).unwrap().as_ref(), Some(value), "{what}");
    }
}

#[test]
fn tables_that_have_other_rows_too_make_room_before_anything_else_fits() {
    for why in [Why::Unseen, Why::Deleted] {
        let disk = Disk::new(MemoryFileSystem::new());
        let (db, expected) = prepare(&disk, why);
        let full = disk.used_bytes();
        // For the smallest of them, not for the memtable.
        disk.limited.leave(9000 / BLOCK_LEN, None);
        assert!(db.flush().unwrap_err().is_out_of_space(), "{why:?}");
        why.forget(&db).unwrap();
        let before = disk.used_bytes();
        db.reclaim().unwrap();
        let after = disk.used_bytes();
        println!("{why:?}: {full} bytes, {before} without whole tables, {after} reclaimed");
        assert!(
            after < before / 2,
            "{why:?}: {before} bytes, and still {after}"
        );
        is_whole(&db, why, &expected, "reclaimed");
        db.flush().unwrap();
        is_whole(&db, why, &expected, "flushed");
        db.close().unwrap();
        is_whole(&disk.open(), why, &expected, "opened again");
    }
}

#[test]
fn what_is_written_later_where_all_was_deleted_stays() {
    let disk = Disk::new(MemoryFileSystem::new());
    let (db, mut expected) = prepare(&disk, Why::Deleted);
    db.forget_deleted(RANGE.0, RANGE.1).unwrap();
    for n in 0..200_u32 {
        let (key, value) = ([b"b", &n.to_be_bytes()[..]].concat(), value(n, 200));
        db.put(&key, &value, Durability::Relaxed).unwrap();
        expected.insert(key, value);
    }
    db.reclaim().unwrap();
    is_whole(&db, Why::Deleted, &expected, "reclaimed");
    let error = db.forget_deleted(RANGE.0, RANGE.1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    db.flush().unwrap();
    db.reclaim().unwrap();
    db.compact_range(None, None).unwrap();
    is_whole(&db, Why::Deleted, &expected, "compacted");
    db.close().unwrap();
    is_whole(&disk.open(), Why::Deleted, &expected, "opened again");
}

/// Something fails at an operation, once or from then on, or the disk is full from there on, or the power goes.
fn trouble(why: Why, n: u64, manner: u64) -> bool {
    let what = format!("{why:?}, operation {n}, manner {manner}");
    let disk = Disk::new(MemoryFileSystem::new());
    let (db, expected) = prepare(&disk, why);
    let before = disk.fs.operations();
    let limited = disk.limited.clone();
    match manner {
        0 | 1 => disk.fs.fail_at(Fault {
            operation: before + n,
            kind: io::ErrorKind::Other,
            every_later_too: manner == 1,
        }),
        _ => disk.fs.watch(move |operation| {
            if operation == before + n {
                limited.leave(n % 30, None);
            }
        }),
    }
    let _ = why.forget(&db);
    let _ = db.reclaim();
    let _ = db.flush();
    let _ = db.reclaim();
    let is_over = disk.fs.operations() < before + n;
    disk.fs.heal();
    is_whole(&db, why, &expected, &what);
    for image in [
        CrashImage::KeepWritten,
        CrashImage::LoseUnsynced,
        CrashImage::Tear { seed: n },
        CrashImage::Pages { seed: n },
    ] {
        let after = Disk::new(disk.memory.crash_image(image));
        is_whole(&after.open(), why, &expected, &format!("{what}, {image:?}"));
    }
    disk.limited.extend();
    let _ = db.reclaim();
    is_whole(&db, why, &expected, &what);
    drop(db);
    let db = disk.open();
    is_whole(&db, why, &expected, &what);
    db.compact_range(None, None).unwrap();
    is_whole(&db, why, &expected, &what);
    !is_over
}

#[test]
fn whatever_fails_while_room_is_made_nothing_is_lost_and_nothing_comes_back() {
    for why in [Why::Unseen, Why::Deleted] {
        for manner in 0..3 {
            let mut n = 1 + manner;
            while trouble(why, n, manner) {
                n += 3;
            }
            println!("{why:?}, manner {manner}: {n} operations");
            assert!(n > 20, "{n}");
        }
    }
}
