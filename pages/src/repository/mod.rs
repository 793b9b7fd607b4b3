//! A folder of ledgers, each of which has pages.
//!
//! `{version}/ledgers/{ledger}/{page}/leveldb` is a page, `page_usage_db` says when each was used last, `staging` has a file for each page that
//! is being deleted. Names are in base64 for the web. `docs/format/pages.md`, "Folders".

mod eviction;
mod folders;
mod reader;
mod staging;
mod usage;

pub use eviction::EVICTION_AGE;
pub use folders::{LEDGER_NAME_LEN_MAX, SERIALIZATION_VERSION, place_of};
pub use reader::RepositoryReader;
pub use usage::PageUse;

use crate::commit::Timestamp;
use crate::error::{Error, Result};
use crate::page::{Page, PageOptions};
use folders::Folders;
use larder_leveldb::storage::FileSystem;
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use usage::Usage;

/// The name of a page: 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageId(pub [u8; 16]);

impl PageId {
    /// The page that every ledger begins with.
    pub const ROOT: PageId = PageId([0; 16]);
}

impl fmt::Debug for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Where a page is: the name of its ledger, and its own.
pub type Place = (Vec<u8>, PageId);

/// A folder of ledgers, open.
///
/// ```
/// use larder_leveldb::storage::MemoryFileSystem;
/// use larder_pages::{PageId, PageOptions, Repository, Timestamp};
/// use std::{path::Path, sync::Arc};
///
/// let files = Arc::new(MemoryFileSystem::new());
/// let repository = Repository::open(files, Path::new("data"), PageOptions::default(), Timestamp(1))?;
/// let contacts = repository.ledger(b"contacts")?;
/// let page = contacts.open_page(PageId::ROOT)?;
/// page.connect()?.put(b"ada", b"lovelace", Timestamp(2))?;
/// page.close(Timestamp(3))?;
/// assert_eq!(contacts.pages()?, [PageId::ROOT]);
/// # Ok::<(), larder_pages::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Repository(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folders: Folders,
    options: PageOptions,
    usage: Usage,
    open: Mutex<HashMap<Place, Open>>,
}

#[derive(Debug)]
struct Open {
    page: Page,
    handles: usize,
}

/// A ledger of a repository: pages that belong together, for instance those of a program.
#[derive(Clone, Debug)]
pub struct Ledger {
    repository: Repository,
    name: Vec<u8>,
}

/// A page of a ledger, in use. Clones of its [`Page`] must not outlive it: while one is there, the page cannot be opened again.
#[derive(Debug)]
#[must_use]
pub struct OpenPage {
    // Dropped before the use ends, so that the store is closed when the page can be opened again.
    page: Page,
    page_use: Use,
}

/// A use of a page, which ends once.
#[derive(Debug)]
struct Use {
    repository: Repository,
    place: Place,
    is_over: bool,
}

impl Repository {
    /// Opens the repository in a folder, or makes one; the folder above must be there. Deletions of pages that a crash has cut short are done,
    /// and pages that were open at the crash count as used until `now`.
    ///
    /// # Errors
    /// Those of the engine and of the file system.
    pub fn open(
        fs: Arc<dyn FileSystem>,
        dir: &Path,
        options: PageOptions,
        now: Timestamp,
    ) -> Result<Repository> {
        let folders = Folders::new(fs, dir)?;
        let usage = Usage::open(&folders, &options, now)?;
        let repository = Repository(Arc::new(Inner {
            folders,
            options,
            usage,
            open: Mutex::default(),
        }));
        repository.finish_deletions()?;
        Ok(repository)
    }

    /// A ledger; its pages are made when they are opened.
    ///
    /// # Errors
    /// `Usage` if the name is empty or too long.
    pub fn ledger(&self, name: &[u8]) -> Result<Ledger> {
        if name.is_empty() || name.len() > LEDGER_NAME_LEN_MAX {
            return Err(Error::usage(format!(
                "the name of a ledger has {} bytes: 1 to {LEDGER_NAME_LEN_MAX} are allowed",
                name.len()
            )));
        }
        Ok(Ledger {
            repository: self.clone(),
            name: name.to_vec(),
        })
    }

    fn open_pages(&self) -> MutexGuard<'_, HashMap<Place, Open>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletes a page that is not open. The lock on the open pages is held.
    fn delete(&self, place: &Place) -> Result<()> {
        let Inner { folders, usage, .. } = &*self.0;
        staging::mark(folders, place)?;
        staging::delete_marked(folders, place)?;
        usage.forget(place)?;
        staging::unmark(folders, place)
    }

    fn finish_deletions(&self) -> Result<()> {
        let Inner { folders, usage, .. } = &*self.0;
        for place in staging::marked(folders)? {
            staging::delete_marked(folders, &place)?;
            usage.forget(&place)?;
            staging::unmark(folders, &place)?;
        }
        Ok(())
    }
}

impl Ledger {
    /// The ledger's name.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    fn place(&self, id: PageId) -> Place {
        (self.name.clone(), id)
    }

    /// Opens a page, or makes it. One that is open already is the same page.
    ///
    /// # Errors
    /// Those of the engine and of the file system.
    pub fn open_page(&self, id: PageId) -> Result<OpenPage> {
        let place = self.place(id);
        let inner = &*self.repository.0;
        let mut open = self.repository.open_pages();
        let page = match open.get_mut(&place) {
            Some(open) => {
                open.handles += 1;
                open.page.clone()
            }
            None => {
                let dir = inner.folders.make_page(&place)?;
                let fs = inner.folders.fs().clone();
                inner.usage.set_open(&place)?;
                let page = Page::open(fs, &dir, inner.options.clone())?;
                let opened = Open {
                    page: page.clone(),
                    handles: 1,
                };
                open.insert(place.clone(), opened);
                page
            }
        };
        drop(open);
        Ok(OpenPage {
            page,
            page_use: Use {
                repository: self.repository.clone(),
                place,
                is_over: false,
            },
        })
    }

    /// The pages that are on this device, by their names.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn pages(&self) -> Result<Vec<PageId>> {
        self.repository.0.folders.pages(&self.name)
    }

    /// Deletes a page on this device, with everything in it, whether or not that has been synced.
    ///
    /// # Errors
    /// `Usage` if it is open; those of the engine and of the file system: the page is gone then, or will be when the repository is opened again.
    pub fn delete_page(&self, id: PageId) -> Result<()> {
        let place = self.place(id);
        let open = self.repository.open_pages();
        match open.contains_key(&place) {
            true => Err(Error::usage(format!("page {id:?} is open"))),
            false => self.repository.delete(&place),
        }
    }
}

impl Deref for OpenPage {
    type Target = Page;

    fn deref(&self) -> &Page {
        &self.page
    }
}

impl OpenPage {
    /// Ends the use of the page. With its last use the page is closed, and `now` is when it was used last. Without this call it counts as open
    /// until the repository is opened again.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn close(self, now: Timestamp) -> Result<()> {
        let OpenPage { page, mut page_use } = self;
        drop(page);
        page_use.end(Some(now))
    }
}

impl Use {
    fn end(&mut self, now: Option<Timestamp>) -> Result<()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        let mut open = self.repository.open_pages();
        let Some(entry) = open.get_mut(&self.place) else {
            return Ok(());
        };
        entry.handles = entry.handles.saturating_sub(1);
        if entry.handles > 0 {
            return Ok(());
        }
        open.remove(&self.place);
        match now {
            Some(now) => self.repository.0.usage.set_closed(&self.place, now),
            None => Ok(()),
        }
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        // Without a time there is no row to write, and so nothing fails.
        let _ = self.end(None);
    }
}

#[cfg(test)]
mod tests;
