//! Where a store lies: its LevelDB folder, the blob folder beside it, and the file of each blob.
//!
//! Source of the names: Chromium's `content/browser/indexed_db/file_path_util.cc`. The first-party bucket of an
//! origin is `<identifier>.indexeddb.{leveldb,blob}`, any other bucket `indexeddb.{leveldb,blob}` in a folder of
//! its own. Nothing here looks at the disk.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use larder_codec::{BlobNumber, DatabaseId};

const LEVELDB_SUFFIX: &str = ".indexeddb.leveldb";
const BLOB_SUFFIX: &str = ".indexeddb.blob";
const BUCKET_LEVELDB: &str = "indexeddb.leveldb";
const BUCKET_BLOB: &str = "indexeddb.blob";

/// The folder of all stores of a profile, or of a bucket's store.
const ALL_STORES: &str = "IndexedDB";

/// The length of 256 bits in base32.
const SQLITE_NAME_LEN: usize = 52;

/// No file of a store in SQLite files has this name.
const SQLITE_BLOB: &str = "blobs";

/// The two folders of one store.
///
/// ```
/// use larder_backing_store::layout::StorePaths;
/// use larder_codec::{BlobNumber, DatabaseId};
/// use std::path::Path;
///
/// let paths = StorePaths::of_leveldb(Path::new("IndexedDB/https_a.example_0.indexeddb.leveldb"));
/// assert_eq!(paths.blob, Path::new("IndexedDB/https_a.example_0.indexeddb.blob"));
/// assert_eq!(paths.identifier(), Some("https_a.example_0"));
/// let (database, number) = (DatabaseId::new(1).unwrap(), BlobNumber::new(0x1234).unwrap());
/// let file = Path::new("IndexedDB/https_a.example_0.indexeddb.blob/1/12/1234");
/// assert_eq!(paths.blob_file(database, number), file);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StorePaths {
    /// The LevelDB folder.
    pub leveldb: PathBuf,
    /// The blob folder; it is missing when no blob was ever stored.
    pub blob: PathBuf,
}

impl StorePaths {
    /// The store whose LevelDB folder this is. A folder of any other name keeps its blobs in `<name>.indexeddb.blob`.
    #[must_use]
    pub fn of_leveldb(leveldb: &Path) -> Self {
        let name = file_name(leveldb);
        let blob_name = if name == BUCKET_LEVELDB {
            BUCKET_BLOB.to_owned()
        } else {
            let identifier = name.strip_suffix(LEVELDB_SUFFIX).unwrap_or(name);
            format!("{identifier}{BLOB_SUFFIX}")
        };
        Self {
            leveldb: leveldb.to_owned(),
            blob: leveldb.with_file_name(blob_name),
        }
    }

    /// The store whose blob folder this is, if the name is one that Chromium gives.
    #[must_use]
    pub fn of_blob(blob: &Path) -> Option<Self> {
        let name = file_name(blob);
        let leveldb_name = if name == BUCKET_BLOB {
            BUCKET_LEVELDB.to_owned()
        } else {
            format!("{}{LEVELDB_SUFFIX}", name.strip_suffix(BLOB_SUFFIX)?)
        };
        Some(Self {
            leveldb: blob.with_file_name(leveldb_name),
            blob: blob.to_owned(),
        })
    }

    /// The store in SQLite files in this folder. Its blobs lie in the files, and have paths below the folder all the same.
    #[must_use]
    pub fn of_sqlite(dir: &Path) -> Self {
        Self {
            leveldb: dir.to_owned(),
            blob: dir.join(SQLITE_BLOB),
        }
    }

    /// Whether a file of this name is a database of a store in SQLite files: its name is the unpadded base32 of 32 bytes, or `0`.
    #[must_use]
    pub fn is_sqlite_name(path: &Path) -> bool {
        let name = file_name(path);
        let is_base32 = |byte: u8| matches!(byte, b'A'..=b'Z' | b'2'..=b'7');
        name == "0" || (name.len() == SQLITE_NAME_LEN && name.bytes().all(is_base32))
    }

    /// Whether this is a store in SQLite files.
    #[must_use]
    pub fn is_sqlite(&self) -> bool {
        self.blob.parent() == Some(&self.leveldb)
    }

    /// The LevelDB folder that Chromium would have for a store in SQLite files, beside or in its own; of another store, its own.
    ///
    /// ```
    /// use larder_backing_store::layout::StorePaths;
    /// use std::path::Path;
    ///
    /// let paths = StorePaths::of_sqlite(Path::new("IndexedDB/https_a.example_0"));
    /// assert_eq!(paths.identifier(), Some("https_a.example_0"));
    /// let leveldb = Path::new("IndexedDB/https_a.example_0.indexeddb.leveldb");
    /// assert_eq!(paths.in_leveldb(), leveldb);
    /// let bucket = StorePaths::of_sqlite(Path::new("WebStorage/7/IndexedDB"));
    /// assert_eq!(bucket.bucket(), Some("7"));
    /// ```
    #[must_use]
    pub fn in_leveldb(&self) -> PathBuf {
        match (self.is_sqlite(), self.identifier()) {
            (false, _) => self.leveldb.clone(),
            (true, Some(identifier)) => {
                let name = format!("{identifier}{LEVELDB_SUFFIX}");
                self.leveldb.with_file_name(name)
            }
            (true, None) => self.leveldb.join(BUCKET_LEVELDB),
        }
    }

    /// The folder that Chromium would have for the store in SQLite files: beside the LevelDB folder, or a bucket's folder itself.
    ///
    /// ```
    /// use larder_backing_store::layout::StorePaths;
    /// use std::path::Path;
    ///
    /// let paths = StorePaths::of_leveldb(Path::new("IndexedDB/https_a.example_0.indexeddb.leveldb"));
    /// assert_eq!(paths.in_sqlite(), Path::new("IndexedDB/https_a.example_0"));
    /// let bucket = StorePaths::of_leveldb(Path::new("WebStorage/7/IndexedDB/indexeddb.leveldb"));
    /// assert_eq!(bucket.in_sqlite(), Path::new("WebStorage/7/IndexedDB"));
    /// ```
    #[must_use]
    pub fn in_sqlite(&self) -> PathBuf {
        match self.identifier() {
            _ if self.is_sqlite() => self.leveldb.clone(),
            Some(identifier) => self.leveldb.with_file_name(identifier),
            None if file_name(&self.leveldb) == BUCKET_LEVELDB => {
                self.leveldb.parent().map(PathBuf::from).unwrap_or_default()
            }
            None => self.leveldb.clone(),
        }
    }

    /// Whether a folder of this name is the LevelDB folder of a store.
    #[must_use]
    pub fn is_leveldb_name(path: &Path) -> bool {
        let name = file_name(path);
        name == BUCKET_LEVELDB || name.ends_with(LEVELDB_SUFFIX)
    }

    /// The origin's identifier according to the folder's name (`https_example.com_0`); a bucket's folder has none.
    #[must_use]
    pub fn identifier(&self) -> Option<&str> {
        let name = file_name(&self.leveldb);
        match self.is_sqlite() {
            true => Some(name).filter(|name| *name != ALL_STORES),
            false => name.strip_suffix(LEVELDB_SUFFIX),
        }
    }

    /// The bucket's number according to the folders, for any bucket but an origin's default one in its own site.
    ///
    /// ```
    /// use larder_backing_store::layout::StorePaths;
    /// use std::path::Path;
    ///
    /// let paths = StorePaths::of_leveldb(Path::new("WebStorage/7/IndexedDB/indexeddb.leveldb"));
    /// assert_eq!(paths.bucket(), Some("7"));
    /// let paths = StorePaths::of_leveldb(Path::new("IndexedDB/https_a.example_0.indexeddb.leveldb"));
    /// assert_eq!(paths.bucket(), None);
    /// ```
    #[must_use]
    pub fn bucket(&self) -> Option<&str> {
        let folder = match self.is_sqlite() {
            true => &self.leveldb,
            false => self
                .leveldb
                .parent()
                .filter(|_| file_name(&self.leveldb) == BUCKET_LEVELDB)?,
        };
        (file_name(folder) == ALL_STORES)
            .then(|| folder.parent()?.file_name()?.to_str())
            .flatten()
    }

    /// The folder with all blobs of a database.
    #[must_use]
    pub fn blob_database_dir(&self, database_id: DatabaseId) -> PathBuf {
        self.blob.join(format!("{:x}", database_id.get()))
    }

    /// The file of blob `number` of a database: database in hex, bits 8 to 15 of the number as two hex digits, the
    /// number in hex.
    #[must_use]
    pub fn blob_file(&self, database_id: DatabaseId, number: BlobNumber) -> PathBuf {
        let mut path = self.blob_database_dir(database_id);
        path.push(format!("{:02x}", (number.get() >> 8) & 0xff));
        path.push(format!("{:x}", number.get()));
        path
    }
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blob_files_are_named_as_chromium_names_them() {
        let paths = StorePaths::of_leveldb(Path::new("d/file__0.indexeddb.leveldb"));
        let blob = Path::new("d/file__0.indexeddb.blob");
        let file = |database, number| {
            paths.blob_file(
                DatabaseId::new(database).unwrap(),
                BlobNumber::new(number).unwrap(),
            )
        };
        assert_eq!(file(1, 2), blob.join("1/00/2"));
        assert_eq!(file(12, 0x1_0203), blob.join("c/02/10203"));
    }

    #[test]
    fn a_bucket_keeps_its_blobs_beside_it_and_has_no_identifier() {
        let paths = StorePaths::of_leveldb(Path::new("w/7/IndexedDB/indexeddb.leveldb"));
        assert_eq!(paths.blob, Path::new("w/7/IndexedDB/indexeddb.blob"));
        assert_eq!(paths.identifier(), None);
        assert_eq!(StorePaths::of_blob(&paths.blob), Some(paths));
    }

    #[test]
    fn a_blob_folder_leads_to_its_store_and_other_folders_do_not() {
        let paths = StorePaths::of_leveldb(Path::new("d/https_a.example_0.indexeddb.leveldb"));
        assert_eq!(StorePaths::of_blob(&paths.blob), Some(paths));
        assert_eq!(StorePaths::of_blob(Path::new("d/pictures")), None);
    }
}
