//! What other engines got wrong, and what the format's corners ask for.

use crate::store::{Operation, StoreBuilder, get_file, open, put_file};
use crate::support::{forward, options as options_for};
use larder_leveldb::file_name::FileName;
use larder_leveldb::log::LogWriter;
use larder_leveldb::storage::{
    DiskFileSystem, Fault, FaultFileSystem, FileSystem, MemoryFileSystem,
};
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{DamageKind, Db, EntryKind, ErrorKind, OnDamage, Options};
use std::io;
use std::path::Path;
use std::sync::Arc;

fn skip() -> Options {
    options_for("bytewise", OnDamage::Skip)
}

fn put(key: &str, value: &str) -> Operation {
    (key.as_bytes().to_vec(), Some(value.as_bytes().to_vec()))
}

fn delete(key: &str) -> Operation {
    (key.as_bytes().to_vec(), None)
}

fn numbered(count: u32) -> Vec<Operation> {
    (0..count)
        .map(|i| put(&format!("key{i:06}"), &format!("value {i}")))
        .collect()
}

fn shown(db: &Db) -> Vec<(String, String)> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    forward(db)
        .unwrap()
        .into_iter()
        .map(|(key, value)| (text(key), text(value)))
        .collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect()
}

#[test]
fn another_comparator_is_refused_and_both_names_are_said() {
    let store = StoreBuilder::spread(&numbered(20));
    let error = store.open(options_for("idb", OnDamage::Skip)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    let text = error.to_string();
    assert!(
        text.contains("leveldb.BytewiseComparator") && text.contains("idb_cmp1"),
        "{text}"
    );
}

#[test]
fn a_directory_without_a_store_is_none() {
    let fs = MemoryFileSystem::new();
    assert_eq!(open(&fs, skip()).unwrap_err().kind(), ErrorKind::NotAStore);
    fs.create_dir(Path::new("store")).unwrap();
    put_file(&fs, Path::new("store/LOCK"), b"");
    put_file(&fs, Path::new("store/notes.txt"), b"no store");
    assert_eq!(open(&fs, skip()).unwrap_err().kind(), ErrorKind::NotAStore);
}

#[test]
fn log_records_at_or_below_the_manifests_last_sequence_are_replayed() {
    let mut store = StoreBuilder::new();
    store.add_tables(1, 100, &[put("a", "table")], 1);
    store.add_log(1, &[put("b", "old number, live log")], 1);
    store.finish();
    let db = store.open(Options::default()).unwrap();
    assert_eq!(db.latest_sequence(), 100);
    assert_eq!(
        shown(&db),
        pairs(&[("a", "table"), ("b", "old number, live log")])
    );
}

#[test]
fn both_of_two_live_logs_are_replayed() {
    let mut store = StoreBuilder::new();
    store.add_log(1, &[put("a", "1"), put("b", "1")], 1);
    store.add_log(3, &[put("b", "2"), delete("a")], 1);
    store.finish();
    assert_eq!(
        shown(&store.open(Options::default()).unwrap()),
        pairs(&[("b", "2")])
    );
}

/// Chromium 143, killed after it had written its first table and before the MANIFEST had an edit for it.
#[test]
fn a_first_table_that_the_manifest_does_not_list_yet_is_no_damage_while_its_log_is_there() {
    let mut store = StoreBuilder::new();
    let flushed = [put("a", "1"), put("b", "1")];
    store.add_log(1, &flushed, 1);
    store.add_log(3, &[put("b", "2")], 1);
    store.add_tables(0, 1, &flushed, 1);
    store.finish();
    let manifest = store.path(FileName::Manifest(1));
    let bytes = get_file(&store.fs, &manifest);
    let first_edit = 7 + usize::from(u16::from_le_bytes([bytes[4], bytes[5]]));
    assert!(first_edit < bytes.len());
    put_file(&store.fs, &manifest, &bytes[..first_edit]);
    let db = store.open(Options::default()).unwrap();
    assert_eq!(shown(&db), pairs(&[("a", "1"), ("b", "2")]));
    assert_eq!(db.damage(), []);

    // With the log gone, what is missing is the end of the MANIFEST.
    store.fs.remove(&store.path(FileName::Log(3))).unwrap();
    assert!(store.open(Options::default()).is_err());
    let db = store.open(skip()).unwrap();
    assert_eq!(db.damage().len(), 1, "{:?}", db.damage());
    assert_eq!(shown(&db), pairs(&[("a", "1"), ("b", "2")]));
}

#[test]
fn the_previous_log_of_the_manifest_is_replayed_and_older_ones_are_not() {
    let mut store = StoreBuilder::new();
    for (sequence, key) in [(1, "flushed long ago"), (2, "previous"), (3, "live")] {
        store.add_log(sequence, &[put(key, "")], 1);
    }
    (store.prev_log, store.first_log) = (4, Some(5));
    store.finish();
    assert_eq!(
        shown(&store.open(Options::default()).unwrap()),
        pairs(&[("live", ""), ("previous", "")])
    );
}

#[test]
fn blocks_on_both_sides_of_a_damaged_one_are_found_without_an_index() {
    let mut store = StoreBuilder::new();
    store.add_tables(2, 1, &numbered(900), 1);
    let newer: Vec<_> = numbered(900)
        .into_iter()
        .map(|(key, _)| (key, Some(b"new".to_vec())))
        .collect();
    store.add_tables(1, 901, &newer, 1);
    store.add_log(2000, &[put("z", "log")], 1);
    store.finish();
    let path = store.path(FileName::Table(4));
    let whole = get_file(&store.fs, &path);
    let mut bytes = whole.clone();
    bytes[whole.len() / 2] ^= 1;
    let footer = whole.len() - 48;
    bytes[footer..].fill(0);
    put_file(&store.fs, &path, &bytes);
    // The index is whole, and found; without that, too.
    let mut least = usize::MAX;
    for damage_index in [false, true] {
        if damage_index {
            bytes[footer - 20] ^= 1;
            put_file(&store.fs, &path, &bytes);
        }
        let db = store.open(skip()).unwrap();
        let rows = shown(&db);
        assert!(
            rows.iter().all(|(key, value)| value == "new" || key == "z"),
            "outdated rows"
        );
        assert!(rows.len() > 800 && rows.len() < 901, "{} rows", rows.len());
        assert!(rows.len() <= least, "an index tells more");
        least = rows.len();
        assert!(
            db.damage().iter().any(|damage| damage.withheld > 0),
            "{:#?}",
            db.damage()
        );
    }
}

#[test]
fn an_index_block_is_never_taken_for_rows() {
    let mut store = StoreBuilder::new();
    store.add_tables(1, 1, &[(vec![0xff; 3], Some(b"value".to_vec()))], 1);
    store.add_log(2, &[put("z", "log")], 1);
    store.finish();
    let path = store.path(FileName::OldTable(3));
    let whole = get_file(&store.fs, &path);
    // Only the index of one entry is left, whose key is the row's own: it cannot be shortened.
    let mut bytes = whole.clone();
    bytes[2] ^= 1;
    let footer = whole.len() - 48;
    bytes[footer..].fill(0);
    put_file(&store.fs, &path, &bytes);
    let db = store.open(skip()).unwrap();
    assert_eq!(shown(&db), pairs(&[("z", "log")]));
    assert!(!db.damage().is_empty());
}

#[test]
fn a_live_key_beside_a_tombstone_and_the_last_key_of_a_table_are_got() {
    let mut store = StoreBuilder::new();
    store.add_tables(2, 1, &numbered(500), 3);
    let deletions: Vec<_> = (0..500)
        .step_by(2)
        .map(|i| delete(&format!("key{i:06}")))
        .collect();
    store.add_tables(1, 501, &deletions, 2);
    store.add_log(1000, &[put("zz", "last")], 1);
    store.finish();
    let snapshot = store.open(Options::default()).unwrap().snapshot();
    for i in 0..500 {
        let expected = (i % 2 == 1).then(|| format!("value {i}").into_bytes());
        assert_eq!(
            snapshot.get(format!("key{i:06}").as_bytes()).unwrap(),
            expected,
            "{i}"
        );
    }
}

#[test]
fn values_above_twenty_mebibytes_are_read_from_log_and_table() {
    let value = "x".repeat(21 << 20);
    let mut store = StoreBuilder::new();
    store.add_tables(1, 1, &[put("table", &value), put("u", "small")], 1);
    store.add_log(3, &[put("log", &value), put("m", "small")], 2);
    store.finish();
    for log_value_bytes in [0, 64 << 20] {
        let db = store
            .open(Options {
                log_value_bytes,
                ..Options::default()
            })
            .unwrap();
        for key in ["table", "log"] {
            assert!(
                db.snapshot().get(key.as_bytes()).unwrap().unwrap() == value.as_bytes(),
                "{key}"
            );
        }
        assert_eq!(shown(&db).len(), 4);
    }
}

#[test]
fn entries_show_every_version_and_its_file() {
    let mut store = StoreBuilder::new();
    store.add_tables(1, 1, &[put("a", "1"), put("b", "2")], 1);
    store.add_log(3, &[delete("a"), put("b", "4")], 1);
    store.finish();
    let db = store.open(Options::default()).unwrap();
    let mut entries = db.snapshot().entries();
    let mut seen = Vec::new();
    while entries.advance().unwrap() {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (key, value) = (text(entries.key()), text(entries.value().unwrap()));
        seen.push((
            key,
            entries.sequence(),
            entries.kind(),
            value,
            entries.file_name().to_owned(),
        ));
    }
    let entry = |key: &str, sequence, kind, value: &str, file: &str| {
        (
            key.to_owned(),
            sequence,
            kind,
            value.to_owned(),
            file.to_owned(),
        )
    };
    let expected = [
        entry("a", 3, EntryKind::Deletion, "", "000004.log"),
        entry("a", 1, EntryKind::Value, "1", "000003.sst"),
        entry("b", 4, EntryKind::Value, "4", "000004.log"),
        entry("b", 2, EntryKind::Value, "2", "000003.sst"),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn a_lock_that_is_held_is_reported_and_not_touched() {
    let store = StoreBuilder::spread(&numbered(20));
    assert_eq!(store.open(skip()).unwrap().lock_holder(), None);
    assert!(
        store.fs.metadata(&store.path(FileName::Lock)).is_err(),
        "opening made LOCK"
    );
    let lock = store.fs.lock(&store.path(FileName::Lock)).unwrap();
    assert!(store.open(skip()).unwrap().lock_holder().is_some());
    drop(lock);
    assert_eq!(store.open(skip()).unwrap().lock_holder(), None);
}

#[test]
fn a_damaged_filter_is_named_and_hides_nothing() {
    let store = StoreBuilder::spread(&numbered(600));
    let path = store.path(FileName::OldTable(3));
    let mut bytes = get_file(&store.fs, &path);
    // The metaindex, in front of the index, has the filter's handle behind the filter's name.
    let name = b"filter.leveldb.BuiltinBloomFilter2";
    let at = bytes
        .windows(name.len())
        .position(|window| window == name)
        .unwrap();
    bytes[at - 30] ^= 4;
    put_file(&store.fs, &path, &bytes);
    let db = store.open(skip()).unwrap();
    assert_eq!(shown(&db).len(), 600);
    let damage = db.damage();
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert_eq!(
        (damage[0].kind, damage[0].file.to_str()),
        (DamageKind::Filter, Some("000003.sst"))
    );
    for (key, value) in numbered(600) {
        assert_eq!(db.snapshot().get(&key).unwrap(), value);
    }
}

#[test]
fn a_small_damaged_table_that_spans_all_keys_takes_few_rows_along() {
    let mut store = StoreBuilder::new();
    store.add_tables(2, 1, &numbered(2000), 3);
    store.add_tables(
        1,
        2001,
        &[
            put("key000000", "new"),
            delete("key000007"),
            put("key001999", "new"),
        ],
        1,
    );
    store.add_log(3000, &[put("z", "log")], 1);
    store.finish();
    let path = store.path(FileName::Table(6));
    let mut bytes = get_file(&store.fs, &path);
    bytes[3] ^= 1;
    put_file(&store.fs, &path, &bytes);
    let db = store.open(skip()).unwrap();
    let rows = shown(&db);
    assert!((1950..=1998).contains(&rows.len()), "{} rows", rows.len());
    for key in ["key000000", "key000007", "key001999"] {
        assert!(
            rows.iter().all(|(shown, _)| shown != key),
            "{key} is outdated"
        );
        assert_eq!(
            db.snapshot().get(key.as_bytes()).unwrap_err().kind(),
            ErrorKind::Corruption
        );
    }
    let damage = db.damage();
    assert_eq!(damage.len(), 1);
    assert_eq!(damage[0].withheld as usize, 2001 - rows.len());
    assert!(
        damage[0].to_string().contains("older rows withheld"),
        "{}",
        damage[0]
    );
}

#[test]
fn every_failing_operation_is_an_error_or_listed_and_nothing_wrong_is_shown() {
    let operations = numbered(600);
    let store = StoreBuilder::spread(&operations);
    let all = |fs: &Arc<FaultFileSystem>, options: Options| {
        let db = Db::open_read_only(fs.clone(), Path::new("store"), options)?;
        let rows = forward(&db)?;
        Ok::<_, larder_leveldb::Error>((rows, db.damage()))
    };
    let total = {
        let fs = Arc::new(FaultFileSystem::new(Arc::new(store.fs.clone())));
        let (rows, _) = all(&fs, Options::default()).unwrap();
        assert_eq!(rows.len(), 600);
        fs.operations()
    };
    assert!(total > 40, "{total}");
    for operation in 1..=total {
        for on_damage in [OnDamage::Fail, OnDamage::Skip] {
            let fs = Arc::new(FaultFileSystem::new(Arc::new(store.fs.clone())));
            fs.fail_at(Fault {
                operation,
                kind: io::ErrorKind::Other,
                every_later_too: false,
            });
            let options = options_for("bytewise", on_damage);
            // Only the query for the holder of the lock may stay without an answer.
            if let Ok((rows, damage)) = all(&fs, options) {
                let expected = operations
                    .iter()
                    .map(|(key, value)| (key.clone(), value.clone().unwrap()));
                let is_right = rows
                    .iter()
                    .all(|row| expected.clone().any(|other| other == *row));
                assert!(is_right, "operation {operation}");
                assert!(
                    rows.len() == 600 || !damage.is_empty(),
                    "operation {operation}: {}",
                    rows.len()
                );
            }
        }
    }
}

/// Ten rows, zeros to the end of the block, and ten rows more, the first with this sequence number.
fn with_zeros(sequence: u64) -> StoreBuilder {
    let rows = |from: u32| -> Vec<Operation> {
        (from..from + 10)
            .map(|i| put(&format!("key{i:03}"), &"v".repeat(1000)))
            .collect()
    };
    let mut store = StoreBuilder::new();
    store.add_log(1, &rows(0), 1);
    let path = store.path(FileName::Log(3));
    let mut bytes = get_file(&store.fs, &path);
    bytes.resize(32 << 10, 0);
    let mut rest = StoreBuilder::new();
    rest.add_log(sequence, &rows(10), 1);
    bytes.extend(get_file(&rest.fs, &path));
    put_file(&store.fs, &path, &bytes);
    store.finish();
    store
}

#[test]
fn zeros_in_a_log_end_it_when_sequence_numbers_are_missing_after_them() {
    let store = with_zeros(15);
    let db = store.open(Options::default()).unwrap();
    assert_eq!(shown(&db).len(), 10);
    assert_eq!(db.torn_tails().len(), 1);
    // With `OnDamage::Skip`, the rest of a damaged store is read: what comes after the zeros is shown, too.
    let db = store.open(skip()).unwrap();
    assert_eq!(shown(&db).len(), 20);
    let damage = db.damage();
    assert_eq!(damage.len(), 1, "{damage:#?}");
    assert_eq!(
        (damage[0].kind, damage[0].lost_sequences.clone()),
        (DamageKind::SequenceGap, Some(11..=14))
    );
    assert!(damage[0].outdated_possible);
}

#[test]
fn zeros_in_a_log_are_damage_when_a_sync_is_noted_after_them() {
    let store = with_zeros(15);
    let path = store.path(FileName::Log(3));
    let len = get_file(&store.fs, &path).len() as u64;
    let mut log = LogWriter::new(store.fs.append(&path).unwrap(), len);
    log.add(BatchWriter::new().finish(25)).unwrap();
    let error = store.open(Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert_eq!(error.offset(), Some(10_290), "{error}");
}

#[test]
fn zeros_in_a_log_are_space_laid_out_in_advance_when_sequence_numbers_go_on() {
    let store = with_zeros(11);
    assert_eq!(shown(&store.open(Options::default()).unwrap()).len(), 20);
    assert_eq!(store.open(skip()).unwrap().damage(), []);
}

#[test]
fn a_log_stored_in_a_value_is_not_taken_for_the_log() {
    let mut inner = StoreBuilder::new();
    inner.add_log(1, &[put("a", "inner"), put("b", "inner")], 1);
    let inner = get_file(&inner.fs, &inner.path(FileName::Log(3)));
    let mut store = StoreBuilder::new();
    store.add_tables(1, 1, &[put("a", "right")], 1);
    let backup = (b"backup".to_vec(), Some(inner));
    store.add_log(1000, &[put("c", "right"), backup, put("d", "right")], 1);
    store.finish();
    let path = store.path(FileName::Log(4));
    let mut bytes = get_file(&store.fs, &path);
    // The second record's header: checksum, length and type.
    let second = 7 + 12 + 1 + 2 + 6;
    for byte in &mut bytes[second..second + 7] {
        *byte ^= 0x55;
    }
    put_file(&store.fs, &path, &bytes);
    let db = store.open(skip()).unwrap();
    assert_eq!(
        shown(&db),
        pairs(&[("a", "right"), ("c", "right"), ("d", "right")]),
        "{:#?}",
        db.damage()
    );
    let lost: Vec<_> = db
        .damage()
        .into_iter()
        .filter_map(|damage| damage.lost_sequences)
        .collect();
    assert!(lost.contains(&(1001..=1001)), "{lost:?}");
}

#[test]
fn a_store_that_rusty_leveldb_wrote_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let options = rusty_leveldb::Options {
        write_buffer_size: 64 << 10,
        ..rusty_leveldb::Options::default()
    };
    let mut db = rusty_leveldb::DB::open(dir.path(), options).unwrap();
    let mut model = std::collections::BTreeMap::new();
    for i in 0..20_000u32 {
        let key = format!("key{:05}", i.wrapping_mul(7919) % 5000).into_bytes();
        if i % 5 == 0 {
            db.delete(&key).unwrap();
            model.remove(&key);
        } else {
            let value = format!("value {i}").into_bytes();
            db.put(&key, &value).unwrap();
            model.insert(key, value);
        }
    }
    db.close().unwrap();
    drop(db);
    let fs = Arc::new(DiskFileSystem::new());
    let db = Db::open_read_only(fs, dir.path(), Options::default()).unwrap();
    assert!(db.files().len() > 1);
    assert_eq!(
        forward(&db).unwrap(),
        model.clone().into_iter().collect::<Vec<_>>()
    );
    for (key, value) in &model {
        assert_eq!(db.snapshot().get(key).unwrap().as_ref(), Some(value));
    }
}
