//! SQLite files that are made beside their place and appear there together.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::{Error, ErrorKind, StorePaths, Unfinished, files};
use larder_leveldb::storage::FileSystem;

use crate::set_aside::move_all;
use crate::sqlite;

/// The files of a store being made. Dropped without [`finish`](Self::finish), they are removed as far as that can be done.
pub(super) struct NewFiles {
    fs: Arc<dyn FileSystem>,
    unfinished: Unfinished,
    target: PathBuf,
}

impl NewFiles {
    /// Begins the files of the store at a place where there is none: its folder is not there, or is a bucket's folder, which may be.
    ///
    /// # Errors
    /// `Usage` if something is at the place; `Io`.
    pub(super) fn begin(fs: &Arc<dyn FileSystem>, to: &StorePaths) -> Result<Self, Error> {
        let target = &to.leveldb;
        let is_bucket = to.identifier().is_none();
        let is_taken = files::exists(&**fs, target)?;
        if is_taken && (!is_bucket || has_store(&**fs, target)?) {
            let what = format!(
                "{}: there is something already: choose another folder, or move it away first",
                target.display()
            );
            return Err(Error::new(ErrorKind::Usage, what));
        }
        files::create_parents(&**fs, target)?;
        let unfinished = Unfinished::begin(fs, target)?;
        files::make_dir(&**fs, unfinished.path())?;
        Ok(Self {
            fs: Arc::clone(fs),
            unfinished,
            target: target.clone(),
        })
    }

    /// The folder in which they are written.
    pub(super) fn path(&self) -> &Path {
        self.unfinished.path()
    }

    /// Gives the synced files their place.
    ///
    /// # Errors
    /// `Io`: none of them is there then. In a bucket's folder that was there, they come one after the other.
    pub(super) fn finish(self) -> Result<(), Error> {
        let fs = &*self.fs;
        if !files::exists(fs, &self.target)? {
            return self.unfinished.finish();
        }
        let names = list(fs, self.path())?;
        let place = |name| (self.path().join(&name), self.target.join(name));
        move_all(fs, names.into_iter().map(place))?;
        files::sync_dir(fs, &self.target)
    }
}

/// Whether a folder has databases' files.
pub(super) fn has_store(fs: &dyn FileSystem, dir: &Path) -> Result<bool, Error> {
    Ok(sqlite::is_store(fs, dir, &list(fs, dir)?))
}

fn list(fs: &dyn FileSystem, dir: &Path) -> Result<Vec<std::ffi::OsString>, Error> {
    let listed = fs.list(dir);
    listed.map_err(|error| larder_leveldb::Error::io(dir, "cannot be listed", error).into())
}
