//! A golden store made small: all rows but records beyond the first of each kind, in one log in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::{BackingStore, IdbComparator, StorePaths, WriteOptions};
use larder_codec::primitive::int;
use larder_codec::row_key::{GlobalKey, RowKey};
use larder_codec::{DatabaseId, JsString, KeyPrefix};
use larder_fixtures::Fixture;
use larder_idb::{DiskFileSystem, FileSystem, FixedClock, Origin};
use larder_leveldb::storage::{CrashImage, MemoryFileSystem};
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Background, Db, Durability, Options};

use super::damage::Damage;

/// So many rows are kept of each of an object store's tables and indexes.
const ROWS_KEPT: usize = 5;

pub(crate) type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

pub(crate) struct Golden {
    pub(crate) origin: Origin,
    /// By the bytes of their keys, whose order does not matter here.
    pub(crate) rows: Rows,
    /// The databases' names.
    pub(crate) names: BTreeSet<JsString>,
    fs: MemoryFileSystem,
    folder: PathBuf,
}

/// The databases that a damage may concern.
#[derive(Debug, Default)]
pub(crate) struct Affected {
    pub(crate) names: BTreeSet<JsString>,
    /// Their ids, and those they seem to have.
    ids: BTreeSet<DatabaseId>,
    /// The whole store.
    pub(crate) all: bool,
}

fn options(create_if_missing: bool) -> Options {
    let mut options = Options::new(Arc::new(IdbComparator));
    options.create_if_missing = create_if_missing;
    options.background = Background::Caller;
    options
}

fn rows_of(db: &Db) -> Rows {
    let mut rows = Rows::new();
    let mut iter = db.iter();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        rows.insert(iter.key().to_vec(), iter.value().unwrap().to_vec());
        iter.next().unwrap();
    }
    rows
}

impl Golden {
    /// After recovery, as before the first write.
    pub(crate) fn of(fixture: &Fixture) -> Self {
        let copy = fixture.copy();
        let origin = Origin::from_url(&fixture.origin).unwrap();
        let disk: Arc<DiskFileSystem> = Arc::new(DiskFileSystem::new());
        let paths = StorePaths::of_leveldb(&copy.leveldb());
        let clock = Arc::new(FixedClock::default());
        let store = BackingStore::open(
            disk.clone(),
            paths,
            WriteOptions::new(origin.clone(), clock),
        );
        let store = store.unwrap();
        store.settle().unwrap();
        while store.maintain().unwrap() == larder_idb::Maintenance::Step {}
        store.close().unwrap();
        let db = Db::open_read_only(disk, &copy.leveldb(), options(false)).unwrap();
        let rows = thin_out(rows_of(&db));
        let fs = MemoryFileSystem::new();
        let folder = Path::new("idb").join(origin.leveldb_folder_name());
        let mut names = BTreeSet::new();
        let mut batch = BatchWriter::new();
        for (key, value) in &rows {
            batch.put(key, value);
            if let Ok(RowKey::Global(GlobalKey::DatabaseName { name, .. })) =
                RowKey::decode_exact(key)
            {
                names.insert(name);
            }
        }
        let golden = Self {
            origin,
            rows,
            names,
            fs,
            folder,
        };
        golden.fs.create_dir(Path::new("idb")).unwrap();
        golden.write(&golden.fs, &mut batch);
        golden
    }

    fn write(&self, fs: &MemoryFileSystem, batch: &mut BatchWriter) {
        let db = Db::open(Arc::new(fs.clone()), &self.folder, options(true)).unwrap();
        db.write(batch, Durability::Relaxed).unwrap();
        db.close().unwrap();
    }

    pub(crate) fn copy(&self) -> MemoryFileSystem {
        self.fs.crash_image(CrashImage::KeepWritten)
    }

    /// Damages a copy: its rows then.
    pub(crate) fn apply(&self, fs: &MemoryFileSystem, damage: &Damage) -> Rows {
        let mut rows = self.rows.clone();
        let mut batch = BatchWriter::new();
        for key in &damage.deleted {
            rows.remove(key);
            batch.delete(key);
        }
        for (key, value) in &damage.put {
            rows.insert(key.clone(), value.clone());
            batch.put(key, value);
        }
        self.write(fs, &mut batch);
        rows
    }

    /// The databases whose rows are damaged, or that a damaged row now speaks of.
    pub(crate) fn affected(&self, damage: &Damage) -> Affected {
        let mut affected = Affected::default();
        let put = damage.put.iter().map(|(key, value)| (key, Some(value)));
        let deleted = damage.deleted.iter().map(|key| (key, None));
        let before = damage.put.iter().map(|(key, _)| (key, self.rows.get(key)));
        let before_deleted = damage.deleted.iter().map(|key| (key, self.rows.get(key)));
        for (key, value) in put.chain(deleted).chain(before).chain(before_deleted) {
            affected.add(key, value.map(Vec::as_slice));
        }
        for (key, value) in &self.rows {
            if let Ok(RowKey::Global(GlobalKey::DatabaseName { name, .. })) =
                RowKey::decode_exact(key)
                && let Ok(id) = int::decode_exact(value)
                && DatabaseId::new(id).is_some_and(|id| affected.ids.contains(&id))
            {
                affected.names.insert(name);
            }
        }
        affected
    }

    /// Nothing has been deleted or changed by opening and reading, but for what
    /// opening a database that is not there makes and takes away again, and databases that have no object store and were
    /// never committed.
    pub(crate) fn check_kept(&self, fs: &MemoryFileSystem, rows: &Rows, what: &str) {
        let db = Db::open_read_only(Arc::new(fs.clone()), &self.folder, options(false)).unwrap();
        let kept = rows_of(&db);
        for (key, value) in rows {
            let is_global = matches!(
                RowKey::decode_exact(key),
                Ok(RowKey::Global(
                    GlobalKey::SchemaVersion
                        | GlobalKey::DataVersion
                        | GlobalKey::MaxDatabaseId
                        | GlobalKey::ActiveBlobJournal
                        | GlobalKey::RecoveryBlobJournal
                ) | RowKey::Scopes(_))
            );
            if !is_global && kept.get(key) != Some(value) && !is_of_empty(key, value, rows) {
                panic!(
                    "{what}: {key:02x?} was {value:02x?}, is {:02x?}",
                    kept.get(key)
                );
            }
        }
    }
}

/// Whether a row is of a database that has no object stores: it may be one that was never committed, and goes with the
/// upgrade that is aborted.
fn is_of_empty(key: &[u8], value: &[u8], rows: &Rows) -> bool {
    let id = match RowKey::decode_exact(key) {
        Ok(RowKey::Global(GlobalKey::DatabaseName { .. })) => {
            int::decode_exact(value).ok().and_then(DatabaseId::new)
        }
        _ => database_of(key),
    };
    let is_own = |key: &Vec<u8>| {
        matches!(
            RowKey::decode_exact(key),
            Ok(RowKey::ObjectStoreMetadata(store)) if Some(store.database_id) == id
        )
    };
    id.is_some() && !rows.keys().any(is_own)
}

impl Affected {
    fn add(&mut self, key: &[u8], value: Option<&[u8]>) {
        match RowKey::decode_exact(key) {
            Ok(RowKey::Global(GlobalKey::DatabaseName { name, .. })) => {
                self.names.insert(name);
                let id = value.and_then(|value| int::decode_exact(value).ok());
                self.ids.extend(id.and_then(DatabaseId::new));
            }
            Ok(RowKey::Global(_) | RowKey::Scopes(_)) => self.all = true,
            _ => match database_of(key) {
                Some(id) => self.ids.extend([id]),
                None => self.all = true,
            },
        }
    }
}

/// The database whose row this seems to be.
fn database_of(key: &[u8]) -> Option<DatabaseId> {
    let (prefix, _) = KeyPrefix::decode(key).ok()?;
    DatabaseId::new(i64::try_from(prefix.database).ok()?)
}

/// Whether a row is one of many that an object store has.
pub(crate) fn is_record(key: &[u8]) -> bool {
    let decoded = RowKey::decode_exact(key);
    matches!(decoded, Ok(RowKey::Record(_) | RowKey::IndexData(_)))
}

fn thin_out(rows: Rows) -> Rows {
    let mut counts: BTreeMap<KeyPrefix, usize> = BTreeMap::new();
    let mut thin = Rows::new();
    for (key, value) in rows {
        if is_record(&key) {
            let (prefix, _) = KeyPrefix::decode(&key).unwrap();
            let count = counts.entry(prefix).or_default();
            *count += 1;
            if *count > ROWS_KEPT || value.len() > 10_000 {
                continue;
            }
        }
        thin.insert(key, value);
    }
    thin
}
