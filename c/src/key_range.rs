//! Key ranges. Where a range is asked for, null is every key.

use larder_idb as idb;

use crate::guard;
use crate::key::{Key, given_key};
use crate::pointers::ErrorOut;

/// A range of keys. The host owns it; it has copies of its keys.
#[derive(Debug)]
pub struct KeyRange(idb::KeyRange);

/// A range; every key if there is none.
pub(crate) fn range_or_all(range: Option<&KeyRange>) -> idb::KeyRange {
    range.map_or_else(idb::KeyRange::all, |range| range.0.clone())
}

/// One key. Null for a null key: `LARDER_EXCEPTION_TYPE`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_range_only(
    key: Option<&Key>,
    error: ErrorOut,
) -> Option<Box<KeyRange>> {
    guard::made(error, || {
        Ok(KeyRange(idb::KeyRange::only(given_key(key)?.to_key())))
    })
}

/// From a key on; without that key itself if `open`. Null for a null key: `LARDER_EXCEPTION_TYPE`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_range_lower_bound(
    lower: Option<&Key>,
    open: bool,
    error: ErrorOut,
) -> Option<Box<KeyRange>> {
    guard::made(error, || {
        let lower = given_key(lower)?.to_key();
        Ok(KeyRange(idb::KeyRange::lower_bound(lower, open)))
    })
}

/// Up to a key; without that key itself if `open`. Null for a null key: `LARDER_EXCEPTION_TYPE`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_range_upper_bound(
    upper: Option<&Key>,
    open: bool,
    error: ErrorOut,
) -> Option<Box<KeyRange>> {
    guard::made(error, || {
        let upper = given_key(upper)?.to_key();
        Ok(KeyRange(idb::KeyRange::upper_bound(upper, open)))
    })
}

/// Between two keys, without those that are `open`. Null: `LARDER_EXCEPTION_DATA` if nothing can be between them, `LARDER_EXCEPTION_TYPE` if
/// one of them is null.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_range_bound(
    lower: Option<&Key>,
    upper: Option<&Key>,
    lower_open: bool,
    upper_open: bool,
    error: ErrorOut,
) -> Option<Box<KeyRange>> {
    guard::made(error, || {
        let (lower, upper) = (given_key(lower)?.to_key(), given_key(upper)?.to_key());
        let range = idb::KeyRange::bound(lower, upper, lower_open, upper_open)?;
        Ok(KeyRange(range))
    })
}

/// Whether a key is in it. Every key is in a null range; no range has a null key.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_range_includes(range: Option<&KeyRange>, key: Option<&Key>) -> bool {
    guard::or_else(false, || {
        let in_range = |key: &Key| range.is_none_or(|range| range.0.includes(key.key()));
        key.is_some_and(in_range)
    })
}

/// Frees a range. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_key_range_free(range: Option<Box<KeyRange>>) {
    guard::or_else((), || drop(range));
}
