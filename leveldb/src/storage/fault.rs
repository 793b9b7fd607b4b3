//! A file system that fails an operation by number.

use super::{FileLock, FileSystem, LockHolder, Metadata, RandomFile, SequentialFile, WritableFile};
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;
use std::{fmt, io};

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The number of the operation, counted from 1 since the file system was made.
    pub operation: u64,
    /// With which error.
    pub kind: io::ErrorKind,
    /// Whether everything after it fails as well.
    pub every_later_too: bool,
}

/// What an operation that fails has done by then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// Nothing, but for appends: of what was to be added the first half is there then, as on a full disk.
    #[default]
    Part,
    /// All of it: the error came after that.
    All,
}

/// In which manner operations fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// The system's number of the error, in place of [`Fault::kind`]: of `EIO`, for instance, there is no kind.
    pub raw_os_error: Option<i32>,
    /// What is done nevertheless.
    pub effect: Effect,
}

/// Passes everything on to another file system, and counts: every call of [`FileSystem`], [`RandomFile`],
/// [`SequentialFile`], [`WritableFile`] and [`FileLock`] is one operation. What one that fails has done is its
/// [`Effect`].
///
/// After a sync that fails, with [`Effect::Part`], what it should have covered is on the medium neither then nor after later syncs,
/// unless it is cut off and written anew.
#[derive(Debug)]
pub struct FaultFileSystem {
    inner: Arc<dyn FileSystem>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    count: AtomicU64,
    fault: Mutex<Option<Fault>>,
    manner: Mutex<Manner>,
    failed: Mutex<Vec<&'static str>>,
    watcher: OnceLock<Watcher>,
}

/// Called before every operation.
struct Watcher(Box<dyn Fn(u64) + Send + Sync>);

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn step(&self, what: &'static str) -> io::Result<()> {
        let n = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(Watcher(watch)) = self.watcher.get() {
            watch(n);
        }
        let is_hit =
            |fault: &Fault| n == fault.operation || (fault.every_later_too && n > fault.operation);
        let fault = *locked(&self.fault);
        match fault.filter(is_hit) {
            None => Ok(()),
            Some(fault) => {
                locked(&self.failed).push(what);
                let text = format!("injected fault at operation {n}, {what}");
                Err(match locked(&self.manner).raw_os_error {
                    Some(number) => io::Error::from_raw_os_error(number),
                    None => io::Error::new(fault.kind, text),
                })
            }
        }
    }

    /// An operation that changes something.
    fn change<T>(&self, what: &'static str, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.step(what) {
            Ok(()) => work(),
            Err(error) => {
                if locked(&self.manner).effect == Effect::All {
                    work()?;
                }
                Err(error)
            }
        }
    }
}

impl FaultFileSystem {
    /// Over another file system, without a fault.
    pub fn new(inner: Arc<dyn FileSystem>) -> FaultFileSystem {
        FaultFileSystem {
            inner,
            state: Arc::default(),
        }
    }

    /// Sets what fails, in place of what was set before.
    pub fn fail_at(&self, fault: Fault) {
        *locked(&self.state.fault) = Some(fault);
    }

    /// Sets in which manner what fails does so.
    pub fn set_manner(&self, manner: Manner) {
        *locked(&self.state.manner) = manner;
    }

    /// Nothing fails from now on.
    pub fn heal(&self) {
        *locked(&self.state.fault) = None;
    }

    /// How many operations there were.
    pub fn operations(&self) -> u64 {
        self.state.count.load(Ordering::Relaxed)
    }

    /// The names of the operations that failed.
    pub fn failed(&self) -> Vec<&'static str> {
        locked(&self.state.failed).clone()
    }

    /// Calls `watcher` with the number of each operation before it is done: to see what a crash there would leave. The first
    /// call of this stands.
    pub fn watch(&self, watcher: impl Fn(u64) + Send + Sync + 'static) {
        let _ = self.state.watcher.set(Watcher(Box::new(watcher)));
    }
}

impl FileSystem for FaultFileSystem {
    fn open_random(&self, path: &Path) -> io::Result<Arc<dyn RandomFile>> {
        self.state.step("open_random")?;
        let inner = self.inner.open_random(path)?;
        Ok(Arc::new(Faulty {
            inner,
            state: self.state.clone(),
        }))
    }

    fn open_sequential(&self, path: &Path) -> io::Result<Box<dyn SequentialFile>> {
        self.state.step("open_sequential")?;
        let inner = self.inner.open_sequential(path)?;
        Ok(Box::new(Faulty {
            inner,
            state: self.state.clone(),
        }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        let inner = self.state.change("create", || self.inner.create(path))?;
        Ok(FaultyWriter::new(inner, &self.state, 0))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        let inner = self.state.change("append", || self.inner.append(path))?;
        let len = self.inner.metadata(path)?.len_bytes;
        Ok(FaultyWriter::new(inner, &self.state, len))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.state.change("rename", || self.inner.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.state.change("remove", || self.inner.remove(path))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<OsString>> {
        self.state.step("list")?;
        self.inner.list(dir)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.state.step("metadata")?;
        self.inner.metadata(path)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.state
            .change("create_dir", || self.inner.create_dir(dir))
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.state
            .change("remove_dir", || self.inner.remove_dir(dir))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.state.step("lock")?;
        let inner = self.inner.lock(path)?;
        Ok(Box::new(Faulty {
            inner,
            state: self.state.clone(),
        }))
    }

    fn lock_holder(&self, path: &Path) -> io::Result<Option<LockHolder>> {
        self.state.step("lock_holder")?;
        self.inner.lock_holder(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.state.change("sync_dir", || self.inner.sync_dir(dir))
    }
}

#[derive(Debug)]
struct Faulty<F> {
    inner: F,
    state: Arc<State>,
}

impl RandomFile for Faulty<Arc<dyn RandomFile>> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.state.step("read_at")?;
        self.inner.read_at(offset, buffer)
    }

    fn len(&self) -> io::Result<u64> {
        self.state.step("len")?;
        self.inner.len()
    }

    fn is_empty(&self) -> io::Result<bool> {
        self.state.step("is_empty")?;
        self.inner.is_empty()
    }
}

impl SequentialFile for Faulty<Box<dyn SequentialFile>> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.state.step("read")?;
        self.inner.read(buffer)
    }
}

/// A file, and what a failed sync has made of it.
#[derive(Debug)]
struct FaultyWriter {
    inner: Box<dyn WritableFile>,
    state: Arc<State>,
    len: u64,
    /// What a sync of this handle has covered.
    synced_len: u64,
    /// A sync has failed with bytes that none had covered. As on Linux the system has given those up and said so once: later
    /// syncs succeed, and do nothing for them.
    has_given_up: bool,
}

impl FaultyWriter {
    fn new(inner: Box<dyn WritableFile>, state: &Arc<State>, len: u64) -> Box<FaultyWriter> {
        Box::new(FaultyWriter {
            inner,
            state: Arc::clone(state),
            len,
            synced_len: 0,
            has_given_up: false,
        })
    }

    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.inner.append(bytes)?;
        self.len += bytes.len() as u64;
        Ok(())
    }
}

impl WritableFile for FaultyWriter {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.state.step("append bytes") {
            let len = match locked(&self.state.manner).effect {
                Effect::Part => bytes.len() / 2,
                Effect::All => bytes.len(),
            };
            self.add(&bytes[..len])?;
            return Err(error);
        }
        self.add(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.state.change("flush", || self.inner.flush())
    }

    fn sync(&mut self) -> io::Result<()> {
        let synced = self.state.change("sync", || match self.has_given_up {
            true => self.inner.flush(),
            false => self.inner.sync(),
        });
        let is_done = synced.is_ok() || locked(&self.state.manner).effect == Effect::All;
        if !is_done {
            self.has_given_up |= self.len > self.synced_len;
        } else if !self.has_given_up {
            self.synced_len = self.len;
        }
        synced
    }

    fn set_modified(&mut self, time: SystemTime) -> io::Result<()> {
        self.state
            .change("set_modified", || self.inner.set_modified(time))
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        let cut = self
            .state
            .change("truncate", || self.inner.truncate(len_bytes));
        if cut.is_ok() || locked(&self.state.manner).effect == Effect::All {
            self.len = len_bytes;
            self.synced_len = self.synced_len.min(len_bytes);
            // What was given up is no part of it any more.
            self.has_given_up &= self.len > self.synced_len;
        }
        cut
    }
}

impl FileLock for Faulty<Box<dyn FileLock>> {
    fn is_held(&self) -> io::Result<bool> {
        self.state.step("is_held")?;
        self.inner.is_held()
    }
}
