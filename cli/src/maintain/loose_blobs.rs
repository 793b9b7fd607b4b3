//! Blob files that no record refers to.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use larder_backing_store::{Error, ErrorKind, Store};
use larder_codec::external_object::ExternalObject;
use larder_codec::row_key::RecordTable;
use larder_codec::{BlobNumber, DatabaseId, RowKey};
use larder_leveldb::storage::FileSystem;

/// Such files of one store, with their bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LooseBlobs {
    /// Their paths.
    pub files: Vec<PathBuf>,
    /// Their bytes.
    pub len_bytes: u64,
}

impl LooseBlobs {
    /// Finds them. Files of other names than Chromium gives are none.
    ///
    /// # Errors
    /// `Corruption` if a row cannot be read: a file that it refers to would be taken for one that nothing refers to. `Io`.
    pub fn find(store: &Store) -> Result<Self, Error> {
        let used = used(store)?;
        let (fs, blob) = (&**store.fs(), &store.paths().blob);
        let mut found = Self::default();
        for database in list(fs, blob)? {
            for half in list(fs, &blob.join(&database))? {
                for name in list(fs, &blob.join(&database).join(&half))? {
                    let number = |text: &str| i64::from_str_radix(text, 16).ok();
                    let id = number(&database).and_then(DatabaseId::new);
                    let Some((id, number)) = id.zip(number(&name).and_then(BlobNumber::new)) else {
                        continue;
                    };
                    let path = blob.join(&database).join(&half).join(&name);
                    let is_its_file = path == store.paths().blob_file(id, number);
                    if is_its_file && !used.contains(&(id, number)) {
                        found.len_bytes += fs.metadata(&path).map_or(0, |meta| meta.len_bytes);
                        found.files.push(path);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Removes them.
    ///
    /// # Errors
    /// `Io`.
    pub fn remove(&self, fs: &dyn FileSystem) -> Result<(), Error> {
        for path in &self.files {
            match fs.remove(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    let error = larder_leveldb::Error::io(path, "cannot be removed", error);
                    return Err(error.into());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Every blob that a row refers to, also of databases that are not shown.
fn used(store: &Store) -> Result<BTreeSet<(DatabaseId, BlobNumber)>, Error> {
    let mut problems = Vec::new();
    store.databases(&mut problems)?;
    if let Some(problem) = problems.into_iter().next() {
        return Err(problem);
    }
    let mut used = BTreeSet::new();
    let mut rows = store.rows();
    while rows.next()? {
        let key = RowKey::decode_exact(rows.key());
        let key = key.map_err(|error| {
            let what = format!("a row's key cannot be decoded: {error}");
            Error::new(ErrorKind::Corruption, what)
        })?;
        if let RowKey::Record(row) = key
            && row.table == RecordTable::ExternalObject
        {
            let id = row.database_id;
            for object in store.external_objects(id, row.object_store_id, row.key)? {
                if let ExternalObject::Blob(blob) | ExternalObject::File { blob, .. } = object {
                    used.insert((id, blob.number));
                }
            }
        }
    }
    Ok(used)
}

/// The names in a folder that is there; none otherwise.
fn list(fs: &dyn FileSystem, dir: &Path) -> Result<Vec<String>, Error> {
    if !fs.metadata(dir).is_ok_and(|metadata| metadata.is_dir) {
        return Ok(Vec::new());
    }
    let names = fs.list(dir);
    let names = names.map_err(|error| larder_leveldb::Error::io(dir, "cannot be listed", error))?;
    let mut names: Vec<String> = names
        .into_iter()
        .filter_map(|name| name.into_string().ok())
        .collect();
    names.sort();
    Ok(names)
}
