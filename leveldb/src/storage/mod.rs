//! The interface between the engine and the operating system: everything that the engine needs from outside.
//!
//! Contract, checked by [`conformance`]: paths are taken as given; names that are missing give
//! [`NotFound`](io::ErrorKind::NotFound); a read at or past the end gives zero bytes; a handle stays readable after its file
//! was removed or replaced; [`FileSystem::create`] truncates; [`FileSystem::rename`] replaces; bytes are durable after
//! [`WritableFile::sync`], names (made, renamed, removed) after [`FileSystem::sync_dir`] of their directory. Only
//! [`NotFound`](io::ErrorKind::NotFound) means that something is not there: any other error leaves that open.
//!
//! A name at which a file is opened, made or locked must be free or a regular file's. At a directory this fails with
//! [`IsADirectory`](io::ErrorKind::IsADirectory), at anything else (symbolic link, FIFO, socket, device) with
//! [`InvalidData`](io::ErrorKind::InvalidData). It fails at once, and the error says what is there. A store is data, maybe from an
//! untrusted source: it must neither block its reader nor lead to files that are none of its own. Only the last name of a path is
//! meant: the directories before it may be symbolic links, and so may the one that is listed.
//!
//! Six implementations: [`DiskFileSystem`]; [`MemoryFileSystem`], which can show what a crash would leave ([`CrashImage`]);
//! [`FaultFileSystem`], which fails an operation by number; [`LimitedFileSystem`], whose disk can be full;
//! [`MeasuredFileSystem`], which counts bytes; and [`RecordingFileSystem`], which writes down what is done.

pub mod conformance;
mod crash;
mod disk;
mod fault;
mod limited;
mod measured;
mod memory;
mod pass_on;
mod recording;

pub use crash::CrashImage;
pub use disk::DiskFileSystem;
pub use fault::{Effect, Fault, FaultFileSystem, Manner};
pub use limited::LimitedFileSystem;
pub use measured::{MeasuredFileSystem, UsedBytes};
pub use memory::MemoryFileSystem;
pub(crate) use pass_on::pass_on;
pub use recording::{Rebuilt, RecordingFileSystem, Step};

use std::ffi::OsString;
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Metadata of a file or directory. For a symbolic link it is that of the link itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Length in bytes (of directories: whatever the system says).
    pub len_bytes: u64,
    /// When it was last written, if the system keeps that.
    pub modified: Option<SystemTime>,
    /// Whether it is a directory; a symbolic link to one is none.
    pub is_dir: bool,
    /// Whether it is a symbolic link.
    pub is_link: bool,
}

/// The holder of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// The process, where the system says.
    pub pid: Option<u32>,
}

/// Files, for the engine. One that is only read has the methods that read, and leaves those that write as they are: they fail with
/// [`ReadOnlyFilesystem`](io::ErrorKind::ReadOnlyFilesystem).
pub trait FileSystem: Send + Sync + Debug {
    /// Opens a file for reading anywhere.
    fn open_random(&self, path: &Path) -> io::Result<Arc<dyn RandomFile>>;
    /// Opens a file for reading from its start.
    fn open_sequential(&self, path: &Path) -> io::Result<Box<dyn SequentialFile>>;
    /// Makes an empty file, or empties the one that is there. On a disk, a file that is made is its owner's alone.
    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        let _ = path;
        read_only()
    }
    /// Opens a file for writing at its end; makes it if it is missing.
    fn append(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        let _ = path;
        read_only()
    }
    /// Gives a file another name, in place of a file that has it. A disk does so for a directory, too, where nothing has the name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let _ = (from, to);
        read_only()
    }
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        read_only()
    }
    /// The names in a directory, in no particular order.
    fn list(&self, dir: &Path) -> io::Result<Vec<OsString>>;
    /// What is known of a file or directory. A symbolic link is not followed.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;
    /// Makes a directory whose parent is there. On a disk it is its owner's alone.
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let _ = dir;
        read_only()
    }
    /// Removes an empty directory.
    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        let _ = dir;
        read_only()
    }
    /// Takes the lock that a file stands for, and makes the file if it is missing. Fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if a process, this one included, holds it.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let _ = path;
        read_only()
    }
    /// The holder of the lock; takes nothing and makes nothing. `None` if there is none or the file is missing.
    fn lock_holder(&self, path: &Path) -> io::Result<Option<LockHolder>>;
    /// Makes the names in a directory durable, those of directories too. The empty path is the directory that relative paths
    /// begin in.
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let _ = dir;
        read_only()
    }
}

fn read_only<T>() -> io::Result<T> {
    Err(io::ErrorKind::ReadOnlyFilesystem.into())
}

/// A file read anywhere.
pub trait RandomFile: Send + Sync + Debug {
    /// Reads into `buffer` from `offset`: how many bytes, fewer than asked for also in the middle of a file, none only at
    /// its end (or for an empty buffer).
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// The file's length in bytes, now.
    fn len(&self) -> io::Result<u64>;
    /// Whether the file is empty, now.
    fn is_empty(&self) -> io::Result<bool>;
}

/// A file read from its start.
pub trait SequentialFile: Send + Debug {
    /// Reads on into `buffer`: how many bytes, none at the end.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
}

/// A file written at its end.
pub trait WritableFile: Send + Debug {
    /// Adds all of `bytes`; they may wait in this process.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Hands over what waits to the operating system: it survives the death of this process.
    fn flush(&mut self) -> io::Result<()>;
    /// Flushes and waits until the bytes are on the medium: they survive the death of the machine.
    fn sync(&mut self) -> io::Result<()>;
    /// Flushes and sets the time of last modification, in place of the present. Later appends change it again.
    fn set_modified(&mut self, time: SystemTime) -> io::Result<()>;
    /// Takes away all but the first `len_bytes` bytes, of which there are so many at least, and also what
    /// [`append`](Self::append) left waiting in this process; later appends go on there. For a file of whose end nothing is
    /// certain after an error. Durable after [`sync`](Self::sync).
    fn truncate(&mut self, len_bytes: u64) -> io::Result<()>;
}

/// A lock that is held until dropped.
pub trait FileLock: Send + Sync + Debug {
    /// Whether the lock is still found held under this path. It is not when the file, or a folder that it
    /// lies in, was removed, renamed or replaced since: then another process can have taken the lock of another file there.
    ///
    /// # Errors
    /// If the file system cannot find out.
    fn is_held(&self) -> io::Result<bool>;
}

/// Whether an operation failed for want of room: the disk is full, or a quota or the limit of a file's size is reached. Removing
/// files may help then.
pub fn is_out_of_space(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

/// The files of a folder that this process may not open. Such a file is not damaged: its owner can read it.
///
/// # Errors
/// If the folder cannot be listed.
pub fn files_without_permission(fs: &dyn FileSystem, dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = fs.list(dir)?.iter().map(|name| dir.join(name)).collect();
    paths.retain(|path| {
        fs.metadata(path)
            .is_ok_and(|metadata| !metadata.is_dir && !metadata.is_link)
            && fs
                .open_random(path)
                .is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    });
    paths.sort();
    Ok(paths)
}

/// Reads exactly `buffer.len()` bytes from `offset`; fails with [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if there
/// are fewer.
pub(crate) fn read_exact_at(
    file: &dyn RandomFile,
    mut offset: u64,
    mut buffer: &mut [u8],
) -> io::Result<()> {
    while !buffer.is_empty() {
        match file.read_at(offset, buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                offset += n as u64;
                buffer = &mut buffer[n..];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads a whole file of at most `len_max` bytes; a longer one is an error.
pub(crate) fn read_small_file(
    fs: &dyn FileSystem,
    path: &Path,
    len_max: u64,
) -> io::Result<Vec<u8>> {
    let file = fs.open_random(path)?;
    let len = file.len()?;
    if len > len_max {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!(
                "the file has {len} bytes, and at most {len_max} are read of a file of this kind"
            ),
        ));
    }
    let mut bytes = vec![0; len as usize];
    read_exact_at(&*file, 0, &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
