//! Where the store is that is synced, or is to be.

use std::io;
use std::path::{Path, PathBuf};

use larder_backing_store::StorePaths;
use larder_codec::Origin;
use larder_leveldb::storage::FileSystem;

use crate::locate::{find_stores, resolve};

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

impl Place {
    /// The store at or below a path, or of an origin below it. If an origin is named that has none there, it is to be made: in the folder
    /// `IndexedDB` below the path, if there is one, else in the path.
    ///
    /// # Errors
    /// In words: no store and no origin, several stores, a store in SQLite files.
    pub fn find(fs: &dyn FileSystem, path: &Path, origin: Option<&str>) -> Result<Self, String> {
        let wanted = origin.map(Origin::from_url).transpose();
        let wanted = wanted.map_err(|error| format!("--origin: {error}"))?;
        let found = match find_stores(fs, &resolve, path) {
            Ok(found) => found.stores,
            Err(error) if error.kind() == io::ErrorKind::NotFound && wanted.is_some() => Vec::new(),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        let is_wanted = |paths: &&StorePaths| match &wanted {
            Some(wanted) => origin_of(paths).as_ref() == Some(wanted) && paths.bucket().is_none(),
            None => true,
        };
        let stores: Vec<&StorePaths> = found.iter().filter(is_wanted).collect();
        match (&stores[..], wanted) {
            ([paths], _) => Self::of(paths),
            ([], Some(origin)) => {
                let below = path.join("IndexedDB");
                let has_below = fs.metadata(&below).is_ok_and(|metadata| metadata.is_dir);
                let folder = if has_below { below } else { path.to_owned() };
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

    /// Makes the folder of stores, if it is missing; the folder above must be there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(super) fn make_folder(&self, fs: &dyn FileSystem) -> io::Result<()> {
        match fs.create_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }
}
