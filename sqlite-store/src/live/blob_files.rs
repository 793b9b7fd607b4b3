//! The contents of blobs, as files that are written and removed: they lie in the folder below the store's until their commit puts them into the
//! tables.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use larder_codec::DatabaseId;
use larder_leveldb::storage::{
    FileLock, FileSystem, LockHolder, Metadata, RandomFile, SequentialFile, WritableFile,
};

use super::files::LiveFiles;
use crate::blobs::BlobFiles;

/// The file system of a store that is open for writing.
#[derive(Debug)]
pub(super) struct LiveBlobFiles {
    pub(super) files: Arc<LiveFiles>,
    pub(super) inner: BlobFiles,
}

impl LiveBlobFiles {
    /// The database whose contents would lie in this folder, if it has any in its tables.
    fn database_of_dir(&self, dir: &Path) -> Option<DatabaseId> {
        let below = dir.strip_prefix(&self.inner.paths.blob).ok()?;
        let id = i64::from_str_radix(below.to_str()?, 16).ok()?;
        let id = DatabaseId::new(id).filter(|id| self.inner.paths.blob_database_dir(*id) == dir)?;
        let has_blobs = match self.files.get(id) {
            Some(file) => file.turn().has_blobs,
            None => self.inner.databases.get(id).is_some(),
        };
        has_blobs.then_some(id)
    }
}

/// What the tables do not have may lie in a file.
fn or_file<T>(found: io::Result<T>, file: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => file(),
        found => found,
    }
}

impl FileSystem for LiveBlobFiles {
    fn open_random(&self, path: &Path) -> io::Result<Arc<dyn RandomFile>> {
        or_file(self.inner.open_random(path), || {
            self.inner.fs.open_random(path)
        })
    }

    fn open_sequential(&self, path: &Path) -> io::Result<Box<dyn SequentialFile>> {
        or_file(self.inner.open_sequential(path), || {
            self.inner.fs.open_sequential(path)
        })
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let found = or_file(self.inner.metadata(path), || self.inner.fs.metadata(path));
        or_file(found, || match self.database_of_dir(path) {
            Some(_) => Ok(Metadata {
                len_bytes: 0,
                modified: None,
                is_dir: true,
                is_link: false,
            }),
            None => Err(io::ErrorKind::NotFound.into()),
        })
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<OsString>> {
        or_file(self.inner.fs.list(dir), || {
            match self.database_of_dir(dir) {
                Some(_) => Ok(Vec::new()),
                None => Err(io::ErrorKind::NotFound.into()),
            }
        })
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        self.inner.fs.create(path)
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        self.inner.fs.append(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.fs.rename(from, to)
    }

    /// A blob goes from the tables, if no record has it. Its file goes, too, if it has one of its own.
    fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = self.inner.fs.remove(path);
        let Some((id, number)) = self.inner.blob(path) else {
            return removed;
        };
        let Some(file) = self.files.get(id) else {
            return removed;
        };
        if !file.release_blob(number).map_err(io::Error::other)? {
            return Ok(());
        }
        match self.inner.fs.remove(&file.now.blob_path(number)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.fs.create_dir(dir)
    }

    /// The contents of a deleted database are let go.
    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        let gone = self
            .database_of_dir(dir)
            .filter(|id| self.files.get(*id).is_none());
        if let Some(id) = gone {
            self.inner.databases.remove(id);
        }
        match self.inner.fs.remove_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && gone.is_some() => Ok(()),
            removed => removed,
        }
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.inner.fs.lock(path)
    }

    fn lock_holder(&self, path: &Path) -> io::Result<Option<LockHolder>> {
        self.inner.fs.lock_holder(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        or_file(self.inner.fs.sync_dir(dir), || {
            match self.database_of_dir(dir) {
                Some(_) => Ok(()),
                None => Err(io::ErrorKind::NotFound.into()),
            }
        })
    }
}
