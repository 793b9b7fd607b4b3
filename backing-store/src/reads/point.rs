//! The row of one user key.
//!
//! 0 and -0 are one key with two forms, and an array may hold either. Bloom filters work on bytes, not on keys: a point
//! read with one form can miss a row that was written with the other, or find one that such a row has replaced. A merge
//! of all sources in the keys' order cannot.

use std::cmp::Ordering;

use larder_codec::idb_key::KeyPart;
use larder_codec::{RawKey, compare};

use crate::error::Result;
use crate::view::View;

/// The value of `row_key`, a row of the record with this primary key, into the caller's buffer; whether there is one.
pub(crate) fn get_row(
    view: &View,
    row_key: &[u8],
    primary_key: RawKey<'_>,
    value: &mut Vec<u8>,
) -> Result<bool> {
    if !has_two_forms(primary_key) {
        return view.get_into(row_key, value);
    }
    let mut iter = view.iter_near(row_key, row_key);
    iter.seek(row_key)?;
    let found = iter.valid() && compare(iter.key(), row_key) == Ordering::Equal;
    if found {
        value.clear();
        value.extend_from_slice(iter.value()?);
    }
    Ok(found)
}

/// Whether the key has a zero anywhere.
pub(crate) fn has_two_forms(key: RawKey<'_>) -> bool {
    // A number takes nine bytes, and most keys are one.
    if let Some((_, number)) = key.as_bytes().split_first()
        && let Some(number) = number.as_array()
        && f64::from_le_bytes(*number) != 0.0
    {
        return false;
    }
    key.parts().any(
        |part| matches!(part, KeyPart::Number(number) | KeyPart::Date(number) if number == 0.0),
    )
}
