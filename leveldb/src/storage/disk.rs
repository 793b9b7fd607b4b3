//! The disk.
//!
//! Locks are POSIX record locks over the whole file, as C++ LevelDB and Chromium take them. Such a lock belongs to the
//! process and goes away when *any* descriptor of the file is closed, so this process keeps a list of the files it has
//! locked, and neither opens nor asks the system about those. Elsewhere than on Unix, locks are those of the standard
//! library.
//!
//! The tests run on Linux. For macOS, Windows and WASI this file is only checked to compile: see
//! `docs/decisions/0038-targets-features-and-packages.md`. Where the standard library has no files (`wasm32-unknown-unknown`), every call
//! fails with [`io::ErrorKind::Unsupported`].
//!
//! Files are made for their owner alone (0600, folders 0700), as Chromium makes them: what a site has stored is private.
//! Nothing but regular files is opened ([`regular`]).

mod regular;

use super::{FileLock, FileSystem, LockHolder, Metadata, RandomFile, SequentialFile, WritableFile};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Files of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskFileSystem;

impl DiskFileSystem {
    /// The disk.
    pub fn new() -> DiskFileSystem {
        DiskFileSystem
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the seam that the rest goes through"
)]
impl FileSystem for DiskFileSystem {
    fn open_random(&self, path: &Path) -> io::Result<Arc<dyn RandomFile>> {
        Ok(Arc::new(DiskRandomFile {
            file: regular::read(path)?,
        }))
    }

    fn open_sequential(&self, path: &Path) -> io::Result<Box<dyn SequentialFile>> {
        Ok(Box::new(DiskSequentialFile {
            file: regular::read(path)?,
        }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        Ok(Box::new(DiskWritableFile::new(regular::create(path)?)))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        Ok(Box::new(DiskWritableFile::new(regular::append(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<OsString>> {
        fs::read_dir(dir)?
            .map(|entry| Ok(entry?.file_name()))
            .collect()
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let metadata = fs::symlink_metadata(path)?;
        Ok(Metadata {
            len_bytes: metadata.len(),
            modified: metadata.modified().ok(),
            is_dir: metadata.is_dir(),
            is_link: metadata.is_symlink(),
        })
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        system::create_dir(dir)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        fs::remove_dir(dir)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let mut held = held();
        let place = Place::of(path)?;
        let file_now = match FileId::of(path) {
            Ok(id) => Some(id),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // Opening it without being sure could give up a lock that is held.
            Err(error) => return Err(error),
        };
        let is_same = |held: &Held| Some(&held.file) == file_now.as_ref() || held.place == place;
        if held.iter().any(is_same) {
            let what = "this process holds the lock already: close its other handle";
            return Err(io::Error::new(io::ErrorKind::WouldBlock, what));
        }
        let file = regular::open_lock(path)?;
        system::lock(&file)?;
        let id = FileId::of(path)?;
        if !id.is_of(&file)? {
            // Replaced between the two: the lock is none that others would see.
            let what = "the lock's file was replaced while the lock was taken: try again";
            return Err(io::Error::new(io::ErrorKind::WouldBlock, what));
        }
        held.push(Held {
            file: id.clone(),
            place,
        });
        Ok(Box::new(DiskLock {
            id,
            path: path.to_owned(),
            file: Some(file),
        }))
    }

    fn lock_holder(&self, path: &Path) -> io::Result<Option<LockHolder>> {
        // Kept until the file is closed again: closing it must not drop a lock that another thread has just taken.
        let held = held();
        let id = match FileId::of(path) {
            Ok(id) => id,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if held.iter().any(|held| held.file == id) {
            return Ok(Some(LockHolder {
                pid: Some(std::process::id()),
            }));
        }
        system::holder(&regular::read(path)?)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        // The parent of a name without folders.
        let is_current = dir.as_os_str().is_empty();
        system::sync_dir(if is_current { Path::new(".") } else { dir })
    }
}

/// The files that this process has locked.
static HELD: Mutex<Vec<Held>> = Mutex::new(Vec::new());

fn held() -> std::sync::MutexGuard<'static, Vec<Held>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is locked, and where it was then. Both are held: when the file is removed, this process may not lock another
/// one in its place as long as it has not given up the first.
#[derive(Debug)]
struct Held {
    file: FileId,
    place: Place,
}

/// A name in a folder, whatever the folder is called.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    dir: FileId,
    name: Option<OsString>,
}

impl Place {
    fn of(path: &Path) -> io::Result<Place> {
        let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        Ok(Place {
            dir: FileId::of(parent.unwrap_or(Path::new(".")))?,
            name: path.file_name().map(OsString::from),
        })
    }
}

/// Which file a path names, also under its other names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FileId {
    #[cfg(unix)]
    Inode(u64, u64),
    #[cfg(not(unix))]
    Path(std::path::PathBuf),
}

impl FileId {
    #[cfg(unix)]
    fn of(path: &Path) -> io::Result<FileId> {
        use std::os::unix::fs::MetadataExt;
        // A link is never locked, nor is what it leads to.
        let metadata = fs::symlink_metadata(path)?;
        Ok(FileId::Inode(metadata.dev(), metadata.ino()))
    }

    #[cfg(not(unix))]
    fn of(path: &Path) -> io::Result<FileId> {
        Ok(FileId::Path(fs::canonicalize(path)?))
    }

    /// Whether an open file is this one.
    #[cfg(unix)]
    fn is_of(&self, file: &File) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt;
        let metadata = file.metadata()?;
        Ok(*self == FileId::Inode(metadata.dev(), metadata.ino()))
    }

    /// Files that are open cannot be replaced there.
    #[cfg(not(unix))]
    fn is_of(&self, _file: &File) -> io::Result<bool> {
        Ok(true)
    }
}

#[derive(Debug)]
struct DiskLock {
    id: FileId,
    path: PathBuf,
    file: Option<File>,
}

impl FileLock for DiskLock {
    fn is_held(&self) -> io::Result<bool> {
        match FileId::of(&self.path) {
            Ok(id) => Ok(id == self.id),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(false),
                _ => Err(error),
            },
        }
    }
}

impl Drop for DiskLock {
    fn drop(&mut self) {
        let mut held = held();
        self.file = None;
        held.retain(|held| held.file != self.id);
    }
}

#[derive(Debug)]
struct DiskRandomFile {
    file: File,
}

impl RandomFile for DiskRandomFile {
    #[cfg(unix)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, buffer, offset)
    }

    /// Where the standard library has no call that takes an offset, several readers must not move the file's one position at
    /// the same time.
    #[cfg(not(any(unix, windows)))]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        static POSITION: Mutex<()> = Mutex::new(());
        let _moving = POSITION.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset))?;
        file.read(buffer)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

#[derive(Debug)]
struct DiskSequentialFile {
    file: File,
}

impl SequentialFile for DiskSequentialFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

/// Collects small appends: one system call for 64 KiB.
#[derive(Debug)]
struct DiskWritableFile {
    file: File,
    waiting: Vec<u8>,
}

const WAITING_LEN_MAX: usize = 64 << 10;

impl DiskWritableFile {
    fn new(file: File) -> DiskWritableFile {
        DiskWritableFile {
            file,
            waiting: Vec::new(),
        }
    }
}

impl WritableFile for DiskWritableFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.waiting.len() + bytes.len() > WAITING_LEN_MAX {
            self.flush()?;
            if bytes.len() > WAITING_LEN_MAX {
                return self.file.write_all(bytes);
            }
        }
        self.waiting.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.file.write_all(&self.waiting);
        self.waiting.clear();
        result
    }

    fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_data()
    }

    fn set_modified(&mut self, time: SystemTime) -> io::Result<()> {
        self.flush()?;
        self.file.set_modified(time)
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        self.waiting.clear();
        self.file.set_len(len_bytes)?;
        self.file.seek(SeekFrom::Start(len_bytes)).map(drop)
    }
}

impl Drop for DiskWritableFile {
    fn drop(&mut self) {
        // `flush` and `sync` return the result.
        self.flush().ok();
    }
}

#[cfg(unix)]
mod system {
    use super::{File, LockHolder, Path, io};
    use rustix::fs::{FlockOperation, fcntl_lock};
    use rustix::process::{Flock, FlockType, fcntl_getlk};
    use std::fs::DirBuilder;
    use std::os::unix::fs::DirBuilderExt;

    pub(super) fn create_dir(dir: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(dir)
    }

    pub(super) fn lock(file: &File) -> io::Result<()> {
        fcntl_lock(file, FlockOperation::NonBlockingLockExclusive).map_err(|errno| {
            let error = io::Error::from(errno);
            // Both mean that another process holds it.
            match errno {
                rustix::io::Errno::ACCESS | rustix::io::Errno::AGAIN => {
                    io::Error::new(io::ErrorKind::WouldBlock, error)
                }
                _ => error,
            }
        })
    }

    pub(super) fn holder(file: &File) -> io::Result<Option<LockHolder>> {
        // Asked for reading: the file is open for reading only, and the lock that a store takes excludes readers, too.
        let asked = Flock::from(FlockType::ReadLock);
        let holder = fcntl_getlk(file, &asked)?;
        Ok(holder.map(|lock| LockHolder {
            pid: lock
                .pid
                .map(|pid| pid.as_raw_nonzero().get().unsigned_abs()),
        }))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the seam that the rest goes through"
    )]
    pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }
}

#[cfg(not(unix))]
mod system {
    use super::{File, LockHolder, Path, io};

    pub(super) fn create_dir(dir: &Path) -> io::Result<()> {
        std::fs::DirBuilder::new().create(dir)
    }

    pub(super) fn lock(file: &File) -> io::Result<()> {
        file.try_lock().map_err(io::Error::from)
    }

    pub(super) fn holder(file: &File) -> io::Result<Option<LockHolder>> {
        match file.try_lock_shared() {
            Ok(()) => file.unlock().map(|()| None),
            Err(std::fs::TryLockError::WouldBlock) => Ok(Some(LockHolder { pid: None })),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }

    pub(super) fn sync_dir(_dir: &Path) -> io::Result<()> {
        Ok(())
    }
}
