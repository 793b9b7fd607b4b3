//! The file system: LevelDB's seam over a namespace, which is written by one process or read by any.

mod collect;
mod copy_up;
mod course;
mod fetches;
mod lock;
mod names;
mod read;
mod tail;
mod write;

use crate::cache::ChunkCache;
use crate::cluster::Cluster;
use crate::content::Source;
use crate::error::{Error, ErrorKind, Result};
use crate::key::Keys;
use crate::namespace::Namespace;
use crate::owner::Owner;
use crate::row::CHUNK_LEN_MAX;
use crate::session::Session;
use collect::{DELETED_MAX, Orphans};
use fetches::Fetches;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tail::Live;

/// How files are kept.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of a chunk, at most [`Options::CHUNK_LEN_MAX`].
    pub chunk_len: u32,
    /// What is synced and not longer than this is put into the catalogue in the commit that names it; longer pieces, and whole chunks, go to the
    /// blob before.
    pub inline_len_max: usize,
    /// How long what was flushed and not synced, and names that were made or removed, may wait in this process. Zero: a flush is a sync.
    pub flush_delay: Duration,
    /// How long the content of a removed or replaced file is kept for readers elsewhere that have it open.
    pub grace: Duration,
    /// Bytes of chunks that are kept in memory.
    pub cache_len_max: usize,
    /// How many requests fetch content at once, of a file that is read in order: one for what is asked for, and the others for what follows, each on
    /// a thread that has ended when the file system is closed or dropped. A connection has six such threads at most, whatever is read. 0 and 1: none is started.
    pub fetches_at_once: usize,
}

impl Options {
    /// The largest chunk.
    pub const CHUNK_LEN_MAX: u32 = CHUNK_LEN_MAX;
}

impl Default for Options {
    fn default() -> Options {
        Options {
            chunk_len: 64 << 10,
            inline_len_max: 16 << 10,
            flush_delay: Duration::from_millis(200),
            grace: Duration::from_secs(60),
            cache_len_max: 32 << 20,
            fetches_at_once: 3,
        }
    }
}

/// The files of a namespace. Clones are the same.
///
/// ```
/// use larder_leveldb::storage::{FileSystem, conformance};
/// use larder_remote_files::model::{Model, ModelClock};
/// use larder_remote_files::{Cluster, Namespace, Options, RemoteFileSystem, Session, SessionOptions};
/// use std::{path::Path, sync::Arc, time::Duration};
///
/// let clock = Arc::new(ModelClock::new());
/// let client = Arc::new(Model::new(clock.clone()).client());
/// let cluster = Cluster::new(client.clone(), client, clock, Duration::from_secs(10));
/// let options = SessionOptions { nonce: [7; 16], label: "a test".into(), duration: Duration::from_secs(10) };
/// let session = Session::begin(&cluster, options)?;
/// let namespace = Namespace::new("notes")?;
/// let files = RemoteFileSystem::write(&session, &namespace, Options::default(), Duration::ZERO)?;
/// files.create_dir(Path::new("db"))?;
/// conformance::check(&files, Path::new("db"))?;
/// files.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RemoteFileSystem {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    cluster: Cluster,
    namespace: Namespace,
    keys: Keys,
    options: Options,
    cache: Arc<ChunkCache>,
    /// `None`: it only reads.
    owner: Option<Owner>,
    /// Files that are being written, by blob.
    live: Mutex<BTreeMap<u64, Arc<Live>>>,
    /// How many handles each blob has in this process.
    open: Mutex<BTreeMap<u64, usize>>,
    /// The blobs of the files whose locks are held.
    locks: Mutex<Vec<Arc<AtomicU64>>>,
    orphans: Mutex<Orphans>,
    /// Whether content lies where this process looks, once that is known.
    is_placed: AtomicBool,
    fetches: Fetches,
    /// How many chunks a scan has fetched at once that has come to the end of its file, until one goes on at the start of another; else 0.
    scan_ahead: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RemoteFileSystem {
    /// Takes a namespace to write it. If another process writes it, waits for its end, at most for `wait`: when that process has
    /// died, for as long as its lease.
    ///
    /// # Errors
    /// `Held` if it is still held then, `Usage` for options that cannot be and for content that lies elsewhere than this process looks, and the engine's errors.
    pub fn write(
        session: &Session,
        namespace: &Namespace,
        options: Options,
        wait: Duration,
    ) -> Result<RemoteFileSystem> {
        check(&options)?;
        let (owner, content) = Owner::take(session, namespace, wait)?;
        let files = RemoteFileSystem::new(session.cluster(), namespace, options, Some(owner));
        files.shared.keep(&content);
        Ok(files)
    }

    /// For reading, beside a process that writes: each file is seen as it was last synced when it is opened.
    ///
    /// # Errors
    /// `Usage` for options that cannot be. Content that lies elsewhere than this process looks is one when it is read: names are there without it.
    pub fn read(
        cluster: &Cluster,
        namespace: &Namespace,
        options: Options,
    ) -> Result<RemoteFileSystem> {
        check(&options)?;
        Ok(RemoteFileSystem::new(cluster, namespace, options, None))
    }

    fn new(
        cluster: &Cluster,
        namespace: &Namespace,
        options: Options,
        owner: Option<Owner>,
    ) -> RemoteFileSystem {
        RemoteFileSystem {
            shared: Arc::new(Shared {
                cluster: cluster.clone(),
                namespace: namespace.clone(),
                keys: Keys::new(namespace),
                cache: Arc::new(ChunkCache::new(options.cache_len_max)),
                // A process that has taken the namespace has looked.
                is_placed: AtomicBool::new(owner.is_some()),
                options,
                owner,
                live: Mutex::default(),
                open: Mutex::default(),
                locks: Mutex::default(),
                orphans: Mutex::default(),
                fetches: Fetches::default(),
                scan_ahead: AtomicU64::new(0),
            }),
        }
    }

    /// The namespace.
    pub fn namespace(&self) -> &Namespace {
        &self.shared.namespace
    }

    /// How often the namespace has changed hands, this time included. `None` if it is only read.
    pub fn epoch(&self) -> Option<u32> {
        self.shared.owner.as_ref().map(Owner::epoch)
    }

    /// Bytes of chunks in memory.
    pub fn cached_bytes(&self) -> usize {
        self.shared.cache.len_bytes()
    }

    /// Does what was put off: commits what was flushed longer ago than its delay, and deletes what has had its grace, a hundred blobs at most. A
    /// [`Keeper`](crate::Keeper) calls this; a host without threads does.
    ///
    /// # Errors
    /// The engine's. What fails is tried again by the next call, and reported by the files it belongs to, too.
    pub fn tick(&self) -> io::Result<()> {
        let flushed = self.shared.commit_flushed();
        let flushed = flushed.and(self.shared.settle_staged());
        self.shared
            .collect(self.shared.options.grace, DELETED_MAX)?;
        flushed
    }

    /// Deletes what no name refers to and no process needs any more, without waiting for the grace. Readers elsewhere that have such a file
    /// open fail with [`Gone`](ErrorKind::Gone) afterwards. Returns the number of blobs that went.
    ///
    /// # Errors
    /// `ReadOnly`, and the engine's.
    pub fn collect_garbage(&self) -> io::Result<usize> {
        self.shared.owner()?.settle()?;
        self.shared.search_orphans();
        self.shared.collect(Duration::ZERO, usize::MAX)
    }

    /// Commits what was flushed, and gives the namespace up, so that another process can take it at once. Handles that are still there
    /// fail from now on.
    ///
    /// # Errors
    /// If something that was flushed is lost, or another process has taken the namespace.
    pub fn close(self) -> io::Result<()> {
        self.shared.close()
    }

    pub(crate) fn is_used_elsewhere(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }
}

fn check(options: &Options) -> Result<()> {
    match (1..=CHUNK_LEN_MAX).contains(&options.chunk_len) {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::Usage,
            format!(
                "a chunk has 1 to {CHUNK_LEN_MAX} bytes, not {}",
                options.chunk_len
            ),
        )),
    }
}

impl Shared {
    fn owner(&self) -> Result<&Owner> {
        self.owner.as_ref().ok_or_else(|| {
            let what = format!("{}: it is open for reading only", self.namespace);
            Error::new(ErrorKind::ReadOnly, what)
        })
    }

    fn source(&self) -> Source<'_> {
        Source {
            cluster: &self.cluster,
            namespace: &self.namespace,
            keys: &self.keys,
        }
    }

    fn close(&self) -> io::Result<()> {
        self.fetches.end();
        let Some(owner) = &self.owner else {
            return Ok(());
        };
        let live: Vec<Arc<Live>> = locked(&self.live).values().cloned().collect();
        let mut finished = Ok(());
        for live in live {
            finished = finished.and(live.finish(self));
        }
        let released = owner.release();
        finished?;
        Ok(released?)
    }

    /// A handle of a blob is made: the blob stays until the handle goes.
    fn hold(self: &Arc<Self>, blob: u64) -> Hold {
        *locked(&self.open).entry(blob).or_default() += 1;
        Hold {
            shared: Arc::clone(self),
            blob,
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // `close` returns the result.
        if self
            .owner
            .as_ref()
            .is_some_and(|owner| owner.check().is_ok())
        {
            self.close().ok();
        }
    }
}

/// Keeps a blob from being deleted by this process.
#[derive(Debug)]
struct Hold {
    shared: Arc<Shared>,
    blob: u64,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut open = locked(&self.shared.open);
        if let Some(count) = open.get_mut(&self.blob) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.blob);
            }
        }
    }
}
