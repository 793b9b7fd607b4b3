//! Files in memory, and the images that a crash would leave of them.
//!
//! The model, together with [`CrashImage`]: every name points at an inode. An inode remembers how much of it was synced; the
//! file system remembers which names, those of directories too, were durable when their directory was last synced. What lies
//! in a directory that is lost is lost with it. Bytes that were overwritten after a sync count as unsynced (there is only
//! appending and truncating); synced bytes that were cut off are there again after a crash, unless the cut was synced, too.
//! A directory that was removed and made again under the same name counts as the same one until the directory above is synced.

use super::crash::{Choices, CrashImage};
use super::{FileLock, FileSystem, LockHolder, Metadata, RandomFile, SequentialFile, WritableFile};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// A file system in memory. Clones share their files. Directories are made as on disk; the root of a relative path and `/`
/// are there from the start.
#[derive(Clone, Debug, Default)]
pub struct MemoryFileSystem {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    live: BTreeMap<PathBuf, Arc<Inode>>,
    durable: BTreeMap<PathBuf, Arc<Inode>>,
    dirs: BTreeSet<PathBuf>,
    durable_dirs: BTreeSet<PathBuf>,
    /// Locks that are held. A file that has lost its name may be among them, and another one that has it now.
    locked: Vec<Arc<Inode>>,
}

#[derive(Debug, Default)]
struct Inode {
    content: Mutex<Content>,
}

#[derive(Clone, Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    synced_len: usize,
    /// What was synced, if some of that was taken away since.
    before_cut: Option<Vec<u8>>,
    /// The time that was set; there is no clock here.
    modified: Option<SystemTime>,
}

impl Content {
    /// What a crash leaves.
    fn after_crash(&self, choices: &mut Choices) -> Content {
        let (mut bytes, synced_len) = match &self.before_cut {
            Some(before) if !choices.keep_cut() => (before.clone(), before.len()),
            _ => (self.bytes.clone(), self.synced_len),
        };
        choices.leave(&mut bytes, synced_len);
        Content {
            synced_len: bytes.len(),
            bytes,
            before_cut: None,
            modified: self.modified,
        }
    }
}

impl Inode {
    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let content = self.content();
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(content.bytes.len());
        let n = buffer.len().min(content.bytes.len() - start);
        buffer[..n].copy_from_slice(&content.bytes[start..start + n]);
        n
    }
}

impl MemoryFileSystem {
    /// Without a file.
    pub fn new() -> MemoryFileSystem {
        MemoryFileSystem::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inode(&self, path: &Path) -> io::Result<Arc<Inode>> {
        let state = self.state();
        match state.live.get(path) {
            Some(inode) => Ok(Arc::clone(inode)),
            None if state.is_dir(path) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// A new file system with what a crash at this moment would leave. Locks are free in it; this one goes on.
    pub fn crash_image(&self, image: CrashImage) -> MemoryFileSystem {
        let state = self.state();
        let dirs = state.dirs_after(image);
        let mut after = State {
            durable_dirs: dirs.clone(),
            dirs,
            ..State::default()
        };
        let names: BTreeSet<&PathBuf> = state.live.keys().chain(state.durable.keys()).collect();
        for (i, path) in names.into_iter().enumerate() {
            let (live, durable) = (state.live.get(path), state.durable.get(path));
            let mut choices = image.choices(i);
            let chosen = match choices.keep_file_name() {
                true => live,
                false => durable,
            };
            if after.require_parent(path).is_err() {
                continue;
            }
            let Some(inode) = chosen else { continue };
            let content = inode.content().after_crash(&mut choices);
            let inode = Arc::new(Inode {
                content: Mutex::new(content),
            });
            after.live.insert(path.clone(), inode.clone());
            after.durable.insert(path.clone(), inode);
        }
        MemoryFileSystem {
            state: Arc::new(Mutex::new(after)),
        }
    }
}

impl State {
    fn require_parent(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            None => Ok(()),
            Some(parent) if self.is_dir(parent) => Ok(()),
            Some(_) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The directories that a crash leaves.
    fn dirs_after(&self, image: CrashImage) -> BTreeSet<PathBuf> {
        let mut after = State::default();
        // A directory comes before those in it.
        for (i, dir) in self.dirs.union(&self.durable_dirs).enumerate() {
            // Numbers that no file has.
            let from = match image.choices(usize::MAX - i).keep_directory_name() {
                true => &self.dirs,
                false => &self.durable_dirs,
            };
            if from.contains(dir) && after.require_parent(dir).is_ok() {
                after.dirs.insert(dir.clone());
            }
        }
        after.dirs
    }

    /// Makes the names of directories in a directory durable. What is in those that are gone is gone for good.
    fn sync_names_of_dirs(&mut self, dir: &Path) {
        let State {
            dirs,
            durable_dirs,
            durable,
            ..
        } = self;
        let is_inside = |path: &Path| path.parent() == Some(dir);
        let gone: Vec<PathBuf> = durable_dirs
            .difference(dirs)
            .filter(|path| is_inside(path))
            .cloned()
            .collect();
        for gone in gone {
            durable_dirs.retain(|path| !path.starts_with(&gone));
            durable.retain(|path, _| !path.starts_with(&gone));
        }
        durable_dirs.extend(dirs.iter().filter(|path| is_inside(path)).cloned());
    }

    /// Whether the lock of the file that has this name now is held.
    fn is_locked(&self, path: &Path) -> bool {
        let Some(now) = self.live.get(path) else {
            return false;
        };
        self.locked.iter().any(|inode| Arc::ptr_eq(inode, now))
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.as_os_str().is_empty() || path.parent().is_none() || self.dirs.contains(path)
    }
}

impl FileSystem for MemoryFileSystem {
    fn open_random(&self, path: &Path) -> io::Result<Arc<dyn RandomFile>> {
        Ok(Arc::new(MemoryFile {
            inode: self.inode(path)?,
            at: 0,
        }))
    }

    fn open_sequential(&self, path: &Path) -> io::Result<Box<dyn SequentialFile>> {
        Ok(Box::new(MemoryFile {
            inode: self.inode(path)?,
            at: 0,
        }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        let mut state = self.state();
        state.require_parent(path)?;
        if state.is_dir(path) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let inode = state.live.entry(path.to_owned()).or_default().clone();
        *inode.content() = Content::default();
        Ok(Box::new(MemoryFile { inode, at: 0 }))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        let mut state = self.state();
        state.require_parent(path)?;
        if state.is_dir(path) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let inode = state.live.entry(path.to_owned()).or_default().clone();
        Ok(Box::new(MemoryFile { inode, at: 0 }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.require_parent(to)?;
        let inode = state.live.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.live.insert(to.to_owned(), inode);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.state()
            .live
            .remove(path)
            .map(drop)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<OsString>> {
        let state = self.state();
        if !state.is_dir(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let inside = |path: &&PathBuf| path.parent() == Some(dir);
        let files = state.live.keys().filter(inside);
        let dirs = state.dirs.iter().filter(inside);
        Ok(files
            .chain(dirs)
            .filter_map(|path| Some(path.file_name()?.to_owned()))
            .collect())
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        if self.state().is_dir(path) {
            return Ok(Metadata {
                len_bytes: 0,
                modified: None,
                is_dir: true,
                is_link: false,
            });
        }
        let inode = self.inode(path)?;
        let content = inode.content();
        Ok(Metadata {
            len_bytes: content.bytes.len() as u64,
            modified: content.modified,
            is_dir: false,
            is_link: false,
        })
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.require_parent(dir)?;
        if state.is_dir(dir) || state.live.contains_key(dir) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.dirs.insert(dir.to_owned());
        Ok(())
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state
            .live
            .keys()
            .chain(&state.dirs)
            .any(|path| path.parent() == Some(dir))
        {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        if state.dirs.remove(dir) {
            Ok(())
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let mut state = self.state();
        state.require_parent(path)?;
        if state.is_dir(path) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let inode = state.live.entry(path.to_owned()).or_default().clone();
        if state.is_locked(path) {
            return Err(io::Error::new(
                io::ErrorKind::WouldBlock,
                "this process holds the lock already: close its other handle",
            ));
        }
        state.locked.push(inode.clone());
        Ok(Box::new(MemoryLock {
            state: self.state.clone(),
            path: path.to_owned(),
            inode,
        }))
    }

    fn lock_holder(&self, path: &Path) -> io::Result<Option<LockHolder>> {
        Ok(self.state().is_locked(path).then(|| LockHolder {
            pid: Some(std::process::id()),
        }))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        if !state.is_dir(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.durable.retain(|path, _| path.parent() != Some(dir));
        let now: Vec<_> = state
            .live
            .iter()
            .filter(|(path, _)| path.parent() == Some(dir))
            .collect();
        let now: Vec<_> = now
            .into_iter()
            .map(|(path, inode)| (path.clone(), inode.clone()))
            .collect();
        state.durable.extend(now);
        state.sync_names_of_dirs(dir);
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryLock {
    state: Arc<Mutex<State>>,
    path: PathBuf,
    inode: Arc<Inode>,
}

impl MemoryLock {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileLock for MemoryLock {
    fn is_held(&self) -> io::Result<bool> {
        let state = self.state();
        let now = state.live.get(&self.path);
        Ok(now.is_some_and(|inode| Arc::ptr_eq(inode, &self.inode)))
    }
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        let mut state = self.state();
        state
            .locked
            .retain(|inode| !Arc::ptr_eq(inode, &self.inode));
    }
}

#[derive(Debug)]
struct MemoryFile {
    inode: Arc<Inode>,
    at: u64,
}

impl RandomFile for MemoryFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.inode.read_at(offset, buffer))
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.inode.content().bytes.len() as u64)
    }

    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.inode.content().bytes.is_empty())
    }
}

impl SequentialFile for MemoryFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inode.read_at(self.at, buffer);
        self.at += n as u64;
        Ok(n)
    }
}

impl WritableFile for MemoryFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.inode.content().bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut content = self.inode.content();
        content.synced_len = content.bytes.len();
        content.before_cut = None;
        Ok(())
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        let mut content = self.inode.content();
        let len = usize::try_from(len_bytes).unwrap_or(usize::MAX);
        if len < content.synced_len {
            let synced = content.bytes[..content.synced_len].to_vec();
            content.before_cut.get_or_insert(synced);
            content.synced_len = len;
        }
        content.bytes.truncate(len);
        Ok(())
    }

    fn set_modified(&mut self, time: SystemTime) -> io::Result<()> {
        self.inode.content().modified = Some(time);
        Ok(())
    }
}
