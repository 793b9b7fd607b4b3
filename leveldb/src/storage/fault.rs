//! A file system that fails an operation by number.

use super::{FileLock, FileSystem, LockHolder, Metadata, RandomFile, SequentialFile, WritableFile};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

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

/// Passes everything on to another file system, and counts: every call of [`FileSystem`], [`RandomFile`],
/// [`SequentialFile`] and [`WritableFile`] is one operation. One that fails does nothing.
#[derive(Debug)]
pub struct FaultFileSystem {
    inner: Arc<dyn FileSystem>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    count: AtomicU64,
    fault: Mutex<Option<Fault>>,
}

impl State {
    fn step(&self) -> io::Result<()> {
        let n = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        match *self.fault.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(fault)
                if n == fault.operation || (fault.every_later_too && n > fault.operation) =>
            {
                Err(io::Error::new(
                    fault.kind,
                    format!("injected fault at operation {n}"),
                ))
            }
            _ => Ok(()),
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
        *self
            .state
            .fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(fault);
    }

    /// Nothing fails from now on.
    pub fn heal(&self) {
        *self
            .state
            .fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// How many operations there were.
    pub fn operations(&self) -> u64 {
        self.state.count.load(Ordering::Relaxed)
    }
}

impl FileSystem for FaultFileSystem {
    fn open_random(&self, path: &Path) -> io::Result<Arc<dyn RandomFile>> {
        self.state.step()?;
        let inner = self.inner.open_random(path)?;
        Ok(Arc::new(Faulty {
            inner,
            state: self.state.clone(),
        }))
    }

    fn open_sequential(&self, path: &Path) -> io::Result<Box<dyn SequentialFile>> {
        self.state.step()?;
        let inner = self.inner.open_sequential(path)?;
        Ok(Box::new(Faulty {
            inner,
            state: self.state.clone(),
        }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        self.state.step()?;
        let inner = self.inner.create(path)?;
        Ok(Box::new(Faulty {
            inner,
            state: self.state.clone(),
        }))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        self.state.step()?;
        let inner = self.inner.append(path)?;
        Ok(Box::new(Faulty {
            inner,
            state: self.state.clone(),
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.state.step()?;
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.state.step()?;
        self.inner.remove(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<OsString>> {
        self.state.step()?;
        self.inner.list(dir)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.state.step()?;
        self.inner.metadata(path)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.state.step()?;
        self.inner.create_dir(dir)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.state.step()?;
        self.inner.remove_dir(dir)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.state.step()?;
        self.inner.lock(path)
    }

    fn lock_holder(&self, path: &Path) -> io::Result<Option<LockHolder>> {
        self.state.step()?;
        self.inner.lock_holder(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.state.step()?;
        self.inner.sync_dir(dir)
    }
}

#[derive(Debug)]
struct Faulty<F> {
    inner: F,
    state: Arc<State>,
}

impl RandomFile for Faulty<Arc<dyn RandomFile>> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.state.step()?;
        self.inner.read_at(offset, buffer)
    }

    fn len(&self) -> io::Result<u64> {
        self.state.step()?;
        self.inner.len()
    }

    fn is_empty(&self) -> io::Result<bool> {
        self.state.step()?;
        self.inner.is_empty()
    }
}

impl SequentialFile for Faulty<Box<dyn SequentialFile>> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.state.step()?;
        self.inner.read(buffer)
    }
}

impl WritableFile for Faulty<Box<dyn WritableFile>> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.state.step()?;
        self.inner.append(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.state.step()?;
        self.inner.flush()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.state.step()?;
        self.inner.sync()
    }

    fn set_modified(&mut self, time: SystemTime) -> io::Result<()> {
        self.state.step()?;
        self.inner.set_modified(time)
    }
}
