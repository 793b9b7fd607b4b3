//! How many pieces a page has.

use super::Page;
use crate::error::Result;
use crate::object::ObjectIdentifier;
use crate::rows::{PieceStatus, RowKind};

/// The numbers of pieces, each counted once, with its highest status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PieceCounts {
    /// Written for a commit that is not there yet.
    pub transient: u64,
    /// In a commit, and only on this device.
    pub local: u64,
    /// In the cloud, too.
    pub synced: u64,
}

impl Page {
    /// Counts the pieces. It goes through all rows of their statuses, and reads no piece.
    ///
    /// ```
    /// # use larder_leveldb::storage::MemoryFileSystem;
    /// # use larder_pages::{Page, PageOptions, Timestamp};
    /// # use std::{path::Path, sync::Arc};
    /// # let page = Page::open(Arc::new(MemoryFileSystem::new()), Path::new("page"), PageOptions::default())?;
    /// page.connect()?.put(b"apple", &[7; 40], Timestamp(1))?;
    /// let counts = page.piece_counts()?;
    /// assert_eq!((counts.local, counts.synced), (2, 0)); // the value, and the node with its entry
    /// # Ok::<(), larder_pages::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Corruption` if a row names no piece; those of the engine.
    pub fn piece_counts(&self) -> Result<PieceCounts> {
        let count = |status| -> Result<u64> {
            let mut count = 0;
            let prefix = self.0.dialect.prefix(RowKind::Status(status));
            self.0.each_key(prefix, |rest| {
                let id = ObjectIdentifier::decode(rest)?;
                // A row of a lower status beside another is a mark.
                let is_highest =
                    status == PieceStatus::Synced || self.0.status(&id)? == Some(status);
                count += u64::from(is_highest);
                Ok(true)
            })?;
            Ok(count)
        };
        Ok(PieceCounts {
            transient: count(PieceStatus::Transient)?,
            local: count(PieceStatus::Local)?,
            synced: count(PieceStatus::Synced)?,
        })
    }
}
