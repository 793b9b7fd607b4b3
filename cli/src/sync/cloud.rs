//! The cloud that the command line names, and the key.

use std::path::Path;
use std::sync::Arc;

use larder_leveldb::storage::{DiskFileSystem, FileSystem};
use larder_sync::{Cloud, CloudKey, FolderCloud};

use crate::remote;

/// A folder, or a distributed store at an address.
pub(super) fn open(cloud: &Path) -> Result<Arc<dyn Cloud>, String> {
    if remote::is_address(cloud) {
        return remote::cloud(cloud);
    }
    let folder = FolderCloud::open(Arc::new(DiskFileSystem::new()), cloud);
    Ok(Arc::new(folder.map_err(|error| error.to_string())?))
}

/// The key in a file: its 32 bytes.
pub(super) fn read_key(path: &Path) -> Result<CloudKey, String> {
    let shown = path.display();
    let file = DiskFileSystem::new().open_random(path);
    let file = file.map_err(|error| format!("{shown}: {error}"))?;
    let len = file.len().map_err(|error| format!("{shown}: {error}"))?;
    let mut bytes = [0; 32];
    let read = match len {
        32 => file
            .read_at(0, &mut bytes)
            .map_err(|error| format!("{shown}: {error}"))?,
        _ => 0,
    };
    match read {
        32 => Ok(CloudKey::new(bytes)),
        _ => Err(format!(
            "{shown}: a key is a file of 32 bytes, and this one has {len}: head -c 32 /dev/urandom > FILE makes one"
        )),
    }
}
