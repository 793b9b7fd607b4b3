//! What a power cut leaves of a log ends it; the same missing from what was synced is damage.

use crate::store::{get_file, put_file};
use larder_leveldb::storage::{CrashImage, FileSystem, MemoryFileSystem};
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{
    Background, Db, Durability, ErrorKind, OnDamage, Options, RowsInDoubt, TailKind, repair,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DIR: &str = "db";

fn options() -> Options {
    Options {
        create_if_missing: true,
        background: Background::Caller,
        ..Options::default()
    }
}

fn open(fs: &Arc<MemoryFileSystem>) -> larder_leveldb::Result<Db> {
    Db::open(fs.clone(), Path::new(DIR), options())
}

fn log(fs: &MemoryFileSystem) -> PathBuf {
    let names = fs.list(Path::new(DIR)).unwrap();
    let mut logs = names
        .iter()
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "log"));
    Path::new(DIR).join(logs.next_back().unwrap())
}

/// No byte of it is zero.
fn value(n: u32, len: usize) -> Vec<u8> {
    let byte = |at: usize| {
        (at as u32)
            .wrapping_mul(n * 2 + 1)
            .wrapping_mul(0x9e37_79b9)
            >> 24
    };
    (0..len).map(|at| (byte(at) as u8).max(1)).collect()
}

/// Five writes of which the given ones are strict; the log's length before the first and after each; and what a crash of the
/// process leaves.
fn written(strict: &[u32], len: usize) -> (Arc<MemoryFileSystem>, Vec<u64>) {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(&fs).unwrap();
    let log_len = || fs.metadata(&log(&fs)).unwrap().len_bytes;
    let mut ends = vec![log_len()];
    for n in 0..5 {
        let durability = match strict.contains(&n) {
            true => Durability::Strict,
            false => Durability::Relaxed,
        };
        db.put(&[b'0' + n as u8], &value(n, len), durability)
            .unwrap();
        ends.push(log_len());
    }
    (Arc::new(fs.crash_image(CrashImage::KeepWritten)), ends)
}

fn shown(db: &Db) -> Vec<u8> {
    let mut iter = db.iter();
    let mut keys = Vec::new();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        keys.extend_from_slice(iter.key());
        iter.next().unwrap();
    }
    keys
}

fn zeroed(fs: &MemoryFileSystem, range: std::ops::Range<u64>) -> Arc<MemoryFileSystem> {
    let after = fs.crash_image(CrashImage::KeepWritten);
    let path = log(&after);
    let mut bytes = get_file(&after, &path);
    bytes[range.start as usize..range.end as usize].fill(0);
    put_file(&after, &path, &bytes);
    Arc::new(after)
}

#[test]
fn a_log_ends_where_sectors_are_missing_after_the_last_write_that_is_known_to_be_synced() {
    let (fs, ends) = written(&[0, 1], 1500);
    let whole = get_file(&fs, &log(&fs));
    // The third write carries the mark: it says that the second is durable.
    let first_sector = ends[2].div_ceil(512);
    for sector in first_sector..whole.len() as u64 / 512 {
        let range = sector * 512..(sector + 1) * 512;
        let after = zeroed(&fs, range.clone());
        let damaged = get_file(&after, &log(&after));
        let db = open(&after).unwrap_or_else(|error| panic!("{range:?}: {error}"));
        let whole_writes = ends.iter().filter(|end| **end <= range.start).count() - 1;
        assert_eq!(shown(&db), b"01234"[..whole_writes], "{range:?}");
        let [tail] = db.torn_tails() else {
            panic!("{range:?}: {:?}", db.torn_tails())
        };
        assert_eq!(tail.kind, TailKind::Holes, "{range:?}");
        assert!(
            tail.offset >= ends[2] && tail.offset <= range.start,
            "{tail}"
        );
        let aside = tail.set_aside.as_ref().expect("the tail is set aside");
        let aside = get_file(&after, &Path::new(DIR).join(aside));
        assert!(aside == damaged[tail.offset as usize..], "{range:?}");
        // The store goes on as if nothing had happened, and the torn tail is not reported a second time.
        db.put(b"more", b"rows", Durability::Strict).unwrap();
        let before = shown(&db);
        db.close().unwrap();
        let db = open(&after).unwrap();
        assert_eq!(shown(&db), before);
        assert_eq!(db.torn_tails(), []);
    }
}

#[test]
fn what_is_missing_from_synced_bytes_is_damage_and_the_store_stays_as_it_is() {
    let (fs, ends) = written(&[0, 1], 1500);
    for sector in 0..ends[2] / 512 {
        let after = zeroed(&fs, sector * 512..(sector + 1) * 512);
        let before = get_file(&after, &log(&after));
        let error = open(&after).unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::Corruption,
            "sector {sector}: {error}"
        );
        assert!(
            error.offset().is_some() && error.file().is_some(),
            "{error}"
        );
        assert!(get_file(&after, &log(&after)) == before);
        // It can be read, and repaired.
        let skip = Options {
            on_damage: OnDamage::Skip,
            ..options()
        };
        let db = Db::open_read_only(after.clone(), Path::new(DIR), skip).unwrap();
        assert!(shown(&db).len() >= 3, "sector {sector}");
        repair(
            after.clone(),
            Path::new(DIR),
            &options(),
            RowsInDoubt::BringBack,
        )
        .unwrap();
        assert!(shown(&open(&after).unwrap()).len() >= 3, "sector {sector}");
    }
}

#[test]
fn a_log_that_was_closed_is_synced_to_its_last_write() {
    let (fs, _) = written(&[], 1500);
    let db = open(&fs).unwrap();
    let mut batch = BatchWriter::new();
    batch.put(b"5", &value(5, 3000));
    db.write(&mut batch, Durability::Relaxed).unwrap();
    db.close().unwrap();
    let whole = get_file(&fs, &log(&fs));
    for sector in 0..whole.len() as u64 / 512 {
        let error = open(&zeroed(&fs, sector * 512..(sector + 1) * 512)).unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::Corruption,
            "sector {sector}: {error}"
        );
    }
}

#[test]
fn bytes_that_no_power_cut_changes_are_damage_even_where_nothing_was_synced() {
    let (fs, ends) = written(&[0], 700);
    let whole = get_file(&fs, &log(&fs));
    // Behind the last record's length, which may look like that of a record that was cut off.
    for at in (0..whole.len()).filter(|at| *at < ends[4] as usize || *at > ends[4] as usize + 6) {
        let after = Arc::new(fs.crash_image(CrashImage::KeepWritten));
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        put_file(&after, &log(&after), &bytes);
        let error = open(&after).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "byte {at}: {error}");
    }
}

#[test]
fn a_manifest_ends_where_its_last_edit_is_missing_and_is_damaged_where_an_earlier_one_is() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(&fs).unwrap();
    let manifest = || {
        let names = fs.list(Path::new(DIR)).unwrap();
        let mut names = names
            .iter()
            .filter(|name| name.to_string_lossy().starts_with("MANIFEST"));
        Path::new(DIR).join(names.next().unwrap())
    };
    let mut ends = Vec::new();
    let mut before_last = None;
    for n in 0..3 {
        db.put(&[b'0' + n], b"value", Durability::Strict).unwrap();
        before_last = Some(fs.crash_image(CrashImage::KeepWritten));
        db.flush().unwrap();
        ends.push(get_file(&fs, &manifest()).len());
    }
    let whole = get_file(&fs, &manifest());
    // The last edit was not synced, so the log that it makes obsolete is there.
    for from in ends[1]..=whole.len() {
        let before = before_last.as_ref().unwrap();
        let after = Arc::new(before.crash_image(CrashImage::KeepWritten));
        let mut bytes = whole.clone();
        bytes[from..].fill(0);
        put_file(&after, &manifest(), &bytes);
        if bytes == whole {
            // With it, a table is missing that it names.
            assert!(open(&after).is_err());
            continue;
        }
        let db = open(&after).unwrap_or_else(|error| panic!("zeros from {from}: {error}"));
        assert_eq!(shown(&db), b"012", "zeros from {from}");
        assert_eq!(db.torn_tails().len(), 1, "zeros from {from}");
    }
    for from in ends[0]..ends[1] {
        let after = Arc::new(fs.crash_image(CrashImage::KeepWritten));
        let mut bytes = whole.clone();
        bytes[from..ends[1]].fill(0);
        if bytes == whole {
            continue;
        }
        put_file(&after, &manifest(), &bytes);
        let error = open(&after).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "zeros from {from}");
    }
}
