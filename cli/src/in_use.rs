//! Stores that no other program may have open while a command takes their place.

use larder_backing_store::{Error, ErrorKind, StorePaths};
use larder_leveldb::storage::{FileLock, FileSystem};

/// The error of a store that a program has open.
pub(crate) fn in_use() -> Error {
    let what = "a program has the store open: close it, and try again";
    Error::new(ErrorKind::Conflict, what)
}

/// Fails if a program has the store open; else none opens it as long as the lock is held, if one is taken.
///
/// # Errors
/// `Conflict`; `Io`.
pub(crate) fn require_unused(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    takes_lock: bool,
) -> Result<Option<Box<dyn FileLock>>, Error> {
    let path = paths.leveldb.join("LOCK");
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
