//! A file system with a disk that can be full.

use super::{FileLock, FileSystem, WritableFile, pass_on};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Passes everything on to another file system, and counts the blocks of the files that are made and written through it.
///
/// An operation that needs a block when none is left fails with `ENOSPC`, or with another error that is set. That is a write,
/// which leaves as many bytes as fit, and the making of a file or directory. Everything else succeeds, as on a full disk:
/// reading, renaming, removing, writing within a block that a file has.
///
/// The files that lie there already do not count until they are written to, renamed or removed.
#[derive(Clone, Debug)]
pub struct LimitedFileSystem {
    inner: Arc<dyn FileSystem>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    block_len: u64,
    /// Blocks of each file.
    files: BTreeMap<PathBuf, u64>,
    used: u64,
    limit: u64,
    raw_os_error: Option<i32>,
    refused: u64,
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn full(&mut self) -> io::Error {
        self.refused += 1;
        match self.raw_os_error {
            Some(number) => io::Error::from_raw_os_error(number),
            None => io::ErrorKind::StorageFull.into(),
        }
    }

    /// Notes how long a file is.
    fn set(&mut self, path: &Path, len_bytes: u64) {
        let blocks = len_bytes.div_ceil(self.block_len);
        let before = self.files.insert(path.to_owned(), blocks).unwrap_or(0);
        self.used = self.used - before + blocks;
    }

    fn forget(&mut self, path: &Path) -> u64 {
        let blocks = self.files.remove(path).unwrap_or(0);
        self.used -= blocks;
        blocks
    }

    /// How many of so many bytes there is room for, at the end of a file of a length.
    fn fitting(&self, path: &Path, len_bytes: u64, added: u64) -> u64 {
        let has = self.files.get(path).copied().unwrap_or(0);
        let blocks = has.saturating_add(self.limit.saturating_sub(self.used));
        let end = blocks.saturating_mul(self.block_len);
        added.min(end.saturating_sub(len_bytes))
    }
}

impl LimitedFileSystem {
    /// Over another file system, with room for everything and blocks of so many bytes.
    pub fn new(inner: Arc<dyn FileSystem>, block_len: u64) -> LimitedFileSystem {
        let state = State {
            block_len: block_len.max(1),
            files: BTreeMap::new(),
            used: 0,
            limit: u64::MAX,
            raw_os_error: None,
            refused: 0,
        };
        LimitedFileSystem {
            inner,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// No blocks but these are left from now on, and what fails for want of one fails with this error (`None`: `ENOSPC`).
    pub fn leave(&self, blocks: u64, raw_os_error: Option<i32>) {
        let mut state = locked(&self.state);
        state.limit = state.used.saturating_add(blocks);
        state.raw_os_error = raw_os_error;
    }

    /// There is room for everything again.
    pub fn extend(&self) {
        locked(&self.state).limit = u64::MAX;
    }

    /// How many blocks the files have.
    pub fn used_blocks(&self) -> u64 {
        locked(&self.state).used
    }

    /// How many operations have failed for want of room.
    pub fn refused(&self) -> u64 {
        locked(&self.state).refused
    }

    /// Before a name is made.
    fn require_room(&self, path: &Path) -> io::Result<()> {
        let mut state = locked(&self.state);
        let is_full = state.used >= state.limit;
        match is_full && self.inner.metadata(path).is_err() {
            true => Err(state.full()),
            false => Ok(()),
        }
    }

    fn writable(&self, path: &Path, inner: Box<dyn WritableFile>) -> io::Result<Limited> {
        let len_bytes = self.inner.metadata(path)?.len_bytes;
        locked(&self.state).set(path, len_bytes);
        Ok(Limited {
            inner,
            path: path.to_owned(),
            len_bytes,
            state: Arc::clone(&self.state),
        })
    }
}

impl FileSystem for LimitedFileSystem {
    pass_on!(
        open_random,
        open_sequential,
        list,
        metadata,
        remove_dir,
        lock_holder,
        sync_dir
    );

    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        self.require_room(path)?;
        let inner = self.inner.create(path)?;
        Ok(Box::new(self.writable(path, inner)?))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        self.require_room(path)?;
        let inner = self.inner.append(path)?;
        Ok(Box::new(self.writable(path, inner)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)?;
        let mut state = locked(&self.state);
        let blocks = state.forget(from);
        let len_bytes = blocks * state.block_len;
        state.set(to, len_bytes);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)?;
        locked(&self.state).forget(path);
        Ok(())
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.require_room(dir)?;
        self.inner.create_dir(dir)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.require_room(path)?;
        self.inner.lock(path)
    }
}

#[derive(Debug)]
struct Limited {
    inner: Box<dyn WritableFile>,
    path: PathBuf,
    len_bytes: u64,
    state: Arc<Mutex<State>>,
}

impl Limited {
    fn note(&mut self, len_bytes: u64) {
        self.len_bytes = len_bytes;
        let mut state = locked(&self.state);
        // A file without a name takes no room here.
        if state.files.contains_key(&self.path) {
            state.set(&self.path, len_bytes);
        }
    }
}

impl WritableFile for Limited {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let len = bytes.len() as u64;
        let fitting = locked(&self.state).fitting(&self.path, self.len_bytes, len);
        let fits = bytes.get(..fitting as usize).unwrap_or(bytes);
        self.inner.append(fits)?;
        self.note(self.len_bytes + fits.len() as u64);
        match fitting < len {
            true => Err(locked(&self.state).full()),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.inner.sync()
    }

    fn set_modified(&mut self, time: SystemTime) -> io::Result<()> {
        self.inner.set_modified(time)
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        self.inner.truncate(len_bytes)?;
        self.note(len_bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{MemoryFileSystem, conformance};

    #[test]
    fn with_room_it_is_as_what_it_stands_on() {
        let memory = Arc::new(MemoryFileSystem::new());
        memory.create_dir(Path::new("limited")).unwrap();
        let fs = LimitedFileSystem::new(memory, 512);
        conformance::check(&fs, Path::new("limited")).unwrap();
    }

    #[test]
    fn without_room_what_fits_is_written_and_what_is_removed_makes_room() {
        let fs = LimitedFileSystem::new(Arc::new(MemoryFileSystem::new()), 10);
        let path = Path::new("a");
        let mut file = fs.create(path).unwrap();
        file.append(&[1; 25]).unwrap();
        assert_eq!(fs.used_blocks(), 3);
        fs.leave(0, Some(122));
        file.append(&[1; 5]).unwrap();
        let error = file.append(&[1; 5]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(122));
        assert!(fs.create(Path::new("b")).is_err());
        assert!(fs.create_dir(Path::new("c")).is_err());
        file.truncate(9).unwrap();
        assert_eq!(fs.used_blocks(), 1);
        let mut other = fs.create(Path::new("b")).unwrap();
        other.append(&[2; 25]).unwrap_err();
        let len = fs.metadata(Path::new("b")).unwrap().len_bytes;
        assert_eq!((len, fs.used_blocks(), fs.refused()), (20, 3, 4));
        fs.remove(path).unwrap();
        other.append(&[2; 10]).unwrap();
        fs.extend();
        other.append(&[2; 100]).unwrap();
    }
}
