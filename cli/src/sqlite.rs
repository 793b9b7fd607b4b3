//! Chromium's newer stores, one SQLite file a database, recognised.
//!
//! A file's name is the unpadded base32 of a SHA-256 of the database's name, `0` for the empty name; all lie in the
//! origin's folder, `IndexedDB/<identifier>/` or a bucket's `IndexedDB/` (Chromium's `file_path_util.cc`).

use std::ffi::OsString;
use std::path::Path;

use larder_backing_store::StorePaths;
use larder_leveldb::storage::FileSystem;

/// How every SQLite file begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Whether a folder that has these names in it is such a store.
pub(crate) fn is_store(fs: &dyn FileSystem, dir: &Path, names: &[OsString]) -> bool {
    names
        .iter()
        .filter(|name| StorePaths::is_sqlite_name(Path::new(name)))
        .any(|name| begins_like_sqlite(fs, &dir.join(name)))
}

fn begins_like_sqlite(fs: &dyn FileSystem, path: &Path) -> bool {
    let mut begin = [0; MAGIC.len()];
    fs.open_random(path)
        .and_then(|file| file.read_at(0, &mut begin))
        .is_ok_and(|read| begin[..read] == *MAGIC)
}
