//! A scan over metadata rows that hands each to a reader and carries on after bad ones.

use std::cmp::Ordering;

use larder_codec::compare;
use larder_codec::row_key::RowKey;

use crate::error::{Error, Result};
use crate::view::View;

/// Calls `visit` with every row from `low` up to and without `high`. A row that cannot be decoded, and whatever
/// `visit` complains of, goes to `problems`; the scan goes on.
///
/// # Errors
/// Only what stops the scan itself: the engine cannot go on.
pub(super) fn scan(
    view: &View,
    low: &[u8],
    high: &[u8],
    problems: &mut Vec<Error>,
    mut visit: impl FnMut(RowKey<'_>, &[u8]) -> larder_codec::Result<()>,
) -> Result<()> {
    let mut iter = view.iter_before(high);
    iter.seek(low)?;
    while iter.valid() && compare(iter.key(), high) == Ordering::Less {
        let key = iter.key();
        match RowKey::decode_exact(key) {
            Err(error) => problems.push(Error::row(
                key,
                "metadata row with an undecodable key",
                error,
            )),
            Ok(row) => {
                if let Err(error) = visit(row, iter.value()?) {
                    problems.push(Error::row(
                        key,
                        "metadata row with an undecodable value",
                        error,
                    ));
                }
            }
        }
        iter.next()?;
    }
    Ok(())
}
