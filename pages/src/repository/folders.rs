//! Where things are in a repository.

use super::{PageId, Place};
use crate::error::Result;
use base64ct::{Base64Url, Encoding};
use larder_leveldb::storage::FileSystem;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder that has the ledgers: what is in it follows this version of the format.
pub const SERIALIZATION_VERSION: &str = "1";
/// Names of ledgers are at most so long: in base64 that is a name that every file system takes.
pub const LEDGER_NAME_LEN_MAX: usize = 150;

#[derive(Debug)]
pub(super) struct Folders {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
}

fn failed(path: &Path, what: &str, error: io::Error) -> crate::Error {
    larder_leveldb::Error::io(path, what, error).into()
}

fn ledger_of(name: &OsStr) -> Option<Vec<u8>> {
    let name = Base64Url::decode_vec(name.to_str()?).ok()?;
    (1..=LEDGER_NAME_LEN_MAX)
        .contains(&name.len())
        .then_some(name)
}

fn page_of(name: &OsStr) -> Option<PageId> {
    let id = Base64Url::decode_vec(name.to_str()?).ok()?;
    id.try_into().ok().map(PageId)
}

/// Which page the folder of a page has, by the names of the folder and of the one above it. `None` if these are no names of a page and a ledger.
///
/// ```
/// use larder_pages::{PageId, place_of};
/// use std::path::Path;
///
/// let dir = Path::new("data/1/ledgers/Y29udGFjdHM=/AAAAAAAAAAAAAAAAAAAAAA==");
/// assert_eq!(place_of(dir), Some((b"contacts".to_vec(), PageId::ROOT)));
/// assert_eq!(place_of(Path::new("data")), None);
/// ```
pub fn place_of(page_dir: &Path) -> Option<Place> {
    let ledger = ledger_of(page_dir.parent()?.file_name()?)?;
    Some((ledger, page_of(page_dir.file_name()?)?))
}

impl Folders {
    /// As they lie there; nothing is made.
    pub(super) fn existing(fs: Arc<dyn FileSystem>, dir: &Path) -> Folders {
        Folders {
            fs,
            dir: dir.to_owned(),
        }
    }

    pub(super) fn new(fs: Arc<dyn FileSystem>, dir: &Path) -> Result<Folders> {
        let folders = Folders::existing(fs, dir);
        folders.make(&[])?;
        folders.make(&["staging"])?;
        folders.make(&[SERIALIZATION_VERSION, "ledgers"])?;
        Ok(folders)
    }

    pub(super) fn fs(&self) -> &Arc<dyn FileSystem> {
        &self.fs
    }

    pub(super) fn usage(&self) -> PathBuf {
        self.dir.join("page_usage_db")
    }

    pub(super) fn staging(&self) -> PathBuf {
        self.dir.join("staging")
    }

    pub(super) fn all_ledgers(&self) -> PathBuf {
        self.dir.join(SERIALIZATION_VERSION).join("ledgers")
    }

    fn ledger(&self, name: &[u8]) -> PathBuf {
        self.all_ledgers().join(Base64Url::encode_string(name))
    }

    /// The folder of a page; its LevelDB is in one below.
    pub(super) fn page(&self, (ledger, page): &Place) -> PathBuf {
        self.ledger(ledger).join(Base64Url::encode_string(&page.0))
    }

    /// Makes folders below the repository's, and makes their names durable.
    fn make(&self, names: &[&str]) -> Result<PathBuf> {
        let mut path = self.dir.clone();
        let mut below = names.iter();
        loop {
            match self.fs.create_dir(&path) {
                Ok(()) => {
                    let above = path.parent().unwrap_or(Path::new(""));
                    self.fs
                        .sync_dir(above)
                        .map_err(|error| failed(above, "cannot sync the folder", error))?;
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(&path, "cannot make the folder", error)),
            }
            match below.next() {
                Some(name) => path.push(name),
                None => return Ok(path),
            }
        }
    }

    /// Makes the folder of a page: where its LevelDB is to be.
    pub(super) fn make_page(&self, (ledger, page): &Place) -> Result<PathBuf> {
        let ledger = Base64Url::encode_string(ledger);
        let page = Base64Url::encode_string(&page.0);
        let dir = self.make(&[SERIALIZATION_VERSION, "ledgers", &ledger, &page])?;
        Ok(dir.join("leveldb"))
    }

    /// The names in a folder; none if it is not there.
    fn list(&self, dir: &Path) -> Result<Vec<OsString>> {
        match self.fs.list(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            names => names.map_err(|error| failed(dir, "cannot list the folder", error)),
        }
    }

    pub(super) fn ledgers(&self) -> Result<Vec<Vec<u8>>> {
        let names = self.list(&self.all_ledgers())?;
        let mut ledgers: Vec<Vec<u8>> = names.iter().filter_map(|name| ledger_of(name)).collect();
        ledgers.sort_unstable();
        Ok(ledgers)
    }

    pub(super) fn pages(&self, ledger: &[u8]) -> Result<Vec<PageId>> {
        let names = self.list(&self.ledger(ledger))?;
        let mut pages: Vec<PageId> = names.iter().filter_map(|name| page_of(name)).collect();
        pages.sort_unstable();
        Ok(pages)
    }

    /// The name of the file that says that a page is being deleted.
    pub(super) fn mark(&self, (ledger, page): &Place) -> PathBuf {
        let ledger = Base64Url::encode_string(ledger);
        let page = Base64Url::encode_string(&page.0);
        self.staging().join(format!("{ledger}.{page}"))
    }

    /// The pages with such files.
    pub(super) fn marks(&self) -> Result<Vec<Place>> {
        let names = self.list(&self.staging())?;
        let place = |name: &OsString| {
            let (ledger, page) = name.to_str()?.split_once('.')?;
            Some((ledger_of(OsStr::new(ledger))?, page_of(OsStr::new(page))?))
        };
        Ok(names.iter().filter_map(place).collect())
    }

    pub(super) fn create_synced(&self, path: &Path) -> Result<()> {
        let created = self.fs.create(path).and_then(|mut file| file.sync());
        created.map_err(|error| failed(path, "cannot make the file", error))?;
        self.sync(path.parent().unwrap_or(Path::new("")))
    }

    pub(super) fn sync(&self, dir: &Path) -> Result<()> {
        let synced = self.fs.sync_dir(dir);
        synced.map_err(|error| failed(dir, "cannot sync the folder", error))
    }

    /// Removes a file or an empty folder, if it is there. A folder with files of others in it stays.
    pub(super) fn remove(&self, path: &Path, is_dir: bool) -> Result<()> {
        let removed = match is_dir {
            true => self.fs.remove_dir(path),
            false => self.fs.remove(path),
        };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) if is_dir && error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => removed.map_err(|error| failed(path, "cannot remove it", error)),
        }
    }
}
