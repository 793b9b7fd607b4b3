//! Chromium's newer stores, one SQLite file a database, recognised so that their data is not passed over in silence.
//!
//! A file's name is the unpadded base32 of a SHA-256 of the database's name, `0` for the empty name; all lie in the
//! origin's folder, `IndexedDB/<identifier>/` or a bucket's `IndexedDB/` (Chromium's `file_path_util.cc`).

use std::ffi::OsString;
use std::path::Path;

use larder_leveldb::storage::FileSystem;

/// How every SQLite file begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The length of 256 bits in base32.
const NAME_LEN: usize = 52;

/// Whether a folder that has these names in it is such a store.
pub(crate) fn is_store(fs: &dyn FileSystem, dir: &Path, names: &[OsString]) -> bool {
    names
        .iter()
        .filter(|name| name.to_str().is_some_and(is_database_name))
        .any(|name| begins_like_sqlite(fs, &dir.join(name)))
}

fn is_database_name(name: &str) -> bool {
    let is_base32 = |byte: u8| matches!(byte, b'A'..=b'Z' | b'2'..=b'7');
    name == "0" || (name.len() == NAME_LEN && name.bytes().all(is_base32))
}

fn begins_like_sqlite(fs: &dyn FileSystem, path: &Path) -> bool {
    let mut begin = [0; MAGIC.len()];
    fs.open_random(path)
        .and_then(|file| file.read_at(0, &mut begin))
        .is_ok_and(|read| begin[..read] == *MAGIC)
}
