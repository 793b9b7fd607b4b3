//! Object stores: records written and read.

use std::mem::MaybeUninit;
use std::sync::Arc;

use larder_idb as idb;

use crate::context::Context;
use crate::cursor::{DirectionNumber, to_direction};
use crate::error::Result;
use crate::guard::{self, given};
use crate::index::Index;
use crate::key::{Key, given_key};
use crate::key_range::{KeyRange, range_or_all};
use crate::outcome::Outcome;
use crate::pointers::{ErrorOut, Str};
use crate::request::Request;
use crate::text::{Names, Text, boxed};
use crate::value::{Value, given_value};

/// An object store, in a transaction, which it keeps from ending. The host owns it.
///
/// Functions that make a request fail at once with `LARDER_EXCEPTION_INVALID_STATE` if the object store has been deleted,
/// `LARDER_EXCEPTION_TRANSACTION_INACTIVE` if the transaction is committing or has ended, and, if they write, `LARDER_EXCEPTION_READ_ONLY`.
pub struct ObjectStore {
    store: idb::ObjectStore,
    context: Arc<Context>,
}

impl ObjectStore {
    pub(crate) fn new(store: idb::ObjectStore, context: &Arc<Context>) -> Self {
        let context = Arc::clone(context);
        Self { store, context }
    }

    pub(crate) fn inner(&self) -> &idb::ObjectStore {
        &self.store
    }

    pub(crate) fn index(&self, index: idb::Index) -> Index {
        Index::new(index, &self.context)
    }

    /// A request of its transaction's.
    pub(crate) fn request<T: Send + 'static>(&self, request: idb::Request<T>) -> Request
    where
        Outcome: From<T>,
    {
        let transaction = self.store.transaction();
        Request::within(transaction, request, &self.context)
    }
}

fn given_store(store: Option<&ObjectStore>) -> Result<&ObjectStore> {
    given(store, "the object store")
}

/// Its name: the host owns the text. Null of null.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_name(store: Option<&ObjectStore>) -> Option<Box<Text>> {
    guard::or_else(None, || Some(boxed(store?.store.name())))
}

/// Where keys are found in values: the host owns the list. Null if they are given apart. With several key paths `is_array` becomes true,
/// also if there is one in the list; null for it is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_key_path(
    store: Option<&ObjectStore>,
    is_array: Option<&mut MaybeUninit<bool>>,
) -> Option<Box<Names>> {
    guard::or_else(None, || key_path_names(store?.store.key_path(), is_array))
}

pub(crate) fn key_path_names(
    path: &idb::KeyPath,
    is_array: Option<&mut MaybeUninit<bool>>,
) -> Option<Box<Names>> {
    if let Some(is_array) = is_array {
        is_array.write(matches!(path, idb::KeyPath::Array(_)));
    }
    let paths = match path {
        idb::KeyPath::Null => return None,
        idb::KeyPath::String(path) => vec![path.clone()],
        idb::KeyPath::Array(paths) => paths.clone(),
    };
    Some(Box::new(paths.into()))
}

/// Whether it has a key generator. Of null, false.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_auto_increment(store: Option<&ObjectStore>) -> bool {
    guard::or_else(false, || {
        store.is_some_and(|this| this.store.auto_increment())
    })
}

/// The names of its indexes, sorted: the host owns the list. Null of null.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_index_names(
    store: Option<&ObjectStore>,
) -> Option<Box<Names>> {
    guard::or_else(None, || Some(Box::new(store?.store.index_names().into())))
}

/// One of its indexes: the host owns the handle. Null: `LARDER_EXCEPTION_NOT_FOUND` if there is none of this name,
/// `LARDER_EXCEPTION_INVALID_STATE` if the object store has been deleted or the transaction has ended.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_index(
    store: Option<&ObjectStore>,
    name: Str,
    error: ErrorOut,
) -> Option<Box<Index>> {
    guard::made(error, || {
        let this = given_store(store)?;
        Ok(this.index(this.store.index(&name.to_js()?)?))
    })
}

/// Puts a record, in the place of any with the same key. `key` is null if keys are found in values or generated. Value and key are
/// copied. The request comes to the key (`larder_request_take_key`), or fails with `LARDER_EXCEPTION_CONSTRAINT` if a unique
/// index has one of the keys for another record. Null also: `LARDER_EXCEPTION_DATA` if a key is missing, not wanted or no key,
/// `LARDER_EXCEPTION_DATA_CLONE` if the value cannot be stored.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_put(
    store: Option<&ObjectStore>,
    value: Option<&Value>,
    key: Option<&Key>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_store(store)?;
        let request = this
            .store
            .put(given_value(value)?.to_put(), key.map(Key::to_key))?;
        Ok(this.request(request))
    })
}

/// Puts a record like `larder_object_store_put`, unless there is a record with that key: then the request fails with
/// `LARDER_EXCEPTION_CONSTRAINT`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_add(
    store: Option<&ObjectStore>,
    value: Option<&Value>,
    key: Option<&Key>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_store(store)?;
        let request = this
            .store
            .add(given_value(value)?.to_put(), key.map(Key::to_key))?;
        Ok(this.request(request))
    })
}

/// Deletes the record with this key, if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_delete(
    store: Option<&ObjectStore>,
    key: Option<&Key>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_store(store)?;
        let request = this.store.delete(given_key(key)?.to_key())?;
        Ok(this.request(request))
    })
}

/// Deletes the records in a range. Null for it fails with `LARDER_EXCEPTION_TYPE`: that is what `larder_object_store_clear` is for.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_delete_range(
    store: Option<&ObjectStore>,
    range: Option<&KeyRange>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_store(store)?;
        given(range, "the range")?;
        let request = this.store.delete(range_or_all(range))?;
        Ok(this.request(request))
    })
}

/// Deletes all records. The key generator goes on from where it is.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_clear(
    store: Option<&ObjectStore>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_store(store)?;
        Ok(this.request(this.store.clear()?))
    })
}

/// Requests the value of the record with this key (`larder_request_take_value`; null if there is none).
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_get(
    store: Option<&ObjectStore>,
    key: Option<&Key>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_store(store)?;
        let request = this.store.get(given_key(key)?.to_key())?;
        Ok(this.request(request))
    })
}

/// Requests the value of the first record in a range; null is all of them (`larder_request_take_value`).
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_get_first(
    store: Option<&ObjectStore>,
    range: Option<&KeyRange>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_store(store)?;
        let request = this.store.get(range_or_all(range))?;
        Ok(this.request(request))
    })
}

/// Requests the key of the first record in a range; null is all of them (`larder_request_take_key`).
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_get_key(
    store: Option<&ObjectStore>,
    range: Option<&KeyRange>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_store(store)?;
        let request = this.store.get_key(range_or_all(range))?;
        Ok(this.request(request))
    })
}

/// Requests the records in a range, with keys and values (`larder_request_take_records`): all of them for a null range, at most
/// `count_max` if that is not 0.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_get_all(
    store: Option<&ObjectStore>,
    range: Option<&KeyRange>,
    count_max: u32,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_store(store)?;
        let options = idb::GetAllOptions::new().count(count_max);
        let request = this.store.get_all(range_or_all(range), options)?;
        Ok(this.request(request))
    })
}

/// Requests what `larder_object_store_get_all` requests, without values, which are not read.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_get_all_keys(
    store: Option<&ObjectStore>,
    range: Option<&KeyRange>,
    count_max: u32,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_store(store)?;
        let options = idb::GetAllOptions::new().count(count_max);
        let request = this.store.get_all_keys(range_or_all(range), options)?;
        Ok(this.request(request))
    })
}

/// Counts the records in a range; null is all of them (`larder_request_take_number`).
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_count(
    store: Option<&ObjectStore>,
    range: Option<&KeyRange>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_store(store)?;
        let request = this.store.count(range_or_all(range))?;
        Ok(this.request(request))
    })
}

/// Opens a cursor at the first record of a range, in a `larder_direction` (`larder_request_take_cursor`; null if there is none).
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_open_cursor(
    store: Option<&ObjectStore>,
    range: Option<&KeyRange>,
    direction: DirectionNumber,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_store(store)?;
        let direction = to_direction(direction)?;
        let request = this.store.open_cursor(range_or_all(range), direction)?;
        Ok(this.request(request))
    })
}

/// Opens what `larder_object_store_open_cursor` opens, without values, which are not read.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_open_key_cursor(
    store: Option<&ObjectStore>,
    range: Option<&KeyRange>,
    direction: DirectionNumber,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_store(store)?;
        let direction = to_direction(direction)?;
        let request = this.store.open_key_cursor(range_or_all(range), direction)?;
        Ok(this.request(request))
    })
}

/// Frees an object store's handle. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_free(store: Option<Box<ObjectStore>>) {
    guard::or_else((), || drop(store));
}
