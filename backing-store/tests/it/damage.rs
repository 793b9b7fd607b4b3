//! A store that is damaged somewhere, opened for writing: an error, or everything is right; never a panic, and never
//! anything deleted that was of use.
//!
//! Every case ends with the damage mended and the store opened again: then everything must be there, so nothing that was
//! done to the damaged store, opening, recovery, writing or maintenance, took anything away.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::blob::NewExternalObject;
use larder_backing_store::{
    Background, BackingStore, CursorDirection, Durability, ErrorKind, FixedClock, IndexKeys,
    IndexParameters, KeyRange, Maintenance, ObjectStoreParameters, Put, PutKey, PutMode, Reads,
    Record, Result, Scope, StorePaths, WriteOptions, WriteTransaction,
};
use larder_codec::external_object::ExternalObject;
use larder_codec::{DatabaseId, IndexId, Key, KeyPath, ObjectStoreId, Origin, RawKey};
use larder_leveldb::storage::{CrashImage, FileSystem, MemoryFileSystem};

use crate::operations::bytes;

const DATABASE: DatabaseId = DatabaseId::MIN;
const STORE: ObjectStoreId = ObjectStoreId::MIN;
const KEYS: u8 = 40;

type Blob = Option<Vec<u8>>;

/// By record: its value, its index key and the content of its blob.
type Content = BTreeMap<u8, (Vec<u8>, u8, Blob)>;

fn paths() -> StorePaths {
    StorePaths::of_leveldb(Path::new("https_a.example_0.indexeddb.leveldb"))
}

fn open(fs: &MemoryFileSystem) -> Result<BackingStore> {
    open_limited(fs, 500)
}

/// Opens it, or makes it, for transactions that may keep so many bytes in memory.
fn open_limited(fs: &MemoryFileSystem, memory_bytes: usize) -> Result<BackingStore> {
    let origin = Origin::from_url("https://a.example").unwrap();
    let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    options.create_if_missing = true;
    options.background = Background::Caller;
    options.write_buffer_bytes = 3000;
    options.transaction_memory_bytes = memory_bytes;
    BackingStore::open(Arc::new(fs.clone()), paths(), options)
}

fn mix(n: u32) -> u32 {
    (n ^ (n >> 15)).wrapping_mul(0x85eb_ca6b).rotate_left(13)
}

fn key(n: u8) -> Vec<u8> {
    bytes(&Key::Number(n.into()))
}

fn raw(key: &[u8]) -> RawKey<'_> {
    RawKey::decode_exact(key).unwrap()
}

fn put(transaction: &mut WriteTransaction, n: u8, seed: u32, content: &mut Content) -> Result<()> {
    let value: Vec<u8> = (0..mix(seed) % 90).map(|i| mix(i ^ seed) as u8).collect();
    let blob = n.is_multiple_of(3).then(|| vec![n; 30 + usize::from(n)]);
    let external_objects: Vec<NewExternalObject> = blob
        .iter()
        .map(|content| NewExternalObject::Blob {
            mime_type: "a/b".into(),
            content: Arc::new(content.clone()),
        })
        .collect();
    let index_key = mix(seed + 7) as u8 % 10;
    let (key, index_key_bytes) = (key(n), key(index_key));
    let put = Put {
        key: PutKey::Given(raw(&key)),
        value: &value,
        mode: PutMode::Put,
        index_keys: &[IndexKeys {
            index_id: IndexId::new(31).unwrap(),
            keys: &[raw(&index_key_bytes)],
        }],
        external_objects: &external_objects,
    };
    transaction.put(STORE, &put)?;
    content.insert(n, (value, index_key, blob));
    Ok(())
}

fn delete(transaction: &mut WriteTransaction, n: u8, content: &mut Content) -> Result<()> {
    let was_there = content.remove(&n).is_some();
    let deleted = transaction.delete(STORE, &KeyRange::only(raw(&key(n))))?;
    assert_eq!(deleted, u64::from(was_there));
    Ok(())
}

fn begin(store: &BackingStore) -> Result<WriteTransaction> {
    store.begin(Scope::Stores(DATABASE, [STORE].into()), Durability::Relaxed)
}

fn create(store: &BackingStore) {
    assert_eq!(store.create_database(&"d".into()).unwrap(), DATABASE);
    let scope = Scope::VersionChange(DATABASE);
    let mut change = store.begin(scope, Durability::Strict).unwrap();
    let parameters = ObjectStoreParameters {
        id: None,
        name: "s".into(),
        key_path: KeyPath::Null,
        auto_increment: false,
    };
    change.create_object_store(&parameters).unwrap();
    let parameters = IndexParameters {
        id: None,
        name: "i".into(),
        key_path: KeyPath::String("i".into()),
        unique: false,
        multi_entry: false,
    };
    change.create_index(STORE, &parameters).unwrap();
    change.set_version(1).unwrap();
    change.commit().unwrap();
}

/// A store, and what was in it after none, one, ..., all of its transactions. `is_killed`: in the middle of a large one.
fn store(is_killed: bool) -> (MemoryFileSystem, Vec<Content>) {
    let fs = MemoryFileSystem::new();
    let mut store = open(&fs).unwrap();
    let mut states = vec![Content::new()];
    create(&store);
    let mut content = Content::new();
    for n in 0..64_u32 {
        if n == 60 {
            // What was spilled before is cleaned up; the log ends with rows of records.
            store.close().unwrap();
            store = open_limited(&fs, 100_000).unwrap();
        }
        let mut transaction = begin(&store).unwrap();
        for i in 0..4 {
            let key = (mix(n * 4 + i) % u32::from(KEYS)) as u8;
            if i == 3 && n % 3 == 0 {
                delete(&mut transaction, key, &mut content).unwrap();
            } else {
                put(&mut transaction, key, n * 4 + i, &mut content).unwrap();
            }
        }
        transaction.commit().unwrap();
        states.push(content.clone());
    }
    store.close().unwrap();
    if is_killed {
        let store = open(&fs).unwrap();
        let mut transaction = begin(&store).unwrap();
        for n in 0..KEYS {
            put(
                &mut transaction,
                n,
                1000 + u32::from(n),
                &mut Content::new(),
            )
            .unwrap();
        }
        return (fs.crash_image(CrashImage::KeepWritten), states);
    }
    (fs.crash_image(CrashImage::KeepWritten), states)
}

/// Any error that a row or a file causes.
fn content(reads: &Reads) -> Result<Content> {
    let mut content = Content::new();
    let mut records = reads.records(DATABASE, STORE, CursorDirection::Next);
    let mut keys = Vec::new();
    while records.next()? {
        keys.push(number(records.primary_key()?));
    }
    let mut index_keys = BTreeMap::new();
    let index = IndexId::new(31).unwrap();
    let mut entries = reads.index_entries(DATABASE, STORE, index, CursorDirection::Prev);
    while entries.next()? {
        let entry = (number(entries.primary_key()?), number(entries.index_key()?));
        assert!(index_keys.insert(entry.0, entry.1).is_none());
    }
    assert!(index_keys.keys().eq(&keys), "records and index agree");
    for n in keys {
        let (value, blob) = record(reads, n)?.unwrap();
        content.insert(n, (value, index_keys[&n], blob));
    }
    Ok(content)
}

fn number(key: RawKey<'_>) -> u8 {
    match key.to_key() {
        Key::Number(n) => n as u8,
        other => panic!("{other:?}"),
    }
}

/// Value and blob of a record.
fn record(reads: &Reads, n: u8) -> Result<Option<(Vec<u8>, Blob)>> {
    let (key, mut record) = (key(n), Record::new());
    let is_there = reads.get(DATABASE, STORE, raw(&key), &mut record);
    reads.multi_get(DATABASE, STORE, &[raw(&key).to_key()], |_, together| {
        let alone = is_there.as_ref().map(|there| there.then(|| record.value()));
        let alone = alone.map_err(|error| error.kind());
        let together = together
            .as_ref()
            .map(|found| found.map(|found| found.value));
        assert_eq!(together.map_err(|error| error.kind()), alone);
    });
    if !is_there? {
        return Ok(None);
    }
    let mut blob = None;
    for object in reads.external_objects(DATABASE, STORE, raw(&key))? {
        let ExternalObject::Blob(info) = object else {
            panic!("{object:?}");
        };
        let mut content = Vec::new();
        let mut file = reads.open_blob(DATABASE, &info)?;
        file.read_to_end(&mut content).unwrap();
        blob = Some(content);
    }
    Ok(Some((record.value().to_vec(), blob)))
}

/// All files but the lock.
fn files(fs: &MemoryFileSystem) -> BTreeMap<PathBuf, Vec<u8>> {
    fn gather(fs: &MemoryFileSystem, dir: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for name in fs.list(dir).unwrap_or_default() {
            let path = dir.join(&name);
            if fs.metadata(&path).unwrap().is_dir {
                gather(fs, &path, files);
            } else if name != "LOCK" {
                files.insert(path.clone(), read_file(fs, &path));
            }
        }
    }
    let mut files = BTreeMap::new();
    gather(fs, &paths().leveldb, &mut files);
    gather(fs, &paths().blob, &mut files);
    files
}

fn read_file(fs: &MemoryFileSystem, path: &Path) -> Vec<u8> {
    let file = fs.open_random(path).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    assert_eq!(file.read_at(0, &mut bytes).unwrap(), bytes.len());
    bytes
}

fn write_file(fs: &MemoryFileSystem, path: &Path, bytes: &[u8]) {
    let mut file = fs.create(path).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

/// What is done to a file.
#[derive(Debug, Clone, Copy)]
enum Harm {
    Flip { at: usize, bits: u8 },
    Cut { len: usize },
    Remove,
}

/// Spread over the file, and close together at both ends; some of them, unless all are asked for.
fn harms(len: usize, is_blob: bool) -> Vec<Harm> {
    let spread = (0..16).map(|n| len * n / 16);
    let ends = (0..4).chain(len.saturating_sub(10)..len);
    let places: std::collections::BTreeSet<usize> = spread.chain(ends).collect();
    let places = places.into_iter().filter(|at| *at < len);
    let flip = |at: usize| Harm::Flip {
        at,
        bits: 1 << (mix(at as u32) % 8),
    };
    let mut harms = vec![Harm::Remove];
    for at in places.step_by(larder_fixtures::sampled(9)) {
        harms.push(Harm::Cut { len: at });
        // That cannot be noticed: blobs have no checksums.
        harms.extend((!is_blob).then(|| flip(at)));
    }
    harms
}

/// How the cases ended.
#[derive(Debug, Default)]
struct Outcomes {
    refused: u32,
    met: u32,
    torn: u32,
    harmless: u32,
}

struct Case<'a> {
    name: String,
    path: &'a Path,
    harm: Harm,
    whole: &'a [u8],
    states: &'a [Content],
}

impl Case<'_> {
    fn truth(&self) -> &Content {
        &self.states[self.states.len() - 1]
    }

    fn run(&self, fs: &MemoryFileSystem, outcomes: &mut Outcomes) {
        match self.harm {
            Harm::Remove => fs.remove(self.path).unwrap(),
            Harm::Cut { len } => write_file(fs, self.path, &self.whole[..len]),
            Harm::Flip { at, bits } => {
                let mut bytes = self.whole.to_vec();
                bytes[at] ^= bits;
                write_file(fs, self.path, &bytes);
            }
        }
        let before = files(fs);
        match open(fs) {
            Err(error) => {
                outcomes.refused += 1;
                assert_eq!(
                    error.kind(),
                    ErrorKind::Corruption,
                    "{}: {error}",
                    self.name
                );
                // Later on, the engine may have begun to work.
                if error.to_string().contains("has been left as it is") {
                    assert!(files(fs) == before, "{}: files were changed", self.name);
                }
                write_file(fs, self.path, self.whole);
                self.check_content(fs, self.truth());
            }
            Ok(store) => self.opened(fs, store, outcomes),
        }
    }

    fn opened(&self, fs: &MemoryFileSystem, store: BackingStore, outcomes: &mut Outcomes) {
        let found = content(&store.read());
        let is_truth = found.as_ref().is_ok_and(|found| found == self.truth());
        if self.is_cut_log() && !is_truth {
            // As a power cut leaves it: what was committed before. Blobs that were deleted later are gone, though.
            let reads = store.read();
            let is_one = |state: &Content| Self::misread(&reads, state).is_none();
            assert!(self.states.iter().any(is_one), "{}", self.name);
            outcomes.torn += 1;
            return;
        }
        match &found {
            Ok(_) => {
                assert!(is_truth, "{}: records are wrong", self.name);
                outcomes.harmless += 1;
            }
            Err(error) => {
                assert_eq!(
                    error.kind(),
                    ErrorKind::Corruption,
                    "{}: {error}",
                    self.name
                );
                let misread = Self::misread(&store.read(), self.truth());
                assert_eq!(misread, None, "{}", self.name);
                outcomes.met += 1;
            }
        }
        let mut after = self.truth().clone();
        let is_written = write(&store, &mut after).is_ok();
        for _ in 0..100 {
            if !matches!(store.maintain(), Ok(Maintenance::Step)) {
                break;
            }
        }
        // It may fail, where a table cannot be compacted.
        let _ = store.close();
        if found.is_err() {
            write_file(fs, self.path, self.whole);
        }
        self.check_content(fs, if is_written { &after } else { self.truth() });
    }

    /// The newest log may also be missing: no other file mentions it.
    fn is_cut_log(&self) -> bool {
        !matches!(self.harm, Harm::Flip { .. })
            && self.path.extension().is_some_and(|suffix| suffix == "log")
    }

    /// A record that is neither right nor an error.
    fn misread(reads: &Reads, truth: &Content) -> Option<u8> {
        (0..KEYS).find(|n| {
            let expected = truth.get(n);
            let expected = expected.map(|(value, _, blob)| (value.clone(), blob.clone()));
            record(reads, *n).is_ok_and(|found| found != expected)
        })
    }

    fn check_content(&self, fs: &MemoryFileSystem, expected: &Content) {
        let store = open(fs).unwrap_or_else(|error| panic!("{}, mended: {error}", self.name));
        let found = content(&store.read()).unwrap();
        assert!(
            found == *expected,
            "{}, mended: something is lost",
            self.name
        );
        store.close().unwrap();
    }
}

/// Puts a record with a blob, and deletes one.
fn write(store: &BackingStore, content: &mut Content) -> Result<()> {
    let mut transaction = begin(store)?;
    put(&mut transaction, 99, 5000, content)?;
    delete(&mut transaction, 1, content)?;
    transaction.commit()
}

fn try_all(is_killed: bool) -> Outcomes {
    let (fs, states) = store(is_killed);
    let mut outcomes = Outcomes::default();
    for (path, whole) in &files(&fs) {
        let is_blob = path.starts_with(paths().blob);
        for harm in harms(whole.len(), is_blob) {
            let case = Case {
                name: format!("{} of {} bytes, {harm:?}", path.display(), whole.len()),
                path,
                harm,
                whole,
                states: &states,
            };
            case.run(&fs.crash_image(CrashImage::KeepWritten), &mut outcomes);
        }
    }
    println!("{outcomes:?}");
    outcomes
}

#[test]
fn damage_to_a_closed_store_is_an_error_or_harmless_and_nothing_is_deleted() {
    let outcomes = try_all(false);
    assert!(outcomes.refused > 25 && outcomes.met > 25, "{outcomes:?}");
    assert!(outcomes.torn > 2, "{outcomes:?}");
}

#[test]
fn damage_to_a_killed_store_is_an_error_or_harmless_and_nothing_is_deleted() {
    let outcomes = try_all(true);
    assert!(outcomes.refused > 25 && outcomes.met > 25, "{outcomes:?}");
}
