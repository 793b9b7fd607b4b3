//! Keys.

use std::mem::MaybeUninit;

use larder_idb as idb;

use crate::error::{Error, Exception, Result};
use crate::guard::{self, given};
use crate::pointers::{Bytes, ErrorOut, Str, handle, slice};
use crate::text::{Text, boxed};

/// What a key is. Keys of a type that comes later are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum KeyKind {
    /// No key: the type of a null pointer.
    None = 0,
    /// A number.
    Number = 1,
    /// A date: milliseconds since 1970 UTC.
    Date = 2,
    /// A string.
    String = 3,
    /// Bytes.
    Binary = 4,
    /// An array of keys.
    Array = 5,
}

/// A key. The host owns it.
#[derive(Debug)]
pub struct Key(idb::Key);

impl Key {
    pub(crate) fn boxed(key: idb::Key) -> Box<Self> {
        Box::new(Self(key))
    }

    pub(crate) const fn key(&self) -> &idb::Key {
        &self.0
    }

    pub(crate) fn to_key(&self) -> idb::Key {
        self.0.clone()
    }
}

/// A key that must be there.
///
/// # Errors
/// `TypeError` if it is null.
pub(crate) fn given_key(key: Option<&Key>) -> Result<&Key> {
    given(key, "the key")
}

/// Copies of keys that must be there.
///
/// # Errors
/// `TypeError` if one is null.
///
/// # Safety
/// Each is null, or a key that is not freed.
pub(crate) unsafe fn given_keys(keys: &[*const Key]) -> Result<Vec<idb::Key>> {
    let keys = keys.iter().map(|&key| {
        // SAFETY: as promised.
        given_key(unsafe { handle(key) }).map(Key::to_key)
    });
    keys.collect()
}

/// # Errors
/// `DataError` for what is no number.
fn not_nan(number: f64) -> Result<f64> {
    match number.is_nan() {
        true => Err(Error::usage(Exception::Data, "NaN is no key")),
        false => Ok(number),
    }
}

/// A number. Null for NaN: `LARDER_EXCEPTION_DATA`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_number(number: f64, error: ErrorOut) -> Option<Box<Key>> {
    guard::made(error, || Ok(Key(idb::Key::Number(not_nan(number)?))))
}

/// A date, in milliseconds since 1970 UTC. Null for NaN: `LARDER_EXCEPTION_DATA`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_date(milliseconds: f64, error: ErrorOut) -> Option<Box<Key>> {
    guard::made(error, || Ok(Key(idb::Key::Date(not_nan(milliseconds)?))))
}

/// A string. Null for what is no text: `LARDER_EXCEPTION_TYPE`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_string(text: Str, error: ErrorOut) -> Option<Box<Key>> {
    guard::made(error, || Ok(Key(idb::Key::String(text.to_js()?))))
}

/// Bytes, which are copied.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_binary(bytes: Bytes, error: ErrorOut) -> Option<Box<Key>> {
    guard::made(error, || Ok(Key(idb::Key::Binary(bytes.to_vec()))))
}

/// An array of keys, which are copied. Null if one of them is, or more than 2000 arrays are one inside the other.
///
/// # Safety
/// `keys` points at `keys_len` keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_key_array(
    keys: *const *const Key,
    keys_len: usize,
    error: ErrorOut,
) -> Option<Box<Key>> {
    // SAFETY: as promised.
    let keys = unsafe { slice(keys, keys_len) };
    guard::made(error, || {
        // SAFETY: as promised.
        let array = idb::Key::array(unsafe { given_keys(keys) }?);
        // The keys are such, so this is all that can be wrong.
        let too_deep = "more than 2000 arrays of the key are one inside the other";
        let array = array.map_err(|_| Error::usage(Exception::Data, too_deep))?;
        Ok(Key(array))
    })
}

/// A copy of a key: the host owns it. Null of null.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_copy(key: Option<&Key>) -> Option<Box<Key>> {
    guard::or_else(None, || Some(Key::boxed(key?.to_key())))
}

/// What it is.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_type(key: Option<&Key>) -> KeyKind {
    match key.map(Key::key) {
        None => KeyKind::None,
        Some(idb::Key::Number(_)) => KeyKind::Number,
        Some(idb::Key::Date(_)) => KeyKind::Date,
        Some(idb::Key::String(_)) => KeyKind::String,
        Some(idb::Key::Binary(_)) => KeyKind::Binary,
        Some(idb::Key::Array(_)) => KeyKind::Array,
    }
}

/// Writes the number, or a date's milliseconds. False for other keys: then nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_to_number(
    key: Option<&Key>,
    number: Option<&mut MaybeUninit<f64>>,
) -> bool {
    let Some(idb::Key::Number(found) | idb::Key::Date(found)) = key.map(Key::key) else {
        return false;
    };
    if let Some(number) = number {
        number.write(*found);
    }
    true
}

/// The string: the host owns the text. Null for other keys.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_to_text(key: Option<&Key>) -> Option<Box<Text>> {
    guard::or_else(None, || match key?.key() {
        idb::Key::String(text) => Some(boxed(text.clone())),
        _ => None,
    })
}

/// The bytes, there as long as the key. None for other keys.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_to_bytes(key: Option<&Key>) -> Bytes {
    match key.map(Key::key) {
        Some(idb::Key::Binary(bytes)) => Bytes::lent(bytes),
        _ => Bytes::none(),
    }
}

/// How many keys an array has. Of other keys, 0.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_array_len(key: Option<&Key>) -> usize {
    match key.map(Key::key) {
        Some(idb::Key::Array(keys)) => keys.len(),
        _ => 0,
    }
}

/// One of the keys of an array, counted from 0: the host owns it. Null beyond its end and of other keys.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_array_at(key: Option<&Key>, at: usize) -> Option<Box<Key>> {
    guard::or_else(None, || match key?.key() {
        idb::Key::Array(keys) => keys.get(at).cloned().map(Key::boxed),
        _ => None,
    })
}

/// Frees a key. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_free(key: Option<Box<Key>>) {
    guard::or_else((), || drop(key));
}
