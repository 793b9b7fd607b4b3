//! What pruning and collecting would delete.

use super::collect::{Batch, MarkCursor};
use super::{CollectPolicy, Collected, Page};
use crate::error::Result;

/// What [`Page::prune`] and then [`Page::collect`] would delete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collectable {
    /// So many commits.
    pub commits: u64,
    /// Pieces, and bytes in them.
    pub collected: Collected,
}

impl Page {
    /// Says what [`prune`](Self::prune) and then [`collect`](Self::collect) would delete now, with the policies of this page's options. Nothing is
    /// written, so that it can be asked of a page that is open for reading, too. The names of all that would go are in memory.
    ///
    /// ```
    /// # use larder_leveldb::storage::MemoryFileSystem;
    /// # use larder_pages::{Page, PageOptions, Timestamp};
    /// # use std::{path::Path, sync::Arc};
    /// # let page = Page::open(Arc::new(MemoryFileSystem::new()), Path::new("page"), PageOptions::default())?;
    /// drop(page.create_value(&[7; 100][..])?); // no entry has it
    /// let would = page.collectable()?;
    /// assert_eq!((would.collected.pieces, would.collected.bytes), (1, 100));
    /// assert_eq!(page.collect()?, would.collected);
    /// # Ok::<(), larder_pages::Error>(())
    /// ```
    ///
    /// # Errors
    /// As those two.
    pub fn collectable(&self) -> Result<Collectable> {
        let inner = &*self.0;
        let _writing = inner.writing();
        let pruned = inner.prunable()?;
        let mut would = Collectable {
            commits: pruned.len() as u64,
            ..Collectable::default()
        };
        if inner.options.collect == CollectPolicy::Never {
            return Ok(would);
        }
        let candidates = inner.state().candidates.clone();
        let mut batch = Batch::new(inner, candidates)?;
        for commit in pruned.into_values() {
            batch.forget_commit(&commit);
        }
        let mut marks = MarkCursor::default();
        loop {
            while let Some(id) = batch.open.pop_first() {
                batch.look_at(id)?;
                // Nothing of it is written.
                batch.rows.clear();
            }
            batch.open = marks.next(inner)?;
            if batch.open.is_empty() {
                would.collected = batch.collected;
                return Ok(would);
            }
        }
    }
}
