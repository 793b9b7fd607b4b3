//! [`Within`]: a file system for reading, in which no symbolic link leads out of what a person has pointed at.
//!
//! Opening a file never follows a link at its own name (`larder_leveldb::storage`). The folders on the way to it are looked at
//! here: those that PATH itself names may be links, those below or beside it may not. Nothing is ever written.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_leveldb::storage::{FileSystem, LockHolder, Metadata, RandomFile, SequentialFile};

/// Another file system as seen from PATH.
#[derive(Debug)]
pub(crate) struct Within {
    inner: Arc<dyn FileSystem>,
    path: PathBuf,
}

impl Within {
    /// What `path` names, what is in it and what is beside it.
    pub(crate) fn new(inner: Arc<dyn FileSystem>, path: &Path) -> Self {
        let path = path.to_owned();
        Self { inner, path }
    }

    /// Fails if a folder on the way to `path` is a symbolic link that PATH does not name.
    fn check_way(&self, path: &Path) -> io::Result<()> {
        // From the top, so that the first link is the one that is named.
        let mut folders: Vec<&Path> = path.ancestors().skip(1).collect();
        folders.reverse();
        folders.into_iter().try_for_each(|dir| self.check(dir))
    }

    /// Fails if a folder is a symbolic link that PATH does not name.
    fn check(&self, dir: &Path) -> io::Result<()> {
        let is_named = dir.as_os_str().is_empty() || self.path.starts_with(dir);
        if is_named || !self.inner.metadata(dir)?.is_link {
            return Ok(());
        }
        let what = format!(
            "{} is a symbolic link, which is not followed: give that path itself to look there",
            dir.display()
        );
        Err(io::Error::new(io::ErrorKind::InvalidData, what))
    }
}

impl FileSystem for Within {
    fn open_random(&self, path: &Path) -> io::Result<Arc<dyn RandomFile>> {
        self.check_way(path)?;
        self.inner.open_random(path)
    }

    fn open_sequential(&self, path: &Path) -> io::Result<Box<dyn SequentialFile>> {
        self.check_way(path)?;
        self.inner.open_sequential(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<OsString>> {
        self.check_way(dir)?;
        self.check(dir)?;
        self.inner.list(dir)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.check_way(path)?;
        self.inner.metadata(path)
    }

    fn lock_holder(&self, path: &Path) -> io::Result<Option<LockHolder>> {
        self.check_way(path)?;
        self.inner.lock_holder(path)
    }
}
