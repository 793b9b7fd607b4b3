//! An object store's indexes: found by name; in a version change created and deleted.

use std::sync::Arc;

use larder_codec::value::Foreign;
use larder_codec::{JsString, Key, KeyPath};

use super::Index;
use crate::error::{Error, ErrorName, Result};
use crate::name::Name;
use crate::object_store::{
    IndexParameters, ObjectStore, check_is_still, check_key_path, check_name_is_free,
    check_version_change, finished, no_key_path,
};
use crate::operation::{self, ForeignKeys};
use crate::schema::IndexCell;

impl ObjectStore {
    /// One of its indexes.
    ///
    /// # Errors
    /// `InvalidStateError` if the object store has been deleted or the transaction was aborted or has finished;
    /// `NotFoundError`.
    pub fn index<'a>(&self, name: impl Into<Name<'a>>) -> Result<Index> {
        self.check_not_deleted()?;
        if self.transaction().is_over() {
            return Err(finished());
        }
        let name = name.into();
        let missing = || self.cell().no_such_index(&name);
        self.find_index(&name).ok_or_else(missing)
    }

    /// As [`index`](Self::index), whether the transaction is over or not: see [`Transaction::known_object_store`](crate::Transaction::known_object_store).
    #[must_use]
    pub fn known_index<'a>(&self, name: impl Into<Name<'a>>) -> Option<Index> {
        self.find_index(&name.into())
    }

    fn find_index(&self, name: &JsString) -> Option<Index> {
        let cell = self.cell().index(name)?;
        Some(Index::new(self.clone(), cell))
    }

    /// Creates an index. The records that are there are put into it later; if they break its constraint, the transaction
    /// is aborted with `ConstraintError`. Only in a version change.
    ///
    /// # Errors
    /// `InvalidStateError` if this is no version change, or the object store has been deleted; `TransactionInactiveError`
    /// if it is committing or has ended; `ConstraintError` if there is an index of this name; `SyntaxError` for what is
    /// no key path; `InvalidAccessError` for multiple entries of an array of key paths.
    ///
    /// If a record has a value of another engine ([`Value::foreign`](crate::Value::foreign)), the transaction is aborted with
    /// `DataError`: see [`create_index_with_keys`](Self::create_index_with_keys).
    pub fn create_index<'a>(
        &self,
        name: impl Into<Name<'a>>,
        key_path: impl Into<KeyPath>,
        parameters: IndexParameters,
    ) -> Result<Index> {
        let name = name.into().into_js_string();
        self.create_index_asking(name, key_path.into(), parameters, None)
    }

    /// Creates an index as [`create_index`](Self::create_index) does, of an object store that may have values of other
    /// engines: `keys_of` is asked for the keys that each of them has in it, with the record's primary key. It gives none, one, or
    /// any number if the index is `multi_entry`. Other values are looked into as ever.
    ///
    /// It is called where the transaction is executed: on a thread of the storage's, or in a step of the host's; not from within
    /// this call, and never for two values at a time. It must not wait for requests of this transaction.
    ///
    /// ```
    /// # use larder_idb::{Foreign, KeyPath, IndexParameters, Key, Result, Upgrade};
    /// # fn author_in(bytes: &[u8]) -> Option<Key> { None }
    /// # fn upgrade(upgrade: &Upgrade) -> Result<()> {
    /// let books = upgrade.transaction.object_store("books")?;
    /// let keys_of = |_: &Key, value: &Foreign<'_>| Ok(author_in(value.bytes()).into_iter().collect());
    /// let author = KeyPath::String("author".into());
    /// books.create_index_with_keys("by author", author, IndexParameters::default(), keys_of)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`create_index`](Self::create_index). The transaction is aborted with the error of `keys_of`, with `DataError` if that gives several keys for an
    /// index that has one for each record or what is no key, and with `UnknownError` if it panics.
    pub fn create_index_with_keys<'a>(
        &self,
        name: impl Into<Name<'a>>,
        key_path: impl Into<KeyPath>,
        parameters: IndexParameters,
        keys_of: impl FnMut(&Key, &Foreign<'_>) -> Result<Vec<Key>> + Send + 'static,
    ) -> Result<Index> {
        let (name, keys_of) = (name.into().into_js_string(), Box::new(keys_of));
        self.create_index_asking(name, key_path.into(), parameters, Some(keys_of))
    }

    fn create_index_asking(
        &self,
        name: JsString,
        key_path: KeyPath,
        parameters: IndexParameters,
        keys_of: Option<ForeignKeys>,
    ) -> Result<Index> {
        check_version_change(self.transaction())?;
        self.check_readable()?;
        check_name_is_free(self.cell().index(&name).is_some())?;
        if key_path == KeyPath::Null {
            return Err(no_key_path(&key_path));
        }
        check_key_path(&key_path)?;
        let IndexParameters {
            unique,
            multi_entry,
        } = parameters;
        if multi_entry && matches!(key_path, KeyPath::Array(_)) {
            let what = "an index of an array of key paths cannot have multiple entries";
            return Err(Error::new(ErrorName::InvalidAccessError, what));
        }
        let index = Arc::new(IndexCell::new(name.clone(), key_path, unique, multi_entry));
        let (store, later, its_name) = (Arc::clone(self.cell()), Arc::clone(&index), name.clone());
        let create = move |execution: &mut _| {
            operation::create_index(execution, &store, &later, its_name, keys_of)
        };
        self.transaction().core().submit_unrequested(create, || {
            self.check_not_deleted()?;
            check_name_is_free(self.cell().index(&name).is_some())?;
            self.cell().add_index(&name, Arc::clone(&index));
            Ok(())
        })?;
        Ok(Index::new(self.clone(), index))
    }

    /// Deletes an index. Only in a version change.
    ///
    /// # Errors
    /// `InvalidStateError` if this is no version change, or the object store has been deleted; `TransactionInactiveError`
    /// if it is committing or has ended; `NotFoundError`.
    pub fn delete_index<'a>(&self, name: impl Into<Name<'a>>) -> Result<()> {
        self.delete_named(&name.into())
    }

    fn delete_named(&self, name: &JsString) -> Result<()> {
        check_version_change(self.transaction())?;
        self.check_readable()?;
        let missing = || self.cell().no_such_index(name);
        let index = self.cell().index(name).ok_or_else(missing)?;
        let (store, later) = (Arc::clone(self.cell()), Arc::clone(&index));
        let delete = move |execution: &mut _| operation::delete_index(execution, &store, &later);
        self.transaction().core().submit_unrequested(delete, || {
            check_is_still(self.cell().index(name), &index)?;
            self.cell().remove_index(name);
            Ok(())
        })
    }
}
