//! A file system that writes down what is asked of it, and the states that a crash could have left of that.

use super::{FileLock, FileSystem, MemoryFileSystem, WritableFile, pass_on};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// One thing that was done to files or names, or a note of the caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// A file was made or emptied, and opened under a number of its own.
    Create {
        /// Its path.
        path: PathBuf,
        /// The handle's number.
        handle: u64,
    },
    /// A file was opened for writing at its end; made if it was missing.
    Append {
        /// Its path.
        path: PathBuf,
        /// The handle's number.
        handle: u64,
    },
    /// Bytes were added to a file.
    Write {
        /// The handle's number.
        handle: u64,
        /// What was added.
        bytes: Vec<u8>,
    },
    /// A file was synced.
    Sync {
        /// The handle's number.
        handle: u64,
    },
    /// A file was cut off.
    Truncate {
        /// The handle's number.
        handle: u64,
        /// Its bytes since then.
        len_bytes: u64,
    },
    /// A file got another name.
    Rename {
        /// The old one.
        from: PathBuf,
        /// The new one.
        to: PathBuf,
    },
    /// A file was removed.
    Remove(PathBuf),
    /// A directory was made.
    CreateDir(PathBuf),
    /// A directory was removed.
    RemoveDir(PathBuf),
    /// The names in a directory were synced.
    SyncDir(PathBuf),
    /// A file was locked, and made if it was missing.
    Lock(PathBuf),
    /// What the caller noted with [`RecordingFileSystem::note`].
    Note(u64),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Create { path, handle } => write!(f, "create {handle} {}", path.display()),
            Step::Append { path, handle } => write!(f, "append {handle} {}", path.display()),
            Step::Write { handle, bytes } => write!(f, "write {handle} {}", bytes.len()),
            Step::Sync { handle } => write!(f, "sync {handle}"),
            Step::Truncate { handle, len_bytes } => write!(f, "truncate {handle} {len_bytes}"),
            Step::Rename { from, to } => write!(f, "rename {} {}", from.display(), to.display()),
            Step::Remove(path) => write!(f, "remove {}", path.display()),
            Step::CreateDir(path) => write!(f, "mkdir {}", path.display()),
            Step::RemoveDir(path) => write!(f, "rmdir {}", path.display()),
            Step::SyncDir(path) => write!(f, "syncdir {}", path.display()),
            Step::Lock(path) => write!(f, "lock {}", path.display()),
            Step::Note(note) => write!(f, "note {note}"),
        }
    }
}

/// Passes everything on to another file system, and writes down, in their order, the steps that change files or names: one that
/// succeeded, after it was done. They are done one at a time. A test gets from this what a real run did, and from
/// [`Rebuilt`] what a power cut at any moment of it could have left.
///
/// ```
/// use larder_leveldb::storage::{CrashImage, FileSystem, MemoryFileSystem, Rebuilt, RecordingFileSystem};
/// use std::{path::Path, sync::Arc};
///
/// let fs = RecordingFileSystem::new(Arc::new(MemoryFileSystem::new()));
/// let mut file = fs.create(Path::new("file"))?;
/// file.append(b"synced")?;
/// file.sync()?;
/// fs.sync_dir(Path::new(""))?;
/// file.append(b", unsynced")?;
/// let steps = fs.steps();
/// let mut rebuilt = Rebuilt::default();
/// for step in &steps {
///     rebuilt.take(step)?;
/// }
/// let after = rebuilt.files().crash_image(CrashImage::LoseUnsynced);
/// assert_eq!(after.metadata(Path::new("file"))?.len_bytes, 6);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct RecordingFileSystem {
    inner: Arc<dyn FileSystem>,
    record: Arc<Mutex<Record>>,
}

#[derive(Debug, Default)]
struct Record {
    steps: Vec<Step>,
    handles: u64,
}

impl Record {
    fn new_handle(&mut self) -> u64 {
        self.handles += 1;
        self.handles
    }
}

fn locked(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RecordingFileSystem {
    /// Over another file system, with nothing written down.
    pub fn new(inner: Arc<dyn FileSystem>) -> RecordingFileSystem {
        RecordingFileSystem {
            inner,
            record: Arc::default(),
        }
    }

    /// Writes a note down: that something was acknowledged, for instance.
    pub fn note(&self, note: u64) {
        locked(&self.record).steps.push(Step::Note(note));
    }

    /// What was done up to now.
    pub fn steps(&self) -> Vec<Step> {
        locked(&self.record).steps.clone()
    }

    /// Does something and writes it down.
    fn step(&self, work: impl FnOnce() -> io::Result<()>, step: Step) -> io::Result<()> {
        let mut record = locked(&self.record);
        work()?;
        record.steps.push(step);
        Ok(())
    }

    fn open(
        &self,
        open: impl FnOnce() -> io::Result<Box<dyn WritableFile>>,
        step: impl FnOnce(u64) -> Step,
    ) -> io::Result<Box<dyn WritableFile>> {
        let mut record = locked(&self.record);
        let inner = open()?;
        let handle = record.new_handle();
        record.steps.push(step(handle));
        Ok(Box::new(RecordedFile {
            inner,
            handle,
            record: self.record.clone(),
        }))
    }
}

impl FileSystem for RecordingFileSystem {
    pass_on!(open_random, open_sequential, list, metadata, lock_holder);

    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        let step = |handle| Step::Create {
            path: path.to_owned(),
            handle,
        };
        self.open(|| self.inner.create(path), step)
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        let step = |handle| Step::Append {
            path: path.to_owned(),
            handle,
        };
        self.open(|| self.inner.append(path), step)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let step = Step::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
        };
        self.step(|| self.inner.rename(from, to), step)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step(|| self.inner.remove(path), Step::Remove(path.to_owned()))
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.step(
            || self.inner.create_dir(dir),
            Step::CreateDir(dir.to_owned()),
        )
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.step(
            || self.inner.remove_dir(dir),
            Step::RemoveDir(dir.to_owned()),
        )
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let mut record = locked(&self.record);
        let lock = self.inner.lock(path)?;
        record.steps.push(Step::Lock(path.to_owned()));
        Ok(lock)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.step(|| self.inner.sync_dir(dir), Step::SyncDir(dir.to_owned()))
    }
}

#[derive(Debug)]
struct RecordedFile {
    inner: Box<dyn WritableFile>,
    handle: u64,
    record: Arc<Mutex<Record>>,
}

impl WritableFile for RecordedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut record = locked(&self.record);
        self.inner.append(bytes)?;
        record.steps.push(Step::Write {
            handle: self.handle,
            bytes: bytes.to_owned(),
        });
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut record = locked(&self.record);
        self.inner.sync()?;
        record.steps.push(Step::Sync {
            handle: self.handle,
        });
        Ok(())
    }

    fn set_modified(&mut self, time: SystemTime) -> io::Result<()> {
        self.inner.set_modified(time)
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        let mut record = locked(&self.record);
        self.inner.truncate(len_bytes)?;
        record.steps.push(Step::Truncate {
            handle: self.handle,
            len_bytes,
        });
        Ok(())
    }
}

/// A file system in memory to which recorded steps are done, one after the other: its
/// [`crash_image`](MemoryFileSystem::crash_image) is what a crash after the last of them could have left.
#[derive(Debug, Default)]
pub struct Rebuilt {
    fs: MemoryFileSystem,
    handles: BTreeMap<u64, Box<dyn WritableFile>>,
}

impl Rebuilt {
    /// Does a step. Directories that were there before the recording are made.
    ///
    /// # Errors
    /// If the step is not one that can follow those before it.
    pub fn take(&mut self, step: &Step) -> io::Result<()> {
        match step {
            Step::Create { path, handle } => {
                self.make_parents(path)?;
                let file = self.fs.create(path)?;
                self.handles.insert(*handle, file);
            }
            Step::Append { path, handle } => {
                self.make_parents(path)?;
                let file = self.fs.append(path)?;
                self.handles.insert(*handle, file);
            }
            Step::Write { handle, bytes } => self.file(*handle)?.append(bytes)?,
            Step::Sync { handle } => self.file(*handle)?.sync()?,
            Step::Truncate { handle, len_bytes } => self.file(*handle)?.truncate(*len_bytes)?,
            Step::Rename { from, to } => self.fs.rename(from, to)?,
            Step::Remove(path) => self.fs.remove(path)?,
            Step::CreateDir(path) => {
                self.make_parents(path)?;
                self.fs.create_dir(path)?;
            }
            Step::RemoveDir(path) => self.fs.remove_dir(path)?,
            Step::SyncDir(path) => {
                self.make_dir(path)?;
                self.fs.sync_dir(path)?;
            }
            Step::Lock(path) => {
                self.make_parents(path)?;
                drop(self.fs.lock(path)?);
            }
            Step::Note(_) => {}
        }
        Ok(())
    }

    /// The files as they are now.
    pub fn files(&self) -> &MemoryFileSystem {
        &self.fs
    }

    fn file(&mut self, handle: u64) -> io::Result<&mut Box<dyn WritableFile>> {
        let file = self.handles.get_mut(&handle);
        file.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn make_parents(&self, path: &Path) -> io::Result<()> {
        path.parent().map_or(Ok(()), |parent| self.make_dir(parent))
    }

    /// Makes a directory that is older than the recording: it is durable.
    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        if self.fs.metadata(dir).is_ok_and(|found| found.is_dir) {
            return Ok(());
        }
        self.make_parents(dir)?;
        self.fs.create_dir(dir)?;
        dir.parent()
            .map_or(Ok(()), |parent| self.fs.sync_dir(parent))
    }
}
