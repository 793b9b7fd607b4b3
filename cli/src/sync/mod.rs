//! A database that several devices keep alike: `larder sync`, for a program that has a path.

mod cloud;
mod command;
mod error;
mod place;
mod report;

use crate::archive::UNIX_EPOCH_MICROS;
pub(crate) use command::run;
pub use error::SyncError;
pub use place::Place;
use place::make_folder;
pub use report::{RoundReport, write_conflict};

use std::path::Path;
use std::sync::Arc;

use futures_executor::block_on;
use larder_codec::JsString;
use larder_idb::{Connection, Factory, Storage, StorageOptions, SystemClock};
use larder_leveldb::storage::{DiskFileSystem, FileSystem};
use larder_pages::{OpenPage, PageId, Repository, Timestamp};
use larder_sync::{
    Cloud, CloudKey, Conflict, DeviceId, MergeBy, Mirror, MirrorOptions, PageSync,
    create_from_page, page_options,
};
use sha2::{Digest, Sha256};

/// The row of a page that has the device's number, where its generated keys begin.
const DEVICE_NUMBER: &[u8] = b"device number";

/// What is synced, and where.
#[derive(Debug, Clone)]
pub struct SyncOptions {
    /// Where the store is, or is to be.
    pub place: Place,
    /// The database.
    pub database: JsString,
    /// The folder of pages.
    pub pages: std::path::PathBuf,
    /// Where the devices meet.
    pub cloud: Arc<dyn Cloud>,
    /// What the cloud is given is sealed with.
    pub key: Option<CloudKey>,
    /// What is kept of a record that two devices have changed.
    pub merge_by: MergeBy,
    /// 16 random bytes: the name that this device gets if it has none yet.
    pub fresh: DeviceId,
}

/// A database and its page, open between rounds; the store is open in a round alone.
#[derive(Debug)]
pub struct DatabaseSync {
    options: SyncOptions,
    // Before the page, so that the page closes.
    sync: PageSync,
    page: OpenPage,
    /// The store's files, as they were after the last round.
    seen: Option<StoreFiles>,
}

/// Files with their lengths and times.
type StoreFiles = Vec<(std::ffi::OsString, u64, Option<std::time::SystemTime>)>;

/// The id that the page of a database has on each device.
#[must_use]
pub fn page_id(origin: &str, database: &JsString) -> PageId {
    let mut hash = Sha256::new();
    hash.update(b"larder-sync database ");
    hash.update((origin.len() as u64).to_le_bytes());
    hash.update(origin);
    for unit in database.units() {
        hash.update(unit.to_le_bytes());
    }
    let hash = hash.finalize();
    PageId(hash.first_chunk().copied().unwrap_or_default())
}

/// The present.
#[must_use]
pub fn now() -> Timestamp {
    use larder_idb::Clock;
    let micros = SystemClock.now_us().saturating_sub(UNIX_EPOCH_MICROS);
    Timestamp(micros.saturating_mul(1000))
}

impl DatabaseSync {
    /// Opens the page of a database. Neither the store nor the cloud is touched.
    ///
    /// # Errors
    /// If the folder of pages cannot be made, or the page is open elsewhere.
    pub fn open(options: SyncOptions) -> Result<Self, SyncError> {
        let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
        // A new device's folder may be the one above.
        if let Some(above) = options.pages.parent() {
            make_folder(&*fs, above)?;
        }
        let repository = Repository::open(fs, &options.pages, page_options(), now())?;
        let origin = options.place.origin.to_string();
        let ledger = repository.ledger(&ledger_name(&origin))?;
        let id = page_id(&origin, &options.database);
        let page = ledger.open_page(id)?;
        let sync = PageSync::open(
            (*page).clone(),
            id,
            options.cloud.clone(),
            options.key.as_ref(),
            options.fresh,
        )?;
        Ok(Self {
            options,
            sync,
            page,
            seen: None,
        })
    }

    /// How the cloud's side stands.
    #[must_use]
    pub fn sync(&self) -> &PageSync {
        &self.sync
    }

    /// Whether the store's files are others than after the last round that has ended well.
    #[must_use]
    pub fn is_store_changed(&self) -> bool {
        self.seen.as_ref() != Some(&self.store_files())
    }

    fn store_files(&self) -> StoreFiles {
        let place = &self.options.place;
        let folder = place.folder.join(place.origin.leveldb_folder_name());
        let fs = DiskFileSystem::new();
        let mut files = Vec::new();
        for name in fs.list(&folder).unwrap_or_default() {
            if let Ok(metadata) = fs.metadata(&folder.join(&name)) {
                files.push((name, metadata.len_bytes, metadata.modified));
            }
        }
        files.sort_unstable();
        files
    }

    /// Whether the cloud has something that this device has not taken.
    ///
    /// # Errors
    /// If the cloud cannot be reached.
    pub fn has_news(&self) -> Result<bool, SyncError> {
        Ok(self.sync.has_news()?)
    }

    /// Forgets what was synced: the next round uploads everything anew.
    ///
    /// # Errors
    /// If the page fails.
    pub fn start_over(&mut self) -> Result<(), SyncError> {
        Ok(self.sync.start_over()?)
    }

    /// Brings what is new in the database to the cloud, and what is new in the cloud to the database. What one device has written and cannot be taken
    /// ([`RoundReport::problem`]) does not stop what the others have.
    ///
    /// # Errors
    /// If the cloud, the page or the database fails; what was done by then stays, and the next round goes on.
    pub fn round(&mut self) -> Result<RoundReport, SyncError> {
        let downloaded = self.sync.download()?;
        let (applied, conflicts) = self.with_mirror(|mirror| {
            let applied = block_on(mirror.apply(now()))?;
            Ok((applied, mirror.conflict_count()?))
        })?;
        // Before the upload, which takes its time: what a browser writes meanwhile is a change.
        let files = self.store_files();
        let uploaded = self.sync.upload()?;
        self.seen = Some(files);
        Ok(RoundReport::new(downloaded, &applied, uploaded, conflicts))
    }

    /// What two devices have changed.
    ///
    /// # Errors
    /// If the page or the database fails.
    pub fn conflicts(&mut self) -> Result<Vec<Conflict>, SyncError> {
        self.with_mirror(|mirror| Ok(mirror.conflicts()?))
    }

    /// Takes all conflicts off the list, and brings that to the cloud: how many.
    ///
    /// # Errors
    /// If the page, the database or the cloud fails.
    pub fn settle(&mut self) -> Result<u64, SyncError> {
        let settled = self.with_mirror(|mirror| {
            let settled = mirror.settle_all(now())?;
            // The database is where the page is now.
            block_on(mirror.apply(now()))?;
            Ok(settled)
        })?;
        self.sync.upload()?;
        Ok(settled)
    }

    /// Ends the use of the page.
    ///
    /// # Errors
    /// If the page fails.
    pub fn close(self) -> Result<(), SyncError> {
        let Self { sync, page, .. } = self;
        drop(sync);
        Ok(page.close(now())?)
    }

    /// Opens the store as long as something is done with the mirror.
    fn with_mirror<T>(
        &mut self,
        work: impl FnOnce(&mut Mirror) -> Result<T, SyncError>,
    ) -> Result<T, SyncError> {
        let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
        let place = &self.options.place;
        make_folder(&*fs, &place.folder)?;
        let storage = Storage::new(StorageOptions::new(
            fs,
            &place.folder,
            Arc::new(SystemClock),
        ))?;
        let done = self.work_in(&storage.factory(&place.origin), work);
        let closed = storage.close();
        let done = done?;
        closed?;
        Ok(done)
    }

    fn work_in<T>(
        &mut self,
        factory: &Factory,
        work: impl FnOnce(&mut Mirror) -> Result<T, SyncError>,
    ) -> Result<T, SyncError> {
        let connection = self.connect(factory)?;
        let options = MirrorOptions::new()
            .merge_by(self.options.merge_by)
            .device_number(self.device_number()?);
        let mut mirror = block_on(Mirror::new(&connection, &self.page, options))?;
        work(&mut mirror)
    }

    /// A connection to the database, which is made as the page has it if it is not there. It has a change feed.
    fn connect(&self, factory: &Factory) -> Result<Connection, SyncError> {
        let name = &self.options.database;
        let databases = factory.databases().wait()?;
        if databases.iter().all(|database| database.name != *name) {
            return match block_on(create_from_page(factory, name, &self.page)) {
                Err(larder_sync::MirrorError::NoSchema) => {
                    Err(SyncError::NoDatabase(name.to_string_lossy()))
                }
                connection => Ok(connection?),
            };
        }
        let connection = factory.open(name, None)?.connection().wait()?;
        if connection.has_change_feed() {
            return Ok(connection);
        }
        connection.close();
        let opening = factory.open_to_change(name)?;
        let opened = opening.with_upgrade(|upgrade| upgrade.transaction.set_change_feed(true));
        Ok(opened.wait()?)
    }

    /// Where the device's generated keys begin: 0 for the first device, and for each other one a random number, as its name is.
    fn device_number(&self) -> Result<u32, SyncError> {
        let known = self.page.sync_metadata(DEVICE_NUMBER)?;
        if let Some(number) = known.and_then(|row| row.try_into().ok()) {
            return Ok(u32::from_le_bytes(number));
        }
        let is_first = self.page.heads().iter().all(|head| head.generation() == 0);
        let device_number = match is_first {
            true => 0,
            false => {
                let bytes = self.sync.device().0;
                let number = bytes.first_chunk().copied().map_or(0, u32::from_le_bytes);
                1 + number % MirrorOptions::DEVICE_NUMBER_MAX
            }
        };
        self.page
            .set_sync_metadata(DEVICE_NUMBER, &device_number.to_le_bytes())?;
        Ok(device_number)
    }
}

/// The origin, or a part of it and a hash if it is too long.
fn ledger_name(origin: &str) -> Vec<u8> {
    match origin.len() <= larder_pages::LEDGER_NAME_LEN_MAX {
        true => origin.as_bytes().to_vec(),
        false => {
            let hash = Sha256::digest(origin);
            let start = origin.as_bytes().iter().take(100).copied();
            start.chain(hash).collect()
        }
    }
}

/// Where the pages of a folder of stores are kept, if nothing else is said: beside it.
#[must_use]
pub fn pages_beside(stores: &Path) -> std::path::PathBuf {
    let is_named = stores.file_name().is_some_and(|name| name == "IndexedDB");
    let root = match stores.parent() {
        Some(parent) if is_named => parent,
        _ => stores,
    };
    root.join("larder-pages")
}
