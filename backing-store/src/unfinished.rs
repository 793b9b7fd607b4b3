//! A file or folder that is made beside its place and appears there whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{ffi::OsString, fmt};

use larder_leveldb::storage::FileSystem;

use crate::error::{Error, Result};
use crate::files;

/// Before the name, in the name of what is not finished.
const PREFIX: &str = ".larder-unfinished-";

/// A file or folder that is being made. Dropped without [`finish`](Self::finish), it is removed as far as that can be done; what stays, the
/// next attempt removes.
///
/// ```
/// use std::{path::Path, sync::Arc};
/// use larder_backing_store::Unfinished;
/// use larder_leveldb::storage::{FileSystem, MemoryFileSystem};
///
/// let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
/// let report = Unfinished::begin(&fs, Path::new("report"))?;
/// fs.create(report.path())?.sync()?;
/// assert!(fs.metadata(Path::new("report")).is_err());
/// report.finish()?;
/// assert!(fs.metadata(Path::new("report")).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Unfinished {
    fs: Arc<dyn FileSystem>,
    path: PathBuf,
    target: PathBuf,
    is_finished: bool,
}

impl Unfinished {
    /// Begins one. Nothing is made yet; what an earlier attempt has left is removed. The caller looks whether the place is free.
    ///
    /// # Errors
    /// `Io`.
    pub fn begin(fs: &Arc<dyn FileSystem>, target: &Path) -> Result<Self> {
        let path = path_of(target);
        files::remove_tree(&**fs, &path)?;
        Ok(Self {
            fs: Arc::clone(fs),
            path,
            target: target.to_owned(),
            is_finished: false,
        })
    }

    /// Where it is until it is finished.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the names in it durable, and gives it its own. The caller has synced the files.
    ///
    /// # Errors
    /// `Io`: nothing is at its place then, or the whole.
    pub fn finish(mut self) -> Result<()> {
        let fs = &*self.fs;
        sync_names(fs, &self.path)?;
        rename(fs, &self.path, &self.target)?;
        self.is_finished = true;
        files::sync_dir(fs, self.target.parent().unwrap_or(Path::new("")))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = files::remove_tree(&*self.fs, &self.path);
        }
    }
}

impl fmt::Debug for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut unfinished = f.debug_struct("Unfinished");
        unfinished.field("target", &self.target);
        unfinished.finish_non_exhaustive()
    }
}

/// Where something is until it is finished: beside its place, where a rename suffices.
pub(crate) fn path_of(target: &Path) -> PathBuf {
    let mut name = OsString::from(PREFIX);
    name.push(target.file_name().unwrap_or_default());
    target.with_file_name(name)
}

/// Gives something that is finished its name.
pub(crate) fn rename(fs: &dyn FileSystem, from: &Path, to: &Path) -> Result<()> {
    let renamed = fs.rename(from, to);
    renamed.map_err(|error| Error::io(to, "what is finished cannot get this name", error))
}

/// Makes the names in a folder and in all below it durable. A file has none.
pub(crate) fn sync_names(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    let metadata = fs.metadata(path);
    if !metadata
        .map_err(|error| Error::io(path, "its metadata cannot be read", error))?
        .is_dir
    {
        return Ok(());
    }
    let listed = fs.list(path);
    for name in listed.map_err(|error| Error::io(path, "the folder cannot be listed", error))? {
        sync_names(fs, &path.join(name))?;
    }
    files::sync_dir(fs, path)
}
