//! Finding stores: from whatever folder the user names to the folders of stores below it, in LevelDB and in SQLite files.
//!
//! Chromium keeps the first-party bucket of an origin in `IndexedDB/<identifier>.indexeddb.{leveldb,blob}` of a profile
//! and every other bucket in `WebStorage/<bucket>/IndexedDB/indexeddb.{leveldb,blob}`; Electron adds
//! `Partitions/<name>/`, extensions and web apps `Storage/ext/<id>/def/`. One bounded walk finds all of them, each
//! under its shortest path. Symbolic links are not followed: an app's folder may hold links to a whole disk (Wine's
//! `dosdevices/z:`), and a folder of unknown source may lead anywhere. Those that lead to folders elsewhere are named.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use larder_backing_store::layout::StorePaths;
use larder_leveldb::storage::FileSystem;

use crate::sqlite;

/// How many folders deep the walk goes below PATH. A profile's deepest store lies 6 below a user-data folder.
pub const DEPTH_MAX: usize = 10;

/// What the walk found.
#[derive(Debug, Default)]
pub struct Found {
    /// The stores, in order of path.
    pub stores: Vec<StorePaths>,
    /// Folders that could not be read, with why.
    pub unreadable: Vec<(PathBuf, io::Error)>,
    /// Symbolic links to folders that do not lie below PATH.
    pub links: Vec<PathBuf>,
}

/// Where a path leads: the path without symbolic links.
pub type Resolve<'a> = &'a dyn Fn(&Path) -> PathBuf;

/// Where a path on this machine leads; itself, if that cannot be found out.
pub(crate) fn resolve(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The path that is given, or, if its own name says nothing, the one that it leads to: `.` has no name, and a link to a
/// store's folder may have any.
pub(crate) fn named(path: &Path) -> PathBuf {
    let says_nothing = match path.file_name() {
        None => true,
        // A file of the folder that the command runs in.
        Some(_) if path.parent() == Some(Path::new("")) && path.is_file() => true,
        Some(_) => {
            path.is_symlink()
                && !StorePaths::is_leveldb_name(path)
                && StorePaths::of_blob(path).is_none()
        }
    };
    match says_nothing {
        true => resolve(path),
        false => path.to_owned(),
    }
}

/// Finds every store at or below `path`. `resolve` takes symbolic links out of a path.
///
/// # Errors
/// Only if `path` itself cannot be looked at; trouble below it is reported in [`Found::unreadable`].
pub fn find_stores(fs: &dyn FileSystem, resolve: Resolve<'_>, path: &Path) -> io::Result<Found> {
    let mut found = Found::default();
    // PATH itself may be a link.
    let metadata = match fs.metadata(path)? {
        metadata if metadata.is_link => fs.metadata(&resolve(path))?,
        metadata => metadata,
    };
    if !metadata.is_dir {
        // The folder of a bare file name is the one that the program runs in.
        let parent = path.parent().map(|parent| match parent {
            parent if parent.as_os_str().is_empty() => Path::new("."),
            parent => parent,
        });
        // A file inside a store: the person means the store.
        if let Some(parent) = parent
            && is_leveldb(fs, parent)?
        {
            found.stores.push(StorePaths::of_leveldb(parent));
        } else if let (Some(parent), Some(name)) = (parent, path.file_name())
            && sqlite::is_store(fs, parent, &[name.to_owned()])
        {
            found.stores.push(StorePaths::of_sqlite(parent));
        }
        return Ok(found);
    }
    if let Some(paths) = StorePaths::of_blob(path)
        && fs.metadata(&paths.leveldb).is_ok_and(|meta| meta.is_dir)
    {
        found.stores.push(paths);
        return Ok(found);
    }
    // What is pointed at directly may have any name, as long as LevelDB files are in it.
    if StorePaths::is_leveldb_name(path) || is_leveldb(fs, path)? {
        found.stores.push(StorePaths::of_leveldb(path));
        return Ok(found);
    }
    walk(fs, resolve, path, &mut found);
    found.stores.sort();
    Ok(found)
}

/// Breadth first, so that of several paths to a folder the shortest is the one that is shown.
fn walk(fs: &dyn FileSystem, resolve: Resolve<'_>, root: &Path, found: &mut Found) {
    let resolved_root = resolve(root);
    let mut pending = VecDeque::from([(root.to_owned(), 0)]);
    while let Some((dir, depth)) = pending.pop_front() {
        let mut names = match fs.list(&dir) {
            Ok(names) => names,
            Err(error) => {
                found.unreadable.push((dir, error));
                continue;
            }
        };
        names.sort();
        if sqlite::is_store(fs, &dir, &names) {
            found.stores.push(StorePaths::of_sqlite(&dir));
        }
        for name in names {
            let child = dir.join(name);
            if StorePaths::of_blob(&child).is_some() {
                continue;
            }
            match fs.metadata(&child) {
                Ok(meta) if meta.is_dir => {}
                Ok(meta) if meta.is_link => {
                    let target = resolve(&child);
                    let is_dir = fs.metadata(&target).is_ok_and(|meta| meta.is_dir);
                    if is_dir && !target.starts_with(&resolved_root) {
                        found.links.push(child);
                    }
                    continue;
                }
                // Removed since the folder was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    found.unreadable.push((child, error));
                    continue;
                }
                Ok(_) => continue,
            }
            if StorePaths::is_leveldb_name(&child) {
                found.stores.push(StorePaths::of_leveldb(&child));
            } else if depth < DEPTH_MAX {
                pending.push_back((child, depth + 1));
            }
        }
    }
}

/// Whether a folder has files by which a LevelDB begins.
pub(crate) fn is_leveldb(fs: &dyn FileSystem, dir: &Path) -> io::Result<bool> {
    Ok(fs.list(dir)?.iter().any(|name| {
        let name = name.to_str().unwrap_or_default();
        name == "CURRENT" || name.starts_with("MANIFEST-")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_leveldb::storage::MemoryFileSystem;

    fn with_dirs(dirs: &[&str]) -> MemoryFileSystem {
        let fs = MemoryFileSystem::new();
        for dir in dirs {
            let mut at = PathBuf::new();
            for part in Path::new(dir) {
                at.push(part);
                if fs.metadata(&at).is_err() {
                    fs.create_dir(&at).unwrap();
                }
            }
        }
        fs
    }

    fn found(fs: &MemoryFileSystem, path: &str) -> Vec<String> {
        find_stores(fs, &Path::to_owned, Path::new(path))
            .unwrap()
            .stores
            .into_iter()
            .map(|store| store.leveldb.to_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn a_user_data_folder_gives_profiles_buckets_and_partitions() {
        let fs = with_dirs(&[
            "/u/Default/IndexedDB/https_a.example_0.indexeddb.leveldb",
            "/u/Default/IndexedDB/https_a.example_0.indexeddb.blob/1/00",
            "/u/Default/WebStorage/7/IndexedDB/indexeddb.leveldb",
            "/u/Default/Storage/ext/abc/def/IndexedDB/chrome-extension_abc_0.indexeddb.leveldb",
            "/u/Partitions/p/IndexedDB/file__0.indexeddb.leveldb",
            "/u/Default/Local Storage/leveldb",
        ]);
        assert_eq!(
            found(&fs, "/u"),
            [
                "/u/Default/IndexedDB/https_a.example_0.indexeddb.leveldb",
                "/u/Default/Storage/ext/abc/def/IndexedDB/chrome-extension_abc_0.indexeddb.leveldb",
                "/u/Default/WebStorage/7/IndexedDB/indexeddb.leveldb",
                "/u/Partitions/p/IndexedDB/file__0.indexeddb.leveldb",
            ]
        );
    }

    #[test]
    fn a_store_can_be_named_itself_or_by_its_blob_folder() {
        let fs = with_dirs(&[
            "/i/https_a.example_0.indexeddb.leveldb",
            "/i/https_a.example_0.indexeddb.blob",
        ]);
        let store = "/i/https_a.example_0.indexeddb.leveldb";
        assert_eq!(found(&fs, store), [store]);
        assert_eq!(found(&fs, "/i/https_a.example_0.indexeddb.blob"), [store]);
    }

    #[test]
    fn a_renamed_leveldb_folder_is_taken_and_an_ordinary_folder_is_not() {
        let fs = with_dirs(&["/copy", "/other/x"]);
        fs.create(Path::new("/copy/CURRENT")).unwrap();
        assert_eq!(found(&fs, "/copy"), ["/copy"]);
        assert_eq!(found(&fs, "/copy/CURRENT"), ["/copy"]);
        assert_eq!(found(&fs, "/other"), Vec::<String>::new());
    }
}
