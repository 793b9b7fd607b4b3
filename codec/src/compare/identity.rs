//! Which bytes the comparator takes for equal keys, as a lookup by hash needs.

use crate::idb_key::{RawKey, TAG_BINARY, TAG_STRING};
use crate::prefix::{KeyPrefix, PrefixKind};

/// What else [`compare`](super::compare()) may call equal to a stored key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowIdentity {
    /// Nothing but keys that are [`Unclear`](Self::Unclear).
    Bytes,
    /// Perhaps others, all of which have this answer, the next one, or are [`Unclear`](Self::Unclear).
    Several,
    /// Like [`Several`](Self::Several), and these first bytes of the index row, `key_end` of them, name an index key.
    /// Rows that begin with them lie one behind the other, none but unclear ones between, and the bytes alone are not
    /// greater than any.
    Entry {
        /// Where the index key ends.
        key_end: usize,
    },
    /// Anything: no Chromium writes it.
    Unclear,
}

/// Separates two kinds of rows from all others: rows of records, which are looked up most and whose keys are their
/// bytes alone (but for 0, which -0 is equal to), and rows of an index, which are looked for by their first bytes. Keys
/// of metadata are not looked at: [`RowIdentity::Several`].
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
        PrefixKind::Data | PrefixKind::Exists | PrefixKind::ExternalObject => {
            match RawKey::decode_exact(key) {
                Err(_) => RowIdentity::Unclear,
                Ok(_) if may_have_zero(key) => RowIdentity::Several,
                Ok(_) => RowIdentity::Bytes,
            }
        }
        PrefixKind::IndexData => match RawKey::decode(key) {
            Err(_) => RowIdentity::Unclear,
            Ok((key, _)) if may_have_zero(key.as_bytes()) => RowIdentity::Several,
            Ok((_, tail)) => RowIdentity::Entry {
                key_end: row.len() - tail.len(),
            },
        },
        _ => RowIdentity::Several,
    }
}

/// Whether 0 or -0 may be in a user key, as a number or a date.
fn may_have_zero(key: &[u8]) -> bool {
    let has_numbers = !matches!(key.first(), Some(&(TAG_STRING | TAG_BINARY)));
    let is_zero = |eight: &[u8]| eight[..7] == [0; 7] && matches!(eight[7], 0 | 0x80);
    has_numbers && key.windows(8).any(is_zero)
}
