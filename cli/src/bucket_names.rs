//! Names of storage buckets: the table in `WebStorage/QuotaManager`, an SQLite database that Chromium keeps beside the buckets' folders.
//!
//! Nothing but names comes from it, so whatever is wrong with it is a note and no damage. A build without the feature `bucket-names` has
//! no SQLite, and notes that names are not read.

#[cfg(feature = "bucket-names")]
mod quota_database;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use larder_backing_store::StorePaths;
use larder_leveldb::storage::FileSystem;
#[cfg(feature = "bucket-names")]
use quota_database::read;

const FILE_NAME: &str = "QuotaManager";

/// What is known of a bucket besides its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BucketName {
    /// The name that the page gave it; none if it is the default bucket of an embedded page.
    pub(crate) name: Option<String>,
    /// The site of the page in which the origin was embedded, if it was in another site's.
    pub(crate) top_level_site: Option<String>,
}

/// The buckets' names, read once for each folder that has buckets.
#[derive(Debug, Default)]
pub(crate) struct BucketNames {
    by_folder: BTreeMap<PathBuf, BTreeMap<String, BucketName>>,
}

impl BucketNames {
    /// The name of a store's bucket, if that is known. Why it could not be read goes to `note`, once for each folder.
    pub(crate) fn get(
        &mut self,
        fs: &dyn FileSystem,
        paths: &StorePaths,
        note: impl FnOnce(&Path, &dyn fmt::Display),
    ) -> Option<BucketName> {
        let bucket = paths.bucket()?;
        // WebStorage/NUMBER/IndexedDB/indexeddb.leveldb
        let folder = paths.leveldb.ancestors().nth(3)?;
        if !self.by_folder.contains_key(folder) {
            let file = folder.join(FILE_NAME);
            let names = read(fs, &file).unwrap_or_else(|error| {
                note(&file, &error);
                BTreeMap::new()
            });
            self.by_folder.insert(folder.to_owned(), names);
        }
        self.by_folder.get(folder)?.get(bucket).cloned()
    }
}

/// No names, and the reason if there may be some.
#[cfg(not(feature = "bucket-names"))]
fn read(fs: &dyn FileSystem, file: &Path) -> Result<BTreeMap<String, BucketName>, &'static str> {
    match fs.metadata(file) {
        Ok(_) => Err("the names of buckets are not read: this build is without SQLite"),
        Err(_) => Ok(BTreeMap::new()),
    }
}
