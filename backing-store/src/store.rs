//! One origin's store, opened for reading.

use std::sync::Arc;

use larder_codec::primitive::int;
use larder_codec::row_key::{
    GlobalKey, ObjectStoreField, ObjectStoreMetadataKey, RecordKey, RecordTable, RowKey,
};
use larder_codec::versioned::{self, DataRow};
use larder_codec::{
    DataVersion, DatabaseId, IdbKey, IndexId, KeyPrefix, ObjectStoreId, RawKey, RecordVersion,
};
use larder_leveldb::storage::FileSystem;
use larder_leveldb::{Db, OnDamage, Options, Snapshot};

use crate::comparator::IdbComparator;
use crate::cursor::{Direction, IndexCursor, RecordCursor};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::StorePaths;
use crate::metadata::{DatabaseMetadata, read_databases};
use crate::recovery::{Recovery, recover};
use crate::view::View;

/// The newest schema that Chromium writes, and the oldest that it still opens.
pub const SCHEMA_VERSION_MAX: i64 = 5;
/// See [`SCHEMA_VERSION_MAX`].
pub const SCHEMA_VERSION_MIN: i64 = 3;

/// A key generator that has reached this is used up (2^53).
pub const KEY_GENERATOR_MAX: i64 = 1 << 53;

/// How to open.
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions {
    /// What to do about damaged files.
    pub on_damage: OnDamage,
    /// Size of the cache of LevelDB blocks, in bytes.
    pub block_cache_bytes: usize,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            on_damage: OnDamage::Fail,
            block_cache_bytes: 8 << 20,
        }
    }
}

/// A store opened for reading: a snapshot of one moment, as Chromium would show it after recovery.
///
/// ```
/// use std::sync::Arc;
/// use larder_backing_store::{Direction, OpenOptions, Store, StorePaths};
/// use larder_leveldb::storage::DiskFileSystem;
///
/// let fixture = larder_fixtures::get("c156-lite").open();
/// let paths = StorePaths::of_leveldb(&fixture.leveldb());
/// let store = Store::open_read_only(Arc::new(DiskFileSystem::new()), paths, OpenOptions::default())?;
///
/// let mut problems = Vec::new();
/// let databases = store.databases(&mut problems)?;
/// let keys = databases.iter().find(|database| database.name == "keys").unwrap();
/// assert_eq!(keys.version, Some(1));
/// let all_keys = keys.object_stores.iter().find(|store| store.name == "all_keys").unwrap();
/// let mut records = store.records(keys.id, all_keys.id, Direction::Next);
/// let mut count = 0;
/// while records.next()? {
///     count += 1;
/// }
/// assert_eq!((count, problems.len()), (92, 0));
/// # Ok::<(), larder_backing_store::Error>(())
/// ```
#[derive(Debug)]
pub struct Store {
    fs: Arc<dyn FileSystem>,
    paths: StorePaths,
    db: Db,
    snapshot: Snapshot,
    view: View,
    recovery: Recovery,
    schema_version: Option<i64>,
    data_version: Option<DataVersion>,
    lost_writes: bool,
}

impl Store {
    /// Opens a store. Nothing is written, no lock is taken.
    ///
    /// # Errors
    /// [`ErrorKind::NotAStore`] if there is no LevelDB, or one with another order than IndexedDB's;
    /// [`ErrorKind::Corruption`] if files are damaged and [`OnDamage::Fail`] was asked for; [`ErrorKind::Io`].
    pub fn open_read_only(
        fs: Arc<dyn FileSystem>,
        paths: StorePaths,
        options: OpenOptions,
    ) -> Result<Self> {
        let mut engine = Options::new(Arc::new(IdbComparator));
        engine.on_damage = options.on_damage;
        engine.block_cache_bytes = options.block_cache_bytes;
        let db = Db::open_read_only(Arc::clone(&fs), &paths.leveldb, engine)?;
        let snapshot = db.snapshot();
        let (overlay, recovery) = recover(&snapshot)?;
        let lost_writes = !db.damage().is_empty();
        let view = View::recovered(snapshot.clone(), overlay);
        let mut store = Self {
            fs,
            paths,
            db,
            snapshot,
            view,
            recovery,
            schema_version: None,
            data_version: None,
            lost_writes,
        };
        store.read_versions()?;
        Ok(store)
    }

    fn read_versions(&mut self) -> Result<()> {
        if let Some((key, value)) = self.global_row(&GlobalKey::SchemaVersion)? {
            match int::decode_exact(&value) {
                Ok(version) => {
                    self.schema_version = Some(version);
                    if !(SCHEMA_VERSION_MIN..=SCHEMA_VERSION_MAX).contains(&version) {
                        let what = format!(
                            "schema version {version} is not known; the store is read as version {SCHEMA_VERSION_MAX}"
                        );
                        self.recovery.problems.push(Error::inconsistent(&key, what));
                    }
                }
                Err(error) => {
                    self.recovery
                        .problems
                        .push(Error::row(&key, "schema version", error))
                }
            }
        }
        if let Some((key, value)) = self.global_row(&GlobalKey::DataVersion)? {
            match DataVersion::decode_exact(&value) {
                Ok(version) => self.data_version = Some(version),
                Err(error) => self
                    .recovery
                    .problems
                    .push(Error::row(&key, "data version", error)),
            }
        }
        Ok(())
    }

    fn global_row(&mut self, key: &GlobalKey) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let mut bytes = Vec::new();
        key.encode(&mut bytes);
        match self.view.get(&bytes) {
            Ok(value) => Ok(value.map(|value| (bytes, value))),
            Err(error) if error.kind() == ErrorKind::Corruption => {
                self.recovery.problems.push(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Where it lies.
    #[must_use]
    pub fn paths(&self) -> &StorePaths {
        &self.paths
    }

    /// The engine beneath: damage met so far, files, whether the store is in use.
    #[must_use]
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// The rows themselves, the undo log included, without recovery.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// What recovery did in memory, and what it stumbled over.
    #[must_use]
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// The schema version: 3 to 5 in stores that Chromium still opens; `None` in an empty store.
    #[must_use]
    pub fn schema_version(&self) -> Option<i64> {
        self.schema_version
    }

    /// The versions of the value formats.
    #[must_use]
    pub fn data_version(&self) -> Option<DataVersion> {
        self.data_version
    }

    /// The file system it lies in.
    #[must_use]
    pub fn fs(&self) -> &Arc<dyn FileSystem> {
        &self.fs
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// All databases with their object stores and indexes, in the order of their names. Rows that could not be read
    /// go to `problems`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`], or [`ErrorKind::Corruption`] with [`OnDamage::Fail`].
    pub fn databases(&self, problems: &mut Vec<Error>) -> Result<Vec<DatabaseMetadata>> {
        read_databases(&self.view, problems)
    }

    /// A cursor over an object store's records.
    #[must_use]
    pub fn records(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        direction: Direction,
    ) -> RecordCursor {
        RecordCursor::new(
            &self.view,
            database_id,
            object_store_id,
            direction,
            self.lost_writes,
        )
    }

    /// A cursor over an index's live entries.
    #[must_use]
    pub fn index_entries(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        index_id: IndexId,
        direction: Direction,
    ) -> IndexCursor {
        IndexCursor::new(
            &self.view,
            database_id,
            object_store_id,
            index_id,
            direction,
        )
    }

    /// The number the object store's key generator would give next. It is used up when this is above
    /// [`KEY_GENERATOR_MAX`].
    ///
    /// Without a stored number it is one more than the greatest number key, rounded down.
    ///
    /// # Errors
    /// If the rows it depends on cannot be read.
    pub fn key_generator(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
    ) -> Result<i64> {
        let mut key = Vec::new();
        ObjectStoreMetadataKey {
            database_id,
            object_store_id,
            field: ObjectStoreField::KeyGenerator,
        }
        .encode(&mut key);
        match self.view.get(&key)? {
            Some(value) if !value.is_empty() => {
                int::decode_exact(&value).map_err(|error| Error::row(&key, "key generator", error))
            }
            _ => self.key_generator_from_data(database_id, object_store_id),
        }
    }

    fn key_generator_from_data(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
    ) -> Result<i64> {
        let prefix = record_row_prefix(database_id, object_store_id, RecordTable::Data);
        // Numbers sort first and dates next, so the greatest number stands before the least date.
        let mut least_date = prefix.clone();
        IdbKey::Date(f64::NEG_INFINITY).encode(&mut least_date);
        let mut iter = self.view.iter();
        iter.seek_for_prev(&least_date)?;
        let key = iter.key();
        let Some(IdbKey::Number(greatest)) = key
            .strip_prefix(&*prefix)
            .and_then(|key| IdbKey::decode_exact(key).ok())
        else {
            return Ok(1);
        };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "clamped to what an i64 holds exactly"
        )]
        let greatest = greatest.floor().clamp(0.0, KEY_GENERATOR_MAX as f64) as i64;
        Ok(greatest + 1)
    }

    /// Whether an index row is live: whether the data row of its primary key has its version.
    ///
    /// # Errors
    /// If the data row cannot be read.
    pub fn is_live(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        primary_key: RawKey<'_>,
        version: RecordVersion,
    ) -> Result<bool> {
        let mut key = Vec::new();
        RecordKey {
            database_id,
            object_store_id,
            table: RecordTable::Data,
            key: primary_key,
        }
        .encode(&mut key);
        let Some(value) = self.view.get(&key)? else {
            return Ok(false);
        };
        let row = DataRow::decode_exact(&value)
            .map_err(|error| Error::row(&key, "record row with an undecodable version", error))?;
        Ok(row.version == version)
    }
}

/// The prefix of one of an object store's tables.
pub(crate) fn record_row_prefix(
    database_id: DatabaseId,
    object_store_id: ObjectStoreId,
    table: RecordTable,
) -> Vec<u8> {
    let mut prefix = Vec::new();
    KeyPrefix::of_object_store(database_id, object_store_id, table.index_number())
        .encode(&mut prefix);
    prefix
}

/// An index row, decoded.
pub(crate) struct IndexRow<'a> {
    pub(crate) index_key: RawKey<'a>,
    pub(crate) primary_key: RawKey<'a>,
    pub(crate) version: RecordVersion,
}

/// Decodes an index row. The primary key is the value's, as Chromium's cursors take it: every row has it there, the
/// oldest have it nowhere else, and where the two differ in bytes, -0 beside 0, the key's are those of whichever write
/// came last: an undone one, if recovery put the old value back under the key of the write that it undoes.
pub(crate) fn index_row<'a>(key: &'a [u8], value: &'a [u8]) -> Result<IndexRow<'a>> {
    let bad_key = |error| Error::row(key, "index row with an undecodable key", error);
    let bad_value = |error| Error::row(key, "index row with an undecodable value", error);
    let RowKey::IndexData(row) = RowKey::decode_exact(key).map_err(bad_key)? else {
        return Err(Error::inconsistent(
            key,
            "index row with a malformed key prefix",
        ));
    };
    let versioned::IndexRow {
        version,
        primary_key,
    } = versioned::IndexRow::decode_exact(value).map_err(bad_value)?;
    Ok(IndexRow {
        index_key: row.index_key,
        primary_key,
        version,
    })
}
