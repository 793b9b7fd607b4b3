//! A device in a folder: a database, a page, and what brings the page to a cloud.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_idb::{
    Connection, Factory, ObjectStoreParameters, Origin, Storage, StorageOptions, SystemClock,
};
use larder_leveldb::storage::DiskFileSystem;
use larder_pages::{Page, PageId};
use larder_sync::{CloudKey, DeviceId, FolderCloud, PageSync, page_options};

pub(crate) struct Device {
    folder: PathBuf,
    id: u8,
}

impl Device {
    pub(crate) fn new(folder: &Path, id: u8) -> Self {
        let folder = folder.join(format!("device{id}"));
        std::fs::create_dir_all(&folder).unwrap();
        Self { folder, id }
    }

    pub(crate) fn storage(&self) -> Storage {
        let fs = Arc::new(DiskFileSystem::new());
        let folder = self.folder.join("stores");
        std::fs::create_dir_all(&folder).unwrap();
        Storage::new(StorageOptions::new(fs, folder, Arc::new(SystemClock))).unwrap()
    }

    /// As `larder sync` opens it.
    pub(crate) fn page(&self) -> Page {
        let fs = Arc::new(DiskFileSystem::new());
        Page::open(fs, &self.folder.join("page"), page_options()).unwrap()
    }

    pub(crate) fn sync(&self, cloud: &Path, has_key: bool) -> PageSync {
        let cloud = FolderCloud::open(Arc::new(DiskFileSystem::new()), cloud).unwrap();
        let key = has_key.then(|| CloudKey::new([7; 32]));
        let device = DeviceId([self.id; 16]);
        let cloud = Arc::new(cloud);
        PageSync::open(self.page(), PageId::ROOT, cloud, key.as_ref(), device).unwrap()
    }
}

pub(crate) fn factory(storage: &Storage) -> Factory {
    storage.factory(&Origin::from_url("https://a.example").unwrap())
}

pub(crate) fn connect(storage: &Storage) -> Connection {
    let opening = factory(storage).open("db", Some(1)).unwrap();
    let opening = opening.with_upgrade(|upgrade| {
        let parameters = ObjectStoreParameters::new();
        (upgrade.transaction).create_object_store("letters", parameters)?;
        upgrade.transaction.set_change_feed(true)
    });
    opening.wait().unwrap()
}
