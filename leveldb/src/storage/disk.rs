//! The disk.
//!
//! Locks are POSIX record locks over the whole file, as C++ LevelDB and Chromium take them. Such a lock belongs to the
//! process and goes away when *any* descriptor of the file is closed, so this process keeps a list of the files it has
//! locked, and neither opens nor asks the system about those. Elsewhere than on Unix, locks are those of the standard
//! library.
//!
//! Files are made for their owner alone (0600, folders 0700), as Chromium makes them: what a site has stored is nobody
//! else's business. Nothing but regular files is opened ([`regular`]).

mod regular;

use super::{FileLock, FileSystem, LockHolder, Metadata, RandomFile, SequentialFile, WritableFile};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::path::Path;
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
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        fs::remove_dir(dir)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let mut held = held();
        let busy = || io::Error::new(io::ErrorKind::WouldBlock, "this process holds the lock");
        if path.exists()
            && held
                .iter()
                .any(|id| FileId::of(path).is_ok_and(|asked| asked == *id))
        {
            return Err(busy());
        }
        let file = regular::open_lock(path)?;
        system::lock(&file)?;
        let id = FileId::of(path)?;
        held.push(id.clone());
        Ok(Box::new(DiskLock {
            id,
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
        if held.contains(&id) {
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
static HELD: Mutex<Vec<FileId>> = Mutex::new(Vec::new());

fn held() -> std::sync::MutexGuard<'static, Vec<FileId>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
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
}

#[derive(Debug)]
struct DiskLock {
    id: FileId,
    file: Option<File>,
}

impl FileLock for DiskLock {}

impl Drop for DiskLock {
    fn drop(&mut self) {
        let mut held = held();
        self.file = None;
        held.retain(|id| *id != self.id);
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
}

impl Drop for DiskWritableFile {
    fn drop(&mut self) {
        // Whoever cares about the result calls `flush` or `sync` first.
        self.flush().ok();
    }
}

#[cfg(unix)]
mod system {
    use super::{File, LockHolder, Path, io};
    use rustix::fs::{FlockOperation, fcntl_lock};
    use rustix::process::{Flock, FlockType, fcntl_getlk};

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
