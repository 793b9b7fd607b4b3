//! A folder of stores, one for each origin, or the same in memory: where everything begins.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use larder_backing_store::BlockCache;
use larder_codec::Origin as OriginName;

use crate::bucket_id::BucketId;
use crate::error::Result;
use crate::executor::{BackgroundThreads, Callback, Chores, Job, Pool, Ready, Timetable};
use crate::options::StorageOptions;
use crate::origin::{Deletions, IdleStores, Origin, Place, Shared};
use crate::request::driver::Driver;
use crate::scheduler::Databases;
use crate::sync::{AtomicBool, AtomicU64, Mutex, locked, thread};

/// As long as there are fewer origins than these, all are kept in memory.
const ORIGINS_KEPT_MIN: usize = 64;

/// The databases of all origins. Clones are the same storage.
///
/// With threads it is there until the last handle to it and to anything in it goes, and then ends what has been asked for. In
/// caller-driven mode no steps could be run without it: when its last clone and the last [`Factory`](crate::Factory) go, it is closed as by
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
            // A host that needs the result calls `close`.
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

/// The origins that have been asked for.
#[derive(Default)]
struct Origins {
    by_name: BTreeMap<String, Arc<Databases>>,
    /// From so many on, origins are removed that have no handle and whose store is closed.
    purge_at: usize,
}

impl Origins {
    fn all(&self) -> Vec<Arc<Origin>> {
        let all = self.by_name.values();
        all.map(|databases| Arc::clone(&databases.origin)).collect()
    }

    fn purge(&mut self) {
        if self.by_name.len() >= self.purge_at {
            let is_wanted = |one: &Arc<Databases>| one.is_used() || !one.origin.is_closed();
            self.by_name.retain(|_, databases| is_wanted(databases));
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
        .for_new_in(options.new_store_form)
    }

    /// An origin's databases in a place.
    pub(crate) fn databases(&self, name: &OriginName, place: Place) -> Arc<Databases> {
        let mut origins = locked(&self.origins);
        origins.purge();
        let entry = origins.by_name.entry(place.key.clone());
        let new = || self.new_databases(name, place);
        Arc::clone(entry.or_insert_with(new))
    }

    /// An origin's part in a place.
    pub(crate) fn origin(&self, name: &OriginName, place: Place) -> Arc<Origin> {
        Arc::clone(&self.databases(name, place).origin)
    }

    /// The origin for a look at its files. An origin that no host has asked for is not kept in the list.
    pub(crate) fn look_at(&self, name: &OriginName, place: Place) -> Arc<Origin> {
        let known = locked(&self.origins).by_name.get(&place.key).cloned();
        let databases = known.unwrap_or_else(|| self.new_databases(name, place));
        Arc::clone(&databases.origin)
    }

    fn new_databases(&self, name: &OriginName, place: Place) -> Arc<Databases> {
        let databases = Databases::new(name.clone(), place, Arc::clone(&self.shared));
        if self.is_closed() {
            databases.origin.refuse_new();
        }
        databases
    }

    /// All origins that a host has asked for.
    pub(crate) fn known(&self) -> Vec<Arc<Origin>> {
        locked(&self.origins).all()
    }

    /// The number of a new session.
    pub(crate) fn next_session(&self) -> u64 {
        self.next_session.fetch_add(1, Ordering::Relaxed)
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
        // Set under the lock: an origin that is added later sees it.
        self.is_closed.store(true, Ordering::Release);
        origins.all()
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
    /// Makes a storage. No store is opened before it is needed.
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
            block_cache: BlockCache::new(options.block_cache_bytes),
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

    pub(crate) fn root(&self) -> &Arc<Root> {
        &self.0
    }

    pub(crate) fn inner(&self) -> &Arc<StorageInner> {
        &self.0.inner
    }

    /// Does one step of what can be done now: whether there was one. A step executes one operation of one transaction, or
    /// takes one request to open or delete a database further, or calls one event's callback; when there is nothing else, it
    /// closes one store that has been idle for its time.
    ///
    /// With [`Executor::Threads`](crate::Executor::Threads) it helps the threads, and does as much as they would in a turn.
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
    /// [`Executor::Threads`](crate::Executor::Threads) it is always `None`.
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
    /// let (other, opened) = (storage.clone(), Arc::clone(&is_done));
    /// let page = thread::spawn(move || {
    ///     let factory = other.factory(&Origin::from_url("https://a.example").unwrap());
    ///     let request = factory.open("db", None).unwrap().connection();
    ///     request.on_done(move |_| opened.store(true, Ordering::Release));
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
