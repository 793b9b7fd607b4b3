//! A block whose checksum is right, with a restart point within a value, where other entries seem to be. A search begins there, a walk
//! never comes there. With `OnDamage::Skip`, both find the same rows, and the damage is reported.

use crate::store::{StoreBuilder, get_file, open, put_file};
use larder_leveldb::block::{BlockBuilder, RESTART_INTERVAL};
use larder_leveldb::compression::Compression;
use larder_leveldb::crc;
use larder_leveldb::file_name::FileName;
use larder_leveldb::internal_key::{self, EntryKind};
use larder_leveldb::{DamageKind, OnDamage, Options};

const ROWS: usize = 60;
/// In whose value the other entries lie, and which restart point leads there.
const LIAR: usize = 5;
const RESTART: usize = 1;

fn key(n: usize) -> Vec<u8> {
    format!("key {n:03}").into_bytes()
}

fn internal(key: &[u8]) -> Vec<u8> {
    let mut internal = Vec::new();
    internal_key::encode(&mut internal, key, 7, EntryKind::Value);
    internal
}

/// What the false restart point leads to: another value for one key, and a row that is not there.
fn false_entries() -> Vec<u8> {
    let mut bytes = Vec::new();
    for name in ["key 019 lie", "key 020", "key 020 lie"] {
        let key = internal(name.as_bytes());
        bytes.extend([0, key.len() as u8, 3]);
        bytes.extend(key);
        bytes.extend(b"lie");
    }
    bytes
}

fn value(n: usize) -> Vec<u8> {
    match n {
        LIAR => false_entries(),
        _ => format!("value {n}").into_bytes(),
    }
}

/// A table of one block.
fn store() -> StoreBuilder {
    let values: Vec<_> = (0..ROWS).map(value).collect();
    let entries: Vec<(Vec<u8>, &[u8])> = (0..ROWS)
        .map(|n| (internal(&key(n)), &*values[n]))
        .collect();
    let mut store = StoreBuilder::new();
    store.tables.compression = Compression::None;
    store.tables.block_len = 1 << 16;
    store.add_log(8, &[], 1);
    store.add_table(0, &entries);
    store.last_sequence = 7;
    store.finish();
    let mut block = BlockBuilder::new(RESTART_INTERVAL);
    for (key, value) in &entries {
        block.add(key, value);
    }
    let block = block.finish();
    let path = store.path(FileName::Table(4));
    let mut file = get_file(&store.fs, &path);
    assert!(file.starts_with(block));
    let place = block
        .windows(values[LIAR].len())
        .position(|part| part == values[LIAR])
        .unwrap();
    let restarts = ROWS.div_ceil(RESTART_INTERVAL);
    let at = block.len() - 4 - 4 * (restarts - RESTART);
    let len = block.len();
    file[at..at + 4].copy_from_slice(&(place as u32).to_le_bytes());
    let sum = crc::mask(crc::value(&file[..=len]));
    file[len + 1..len + 5].copy_from_slice(&sum.to_le_bytes());
    put_file(&store.fs, &path, &file);
    store
}

#[test]
fn searches_find_what_walks_find_and_the_damage_is_reported() {
    let store = store();
    let options = || Options {
        on_damage: OnDamage::Skip,
        ..Options::default()
    };
    let expected: Vec<_> = (0..ROWS).map(|n| (key(n), value(n))).collect();
    // The store is opened anew for each kind of read. Otherwise the first kind could keep the later ones from meeting the damage.
    let db = open(&store.fs, options()).unwrap();
    for (key, value) in &expected {
        assert_eq!(db.get(key).unwrap().as_ref(), Some(value));
    }
    assert_eq!(db.get(b"key 020 lie").unwrap(), None);
    let told = db.damage();
    assert_eq!(told.len(), 1, "{told:?}");
    let what = told[0].to_string();
    assert_eq!(told[0].kind, DamageKind::Structure);
    assert!(
        what.contains("restart points") && !told[0].outdated_possible,
        "{what}"
    );
    let db = open(&store.fs, options()).unwrap();
    let mut iter = db.snapshot().iter();
    for (n, (key, value)) in expected.iter().enumerate() {
        iter.seek(key).unwrap();
        for (key, value) in &expected[n..] {
            assert_eq!((iter.key(), iter.value().unwrap()), (&**key, &**value));
            iter.next().unwrap();
        }
        assert!(!iter.valid());
        iter.seek_for_prev(key).unwrap();
        assert_eq!((iter.key(), iter.value().unwrap()), (&**key, &**value));
        iter.prev().unwrap();
        assert_eq!(iter.valid(), n > 0);
    }
    assert_eq!(db.damage().len(), 1);
    let db = open(&store.fs, options()).unwrap();
    let mut iter = db.snapshot().iter();
    iter.seek_to_last().unwrap();
    for (key, value) in expected.iter().rev() {
        assert_eq!((iter.key(), iter.value().unwrap()), (&**key, &**value));
        iter.prev().unwrap();
    }
    assert!(!iter.valid());
}
