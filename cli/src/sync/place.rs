//! Where the store is that is synced, or is to be.

use std::io;
use std::path::{Path, PathBuf};

use larder_backing_store::StorePaths;
use larder_codec::Origin;
use larder_leveldb::storage::FileSystem;

use super::SyncError;
use crate::locate::{Found, find_stores, resolve};

/// An origin's store in a folder of stores.
#[derive(Debug, Clone)]
pub struct Place {
    /// The folder of stores.
    pub folder: PathBuf,
    /// The origin.
    pub origin: Origin,
}

fn origin_of(paths: &StorePaths) -> Option<Origin> {
    Origin::from_identifier(paths.identifier()?)
}

/// Whether it is certain that a store that was not found is not there, and the path is no other store.
fn check_absent(found: &Found, path: &Path) -> Result<(), String> {
    let made = "so no new store is made";
    if let Some((dir, error)) = found.unreadable.first() {
        return Err(format!("{}: {error}: {made}", dir.display()));
    }
    let mut links = found.links.iter();
    if let Some(link) = links.find(|link| StorePaths::is_leveldb_name(link)) {
        let link = link.display();
        return Err(format!(
            "{link}: a symbolic link, which is not followed: {made}"
        ));
    }
    match found.stores.iter().any(|paths| paths.leveldb == path) {
        true => Err(format!(
            "{}: the store of another origin: give the folder that it is in",
            path.display()
        )),
        false => Ok(()),
    }
}

/// Where a browser or an Electron app looks for a store that is to be made, or the path itself if it is no profile.
fn folder_for_new(fs: &dyn FileSystem, path: &Path) -> Result<PathBuf, String> {
    let has = |name: &str| fs.metadata(&path.join(name)).is_ok();
    if has("IndexedDB") || has("Preferences") {
        return Ok(path.join("IndexedDB"));
    }
    if has("Local State") {
        return Err(format!(
            "{}: a browser's profiles are in folders here, such as {}: name one of them",
            path.display(),
            path.join("Default").display()
        ));
    }
    Ok(path.to_owned())
}

impl Place {
    /// The store at or below a path, or of an origin below it. If an origin is named that has none there, it is to be made: in the
    /// folder `IndexedDB` below the path, if there is one or the path is a profile, else in the path.
    ///
    /// # Errors
    /// In words: no store and no origin, several stores, a store in SQLite files, a new store in a folder of profiles.
    pub fn find(fs: &dyn FileSystem, path: &Path, origin: Option<&str>) -> Result<Self, String> {
        let wanted = origin.map(Origin::from_url).transpose();
        let wanted = wanted.map_err(|error| format!("--origin: {error}"))?;
        let found = match find_stores(fs, &resolve, path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound && wanted.is_some() => {
                Found::default()
            }
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        let is_wanted = |paths: &&StorePaths| match &wanted {
            Some(wanted) => origin_of(paths).as_ref() == Some(wanted) && paths.bucket().is_none(),
            None => true,
        };
        let stores: Vec<&StorePaths> = found.stores.iter().filter(is_wanted).collect();
        match (&stores[..], wanted) {
            ([paths], _) => Self::of(paths),
            ([], Some(origin)) => {
                check_absent(&found, path)?;
                let folder = folder_for_new(fs, path)?;
                Ok(Self { folder, origin })
            }
            ([], None) => Err(format!(
                "{}: no IndexedDB store here: --origin says whose store is to be made",
                path.display()
            )),
            (several, _) => {
                let names = several
                    .iter()
                    .map(|paths| paths.leveldb.display().to_string());
                let names: Vec<String> = names.collect();
                Err(format!(
                    "there are several stores here, and one is synced at a time; choose one with --origin: {}",
                    names.join(", ")
                ))
            }
        }
    }

    fn of(paths: &StorePaths) -> Result<Self, String> {
        let shown = paths.leveldb.display();
        if paths.is_sqlite() {
            return Err(format!(
                "{shown}: a store in SQLite files cannot be synced: larder copy --format leveldb makes one that can"
            ));
        }
        let origin = origin_of(paths).ok_or_else(|| {
            format!("{shown}: the folder's name does not say whose store it is, such as https_app.example_0.indexeddb.leveldb")
        })?;
        let folder = paths.leveldb.parent().unwrap_or(Path::new(""));
        Ok(Self {
            folder: folder.to_owned(),
            origin,
        })
    }
}

/// Makes a folder, if it is missing; the folder above must be there.
///
/// # Errors
/// If it cannot be made.
pub(super) fn make_folder(fs: &dyn FileSystem, folder: &Path) -> Result<(), SyncError> {
    // The folder that the program runs in has no name.
    if folder.as_os_str().is_empty() {
        return Ok(());
    }
    match fs.create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(SyncError::Folder(folder.to_owned(), error))
        }
        _ => Ok(()),
    }
}
