//! How a storage is set up.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use larder_backing_store::{
    Background, Clock, DATA_VERSION_MAX, MaintenanceSchedule, NEW_STORE_VERSION, RaiseDataVersion,
    SystemClock,
};
use larder_codec::DataVersion;
use larder_leveldb::storage::{DiskFileSystem, FileSystem, MemoryFileSystem};

use crate::executor::{Chores, EngineWork, Executor, WorkCallback};
use crate::loss::LossCallback;
use crate::quota::QuotaCallback;
use crate::store_form::StoreForm;

/// Which transactions wait for which.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheduling {
    /// As the specification says: one that writes waits also for older ones that only read its object stores.
    #[default]
    Specified,
    /// One that writes does not wait for older ones that only read, once these have started: they go on to see what was
    /// committed then. What is seen is the same; what comes first may differ.
    SnapshotReaders,
}

/// How a storage is set up.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StorageOptions {
    /// Where files are: on the disk, in memory, or wherever a host keeps them ([`file_system`](crate::file_system)).
    pub fs: Arc<dyn FileSystem>,
    /// The folder that has `ORIGIN.indexeddb.leveldb` and `ORIGIN.indexeddb.blob`: Chromium's layout.
    pub folder: PathBuf,
    /// The clock by which maintenance and idle stores are due.
    pub clock: Arc<dyn Clock>,
    /// What executes requests: threads, or the host step by step (two threads).
    pub executor: Executor,
    /// In caller-driven mode, called when there is something to do again ([`WorkCallback`]; none).
    pub on_work: Option<WorkCallback>,
    /// How many threads do what goes on behind requests, for all origins together: compacting tables, and closing stores (two).
    /// A thread that executes requests has to do that itself only where it would otherwise wait for it. In caller-driven mode
    /// there are none.
    pub background_threads: NonZeroUsize,
    /// A store that is not used is closed when so much time has passed (2 s, as in Chromium), and opened again when it is needed.
    /// [`Duration::MAX`] leaves it open. It is in use as long as there is a connection, or a value with a blob or file. In
    /// caller-driven mode it is closed in a step ([`Storage::run_one`](crate::Storage::run_one)).
    pub idle_grace: Duration,
    /// So many stores that are not used are open at a time at most (16): before another is opened, the one that has not been used
    /// for longest is closed. Each has a handful of files open: its lock, log and MANIFEST, and tables that were read.
    pub idle_stores_max: usize,
    /// Which transactions wait for which ([`Scheduling::Specified`]).
    pub scheduling: Scheduling,
    /// Where random choices of maintenance start from (0).
    pub random_seed: u64,
    /// Size of the cache of LevelDB blocks that all origins share, in bytes (64 MiB). It takes memory as blocks come, and gives that of
    /// an origin back when its store is closed.
    pub block_cache_bytes: usize,
    /// A LevelDB memtable of so many bytes becomes a table (16 MiB):
    /// [`WriteOptions::write_buffer_bytes`](larder_backing_store::WriteOptions::write_buffer_bytes).
    pub write_buffer_bytes: usize,
    /// A transaction's writes stay in memory up to so many bytes (16 MiB).
    pub transaction_memory_bytes: usize,
    /// The versions of the value formats that a new store gets ([`NEW_STORE_VERSION`]; in memory, where no browser opens it,
    /// [`DATA_VERSION_MAX`](crate::DATA_VERSION_MAX)). A store that is there keeps its own.
    pub new_store_version: DataVersion,
    /// The form of a new store's files ([`StoreForm::LevelDb`]). A store that is there keeps its own. Private sessions lie in memory, in LevelDB.
    pub new_store_form: StoreForm,
    /// When a store's data version may be raised, after which older browsers **delete** the store ([`RaiseDataVersion::WhileNew`]; in
    /// memory [`WhenNeeded`](RaiseDataVersion::WhenNeeded)).
    pub raise_data_version: RaiseDataVersion,
    /// Whether opening for writing raises a store of schema 3 or 4, after which Chromium 83 and older delete it (`false`):
    /// [`WriteOptions::raise_schema`](larder_backing_store::WriteOptions::raise_schema).
    pub raise_schema: bool,
    /// Whether the order of keys is trusted without a look at a store's tables (`false`), where each look is a round trip. Only for stores that no
    /// program but this library has ever written:
    /// [`WriteOptions::trusts_order`](larder_backing_store::WriteOptions::trusts_order).
    pub trusts_order: bool,
    /// Called when something that was stored turns out to be damaged or lost, with words that a person can be shown ([`Loss`](crate::Loss);
    /// none).
    pub on_loss: Option<LossCallback>,
    /// The bytes that each origin's store keeps on the disk for deletions (32 KiB; 0: none, also in memory):
    /// [`WriteOptions::reserve_bytes`](larder_backing_store::WriteOptions::reserve_bytes).
    pub reserve_bytes: usize,
    /// How many bytes the files of each origin may have ([`u64::MAX`]: no limit), if it has no quota of its own
    /// ([`Factory::set_quota_bytes`](crate::Factory::set_quota_bytes)). A transaction that would pass it ends with `QuotaExceededError`, and has written nothing; one that
    /// only deletes is never refused.
    pub quota_bytes: u64,
    /// Asked before a transaction is refused for the quota (none: it is refused).
    pub on_over_quota: Option<QuotaCallback>,
    /// The folder that has `ID/IndexedDB/indexeddb.leveldb` for each bucket that is not an origin's default one in its own site
    /// (`WebStorage` beside the folder of the origins' stores, as in Chromium's profile).
    pub buckets_folder: PathBuf,
    /// Whether stores are only read (`false`): nothing is ever written, made or removed, no lock is taken, and another program may
    /// have them open; the folder may be on read-only media. A store is seen as it was committed when it was opened, which is
    /// when it is first needed, and again after it has been idle. Databases that are there can be opened and read. What would
    /// write ends with `ReadOnlyError`, which is what the specification calls a write where one may only read: a transaction that
    /// writes, an upgrade, a database to be made or deleted, and the calls that delete, repair or mark an origin. Nothing that is
    /// damaged is passed over: what cannot be read whole fails as in a store that is open for writing. Private sessions, in
    /// memory, are as ever.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use larder_idb::{ErrorName, MemoryFileSystem, TransactionMode, ObjectStoreParameters, Origin, Storage, StorageOptions, SystemClock, TransactionOptions};
    /// # let fs = Arc::new(MemoryFileSystem::new());
    /// # let origin = Origin::from_url("https://a.example").unwrap();
    /// # let options = || StorageOptions::new(fs.clone(), "idb", Arc::new(SystemClock));
    /// # let writing = Storage::new(options())?;
    /// # let opening = writing.factory(&origin).open("db", None)?.with_upgrade(|upgrade| {
    /// #     let parameters = ObjectStoreParameters::default();
    /// #     upgrade.transaction.create_object_store("notes", parameters).map(drop)
    /// # });
    /// # let written = opening.wait()?;
    /// let mut options = options();
    /// options.read_only = true;
    /// let storage = Storage::new(options)?;
    /// let connection = storage.factory(&origin).open("db", None)?.connection().wait()?;
    /// let names = ["notes"];
    /// let reading = connection.transaction(&names, TransactionMode::ReadOnly, TransactionOptions::default())?;
    /// let writing = connection.transaction(&names, TransactionMode::ReadWrite, TransactionOptions::default());
    /// assert_eq!(writing.unwrap_err().name(), ErrorName::ReadOnlyError);
    /// # Ok::<(), larder_idb::Error>(())
    /// ```
    pub read_only: bool,
    pub(crate) maintenance: Arc<MaintenanceSchedule>,
}

impl StorageOptions {
    /// The origins' stores in this folder, with the values that each field names.
    #[must_use]
    pub fn new(fs: Arc<dyn FileSystem>, folder: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        let folder = folder.into();
        Self {
            fs,
            buckets_folder: folder.with_file_name("WebStorage"),
            folder,
            clock,
            executor: Executor::default(),
            on_work: None,
            background_threads: NonZeroUsize::MIN.saturating_add(1),
            idle_grace: Duration::from_secs(2),
            idle_stores_max: 16,
            scheduling: Scheduling::default(),
            random_seed: 0,
            block_cache_bytes: 64 << 20,
            write_buffer_bytes: 16 << 20,
            transaction_memory_bytes: 16 << 20,
            new_store_version: NEW_STORE_VERSION,
            new_store_form: StoreForm::default(),
            raise_data_version: RaiseDataVersion::default(),
            raise_schema: false,
            trusts_order: false,
            on_loss: None,
            reserve_bytes: 32 << 10,
            quota_bytes: u64::MAX,
            on_over_quota: None,
            read_only: false,
            maintenance: Arc::default(),
        }
    }

    /// The origins' stores in this folder on the disk, by the system's clock.
    #[must_use]
    pub fn on_disk(folder: impl Into<PathBuf>) -> Self {
        Self::new(
            Arc::new(DiskFileSystem::new()),
            folder,
            Arc::new(SystemClock),
        )
    }

    /// Stores that are gone with the storage.
    #[must_use]
    pub fn in_memory(clock: Arc<dyn Clock>) -> Self {
        Self {
            new_store_version: DATA_VERSION_MAX,
            raise_data_version: RaiseDataVersion::WhenNeeded,
            reserve_bytes: 0,
            ..Self::new(Arc::new(MemoryFileSystem::new()), "idb", clock)
        }
    }

    /// Where tables are compacted: in caller-driven mode by the host's own calls alone, so that nothing runs beside them.
    pub(crate) fn background(&self, chores: &Arc<Chores>) -> Background {
        match self.executor {
            Executor::Threads(_) => Background::Pool(Arc::new(EngineWork(Arc::clone(chores)))),
            Executor::Driven { .. } => Background::Caller,
        }
    }

    pub(crate) fn background_thread_count(&self) -> usize {
        match self.executor {
            Executor::Threads(_) => self.background_threads.get(),
            Executor::Driven { .. } => 0,
        }
    }
}
