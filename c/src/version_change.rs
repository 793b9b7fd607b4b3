//! What only the transaction of an upgrade does: object stores and indexes made, renamed and deleted.

use larder_idb as idb;

use crate::error::Result;
use crate::guard::{self, given};
use crate::index::Index;
use crate::object_store::ObjectStore;
use crate::pointers::{ErrorOut, Str, slice};
use crate::transaction::Transaction;

pub(crate) fn one_path(path: Str) -> Result<idb::KeyPath> {
    let path = path.to_js_or_none()?;
    Ok(path.map_or(idb::KeyPath::Null, idb::KeyPath::String))
}

fn paths(paths: &[Str]) -> Result<idb::KeyPath> {
    let paths = paths.iter().map(|path| path.to_js());
    Ok(idb::KeyPath::Array(paths.collect::<Result<_>>()?))
}

fn create_object_store(
    transaction: Option<&Transaction>,
    name: Str,
    key_path: Result<idb::KeyPath>,
    auto_increment: bool,
) -> Result<ObjectStore> {
    let this = given(transaction, "the transaction")?;
    let parameters = idb::ObjectStoreParameters::new()
        .key_path(key_path?)
        .auto_increment(auto_increment);
    let store = this
        .inner()
        .create_object_store(&name.to_js()?, parameters)?;
    Ok(this.object_store(store))
}

/// Creates an object store: the host owns the handle. Keys are found in values where `key_path` leads, such as `larder_utf8("id")`; with
/// `larder_null()` they are given apart. With `auto_increment`, keys that are not there are generated. Null:
///
/// - `LARDER_EXCEPTION_INVALID_STATE` if the transaction is not that of an upgrade, or has finished
/// - `LARDER_EXCEPTION_CONSTRAINT` if there is an object store of this name
/// - `LARDER_EXCEPTION_SYNTAX` for what is no key path
/// - `LARDER_EXCEPTION_INVALID_ACCESS` for `auto_increment` with an empty key path
#[unsafe(no_mangle)]
pub extern "C" fn larder_transaction_create_object_store(
    transaction: Option<&Transaction>,
    name: Str,
    key_path: Str,
    auto_increment: bool,
    error: ErrorOut,
) -> Option<Box<ObjectStore>> {
    guard::made(error, || {
        create_object_store(transaction, name, one_path(key_path), auto_increment)
    })
}

/// Makes an object store like `larder_transaction_create_object_store`, with several key paths: keys are arrays of what
/// is found there.
///
/// # Safety
/// `key_paths` points at `key_paths_len` texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_transaction_create_object_store_of_key_paths(
    transaction: Option<&Transaction>,
    name: Str,
    key_paths: *const Str,
    key_paths_len: usize,
    error: ErrorOut,
) -> Option<Box<ObjectStore>> {
    // SAFETY: as promised.
    let key_paths = unsafe { slice(key_paths, key_paths_len) };
    guard::made(error, || {
        create_object_store(transaction, name, paths(key_paths), false)
    })
}

/// Deletes an object store with its indexes and records. False: `LARDER_EXCEPTION_NOT_FOUND`, or as of
/// `larder_transaction_create_object_store`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_transaction_delete_object_store(
    transaction: Option<&Transaction>,
    name: Str,
    error: ErrorOut,
) -> bool {
    guard::succeeds(error, || {
        let this = given(transaction, "the transaction")?;
        this.inner().delete_object_store(&name.to_js()?)?;
        Ok(())
    })
}

/// Gives an object store another name, in the transaction of an upgrade. False: `LARDER_EXCEPTION_CONSTRAINT` if there is another one of
/// this name, `LARDER_EXCEPTION_INVALID_STATE`, `LARDER_EXCEPTION_TRANSACTION_INACTIVE`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_rename(
    store: Option<&ObjectStore>,
    name: Str,
    error: ErrorOut,
) -> bool {
    guard::succeeds(error, || {
        let this = given(store, "the object store")?;
        this.inner().rename(&name.to_js()?)?;
        Ok(())
    })
}

fn create_index(
    store: Option<&ObjectStore>,
    name: Str,
    key_path: Result<idb::KeyPath>,
    options: idb::IndexParameters,
) -> Result<Index> {
    let this = given(store, "the object store")?;
    let index = this
        .inner()
        .create_index(&name.to_js()?, key_path?, options)?;
    Ok(this.index(index))
}

/// Creates an index of what is found in values where `key_path` leads: the host owns the handle. With `unique`, no two records may
/// have the same key; with `multi_entry`, an array gives one entry for each of its members. The records that are there are put into
/// it later; if they break its rule, the transaction is aborted with `LARDER_EXCEPTION_CONSTRAINT`. Null:
/// `LARDER_EXCEPTION_INVALID_STATE`, `LARDER_EXCEPTION_TRANSACTION_INACTIVE`, `LARDER_EXCEPTION_CONSTRAINT` if there is one of this name,
/// `LARDER_EXCEPTION_SYNTAX` for what is no key path.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_create_index(
    store: Option<&ObjectStore>,
    name: Str,
    key_path: Str,
    unique: bool,
    multi_entry: bool,
    error: ErrorOut,
) -> Option<Box<Index>> {
    let options = idb::IndexParameters::new()
        .unique(unique)
        .multi_entry(multi_entry);
    guard::made(error, || {
        create_index(store, name, one_path(key_path), options)
    })
}

/// Makes an index like `larder_object_store_create_index`, with several key paths: index keys are arrays of what is
/// found there.
///
/// # Safety
/// `key_paths` points at `key_paths_len` texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_object_store_create_index_of_key_paths(
    store: Option<&ObjectStore>,
    name: Str,
    key_paths: *const Str,
    key_paths_len: usize,
    unique: bool,
    error: ErrorOut,
) -> Option<Box<Index>> {
    // SAFETY: as promised.
    let key_paths = unsafe { slice(key_paths, key_paths_len) };
    let options = idb::IndexParameters::new().unique(unique);
    guard::made(error, || {
        create_index(store, name, paths(key_paths), options)
    })
}

/// Deletes an index. False: `LARDER_EXCEPTION_NOT_FOUND`, or as of `larder_object_store_create_index`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_delete_index(
    store: Option<&ObjectStore>,
    name: Str,
    error: ErrorOut,
) -> bool {
    guard::succeeds(error, || {
        let this = given(store, "the object store")?;
        this.inner().delete_index(&name.to_js()?)?;
        Ok(())
    })
}

/// Gives an index another name, in the transaction of an upgrade. False: as of `larder_object_store_rename`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_index_rename(index: Option<&Index>, name: Str, error: ErrorOut) -> bool {
    guard::succeeds(error, || {
        let this = given(index, "the index")?;
        this.inner().rename(&name.to_js()?)?;
        Ok(())
    })
}
