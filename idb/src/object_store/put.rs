//! Writing: put, add, many puts, delete, clear.

use std::sync::Arc;

use larder_backing_store::PutMode;
use larder_codec::Key;

use super::ObjectStore;
use crate::error::{Error, Result};
use crate::execution::{Length, SmallPut, TransactionMode};
use crate::inline_key;
use crate::key_range::KeyRange;
use crate::operation::{self, PutRequest};
use crate::request::Request;
use crate::value::Value;

/// A value with the key it is to be put under, if keys are not found in values.
pub type PutItem = (Value, Option<Key>);

impl ObjectStore {
    /// Puts a record, in the place of any with the same key. The request gives the key.
    ///
    /// # Errors
    /// At once: `DataError` if a key is given and keys are in-line, or neither given nor generated, or if the value has
    /// none where the key path leads or something that is no key, or no place for one to be generated. A value of
    /// [another engine](Value::foreign) has its key beside it: for that `DataError` if it is neither given nor generated, if an
    /// index is not named or one that has one key for each record has several, or for what is no key; `NotFoundError` for the
    /// name of no index. `DataCloneError`
    /// if the value's bytes have no header of a value or do not decode where a key path leads, more than [`DEPTH_MAX`](larder_codec::value::DEPTH_MAX) containers of
    /// it are one inside the other, or the store's data version has no form for it and may not be raised
    /// ([`StorageOptions::raise_data_version`](crate::StorageOptions::raise_data_version)).
    ///
    /// The request: `ConstraintError` if a unique index has one of the keys for another record, or the key generator is
    /// used up; `DataError` if a key is given that has NaN for a number or a date; `DataCloneError` if the value's bytes do not
    /// decode where an index's key path leads.
    pub fn put(&self, value: Value, key: Option<Key>) -> Result<Request<Key>> {
        self.store(value, key, PutMode::Put)
    }

    /// Puts a record unless there is one with the same key.
    ///
    /// # Errors
    /// As [`put`](Self::put); the request also `ConstraintError` if there is one.
    pub fn add(&self, value: Value, key: Option<Key>) -> Result<Request<Key>> {
        self.store(value, key, PutMode::Add)
    }

    fn store(&self, mut value: Value, key: Option<Key>, mode: PutMode) -> Result<Request<Key>> {
        self.check_writable()?;
        let key = self.checked_key(&mut value, key)?;
        if self.is_small_put(&value) {
            let bytes = value.bytes;
            let put = SmallPut { bytes, key, mode };
            return self.transaction.core().submit_to_run(&self.source, put);
        }
        let request = self.put_request(value, key, mode)?;
        let is_short = request.value.bytes.len() <= SmallPut::LEN_MAX;
        let cell = Arc::clone(self.cell());
        let put = move |execution: &mut _| operation::put(execution, &cell, request);
        let length = if is_short {
            Length::Short
        } else {
            Length::Long
        };
        self.transaction.core().submit(length, put)
    }

    /// Whether a put of this value is a [`SmallPut`].
    fn is_small_put(&self, value: &Value) -> bool {
        self.transaction.mode() != TransactionMode::VersionChange
            && value.objects.is_empty()
            && value.raise_to.is_none()
            && match &value.index_keys {
                None => true,
                Some(keys) => keys.is_empty() && !self.cell().is_indexed(),
            }
            && value.bytes.len() <= SmallPut::LEN_MAX
    }

    /// Puts records, each as [`put`](Self::put) does, and gives their keys. At the first that cannot be put it ends; those
    /// before stay. Errors say which it was.
    ///
    /// # Errors
    /// At once as [`put`](Self::put), of any record: then none is put. The request: as there.
    pub fn put_many(&self, items: impl IntoIterator<Item = PutItem>) -> Result<Request<Vec<Key>>> {
        self.check_writable()?;
        let mut requests = Vec::new();
        for (at, (mut value, key)) in items.into_iter().enumerate() {
            let key = self.checked_key(&mut value, key);
            let key = key.map_err(|error| operation::of_record(&error, at))?;
            let request = self.put_request(value, key, PutMode::Put);
            requests.push(request.map_err(|error| operation::of_record(&error, at))?);
        }
        let cell = Arc::clone(self.cell());
        self.transaction
            .core()
            .submit(Length::Long, move |execution| {
                operation::put_many(execution, &cell, requests)
            })
    }

    /// Deletes the records in a range.
    ///
    /// # Errors
    /// Those of every request.
    pub fn delete(&self, range: impl Into<KeyRange>) -> Result<Request<()>> {
        self.check_writable()?;
        let (cell, range) = (Arc::clone(self.cell()), range.into());
        self.transaction
            .core()
            .submit(Length::Long, move |execution| {
                operation::delete(execution, &cell, &range)
            })
    }

    /// Deletes all records. The key generator goes on from where it is.
    ///
    /// # Errors
    /// Those of every request.
    pub fn clear(&self) -> Result<Request<()>> {
        self.check_writable()?;
        let cell = Arc::clone(self.cell());
        self.transaction
            .core()
            .submit(Length::Long, move |execution| {
                operation::clear(execution, &cell)
            })
    }

    /// The key that a value has where the object store's key path leads; `None` if there is none, as for keys that are generated or given
    /// beside values.
    ///
    /// # Errors
    /// `DataCloneError` if the value's bytes have no header of a value or do not decode where the path leads.
    pub fn key_in(&self, value: &Value) -> Result<Option<Key>> {
        inline_key::of_value(self.cell(), value)
    }

    /// Checks a record (4.5, "add or put", from where the mode has been looked at) and finds its key, unless that is to be generated.
    fn checked_key(&self, value: &mut Value, key: Option<Key>) -> Result<Option<Key>> {
        let is_inline = self.cell().uses_inline_keys() && !value.is_foreign();
        if is_inline && key.is_some() {
            return Err(Error::data(format!(
                "a key is given beside the value; leave it out, since keys are found in values at {}",
                self.cell().shown_path()
            )));
        }
        if !is_inline && key.is_none() && !self.cell().auto_increment {
            return Err(Error::data(format!(
                "no key is given; {} does not generate keys, so each record needs one",
                self.cell().shown()
            )));
        }
        value.fit(self.transaction.store_versions())?;
        match is_inline {
            true => inline_key::find(self.cell(), value),
            false => Ok(key),
        }
    }

    fn put_request(&self, value: Value, key: Option<Key>, mode: PutMode) -> Result<PutRequest> {
        let is_upgrade = self.transaction.mode() == TransactionMode::VersionChange;
        PutRequest::new(is_upgrade, self.cell(), value, key, mode)
    }
}
