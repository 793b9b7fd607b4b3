//! The seam below writing: where the records of a store lie that does not lie in LevelDB.
//!
//! Such a store is a LevelDB in memory with the rows of metadata, which are made anew from the other form whenever the store is opened, and
//! a row store with everything else. A transaction stages rows as ever; its commit gives them to the row store, all or none, and then
//! the metadata among them to the LevelDB in memory. So everything above is one code for all forms.

use std::fmt;
use std::sync::Arc;

use larder_codec::{BlobNumber, DataVersion, DatabaseId};
use larder_leveldb::Durability;

use crate::error::Result;
use crate::metadata::DatabaseMetadata;
use crate::row_source::RowSource;

/// The rows of records, and what belongs to them: data, exists, external object and index rows.
pub trait RowStore: fmt::Debug + Send + Sync {
    /// The rows as they are committed now. Nothing that is committed later shows in them.
    fn rows(&self) -> Arc<dyn RowSource>;

    /// Commits a transaction: all of it or nothing.
    ///
    /// # Errors
    /// If it cannot be written: then nothing of it is there, unless the error is
    /// [`Uncertain`](crate::ErrorKind::Uncertain).
    fn commit(&self, commit: RowCommit<'_>) -> Result<()>;

    /// Deletes a database, if it is there, with all it has. Files of blobs that readers hold can be read on, until their folder is removed.
    ///
    /// # Errors
    /// If its file cannot be removed.
    fn delete_database(&self, id: DatabaseId) -> Result<()>;

    /// The bytes of the store's files.
    ///
    /// # Errors
    /// `Io` if they cannot be counted.
    fn used_bytes(&self) -> Result<u64>;

    /// Does what is due in quiet times: whether there was anything.
    ///
    /// # Errors
    /// As writing.
    fn maintain(&self) -> Result<bool>;

    /// Gives back the room of what was deleted.
    ///
    /// # Errors
    /// As writing.
    fn compact(&self) -> Result<()>;

    /// Makes everything durable and gives the files up.
    ///
    /// # Errors
    /// As writing.
    fn close(&self) -> Result<()>;
}

/// A transaction as a row store commits it.
#[expect(
    missing_debug_implementations,
    reason = "rows come from an iterator, which has no form to be shown in"
)]
#[non_exhaustive]
pub struct RowCommit<'a> {
    /// The database that it is of.
    pub database_id: DatabaseId,
    /// What the database is from now on, if that may have changed.
    pub metadata: Option<DatabaseMetadata>,
    /// The versions of the value formats that the store has from now on.
    pub data_version: DataVersion,
    /// Numbers that no blob has: one for each handle of the file system among the external objects, ascending.
    pub handle_numbers: &'a [BlobNumber],
    /// When the rows must be durable.
    pub durability: Durability,
    /// The rows in their order, each key once: a value, or none for a row that is deleted. Rows of metadata are among them.
    pub rows: &'a mut dyn Iterator<Item = ChangedRow<'a>>,
}

/// A row that a transaction has put or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedRow<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Its value; `None` if it is deleted.
    pub value: Option<&'a [u8]>,
}
