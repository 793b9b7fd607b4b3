//! One storage for each folder and process, shared by all threads, and one for all that is in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use larder_idb::{Error, ErrorName, Result, Storage, StorageOptions, SystemClock};

/// A storage that closes when the last engine lets it go.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) storage: Storage,
}

static IN_FOLDERS: Mutex<BTreeMap<PathBuf, Weak<Shared>>> = Mutex::new(BTreeMap::new());
static IN_MEMORY: Mutex<Weak<Shared>> = Mutex::new(Weak::new());

/// The storage of a folder, which is made if it is not there.
///
/// # Errors
/// `UnknownError` if it cannot be made, or a thread cannot be started.
pub(crate) fn in_folder(folder: &str) -> Result<Arc<Shared>> {
    let folder = canonical(Path::new(folder)).map_err(|error| {
        let what = format!("the folder {folder} cannot be used: {error}");
        Error::new(ErrorName::UnknownError, what)
    })?;
    let mut known = IN_FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(storage) = known.get(&folder).and_then(Weak::upgrade) {
        return Ok(storage);
    }
    known.retain(|_, storage| storage.strong_count() > 0);
    let storage = Arc::new(Shared {
        storage: Storage::new(StorageOptions::on_disk(folder.clone()))?,
    });
    known.insert(folder, Arc::downgrade(&storage));
    Ok(storage)
}

/// The one name of a folder that may not be there yet: two ways to one folder are one storage.
fn canonical(folder: &Path) -> std::io::Result<PathBuf> {
    let folder = std::path::absolute(folder)?;
    for ancestor in folder.ancestors() {
        if let Ok(there) = ancestor.canonicalize() {
            let missing = folder.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return Ok(there.join(missing));
        }
    }
    Ok(folder)
}

/// The storage of everything that is in memory.
///
/// # Errors
/// `UnknownError` if a thread cannot be started.
pub(crate) fn in_memory() -> Result<Arc<Shared>> {
    let mut known = IN_MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(storage) = known.upgrade() {
        return Ok(storage);
    }
    let storage = Arc::new(Shared {
        storage: Storage::new(StorageOptions::in_memory(Arc::new(SystemClock)))?,
    });
    *known = Arc::downgrade(&storage);
    Ok(storage)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn two_ways_to_a_folder_are_one_storage() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).unwrap();
        let direct = folder.path().join("not there").join("yet");
        let around = folder.path().join("link").join("not there").join("yet");
        let [first, second] =
            [direct, around].map(|path| in_folder(path.to_str().unwrap()).unwrap());
        assert!(Arc::ptr_eq(&first, &second));
        let other = in_folder(folder.path().to_str().unwrap()).unwrap();
        assert!(!Arc::ptr_eq(&first, &other));
    }

    #[test]
    fn a_storage_goes_with_the_last_that_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let first = in_folder(path).unwrap();
        let weak = Arc::downgrade(&first);
        drop(first);
        assert!(weak.upgrade().is_none());
        drop(in_folder(path).unwrap());
    }
}
