//! One origin's store, opened for reading.

use std::ops::Deref;
use std::sync::Arc;

use larder_codec::DataVersion;
use larder_codec::primitive::int;
use larder_codec::row_key::GlobalKey;
use larder_leveldb::storage::{FileSystem, LockHolder};
use larder_leveldb::{BlockCache, Damage, Db, OnDamage, Snapshot, TornTail};

use crate::comparator::engine_options;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::StorePaths;
use crate::metadata::NamedIds;
use crate::reads::{Reads, StoreContext};
use crate::row_source::RowSource;
use crate::staleness::IndexFacts;
use crate::store_order::{self, StoreOrder};
use crate::transaction::ReadTransaction;
use crate::undo_log::{Recovery, recover};
use crate::versions::{DATA_VERSION_MAX, SCHEMA_VERSION_MAX, SCHEMA_VERSION_MIN, StoreVersions};
use crate::view::View;

/// How to open.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// What to do about damaged files.
    pub on_damage: OnDamage,
    /// The cache of LevelDB blocks (8 MiB of its own), which stores may share.
    pub block_cache: BlockCache,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            on_damage: OnDamage::Fail,
            block_cache: BlockCache::new(8 << 20),
        }
    }
}

/// A store opened for reading: a snapshot of one moment, as Chromium would show it after recovery.
///
/// ```
/// use std::sync::Arc;
/// use larder_backing_store::{CursorDirection, OpenOptions, Store, StorePaths};
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
/// let mut records = store.records(keys.id, all_keys.id, CursorDirection::Next);
/// let mut count = 0;
/// while records.next()? {
///     count += 1;
/// }
/// assert_eq!((count, problems.len()), (92, 0));
/// # Ok::<(), larder_backing_store::Error>(())
/// ```
#[derive(Debug)]
pub struct Store {
    /// None if the store does not lie in LevelDB.
    engine: Option<Engine>,
    order: StoreOrder,
    holder: Option<LockHolder>,
    reads: Reads,
    recovery: Recovery,
}

/// LevelDB, and the moment of it that is read.
#[derive(Debug)]
struct Engine {
    db: Db,
    snapshot: Snapshot,
}

/// What is to be known of a store whose rows lie in something else than LevelDB.
#[derive(Debug)]
pub struct RowForm {
    /// Where it lies.
    pub paths: StorePaths,
    /// The greatest version of the value formats in it.
    pub data_version: Option<DataVersion>,
    /// The program that has it open, if any.
    pub holder: Option<LockHolder>,
    /// What could not be read when it was opened.
    pub problems: Vec<Error>,
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
        let mut engine = engine_options();
        engine.on_damage = options.on_damage;
        engine.block_cache = options.block_cache;
        let (db, order) = store_order::open_read_only(&fs, &paths.leveldb, engine)?;
        let snapshot = db.snapshot();
        let (overlay, mut recovery) = recover(&snapshot, order.of_rows())?;
        let view = View::recovered(snapshot.clone(), overlay);
        let context = StoreContext {
            schema_version: read_schema_version(&view, &mut recovery.problems)?,
            data_version: read_data_version(&view, &mut recovery.problems)?,
            lost_writes: !db.damage().is_empty(),
            named_ids: NamedIds::default(),
            index_facts: IndexFacts::default(),
            fs,
            paths,
        };
        Ok(Self {
            holder: db.lock_holder(),
            engine: Some(Engine { db, snapshot }),
            order,
            reads: Reads::new(view, Arc::new(context)),
            recovery,
        })
    }

    /// A store whose rows lie in something else than LevelDB. Blobs are opened in `fs`, at the paths that [`StorePaths`] gives them.
    #[must_use]
    pub fn of_rows(rows: Arc<dyn RowSource>, fs: Arc<dyn FileSystem>, form: RowForm) -> Self {
        let context = StoreContext {
            schema_version: Some(SCHEMA_VERSION_MAX),
            data_version: form.data_version,
            lost_writes: false,
            named_ids: NamedIds::default(),
            index_facts: IndexFacts::default(),
            fs,
            paths: form.paths,
        };
        Self {
            engine: None,
            order: StoreOrder::Chromium,
            holder: form.holder,
            reads: Reads::new(View::source(rows), Arc::new(context)),
            recovery: Recovery {
                problems: form.problems,
                ..Recovery::default()
            },
        }
    }

    /// LevelDB beneath, if the store lies there: files, entries.
    #[must_use]
    pub fn db(&self) -> Option<&Db> {
        self.engine.as_ref().map(|engine| &engine.db)
    }

    /// The damage met so far in the files of LevelDB.
    #[must_use]
    pub fn damage(&self) -> Vec<Damage> {
        self.db().map(Db::damage).unwrap_or_default()
    }

    /// Logs that end in the middle of a write.
    #[must_use]
    pub fn torn_tails(&self) -> &[TornTail] {
        self.db().map(Db::torn_tails).unwrap_or_default()
    }

    /// The program that had the store open when it was opened here, if any.
    #[must_use]
    pub fn lock_holder(&self) -> Option<LockHolder> {
        self.holder
    }

    /// The order of the store's rows, in which cursors move.
    #[must_use]
    pub fn order(&self) -> StoreOrder {
        self.order
    }

    /// The rows themselves in LevelDB, the undo log included, without recovery.
    #[must_use]
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.engine.as_ref().map(|engine| &engine.snapshot)
    }

    /// A transaction that reads what the store shows. It keeps the files that it reads open, so it may outlive this
    /// [`Store`]. Blobs are not protected: another program that writes to the store may remove them meanwhile.
    #[must_use]
    pub fn read(&self) -> ReadTransaction {
        ReadTransaction::of_reads(self.reads.clone())
    }

    /// The versions that the store has. A store whose rows do not say is taken to have today's.
    #[must_use]
    pub fn versions(&self) -> Arc<StoreVersions> {
        let schema = self.schema_version().unwrap_or(SCHEMA_VERSION_MAX);
        let data = self.data_version().unwrap_or(DATA_VERSION_MAX);
        Arc::new(StoreVersions::of_reader(schema, data))
    }

    /// What recovery did in memory, and what it could not read.
    #[must_use]
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }
}

impl Deref for Store {
    type Target = Reads;

    fn deref(&self) -> &Reads {
        &self.reads
    }
}

fn read_schema_version(view: &View, problems: &mut Vec<Error>) -> Result<Option<i64>> {
    let Some((key, value)) = global_row(view, &GlobalKey::SchemaVersion, problems)? else {
        return Ok(None);
    };
    match int::decode_exact(&value) {
        Ok(version) => {
            if !(SCHEMA_VERSION_MIN..=SCHEMA_VERSION_MAX).contains(&version) {
                let what = format!(
                    "schema version {version} is not known; the store is read as version {SCHEMA_VERSION_MAX}"
                );
                problems.push(Error::inconsistent(&key, what));
            }
            Ok(Some(version))
        }
        Err(error) => {
            problems.push(Error::row(&key, "schema version", error));
            Ok(None)
        }
    }
}

fn read_data_version(view: &View, problems: &mut Vec<Error>) -> Result<Option<DataVersion>> {
    let Some((key, value)) = global_row(view, &GlobalKey::DataVersion, problems)? else {
        return Ok(None);
    };
    match DataVersion::decode_exact(&value) {
        Ok(version) => Ok(Some(version)),
        Err(error) => {
            problems.push(Error::row(&key, "data version", error));
            Ok(None)
        }
    }
}

/// Key and value of a global row; damage goes to `problems`.
fn global_row(
    view: &View,
    key: &GlobalKey,
    problems: &mut Vec<Error>,
) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    match view.get(&bytes) {
        Ok(value) => Ok(value.map(|value| (bytes, value))),
        Err(error) if error.kind() == ErrorKind::Corruption => {
            problems.push(error);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
