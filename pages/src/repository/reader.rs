//! A repository as it lies there, to be looked at.

use super::folders::Folders;
use super::{PageUse, Place, Repository, staging, usage};
use crate::error::Result;
use crate::page::{Page, PageOptions};
use crate::repository::PageId;
use larder_leveldb::storage::FileSystem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A repository for reading: nothing in it is changed, and no lock is taken. A program may have it open; what is seen is what lies there at each
/// call.
///
/// ```
/// use larder_leveldb::storage::MemoryFileSystem;
/// use larder_pages::{PageId, PageOptions, Repository, Timestamp};
/// use std::{path::Path, sync::Arc};
///
/// let files = Arc::new(MemoryFileSystem::new());
/// let (dir, options) = (Path::new("data"), PageOptions::default());
/// assert!(Repository::open_read_only(files.clone(), dir, options.clone()).is_none());
///
/// let repository = Repository::open(files.clone(), dir, options.clone(), Timestamp(1))?;
/// let page = repository.ledger(b"contacts")?.open_page(PageId::ROOT)?;
/// page.connect()?.put(b"ada", b"lovelace", Timestamp(2))?;
///
/// let reader = Repository::open_read_only(files, dir, options).unwrap();
/// assert_eq!(reader.ledgers()?, [b"contacts"]);
/// let seen = reader.open_page(&(b"contacts".to_vec(), PageId::ROOT))?;
/// assert_eq!(seen.heads(), page.heads());
/// # Ok::<(), larder_pages::Error>(())
/// ```
#[derive(Debug)]
pub struct RepositoryReader {
    folders: Folders,
    options: PageOptions,
}

impl Repository {
    /// Opens the repository in a folder for reading. `None` if there is none: the folder has no `1/ledgers`.
    pub fn open_read_only(
        fs: Arc<dyn FileSystem>,
        dir: &Path,
        options: PageOptions,
    ) -> Option<RepositoryReader> {
        let folders = Folders::existing(fs, dir);
        let metadata = folders.fs().metadata(&folders.all_ledgers());
        metadata
            .is_ok_and(|metadata| metadata.is_dir)
            .then_some(RepositoryReader { folders, options })
    }
}

impl RepositoryReader {
    /// The names of the ledgers, ascending. Folders with other names are passed over.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn ledgers(&self) -> Result<Vec<Vec<u8>>> {
        self.folders.ledgers()
    }

    /// The pages of a ledger, by their names; those that are being deleted are among them.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn pages(&self, ledger: &[u8]) -> Result<Vec<PageId>> {
        self.folders.pages(ledger)
    }

    /// The pages that are being deleted: some of their files may be gone, and opening the repository for writing removes the rest.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn deletions(&self) -> Result<Vec<Place>> {
        staging::marked(&self.folders)
    }

    /// The folder of a page's LevelDB.
    pub fn page_dir(&self, place: &Place) -> PathBuf {
        self.folders.page(place).join("leveldb")
    }

    /// The folder of `page_usage_db`, whose lock a program holds while it has the repository open.
    pub fn usage_dir(&self) -> PathBuf {
        self.folders.usage()
    }

    /// Opens a page for reading.
    ///
    /// # Errors
    /// As [`Page::open_read_only`].
    pub fn open_page(&self, place: &Place) -> Result<Page> {
        let fs = self.folders.fs().clone();
        Page::open_read_only(fs, &self.page_dir(place), self.options.clone())
    }

    /// When each page was used last, by ledger and name. A page without a row is not in the list.
    ///
    /// # Errors
    /// `Corruption`, also with `OnDamage::Skip`; those of the engine.
    pub fn page_usage(&self) -> Result<Vec<PageUse>> {
        usage::read(&self.folders, &self.options)
    }
}
