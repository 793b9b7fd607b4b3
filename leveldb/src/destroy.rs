//! Destroys a store: the one call that deletes data.

use crate::engine::lock;
use crate::error::{Error, Result};
use crate::file_name::FileName;
use crate::storage::FileSystem;
use std::io;
use std::path::Path;

/// Removes all files of the store in a directory, and the directory if nothing else is in it. Files that are none of a
/// LevelDB store stay. CURRENT goes first: what is left if this fails half-way is no store any more. Where there is no store, nothing is done.
///
/// # Errors
/// `Conflict` if the store is open for writing; `Io`.
pub fn destroy(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    let names = match fs.list(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        names => names.map_err(|error| Error::io(dir, "cannot list the directory", error))?,
    };
    let mut files: Vec<FileName> = names
        .iter()
        .filter_map(|name| FileName::parse(name))
        .collect();
    if files.is_empty() {
        return Ok(());
    }
    let held = lock(fs, dir)?;
    files.sort_by_key(|name| *name != FileName::Current);
    for name in &files {
        let names = match name {
            FileName::Lock => continue,
            FileName::InfoLog => vec!["LOG".to_owned(), "LOG.old".to_owned()],
            name => vec![name.to_string()],
        };
        for name in names {
            remove(fs, dir, &name)?;
        }
    }
    drop(held);
    remove(fs, dir, &FileName::Lock.to_string())?;
    match fs.list(dir) {
        Ok(left) if left.is_empty() => {
            let removed = fs.remove_dir(dir);
            removed.map_err(|error| Error::io(dir, "cannot remove the directory", error))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(Error::io(dir, "cannot list the directory", error)),
    }
}

fn remove(fs: &dyn FileSystem, dir: &Path, name: &str) -> Result<()> {
    match fs.remove(&dir.join(name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(name, "cannot be removed", error))
        }
        _ => Ok(()),
    }
}
