//! What the parts of the command share: pages that were found, and where problems go.

use std::path::PathBuf;
use std::sync::Arc;

use larder_leveldb::storage::FileSystem;
use larder_pages::Page;

use crate::args::WhichPage;
use crate::pages::{FoundPage, FoundPages, PageSelection, PagesError};
use crate::progress::Progress;
use crate::report::Report;
use crate::store_notes::holder_text;
use crate::style::Style;

/// One command on its way through pages.
pub(super) struct Session {
    pub(super) fs: Arc<dyn FileSystem>,
    pub(super) path: PathBuf,
    pub(super) found: FoundPages,
    pub(super) report: Report,
    pub(super) progress: Progress,
    pub(super) style: Style,
}

/// What is asked for.
pub(super) fn wanted(which: &WhichPage) -> PageSelection<'_> {
    PageSelection {
        ledger: which.ledger.as_deref(),
        page: which.page.as_deref(),
    }
}

impl Session {
    pub(super) fn new(
        fs: Arc<dyn FileSystem>,
        path: PathBuf,
        found: FoundPages,
        quiet: bool,
        style: Style,
    ) -> Self {
        Self {
            fs,
            path,
            found,
            report: Report::on_stderr(),
            progress: Progress::new(quiet),
            style,
        }
    }

    /// Opens the one page that is meant, does something with it, and says what of it is damaged.
    pub(super) fn with_page(
        &mut self,
        which: &WhichPage,
        work: impl FnOnce(&mut Self, &Page, &str) -> Result<(), PagesError>,
    ) -> Result<(), PagesError> {
        let found = self.found.only(wanted(which))?.clone();
        let page = self.open(&found)?;
        let place = found.leveldb.display().to_string();
        let done = work(self, &page, &place);
        self.say_damage(&page, &found);
        done
    }

    /// Opens a page, and says what is worth knowing before anything of it is shown.
    pub(super) fn open(&mut self, found: &FoundPage) -> Result<Page, PagesError> {
        let place = found.leveldb.display();
        self.progress.at(place.to_string());
        if found.is_being_deleted {
            self.report.note(
                &place,
                "the page is being deleted, and some of its files may be gone",
            );
        }
        let page = found.open(&self.fs)?;
        if let Some(holder) = page.lock_holder() {
            let holder = holder_text(holder);
            let note = format_args!("in use by {holder}; this is how it stood a moment ago");
            self.report.note(&place, note);
        }
        for tail in page.torn_tails() {
            self.report.note(&place, tail);
        }
        for error in page.unreadable_heads() {
            self.report.damage(&place, error);
        }
        Ok(page)
    }

    /// Says which places of a page's files were found damaged: after it was read.
    pub(super) fn say_damage(&mut self, page: &Page, found: &FoundPage) {
        for damage in page.damage() {
            self.report.damage(found.leveldb.display(), damage);
        }
    }
}
