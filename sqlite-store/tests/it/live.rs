//! Stores that are written to: what the tables have then, what readers of other moments see, and what is left by whom.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::blob::NewExternalObject;
use larder_backing_store::{
    BackingStore, CursorDirection, Durability, ErrorKind, FixedClock, IndexKeys, IndexParameters,
    KeyRange, Maintenance, ObjectStoreParameters, Put, PutKey, PutMode, Quota, RaiseDataVersion,
    Reads, Record, Result, Scope, WriteOptions,
};
use larder_codec::external_object::{BlobInfo, ExternalObject};
use larder_codec::{DatabaseId, IndexId, JsString, Key, KeyPath, ObjectStoreId, Origin, RawKey};
use larder_leveldb::storage::{DiskFileSystem, FileSystem};
use rusqlite::Connection;
use tempfile::TempDir;

/// The file of the database without a name.
const FILE: &str = "0";
const VALUE: &[u8] = &[0xff, 0x15, 0xff, 0x0f, b'0'];

/// The range of one key.
fn only(key: &[u8]) -> KeyRange<'_> {
    KeyRange::only(RawKey::decode_exact(key).unwrap())
}

/// A folder for a store of one database without a name, with an object store "s" and an index "i".
struct Place {
    folder: TempDir,
}

struct Ids {
    database: DatabaseId,
    store: ObjectStoreId,
    index: IndexId,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("http_127.0.0.1_18917")
    }

    fn file(&self) -> PathBuf {
        self.dir().join(FILE)
    }

    fn options() -> WriteOptions {
        let origin = Origin::from_url("http://127.0.0.1:18917").unwrap();
        let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
        options.raise_data_version = RaiseDataVersion::WhenNeeded;
        options
    }

    fn open(&self) -> Result<BackingStore> {
        let fs = Arc::new(DiskFileSystem::new());
        larder_sqlite_store::open_for_writing(fs, &self.dir(), Self::options())
    }

    fn made(&self, key_path: KeyPath) -> (BackingStore, Ids) {
        let mut options = Self::options();
        options.create_if_missing = true;
        let fs = Arc::new(DiskFileSystem::new());
        let store = larder_sqlite_store::open_for_writing(fs, &self.dir(), options).unwrap();
        let ids = Self::make(&store, key_path);
        (store, ids)
    }

    /// Makes the database, and puts a record with a blob.
    fn fill(&self, store: BackingStore) -> (BackingStore, DatabaseId) {
        let ids = Self::make(&store, KeyPath::Null);
        let other = blob(b"of another database".to_vec());
        ids.put(&store, &Key::Number(1.0), VALUE, &[other]);
        (store, ids.database)
    }

    fn make(store: &BackingStore, key_path: KeyPath) -> Ids {
        let database = store.create_database(&JsString::from("")).unwrap();
        let scope = Scope::VersionChange(database);
        let mut change = store.begin(scope, Durability::Strict).unwrap();
        change.set_version(1).unwrap();
        let parameters = ObjectStoreParameters {
            id: None,
            name: "s".into(),
            key_path: key_path.clone(),
            auto_increment: false,
        };
        let object_store = change.create_object_store(&parameters).unwrap();
        let parameters = IndexParameters {
            id: None,
            name: "i".into(),
            key_path: match key_path {
                KeyPath::Null => KeyPath::String("i".into()),
                path => path,
            },
            unique: false,
            multi_entry: true,
        };
        let index = change.create_index(object_store, &parameters).unwrap();
        change.commit().unwrap();
        Ids {
            database,
            store: object_store,
            index,
        }
    }

    /// The first number of an answer of the file itself.
    fn ask(&self, sql: &str) -> i64 {
        let connection = Connection::open(self.file()).unwrap();
        connection.query_row(sql, (), |row| row.get(0)).unwrap()
    }

    /// The names of what lies in the folder.
    fn names(&self) -> Vec<String> {
        let listed = fs::read_dir(self.dir()).unwrap();
        let mut names: Vec<_> = listed
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn encoded(key: &Key) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}

impl Ids {
    /// Puts a record under a key, which is its key in the index, too.
    fn put(&self, store: &BackingStore, key: &Key, value: &[u8], objects: &[NewExternalObject]) {
        let scope = Scope::Stores(self.database, [self.store].into());
        let mut transaction = store.begin(scope, Durability::Relaxed).unwrap();
        let key = encoded(key);
        let key = RawKey::decode_exact(&key).unwrap();
        transaction
            .put(
                self.store,
                &Put {
                    key: PutKey::Given(key),
                    value,
                    mode: PutMode::Put,
                    index_keys: &[IndexKeys {
                        index_id: self.index,
                        keys: &[key],
                    }],
                    external_objects: objects,
                },
            )
            .unwrap();
        transaction.commit().unwrap();
    }

    fn delete(&self, store: &BackingStore, key: &Key) {
        let scope = Scope::Stores(self.database, [self.store].into());
        let mut transaction = store.begin(scope, Durability::Relaxed).unwrap();
        let key = encoded(key);
        let range = only(&key);
        assert_eq!(transaction.delete(self.store, &range).unwrap(), 1);
        transaction.commit().unwrap();
    }

    fn value(&self, reads: &Reads, key: &Key) -> Option<Vec<u8>> {
        let key = encoded(key);
        let key = RawKey::decode_exact(&key).unwrap();
        let mut record = Record::default();
        let found = reads.get(self.database, self.store, key, &mut record);
        found.unwrap().then(|| record.value().to_vec())
    }

    fn objects(&self, reads: &Reads, key: &Key) -> Vec<ExternalObject> {
        let key = encoded(key);
        let key = RawKey::decode_exact(&key).unwrap();
        reads
            .external_objects(self.database, self.store, key)
            .unwrap()
    }

    /// The keys of the records, and of the entries.
    fn keys(&self, reads: &Reads) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let (mut keys, mut entries) = (Vec::new(), Vec::new());
        let next = CursorDirection::Next;
        let mut records = reads.records(self.database, self.store, next);
        while records.next().unwrap() {
            keys.push(records.primary_key().unwrap().as_bytes().to_vec());
        }
        let mut cursor = reads.index_entries(self.database, self.store, self.index, next);
        while cursor.next().unwrap() {
            entries.push(cursor.index_key().unwrap().as_bytes().to_vec());
        }
        (keys, entries)
    }
}

fn blob(content: Vec<u8>) -> NewExternalObject {
    NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content: Arc::new(content),
    }
}

fn info(object: &ExternalObject) -> &BlobInfo {
    match object {
        ExternalObject::Blob(blob) | ExternalObject::File { blob, .. } => blob,
        ExternalObject::FileSystemAccessHandle { .. } => panic!("a handle"),
    }
}

fn content(reads: &Reads, database: DatabaseId, object: &ExternalObject) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut reader = reads.open_blob(database, info(object)).unwrap();
    reader.read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn records_entries_and_metadata_are_there_when_the_store_is_opened_again() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    for n in 0..300 {
        ids.put(&store, &Key::Number(f64::from(n)), VALUE, &[]);
    }
    ids.put(&store, &Key::Number(7.0), b"\xff\x15\xff\x0fT", &[]);
    ids.delete(&store, &Key::Number(8.0));
    let before = ids.keys(&store.read());
    assert_eq!((before.0.len(), before.1.len()), (299, 299));
    store.close().unwrap();
    assert_eq!(place.names(), ["0", "LOCK"]);
    let store = place.open().unwrap();
    let databases = store.databases().unwrap();
    assert_eq!(databases.len(), 1);
    assert_eq!(databases[0].version, Some(1));
    assert_eq!(databases[0].object_stores[0].indexes[0].id, ids.index);
    let read = store.read();
    assert_eq!(ids.keys(&read), before);
    assert_eq!(
        ids.value(&read, &Key::Number(7.0)).unwrap(),
        b"\xff\x15\xff\x0fT"
    );
    assert_eq!(ids.value(&read, &Key::Number(8.0)), None);
}

#[test]
fn a_reader_sees_the_moment_it_began_whenever_it_first_looks() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    ids.put(&store, &Key::Number(1.0), VALUE, &[]);
    // One looks before the next commit, one after it, one after two.
    let (first, second) = (store.read(), store.read());
    let before = ids.keys(&first);
    ids.put(&store, &Key::Number(2.0), VALUE, &[]);
    let third = store.read();
    ids.delete(&store, &Key::Number(1.0));
    assert_eq!(ids.keys(&first), before);
    assert_eq!(ids.keys(&second), before);
    assert_eq!(ids.keys(&third).0.len(), 2);
    assert_eq!(ids.keys(&store.read()).0, [encoded(&Key::Number(2.0))]);
    // A database that is made later is not in it, also if its number is asked for.
    let other = store.create_database(&JsString::from("other")).unwrap();
    let scope = Scope::VersionChange(other);
    let mut change = store.begin(scope, Durability::Strict).unwrap();
    change.set_version(1).unwrap();
    let parameters = ObjectStoreParameters {
        id: None,
        name: "s".into(),
        key_path: KeyPath::Null,
        auto_increment: true,
    };
    let made = change.create_object_store(&parameters).unwrap();
    let generated = Put {
        key: PutKey::Generated,
        value: VALUE,
        mode: PutMode::Add,
        index_keys: &[],
        external_objects: &[],
    };
    change.put(made, &generated).unwrap();
    change.commit().unwrap();
    let count = |reads: &Reads| reads.count(other, made, &KeyRange::ALL).unwrap();
    assert_eq!((count(&second), count(&store.read())), (0, 1));
}

#[test]
fn blobs_lie_in_the_tables_as_long_as_a_record_or_a_reader_has_them() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    let (one, two) = (Key::Number(1.0), Key::Number(2.0));
    let large: Vec<u8> = (0..(5 << 20) + 17).map(|n: u32| (n / 7) as u8).collect();
    let handle = |token: &[u8]| NewExternalObject::FileSystemAccessHandle {
        token: token.to_vec(),
    };
    let file = NewExternalObject::File {
        mime_type: "".into(),
        content: Arc::new(b"of a file".to_vec()),
        name: "n.txt".into(),
        last_modified_micros: 13_000_000_000_000_000,
    };
    let objects = [
        handle(b"first"),
        blob(large.clone()),
        file,
        blob(Vec::new()),
        handle(b"second"),
    ];
    ids.put(&store, &one, VALUE, &objects);
    ids.put(&store, &two, VALUE, &[blob(b"other".to_vec())]);
    assert_eq!(place.ask("SELECT count(*) FROM blobs"), 6);
    assert_eq!(place.ask("SELECT count(*) FROM overflow_blob_chunks"), 1);
    let check = |reads: &Reads| {
        let objects = ids.objects(reads, &one);
        // Handles have numbers of their own in values.
        let contents: Vec<_> = objects[..3]
            .iter()
            .map(|object| content(reads, ids.database, object))
            .collect();
        assert!(contents == [large.clone(), b"of a file".to_vec(), Vec::new()]);
        let tokens = objects[3..].iter().map(|object| match object {
            ExternalObject::FileSystemAccessHandle { token } => &**token,
            other => panic!("{other:?}"),
        });
        assert_eq!(tokens.collect::<Vec<_>>(), [&b"first"[..], b"second"]);
        assert!(
            matches!(&objects[1], ExternalObject::File { name, last_modified_micros, .. }
            if name.to_string_lossy() == "n.txt" && *last_modified_micros == 13_000_000_000_000_000)
        );
    };
    check(&store.read());
    // No file of a content is left beside the tables.
    assert!(
        !place
            .dir()
            .join("blobs")
            .join("1")
            .join("00")
            .read_dir()
            .is_ok_and(|mut dir| dir.next().is_some())
    );
    store.close().unwrap();
    let store = place.open().unwrap();
    check(&store.read());

    let read = store.read();
    let object = ids.objects(&read, &two).pop().unwrap();
    let held = read.hold_blob(ids.database, info(&object).number);
    ids.put(&store, &two, VALUE, &[]);
    ids.delete(&store, &one);
    // A reader that began before may ask for all of them; handles are in the rows that it sees.
    check(&read);
    assert_eq!(place.ask("SELECT count(*) FROM blobs"), 4);
    drop(read);
    while store.maintain().unwrap() == Maintenance::Step {}
    assert_eq!(content(&store.read(), ids.database, &object), b"other");
    assert_eq!(place.ask("SELECT count(*) FROM overflow_blob_chunks"), 0);
    drop(held);
    while store.maintain().unwrap() == Maintenance::Step {}
    assert_eq!(place.ask("SELECT count(*) FROM blobs"), 0);
    // New ones have numbers of their own.
    ids.put(&store, &one, VALUE, &[blob(b"new".to_vec())]);
    let new = ids.objects(&store.read(), &one).pop().unwrap();
    assert!(info(&new).number > info(&object).number);
}

#[test]
fn what_a_process_held_that_is_gone_goes_with_the_next_write() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    ids.put(&store, &Key::Number(1.0), VALUE, &[blob(b"held".to_vec())]);
    let read = store.read();
    let object = ids.objects(&read, &Key::Number(1.0)).pop().unwrap();
    let _held = read.hold_blob(ids.database, info(&object).number);
    ids.delete(&store, &Key::Number(1.0));
    assert_eq!(place.ask("SELECT count(*) FROM blobs"), 1);
    // As a process that was killed leaves it: what lies in the folder now.
    let after = Place::new();
    fs::create_dir_all(after.dir().join("blobs/1/00")).unwrap();
    for name in ["0", "0-wal"] {
        fs::copy(place.dir().join(name), after.dir().join(name)).unwrap();
    }
    fs::write(after.dir().join("blobs/1/00/9"), b"never committed").unwrap();
    let store = after.open().unwrap();
    assert!(!after.dir().join("blobs").exists());
    ids.put(&store, &Key::Number(2.0), VALUE, &[]);
    assert_eq!(after.ask("SELECT count(*) FROM blobs"), 0);
}

#[test]
fn keys_and_paths_that_chromiums_tables_cannot_say_come_back() {
    let place = Place::new();
    let path = KeyPath::Array(vec!["a".into()]);
    let (store, ids) = place.made(path.clone());
    let negative = Key::array(vec![Key::Number(-0.0)]).unwrap();
    ids.put(&store, &negative, VALUE, &[]);
    let exact = (vec![encoded(&negative)], vec![encoded(&negative)]);
    assert_eq!(ids.keys(&store.read()), exact);
    store.close().unwrap();
    let store = place.open().unwrap();
    assert_eq!(ids.keys(&store.read()), exact);
    let databases = store.databases().unwrap();
    assert_eq!(databases[0].object_stores[0].key_path, path);
    assert_eq!(databases[0].object_stores[0].indexes[0].key_path, path);
    // 0 in its place: the note goes with the record.
    let positive = Key::array(vec![Key::Number(0.0)]).unwrap();
    ids.put(&store, &positive, VALUE, &[]);
    let exact = (vec![encoded(&positive)], vec![encoded(&positive)]);
    assert_eq!(ids.keys(&store.read()), exact);
    assert_eq!(place.ask("SELECT count(*) FROM larder_negative_zeros"), 0);
}

#[test]
fn object_stores_and_indexes_are_renamed_and_deleted_with_all_they_have() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Array(vec!["a".into()]));
    let key = Key::array(vec![Key::Number(1.0)]).unwrap();
    ids.put(&store, &key, VALUE, &[blob(b"content".to_vec())]);
    let change = |version, work: &dyn Fn(&mut larder_backing_store::WriteTransaction)| {
        let scope = Scope::VersionChange(ids.database);
        let mut change = store.begin(scope, Durability::Strict).unwrap();
        change.set_version(version).unwrap();
        work(&mut change);
        change.commit().unwrap();
    };
    change(2, &|change| {
        change.rename_object_store(ids.store, &"t".into()).unwrap();
        change
            .rename_index(ids.store, ids.index, &"j".into())
            .unwrap();
    });
    assert_eq!(place.ask("SELECT version FROM indexed_db_metadata"), 2);
    assert_eq!(
        place.ask("SELECT count(*) FROM object_stores WHERE name = x'7400'"),
        1
    );
    assert_eq!(
        place.ask("SELECT count(*) FROM indexes WHERE name = x'6a00'"),
        1
    );
    let noted = "SELECT count(*) FROM larder_array_paths WHERE name IN (x'7400', x'6a00')";
    assert_eq!(place.ask(noted), 2);
    change(3, &|change| {
        change.delete_index(ids.store, ids.index).unwrap();
    });
    assert_eq!(place.ask("SELECT count(*) FROM index_references"), 0);
    assert_eq!(place.ask("SELECT count(*) FROM indexes"), 0);
    assert_eq!(place.ask("SELECT count(*) FROM records"), 1);
    change(4, &|change| {
        change.delete_object_store(ids.store).unwrap();
    });
    while store.maintain().unwrap() == Maintenance::Step {}
    for table in ["records", "object_stores", "blobs", "blob_references"] {
        assert_eq!(
            place.ask(&format!("SELECT count(*) FROM {table}")),
            0,
            "{table}"
        );
    }
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'larder_array_paths'";
    assert_eq!(place.ask(tables), 0);
}

#[test]
fn a_database_is_deleted_with_its_file_and_its_held_blobs_are_read_on() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    ids.put(&store, &Key::Number(1.0), VALUE, &[blob(b"held".to_vec())]);
    let read = store.read();
    let object = ids.objects(&read, &Key::Number(1.0)).pop().unwrap();
    let held = read.hold_blob(ids.database, info(&object).number);
    assert!(store.delete_database(&JsString::from("")).unwrap());
    assert_eq!(place.names(), ["LOCK", "blobs"]);
    assert!(store.databases().unwrap().is_empty());
    // Of the same name, another, which has a blob of the same number.
    let (again, database) = place.fill(store);
    let store = again;
    assert!(database > ids.database);
    assert_eq!(content(&store.read(), ids.database, &object), b"held");
    drop((held, read));
    while store.maintain().unwrap() == Maintenance::Step {}
    assert!(store.read().open_blob(ids.database, info(&object)).is_err());
    assert!(store.delete_database(&JsString::from("")).unwrap());
    store.close().unwrap();
    let error = place.open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotAStore, "{error}");
}

#[test]
fn who_has_a_store_open_keeps_others_out() {
    let place = Place::new();
    let (store, _) = place.made(KeyPath::Null);
    let error = place.open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    store.close().unwrap();
    // As Chromium has it.
    let chromium = Connection::open(place.file()).unwrap();
    chromium
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT")
        .unwrap();
    let error = place.open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    drop(chromium);
    let _store = place.open().unwrap();
}

#[test]
fn a_store_that_is_not_wholly_understood_is_left_as_it_is() {
    let fixture = larder_fixtures::get("s143-lite").open();
    let before = contents(&fixture.sqlite());
    let fs = Arc::new(DiskFileSystem::new());
    let opened = larder_sqlite_store::open_for_writing(fs, &fixture.sqlite(), Place::options());
    let error = opened.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!(contents(&fixture.sqlite()), before);
    let place = Place::new();
    let (store, _) = place.made(KeyPath::Null);
    store.close().unwrap();
    Connection::open(place.file())
        .unwrap()
        .execute("UPDATE object_stores SET name = x'61'", ())
        .unwrap();
    let before = contents(&place.dir());
    let error = place.open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert_eq!(contents(&place.dir()), before);
}

fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let listed = fs::read_dir(dir).unwrap();
    let mut all: Vec<_> = listed
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && !path.ends_with("LOCK"))
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect();
    all.sort();
    all
}

#[test]
fn what_chromium_made_is_written_to_whatever_its_indexes_are_numbered() {
    // Index ids from 1, which LevelDB has for other things.
    let fixture = larder_fixtures::get("s156-odd").open();
    let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
    let dir = fixture.sqlite();
    let store =
        larder_sqlite_store::open_for_writing(Arc::clone(&fs), &dir, Place::options()).unwrap();
    let (mut puts, mut expected) = (0, Vec::new());
    for database in store.databases().unwrap() {
        for object_store in &database.object_stores {
            let ids: Vec<_> = object_store.indexes.iter().map(|index| index.id).collect();
            let scope = Scope::Stores(database.id, [object_store.id].into());
            let mut transaction = store.begin(scope, Durability::Strict).unwrap();
            let key = encoded(&Key::array(vec![Key::String("ours".into())]).unwrap());
            let key = RawKey::decode_exact(&key).unwrap();
            let keys = [key];
            let index_keys: Vec<_> = ids
                .iter()
                .map(|id| IndexKeys {
                    index_id: *id,
                    keys: &keys,
                })
                .collect();
            let put = Put {
                key: PutKey::Given(key),
                value: VALUE,
                mode: PutMode::Put,
                index_keys: &index_keys,
                external_objects: &[],
            };
            if object_store.key_path == KeyPath::Null {
                transaction.put(object_store.id, &put).unwrap();
                transaction.commit().unwrap();
                puts += 1;
                expected.push((database.name.clone(), object_store.id, ids));
            }
        }
    }
    store.close().unwrap();
    assert!(
        puts > 2 && expected.iter().any(|(.., ids)| !ids.is_empty()),
        "{expected:?}"
    );
    let read = larder_sqlite_store::open(&fs, &dir, &std::env::temp_dir()).unwrap();
    assert!(read.recovery().problems.is_empty());
    for (name, object_store, indexes) in expected {
        let databases = read.databases(&mut Vec::new()).unwrap();
        let database = databases
            .iter()
            .find(|database| database.name == name)
            .unwrap()
            .id;
        for index in indexes {
            let key = encoded(&Key::array(vec![Key::String("ours".into())]).unwrap());
            let range = only(&key);
            let count = read
                .count_by_index(database, object_store, index, &range)
                .unwrap();
            assert_eq!(count, 1, "{name:?} {object_store:?} {index:?}");
        }
    }
}

#[test]
fn what_passes_the_quota_is_refused() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    store.close().unwrap();
    let mut options = Place::options();
    options.quota = Some(Arc::new(Quota::new(200_000, None)));
    let fs = Arc::new(DiskFileSystem::new());
    let store = larder_sqlite_store::open_for_writing(fs, &place.dir(), options).unwrap();
    let used = store.usage().unwrap().total();
    assert!((40_000..200_000).contains(&used), "{used}");
    ids.put(&store, &Key::Number(1.0), &[0; 1000], &[]);
    let scope = Scope::Stores(ids.database, [ids.store].into());
    let mut transaction = store.begin(scope, Durability::Relaxed).unwrap();
    let key = encoded(&Key::Number(2.0));
    let put = Put {
        key: PutKey::Given(RawKey::decode_exact(&key).unwrap()),
        value: &[0; 200_000],
        mode: PutMode::Put,
        index_keys: &[],
        external_objects: &[],
    };
    transaction.put(ids.store, &put).unwrap();
    let error = transaction.commit().unwrap_err();
    assert!(error.quota().is_some(), "{error}");
    assert_eq!(ids.keys(&store.read()).0.len(), 1);
    // What is deleted makes room.
    let mut random = larder_fixtures::random::Random::new(1);
    let value: Vec<u8> = (0..20_000).map(|_| random.below(256) as u8).collect();
    for _ in 0..20 {
        ids.put(&store, &Key::Number(3.0), &value, &[]);
        ids.delete(&store, &Key::Number(3.0));
    }
}

#[test]
fn compacting_gives_room_back() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    // What cannot be packed.
    let mut random = larder_fixtures::random::Random::new(1);
    let value: Vec<u8> = (0..100_000).map(|_| random.below(256) as u8).collect();
    for n in 0..20 {
        ids.put(&store, &Key::Number(f64::from(n)), &value, &[]);
    }
    for n in 0..20 {
        ids.delete(&store, &Key::Number(f64::from(n)));
    }
    let before = store.usage().unwrap().total();
    store.compact(&mut || {}).unwrap();
    let after = store.usage().unwrap().total();
    assert!(before > 2_000_000 && after < 200_000, "{before}, {after}");
}

#[test]
fn nothing_that_another_has_made_is_taken_away() {
    let place = Place::new();
    // What cannot be listed is no empty store.
    fs::create_dir_all(place.folder.path()).unwrap();
    fs::write(place.dir(), b"a file").unwrap();
    let mut options = Place::options();
    options.create_if_missing = true;
    let disk: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
    let opened =
        larder_sqlite_store::open_for_writing(Arc::clone(&disk), &place.dir(), options.clone());
    assert!(opened.is_err());
    assert_eq!(fs::read(place.dir()).unwrap(), b"a file");
    fs::remove_file(place.dir()).unwrap();
    // A browser makes a database of the name meanwhile.
    let store = larder_sqlite_store::open_for_writing(disk, &place.dir(), options).unwrap();
    let theirs = Place::new();
    theirs.made(KeyPath::Null).0.close().unwrap();
    fs::copy(theirs.file(), place.file()).unwrap();
    let database = store.create_database(&JsString::from("")).unwrap();
    let scope = Scope::VersionChange(database);
    let mut change = store.begin(scope, Durability::Strict).unwrap();
    change.set_version(1).unwrap();
    let error = change.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(
        fs::read(theirs.file()).unwrap(),
        fs::read(place.file()).unwrap()
    );
}

#[test]
fn a_commit_that_fails_lets_no_blob_go_that_is_held() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    ids.put(&store, &Key::Number(1.0), VALUE, &[blob(b"held".to_vec())]);
    let read = store.read();
    let object = ids.objects(&read, &Key::Number(1.0)).pop().unwrap();
    let _held = read.hold_blob(ids.database, info(&object).number);
    ids.delete(&store, &Key::Number(1.0));
    drop(read);
    let other = Connection::open(place.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let scope = Scope::Stores(ids.database, [ids.store].into());
    let mut transaction = store.begin(scope, Durability::Relaxed).unwrap();
    let key = encoded(&Key::Number(2.0));
    let put = Put {
        key: PutKey::Given(RawKey::decode_exact(&key).unwrap()),
        value: VALUE,
        mode: PutMode::Put,
        index_keys: &[],
        external_objects: &[],
    };
    transaction.put(ids.store, &put).unwrap();
    let error = transaction.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    drop(other);
    ids.put(&store, &Key::Number(3.0), VALUE, &[]);
    assert_eq!(content(&store.read(), ids.database, &object), b"held");
}

#[test]
fn readers_that_have_not_looked_share_what_a_commit_holds_for_them() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    ids.put(&store, &Key::Number(1.0), VALUE, &[]);
    let readers: Vec<_> = (0..200).map(|_| store.read()).collect();
    ids.put(&store, &Key::Number(2.0), VALUE, &[]);
    for reader in &readers {
        assert_eq!(ids.keys(reader).0.len(), 1);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        let file = place.file();
        let handles = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        let count = handles.filter(|path| *path == file).count();
        assert!((1..8).contains(&count), "{count}");
    }
}

/// The variable that gives a child the file that it tries to have alone.
const CHILD: &str = "LARDER_SQLITE_LOCK_CHILD";

#[test]
fn a_child_that_wants_a_file_alone_does_nothing_without_its_parent() {
    let Some(file) = std::env::var_os(CHILD) else {
        return;
    };
    let connection = Connection::open(file).unwrap();
    connection.busy_timeout(std::time::Duration::ZERO).unwrap();
    let alone = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT";
    assert!(connection.execute_batch(alone).is_err());
}

#[test]
fn reading_a_store_that_this_process_writes_to_gives_none_of_its_locks_up() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    ids.put(&store, &Key::Number(1.0), VALUE, &[]);
    let disk: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
    let read = larder_sqlite_store::open(&disk, &place.dir(), &std::env::temp_dir()).unwrap();
    assert!(read.recovery().problems.is_empty());
    ids.put(&store, &Key::Number(2.0), VALUE, &[]);
    assert_eq!(ids.keys(&read).0.len(), 1);
    drop(read);
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "live::a_child_that_wants_a_file_alone_does_nothing_without_its_parent",
            "--exact",
        ])
        .env(CHILD, place.file())
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn a_file_without_chromiums_triggers_or_with_others_is_not_written_to() {
    for statement in [
        "DROP TRIGGER on_record_deleted",
        "DROP INDEX records_by_key",
        "CREATE TRIGGER other AFTER INSERT ON records BEGIN DELETE FROM records; END",
    ] {
        let place = Place::new();
        place.made(KeyPath::Null).0.close().unwrap();
        let connection = Connection::open(place.file()).unwrap();
        connection.execute_batch(statement).unwrap();
        drop(connection);
        let error = place.open().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{statement}: {error}");
    }
}

#[test]
fn a_store_is_deleted_with_what_is_its_unless_another_has_it_open() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    ids.put(&store, &Key::Number(1.0), VALUE, &[]);
    let disk = DiskFileSystem::new();
    let delete = || larder_sqlite_store::delete_store(&disk, &place.dir());
    assert_eq!(delete().unwrap_err().kind(), ErrorKind::Conflict);
    store.close().unwrap();
    let chromium = Connection::open(place.file()).unwrap();
    let alone = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT";
    chromium.execute_batch(alone).unwrap();
    assert_eq!(delete().unwrap_err().kind(), ErrorKind::Conflict);
    drop(chromium);
    fs::write(place.dir().join("a person's notes.txt"), b"mine").unwrap();
    delete().unwrap();
    assert_eq!(place.names(), ["a person's notes.txt"]);
    fs::remove_file(place.dir().join("a person's notes.txt")).unwrap();
    place.made(KeyPath::Null).0.close().unwrap();
    delete().unwrap();
    assert!(!place.dir().exists());
    delete().unwrap();
}

#[test]
fn an_entry_whose_record_is_gone_is_an_error_or_a_key_and_never_another_record() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    for n in 0..3 {
        ids.put(&store, &Key::Number(f64::from(n)), VALUE, &[]);
    }
    store.close().unwrap();
    let connection = Connection::open(place.file()).unwrap();
    let trigger = "SELECT sql FROM sqlite_schema WHERE name = 'on_record_deleted'";
    let trigger: String = connection.query_row(trigger, (), |row| row.get(0)).unwrap();
    connection
        .execute_batch("DROP TRIGGER on_record_deleted; DELETE FROM records WHERE row_id = 2")
        .unwrap();
    connection.execute_batch(&trigger).unwrap();
    drop(connection);
    let store = place.open().unwrap();
    let read = store.read();
    let (mut found, mut refused) = (Vec::new(), 0);
    let next = CursorDirection::Next;
    let mut entries = read.index_entries(ids.database, ids.store, ids.index, next);
    while let Ok(true) = entries.next().inspect_err(|_| refused += 1) {
        found.push(entries.primary_key().unwrap().as_bytes().to_vec());
    }
    assert!(found.len() + refused >= 2, "{found:?}, {refused}");
    for (n, is_there) in [(0, true), (1, false), (2, true)] {
        let key = encoded(&Key::Number(f64::from(n)));
        let mut record = Record::default();
        let got = read.get_by_index(ids.database, ids.store, ids.index, &only(&key), &mut record);
        match got {
            Ok(true) => assert!(is_there, "{n}"),
            Ok(false) => assert!(!is_there, "{n}"),
            Err(error) => assert_eq!((error.kind(), is_there), (ErrorKind::Corruption, false)),
        }
    }
}
