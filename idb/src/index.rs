//! Indexes: the handle (specification, 2.6 and 4.6).

mod of_store;

use std::fmt;
use std::sync::Arc;

use larder_codec::{JsString, KeyPath};

use crate::error::{Error, ErrorName, Result};
use crate::name::Name;
use crate::object_store::{ObjectStore, check_name_is_free, check_version_change};
use crate::operation::{self, Source};
use crate::reading::{Reader, reading_methods};
use crate::schema::IndexCell;

/// An index, in a transaction. Clones are the same handle.
///
/// Every method that makes a request fails with `InvalidStateError` if the index or its object store has been deleted,
/// then with `TransactionInactiveError` if the transaction is committing or has ended.
#[derive(Clone)]
pub struct Index {
    object_store: ObjectStore,
    cell: Arc<IndexCell>,
    /// Both, as requests have it.
    source: Source,
}

reading_methods!(Index);

impl Index {
    pub(crate) fn new(object_store: ObjectStore, cell: Arc<IndexCell>) -> Self {
        let source = Source {
            store: Arc::clone(object_store.cell()),
            index: Some(Arc::clone(&cell)),
        };
        Self {
            object_store,
            cell,
            source,
        }
    }

    /// Its name. If it has been deleted, the name it had.
    #[must_use]
    pub fn name(&self) -> JsString {
        self.cell.name()
    }

    /// The object store.
    #[must_use]
    pub const fn object_store(&self) -> &ObjectStore {
        &self.object_store
    }

    /// Where index keys are found in values.
    #[must_use]
    pub fn key_path(&self) -> &KeyPath {
        &self.cell.key_path
    }

    /// Whether no two records may have the same key.
    #[must_use]
    pub fn unique(&self) -> bool {
        self.cell.unique
    }

    /// Whether an array gives one entry for each of its members.
    #[must_use]
    pub fn multi_entry(&self) -> bool {
        self.cell.multi_entry
    }

    /// Whether it or its object store has been deleted, or its creation was taken back.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.cell.is_deleted()
    }

    /// Gives it another name. Only in a version change.
    ///
    /// # Errors
    /// `InvalidStateError` if this is no version change; `TransactionInactiveError` if it is committing or has ended;
    /// `InvalidStateError` if the index or its object store has been deleted; `ConstraintError` if the object store has
    /// another index of that name.
    pub fn rename<'a>(&self, name: impl Into<Name<'a>>) -> Result<()> {
        self.rename_to(&name.into())
    }

    fn rename_to(&self, name: &JsString) -> Result<()> {
        let transaction = self.object_store.transaction();
        check_version_change(transaction)?;
        transaction.core().check_active()?;
        self.check_not_deleted()?;
        if self.name() == *name {
            return Ok(());
        }
        let store = self.object_store.cell();
        check_name_is_free(store.index(name).is_some())?;
        let (store, cell) = (Arc::clone(store), Arc::clone(&self.cell));
        let (store_later, cell_later, new) = (Arc::clone(&store), Arc::clone(&cell), name.clone());
        let rename = move |execution: &mut _| {
            operation::rename_index(execution, &store_later, &cell_later, &new)
        };
        transaction.core().submit_unrequested(rename, || {
            self.check_not_deleted()?;
            check_name_is_free(store.index(name).is_some())?;
            store.rename_index(&cell, name);
            Ok(())
        })
    }

    fn reader(&self) -> Result<Reader<'_>> {
        self.check_not_deleted()?;
        let transaction = self.object_store.transaction();
        transaction.core().check_active()?;
        Ok(Reader {
            transaction,
            source: &self.source,
        })
    }

    fn check_not_deleted(&self) -> Result<()> {
        if self.is_deleted() {
            let what = "the index or its object store has been deleted";
            return Err(Error::new(ErrorName::InvalidStateError, what));
        }
        Ok(())
    }
}

impl PartialEq for Index {
    fn eq(&self, other: &Self) -> bool {
        self.object_store == other.object_store && Arc::ptr_eq(&self.cell, &other.cell)
    }
}

impl Eq for Index {}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("name", &self.name())
            .field("object_store", &self.object_store)
            .finish_non_exhaustive()
    }
}
