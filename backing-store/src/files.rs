//! Folders and files beside the LevelDB.

use std::io;
use std::path::Path;

use larder_leveldb::storage::FileSystem;

use crate::error::{Error, Result};

/// Deeper than any blob folder. What lies deeper is not part of a store.
const DEPTH_MAX: usize = 8;

/// Removes a file, if it is there.
pub(crate) fn remove_if_there(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    match fs.remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(path, "cannot be removed", error))
        }
        _ => Ok(()),
    }
}

/// Removes a folder with all that is in it, or a file, if it is there. What links in it lead to stays.
///
/// # Errors
/// `Io`.
pub fn remove_tree(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    match fs.metadata(dir) {
        // A symbolic link is removed; what it leads to is not part of the store and stays. It is so below, too.
        Ok(metadata) if metadata.is_link || !metadata.is_dir => remove_if_there(fs, dir),
        Ok(_) => remove_below(fs, dir, DEPTH_MAX),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io(dir, "its metadata cannot be read", error)),
    }
}

fn remove_below(fs: &dyn FileSystem, dir: &Path, depth_max: usize) -> Result<()> {
    let list_failed = |error| Error::io(dir, "the folder cannot be listed", error);
    for name in fs.list(dir).map_err(list_failed)? {
        let path = dir.join(name);
        let metadata = fs
            .metadata(&path)
            .map_err(|error| Error::io(&path, "its metadata cannot be read", error))?;
        if metadata.is_dir && depth_max > 0 {
            remove_below(fs, &path, depth_max - 1)?;
        } else {
            remove_if_there(fs, &path)?;
        }
    }
    fs.remove_dir(dir)
        .map_err(|error| Error::io(dir, "the folder cannot be removed", error))
}

/// Whether something has the name.
///
/// # Errors
/// `Io`, if that cannot be found out.
pub fn exists(fs: &dyn FileSystem, path: &Path) -> Result<bool> {
    match fs.metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io(path, "its metadata cannot be read", error)),
    }
}

/// Makes the names in a folder durable, if it is there.
///
/// # Errors
/// `Io`.
pub fn sync_dir(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    match fs.sync_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(dir, "the folder cannot be synced", error))
        }
        _ => Ok(()),
    }
}

/// Makes the folders that `path` is to lie in; the names of those it made are durable then.
///
/// # Errors
/// `Io`.
pub fn create_parents(fs: &dyn FileSystem, path: &Path) -> Result<()> {
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
///
/// # Errors
/// `Io`.
pub fn make_dir(fs: &dyn FileSystem, dir: &Path) -> Result<bool> {
    match fs.create_dir(dir) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(Error::io(dir, "the folder cannot be made", error)),
    }
}

/// Makes the name of a folder durable.
pub(crate) fn sync_name(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    match dir.parent() {
        Some(parent) => sync_dir(fs, parent),
        None => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use larder_leveldb::storage::DiskFileSystem;
    use std::os::unix::fs::symlink;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "links stand on a disk only")]
    fn what_a_link_in_a_folder_leads_to_is_not_removed_with_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let others = dir.path().join("others");
        std::fs::create_dir_all(others.join("deep")).unwrap();
        std::fs::write(others.join("deep/file"), "somebody's").unwrap();
        let blobs = dir.path().join("x.indexeddb.blob");
        std::fs::create_dir_all(blobs.join("1/00")).unwrap();
        std::fs::write(blobs.join("1/00/2"), "a blob").unwrap();
        symlink(&others, blobs.join("1/01")).unwrap();
        symlink(&others, blobs.join("2")).unwrap();
        let fs = DiskFileSystem::new();
        remove_tree(&fs, &blobs.join("2")).unwrap();
        assert!(blobs.join("2").symlink_metadata().is_err());
        remove_tree(&fs, &blobs).unwrap();
        assert!(!blobs.exists());
        assert_eq!(
            std::fs::read(others.join("deep/file")).unwrap(),
            b"somebody's"
        );
    }
}
