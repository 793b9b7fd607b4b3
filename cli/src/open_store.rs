//! Opens what was found: a store in LevelDB, or one in SQLite files.

use std::sync::Arc;

use larder_backing_store::{Error, OpenOptions, Store, StorePaths};
use larder_leveldb::storage::FileSystem;

/// Opens a store for reading. Nothing is written into its folder.
pub(crate) fn open_store(
    fs: &Arc<dyn FileSystem>,
    paths: StorePaths,
    options: OpenOptions,
) -> Result<Store, Error> {
    match paths.is_sqlite() {
        true => open_sqlite(fs, &paths),
        false => Store::open_read_only(Arc::clone(fs), paths, options),
    }
}

#[cfg(feature = "sqlite")]
fn open_sqlite(fs: &Arc<dyn FileSystem>, paths: &StorePaths) -> Result<Store, Error> {
    larder_sqlite_store::open(fs, &paths.leveldb, &std::env::temp_dir())
}

#[cfg(not(feature = "sqlite"))]
fn open_sqlite(_fs: &Arc<dyn FileSystem>, paths: &StorePaths) -> Result<Store, Error> {
    let what = format!(
        "{}: a store in SQLite files: this larder was built without the feature sqlite",
        paths.leveldb.display()
    );
    Err(Error::new(
        larder_backing_store::ErrorKind::Unsupported,
        what,
    ))
}

/// The error of a command that needs LevelDB's files.
pub(crate) fn needs_leveldb(paths: &StorePaths) -> Error {
    let what = format!(
        "{}: a store in SQLite files, and this command works on LevelDB's: larder copy makes a LevelDB store of it",
        paths.leveldb.display()
    );
    Error::new(larder_backing_store::ErrorKind::Usage, what)
}
