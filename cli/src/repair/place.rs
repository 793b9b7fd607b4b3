//! Where what a repair makes goes: a folder that appears whole, and, in place of the damaged store, the repaired one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::{Error, ErrorKind, StorePaths, files};
use larder_leveldb::storage::{FileLock, FileSystem};

/// Before the name of the target, in the name of the temporary folder.
const TEMPORARY_PREFIX: &str = ".larder-unfinished-";

/// After the name of a store's folder, in the name of the folder with what was there.
const ASIDE_SUFFIX: &str = ".before-repair";

/// In the folder with what was there, until it has its place.
pub(super) const REPAIRED: &str = "repaired";

/// A folder that is being made beside its place. Dropped without [`finish`](Self::finish), it is removed as far as that can be done.
pub(super) struct Unfinished {
    fs: Arc<dyn FileSystem>,
    pub(super) dir: PathBuf,
    target: PathBuf,
    is_finished: bool,
}

impl Unfinished {
    /// Begins a folder where nothing is. What an earlier attempt has left is removed.
    ///
    /// # Errors
    /// `Usage` if something is there; `Io`.
    pub(super) fn begin(fs: &Arc<dyn FileSystem>, target: &Path) -> Result<Self, Error> {
        if files::exists(&**fs, target)? {
            let what = format!(
                "{}: there is something of this name already: give --to a folder that is not there yet",
                target.display()
            );
            return Err(Error::new(ErrorKind::Usage, what));
        }
        let mut name = std::ffi::OsString::from(TEMPORARY_PREFIX);
        name.push(target.file_name().unwrap_or_default());
        let dir = target.with_file_name(name);
        files::create_parents(&**fs, &dir)?;
        files::remove_tree(&**fs, &dir)?;
        files::make_dir(&**fs, &dir)?;
        Ok(Self {
            fs: Arc::clone(fs),
            dir,
            target: target.to_owned(),
            is_finished: false,
        })
    }

    /// Makes everything durable and gives the folder its name.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        let fs = &*self.fs;
        sync_below(fs, &self.dir)?;
        rename(fs, &self.dir, &self.target)?;
        self.is_finished = true;
        files::sync_dir(fs, self.target.parent().unwrap_or(Path::new("")))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = files::remove_tree(&*self.fs, &self.dir);
        }
    }
}

/// Fails if a program has the store open; else none opens it as long as the lock is held, if one is taken.
///
/// # Errors
/// `Conflict`; `Io`.
pub(super) fn require_unused(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    takes_lock: bool,
) -> Result<Option<Box<dyn FileLock>>, Error> {
    let path = paths.leveldb.join("LOCK");
    let in_use = || {
        let what = "a program has the store open: close it, and try again";
        Error::new(ErrorKind::Conflict, what)
    };
    if fs.lock_holder(&path).is_ok_and(|holder| holder.is_some()) {
        return Err(in_use());
    }
    if !takes_lock {
        return Ok(None);
    }
    match fs.lock(&path) {
        Ok(lock) => Ok(Some(lock)),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Err(in_use()),
        Err(error) => Err(larder_leveldb::Error::io(&path, "cannot be locked", error).into()),
    }
}

/// The folder for what was in the store's place: one that is not there yet.
///
/// # Errors
/// `Io`.
pub(super) fn aside(fs: &dyn FileSystem, paths: &StorePaths) -> Result<PathBuf, Error> {
    let name = paths.leveldb.file_name().unwrap_or_default();
    for n in 1_u64.. {
        let mut free = name.to_owned();
        free.push(ASIDE_SUFFIX);
        if n > 1 {
            free.push(format!(".{n}"));
        }
        let path = paths.leveldb.with_file_name(free);
        if !files::exists(fs, &path)? {
            return Ok(path);
        }
    }
    Err(Error::new(
        ErrorKind::Usage,
        "no name is free beside the store",
    ))
}

/// Moves both folders of the store into `aside`, and those of the repaired store to their place. If that fails, everything is moved back.
///
/// # Errors
/// `Io`.
pub(super) fn exchange(fs: &dyn FileSystem, paths: &StorePaths, aside: &Path) -> Result<(), Error> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_owned();
    let (leveldb, blob) = (name(&paths.leveldb), name(&paths.blob));
    let repaired = aside.join(REPAIRED);
    // The LevelDB folder comes last: where it is, all blobs are.
    let steps = [
        (paths.leveldb.clone(), aside.join(&leveldb)),
        (paths.blob.clone(), aside.join(&blob)),
        (repaired.join(&blob), paths.blob.clone()),
        (repaired.join(&leveldb), paths.leveldb.clone()),
    ];
    let mut done: Vec<&(PathBuf, PathBuf)> = Vec::new();
    for step in &steps {
        let (from, to) = step;
        let moved = match files::exists(fs, from) {
            Ok(false) => continue,
            Ok(true) => rename(fs, from, to),
            Err(error) => Err(error),
        };
        if let Err(error) = moved {
            for (from, to) in done.into_iter().rev() {
                let _ = fs.rename(to, from);
            }
            return Err(error);
        }
        done.push(step);
    }
    files::sync_dir(fs, aside)?;
    files::sync_dir(fs, paths.leveldb.parent().unwrap_or(Path::new("")))?;
    // Empty.
    let _ = fs.remove_dir(&repaired);
    Ok(())
}

fn rename(fs: &dyn FileSystem, from: &Path, to: &Path) -> Result<(), Error> {
    let renamed = fs.rename(from, to);
    renamed.map_err(|error| larder_leveldb::Error::io(to, "cannot get this name", error).into())
}

/// Makes the names in a folder and in all below it durable.
fn sync_below(fs: &dyn FileSystem, dir: &Path) -> Result<(), Error> {
    let failed = |error| {
        Error::from(larder_leveldb::Error::io(
            dir,
            "the folder cannot be listed",
            error,
        ))
    };
    for name in fs.list(dir).map_err(failed)? {
        let path = dir.join(name);
        let failed = |error| {
            Error::from(larder_leveldb::Error::io(
                &path,
                "its metadata cannot be read",
                error,
            ))
        };
        if fs.metadata(&path).map_err(failed)?.is_dir {
            sync_below(fs, &path)?;
        }
    }
    files::sync_dir(fs, dir)
}
