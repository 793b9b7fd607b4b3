//! What only a version change does: creating, renaming and deleting object stores and indexes.
//!
//! Handles and names show it at once; the rows follow when it is executed, and what fails then aborts the transaction. A change
//! and its operation are made under the transaction's lock, so that another thread's change or abort comes before or after both:
//! what a change relies on is looked at again there.

use std::sync::Arc;

use larder_codec::shown::{Quoted, ShownKeyPath};
use larder_codec::{JsString, KeyPath, feed};

use super::{ObjectStore, finished};
use crate::error::{Error, ErrorName, Result};
use crate::execution::TransactionMode;
use crate::key_path;
use crate::name::Name;
use crate::operation;
use crate::schema::StoreCell;
use crate::transaction::Transaction;

/// What a new object store is like: by default it has no key path and no key generator, and each key is given beside its value.
///
/// ```
/// # use larder_idb::{ObjectStoreParameters, Result, Transaction};
/// # fn create(upgrade: &Transaction) -> Result<()> {
/// let by_title = ObjectStoreParameters::new().key_path("title");
/// upgrade.create_object_store("books", by_title)?;
/// let numbered = ObjectStoreParameters::new().key_path("id").auto_increment(true);
/// upgrade.create_object_store("loans", numbered)?;
/// let by_two = ObjectStoreParameters::new().key_path(["author", "title"]);
/// upgrade.create_object_store("reviews", by_two)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectStoreParameters {
    /// Where keys are found in values; [`KeyPath::Null`] if they are given beside them.
    pub key_path: KeyPath,
    /// Whether it has a key generator, which numbers the records that are put without a key: 1, 2, and so on.
    pub auto_increment: bool,
}

impl ObjectStoreParameters {
    /// No key path and no key generator.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            key_path: KeyPath::Null,
            auto_increment: false,
        }
    }

    /// Keys are found in values by this key path: names of properties with dots between them, or an array of such, whose key is an
    /// array. Whether it is one is looked at when the object store is created.
    #[must_use]
    pub fn key_path(mut self, key_path: impl Into<KeyPath>) -> Self {
        self.key_path = key_path.into();
        self
    }

    /// Whether there is a key generator.
    #[must_use]
    pub const fn auto_increment(mut self, auto_increment: bool) -> Self {
        self.auto_increment = auto_increment;
        self
    }
}

/// What a new index is like: by default any number of records may have the same key, and an array is one key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexParameters {
    /// Whether no two records may have the same key.
    pub unique: bool,
    /// Whether an array gives one index key for each of its members.
    pub multi_entry: bool,
}

impl IndexParameters {
    /// Neither unique nor with one index key for each member of an array.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            unique: false,
            multi_entry: false,
        }
    }

    /// Whether no two records may have the same key.
    #[must_use]
    pub const fn unique(mut self, unique: bool) -> Self {
        self.unique = unique;
        self
    }

    /// Whether an array gives one index key for each of its members.
    #[must_use]
    pub const fn multi_entry(mut self, multi_entry: bool) -> Self {
        self.multi_entry = multi_entry;
        self
    }
}

impl Transaction {
    /// An object store of its scope.
    ///
    /// # Errors
    /// `InvalidStateError` if the transaction was aborted or has finished; `NotFoundError` if there is none of this name in
    /// its scope.
    pub fn object_store<'a>(&self, name: impl Into<Name<'a>>) -> Result<ObjectStore> {
        if self.is_over() {
            return Err(finished());
        }
        let name = name.into();
        self.find_object_store(&name)
            .ok_or_else(|| no_such_store(&name))
    }

    /// As [`object_store`](Self::object_store), whether the transaction is over or not: for hosts with an account of their own
    /// of its state, whose script does not see an abort at once.
    #[must_use]
    pub fn known_object_store<'a>(&self, name: impl Into<Name<'a>>) -> Option<ObjectStore> {
        self.find_object_store(&name.into())
    }

    fn find_object_store(&self, name: &JsString) -> Option<ObjectStore> {
        let cell = self.schema().object_store(name);
        let cell = cell.filter(|cell| self.includes(cell) && self.shows(name))?;
        Some(ObjectStore::new(self.clone(), cell))
    }

    /// Creates an object store. Only in a version change.
    ///
    /// # Errors
    /// `InvalidStateError` if this is no version change, or it has finished; `TransactionInactiveError` if it is
    /// committing; `SyntaxError` for what is no key path; `ConstraintError` if there is one of this name;
    /// `InvalidAccessError` for a key generator with an empty key path or an array of them.
    pub fn create_object_store<'a>(
        &self,
        name: impl Into<Name<'a>>,
        parameters: ObjectStoreParameters,
    ) -> Result<ObjectStore> {
        let name = name.into().into_js_string();
        check_not_reserved(&name)?;
        self.create_named(name, parameters)
    }

    pub(crate) fn create_named(
        &self,
        name: JsString,
        parameters: ObjectStoreParameters,
    ) -> Result<ObjectStore> {
        check_upgrade(self)?;
        let ObjectStoreParameters {
            key_path,
            auto_increment,
        } = parameters;
        check_key_path(&key_path)?;
        check_name_is_free(self.schema().object_store(&name).is_some())?;
        let is_plain = match &key_path {
            KeyPath::Null => true,
            KeyPath::String(path) => !path.is_empty(),
            KeyPath::Array(_) => false,
        };
        if auto_increment && !is_plain {
            let what = "a key generator needs a key path that is neither empty nor an array";
            return Err(Error::new(ErrorName::InvalidAccessError, what));
        }
        let cell = Arc::new(StoreCell::new(name.clone(), key_path, auto_increment));
        let (later, its_name) = (Arc::clone(&cell), name.clone());
        let create =
            move |execution: &mut _| operation::create_object_store(execution, &later, its_name);
        self.core().submit_unrequested(create, || {
            check_name_is_free(self.schema().object_store(&name).is_some())?;
            self.schema().add(&name, Arc::clone(&cell));
            Ok(())
        })?;
        Ok(ObjectStore::new(self.clone(), cell))
    }

    /// Deletes an object store with its indexes and records. Only in a version change.
    ///
    /// # Errors
    /// `InvalidStateError` if this is no version change, or it has finished; `TransactionInactiveError` if it is
    /// committing; `NotFoundError`.
    pub fn delete_object_store<'a>(&self, name: impl Into<Name<'a>>) -> Result<()> {
        let name = name.into();
        match self.shows(&name) {
            true => self.delete_named(&name),
            false => Err(no_such_store(&name)),
        }
    }

    pub(crate) fn delete_named(&self, name: &JsString) -> Result<()> {
        check_upgrade(self)?;
        let missing = || no_such_store(name);
        let cell = self.schema().object_store(name).ok_or_else(missing)?;
        let later = Arc::clone(&cell);
        let delete = move |execution: &mut _| operation::delete_object_store(execution, &later);
        self.core().submit_unrequested(delete, || {
            check_is_still(self.schema().object_store(name), &cell)?;
            self.schema().remove(name);
            Ok(())
        })
    }
}

impl ObjectStore {
    /// Gives it another name. Only in a version change.
    ///
    /// # Errors
    /// `InvalidStateError` if it has been deleted or this is no version change; `TransactionInactiveError` if that is
    /// committing or has ended; `ConstraintError` if there is another object store of this name.
    pub fn rename<'a>(&self, name: impl Into<Name<'a>>) -> Result<()> {
        self.rename_to(&name.into())
    }

    fn rename_to(&self, name: &JsString) -> Result<()> {
        self.check_not_deleted()?;
        check_version_change(&self.transaction)?;
        self.transaction.core().check_active()?;
        if self.name() == *name {
            return Ok(());
        }
        check_not_reserved(name)?;
        let schema = self.transaction.schema();
        check_name_is_free(schema.object_store(name).is_some())?;
        let (cell, new) = (Arc::clone(self.cell()), name.clone());
        let rename =
            move |execution: &mut _| operation::rename_object_store(execution, &cell, &new);
        self.transaction.core().submit_unrequested(rename, || {
            self.check_not_deleted()?;
            check_name_is_free(schema.object_store(name).is_some())?;
            schema.rename(self.cell(), name);
            Ok(())
        })
    }
}

/// # Errors
/// `InvalidStateError` unless this is a version change that has not finished; `TransactionInactiveError` if it is
/// committing.
fn check_upgrade(transaction: &Transaction) -> Result<()> {
    check_version_change(transaction)?;
    if transaction.is_finished() {
        return Err(finished());
    }
    transaction.core().check_active()
}

/// # Errors
/// `InvalidStateError` unless this is a version change.
pub(crate) fn check_version_change(transaction: &Transaction) -> Result<()> {
    if transaction.mode() == TransactionMode::VersionChange {
        return Ok(());
    }
    let what = "object stores and indexes change only in an upgrade: open the database with a greater version";
    Err(Error::new(ErrorName::InvalidStateError, what))
}

/// # Errors
/// `ConstraintError` if the name is taken.
pub(crate) fn check_name_is_free(is_taken: bool) -> Result<()> {
    if is_taken {
        let what = "there is an object store or index of this name already";
        return Err(Error::new(ErrorName::ConstraintError, what));
    }
    Ok(())
}

/// Checks that what is to be deleted is still there: another thread may have been faster.
///
/// # Errors
/// `ConstraintError` for a name that is the change feed's.
fn check_not_reserved(name: &JsString) -> Result<()> {
    if !feed::is_reserved(name) {
        return Ok(());
    }
    let what = format!(
        "names that begin with {:?} are those of change feeds: choose another",
        feed::RESERVED_PREFIX
    );
    Err(Error::new(ErrorName::ConstraintError, what))
}

/// # Errors
/// `NotFoundError` if the name means nothing any more, or something else.
pub(crate) fn check_is_still<T>(found: Option<Arc<T>>, cell: &Arc<T>) -> Result<()> {
    match found {
        Some(found) if Arc::ptr_eq(&found, cell) => Ok(()),
        _ => {
            let what = "what is to be deleted was deleted or renamed meanwhile";
            Err(Error::new(ErrorName::NotFoundError, what))
        }
    }
}

/// # Errors
/// `SyntaxError` for what is no key path.
pub(crate) fn check_key_path(path: &KeyPath) -> Result<()> {
    match key_path::is_valid(path) {
        true => Ok(()),
        false => Err(no_key_path(path)),
    }
}

#[cold]
pub(crate) fn no_key_path(path: &KeyPath) -> Error {
    let what = format!(
        "{} is no key path: a key path is names with dots between them, or an array of such",
        ShownKeyPath(path)
    );
    Error::new(ErrorName::SyntaxError, what)
}

#[cold]
fn no_such_store(name: &JsString) -> Error {
    let what = format!(
        "there is no object store {} in the transaction's scope",
        Quoted(name)
    );
    Error::new(ErrorName::NotFoundError, what)
}
