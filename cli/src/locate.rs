//! Finding stores: from whatever folder a person points at to the LevelDB and blob folders below it.
//!
//! Chromium keeps the first-party bucket of an origin in `IndexedDB/<identifier>.indexeddb.{leveldb,blob}` of a
//! profile and every other bucket in `WebStorage/<bucket>/IndexedDB/indexeddb.{leveldb,blob}`; Electron adds
//! `Partitions/<name>/`, extensions and web apps `Storage/ext/<id>/def/`. One bounded walk finds all of them. It
//! follows no symbolic link that leads back up, because it stops at [`DEPTH_MAX`].

use std::io;
use std::path::{Path, PathBuf};

use larder_backing_store::layout::StorePaths;
use larder_leveldb::storage::FileSystem;

/// How many folders deep the walk goes below PATH. A profile's deepest store lies 6 below a user-data folder.
pub const DEPTH_MAX: usize = 10;

/// What the walk found.
#[derive(Debug, Default)]
pub struct Found {
    /// The stores, in order of path.
    pub stores: Vec<StorePaths>,
    /// Folders that could not be read, with why.
    pub unreadable: Vec<(PathBuf, io::Error)>,
}

/// Finds every store at or below `path`.
///
/// # Errors
/// Only if `path` itself cannot be looked at; trouble below it is reported in [`Found::unreadable`].
pub fn find_stores(fs: &dyn FileSystem, path: &Path) -> io::Result<Found> {
    let mut found = Found::default();
    if !fs.metadata(path)?.is_dir {
        // A file inside a store: the person means the store.
        if let Some(parent) = path.parent()
            && is_leveldb(fs, parent)?
        {
            found.stores.push(StorePaths::of_leveldb(parent));
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
    walk(fs, path, &mut found);
    found.stores.sort();
    Ok(found)
}

fn walk(fs: &dyn FileSystem, root: &Path, found: &mut Found) {
    let mut pending = vec![(root.to_owned(), 0)];
    while let Some((dir, depth)) = pending.pop() {
        let names = match fs.list(&dir) {
            Ok(names) => names,
            Err(error) => {
                found.unreadable.push((dir, error));
                continue;
            }
        };
        for name in names {
            let child = dir.join(name);
            if StorePaths::of_blob(&child).is_some()
                || !fs.metadata(&child).is_ok_and(|meta| meta.is_dir)
            {
                continue;
            }
            if StorePaths::is_leveldb_name(&child) {
                found.stores.push(StorePaths::of_leveldb(&child));
            } else if depth < DEPTH_MAX {
                pending.push((child, depth + 1));
            }
        }
    }
}

fn is_leveldb(fs: &dyn FileSystem, dir: &Path) -> io::Result<bool> {
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
        find_stores(fs, Path::new(path))
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
