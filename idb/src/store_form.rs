//! In which form a store lies: LevelDB, or SQLite files.

use std::ffi::OsString;
use std::path::Path;

use larder_backing_store::StorePaths;
use larder_leveldb::storage::FileSystem;

use crate::error::{Error, ErrorKind, ErrorName, Result};

/// The file that is locked while a store in SQLite files is open.
const LOCK: &str = "LOCK";

/// The form of a store's files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreForm {
    /// Chromium's LevelDB, in `ORIGIN.indexeddb.leveldb` and `ORIGIN.indexeddb.blob`.
    #[default]
    LevelDb,
    /// Chromium's SQLite files, one for each database, in the folder `ORIGIN`. SQLite works on them itself, so the storage's file system must be the disk.
    /// Such a store has no change feed, and a transaction's rows stay in memory until it commits.
    #[cfg(feature = "sqlite")]
    Sqlite,
}

/// The paths of the store that lies at a place; of a new one, if none does. `leveldb` are those in LevelDB.
pub(crate) fn at(fs: &dyn FileSystem, leveldb: &StorePaths, new: StoreForm) -> StorePaths {
    let is_in_leveldb = || {
        let lies_there = || fs.metadata(&leveldb.leveldb).is_ok();
        let is_new_there = || new == StoreForm::LevelDb && !has_sqlite(fs, leveldb);
        lies_there() || is_new_there()
    };
    match !cfg!(feature = "sqlite") || is_in_leveldb() {
        true => leveldb.clone(),
        false => StorePaths::of_sqlite(&leveldb.in_sqlite()),
    }
}

/// Whether SQLite files lie beside a LevelDB store, or where one would be.
fn has_sqlite(fs: &dyn FileSystem, leveldb: &StorePaths) -> bool {
    let names = fs.list(&leveldb.in_sqlite()).unwrap_or_default();
    names
        .iter()
        .any(|name| StorePaths::is_sqlite_name(name.as_ref()))
}

/// Whether a folder has a database's file in it, or the lock of a store that has none.
pub(crate) fn is_sqlite_folder(fs: &dyn FileSystem, folder: &Path) -> bool {
    let names = fs.list(folder).unwrap_or_default();
    let is_its = |name: &OsString| StorePaths::is_sqlite_name(name.as_ref()) || name == LOCK;
    names.iter().any(is_its)
}

/// Refuses a place where stores of both forms lie: a browser takes the one that it is set to, and deletes the other.
pub(crate) fn check(fs: &dyn FileSystem, paths: &StorePaths) -> Result<()> {
    if paths.is_sqlite() || !cfg!(feature = "sqlite") || !has_sqlite(fs, paths) {
        return Ok(());
    }
    let (leveldb, sqlite) = (paths.leveldb.display(), paths.in_sqlite());
    let what = format!(
        "{leveldb} and {} are both a store of this origin, in two forms: move one of them away",
        sqlite.display()
    );
    Err(Error::of_kind(
        ErrorName::UnknownError,
        ErrorKind::Conflict,
        what,
    ))
}
