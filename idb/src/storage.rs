//! A folder of stores, one for each origin, or the same in memory: where everything begins.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use larder_backing_store::{
    Background, Clock, DATA_VERSION_MAX, MaintenanceSchedule, NEW_STORE_VERSION, RaiseDataVersion,
};
use larder_codec::{DataVersion, Origin as OriginName};
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};

use crate::error::Result;
use crate::executor::{
    BackgroundThreads, Callback, Chores, EngineWork, Executor, Job, Pool, Ready, Timetable,
    WorkCallback,
};
use crate::factory::Factory;
use crate::loss::LossCallback;
use crate::origin::{BucketId, Deletions, IdleStores, Origin, Place, Shared};
use crate::quota::QuotaCallback;
use crate::request::driver::Driver;
use crate::session::PrivateSession;
use crate::sync::{AtomicBool, AtomicU64, Mutex, locked, thread};

/// Of fewer origins than these, none is forgotten.
const ORIGINS_KEPT_MIN: usize = 64;

/// Which transactions wait for which.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
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
    /// Tells when maintenance is due.
    pub clock: Arc<dyn Clock>,
    /// Who executes requests (two threads).
    pub executor: Executor,
    /// In caller-driven mode, called when there is something to do again ([`WorkCallback`]; none).
    pub on_work: Option<WorkCallback>,
    /// How many threads do what goes on behind requests, for all origins together: compacting tables, and closing stores (two).
    /// A thread that executes requests has to do that itself only where it would otherwise wait for it. In caller-driven mode
    /// there are none.
    pub background_threads: NonZeroUsize,
    /// A store that nobody uses is closed when so much time has passed (2 s, as in Chromium), and opened again when it is needed.
    /// [`Duration::MAX`] leaves it open. It is in use as long as there is a connection, or a value with a blob or file. In
    /// caller-driven mode it is closed in a step ([`Storage::run_one`]).
    pub idle_grace: Duration,
    /// So many stores that nobody uses are open at a time at most (16): whoever opens another closes first what has not been used
    /// for longest. Each has a handful of files open: its lock, log and MANIFEST, and tables that were read.
    pub idle_stores_max: usize,
    /// Which transactions wait for which ([`Scheduling::Specified`]).
    pub scheduling: Scheduling,
    /// Where random choices of maintenance start from (0).
    pub random_seed: u64,
    /// Size of the cache of LevelDB blocks of each origin, in bytes (8 MiB).
    pub block_cache_bytes: usize,
    /// A LevelDB memtable of so many bytes becomes a table (16 MiB); an origin has up to two, and a third while somebody
    /// reads it. After a crash as much is read from the log again; closing leaves no more than 4 MiB there.
    pub write_buffer_bytes: usize,
    /// A transaction's writes stay in memory up to so many bytes (16 MiB).
    pub transaction_memory_bytes: usize,
    /// The versions of the value formats that a new store gets ([`NEW_STORE_VERSION`], those of Chromium 92). A store that is
    /// there keeps its own, and values are written in them or lesser ones. In memory, where no browser opens it,
    /// [`DATA_VERSION_MAX`](crate::DATA_VERSION_MAX).
    pub new_store_version: DataVersion,
    /// When a store's data version may be raised, for a value that has no form in it. A browser or Electron with lesser versions
    /// **deletes** the store when it opens it next ([`RaiseDataVersion::WhileNew`]; in memory
    /// [`WhenNeeded`](RaiseDataVersion::WhenNeeded), as no browser opens it).
    pub raise_data_version: RaiseDataVersion,
    /// Whether opening for writing raises a store of schema 3 or 4 (Chromium 83 and older, which delete it then) to today's
    /// (`false`).
    pub raise_schema: bool,
    /// Called when something that was stored turns out to be damaged or lost, with words that a person can be shown ([`Loss`](crate::Loss);
    /// none).
    pub on_loss: Option<LossCallback>,
    /// A file of so many bytes is kept in each origin's LevelDB folder, so that there is room for deleting on a full disk
    /// (32 KiB; 0: none, also in memory). Chromium passes over it.
    pub reserve_bytes: usize,
    /// How many bytes the files of each origin may have ([`u64::MAX`]: no limit), if it has no quota of its own
    /// ([`Factory::set_quota_bytes`]). A transaction that would pass it ends with `QuotaExceededError`, and has written nothing; one that
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
    /// # let opening = writing.factory(&origin).open(&"db".into(), None)?.with_upgrade(|upgrade| {
    /// #     let parameters = ObjectStoreParameters::default();
    /// #     upgrade.transaction.create_object_store(&"notes".into(), parameters).map(drop)
    /// # });
    /// # let written = opening.wait()?;
    /// let mut options = options();
    /// options.read_only = true;
    /// let storage = Storage::new(options)?;
    /// let connection = storage.factory(&origin).open(&"db".into(), None)?.connection().wait()?;
    /// let names = ["notes".into()];
    /// let reading = connection.transaction(&names, TransactionMode::ReadOnly, TransactionOptions::default())?;
    /// let writing = connection.transaction(&names, TransactionMode::ReadWrite, TransactionOptions::default());
    /// assert_eq!(writing.unwrap_err().name(), ErrorName::ReadOnlyError);
    /// # Ok::<(), larder_idb::Error>(())
    /// ```
    pub read_only: bool,
    pub(crate) maintenance: Arc<MaintenanceSchedule>,
}

impl StorageOptions {
    /// The origins' stores in this folder, with the values above.
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
            block_cache_bytes: 8 << 20,
            write_buffer_bytes: 16 << 20,
            transaction_memory_bytes: 16 << 20,
            new_store_version: NEW_STORE_VERSION,
            raise_data_version: RaiseDataVersion::default(),
            raise_schema: false,
            on_loss: None,
            reserve_bytes: 32 << 10,
            quota_bytes: u64::MAX,
            on_over_quota: None,
            read_only: false,
            maintenance: Arc::default(),
        }
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

    /// Who compacts tables: in caller-driven mode nothing happens behind the host's back.
    fn background(&self, chores: &Arc<Chores>) -> Background {
        match self.executor {
            Executor::Threads(_) => Background::Pool(Arc::new(EngineWork(Arc::clone(chores)))),
            Executor::Driven { .. } => Background::Caller,
        }
    }

    fn background_thread_count(&self) -> usize {
        match self.executor {
            Executor::Threads(_) => self.background_threads.get(),
            Executor::Driven { .. } => 0,
        }
    }
}

/// The databases of all origins. Clones are the same storage.
///
/// With threads it is there until the last handle to it and to anything in it goes, and then ends what has been asked for. In
/// caller-driven mode nobody could run steps without it: when its last clone and the last [`Factory`] go, it is closed as by
/// [`close`](Self::close).
#[derive(Clone)]
pub struct Storage(Arc<Root>);

/// What a host has to drive with.
pub(crate) struct Root {
    pub(crate) inner: Arc<StorageInner>,
}

impl Drop for Root {
    fn drop(&mut self) {
        if self.inner.ready().is_driven() {
            // Whoever cares about the result calls `close`.
            let _ = self.inner.close();
        }
    }
}

/// The shared part.
pub(crate) struct StorageInner {
    shared: Arc<Shared>,
    origins: Mutex<Origins>,
    is_closed: AtomicBool,
    pool: Pool,
    chores: Arc<Chores>,
    background: BackgroundThreads,
    next_session: AtomicU64,
}

/// Those that somebody has asked for.
#[derive(Default)]
struct Origins {
    by_name: BTreeMap<String, Arc<Origin>>,
    /// From so many on, those are looked for that nobody has and whose store is closed.
    purge_at: usize,
}

impl Origins {
    fn purge(&mut self) {
        if self.by_name.len() >= self.purge_at {
            let is_wanted = |origin: &Arc<Origin>| Arc::strong_count(origin) > 1;
            self.by_name
                .retain(|_, origin| is_wanted(origin) || !origin.is_closed());
            self.purge_at = self.by_name.len() * 2 + ORIGINS_KEPT_MIN;
        }
    }
}

impl StorageInner {
    pub(crate) fn ready(&self) -> &Arc<Ready> {
        self.pool.ready()
    }

    pub(crate) fn options(&self) -> &StorageOptions {
        &self.shared.options
    }

    /// The place of an origin's default bucket, or of another one.
    pub(crate) fn place(&self, name: &OriginName, bucket: Option<BucketId>) -> Place {
        let options = self.options();
        let fs = Arc::clone(&options.fs);
        match bucket {
            None => Place::of_origin(fs, &options.folder, name),
            Some(id) => Place::of_bucket(fs, &options.buckets_folder, id, name),
        }
    }

    /// An origin's part in a place.
    pub(crate) fn origin(&self, name: &OriginName, place: Place) -> Arc<Origin> {
        let mut origins = locked(&self.origins);
        origins.purge();
        let entry = origins.by_name.entry(place.key.clone());
        let new = || self.new_origin(name, place);
        Arc::clone(entry.or_insert_with(new))
    }

    /// The origin for a look at its files. An origin that no host has asked for is not kept in the list.
    pub(crate) fn look_at(&self, name: &OriginName, place: Place) -> Arc<Origin> {
        let known = locked(&self.origins).by_name.get(&place.key).cloned();
        known.unwrap_or_else(|| self.new_origin(name, place))
    }

    fn new_origin(&self, name: &OriginName, place: Place) -> Arc<Origin> {
        let origin = Arc::new(Origin::new(name.clone(), place, Arc::clone(&self.shared)));
        if self.is_closed() {
            origin.refuse_new();
        }
        origin
    }

    /// All origins that a host has asked for.
    pub(crate) fn known(&self) -> Vec<Arc<Origin>> {
        locked(&self.origins).by_name.values().cloned().collect()
    }

    pub(crate) fn deletions(&self) -> &Deletions {
        &self.shared.deletions
    }

    /// Whether nothing new is begun.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// What ends a storage, beside its origins.
    pub(crate) fn threads(&self) -> (&Pool, &Arc<Chores>, &BackgroundThreads) {
        (&self.pool, &self.chores, &self.background)
    }

    /// Nothing new is begun from now on: all origins that there have been.
    pub(crate) fn refuse_new(&self) -> Vec<Arc<Origin>> {
        let origins = locked(&self.origins);
        // Seen with the lock by whoever adds one.
        self.is_closed.store(true, Ordering::Release);
        origins.by_name.values().cloned().collect()
    }
}

/// Whatever is in the queue of tasks is done without demand.
impl Driver for StorageInner {
    fn ready(&self) -> &Arc<Ready> {
        self.pool.ready()
    }

    fn demand(self: Arc<Self>, _: u64) {}

    fn help(self: Arc<Self>, _: u64) {}

    fn wait(self: Arc<Self>, _: u64, is_done: &dyn Fn() -> bool) {
        while !is_done() {
            thread::park();
        }
    }

    fn note_taken(&self, _: u64, _: bool) {}

    fn deliver(self: Arc<Self>, _: u64, _: bool, callback: Callback) {
        self.pool.ready().push(Arc::new(Job::new(callback)));
    }
}

impl Storage {
    /// Sets it up. No store is opened before it is needed.
    ///
    /// # Errors
    /// `UnknownError` if a thread cannot be started.
    pub fn new(options: StorageOptions) -> Result<Self> {
        let pool = Pool::start(options.executor, options.on_work.clone())?;
        let chores = Arc::<Chores>::default();
        let idle = Arc::new(IdleStores::new(
            Arc::clone(&options.clock),
            options.idle_grace,
            options.idle_stores_max,
            Arc::clone(&chores),
            Arc::clone(pool.ready()),
        ));
        let timetable = Arc::clone(&idle) as Arc<dyn Timetable>;
        let count = options.background_thread_count();
        let background = BackgroundThreads::start(Arc::clone(&chores), &timetable, count)?;
        let shared = Shared {
            background: options.background(&chores),
            options,
            ready: Arc::clone(pool.ready()),
            idle,
            deletions: Deletions::default(),
        };
        let inner = Arc::new(StorageInner {
            shared: Arc::new(shared),
            origins: Mutex::default(),
            is_closed: AtomicBool::new(false),
            pool,
            chores,
            background,
            next_session: AtomicU64::new(0),
        });
        Ok(Self(Arc::new(Root { inner })))
    }

    /// The databases of an origin. An opaque one has none: requests end with `SecurityError`.
    #[must_use]
    pub fn factory(&self, origin: &OriginName) -> Factory {
        self.factory_at(origin, self.0.inner.place(origin, None))
    }

    /// The databases of an origin in another bucket than its default one in its own site: a named one, or that of a page within
    /// another site's. The bucket's number is that of Chromium's quota database, or the host's own if no browser opens the
    /// store; it stands for the bucket's name and storage key, and belongs to one origin: while that has it open, another one
    /// is refused ([`Conflict`](crate::ErrorKind::Conflict)).
    #[must_use]
    pub fn bucket(&self, origin: &OriginName, id: BucketId) -> Factory {
        self.factory_at(origin, self.0.inner.place(origin, Some(id)))
    }

    /// A session whose stores lie in memory, beside those on disk, and go with it.
    #[must_use]
    pub fn private_session(&self) -> PrivateSession {
        let number = self.0.inner.next_session.fetch_add(1, Ordering::Relaxed);
        PrivateSession::new(number, self.clone())
    }

    pub(crate) fn factory_at(&self, origin: &OriginName, place: Place) -> Factory {
        Factory::new(self.0.inner.origin(origin, place), Arc::clone(&self.0))
    }

    pub(crate) fn inner(&self) -> &Arc<StorageInner> {
        &self.0.inner
    }

    /// Does one step of what can be done now: whether there was one. A step executes one operation of one transaction, or
    /// takes one request to open or delete a database further, or calls one event's callback; when there is nothing else, it
    /// closes one store that has been idle for its time.
    ///
    /// With [`Executor::Threads`] it helps the threads, and does as much as they would in a turn.
    ///
    /// # Panics
    /// In caller-driven mode, with what a callback threw. The step was brought to its end before.
    pub fn run_one(&self) -> bool {
        let inner = &self.0.inner;
        loop {
            if inner.ready().run_one() || inner.shared.idle.close_one_due() {
                return true;
            }
            if inner.ready().let_host_rest() {
                return false;
            }
        }
    }

    /// In what time there is a step to be done, if nothing is asked for until then: at once, if there is one now; `None` if never. Only
    /// the closing of idle stores waits for a time ([`StorageOptions::idle_grace`]), which is the storage's clock's. A host asks when it
    /// has run all steps and before it sleeps, so that it need not look again and again; with
    /// [`Executor::Threads`] it is always `None`.
    ///
    /// A loop that sleeps as long as there is nothing to do:
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use std::sync::atomic::{AtomicBool, Ordering};
    /// # use std::thread;
    /// # use larder_idb::{Executor, Origin, Storage, StorageOptions, SystemClock, WorkCallback};
    /// let mut options = StorageOptions::in_memory(Arc::new(SystemClock));
    /// options.executor = Executor::Driven { seed: None };
    /// let this = thread::current();
    /// options.on_work = Some(WorkCallback::new(move || this.unpark()));
    /// let storage = Storage::new(options)?;
    ///
    /// let is_done = Arc::new(AtomicBool::new(false));
    /// let (other, told) = (storage.clone(), Arc::clone(&is_done));
    /// let page = thread::spawn(move || {
    ///     let factory = other.factory(&Origin::from_url("https://a.example").unwrap());
    ///     let opened = factory.open(&"db".into(), None).unwrap().connection();
    ///     opened.on_done(move |_| told.store(true, Ordering::Release));
    /// });
    /// loop {
    ///     storage.run_until_idle();
    ///     if is_done.load(Ordering::Acquire) {
    ///         break;
    ///     }
    ///     match storage.next_due() {
    ///         Some(wait) => thread::park_timeout(wait),
    ///         None => thread::park(),
    ///     }
    /// }
    /// # page.join().unwrap();
    /// # Ok::<(), larder_idb::Error>(())
    /// ```
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        let inner = &self.0.inner;
        match inner.ready().is_driven() {
            true if inner.ready().has_tasks() => Some(Duration::ZERO),
            true => inner.shared.idle.next_due(),
            false => None,
        }
    }

    /// Does all that can be done now. What then is left waits for the host.
    ///
    /// # Panics
    /// As [`run_one`](Self::run_one).
    pub fn run_until_idle(&self) {
        while self.run_one() {}
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage")
            .field("folder", &self.0.inner.shared.options.folder)
            .finish_non_exhaustive()
    }
}
