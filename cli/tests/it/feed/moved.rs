//! Tracked databases that are copied, merged, archived and repaired.

use larder_backing_store::{Store, StorePaths};
use larder_codec::primitive::int;
use larder_codec::row_key::{ObjectStoreField, ObjectStoreMetadataKey, RecordKey, RecordTable};
use larder_codec::versioned::{DataRow, ExistsRow};
use larder_codec::{DatabaseId, JsString, Key, ObjectStoreId, RecordVersion, feed as rows};
use larder_leveldb::write_batch::BatchWriter;

use super::*;

/// A folder with a tracked database of five revisions.
fn library() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (storage, connections) = open(dir.path(), &["library"]);
    fill(&connections[0]);
    storage.close().unwrap();
    let store = store_in(dir.path());
    (dir, store)
}

fn run(arguments: &[&str]) -> String {
    let output = larder(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        stderr(&output)
    );
    [output.stdout, output.stderr]
        .map(|bytes| String::from_utf8(bytes).unwrap())
        .concat()
}

fn copy(from: &Path, to: &Path, options: &[&str]) -> String {
    run(&[
        &["copy", from.to_str().unwrap(), to.to_str().unwrap()],
        options,
    ]
    .concat())
}

fn open_and_close(folder: &Path) {
    let (storage, _) = open(folder, &["library"]);
    storage.close().unwrap();
}

fn database(store: &Path) -> Db {
    let options = Options::new(Arc::new(IdbComparator));
    Db::open(Arc::new(DiskFileSystem::new()), store, options).unwrap()
}

/// The number of an object store of the only database.
fn number_of(store: &Path, name: &str) -> ObjectStoreId {
    let paths = StorePaths::of_leveldb(store);
    let fs = Arc::new(DiskFileSystem::new());
    let opened = Store::open_read_only(fs, paths, larder_backing_store::OpenOptions::default());
    let databases = opened.unwrap().databases(&mut Vec::new()).unwrap();
    let name = JsString::from(name);
    let mut stores = databases[0].object_stores.iter();
    stores.find(|store| store.name == name).unwrap().id
}

fn record_row(object_store_id: ObjectStoreId, table: RecordTable, key: &Key) -> Vec<u8> {
    let (mut encoded, mut row) = (Vec::new(), Vec::new());
    key.encode(&mut encoded);
    RecordKey {
        database_id: DatabaseId::MIN,
        object_store_id,
        table,
        key: larder_codec::RawKey::decode_exact(&encoded).unwrap(),
    }
    .encode(&mut row);
    row
}

fn put_record(
    batch: &mut BatchWriter,
    store: ObjectStoreId,
    key: &Key,
    version: i64,
    value: &[u8],
) {
    let version = RecordVersion::new(version).unwrap();
    let (mut data, mut exists) = (Vec::new(), Vec::new());
    DataRow { version, value }.encode(&mut data);
    ExistsRow { version }.encode(&mut exists);
    batch.put(&record_row(store, RecordTable::Data, key), &data);
    batch.put(&record_row(store, RecordTable::Exists, key), &exists);
}

/// As a program without the feed overwrites book b.
fn overwrite(store: &Path, db: &Db) {
    let books = number_of(store, "books");
    let mut version_key = Vec::new();
    ObjectStoreMetadataKey {
        database_id: DatabaseId::MIN,
        object_store_id: books,
        field: ObjectStoreField::LastVersion,
    }
    .encode(&mut version_key);
    let last = int::decode_exact(&db.get(&version_key).unwrap().unwrap()).unwrap() + 1;
    let mut number = Vec::new();
    int::encode(last, &mut number);
    let key = Key::from("b");
    let row = db
        .get(&record_row(books, RecordTable::Data, &key))
        .unwrap()
        .unwrap();
    let mut batch = BatchWriter::new();
    batch.put(&version_key, &number);
    put_record(
        &mut batch,
        books,
        &key,
        last,
        DataRow::decode_exact(&row).unwrap().value,
    );
    db.write(&mut batch, Durability::Strict).unwrap();
}

/// Notes that the feed was right at a sequence number.
fn note_sequence(store: &Path, db: &Db, sequence: u64) {
    let (mut batch, mut value) = (BatchWriter::new(), Vec::new());
    let _ = rows::build_numbers(&[sequence], &mut value);
    let consumers = number_of(store, rows::CONSUMERS);
    let key = Key::from(rows::SEQUENCE_KEY);
    put_record(&mut batch, consumers, &key, 2, &value);
    db.write(&mut batch, Durability::Strict).unwrap();
}

fn count(db: &Db) -> u64 {
    let mut iter = db.iter();
    iter.seek_to_first().unwrap();
    let mut rows = 0;
    while iter.valid() {
        rows += 1;
        iter.next().unwrap();
    }
    rows
}

#[test]
fn a_copy_has_the_feed_and_it_goes_on() {
    let (_dir, store) = library();
    let to = tempfile::tempdir().unwrap();
    assert!(!copy(&store, to.path(), &[]).contains("feed"));
    let copied = store_in(to.path());
    assert_eq!(lines(&["replay", "--values"], &copied), all());
    let (storage, connections) = open(to.path(), &["library"]);
    write(&connections[0], false, |transaction| {
        put(transaction, "books", "c", &json!("C"));
    });
    storage.close().unwrap();
    let last = json!({ "revision": 6, "operation": "creation", "store": "books", "key": "c", "committed": true, "value": "C" });
    assert_eq!(
        lines(&["replay", "--values"], &copied),
        [&all()[..], &[last]].concat()
    );
}

/// Each LevelDB counts its writes by itself: the number that a feed was right at is by chance that of a copy, too.
#[test]
fn what_has_changed_before_a_copy_is_found_in_it() {
    let (_dir, store) = library();
    let db = database(&store);
    // The copy writes each row once.
    note_sequence(&store, &db, count(&db));
    overwrite(&store, &db);
    db.close().unwrap();
    let to = tempfile::tempdir().unwrap();
    copy(&store, to.path(), &[]);
    open_and_close(to.path());
    let modified = json!({ "revision": 6, "operation": "modification", "store": "books", "key": "b", "committed": true });
    assert_eq!(
        lines(&["replay"], &store_in(to.path())).last(),
        Some(&modified)
    );
}

#[test]
fn a_part_is_copied_without_the_feed() {
    let (_dir, store) = library();
    for part in [&["--store", "books"][..], &["--upper", "\"a\""]] {
        let to = tempfile::tempdir().unwrap();
        let said = copy(&store, to.path(), part);
        assert!(said.contains(", without 1 change feed"), "{part:?}: {said}");
        let copied = store_in(to.path());
        assert_eq!(lines(&["ls"], &copied), [] as [Json; 0], "{part:?}");
        open_and_close(to.path());
        assert_eq!(lines(&["ls"], &copied), [] as [Json; 0], "{part:?}");
    }
    // The whole database is no part.
    let to = tempfile::tempdir().unwrap();
    copy(&store, to.path(), &["--database", "library"]);
    assert_eq!(lines(&["replay", "--values"], &store_in(to.path())), all());
    // What is named is copied.
    let to = tempfile::tempdir().unwrap();
    copy(&store, to.path(), &["--store", rows::REVISIONS]);
    let said = run(&["ls", to.path().to_str().unwrap()]);
    assert!(said.contains(rows::REVISIONS), "{said}");
}

#[test]
fn what_is_merged_becomes_revisions() {
    let (_dir, store) = library();
    let (_other, other) = library();
    let (storage, connections) = open(_other.path(), &["library"]);
    write(&connections[0], false, |transaction| {
        put(transaction, "books", "c", &json!("C"));
        put(transaction, "loans", "c", &json!(3));
        put(transaction, "books", "b", &json!("B"));
    });
    storage.close().unwrap();
    let said = copy(&other, &store, &["--on-conflict", "replace"]);
    assert!(
        said.contains("2 records added, 1 the same, 1 replaced"),
        "{said}"
    );
    let revisions = lines(&["replay", "--values"], &store);
    let merged = [
        json!({ "revision": 6, "operation": "modification", "store": "books", "key": "b", "value": "B" }),
        json!({ "revision": 7, "operation": "creation", "store": "books", "key": "c", "value": "C" }),
        json!({ "revision": 8, "operation": "creation", "store": "loans", "key": "c", "committed": true, "value": 3 }),
    ];
    assert_eq!(revisions, [&all()[..], &merged].concat());
    let again = copy(&other, &store, &["--on-conflict", "replace"]);
    assert!(again.contains("0 records added, 4 the same"), "{again}");
    assert_eq!(lines(&["replay", "--values"], &store), revisions);

    let arguments = ["copy", other.to_str().unwrap(), store.to_str().unwrap()];
    let named = ["--on-conflict", "skip", "--store", rows::HISTORY];
    let refused = larder([&arguments[..], &named].concat());
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("is not merged"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn an_archive_is_without_the_feed() {
    let (dir, store) = library();
    let archive = dir.path().join("archive.jsonl");
    let said = run(&["export", store.to_str().unwrap(), archive.to_str().unwrap()]);
    assert!(
        said.contains("2 object stores, 2 records, 0 blobs, without 1 change feed"),
        "{said}"
    );
    let text = std::fs::read_to_string(&archive).unwrap();
    assert!(!text.contains(rows::RESERVED_PREFIX), "{text}");
    let to = dir.path().join("imported");
    run(&["import", archive.to_str().unwrap(), to.to_str().unwrap()]);
    let there = run(&["dump", to.to_str().unwrap()]);
    assert!(there.contains("Persuasion"), "{there}");

    // One that has it all the same.
    std::fs::write(
        &archive,
        text.replace("\"loans\"", "\"larder.feed.history\""),
    )
    .unwrap();
    let to = dir.path().join("refused");
    let refused = larder(["import", archive.to_str().unwrap(), to.to_str().unwrap()]);
    assert!(!refused.status.success());
    assert!(
        stderr(&refused).contains("take it and its records out"),
        "{}",
        stderr(&refused)
    );
    assert!(!store_in(&to).exists());
}

#[test]
fn what_a_repair_takes_away_is_found() {
    let (dir, store) = library();
    let db = database(&store);
    let books = number_of(&store, "books");
    // The row that says that the record exists has gone.
    let exists = record_row(books, RecordTable::Exists, &Key::from("b"));
    db.delete(&exists, Durability::Strict).unwrap();
    // As many rows as there are without the record and with the note's two.
    note_sequence(&store, &db, count(&db) - 1);
    db.close().unwrap();
    let to = dir.path().join("repaired");
    let output = larder([
        "repair",
        store.to_str().unwrap(),
        "--to",
        to.to_str().unwrap(),
    ]);
    assert!(to.join("report.json").exists(), "{}", stderr(&output));
    open_and_close(&to);
    let removed = json!({ "revision": 6, "operation": "removal", "store": "books", "key": "b", "committed": true });
    assert_eq!(lines(&["replay"], &store_in(&to)).last(), Some(&removed));
}
