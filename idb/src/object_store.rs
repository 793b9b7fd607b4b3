//! Object stores: the handle (specification, 2.4 and 4.5).
//!
//! Calls check what the specification checks when a method is called, in its order, and queue an operation. What the
//! operations do is `operation`'s.

mod generator;
mod put;
mod read;
mod version_change;

pub use put::PutItem;
pub use version_change::{IndexParameters, ObjectStoreParameters};
pub(crate) use version_change::{
    check_is_still, check_key_path, check_name_is_free, check_version_change, no_key_path,
};

use std::fmt;
use std::sync::Arc;

use larder_codec::{JsString, KeyPath};

use crate::error::{Error, ErrorName, Result};
use crate::operation::Source;
use crate::schema::StoreCell;
use crate::transaction::Transaction;

/// An object store, in a transaction. Clones are the same handle.
///
/// Every method that makes a request fails with `InvalidStateError` if the object store has been deleted, then with
/// `TransactionInactiveError` if the transaction is committing or has ended; those that write fail with `ReadOnlyError` in
/// a transaction that only reads.
///
/// ```
/// # use std::sync::Arc;
/// use larder_idb::{
///     FixedClock, GetAllOptions, KeyPath, IndexParameters, KeyRange, TransactionMode, ObjectStoreParameters, Origin, Storage,
///     StorageOptions, TransactionOptions, Value,
/// };
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Book {
///     title: String,
///     authors: Vec<String>,
/// }
///
/// let storage = Storage::new(StorageOptions::in_memory(Arc::new(FixedClock::default())))?;
/// let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
/// let request = factory.open("library", Some(1))?.with_upgrade(|upgrade| {
///     // Keys are generated, and a page finds them in the values.
///     let parameters = ObjectStoreParameters::new().key_path("id").auto_increment(true);
///     let books = upgrade.transaction.create_object_store("books", parameters)?;
///     let each_author = IndexParameters::new().multi_entry(true);
///     books.create_index("by author", KeyPath::String("authors".into()), each_author)?;
///     Ok(())
/// });
/// let connection = request.wait()?;
///
/// let options = TransactionOptions::default();
/// let transaction = connection.transaction(&["books"], TransactionMode::ReadWrite, options)?;
/// let books = transaction.object_store("books")?;
/// let book = Book { title: "Notes".into(), authors: vec!["Ada".into(), "Luigi".into()] };
/// assert_eq!(books.put(Value::serialize(&book)?, None)?.wait()?, 1.0.into());
/// let found = books.index("by author")?.get("Luigi")?.wait()?.unwrap();
/// assert_eq!(found.deserialize::<Book>()?.title, "Notes");
/// let all = books.get_all(KeyRange::all(), GetAllOptions::default())?.wait()?;
/// assert_eq!(all.len(), 1);
/// transaction.commit()?.wait()?;
/// # Ok::<(), larder_idb::Error>(())
/// ```
#[derive(Clone)]
pub struct ObjectStore {
    transaction: Transaction,
    source: Source,
}

impl ObjectStore {
    pub(crate) fn new(transaction: Transaction, cell: Arc<StoreCell>) -> Self {
        Self {
            transaction,
            source: cell.into(),
        }
    }

    /// Its name. If it has been deleted, the name it had.
    #[must_use]
    pub fn name(&self) -> JsString {
        self.cell().name()
    }

    /// Its number in the database, which it keeps when it gets another name, and no other gets.
    ///
    /// # Errors
    /// If it has just been created and has none yet: when its creation has been executed, it has.
    pub fn number(&self) -> Result<i64> {
        Ok(self.cell().id()?.get())
    }

    /// Where keys are found in values.
    #[must_use]
    pub fn key_path(&self) -> &KeyPath {
        &self.cell().key_path
    }

    /// Whether it has a key generator.
    #[must_use]
    pub fn auto_increment(&self) -> bool {
        self.cell().auto_increment
    }

    /// The names of its indexes, sorted.
    #[must_use]
    pub fn index_names(&self) -> Vec<JsString> {
        self.cell().index_names()
    }

    /// The transaction.
    #[must_use]
    pub const fn transaction(&self) -> &Transaction {
        &self.transaction
    }

    /// Whether it has been deleted, or its creation was taken back.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.cell().is_deleted()
    }

    pub(crate) fn cell(&self) -> &Arc<StoreCell> {
        &self.source.store
    }

    pub(crate) fn check_not_deleted(&self) -> Result<()> {
        if self.is_deleted() {
            let what = "the object store has been deleted";
            return Err(Error::new(ErrorName::InvalidStateError, what));
        }
        Ok(())
    }

    pub(crate) fn check_readable(&self) -> Result<()> {
        self.check_not_deleted()?;
        self.transaction.core().check_active()
    }

    fn check_writable(&self) -> Result<()> {
        self.check_readable()?;
        self.transaction.check_writes()
    }
}

pub(crate) fn finished() -> Error {
    Error::new(
        ErrorName::InvalidStateError,
        "the transaction has finished; begin another",
    )
}

impl PartialEq for ObjectStore {
    fn eq(&self, other: &Self) -> bool {
        self.transaction == other.transaction && Arc::ptr_eq(self.cell(), other.cell())
    }
}

impl Eq for ObjectStore {}

impl fmt::Debug for ObjectStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectStore")
            .field("name", &self.name())
            .field("transaction", &self.transaction)
            .finish_non_exhaustive()
    }
}
