//! Pages that need not be on this device any more.
//!
//! A page may go if it is closed, and if all of it has been synced, or if it has never been synced and has nothing in it. It is checked and
//! deleted under the lock of the open pages: it cannot be opened in between.

use super::{Place, Repository};
use crate::commit::Timestamp;
use crate::error::Result;
use crate::page::Page;

/// How long a page has been closed, in nanoseconds, before Ledger's policy of age lets it go: five hours.
pub const EVICTION_AGE: i64 = 5 * 3600 * 1_000_000_000;

impl Repository {
    /// Deletes the page that has not been used for longest, of those that may go: which.
    ///
    /// # Errors
    /// `Corruption`; those of the engine and of the file system.
    pub fn evict_least_recently_used(&self) -> Result<Option<Place>> {
        for place in self.closed_before(Timestamp(i64::MAX))? {
            if self.evict(&place)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// Deletes the pages that were closed at `time` or before, of those that may go: which.
    ///
    /// # Errors
    /// `Corruption`; those of the engine and of the file system. What was deleted by then stays so.
    pub fn evict_closed_before(&self, time: Timestamp) -> Result<Vec<Place>> {
        let mut evicted = Vec::new();
        for place in self.closed_before(time)? {
            if self.evict(&place)? {
                evicted.push(place);
            }
        }
        Ok(evicted)
    }

    fn closed_before(&self, time: Timestamp) -> Result<Vec<Place>> {
        let mut uses = self.page_usage()?;
        uses.retain(|one| one.closed.is_some_and(|closed| closed <= time));
        uses.sort_unstable();
        Ok(uses.into_iter().map(|one| (one.ledger, one.page)).collect())
    }

    /// Deletes a page if it may go: whether it has. A row of a page that is not there is cleaned up.
    fn evict(&self, place: &Place) -> Result<bool> {
        let open = self.open_pages();
        if open.contains_key(place) {
            return Ok(false);
        }
        let folders = &self.0.folders;
        let dir = folders.page(place).join("leveldb");
        if !self.0.folders.pages(&place.0)?.contains(&place.1) {
            self.0.usage.forget(place)?;
            return Ok(false);
        }
        let page = Page::open(folders.fs().clone(), &dir, self.0.options.clone())?;
        let may_go = page.is_synced()? || (!page.is_online()? && page.is_empty());
        page.close()?;
        if may_go {
            self.delete(place)?;
        }
        Ok(may_go)
    }
}
