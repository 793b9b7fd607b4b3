//! A file system that counts the bytes of the files below some folders, so that they need not be asked for.

use super::{FileLock, FileSystem, LockHolder, Metadata, RandomFile, SequentialFile, WritableFile};
use crate::file_name::FileName;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Folders lie no deeper in one another than that; what does is not counted.
const DEPTH_MAX: usize = 16;

/// Passes everything on to another file system, and counts the bytes of the files below some folders.
///
/// The folders are walked once, when [`used`](Self::used) is first asked for; from then on what is written, made, renamed and
/// removed through this handle is added and taken off. What others do there shows after [`measure_again`](Self::measure_again).
/// Symbolic links and folders count nothing, nor does what a link leads to.
#[derive(Clone, Debug)]
pub struct MeasuredFileSystem {
    inner: Arc<dyn FileSystem>,
    shared: Arc<Shared>,
}

/// Bytes of files, by what LevelDB calls them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsedBytes {
    /// Tables, those that are being written among them.
    pub tables: u64,
    /// Logs.
    pub logs: u64,
    /// Everything else: MANIFEST, CURRENT, files of no LevelDB store.
    pub others: u64,
}

impl UsedBytes {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.tables
            .saturating_add(self.logs)
            .saturating_add(self.others)
    }

    /// What a file in or below the folder is. Only a file in the folder itself is one of its store.
    fn of(&mut self, root: &Path, path: &Path) -> &mut u64 {
        let name = path.file_name().filter(|_| path.parent() == Some(root));
        match name.and_then(FileName::parse) {
            Some(FileName::Table(_) | FileName::OldTable(_)) => &mut self.tables,
            Some(FileName::Log(_)) => &mut self.logs,
            _ => &mut self.others,
        }
    }
}

#[derive(Debug)]
struct Shared {
    roots: Vec<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_measured: bool,
    /// Files that nothing is being written to, and their sums, folder by folder.
    closed: BTreeMap<PathBuf, u64>,
    sums: Vec<UsedBytes>,
    /// Files that have a handle for writing: few.
    open: BTreeMap<PathBuf, Arc<AtomicU64>>,
}

impl Shared {
    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn root_of(&self, path: &Path) -> Option<usize> {
        self.roots.iter().position(|root| path.starts_with(root))
    }

    /// The sum that a file belongs to.
    fn sum<'a>(&self, sums: &'a mut [UsedBytes], path: &Path) -> Option<&'a mut u64> {
        let at = self.root_of(path)?;
        Some(sums.get_mut(at)?.of(self.roots.get(at)?, path))
    }

    fn close(&self, state: &mut State, path: &Path, len_bytes: u64) {
        self.forget(state, path);
        if let Some(sum) = self.sum(&mut state.sums, path) {
            *sum += len_bytes;
            state.closed.insert(path.to_owned(), len_bytes);
        }
    }

    /// The file has this name no longer; its length, if it was counted.
    fn forget(&self, state: &mut State, path: &Path) -> Option<u64> {
        if let Some(len_bytes) = state.open.remove(path) {
            return Some(len_bytes.load(Ordering::Relaxed));
        }
        let len_bytes = state.closed.remove(path)?;
        if let Some(sum) = self.sum(&mut state.sums, path) {
            *sum -= len_bytes;
        }
        Some(len_bytes)
    }
}

impl MeasuredFileSystem {
    /// Over another file system, for the files below these folders, none of which lies in another.
    pub fn new(inner: Arc<dyn FileSystem>, roots: Vec<PathBuf>) -> MeasuredFileSystem {
        let state = State {
            sums: vec![UsedBytes::default(); roots.len()],
            ..State::default()
        };
        let shared = Arc::new(Shared {
            roots,
            state: Mutex::new(state),
        });
        MeasuredFileSystem { inner, shared }
    }

    /// The bytes of the files below each of the folders, in their order.
    ///
    /// # Errors
    /// As listing the folders, the first time. Folders that are missing have no files.
    pub fn used(&self) -> io::Result<Vec<UsedBytes>> {
        let state = &mut *self.shared.locked();
        if !state.is_measured {
            for root in &self.shared.roots {
                self.measure(state, root, DEPTH_MAX)?;
            }
            state.is_measured = true;
        }
        let mut used = state.sums.clone();
        for (path, len_bytes) in &state.open {
            if let Some(sum) = self.shared.sum(&mut used, path) {
                *sum += len_bytes.load(Ordering::Relaxed);
            }
        }
        Ok(used)
    }

    /// Walks the folders anew when it is asked next.
    pub fn measure_again(&self) {
        let state = &mut *self.shared.locked();
        state.is_measured = false;
        state.closed.clear();
        state.sums.fill(UsedBytes::default());
    }

    fn measure(&self, state: &mut State, dir: &Path, depth_max: usize) -> io::Result<()> {
        let names = match self.inner.list(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            names => names?,
        };
        for name in names {
            let path = dir.join(name);
            if state.open.contains_key(&path) || state.closed.contains_key(&path) {
                continue;
            }
            match self.inner.metadata(&path) {
                Ok(metadata) if metadata.is_link => {}
                Ok(metadata) if metadata.is_dir && depth_max > 0 => {
                    self.measure(state, &path, depth_max - 1)?;
                }
                Ok(metadata) if metadata.is_dir => {}
                Ok(metadata) => self.shared.close(state, &path, metadata.len_bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What a failed operation has left.
    fn look(&self, state: &mut State, path: &Path) {
        match self.inner.metadata(path) {
            Ok(metadata) if !metadata.is_dir && !metadata.is_link => {
                self.shared.close(state, path, metadata.len_bytes);
            }
            _ => _ = self.shared.forget(state, path),
        }
    }

    /// The same of a file that goes on as it was, if it is there.
    fn look_if_counted(&self, state: &mut State, path: &Path) {
        if state.closed.contains_key(path) {
            self.look(state, path);
        }
    }

    fn writable(
        &self,
        path: &Path,
        open: impl FnOnce() -> io::Result<(Box<dyn WritableFile>, u64)>,
    ) -> io::Result<Box<dyn WritableFile>> {
        let state = &mut *self.shared.locked();
        let (file, len_bytes) = open().inspect_err(|_| self.look(state, path))?;
        self.shared.forget(state, path);
        let len_bytes = Arc::new(AtomicU64::new(len_bytes));
        state.open.insert(path.to_owned(), Arc::clone(&len_bytes));
        let fs = self.clone();
        Ok(Box::new(Measured {
            file,
            len_bytes,
            fs,
        }))
    }
}

impl FileSystem for MeasuredFileSystem {
    fn open_random(&self, path: &Path) -> io::Result<Arc<dyn RandomFile>> {
        self.inner.open_random(path)
    }

    fn open_sequential(&self, path: &Path) -> io::Result<Box<dyn SequentialFile>> {
        self.inner.open_sequential(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        self.writable(path, || Ok((self.inner.create(path)?, 0)))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        self.writable(path, || {
            let file = self.inner.append(path)?;
            Ok((file, self.inner.metadata(path)?.len_bytes))
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let state = &mut *self.shared.locked();
        let renamed = self.inner.rename(from, to);
        if renamed.is_err() {
            self.look_if_counted(state, from);
            self.look_if_counted(state, to);
        } else if from != to {
            self.shared.forget(state, to);
            if let Some(len_bytes) = state.open.remove(from) {
                state.open.insert(to.to_owned(), len_bytes);
            } else if let Some(len_bytes) = self.shared.forget(state, from) {
                self.shared.close(state, to, len_bytes);
            } else if state.is_measured {
                self.look(state, to);
            }
        }
        renamed
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let state = &mut *self.shared.locked();
        let removed = self.inner.remove(path);
        match removed {
            Ok(()) => _ = self.shared.forget(state, path),
            Err(_) => self.look_if_counted(state, path),
        }
        removed
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<OsString>> {
        self.inner.list(dir)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.inner.metadata(path)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir(dir)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.remove_dir(dir)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.inner.lock(path)
    }

    fn lock_holder(&self, path: &Path) -> io::Result<Option<LockHolder>> {
        self.inner.lock_holder(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.sync_dir(dir)
    }
}

/// A file that is being written.
#[derive(Debug)]
struct Measured {
    file: Box<dyn WritableFile>,
    len_bytes: Arc<AtomicU64>,
    fs: MeasuredFileSystem,
}

impl Measured {
    /// After an error the file may have part of what was written.
    fn done<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if result.is_err()
            && let Some(path) = self.path(&self.fs.shared.locked())
            && let Ok(metadata) = self.fs.inner.metadata(&path)
        {
            self.len_bytes.store(metadata.len_bytes, Ordering::Relaxed);
        }
        result
    }

    /// The name that it has now, if it has one.
    fn path(&self, state: &State) -> Option<PathBuf> {
        let mut open = state.open.iter();
        let own = open.find(|(_, len_bytes)| Arc::ptr_eq(len_bytes, &self.len_bytes));
        own.map(|(path, _)| path.clone())
    }
}

impl WritableFile for Measured {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let appended = self.file.append(bytes);
        match appended {
            Ok(()) => {
                let len = bytes.len() as u64;
                self.len_bytes.fetch_add(len, Ordering::Relaxed);
                Ok(())
            }
            failed => self.done(failed),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.done(flushed)
    }

    fn sync(&mut self) -> io::Result<()> {
        let synced = self.file.sync();
        self.done(synced)
    }

    fn set_modified(&mut self, time: SystemTime) -> io::Result<()> {
        self.file.set_modified(time)
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        let truncated = self.file.truncate(len_bytes);
        match truncated {
            Ok(()) => {
                self.len_bytes.store(len_bytes, Ordering::Relaxed);
                Ok(())
            }
            failed => self.done(failed),
        }
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        let state = &mut *self.fs.shared.locked();
        if let Some(path) = self.path(state) {
            let len_bytes = self.len_bytes.load(Ordering::Relaxed);
            self.fs.shared.close(state, &path, len_bytes);
        }
    }
}

#[cfg(test)]
mod tests;
