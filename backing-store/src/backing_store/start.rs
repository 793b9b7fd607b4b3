//! What opening leaves to the first write: recovery on disk, and the journals.
//!
//! Opening and reading changes no row. What a crash has left to recover is worked out in memory at opening, and readers see that
//! until it has been done on disk.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use larder_codec::row_key::GlobalKey;

use super::core::Core;
use super::journal::{self, Emptied};
use crate::error::Result;
use crate::sync::locked;
use crate::undo_log::recover_on_disk;
use crate::view::View;

/// What is still to be done before anything is written.
#[derive(Debug)]
pub(crate) struct Start {
    is_done: AtomicBool,
    due: Mutex<Option<Due>>,
}

#[derive(Debug)]
struct Due {
    /// The rows as they will be, if a crash has left something to recover.
    recovered: Option<View>,
}

impl Start {
    pub(super) fn due(recovered: Option<View>) -> Self {
        Self {
            is_done: AtomicBool::new(false),
            due: Mutex::new(Some(Due { recovered })),
        }
    }

    /// Nothing is to be done.
    pub(super) fn done() -> Self {
        Self {
            is_done: AtomicBool::new(true),
            due: Mutex::new(None),
        }
    }

    fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// What readers see as long as the rows on disk are not recovered. Nothing has been written until then.
    pub(crate) fn recovered(&self) -> Option<View> {
        if self.is_done() {
            return None;
        }
        let due = locked(&self.due);
        due.as_ref().and_then(|due| due.recovered.clone())
    }
}

impl Core {
    /// Before something is written for the first time.
    ///
    /// # Errors
    /// As reading and writing. The next attempt does it again.
    pub(crate) fn settle(&self) -> Result<()> {
        if self.start.is_done() {
            return Ok(());
        }
        let mut due = locked(&self.start.due);
        if due.is_none() {
            return Ok(());
        }
        let (next_scope, left) = recover_on_disk(&self.db, self.has_undo_log)?;
        self.next_scope.fetch_max(next_scope, Ordering::Relaxed);
        // No blob has a reader yet, and no commit is under way. Chromium leaves the recovery journal for later.
        let (db, fs, paths) = (&self.db, &*self.fs, &self.paths);
        for (kind, emptied) in [
            (GlobalKey::ActiveBlobJournal, Emptied::Deleted),
            (GlobalKey::RecoveryBlobJournal, Emptied::Kept),
        ] {
            let refused = journal::clean(db, fs, paths, &kind, |_| true, emptied)?;
            // A file that cannot be removed is no reason to write nothing.
            let refused = refused.into_iter().flat_map(|refused| refused.entries);
            self.held_blobs.put_back(refused.collect());
        }
        for cleanup in left {
            self.clean_later(cleanup);
        }
        self.keep_reserve();
        *due = None;
        self.start.is_done.store(true, Ordering::Release);
        Ok(())
    }

    /// Before a transaction that writes chooses the rows that it sees.
    ///
    /// # Errors
    /// As [`settle`](Self::settle).
    pub(crate) fn settle_if_crashed(&self) -> Result<()> {
        match self.start.recovered() {
            Some(_) => self.settle(),
            None => Ok(()),
        }
    }

    /// Whether anything may have been written since the store was opened.
    pub(super) fn is_settled(&self) -> bool {
        self.start.is_done()
    }

    /// What is committed, for those that read.
    pub(crate) fn committed(&self) -> View {
        let recovered = self.start.recovered();
        recovered.unwrap_or_else(|| View::committed(self.base()))
    }
}
