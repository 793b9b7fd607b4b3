//! Which pages lie at a path.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_leveldb::storage::FileSystem;
use larder_leveldb::{ErrorKind, OnDamage};
use larder_pages::{
    Error, Page, PageId, PageOptions, PageUse, Place, Repository, RepositoryReader, place_of,
};

use super::{PagesError, ShownBytes, as_text};
use crate::display::Hex;
use crate::locate::{is_leveldb, resolve};

/// A page that was found.
#[derive(Debug, Clone)]
pub struct FoundPage {
    /// The ledger's name and the page's id; `None` if the names of the folders do not say them.
    pub place: Option<Place>,
    /// The folder of its LevelDB.
    pub leveldb: PathBuf,
    /// Whether it is being deleted, and some of its files may be gone.
    pub is_being_deleted: bool,
}

/// The pages at a path.
#[derive(Debug)]
pub struct FoundPages {
    /// The pages, by ledger and id.
    pub pages: Vec<FoundPage>,
    /// When pages were used last, or why that cannot be read; of no repository none.
    pub uses: Result<Vec<PageUse>, Error>,
    /// Whether the path is that of a repository.
    pub is_repository: bool,
    /// The folder of `page_usage_db`, whose lock a program holds while it has the repository open.
    pub usage_dir: Option<PathBuf>,
}

/// Which of them are meant.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageSelection<'a> {
    /// Only pages of this ledger: its name, or `bytes:` and its digits.
    pub ledger: Option<&'a str>,
    /// Only this page: the first digits of its id, its name if that is text, or `root`.
    pub page: Option<&'a str>,
}

/// Finds the pages of a repository's folder, or the page of a page's folder or of its `leveldb`. Nothing is written.
///
/// # Errors
/// `NoRepository`; those of listing the folders of a repository.
pub fn find_pages(fs: &Arc<dyn FileSystem>, path: &Path) -> Result<FoundPages, PagesError> {
    let no_repository = |error| PagesError::NoRepository(path.to_owned(), error);
    fs.metadata(path)
        .map_err(|error| no_repository(Some(error)))?;
    if let Some(reader) = reader(fs, path) {
        return of_repository(&reader);
    }
    let below = path.join("leveldb");
    let leveldb = match is_page(&**fs, path) {
        true => path.to_owned(),
        false if is_page(&**fs, &below) => below,
        false => return Err(no_repository(None)),
    };
    // The path may be relative: what it leads to has all names.
    let resolved = resolve(&leveldb);
    let page_dir = resolved.parent().unwrap_or(Path::new(""));
    let place = place_of(page_dir);
    let above = page_dir.ancestors().nth(4);
    let reader = above.and_then(|above| reader(fs, above));
    let reader = reader.filter(|reader| {
        let own_dir = place.as_ref().map(|place| reader.page_dir(place));
        own_dir.is_some_and(|dir| dir == resolved)
    });
    let deletions = reader.as_ref().map(RepositoryReader::deletions);
    let deletions = deletions.transpose()?.unwrap_or_default();
    let found = FoundPage {
        is_being_deleted: place
            .as_ref()
            .is_some_and(|place| deletions.contains(place)),
        place,
        leveldb,
    };
    Ok(FoundPages {
        pages: vec![found],
        uses: reader
            .as_ref()
            .map_or(Ok(Vec::new()), RepositoryReader::page_usage),
        is_repository: false,
        usage_dir: reader.map(|reader| reader.usage_dir()),
    })
}

fn reader(fs: &Arc<dyn FileSystem>, dir: &Path) -> Option<RepositoryReader> {
    Repository::open_read_only(Arc::clone(fs), dir, reading_options())
}

fn of_repository(reader: &RepositoryReader) -> Result<FoundPages, PagesError> {
    let deletions = reader.deletions()?;
    let mut pages = Vec::new();
    for ledger in reader.ledgers()? {
        for id in reader.pages(&ledger)? {
            let place = (ledger.clone(), id);
            pages.push(FoundPage {
                leveldb: reader.page_dir(&place),
                is_being_deleted: deletions.contains(&place),
                place: Some(place),
            });
        }
    }
    Ok(FoundPages {
        pages,
        uses: reader.page_usage(),
        is_repository: true,
        usage_dir: Some(reader.usage_dir()),
    })
}

/// Whether a folder has a LevelDB, or the names say that it had one.
fn is_page(fs: &dyn FileSystem, dir: &Path) -> bool {
    let is_dir = fs.metadata(dir).is_ok_and(|metadata| metadata.is_dir);
    let resolved = resolve(dir);
    let is_named = resolved.file_name().is_some_and(|name| name == "leveldb")
        && resolved.parent().and_then(place_of).is_some();
    is_dir && (is_named || is_leveldb(fs, dir).unwrap_or(false))
}

/// How a page is opened to be looked at: what is damaged is passed over and listed.
pub(super) fn reading_options() -> PageOptions {
    let mut options = PageOptions::default();
    options.db.on_damage = OnDamage::Skip;
    options
}

impl FoundPage {
    /// Opens it for reading.
    ///
    /// # Errors
    /// `NotAPage` if there is no LevelDB, or one of another program; those of the page.
    pub fn open(&self, fs: &Arc<dyn FileSystem>) -> Result<Page, PagesError> {
        let options = reading_options();
        let page = Page::open_read_only(Arc::clone(fs), &self.leveldb, options);
        let page = page.map_err(|error| match is_no_page(&error) {
            true => PagesError::NotAPage(self.leveldb.clone(), error.to_string()),
            false => error.into(),
        })?;
        let is_damaged = !page.unreadable_heads().is_empty() || !page.damage().is_empty();
        match page.heads().is_empty() && !is_damaged {
            true => {
                let why = "the LevelDB has no head of a page".to_owned();
                Err(PagesError::NotAPage(self.leveldb.clone(), why))
            }
            false => Ok(page),
        }
    }

    /// For people: `ledger "contacts", page 00…00 (root)`.
    #[must_use]
    pub fn shown(&self) -> String {
        match &self.place {
            None => self.leveldb.display().to_string(),
            Some((ledger, id)) => {
                let (ledger, hex) = (ShownBytes(ledger), Hex(&id.0));
                match name_of(*id) {
                    Some(name) => {
                        format!(
                            "ledger {ledger}, page {hex} {}",
                            ShownBytes(name.as_bytes())
                        )
                    }
                    None if *id == PageId::ROOT => format!("ledger {ledger}, page {hex} (root)"),
                    None => format!("ledger {ledger}, page {hex}"),
                }
            }
        }
    }

    fn is(&self, wanted: PageSelection<'_>) -> bool {
        let Some((ledger, id)) = &self.place else {
            return wanted.ledger.is_none() && wanted.page.is_none();
        };
        let is_ledger = |name: &str| super::parse_bytes(name).is_ok_and(|name| name == *ledger);
        let hex = Hex(&id.0).to_string();
        let is_page = |name: &str| {
            let is_digits = !name.is_empty() && hex.starts_with(&name.to_ascii_lowercase());
            is_digits
                || name_of(*id).as_deref() == Some(name)
                || (name == "root" && *id == PageId::ROOT)
        };
        wanted.ledger.is_none_or(is_ledger) && wanted.page.is_none_or(is_page)
    }
}

/// The id as text, if it is printable; zeros behind it are left out.
pub(super) fn name_of(id: PageId) -> Option<String> {
    let len = id.0.iter().rposition(|byte| *byte != 0)? + 1;
    as_text(&id.0[..len]).map(str::to_owned)
}

fn is_no_page(error: &Error) -> bool {
    let source = error.source();
    let source = source.and_then(|source| source.downcast_ref::<larder_leveldb::Error>());
    source.is_some_and(|error| matches!(error.kind(), ErrorKind::NotAStore | ErrorKind::Usage))
}

impl FoundPages {
    /// Those that are meant, at least one unless nothing is asked for and nothing there.
    ///
    /// # Errors
    /// `NoPage`.
    pub fn selected(&self, wanted: PageSelection<'_>) -> Result<Vec<&FoundPage>, PagesError> {
        let selected: Vec<_> = self.pages.iter().filter(|page| page.is(wanted)).collect();
        let is_open = wanted.ledger.is_none() && wanted.page.is_none();
        if !selected.is_empty() || is_open {
            return Ok(selected);
        }
        let ledger = wanted
            .ledger
            .map(|ledger| format!("ledger {}", ShownBytes(ledger.as_bytes())));
        let page = wanted
            .page
            .map(|page| format!("page {}", ShownBytes(page.as_bytes())));
        let asked: Vec<String> = page.into_iter().chain(ledger).collect();
        Err(PagesError::NoPage(asked.join(" of "), self.names()))
    }

    /// The one that is meant.
    ///
    /// # Errors
    /// `NoPage`, `SeveralPages`.
    pub fn only(&self, wanted: PageSelection<'_>) -> Result<&FoundPage, PagesError> {
        match &self.selected(wanted)?[..] {
            [] => Err(PagesError::NoPage("page".to_owned(), Vec::new())),
            [only] => Ok(only),
            several => Err(PagesError::SeveralPages(
                several.iter().map(|page| page.shown()).collect(),
            )),
        }
    }

    fn names(&self) -> Vec<String> {
        self.pages.iter().map(FoundPage::shown).collect()
    }
}
