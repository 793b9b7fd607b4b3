//! Deleting a store with all that is its.

use std::io;
use std::path::Path;

use larder_backing_store::{Error, ErrorKind, StorePaths, files, remove_notes};
use larder_leveldb::storage::FileSystem;

use super::file::connect;
use super::open::{LOCK, take_lock};
use super::store::{io_error, remove_beside, remove_if_there};

/// Deletes the store in a folder on the disk: its databases, contents of blobs on their way, and Larder's notes; and the folder, if nothing else is in it. Where
/// there is no store, nothing is done.
///
/// # Errors
/// [`ErrorKind::Conflict`] if another program has it, or one of its databases, open; then nothing is deleted. [`ErrorKind::Io`]; then it can be deleted again.
pub fn delete_store(fs: &dyn FileSystem, dir: &Path) -> Result<(), Error> {
    let names = match fs.list(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        names => names.map_err(|error| io_error(dir, &error))?,
    };
    let lock = take_lock(fs, dir)?;
    let databases: Vec<_> = names
        .iter()
        .map(|name| dir.join(name))
        .filter(|path| StorePaths::is_sqlite_name(path))
        .collect();
    for path in &databases {
        check_not_open(path)?;
    }
    for path in &databases {
        remove_if_there(fs, path)?;
        remove_beside(fs, path)?;
    }
    let paths = StorePaths::of_sqlite(dir);
    files::remove_tree(fs, &paths.blob)?;
    remove_notes(fs, &paths)?;
    drop(lock);
    remove_if_there(fs, &dir.join(LOCK))?;
    // It stays if something else is in it.
    let _ = fs.remove_dir(dir);
    match dir.parent() {
        Some(parent) => files::sync_dir(fs, parent),
        None => Ok(()),
    }
}

/// Fails if a program has the file open. What is wrong with it otherwise keeps it from nothing here.
fn check_not_open(path: &Path) -> Result<(), Error> {
    let asked = connect(path).and_then(|connection| {
        connection.busy_timeout(std::time::Duration::ZERO)?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()))
    });
    match asked.map_err(|error| crate::sql::error(path, &error)) {
        Err(error) if error.kind() == ErrorKind::Conflict => Err(error),
        _ => Ok(()),
    }
}
