//! Indexes: records found by other keys than their own.

use std::mem::MaybeUninit;
use std::sync::Arc;

use larder_idb as idb;

use crate::context::Context;
use crate::cursor::{DirectionNumber, to_direction};
use crate::error::Result;
use crate::guard::{self, given};
use crate::key::{Key, given_key};
use crate::key_range::{KeyRange, range_or_all};
use crate::object_store::key_path_names;
use crate::outcome::Outcome;
use crate::pointers::ErrorOut;
use crate::request::Request;
use crate::text::{Names, Text, boxed};

/// An index, in a transaction, which it keeps from ending. The host owns it.
///
/// Functions that make a request fail at once with `LARDER_EXCEPTION_INVALID_STATE` if the index or its object store has been deleted, and
/// with `LARDER_EXCEPTION_TRANSACTION_INACTIVE` if the transaction is committing or has ended.
pub struct Index {
    index: idb::Index,
    context: Arc<Context>,
}

impl Index {
    pub(crate) fn new(index: idb::Index, context: &Arc<Context>) -> Self {
        let context = Arc::clone(context);
        Self { index, context }
    }

    pub(crate) fn inner(&self) -> &idb::Index {
        &self.index
    }

    /// A request of its transaction's.
    fn request<T: Send + 'static>(&self, request: idb::Request<T>) -> Request
    where
        Outcome: From<T>,
    {
        let transaction = self.index.object_store().transaction();
        Request::within(transaction, request, &self.context)
    }
}

fn given_index(index: Option<&Index>) -> Result<&Index> {
    given(index, "the index")
}

/// Its name: the host owns the text. Null of null.
#[unsafe(no_mangle)]
pub extern "C" fn larder_index_name(index: Option<&Index>) -> Option<Box<Text>> {
    guard::or_else(None, || Some(boxed(index?.index.name())))
}

/// Where index keys are found in values: the host owns the list. With several key paths `is_array` becomes true; null for it is passed
/// over. Null of null.
#[unsafe(no_mangle)]
pub extern "C" fn larder_index_key_path(
    index: Option<&Index>,
    is_array: Option<&mut MaybeUninit<bool>>,
) -> Option<Box<Names>> {
    guard::or_else(None, || key_path_names(index?.index.key_path(), is_array))
}

/// Whether no two records may have the same key. Of null, false.
#[unsafe(no_mangle)]
pub extern "C" fn larder_index_unique(index: Option<&Index>) -> bool {
    guard::or_else(false, || index.is_some_and(|this| this.index.unique()))
}

/// Whether an array gives one entry for each of its members. Of null, false.
#[unsafe(no_mangle)]
pub extern "C" fn larder_index_multi_entry(index: Option<&Index>) -> bool {
    guard::or_else(false, || index.is_some_and(|this| this.index.multi_entry()))
}

/// Requests the value of the first record with this index key (`larder_request_take_value`; null if there is none).
#[unsafe(no_mangle)]
pub extern "C" fn larder_index_get(
    index: Option<&Index>,
    key: Option<&Key>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_index(index)?;
        let request = this.index.get(given_key(key)?.to_key())?;
        Ok(this.request(request))
    })
}

/// Requests the value of the first record in a range of index keys; null is all of them (`larder_request_take_value`).
#[unsafe(no_mangle)]
pub extern "C" fn larder_index_get_first(
    index: Option<&Index>,
    range: Option<&KeyRange>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_index(index)?;
        let request = this.index.get(range_or_all(range))?;
        Ok(this.request(request))
    })
}

/// Requests the primary key of the first record in a range of index keys; null is all of them (`larder_request_take_key`).
#[unsafe(no_mangle)]
pub extern "C" fn larder_index_get_key(
    index: Option<&Index>,
    range: Option<&KeyRange>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_index(index)?;
        let request = this.index.get_key(range_or_all(range))?;
        Ok(this.request(request))
    })
}

/// Requests the records in a range of index keys, with keys, primary keys and values (`larder_request_take_records`): all of them for a null
/// range, at most `count_max` if that is not 0.
#[unsafe(no_mangle)]
pub extern "C" fn larder_index_get_all(
    index: Option<&Index>,
    range: Option<&KeyRange>,
    count_max: u32,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_index(index)?;
        let options = idb::GetAllOptions::new().count(count_max);
        let request = this.index.get_all(range_or_all(range), options)?;
        Ok(this.request(request))
    })
}

/// Requests what `larder_index_get_all` requests, without values, which are not read.
#[unsafe(no_mangle)]
pub extern "C" fn larder_index_get_all_keys(
    index: Option<&Index>,
    range: Option<&KeyRange>,
    count_max: u32,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_index(index)?;
        let options = idb::GetAllOptions::new().count(count_max);
        let request = this.index.get_all_keys(range_or_all(range), options)?;
        Ok(this.request(request))
    })
}

/// Counts the entries in a range of index keys; null is all of them (`larder_request_take_number`).
#[unsafe(no_mangle)]
pub extern "C" fn larder_index_count(
    index: Option<&Index>,
    range: Option<&KeyRange>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_index(index)?;
        let request = this.index.count(range_or_all(range))?;
        Ok(this.request(request))
    })
}

/// Opens a cursor at the first entry of a range of index keys, in a `larder_direction` (`larder_request_take_cursor`; null if there is none).
#[unsafe(no_mangle)]
pub extern "C" fn larder_index_open_cursor(
    index: Option<&Index>,
    range: Option<&KeyRange>,
    direction: DirectionNumber,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_index(index)?;
        let direction = to_direction(direction)?;
        let request = this.index.open_cursor(range_or_all(range), direction)?;
        Ok(this.request(request))
    })
}

/// Opens what `larder_index_open_cursor` opens, without values, which are not read.
#[unsafe(no_mangle)]
pub extern "C" fn larder_index_open_key_cursor(
    index: Option<&Index>,
    range: Option<&KeyRange>,
    direction: DirectionNumber,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_index(index)?;
        let direction = to_direction(direction)?;
        let request = this.index.open_key_cursor(range_or_all(range), direction)?;
        Ok(this.request(request))
    })
}

/// Frees an index's handle. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_index_free(index: Option<Box<Index>>) {
    guard::or_else((), || drop(index));
}
