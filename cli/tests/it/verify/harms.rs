//! One thing is harmed at a time, and the report names it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{IdbComparator, StorePaths};
use larder_codec::external_object::ExternalObject;
use larder_codec::row_key::{
    DatabaseField, DatabaseKey, GlobalKey, IndexDataKey, IndexField, ObjectStoreField,
    ObjectStoreMetadataKey, RecordKey, RecordTable, RowKey,
};
use larder_codec::versioned::{DataRow, ExistsRow, IndexRow};
use larder_codec::{BlobNumber, DatabaseId, RecordVersion, RowValue};
use larder_fixtures::OpenFixture;
use larder_leveldb::internal_key::{EntryKind, SEQUENCE_MAX, encode};
use larder_leveldb::log::LogWriter;
use larder_leveldb::storage::{DiskFileSystem, FileSystem};
use larder_leveldb::version_edit::{NewFile, VersionEdit};
use larder_leveldb::{Background, Db, Durability, Options};

use super::{findings, verify};

type Row = (Vec<u8>, Vec<u8>);

/// A copy of a store whose rows can be changed, without anything that keeps them right.
struct Harmed {
    copy: OpenFixture,
    rows: Vec<Row>,
}

impl Harmed {
    fn new(name: &str) -> Self {
        let copy = larder_fixtures::get(name).copy();
        let db = open(&copy.leveldb());
        let rows = db.snapshot().range(..).map(Result::unwrap).collect();
        db.close().unwrap();
        Self { copy, rows }
    }

    /// The first row that a question is answered for.
    fn find<T>(&self, wanted: impl Fn(&RowKey<'_>, &[u8]) -> Option<T>) -> (Row, T) {
        let found = self.rows.iter().find_map(|(key, value)| {
            let row = RowKey::decode_exact(key).ok()?;
            wanted(&row, value).map(|found| ((key.clone(), value.clone()), found))
        });
        found.unwrap()
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        let db = open(&self.copy.leveldb());
        db.put(key, value, Durability::Strict).unwrap();
        db.close().unwrap();
    }

    fn delete(&self, key: &[u8]) {
        let db = open(&self.copy.leveldb());
        db.delete(key, Durability::Strict).unwrap();
        db.close().unwrap();
    }

    /// What a full check says is wrong.
    fn faults(&self, full: bool) -> Vec<String> {
        let (report, status) = verify(&self.copy.leveldb(), full);
        let faults = findings(&report, "fault");
        assert_eq!(status, Some(i32::from(!faults.is_empty())));
        faults
    }

    /// The report has a fault of this check with these words.
    fn is_named(&self, full: bool, check: &str, words: &str) {
        let faults = self.faults(full);
        let named =
            |fault: &String| fault.starts_with(&format!("{check}: ")) && fault.contains(words);
        assert!(faults.iter().any(named), "{check}, {words}: {faults:#?}");
    }
}

fn open(leveldb: &Path) -> Db {
    let mut options = Options::new(Arc::new(IdbComparator));
    options.key_facts = Some(IdbComparator::KEY_FACTS);
    // No compaction makes anew what a test has put somewhere.
    options.background = Background::Caller;
    Db::open(Arc::new(DiskFileSystem::new()), leveldb, options).unwrap()
}

fn bytes(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut out);
    out
}

fn of_table(row: &RowKey<'_>, table: RecordTable) -> Option<()> {
    matches!(row, RowKey::Record(row) if row.table == table).then_some(())
}

/// A live index row of the index with this name's id, and the data row of its record.
fn index_row(harmed: &Harmed) -> (Row, Row) {
    let found = harmed.rows.iter().find_map(|(key, value)| {
        let Ok(RowKey::IndexData(row)) = RowKey::decode_exact(key) else {
            return None;
        };
        let entry = IndexRow::decode_exact(value).unwrap();
        let data = bytes(|out| {
            RecordKey {
                database_id: row.database_id,
                object_store_id: row.object_store_id,
                table: RecordTable::Data,
                key: entry.primary_key,
            }
            .encode(out);
        });
        let (_, record) = harmed.rows.iter().find(|(key, _)| *key == data)?;
        let is_live = DataRow::decode_exact(record).unwrap().version == entry.version;
        is_live.then(|| ((key.clone(), value.clone()), (data, record.clone())))
    });
    found.unwrap()
}

/// An external object row with a blob that has a file: it, with the blob's database and number.
fn blob_row(harmed: &Harmed) -> (Row, (DatabaseId, BlobNumber)) {
    harmed.find(|row, value| {
        let RowKey::Record(key) = row else {
            return None;
        };
        let Ok(RowValue::ExternalObjects(objects)) = RowValue::decode_exact(row, value, 5) else {
            return None;
        };
        objects.iter().find_map(|object| match object {
            ExternalObject::Blob(blob) if blob.size_bytes > 1 => {
                Some((key.database_id, blob.number))
            }
            _ => None,
        })
    })
}

const STORE: &str = "c156-lite";

#[test]
fn rows_of_a_record_that_do_not_agree() {
    let harmed = Harmed::new(STORE);
    let ((exists, _), ()) = harmed.find(|row, _| of_table(row, RecordTable::Exists));
    harmed.delete(&exists);
    harmed.is_named(false, "record", "has no exists row");
    let version = RecordVersion::new(1).unwrap();
    harmed.put(&exists, &bytes(|out| ExistsRow { version }.encode(out)));
    harmed.is_named(false, "record", "exists row has another version");

    let harmed = Harmed::new(STORE);
    let ((data, _), ()) = harmed.find(|row, _| of_table(row, RecordTable::Data));
    harmed.delete(&data);
    harmed.is_named(false, "record", "has an exists row and no value");
}

#[test]
fn index_rows_that_do_not_agree_with_records() {
    let harmed = Harmed::new(STORE);
    let ((row, value), _) = index_row(&harmed);
    harmed.delete(&row);
    harmed.is_named(true, "index", "is missing from the index");
    assert_eq!(harmed.faults(false), Vec::<String>::new());
    harmed.put(&row, &value);
    assert_eq!(harmed.faults(true), Vec::<String>::new());

    // A key that the record does not have.
    let RowKey::IndexData(key) = RowKey::decode_exact(&row).unwrap() else {
        panic!()
    };
    let other = bytes(|out| larder_codec::Key::from("no such key").encode(out));
    let needless = bytes(|out| {
        IndexDataKey::new(
            key.database_id,
            key.object_store_id,
            key.index_id,
            larder_codec::RawKey::decode_exact(&other).unwrap(),
            key.primary_key().unwrap(),
        )
        .encode(out);
    });
    harmed.put(&needless, &value);
    harmed.is_named(
        true,
        "index",
        "does not have this key, and the index says so",
    );
    harmed.delete(&needless);

    let entry = IndexRow::decode_exact(&value).unwrap();
    let changed = |version: i64, primary_key: &[u8]| {
        let version = RecordVersion::new(version).unwrap();
        let primary_key = larder_codec::RawKey::decode_exact(primary_key).unwrap();
        bytes(|out| {
            IndexRow {
                version,
                primary_key,
            }
            .encode(out);
        })
    };
    harmed.put(&row, &changed(entry.version.get(), &other));
    harmed.is_named(false, "index", "different primary keys");
    harmed.put(&row, &changed(1 << 40, entry.primary_key.as_bytes()));
    harmed.is_named(
        false,
        "index",
        "above the last that the object store has given",
    );
}

#[test]
fn a_unique_index_that_has_a_key_twice() {
    let harmed = Harmed::new(STORE);
    let unique = harmed.rows.iter().filter_map(|(key, value)| {
        let RowKey::IndexMetadata(row) = RowKey::decode_exact(key).ok()? else {
            return None;
        };
        let is_unique = row.field == IndexField::Unique && *value == [1];
        is_unique.then_some((row.database_id, row.object_store_id, row.index_id))
    });
    let indexes: Vec<_> = unique.collect();
    // Two live entries of one index, with different keys.
    let live = harmed.rows.iter().filter_map(|(key, value)| {
        let RowKey::IndexData(row) = RowKey::decode_exact(key).ok()? else {
            return None;
        };
        let entry = IndexRow::decode_exact(value).ok()?;
        let record = bytes(|out| {
            RecordKey {
                database_id: row.database_id,
                object_store_id: row.object_store_id,
                table: RecordTable::Data,
                key: entry.primary_key,
            }
            .encode(out);
        });
        let (_, data) = harmed.rows.iter().find(|(key, _)| *key == record)?;
        let is_live = DataRow::decode_exact(data).ok()?.version == entry.version;
        let id = (row.database_id, row.object_store_id, row.index_id);
        (is_live && indexes.contains(&id)).then_some((id, row, entry, value))
    });
    let live: Vec<_> = live.collect();
    let pair = live.windows(2).find(|pair| {
        let [(a, _, one, _), (b, _, other, _)] = pair else {
            return false;
        };
        a == b && one.primary_key.as_bytes() != other.primary_key.as_bytes()
    });
    let [(id, one, ..), (_, _, other, value)] = pair.unwrap() else {
        panic!("two entries");
    };
    let twice = IndexDataKey::new(id.0, id.1, id.2, one.index_key, other.primary_key);
    harmed.put(&bytes(|out| twice.encode(out)), value);
    harmed.is_named(
        true,
        "index",
        "the index is unique, and two records have this key",
    );
}

#[test]
fn values_that_cannot_be_read_or_have_another_key() {
    let harmed = Harmed::new(STORE);
    let ((row, value), ()) = harmed.find(|row, _| of_table(row, RecordTable::Data));
    let version = DataRow::decode_exact(&value).unwrap().version;
    let broken = bytes(|out| {
        DataRow {
            version,
            value: b"\xff\x15\xff\x0f?",
        }
        .encode(out);
    });
    harmed.put(&row, &broken);
    harmed.is_named(true, "value", "the value cannot be decoded");
    harmed.put(&row, &[]);
    harmed.is_named(false, "row", "the record: ");

    // Under another key than the one that is in it: the records of two keys change places.
    let harmed = Harmed::new(STORE);
    let in_line = |row: &RowKey<'_>, wanted: &mut Option<(i64, i64)>| {
        let RowKey::ObjectStoreMetadata(key) = row else {
            return;
        };
        *wanted = Some((key.database_id.get(), key.object_store_id.get()));
    };
    let mut swapped = false;
    for (key, value) in &harmed.rows {
        let Ok(row) = RowKey::decode_exact(key) else {
            continue;
        };
        let RowKey::ObjectStoreMetadata(own) = &row else {
            continue;
        };
        if own.field != ObjectStoreField::KeyPath {
            continue;
        }
        let Ok(RowValue::KeyPath(larder_codec::KeyPath::String(_))) =
            RowValue::decode_exact(&row, value, 5)
        else {
            continue;
        };
        let generates = bytes(|out| {
            ObjectStoreMetadataKey {
                field: ObjectStoreField::AutoIncrement,
                ..*own
            }
            .encode(out);
        });
        if harmed
            .rows
            .iter()
            .any(|(key, value)| *key == generates && *value == [1])
        {
            continue;
        }
        let mut id = None;
        in_line(&row, &mut id);
        let records: Vec<&Row> = harmed
            .rows
            .iter()
            .filter(|(key, _)| match RowKey::decode_exact(key) {
                Ok(RowKey::Record(row)) => {
                    row.table == RecordTable::Data
                        && id == Some((row.database_id.get(), row.object_store_id.get()))
                }
                _ => false,
            })
            .collect();
        if let [one, two, ..] = &records[..] {
            harmed.put(&one.0, &two.1);
            swapped = true;
            break;
        }
    }
    assert!(swapped);
    harmed.is_named(true, "key-path", "another key at the key path");
}

#[test]
fn blobs_that_are_gone_cut_or_condemned() {
    let harmed = Harmed::new(STORE);
    let ((row, value), blob) = blob_row(&harmed);
    let paths = StorePaths::of_leveldb(&harmed.copy.leveldb());
    let file = paths.blob_file(blob.0, blob.1);
    let content = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    harmed.is_named(false, "blob", file.file_name().unwrap().to_str().unwrap());
    fs::write(&file, &content[1..]).unwrap();
    harmed.is_named(false, "blob", file.file_name().unwrap().to_str().unwrap());
    fs::write(&file, &content).unwrap();
    assert_eq!(harmed.faults(true), Vec::<String>::new());

    // Nothing says any more what the value refers to.
    harmed.delete(&row);
    harmed.is_named(true, "value", "");
    harmed.put(&row, &value);

    let journal = bytes(|out| GlobalKey::RecoveryBlobJournal.encode(out));
    harmed.put(&journal, &[u8::try_from(blob.0.get()).unwrap(), 1]);
    harmed.is_named(false, "blob", "a journal says that it is to be removed");
    harmed.delete(&journal);

    let RowKey::Record(key) = RowKey::decode_exact(&row).unwrap() else {
        panic!()
    };
    harmed.delete(&bytes(|out| {
        RecordKey {
            table: RecordTable::Data,
            ..key
        }
        .encode(out)
    }));
    harmed.is_named(
        false,
        "record",
        "external objects of a record that is not there",
    );
}

#[test]
fn metadata_that_is_missing_or_behind() {
    let lowered = |harmed: &Harmed, key: &[u8], value: &[u8], check: &str, words: &str| {
        let before = harmed.rows.iter().find(|(row, _)| row == key);
        harmed.put(key, value);
        harmed.is_named(false, check, words);
        match before {
            Some((_, value)) => harmed.put(key, value),
            None => harmed.delete(key),
        }
    };
    let harmed = Harmed::new(STORE);
    let global = |key: GlobalKey| bytes(|out| key.encode(out));
    let max = global(GlobalKey::MaxDatabaseId);
    lowered(
        &harmed,
        &max,
        &[1],
        "metadata",
        "above the greatest given, 1",
    );
    lowered(
        &harmed,
        &global(GlobalKey::SchemaVersion),
        &[],
        "undo-log",
        "schema version",
    );
    let field = |wanted: DatabaseField| {
        harmed.find(|row, _| match row {
            RowKey::Database(DatabaseKey { field, .. }) if *field == wanted => Some(()),
            _ => None,
        })
    };
    let ((key, _), ()) = field(DatabaseField::MaxObjectStoreId);
    lowered(
        &harmed,
        &key,
        &[0],
        "metadata",
        "above the greatest id given, 0",
    );
    let (_, (database_id, _)) = blob_row(&harmed);
    let field = DatabaseField::BlobNumberGenerator;
    let key = bytes(|out| DatabaseKey { database_id, field }.encode(out));
    lowered(
        &harmed,
        &key,
        &[2],
        "metadata",
        "the next new blob would get number 2",
    );

    let field = |wanted: ObjectStoreField, least: i64| {
        harmed.find(|row, value| match row {
            RowKey::ObjectStoreMetadata(key) if key.field == wanted => {
                match RowValue::decode_exact(row, value, 5) {
                    Ok(RowValue::Int(number)) if number > least => Some(()),
                    _ => None,
                }
            }
            _ => None,
        })
    };
    let ((key, _), ()) = field(ObjectStoreField::LastVersion, 2);
    lowered(
        &harmed,
        &key,
        &[1],
        "metadata",
        "the last that was given is 1",
    );
    let ((key, _), ()) = field(ObjectStoreField::MaxIndexId, 30);
    lowered(
        &harmed,
        &key,
        &[30],
        "metadata",
        "above the greatest id given, 30",
    );
    let ((key, _), ()) = field(ObjectStoreField::KeyGenerator, 2);
    lowered(
        &harmed,
        &key,
        &[1],
        "metadata",
        "the key generator would give 1",
    );

    let ((name, _), ()) = harmed.find(|row, _| match row {
        RowKey::ObjectStoreMetadata(key) if key.field == ObjectStoreField::Name => Some(()),
        _ => None,
    });
    harmed.delete(&name);
    harmed.is_named(false, "metadata", "the object store has no name row");
    let harmed = Harmed::new(STORE);
    let ((name, _), ()) = harmed.find(|row, _| match row {
        RowKey::Global(GlobalKey::DatabaseName { .. }) => Some(()),
        _ => None,
    });
    harmed.delete(&name);
    harmed.is_named(
        false,
        "metadata",
        "rows of a database that no name leads to",
    );
    harmed.delete(&global(GlobalKey::DataVersion));
    harmed.is_named(false, "version", "no row with the versions of the values");
}

#[test]
fn rows_that_are_none_of_indexeddb() {
    let harmed = Harmed::new(STORE);
    harmed.put(&[0, 9, 1, 1, 0x77], b"?");
    harmed.is_named(false, "row", "the key: ");
    let harmed = Harmed::new(STORE);
    harmed.put(&[0, 9, 1, 7, 3], b"?");
    harmed.is_named(false, "row", "");
    let harmed = Harmed::new(STORE);
    // The metadata of a transaction that is no message.
    harmed.put(&[0, 0, 0, 0, 50, 1, 3], &[0xff]);
    harmed.is_named(false, "undo-log", "");
}

#[test]
fn a_byte_of_a_file() {
    let harmed = Harmed::new("c156");
    let tables = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|kind| kind == "ldb");
    let entries = fs::read_dir(harmed.copy.leveldb())
        .unwrap()
        .map(Result::unwrap);
    let table = entries
        .filter(tables)
        .map(|entry| entry.path())
        .next()
        .unwrap();
    let mut content = fs::read(&table).unwrap();
    content[100] ^= 1;
    fs::write(&table, content).unwrap();
    harmed.is_named(false, "file", table.file_name().unwrap().to_str().unwrap());
}

/// Writes a MANIFEST anew in which something is changed.
fn with_manifest(harmed: &Harmed, change: impl FnOnce(&mut Vec<NewFile>)) {
    let dir = harmed.copy.leveldb();
    // Opened for writing, it would compact what a test has put somewhere.
    let options = Options::new(Arc::new(IdbComparator));
    let db = Db::open_read_only(Arc::new(DiskFileSystem::new()), &dir, options).unwrap();
    let (sequence, files) = (db.latest_sequence(), db.files());
    db.close().unwrap();
    let internal = |key: &Option<Vec<u8>>, sequence| {
        let mut out = Vec::new();
        encode(&mut out, key.as_ref().unwrap(), sequence, EntryKind::Value);
        out
    };
    let files = files.iter().map(|file| NewFile {
        level: file.level,
        number: file.number,
        len_bytes: file.len_bytes.unwrap(),
        smallest: internal(&file.smallest, SEQUENCE_MAX),
        largest: internal(&file.largest, 0),
    });
    let mut new_files: Vec<NewFile> = files.collect();
    change(&mut new_files);
    let edit = VersionEdit {
        comparator: Some(larder_codec::COMPARATOR_NAME.into()),
        log_number: Some(0),
        prev_log_number: Some(0),
        next_file_number: Some(100_000),
        last_sequence: Some(sequence),
        new_files,
        ..VersionEdit::default()
    };
    let mut record = Vec::new();
    edit.encode(&mut record);
    let name = "MANIFEST-099999";
    let fs = DiskFileSystem::new();
    let mut manifest = LogWriter::new(fs.create(&dir.join(name)).unwrap(), 0);
    manifest.add(&record).unwrap();
    manifest.file().flush().unwrap();
    fs::write(dir.join("CURRENT"), format!("{name}\n")).unwrap();
}

#[test]
fn a_table_whose_place_is_not_its_place() {
    let harmed = Harmed::new("c156");
    with_manifest(&harmed, |_| {});
    assert_eq!(harmed.faults(false), Vec::<String>::new());
    // As if it ended with its first key.
    with_manifest(&harmed, |files| {
        let (smallest, number) = (files[0].smallest.clone(), files[0].number);
        files.retain(|file| file.number == number);
        files[0].largest = smallest;
    });
    harmed.is_named(false, "level", "keys outside of the range");
}

/// A store with a table of its first and last row, which are in another table as well.
fn with_two_tables() -> Harmed {
    let harmed = Harmed::new("c156");
    let db = open(&harmed.copy.leveldb());
    for (key, value) in harmed.rows.first().into_iter().chain(harmed.rows.last()) {
        db.put(key, value, Durability::Strict).unwrap();
    }
    db.flush().unwrap();
    let newest = db.files().into_iter().max_by_key(|file| file.number);
    let newest = newest.unwrap();
    let ends = [newest.smallest, newest.largest].map(Option::unwrap);
    let rows = [harmed.rows.first(), harmed.rows.last()].map(|row| row.unwrap().0.clone());
    assert_eq!(ends, rows);
    db.close().unwrap();
    harmed
}

#[test]
fn tables_of_one_level_that_share_keys() {
    let harmed = with_two_tables();
    with_manifest(&harmed, |_| {});
    assert_eq!(harmed.faults(false), Vec::<String>::new());
    with_manifest(&harmed, |files| {
        assert!(files.len() > 1);
        files.iter_mut().for_each(|file| file.level = 1);
    });
    harmed.is_named(false, "level", "shares keys with ");
}

#[test]
fn a_newer_table_below_an_older_one() {
    let harmed = with_two_tables();
    with_manifest(&harmed, |files| {
        files.sort_by_key(|file| file.number);
        for (n, file) in files.iter_mut().enumerate() {
            file.level = n + 1;
        }
    });
    harmed.is_named(false, "level", "has an older entry of row ");
}
