//! Cursors over index rows of which some cannot be read.

use std::path::Path;
use std::sync::Arc;

use larder_codec::row_key::RecordTable;
use larder_codec::versioned::{self, DataRow, ExistsRow};
use larder_codec::{DatabaseId, IndexId, Key, KeyPrefix, ObjectStoreId, Origin, RecordVersion};
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};

use super::*;
use crate::reads::{Reads, record_row_prefix};
use crate::{
    BackingStore, Durability, FixedClock, Scope, StorePaths, WriteOptions, WriteTransaction,
};

const ENTRIES: u32 = 60;

const DIR: &str = "https_a.example_0.indexeddb.leveldb";

fn store() -> BackingStore {
    store_on(&MemoryFileSystem::new())
}

fn store_on(fs: &MemoryFileSystem) -> BackingStore {
    let origin = Origin::from_url("https://a.example").unwrap();
    let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    options.create_if_missing = true;
    options.background = crate::Background::Caller;
    options.write_buffer_bytes = 6000;
    let paths = StorePaths::of_leveldb(Path::new(DIR));
    BackingStore::open(Arc::new(fs.clone()), paths, options).unwrap()
}

fn bytes(key: &Key) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}

fn version(n: i64) -> RecordVersion {
    RecordVersion::new(n).unwrap()
}

/// The `n`th entry: some are stale in several ways, some rows cannot be read, one key has two forms, and long ones lie elsewhere.
fn put(write: &mut WriteTransaction, n: u32) {
    let (database, object_store) = (DatabaseId::MIN, ObjectStoreId::MIN);
    let primary_key = match n % 60 {
        // Scattered, lest rows lie as they are visited.
        21 => Key::Number(-0.0),
        22 => "long".repeat(200).as_str().into(),
        _ => Key::Number(f64::from(n * 37 % 61)),
    };
    let primary_key = bytes(&primary_key);
    let raw = RawKey::decode_exact(&primary_key).unwrap();
    let mut row_key = Vec::new();
    KeyPrefix::of_index(database, object_store, IndexId::MIN).encode(&mut row_key);
    Key::Number(f64::from(n / 2)).encode(&mut row_key);
    if n != 13 {
        row_key.push(0);
        row_key.extend_from_slice(&primary_key);
    }
    if n == 14 {
        row_key.push(7);
    }
    let mut row_value = Vec::new();
    let row = versioned::IndexRow {
        version: version(i64::from(n) + 1),
        primary_key: raw,
    };
    row.encode(&mut row_value);
    if n == 31 || n == 32 {
        row_value.push(7);
    }
    write.put_row(&row_key, &row_value).unwrap();
    let row_version = match n {
        5 | 6 | 40..44 => version(1000),
        _ => row.version,
    };
    for table in [RecordTable::Exists, RecordTable::Data] {
        let mut row_key = record_row_prefix(database, object_store, table);
        row_key.extend_from_slice(&primary_key);
        let mut row_value = Vec::new();
        match table {
            RecordTable::Exists => ExistsRow {
                version: row_version,
            }
            .encode(&mut row_value),
            _ => DataRow {
                version: row_version,
                value: &[n as u8; 40],
            }
            .encode(&mut row_value),
        }
        match n {
            50 => continue,
            51 => row_value.clear(),
            _ => {}
        }
        write.put_row(&row_key, &row_value).unwrap();
    }
}

/// What a cursor meets: keys and value, or what the error says.
type Met = std::result::Result<(Vec<u8>, Vec<u8>, Vec<u8>), String>;

fn walk(
    cursor: &mut IndexCursor,
    mut next: impl FnMut(&mut IndexCursor) -> Result<bool>,
) -> Vec<Met> {
    let mut met = Vec::new();
    loop {
        match next(cursor) {
            Ok(false) => return met,
            Ok(true) => {
                let (key, primary_key) = cursor.key_bytes().unwrap();
                assert_eq!(cursor.index_key().unwrap().as_bytes(), key);
                assert_eq!(cursor.primary_key().unwrap().as_bytes(), primary_key);
                met.push(Ok((
                    key.to_vec(),
                    primary_key.to_vec(),
                    cursor.value().to_vec(),
                )));
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corruption);
                assert!(cursor.key_bytes().is_err());
                met.push(Err(error.to_string()));
            }
        }
    }
}

fn cursor(reads: &Reads, direction: CursorDirection, keys_only: bool) -> IndexCursor {
    let (database, object_store) = (DatabaseId::MIN, ObjectStoreId::MIN);
    let all = &crate::KeyRange::ALL;
    match keys_only {
        true => reads.index_keys_in(database, object_store, IndexId::MIN, all, direction),
        false => reads.index_entries_in(database, object_store, IndexId::MIN, all, direction),
    }
}

#[test]
fn entries_and_what_cannot_be_read_come_in_their_place_however_many_are_wanted() {
    let store = store();
    // A memtable that is full, one that is filled, and at last tables.
    for part in [0..30, 30..ENTRIES, 0..0] {
        let scope = Scope::Stores(DatabaseId::MIN, [ObjectStoreId::MIN].into());
        let mut write = store.begin(scope, Durability::Relaxed).unwrap();
        let is_last = part.is_empty();
        part.for_each(|n| put(&mut write, n));
        write.commit().unwrap();
        while is_last && store.core.db.do_background_work().unwrap() {}
        let read = store.read();
        for direction in [
            CursorDirection::Next,
            CursorDirection::Prev,
            CursorDirection::NextUnique,
        ] {
            for keys_only in [false, true] {
                let mut naive = cursor(&read, direction, keys_only);
                let expected = walk(&mut naive, IndexCursor::next);
                let errors = expected.iter().filter(|met| met.is_err()).count();
                let is_seen = errors > 0 && naive.stale_rows() > 0;
                assert!((is_seen || direction.is_unique()) && expected.len() > 2 * errors);
                for count in 0..40 {
                    let mut ahead = cursor(&read, direction, keys_only);
                    let met = walk(&mut ahead, |cursor| cursor.next_of(count));
                    assert_eq!(met, expected, "{count} wanted");
                    assert_eq!(ahead.stale_rows(), naive.stale_rows());
                }
            }
        }
    }
}

/// A record and its entry, which lies anywhere among the others; every fifth entry is stale. Some values are long. Of some records the index
/// has the other form of their keys: an equal key of other bytes.
fn put_scattered(write: &mut WriteTransaction, n: u32, count: u32) {
    let (database, object_store) = (DatabaseId::MIN, ObjectStoreId::MIN);
    let (primary_key, record_key) = match n {
        301..311 => {
            let key = |zero: f64| bytes(&Key::array(vec![n.into(), zero.into()]).unwrap());
            (key(-0.0), key(0.0))
        }
        _ => {
            let key = bytes(&Key::Number(f64::from(n + 1)));
            (key.clone(), key)
        }
    };
    let raw = RawKey::decode_exact(&primary_key).unwrap();
    let mut row_key = Vec::new();
    KeyPrefix::of_index(database, object_store, IndexId::MIN).encode(&mut row_key);
    Key::Number(f64::from(n * 271 % count)).encode(&mut row_key);
    row_key.push(0);
    row_key.extend_from_slice(&primary_key);
    let mut row_value = Vec::new();
    let row = versioned::IndexRow {
        version: version(i64::from(n) + 1 + i64::from(n.is_multiple_of(5))),
        primary_key: raw,
    };
    row.encode(&mut row_value);
    write.put_row(&row_key, &row_value).unwrap();
    let row_version = version(i64::from(n) + 1);
    let mut row_key = record_row_prefix(database, object_store, RecordTable::Data);
    row_key.extend_from_slice(&record_key);
    // What does not pack well, so that there are enough tables.
    let mut byte = n;
    let value: Vec<u8> = (0..if n.is_multiple_of(3) { 12_000 } else { 40 })
        .map(|_| {
            byte = byte.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (byte >> 24) as u8
        })
        .collect();
    let mut row_value = Vec::new();
    let row = DataRow {
        version: row_version,
        value: &value,
    };
    row.encode(&mut row_value);
    write.put_row(&row_key, &row_value).unwrap();
}

/// So many entries, of which a long walk passes many at once.
const SCATTERED: u32 = 600;

fn put_all_scattered(store: &BackingStore) {
    for part in 0..6 {
        let scope = Scope::Stores(DatabaseId::MIN, [ObjectStoreId::MIN].into());
        let mut write = store.begin(scope, Durability::Relaxed).unwrap();
        (0..SCATTERED)
            .filter(|n| n % 6 == part)
            .for_each(|n| put_scattered(&mut write, n, SCATTERED));
        write.commit().unwrap();
        while store.core.db.do_background_work().unwrap() {}
    }
}

#[test]
fn a_record_in_a_damaged_block_is_an_error_in_its_place_on_a_long_walk_too() {
    let fs = MemoryFileSystem::new();
    put_all_scattered(&store_on(&fs));
    let tables = fs.list(Path::new(DIR)).unwrap();
    let tables = tables.iter().map(|name| Path::new(DIR).join(name));
    let tables = tables.filter(|path| path.extension().is_some_and(|kind| kind == "ldb"));
    let len = |path: &std::path::PathBuf| fs.open_random(path).unwrap().len().unwrap();
    let largest = tables.max_by_key(len).unwrap();
    let mut bytes = vec![0; len(&largest) as usize];
    fs.open_random(&largest)
        .unwrap()
        .read_at(0, &mut bytes)
        .unwrap();
    // Records' rows come first.
    let at = bytes.len() / 4;
    bytes[at] ^= 1;
    fs.create(&largest).unwrap().append(&bytes).unwrap();
    let store = store_on(&fs);
    let read = store.read();
    assert!(read.lookups_together() > 100);
    for direction in [CursorDirection::Next, CursorDirection::Prev] {
        let expected = walk(&mut cursor(&read, direction, false), IndexCursor::next);
        assert!(expected.iter().any(Met::is_err));
        for count in [4, 100, usize::MAX] {
            let mut ahead = cursor(&read, direction, false);
            let met = walk(&mut ahead, |cursor| cursor.next_of(count));
            assert!(met == expected, "{count} wanted");
        }
    }
}

#[test]
fn a_long_walk_that_passes_more_and_more_rows_meets_each_entry_once() {
    let store = store();
    put_all_scattered(&store);
    let read = store.read();
    assert!(read.lookups_together() > 100);
    for direction in [CursorDirection::Next, CursorDirection::Prev] {
        let mut naive = cursor(&read, direction, false);
        let expected = walk(&mut naive, IndexCursor::next);
        assert_eq!(expected.len(), 480);
        for count in [4, 5, 100, usize::MAX] {
            let mut ahead = cursor(&read, direction, false);
            let met = walk(&mut ahead, |cursor| cursor.next_of(count));
            assert!(met == expected, "{count} wanted");
            assert_eq!(ahead.stale_rows(), naive.stale_rows());
            // It goes on from where it stands, whatever has been passed.
            let mut ahead = cursor(&read, direction, false);
            for _ in 0..50 {
                assert!(ahead.next_of(count).unwrap());
            }
            let target = bytes(&Key::Number(300.0));
            let target = RawKey::decode_exact(&target).unwrap();
            assert!(ahead.go(Movement::To(target)).unwrap());
            let (key, _) = ahead.key_bytes().unwrap();
            let place = expected.iter().position(|met| {
                let (met_key, _, _) = met.as_ref().unwrap();
                met_key == key
            });
            let behind = walk(&mut ahead, |cursor| cursor.next_of(count));
            assert!(behind == expected[place.unwrap() + 1..], "{count} wanted");
        }
    }
}
