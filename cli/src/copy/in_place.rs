//! A store of one form that becomes one of the other, at its place: what was there is kept beside it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use larder_backing_store::{Error, ErrorKind, OpenOptions, StorePaths, files};
use larder_leveldb::storage::{FileLock, FileSystem};

use super::{Copied, CopyOptions, Format, is_store, write_copy};
use crate::in_use::{in_use, require_unused};
use crate::open_store::open_store;
use crate::set_aside::{Moved, free_name, move_all};

/// After the name of what was there, in the name of the folder in which it is kept.
const ASIDE_SUFFIX: &str = ".before-copy";

/// A bucket's files are kept in a folder of this name, and the suffix.
const BUCKET_NAME: &str = "indexeddb";

/// Whether a store was set aside by a copy that took its place.
pub(super) fn is_kept(paths: &StorePaths) -> bool {
    let mut above = paths.leveldb.ancestors().filter_map(Path::file_name);
    above.any(|name| name.to_string_lossy().contains(ASIDE_SUFFIX))
}

/// What was put in a store's place.
#[derive(Debug, Clone)]
pub struct Replaced {
    /// What was copied.
    pub copied: Copied,
    /// Where it is.
    pub place: StorePaths,
    /// The folder in which what was there is kept; none in a dry run.
    pub kept: Option<PathBuf>,
}

/// Puts a copy in the other form in the place of a store. The store is as it was if anything of it cannot be read. `tick` is called for each row.
///
/// # Errors
/// As [`copy_store`](super::copy_store); `Conflict` if a program has the store open; `Usage` if it has the form already, something of it cannot be read,
/// or a store of the other form is there as well. Everything is as it was then.
pub fn replace_store(
    fs: &Arc<dyn FileSystem>,
    from: &StorePaths,
    options: &CopyOptions,
    tick: &mut dyn FnMut(),
) -> Result<Replaced, Error> {
    let place = match options.format {
        Format::LevelDb => StorePaths::of_leveldb(&from.in_leveldb()),
        Format::Sqlite => StorePaths::of_sqlite(&from.in_sqlite()),
    };
    let usage = |path: &Path, what: &str| {
        let what = format!("{}: {what}", path.display());
        Error::new(ErrorKind::Usage, what)
    };
    if place.is_sqlite() == from.is_sqlite() {
        return Err(usage(&from.leveldb, "the store has this form already"));
    }
    if is_store(&**fs, &place) {
        let what = "there is a store of the other form as well, and a browser would delete one of the two: move it away first";
        return Err(usage(&place.leveldb, what));
    }
    let held = Held::take(&**fs, from)?;
    // Nothing changes what is read from now on without being noticed.
    let store = open_store(fs, from.clone(), OpenOptions::default())
        .map_err(|error| not_whole(from, &error))?;
    if let Some(problem) = store.recovery().problems.first() {
        return Err(not_whole(from, problem));
    }
    // The lock of a LevelDB is ours.
    if from.is_sqlite() && store.lock_holder().is_some() {
        return Err(in_use());
    }
    let (copied, new) = write_copy(&store, fs, &place, options, tick)?;
    let mut replaced = Replaced {
        copied,
        place,
        kept: None,
    };
    let Some(new) = new else {
        return Ok(replaced);
    };
    if let Some(problem) = replaced.copied.problems.first() {
        return Err(not_whole(from, problem));
    }
    let aside = held.set_aside()?;
    if let Err(error) = new.finish() {
        // It may have come to its place, and only not be durable.
        if !is_store(&**fs, &replaced.place) {
            aside.undo();
        }
        return Err(error);
    }
    replaced.kept = Some(aside.folder);
    Ok(replaced)
}

/// The error of a store of which something cannot be read.
fn not_whole(paths: &StorePaths, problem: &dyn fmt::Display) -> Error {
    let what = format!(
        "{}: not everything can be read, so the store stays as it was: {problem}: larder repair first",
        paths.leveldb.display()
    );
    Error::new(ErrorKind::Usage, what)
}

/// A store that nothing may change until it is set aside.
struct Held<'a> {
    fs: &'a dyn FileSystem,
    paths: &'a StorePaths,
    _lock: Option<Box<dyn FileLock>>,
    /// Names, lengths and times of SQLite files, which have no lock that a reader could take.
    state: Vec<(OsString, u64, Option<SystemTime>)>,
}

impl<'a> Held<'a> {
    /// Takes LevelDB's lock, or notes how the files are.
    fn take(fs: &'a dyn FileSystem, paths: &'a StorePaths) -> Result<Self, Error> {
        let (lock, state) = match paths.is_sqlite() {
            true => (None, state(fs, paths)?),
            false => (require_unused(fs, paths, true)?, Vec::new()),
        };
        Ok(Self {
            fs,
            paths,
            _lock: lock,
            state,
        })
    }

    /// Moves the store into a folder beside it.
    ///
    /// # Errors
    /// `Conflict` if a program has changed the store meanwhile; `Io`. Everything is as it was then.
    fn set_aside(self) -> Result<SetAside<'a>, Error> {
        let Self { fs, paths, .. } = self;
        let is_bucket = paths.is_sqlite() && paths.identifier().is_none();
        let (within, name) = match is_bucket {
            true => (&*paths.leveldb, OsStr::new(BUCKET_NAME)),
            false => (
                paths.leveldb.parent().unwrap_or(Path::new("")),
                paths.leveldb.file_name().unwrap_or_default(),
            ),
        };
        let moved = match (paths.is_sqlite(), is_bucket) {
            (true, true) => {
                let names = names(fs, paths)?.into_iter();
                names.map(|name| paths.leveldb.join(name)).collect()
            }
            (true, false) => vec![paths.leveldb.clone()],
            (false, _) => vec![paths.leveldb.clone(), paths.blob.clone()],
        };
        if paths.is_sqlite() && state(fs, paths)? != self.state {
            return Err(in_use());
        }
        let folder = free_name(fs, within, name, ASIDE_SUFFIX)?;
        files::make_dir(fs, &folder)?;
        let place = |from: PathBuf| {
            let to = folder.join(from.file_name().unwrap_or_default());
            (from, to)
        };
        let moved = match move_all(fs, moved.into_iter().map(place)) {
            Ok(moved) => moved,
            Err(error) => {
                let _ = fs.remove_dir(&folder);
                return Err(error);
            }
        };
        let synced = files::sync_dir(fs, &folder).and_then(|()| files::sync_dir(fs, within));
        let aside = SetAside {
            fs,
            folder,
            moved,
            _held: self,
        };
        match synced {
            Ok(()) => Ok(aside),
            Err(error) => {
                aside.undo();
                Err(error)
            }
        }
    }
}

/// A store that was moved into a folder.
struct SetAside<'a> {
    fs: &'a dyn FileSystem,
    folder: PathBuf,
    moved: Moved<'a>,
    _held: Held<'a>,
}

impl SetAside<'_> {
    fn undo(self) {
        self.moved.undo();
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
