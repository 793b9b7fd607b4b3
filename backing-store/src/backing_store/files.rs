//! Folders and files beside the LevelDB.

use std::io;
use std::path::Path;

use larder_leveldb::storage::FileSystem;

use crate::error::{Error, ErrorKind, Result};

/// Deeper than any blob folder; the rest is no business of ours.
const DEPTH_MAX: usize = 8;

fn failed(path: &Path, what: &str, error: &io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("{}: {what}: {error}", path.display()),
    )
}

/// Removes a file, if it is there.
pub(crate) fn remove_if_there(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    match fs.remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed(path, "cannot remove", &error))
        }
        _ => Ok(()),
    }
}

/// Removes a folder with all that is in it, if it is there.
pub(crate) fn remove_tree(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    if !exists(fs, dir)? {
        return Ok(());
    }
    remove_below(fs, dir, DEPTH_MAX)
}

fn remove_below(fs: &dyn FileSystem, dir: &Path, depth_max: usize) -> Result<()> {
    let list_failed = |error| failed(dir, "cannot list", &error);
    for name in fs.list(dir).map_err(list_failed)? {
        let path = dir.join(name);
        let metadata = fs
            .metadata(&path)
            .map_err(|error| failed(&path, "cannot look at", &error))?;
        if metadata.is_dir && depth_max > 0 {
            remove_below(fs, &path, depth_max - 1)?;
        } else {
            remove_if_there(fs, &path)?;
        }
    }
    fs.remove_dir(dir)
        .map_err(|error| failed(dir, "cannot remove", &error))
}

pub(crate) fn exists(fs: &dyn FileSystem, path: &Path) -> Result<bool> {
    match fs.metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(path, "cannot look at", &error)),
    }
}

/// Makes the names in a folder durable, if it is there.
pub(crate) fn sync_dir(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    match fs.sync_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed(dir, "cannot sync", &error))
        }
        _ => Ok(()),
    }
}

/// Makes the folders that `path` is to lie in; the names of those it made are durable then.
pub(crate) fn create_parents(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    let Some(parent) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) else {
        return Ok(());
    };
    if exists(fs, parent)? {
        return Ok(());
    }
    create_parents(fs, parent)?;
    make_dir(fs, parent)?;
    sync_name(fs, parent)
}

/// Makes a folder in one that is there; whether it was not there.
pub(crate) fn make_dir(fs: &dyn FileSystem, dir: &Path) -> Result<bool> {
    match fs.create_dir(dir) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(dir, "cannot make", &error)),
    }
}

/// Makes the name of a folder durable.
pub(crate) fn sync_name(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    match dir.parent() {
        Some(parent) => sync_dir(fs, parent),
        None => Ok(()),
    }
}
