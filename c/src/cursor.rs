//! Cursors: one position each; a move is a request that comes to the next one.

use std::sync::Arc;

use larder_idb as idb;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::guard::{self, given};
use crate::key::{Key, given_key};
use crate::outcome::Outcome;
use crate::pointers::ErrorOut;
use crate::request::Request;
use crate::value::{Value, given_value};

/// Where a cursor goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Direction {
    /// Ascending.
    Next = 0,
    /// Ascending, one entry of each key.
    NextUnique = 1,
    /// Descending.
    Prev = 2,
    /// Descending, one entry of each key.
    PrevUnique = 3,
}

/// A [`Direction`] that C has given: any number.
pub type DirectionNumber = u32;

pub(crate) fn to_direction(direction: DirectionNumber) -> Result<idb::CursorDirection> {
    Ok(match direction {
        0 => idb::CursorDirection::Next,
        1 => idb::CursorDirection::NextUnique,
        2 => idb::CursorDirection::Prev,
        3 => idb::CursorDirection::PrevUnique,
        _ => return Err(Error::of_type("there is no direction of this number")),
    })
}

/// A cursor at an entry, in a transaction, which it keeps from ending. The host owns it.
///
/// It stays where it is, and can be read at any time. A move is a request that comes to another cursor, at the entry that was reached;
/// after that, this one moves, updates and deletes no more (`LARDER_EXCEPTION_INVALID_STATE`).
pub struct Cursor {
    cursor: idb::Cursor,
    context: Arc<Context>,
}

impl Cursor {
    pub(crate) fn boxed(cursor: idb::Cursor, context: &Arc<Context>) -> Box<Self> {
        let context = Arc::clone(context);
        Box::new(Self { cursor, context })
    }

    /// A request of its transaction's.
    fn request<T: Send + 'static>(&self, request: idb::Request<T>) -> Request
    where
        Outcome: From<T>,
    {
        let transaction = self.cursor.transaction();
        Request::within(transaction, request, &self.context)
    }
}

fn given_cursor(cursor: Option<&Cursor>) -> Result<&Cursor> {
    given(cursor, "the cursor")
}

/// The index key, or the primary key if it is over an object store: the host owns it. Null of null.
#[unsafe(no_mangle)]
pub extern "C" fn larder_cursor_key(cursor: Option<&Cursor>) -> Option<Box<Key>> {
    guard::or_else(None, || Some(Key::boxed(cursor?.cursor.key())))
}

/// The record's key: the host owns it. Null of null.
#[unsafe(no_mangle)]
pub extern "C" fn larder_cursor_primary_key(cursor: Option<&Cursor>) -> Option<Box<Key>> {
    guard::or_else(None, || Some(Key::boxed(cursor?.cursor.primary_key())))
}

/// The record's value: the host owns it. Null if the cursor was opened for keys.
#[unsafe(no_mangle)]
pub extern "C" fn larder_cursor_value(cursor: Option<&Cursor>) -> Option<Box<Value>> {
    guard::or_else(None, || cursor?.cursor.value().map(Value::stored))
}

/// Moves to the next entry; with a key, to the first with this key or behind it. The request comes to a cursor, or to null at the end.
/// Null also: `LARDER_EXCEPTION_DATA` for a key that is not ahead.
#[unsafe(no_mangle)]
pub extern "C" fn larder_cursor_continue(
    cursor: Option<&Cursor>,
    key: Option<&Key>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_cursor(cursor)?;
        let request = match key {
            None => this.cursor.next()?,
            Some(key) => this.cursor.continue_to(key.to_key())?,
        };
        Ok(this.request(request))
    })
}

/// Moves a cursor over an index, whose direction is not unique, to the first entry with this key and primary key or behind it. Null also:
/// `LARDER_EXCEPTION_INVALID_ACCESS` for other cursors, `LARDER_EXCEPTION_DATA` for keys that are not ahead.
#[unsafe(no_mangle)]
pub extern "C" fn larder_cursor_continue_primary_key(
    cursor: Option<&Cursor>,
    key: Option<&Key>,
    primary_key: Option<&Key>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_cursor(cursor)?;
        let (key, primary_key) = (given_key(key)?.to_key(), given_key(primary_key)?.to_key());
        let request = this.cursor.continue_primary_key(key, primary_key)?;
        Ok(this.request(request))
    })
}

/// Moves by so many entries, 1 or more.
#[unsafe(no_mangle)]
pub extern "C" fn larder_cursor_advance(
    cursor: Option<&Cursor>,
    count: u32,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_cursor(cursor)?;
        Ok(this.request(this.cursor.advance(count)?))
    })
}

/// Puts a value, which is copied, in the place of the record's. The request comes to the key. Null also: `LARDER_EXCEPTION_DATA` if
/// keys are found in values and this one has another, `LARDER_EXCEPTION_READ_ONLY`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_cursor_update(
    cursor: Option<&Cursor>,
    value: Option<&Value>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_cursor(cursor)?;
        let request = this.cursor.update(given_value(value)?.to_put())?;
        Ok(this.request(request))
    })
}

/// Deletes the record.
#[unsafe(no_mangle)]
pub extern "C" fn larder_cursor_delete(
    cursor: Option<&Cursor>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given_cursor(cursor)?;
        Ok(this.request(this.cursor.delete()?))
    })
}

/// Frees a cursor. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_cursor_free(cursor: Option<Box<Cursor>>) {
    guard::or_else((), || drop(cursor));
}
