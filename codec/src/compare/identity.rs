//! Which bytes the comparator takes for the same key: what a lookup by hash must know.

use crate::idb_key::RawKey;
use crate::prefix::{KeyPrefix, PrefixKind};

/// What else [`compare`](super::compare()) may call equal to a stored key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowIdentity {
    /// Nothing but keys that are [`Unclear`](Self::Unclear).
    Bytes,
    /// Perhaps others, all of which have this answer or are [`Unclear`](Self::Unclear).
    Several,
    /// Anything: no Chromium writes it.
    Unclear,
}

/// Tells rows of records, which are looked up most and whose keys are their bytes alone (but for 0, which -0 is equal to), from
/// others. Keys of metadata and of indexes are not looked at: [`RowIdentity::Several`].
///
/// ```
/// use larder_codec::{RowIdentity, row_identity};
/// let one = [0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
/// assert_eq!(row_identity(&one), RowIdentity::Bytes);
/// let zero = [0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0];
/// assert_eq!(row_identity(&zero), RowIdentity::Several);
/// let with_more_behind = [0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 7];
/// assert_eq!(row_identity(&with_more_behind), RowIdentity::Unclear);
/// ```
#[must_use]
pub fn row_identity(row: &[u8]) -> RowIdentity {
    let Ok((prefix, key)) = KeyPrefix::decode(row) else {
        return RowIdentity::Unclear;
    };
    match prefix.kind() {
        PrefixKind::Data | PrefixKind::Exists | PrefixKind::ExternalObject => {}
        _ => return RowIdentity::Several,
    }
    match RawKey::decode_exact(key) {
        Err(_) => RowIdentity::Unclear,
        Ok(_) if may_have_zero(key) => RowIdentity::Several,
        Ok(_) => RowIdentity::Bytes,
    }
}

/// Whether 0 or -0 may be in a user key, as a number or a date.
fn may_have_zero(key: &[u8]) -> bool {
    (key.windows(8)).any(|eight| eight[..7] == [0; 7] && matches!(eight[7], 0 | 0x80))
}
