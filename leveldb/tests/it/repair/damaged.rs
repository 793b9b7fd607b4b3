//! What is made out in places without their checksums, beside what was written there.

use crate::store::{get_file, put_file};
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};
use larder_leveldb::table::TableOptions;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{
    Background, Db, Durability, Options, RowState, Salvage, compression::Compression,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DIR: &str = "db";

/// So many puts are in each batch.
const BATCH: u32 = 500;

fn options(compression: Compression) -> Options {
    Options {
        create_if_missing: true,
        background: Background::Caller,
        table: TableOptions {
            compression,
            ..TableOptions::default()
        },
        ..Options::default()
    }
}

fn key(i: u32) -> Vec<u8> {
    format!("key{i:05}").into_bytes()
}

fn is_key(bytes: &[u8]) -> bool {
    bytes.len() == 8 && bytes.starts_with(b"key")
}

/// Different at each place, and hard to pack.
fn value(i: u32) -> Vec<u8> {
    let byte = |at: u32| ((i * 100 + at).wrapping_mul(0x9e37_79b9) >> 24) as u8;
    (0..60).map(byte).collect()
}

/// Three batches: the second writes the keys of the first anew, and more.
fn store(is_flushed: bool, compression: Compression) -> Arc<MemoryFileSystem> {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = Db::open(fs.clone(), Path::new(DIR), options(compression)).unwrap();
    for number in 0..3 {
        let mut batch = BatchWriter::new();
        for i in 0..BATCH {
            batch.put(&key(i * (number + 1)), &value(number * BATCH + i));
        }
        db.write(&mut batch, Durability::Relaxed).unwrap();
    }
    if is_flushed {
        db.flush().unwrap();
    }
    drop(db);
    fs
}

/// The newest of each key: its number in the order of writes, from 1 on, and its value.
fn truth() -> BTreeMap<Vec<u8>, (u64, Vec<u8>)> {
    let all = (0..3).flat_map(|number| (0..BATCH).map(move |i| (number, i)));
    all.map(|(number, i)| {
        let nth = number * BATCH + i;
        (key(i * (number + 1)), (u64::from(nth) + 1, value(nth)))
    })
    .collect()
}

fn path(fs: &MemoryFileSystem, part: &str) -> PathBuf {
    let names = fs.list(Path::new(DIR)).unwrap();
    let mut names = names.into_iter().map(|name| name.into_string().unwrap());
    Path::new(DIR).join(names.find(|name| name.contains(part)).unwrap())
}

/// How many of the newest entries come, whole or out of damaged places, and how many of the latter there are.
fn found(fs: &Arc<MemoryFileSystem>) -> (usize, usize) {
    let options = options(Compression::None);
    let salvage = Salvage::open(fs.clone(), Path::new(DIR), &options).unwrap();
    let truth = truth();
    let mut right: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut see = |key: &[u8], sequence: u64, value: &[u8]| {
        let own = truth.get(key).filter(|(_, own)| own == value);
        // It counts the entries that are found.
        if own.is_some_and(|(own, _)| (own.saturating_sub(80)..=*own).contains(&sequence)) {
            right.insert(key.to_vec());
        }
    };
    let mut rows = salvage.rows();
    while let Some(state) = rows.advance().unwrap() {
        if state != RowState::Lost {
            see(rows.key(), rows.sequence(), rows.value().unwrap());
        }
    }
    let mut count = 0;
    let visited = salvage.damaged_entries(&is_key, &mut |entry| {
        count += 1;
        assert!(is_key(entry.key));
        see(entry.key, entry.sequence, entry.value.unwrap_or_default());
    });
    visited.unwrap();
    (right.len(), count)
}

#[test]
fn a_whole_store_has_none() {
    for is_flushed in [false, true] {
        let fs = store(is_flushed, Compression::Snappy);
        assert_eq!(found(&fs), (truth().len(), 0));
    }
}

/// The keys that are made out in damaged places.
fn made_out(fs: &Arc<MemoryFileSystem>) -> BTreeSet<Vec<u8>> {
    let salvage = Salvage::open(fs.clone(), Path::new(DIR), &options(Compression::None)).unwrap();
    let mut rows = salvage.rows();
    while rows.advance().unwrap().is_some() {}
    let mut keys = BTreeSet::new();
    let visited = salvage.damaged_entries(&is_key, &mut |entry| {
        keys.insert(entry.key.to_vec());
    });
    visited.unwrap();
    keys
}

/// A table of these keys, one block of which is damaged.
fn damaged_table(fs: &MemoryFileSystem) -> Vec<u8> {
    let mut bytes = get_file(fs, &path(fs, ".ldb"));
    bytes[9000] ^= 0xee;
    bytes
}

#[test]
fn a_damaged_table_beside_the_store_is_made_out_if_the_store_has_lost_something() {
    let fs = store(true, Compression::Snappy);
    put_file(&fs, &Path::new(DIR).join("000777.ldb"), &damaged_table(&fs));
    assert_eq!(found(&fs), (truth().len(), 0));
    fs.remove(&path(&fs, ".ldb")).unwrap();
    let (right, damaged) = found(&fs);
    // Of a block with some fifty one is touched, or two.
    assert!(
        damaged > 10 && right + 2 >= truth().len(),
        "{right} {damaged}"
    );
}

#[test]
fn what_is_deleted_is_not_made_out_nor_what_the_store_cannot_have_lost() {
    let fs = store(true, Compression::Snappy);
    let own = path(&fs, ".ldb");
    let old = damaged_table(&fs);
    let beside = Path::new(DIR).join("000777.ldb");
    let whole = {
        put_file(&fs, &beside, &old);
        let bytes = get_file(&fs, &own);
        fs.remove(&own).unwrap();
        let keys = made_out(&fs);
        fs.remove(&beside).unwrap();
        put_file(&fs, &own, &bytes);
        keys
    };
    let deleted = whole.iter().nth(whole.len() / 2).unwrap().clone();
    let db = Db::open(fs.clone(), Path::new(DIR), options(Compression::Snappy)).unwrap();
    db.delete(&deleted, Durability::Strict).unwrap();
    db.flush().unwrap();
    drop(db);
    put_file(&fs, &beside, &old);
    fs.remove(&own).unwrap();
    let mut rest = whole.clone();
    rest.remove(&deleted);
    assert_eq!(made_out(&fs), rest);

    // Another store has lost other keys.
    let other = Arc::new(MemoryFileSystem::new());
    let db = Db::open(other.clone(), Path::new(DIR), options(Compression::Snappy));
    let db = db.unwrap();
    db.put(b"key99999", b"last", Durability::Strict).unwrap();
    db.flush().unwrap();
    drop(db);
    other.remove(&path(&other, ".ldb")).unwrap();
    put_file(&other, &beside, &old);
    assert_eq!(made_out(&other), BTreeSet::new());
}

#[test]
fn of_a_damaged_log_record_all_entries_come_with_their_numbers_but_those_that_are_damaged() {
    let whole = store(false, Compression::Snappy);
    let log = path(&whole, ".log");
    let bytes = get_file(&whole, &log);
    for (at, len) in [
        (3, 1),
        (5, 1),
        (20, 3),
        (30_000, 5000),
        (45_000, 64),
        (70_000, 900),
    ] {
        let mut bytes = bytes.clone();
        bytes[at..at + len].fill(0xee);
        put_file(&whole, &log, &bytes);
        let (right, damaged) = found(&whole);
        assert!(damaged > 0 || right == truth().len(), "{len} at {at}");
        // Each takes 70 bytes.
        let touched = len / 70 + 2;
        assert!(right + touched >= truth().len(), "{len} at {at}: {right}");
    }
}

#[test]
fn of_a_log_record_that_the_end_of_the_file_cuts_the_entries_before_it_come() {
    let fs = store(false, Compression::Snappy);
    let log = path(&fs, ".log");
    let bytes = get_file(&fs, &log);
    put_file(&fs, &log, &bytes[..bytes.len() - 1000]);
    let (right, damaged) = found(&fs);
    assert!(damaged > 480 && right + 16 >= truth().len(), "{right}");
}

#[test]
fn of_a_damaged_block_the_entries_come_that_are_not() {
    for (compression, lost) in [(Compression::None, 2), (Compression::Snappy, 60)] {
        let whole = store(true, compression);
        let table = path(&whole, ".ldb");
        let bytes = get_file(&whole, &table);
        let mut damaged_sum = 0;
        for at in [0, 1000, 2500, 3900, 4100, 9000] {
            let mut bytes = bytes.clone();
            bytes[at..at + 4].fill(0xee);
            put_file(&whole, &table, &bytes);
            let (right, damaged) = found(&whole);
            damaged_sum += damaged;
            // A key that shares bytes with a damaged one is lost with it, up to the next that is written in full.
            let touched = if compression == Compression::None {
                17
            } else {
                lost
            };
            assert!(
                right + touched >= truth().len(),
                "{compression:?} at {at}: {right}"
            );
        }
        assert!(damaged_sum > 100, "{damaged_sum}");
    }
}

#[test]
fn blocks_are_found_by_an_index_that_is_damaged_itself() {
    let fs = store(true, Compression::None);
    let table = path(&fs, ".ldb");
    let mut bytes = get_file(&fs, &table);
    let footer = larder_leveldb::table::Footer::decode(&bytes[bytes.len() - 48..]).unwrap();
    // A byte of its checksum, and two of a value in the first block.
    let index_end = (footer.index.offset + footer.index.len) as usize;
    bytes[index_end + 1] ^= 1;
    bytes[50..52].fill(0xee);
    put_file(&fs, &table, &bytes);
    let (right, damaged) = found(&fs);
    assert!(
        damaged > 20 && right + 2 >= truth().len(),
        "{damaged}, {right}"
    );
}

#[test]
fn records_behind_a_page_that_a_disk_has_put_in_the_wrong_place_are_whole() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = Db::open(fs.clone(), Path::new(DIR), options(Compression::None)).unwrap();
    for i in 0..2000 {
        let mut batch = BatchWriter::new();
        batch.put(&key(i), &value(i));
        db.write(&mut batch, Durability::Relaxed).unwrap();
    }
    drop(db);
    let log = path(&fs, ".log");
    let bytes = get_file(&fs, &log);
    // Of a later place and of an earlier one, at a block's beginning and within it; also where the log begins.
    let pages = [
        (8, 20),
        (20, 8),
        (9, 33),
        (33, 9),
        (16, 17),
        (8, 24),
        (0, 30),
    ];
    for (to, from) in pages {
        let mut bytes = bytes.clone();
        bytes.copy_within(from * 4096..(from + 1) * 4096, to * 4096);
        put_file(&fs, &log, &bytes);
        let salvage = Salvage::open(fs.clone(), Path::new(DIR), &options(Compression::None));
        let salvage = salvage.unwrap();
        let mut rows = salvage.rows();
        let mut whole = 0;
        while let Some(state) = rows.advance().unwrap() {
            if state != RowState::Lost {
                let i: u32 = std::str::from_utf8(&rows.key()[3..])
                    .unwrap()
                    .parse()
                    .unwrap();
                assert_eq!(rows.value().unwrap(), value(i));
                whole += 1;
            }
        }
        // Each takes 90 bytes. Behind the page the next block may have to be awaited.
        let least = 2000 - (4096 + (32 << 10)) / 90 - 2;
        assert!(whole > least, "{to} of {from}: {whole}");
        assert!(salvage.outdated_up_to().is_some(), "{to} of {from}");
        // Of what is lost at the beginning it is not known what it was.
        if to > 0 {
            let lost_at = salvage.read_up_to().unwrap();
            let before = (to * 4096 / 90) as u64;
            let expected = before.saturating_sub(2)..=before;
            assert!(expected.contains(&lost_at), "{to} of {from}: {lost_at}");
        }
    }
}
