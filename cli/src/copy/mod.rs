//! Copies a store, or a part of it, to another place, and gives it another origin if that is wanted.
//!
//! Rows are copied as bytes, as recovery leaves them: what a transaction that never committed has written is not copied, nor are lists of
//! blobs to be removed, nor how far the LevelDB has counted. Ids stay. The rows come in Chromium's order, whatever order the source has, so a store of
//! `QtWebEngine` 5.15 becomes one that every Chromium reads. Blobs are copied with their times.
//!
//! The copy appears at its place whole, or not at all ([`NewStore`]).

mod blobs;
mod command;
pub(crate) mod key_text;
mod merge;
mod rows;
mod selection;
mod target;

pub(crate) use blobs::copy_blobs;
pub(crate) use command::Copy;
pub use merge::{Merged, OnConflict, merge_store};
pub(crate) use rows::Blob;
pub use selection::{KeySpan, Part};
pub(crate) use target::place;

use std::fmt;
use std::sync::Arc;

use larder_backing_store::{
    Error, ErrorKind, NewStore, RowSequence, Store, StoreOrder, StorePaths,
};
use larder_codec::Origin;
use larder_leveldb::storage::FileSystem;

use crate::display::Counted;
use rows::SelectedRows;
use selection::Plan;

/// What is copied, and under which origin.
#[derive(Debug, Clone, Default)]
pub struct CopyOptions {
    /// The part of the store that is copied.
    pub part: Part,
    /// The origin that all databases get; their own without.
    pub origin: Option<Origin>,
    /// Nothing is written: only what would be is counted.
    pub dry_run: bool,
}

/// What was copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// Databases.
    pub databases: u64,
    /// Rows.
    pub rows: u64,
    /// Records among them.
    pub records: u64,
    /// Bytes of the rows' keys and values.
    pub row_bytes: u64,
    /// Blobs and files that the records refer to.
    pub blobs: u64,
    /// Their bytes.
    pub blob_bytes: u64,
    /// Change feeds that stayed behind, since only a part of their databases was copied.
    pub feeds_left: u64,
    /// What could not be copied, each with its place: rows and blobs that cannot be read.
    pub problems: Vec<String>,
    /// Whether a blob was gone that a program which has the store open may have removed.
    lost_to_writer: bool,
}

impl Copied {
    /// Whether a blob was gone that a program which has the store open may have removed: a copy that is begun anew may be whole.
    #[must_use]
    pub const fn is_outrun(&self) -> bool {
        self.lost_to_writer
    }
}

impl fmt::Display for Copied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {} ({}, {})",
            Counted(self.databases, "database"),
            Counted(self.records, "record"),
            Counted(self.rows, "row"),
            crate::display::Size(self.row_bytes)
        )?;
        if self.blobs > 0 {
            let (blobs, size) = (
                Counted(self.blobs, "blob"),
                crate::display::Size(self.blob_bytes),
            );
            write!(f, ", {blobs} ({size})")?;
        }
        match self.feeds_left {
            0 => Ok(()),
            feeds => write!(f, ", without {}", Counted(feeds, "change feed")),
        }
    }
}

/// Copies a store, which must be open with [`OnDamage::Skip`](larder_leveldb::OnDamage::Skip) if what is whole of a damaged one is to
/// be copied. `tick` is called for each row.
///
/// # Errors
/// `Usage` if there is a store at `to`, the part is not there, or two databases would get one name; `Corruption` or `Io` if the
/// store cannot be read on; `Io` if the copy cannot be written. Nothing is at `to` then.
pub fn copy_store(
    store: &Store,
    target: Arc<dyn FileSystem>,
    to: &StorePaths,
    options: &CopyOptions,
    tick: &mut dyn FnMut(),
) -> Result<Copied, Error> {
    let plan = Plan::new(store, &options.part, options.origin.as_ref())?;
    let mut copied = Copied {
        databases: plan.databases(),
        feeds_left: plan.feeds_left(),
        ..Copied::default()
    };
    let mut rows = SelectedRows::new(store, &plan, &mut copied, tick);
    if options.dry_run {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        while rows.next(&mut key, &mut value)? {
            key.clear();
            value.clear();
        }
        return Ok(copied);
    }
    let new = NewStore::begin(target, to.clone())?;
    let sequence = match store.order() {
        StoreOrder::SignedBytes => RowSequence::Unsorted,
        StoreOrder::Chromium | StoreOrder::Mixed => RowSequence::Sorted,
    };
    new.write_rows(sequence, |key, value| rows.next(key, value))?;
    let blobs = rows.into_blobs();
    copy_blobs(store, &new, &blobs, &mut copied)?;
    if copied.is_outrun() {
        let what = "the program that has the store open has removed a blob meanwhile: try again, or close that program first";
        return Err(Error::new(ErrorKind::Conflict, what));
    }
    new.finish()?;
    Ok(copied)
}
