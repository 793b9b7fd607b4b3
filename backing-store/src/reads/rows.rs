//! Every row of a store, one after the other: for tools that check, copy or count rows and need not interpret them.

use larder_codec::compare;

use super::Reads;
use crate::error::Result;
use crate::view::{View, ViewIter};

/// The least row key there can be: that of the schema version.
const FIRST_KEY: [u8; 5] = [0; 5];

/// A walk over all rows in the order of the store, as recovery leaves them. The undo log's own rows are not among them.
///
/// ```
/// use std::sync::Arc;
/// use larder_backing_store::{OpenOptions, Store, StorePaths};
/// use larder_leveldb::storage::DiskFileSystem;
///
/// let fixture = larder_fixtures::get("c156-lite").open();
/// let paths = StorePaths::of_leveldb(&fixture.leveldb());
/// let store = Store::open_read_only(Arc::new(DiskFileSystem::new()), paths, OpenOptions::default())?;
/// let mut rows = store.rows();
/// assert!(rows.next()?);
/// // The schema version comes first.
/// assert_eq!((rows.key(), rows.value()?), (&[0, 0, 0, 0, 0][..], &[5][..]));
/// # Ok::<(), larder_backing_store::Error>(())
/// ```
#[derive(Debug)]
pub struct StoreRows {
    view: View,
    iter: ViewIter,
    /// Whether the walk leads to some rows only.
    is_near: bool,
    /// Whether the walk stands on a row, or behind the last.
    started: bool,
    /// Whether the row that the walk stands on has not been given yet.
    pending: bool,
}

impl Reads {
    /// A walk over every row.
    #[must_use]
    pub fn rows(&self) -> StoreRows {
        StoreRows {
            view: self.view().clone(),
            iter: self.view().iter(),
            is_near: false,
            started: false,
            pending: false,
        }
    }
}

impl StoreRows {
    /// Goes to the first row at or behind `key`, which the next [`next`](Self::next) gives.
    ///
    /// # Errors
    /// If the engine cannot read on.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        if self.is_near {
            self.iter = self.view.iter();
            self.is_near = false;
        }
        self.go_to(key)
    }

    fn go_to(&mut self, key: &[u8]) -> Result<()> {
        self.started = true;
        self.pending = true;
        self.iter.seek(key)
    }

    /// Goes to the first row between two keys, both included, which the next [`next`](Self::next) gives. Where there is none it looks no further, and beyond
    /// them gives some rows or none: rows that were deleted there, or that recovery takes back, cost nothing.
    ///
    /// # Errors
    /// If the engine cannot read on.
    pub fn seek_near(&mut self, low: &[u8], high: &[u8]) -> Result<()> {
        self.iter = self.view.iter_near(low, high);
        self.is_near = true;
        self.go_to(low)
    }

    /// Goes to the row of a key; whether there is one. A walk from there needs another [`seek`](Self::seek).
    ///
    /// # Errors
    /// If the engine cannot read on.
    pub fn find(&mut self, key: &[u8]) -> Result<bool> {
        self.seek_near(key, key)?;
        Ok(self.next()? && compare(self.key(), key).is_eq())
    }

    /// To the next row; `false` behind the last.
    ///
    /// # Errors
    /// If the engine cannot read on.
    #[expect(
        clippy::should_implement_trait,
        reason = "a lending cursor is no iterator"
    )]
    pub fn next(&mut self) -> Result<bool> {
        if !self.started {
            self.seek(&FIRST_KEY)?;
        }
        match self.pending {
            true => self.pending = false,
            false => self.iter.next()?,
        }
        Ok(self.iter.valid())
    }

    /// The row's key; empty when not on a row.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.iter.key()
    }

    /// The row's value; empty when not on a row.
    ///
    /// # Errors
    /// If the value lies in a log, is large and cannot be read from there.
    pub fn value(&self) -> Result<&[u8]> {
        self.iter.value()
    }
}
