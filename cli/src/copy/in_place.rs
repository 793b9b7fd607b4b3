//! A store of one form that becomes one of the other, at its place: what was there is kept beside it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use larder_backing_store::{Error, ErrorKind, Store, StorePaths, files};
use larder_leveldb::storage::{FileLock, FileSystem};

use crate::in_use::{in_use, require_unused};

/// After the name of what was there, in the name of the folder in which it is kept.
const ASIDE_SUFFIX: &str = ".before-copy";

/// A bucket's files are kept in a folder of this name, and the suffix.
const BUCKET_NAME: &str = "indexeddb";

/// Whether a store was set aside by a copy that took its place.
pub(super) fn is_kept(paths: &StorePaths) -> bool {
    let mut above = paths.leveldb.ancestors().filter_map(Path::file_name);
    above.any(|name| name.to_string_lossy().contains(ASIDE_SUFFIX))
}

/// A store that nothing may change until it is set aside.
pub(super) struct Held<'a> {
    fs: &'a dyn FileSystem,
    paths: &'a StorePaths,
    _lock: Option<Box<dyn FileLock>>,
    /// Names, lengths and times of SQLite files, which have no lock that a reader could take.
    state: Vec<(OsString, u64, Option<SystemTime>)>,
}

impl<'a> Held<'a> {
    /// Takes LevelDB's lock, or notes how the files are.
    ///
    /// # Errors
    /// `Conflict` if a program has the store open; `Io`.
    pub(super) fn take(fs: &'a dyn FileSystem, store: &'a Store) -> Result<Self, Error> {
        let paths = store.paths();
        let lock = match paths.is_sqlite() {
            false => require_unused(fs, paths, true)?,
            true if store.lock_holder().is_some() => return Err(in_use()),
            true => None,
        };
        let state = match paths.is_sqlite() {
            true => state(fs, paths)?,
            false => Vec::new(),
        };
        Ok(Self {
            fs,
            paths,
            _lock: lock,
            state,
        })
    }

    /// Moves the store into a folder beside it: where it is then.
    ///
    /// # Errors
    /// `Conflict` if a program has changed the store meanwhile; `Io`. Everything is as it was then.
    pub(super) fn set_aside(self) -> Result<SetAside<'a>, Error> {
        let fs = self.fs;
        let is_bucket = self.paths.is_sqlite() && self.paths.identifier().is_none();
        let (within, name) = match is_bucket {
            true => (&*self.paths.leveldb, OsStr::new(BUCKET_NAME)),
            false => (
                self.paths.leveldb.parent().unwrap_or(Path::new("")),
                self.paths.leveldb.file_name().unwrap_or_default(),
            ),
        };
        let moved = match (self.paths.is_sqlite(), is_bucket) {
            (true, true) => names(fs, self.paths)?
                .into_iter()
                .map(|name| self.paths.leveldb.join(name))
                .collect(),
            (true, false) => vec![self.paths.leveldb.clone()],
            (false, _) => vec![self.paths.leveldb.clone(), self.paths.blob.clone()],
        };
        if self.paths.is_sqlite() && state(fs, self.paths)? != self.state {
            return Err(in_use());
        }
        let folder = free_name(fs, within, name)?;
        files::make_dir(fs, &folder)?;
        let mut aside = SetAside {
            fs,
            folder,
            done: Vec::new(),
            _held: self,
        };
        match aside.take(moved, within) {
            Ok(()) => Ok(aside),
            Err(error) => {
                aside.restore();
                Err(error)
            }
        }
    }
}

/// A store that was moved away.
pub(super) struct SetAside<'a> {
    fs: &'a dyn FileSystem,
    folder: PathBuf,
    done: Vec<(PathBuf, PathBuf)>,
    _held: Held<'a>,
}

impl SetAside<'_> {
    fn take(&mut self, moved: Vec<PathBuf>, within: &Path) -> Result<(), Error> {
        for from in moved {
            if !files::exists(self.fs, &from)? {
                continue;
            }
            let to = self.folder.join(from.file_name().unwrap_or_default());
            let renamed = self.fs.rename(&from, &to);
            renamed
                .map_err(|error| larder_leveldb::Error::io(&from, "cannot be set aside", error))?;
            self.done.push((from, to));
        }
        files::sync_dir(self.fs, &self.folder)?;
        files::sync_dir(self.fs, within)
    }

    /// Where it is.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Moves it back.
    pub(super) fn restore(self) {
        for (from, to) in self.done.iter().rev() {
            let _ = self.fs.rename(to, from);
        }
        let _ = self.fs.remove_dir(&self.folder);
    }
}

/// The databases' files, their logs, and the folders of blobs beside them.
fn names(fs: &dyn FileSystem, paths: &StorePaths) -> Result<Vec<OsString>, Error> {
    let dir = &paths.leveldb;
    let mut names = fs
        .list(dir)
        .map_err(|error| larder_leveldb::Error::io(dir, "cannot be listed", error))?;
    names.retain(|name| {
        let Some(name) = name.to_str() else {
            return false;
        };
        let ends = ["", "-wal", "-shm", "-journal", "_"];
        ends.iter()
            .filter_map(|end| name.strip_suffix(end))
            .any(|name| StorePaths::is_sqlite_name(Path::new(name)))
    });
    names.sort();
    Ok(names)
}

fn state(
    fs: &dyn FileSystem,
    paths: &StorePaths,
) -> Result<Vec<(OsString, u64, Option<SystemTime>)>, Error> {
    let mut state = Vec::new();
    for name in names(fs, paths)? {
        let path = paths.leveldb.join(&name);
        let metadata = fs
            .metadata(&path)
            .map_err(|error| larder_leveldb::Error::io(&path, "cannot be looked at", error))?;
        state.push((name, metadata.len_bytes, metadata.modified));
    }
    Ok(state)
}

fn free_name(fs: &dyn FileSystem, within: &Path, name: &OsStr) -> Result<PathBuf, Error> {
    for n in 1_u64.. {
        let mut free = name.to_owned();
        free.push(ASIDE_SUFFIX);
        if n > 1 {
            free.push(format!(".{n}"));
        }
        let path = within.join(free);
        if !files::exists(fs, &path)? {
            return Ok(path);
        }
    }
    let what = "no name is free beside the store";
    Err(Error::new(ErrorKind::Usage, what))
}
