//! Index rows that a search passes over: their table is too large to be looked at whole, and within its block the keys are in any
//! order. Cursors come to an end, in all directions.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, of stores that they make"
)]

use std::sync::Arc;

use larder_backing_store::{
    CursorDirection, ErrorKind, IdbComparator, IndexCursor, OpenOptions, Store, StoreOrder,
    StorePaths,
};
use larder_codec::row_key::RecordTable;
use larder_codec::versioned::{DataRow, ExistsRow, IndexRow};
use larder_codec::{DatabaseId, IndexId, Key, KeyPrefix, ObjectStoreId, RawKey, RecordVersion};
use larder_fuzz_oracles::files::Files;
use larder_fuzz_oracles::write;
use larder_leveldb::OnDamage;
use larder_leveldb::compression::Compression;
use larder_leveldb::internal_key::{self, EntryKind};
use larder_leveldb::table::TableOptions;
use larder_leveldb::version_edit::{NewFile, VersionEdit};
use larder_leveldb::write_batch::BatchWriter;

const ENTRIES: u32 = 24;

fn bytes_of(key: &Key) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}

fn internal(key: &[u8], sequence: u64) -> Vec<u8> {
    let mut internal = Vec::new();
    internal_key::encode(&mut internal, key, sequence, EntryKind::Value);
    internal
}

/// Two entries for each index key, in any order, and a long row behind them.
fn table(seed: u64) -> (Vec<u8>, NewFile) {
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ seed << 17 | 1;
    let mut below = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    let entry = |n: u32| {
        let mut key = Vec::new();
        KeyPrefix::of_index(DatabaseId::MIN, ObjectStoreId::MIN, IndexId::MIN).encode(&mut key);
        Key::Number(f64::from(n / 2)).encode(&mut key);
        key.push(0);
        Key::Number(f64::from(n)).encode(&mut key);
        let primary_key = bytes_of(&Key::Number(f64::from(n)));
        let mut value = Vec::new();
        IndexRow {
            version: RecordVersion::new(1).unwrap(),
            primary_key: RawKey::decode_exact(&primary_key).unwrap(),
        }
        .encode(&mut value);
        (internal(&key, u64::from(n) + 100), value)
    };
    let mut entries: Vec<(Vec<u8>, Vec<u8>)> = (0..ENTRIES).map(entry).collect();
    let smallest = entries[0].0.clone();
    for i in (1..entries.len()).rev() {
        entries.swap(i, below(i + 1));
    }
    // A row of another index, which is never read.
    let largest = internal(&[0, 1, 1, 200, 3, 0, 0, 0, 0, 0, 0, 0, 0], 1);
    entries.push((largest.clone(), vec![7; 2 << 20]));
    let options = TableOptions {
        block_len: usize::MAX,
        restart_interval: 1,
        compression: Compression::None,
        bloom_bits: None,
    };
    let in_order = entries.iter().map(|(key, value)| (&key[..], &value[..]));
    let (bytes, summary) = write::table(Arc::new(IdbComparator), options, in_order);
    let listed = NewFile {
        level: 1,
        number: 5,
        len_bytes: summary.len_bytes,
        smallest,
        largest,
    };
    (bytes, listed)
}

/// The records, all of which are there.
fn log() -> Vec<u8> {
    let mut batch = BatchWriter::new();
    batch.put(&[0, 0, 0, 0, 0], &[5]);
    for n in 0..ENTRIES {
        let version = RecordVersion::new(1).unwrap();
        for table in [RecordTable::Data, RecordTable::Exists] {
            let mut key = Vec::new();
            KeyPrefix {
                database: 1,
                object_store: 1,
                index: table.index_number(),
            }
            .encode(&mut key);
            Key::Number(f64::from(n)).encode(&mut key);
            let mut value = Vec::new();
            match table {
                RecordTable::Exists => ExistsRow { version }.encode(&mut value),
                _ => DataRow {
                    version,
                    value: b"_",
                }
                .encode(&mut value),
            }
            batch.put(&key, &value);
        }
    }
    // A Chromium that has only one order began its stores so: nothing speaks for another.
    write::log(&[batch.finish(1)])
}

fn store(seed: u64) -> Store {
    let (table, listed) = table(seed);
    let first = write::first_edit(&IdbComparator, 8, 0);
    let second = VersionEdit {
        last_sequence: Some(200),
        new_files: vec![listed],
        ..VersionEdit::default()
    };
    let files = [
        ("store/CURRENT", write::CURRENT.to_vec()),
        ("store/MANIFEST-000001", write::manifest(&[first, second])),
        ("store/000005.ldb", table),
        ("store/000008.log", log()),
    ];
    let files = Files(
        files
            .map(|(path, content)| (path.to_owned(), content))
            .into(),
    );
    let options = OpenOptions {
        on_damage: OnDamage::Skip,
        ..OpenOptions::default()
    };
    let paths = StorePaths::of_leveldb("store".as_ref());
    let store = Store::open_read_only(files.mount(), paths, options).unwrap();
    assert_eq!(
        store.order(),
        StoreOrder::Chromium,
        "nothing was noticed so far"
    );
    store
}

/// To the end, over what cannot be read: how many entries were shown.
fn walk(mut cursor: IndexCursor) -> u32 {
    let mut shown = 0;
    for _ in 0..4 * ENTRIES {
        match cursor.next() {
            Ok(true) => shown += 1,
            Ok(false) => return shown,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corruption, "{error}"),
        }
    }
    unreachable!("a cursor never comes to an end");
}

#[test]
fn a_cursor_over_rows_that_a_search_passes_over_comes_to_an_end_in_every_direction() {
    for seed in 0..200 {
        println!("seed {seed}");
        let store = store(seed);
        for direction in [
            CursorDirection::Next,
            CursorDirection::NextUnique,
            CursorDirection::Prev,
            CursorDirection::PrevUnique,
        ] {
            let (database, object_store) = (DatabaseId::MIN, ObjectStoreId::MIN);
            let cursor = store.index_entries(database, object_store, IndexId::MIN, direction);
            assert!(walk(cursor) <= ENTRIES);
        }
    }
}
