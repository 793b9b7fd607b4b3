//! A file system that counts the bytes of the files below some folders, so that they need not be asked for.

use super::{FileSystem, Metadata, WritableFile, pass_on};
use crate::file_name::FileName;
use std::collections::BTreeMap;
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
    /// Held while names change, so that a file's length and its name are of one moment.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Sums, folder by folder, of the files that nothing is being written to; `None` until they are asked for. What is made, renamed
    /// or removed is looked at then: a length for each file would take memory for each of a million blobs.
    closed: Option<Vec<UsedBytes>>,
    /// Files that have a handle for writing: few.
    open: BTreeMap<PathBuf, Arc<AtomicU64>>,
}

impl Shared {
    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sum that a file belongs to.
    fn sum<'a>(&self, sums: &'a mut [UsedBytes], path: &Path) -> Option<&'a mut u64> {
        let is_below = |root: &PathBuf| path.starts_with(root);
        let at = self.roots.iter().position(is_below)?;
        Some(sums.get_mut(at)?.of(self.roots.get(at)?, path))
    }

    /// Adds a file's bytes to those of closed files.
    fn add(&self, state: &mut State, path: &Path, len_bytes: u64) {
        let sums = state.closed.as_deref_mut();
        if let Some(sum) = sums.and_then(|sums| self.sum(sums, path)) {
            *sum = sum.saturating_add(len_bytes);
        }
    }

    /// Takes them off. Without underflow: others may have made the file longer.
    fn take_off(&self, state: &mut State, path: &Path, len_bytes: u64) {
        let sums = state.closed.as_deref_mut();
        if let Some(sum) = sums.and_then(|sums| self.sum(sums, path)) {
            *sum = sum.saturating_sub(len_bytes);
        }
    }
}

impl MeasuredFileSystem {
    /// Over another file system, for the files below these folders, none of which lies in another.
    pub fn new(inner: Arc<dyn FileSystem>, roots: Vec<PathBuf>) -> MeasuredFileSystem {
        let shared = Arc::new(Shared {
            roots,
            state: Mutex::default(),
        });
        MeasuredFileSystem { inner, shared }
    }

    /// The bytes of the files below each of the folders, in their order.
    ///
    /// # Errors
    /// Sums up by listing the folders, the first time. Folders that are missing have no files.
    pub fn used(&self) -> io::Result<Vec<UsedBytes>> {
        let state = &mut *self.shared.locked();
        let mut used = match &state.closed {
            Some(closed) => closed.clone(),
            None => self.measure(state)?,
        };
        for (path, len_bytes) in &state.open {
            if let Some(sum) = self.shared.sum(&mut used, path) {
                *sum += len_bytes.load(Ordering::Relaxed);
            }
        }
        Ok(used)
    }

    /// Walks the folders anew when it is asked next.
    pub fn measure_again(&self) {
        self.shared.locked().closed = None;
    }

    fn measure(&self, state: &mut State) -> io::Result<Vec<UsedBytes>> {
        let mut closed = vec![UsedBytes::default(); self.shared.roots.len()];
        for root in &self.shared.roots {
            self.walk(&state.open, &mut closed, root, DEPTH_MAX)?;
        }
        state.closed = Some(closed.clone());
        Ok(closed)
    }

    fn walk(
        &self,
        open: &BTreeMap<PathBuf, Arc<AtomicU64>>,
        sums: &mut [UsedBytes],
        dir: &Path,
        depth_max: usize,
    ) -> io::Result<()> {
        let names = match self.inner.list(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            names => names?,
        };
        for name in names {
            let path = dir.join(name);
            if open.contains_key(&path) {
                continue;
            }
            match self.inner.metadata(&path) {
                Ok(metadata) if metadata.is_dir && depth_max > 0 => {
                    self.walk(open, sums, &path, depth_max - 1)?;
                }
                Ok(metadata) => {
                    if let Some(sum) = self.shared.sum(sums, &path) {
                        *sum = sum.saturating_add(counted(&metadata));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The bytes of a file that nothing is being written to. What cannot be found out now is found out by walking anew.
    fn closed_len(&self, state: &mut State, path: &Path) -> u64 {
        if state.closed.is_none() || state.open.contains_key(path) {
            return 0;
        }
        match self.inner.metadata(path) {
            Ok(metadata) => counted(&metadata),
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    state.closed = None;
                }
                0
            }
        }
    }

    /// A file is about to change or to lose its name.
    fn count_off(&self, state: &mut State, path: &Path) {
        let len_bytes = self.closed_len(state, path);
        self.shared.take_off(state, path, len_bytes);
    }

    /// It is as it is now.
    fn count_on(&self, state: &mut State, path: &Path) {
        let len_bytes = self.closed_len(state, path);
        self.shared.add(state, path, len_bytes);
    }

    fn opened(
        &self,
        state: &mut State,
        path: &Path,
        file: Box<dyn WritableFile>,
        len_bytes: u64,
    ) -> Box<dyn WritableFile> {
        let len_bytes = Arc::new(AtomicU64::new(len_bytes));
        state.open.insert(path.to_owned(), Arc::clone(&len_bytes));
        let fs = self.clone();
        Box::new(Measured {
            file,
            len_bytes,
            fs,
        })
    }
}

fn counted(metadata: &Metadata) -> u64 {
    match metadata.is_dir || metadata.is_link {
        true => 0,
        false => metadata.len_bytes,
    }
}

impl FileSystem for MeasuredFileSystem {
    pass_on!(
        open_random,
        open_sequential,
        list,
        metadata,
        create_dir,
        remove_dir
    );
    pass_on!(lock, lock_holder, sync_dir);

    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        let state = &mut *self.shared.locked();
        self.count_off(state, path);
        match self.inner.create(path) {
            Ok(file) => Ok(self.opened(state, path, file, 0)),
            Err(error) => {
                self.count_on(state, path);
                Err(error)
            }
        }
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        let state = &mut *self.shared.locked();
        let file = self.inner.append(path)?;
        let len_bytes = self.inner.metadata(path)?.len_bytes;
        if !state.open.contains_key(path) {
            self.shared.take_off(state, path, len_bytes);
        }
        Ok(self.opened(state, path, file, len_bytes))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let state = &mut *self.shared.locked();
        if from == to {
            return self.inner.rename(from, to);
        }
        self.count_off(state, from);
        self.count_off(state, to);
        let renamed = self.inner.rename(from, to);
        if renamed.is_ok() {
            state.open.remove(to);
            if let Some(len_bytes) = state.open.remove(from) {
                state.open.insert(to.to_owned(), len_bytes);
            }
        } else {
            self.count_on(state, from);
        }
        self.count_on(state, to);
        renamed
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let state = &mut *self.shared.locked();
        self.count_off(state, path);
        let removed = self.inner.remove(path);
        match removed {
            Ok(()) => _ = state.open.remove(path),
            Err(_) => self.count_on(state, path),
        }
        removed
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
            state.open.remove(&path);
            let len_bytes = self.len_bytes.load(Ordering::Relaxed);
            self.fs.shared.add(state, &path, len_bytes);
        }
    }
}

#[cfg(test)]
mod tests;
