//! The order of stored keys: the comparator named [`COMPARATOR_NAME`] (`docs/FORMAT.md`, section 5).
//!
//! Works on raw bytes, allocates nothing, does not recurse and does not panic.
//!
//! # Where this follows Chromium and where it cannot
//!
//! For every key that some Chromium can have written, and for every end of a range that it looks
//! up, the answers are Chromium's. That includes the keys with different bytes that it calls equal:
//! - the numbers -0 and 0 (and dates), anywhere in a user key;
//! - index rows of the oldest form, without a primary key, that differ only in their sequence
//!   number or in having one.
//!
//! For other bytes Chromium's answer is mostly "equal", as soon as anything cannot be decoded. That
//! is no order: it would make a damaged key equal to all keys of its neighbourhood, and an engine
//! would let it hide them. Here both keys are read from the front, field by field; at the first
//! field that one of them does not have in readable form, the readable one sorts first, and two
//! unreadable ones sort as the bytes from there on. NaN counts as unreadable, an unknown type byte
//! of a user key sorts after the sentinel `00`, unknown metadata types sort by type byte and then
//! by bytes. Bytes after the end of a complete key are ignored, as by Chromium; prefixes whose
//! numbers are longer than needed compare by number, as in Chromium.
//!
//! # The order of programs that have signed bytes
//!
//! Compiled by GCC, as in `QtWebEngine` 5.12 to 5.15, Chromium's code compares the bytes of strings and binaries in user keys,
//! and those of the scopes area, as signed ones, under the same name: [`RowOrder::SignedBytes`].
//!
//! So `compare` is a total preorder on all byte strings: every two keys compare, `compare(a, b)` is
//! the reverse of `compare(b, a)`, and both "less" and "equal" are transitive.

mod head;
mod identity;

#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::ops::ControlFlow;

pub use head::row_head;
pub use identity::{RowIdentity, row_identity};

use crate::idb_key::{TAG_NUMBER, order};
use crate::pairwise::{
    Decision, compare_bytes, decided, differ, read_byte, read_string, read_var_int, settle,
    take_var_int,
};
use crate::prefix::{KeyPrefix, PrefixKind};
use crate::row_key::tag;

/// The comparator's name, as it stands in a store's MANIFEST.
pub const COMPARATOR_NAME: &str = "idb_cmp1";

/// Compares two stored keys as LevelDB does with this comparator.
///
/// ```
/// use std::cmp::Ordering;
/// // User keys 1 and 2 of one object store: numbers compare by value, not by bytes.
/// let one = [0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
/// let two = [0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0x00, 0x40];
/// assert_eq!(larder_codec::compare(&one, &two), Ordering::Less);
/// ```
#[must_use]
#[inline]
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    match compare_numbers(a, b) {
        Some(decided) => decided,
        None => compare_any(a, b),
    }
}

fn compare_any(a: &[u8], b: &[u8]) -> Ordering {
    decided(compare_rows::<false>(a, b, false))
}

/// The order of two rows of one table or index whose user keys are two numbers that differ, or that are one row: most of what is
/// compared. `None` of others.
#[inline]
fn compare_numbers(a: &[u8], b: &[u8]) -> Option<Ordering> {
    let (front, behind_a) = a.split_first_chunk::<5>()?;
    let (front_b, behind_b) = b.split_first_chunk::<5>()?;
    let [0, 1..=0xff, 1..=0xff, 1..=3 | 30..=0xff, TAG_NUMBER] = *front else {
        return None;
    };
    if front != front_b {
        return None;
    }
    let number_a = f64::from_le_bytes(*behind_a.first_chunk()?);
    let number_b = f64::from_le_bytes(*behind_b.first_chunk()?);
    match number_a.partial_cmp(&number_b)? {
        // A row that was written over is met twice by every walk.
        Ordering::Equal => (behind_a == behind_b).then_some(Ordering::Equal),
        decided => Some(decided),
    }
}

/// Compares two stored keys, looking at rows of an index no further than their index key.
///
/// Cursors use this for bounds and uniqueness. Rows of one index with the same index key are equal;
/// all other keys compare as in [`compare`].
#[must_use]
pub fn compare_index_keys(a: &[u8], b: &[u8]) -> Ordering {
    decided(compare_rows::<false>(a, b, true))
}

/// Compares the user keys (sentinels included) at the front of two byte strings.
///
/// Min < number < date < string < binary < array < Max; what follows the keys is ignored.
#[must_use]
pub fn compare_user_keys(a: &[u8], b: &[u8]) -> Ordering {
    let (mut a, mut b) = (a, b);
    decided(order::compare::<false>(&mut a, &mut b))
}

/// The orders that programs have under the name [`COMPARATOR_NAME`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowOrder {
    /// That of [`compare`], which every Chromium has.
    #[default]
    Chromium,
    /// The bytes of strings and binaries in user keys, and those of the scopes area, count as signed, 80 to ff before 00 to 7f.
    /// Names of databases, object stores and indexes are compared as ever. The same keys are equal as in the other order.
    SignedBytes,
}

impl RowOrder {
    /// Compares two stored keys, as [`compare`] does in Chromium's order.
    ///
    /// ```
    /// use larder_codec::compare::RowOrder;
    /// // User keys "z" and "é" of one object store.
    /// let (z, e) = ([0, 1, 1, 1, 1, 1, 0, 0x7a], [0, 1, 1, 1, 1, 1, 0, 0xe9]);
    /// assert!(RowOrder::Chromium.compare(&z, &e).is_lt());
    /// assert!(RowOrder::SignedBytes.compare(&z, &e).is_gt());
    /// ```
    #[must_use]
    #[inline]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Chromium => compare(a, b),
            Self::SignedBytes => decided(compare_rows::<true>(a, b, false)),
        }
    }

    /// Compares the user keys at the front of two byte strings, as [`compare_user_keys`] does in Chromium's order.
    #[must_use]
    #[inline]
    pub fn compare_user_keys(self, a: &[u8], b: &[u8]) -> Ordering {
        let (mut a, mut b) = (a, b);
        decided(match self {
            Self::Chromium => order::compare::<false>(&mut a, &mut b),
            Self::SignedBytes => order::compare::<true>(&mut a, &mut b),
        })
    }
}

fn compare_rows<const SIGNED: bool>(a: &[u8], b: &[u8], index_keys_only: bool) -> Decision {
    let (kind, mut a, mut b) = compare_prefixes(a, b)?;
    let (a, b) = (&mut a, &mut b);
    match kind {
        PrefixKind::Data | PrefixKind::Exists | PrefixKind::ExternalObject => {
            compare_presence(a, b)?;
            order::compare::<SIGNED>(a, b)
        }
        PrefixKind::IndexData => {
            compare_presence(a, b)?;
            order::compare::<SIGNED>(a, b)?;
            if index_keys_only {
                return ControlFlow::Continue(());
            }
            compare_index_tails::<SIGNED>(a, b)
        }
        PrefixKind::Global => compare_global::<SIGNED>(a, b),
        PrefixKind::Database => compare_database(a, b),
        PrefixKind::Unassigned => differ((*a).cmp(*b)),
    }
}

/// Compares the prefixes; gives their common kind and what follows them.
#[inline]
fn compare_prefixes<'a>(
    a: &'a [u8],
    b: &'a [u8],
) -> ControlFlow<Ordering, (PrefixKind, &'a [u8], &'a [u8])> {
    // Nearly all keys have three one-byte numbers: their order is that of the bytes.
    if let (Some((&head_a, rest_a)), Some((&head_b, rest_b))) =
        (a.split_first_chunk::<4>(), b.split_first_chunk::<4>())
        && let ([0, database, object_store, index], [0, ..]) = (head_a, head_b)
    {
        differ(u32::from_be_bytes(head_a).cmp(&u32::from_be_bytes(head_b)))?;
        let prefix = KeyPrefix {
            database: database.into(),
            object_store: object_store.into(),
            index: index.into(),
        };
        return ControlFlow::Continue((prefix.kind(), rest_a, rest_b));
    }
    let parse = KeyPrefix::parse_any_length;
    let ((prefix, len_a), (other, len_b)) = settle(parse(a), parse(b), a, b)?;
    differ(prefix.cmp(&other))?;
    let (rest_a, rest_b) = (a.split_at(len_a).1, b.split_at(len_b).1);
    ControlFlow::Continue((prefix.kind(), rest_a, rest_b))
}

/// A key that ends here sorts first: it is the low end of a range.
fn compare_presence(a: &[u8], b: &[u8]) -> Decision {
    match (a.is_empty(), b.is_empty()) {
        (false, false) => ControlFlow::Continue(()),
        (a_ends, b_ends) => ControlFlow::Break(b_ends.cmp(&a_ends)),
    }
}

/// What follows the index key: sequence number and primary key, of which the latter counts first.
fn compare_index_tails<'k, const SIGNED: bool>(a: &mut &'k [u8], b: &mut &'k [u8]) -> Decision {
    let sequences = match (a.is_empty(), b.is_empty()) {
        (false, false) => Some(read_var_int(a, b)?),
        (true, false) => {
            let (_, (_, rest)) = settle(Some(()), take_var_int(b), a, b)?;
            *b = rest;
            None
        }
        (false, true) => {
            let ((_, rest), _) = settle(take_var_int(a), Some(()), a, b)?;
            *a = rest;
            None
        }
        (true, true) => None,
    };
    // Without a primary key on both sides, presence alone decides, and the sequence never counts.
    compare_presence(a, b)?;
    order::compare::<SIGNED>(a, b)?;
    match sequences {
        Some((sequence_a, sequence_b)) => differ(sequence_a.cmp(&sequence_b)),
        None => ControlFlow::Continue(()),
    }
}

fn compare_global<'k, const SIGNED: bool>(a: &mut &'k [u8], b: &mut &'k [u8]) -> Decision {
    let tag = compare_byte(a, b)?;
    match tag {
        // The rest of a simple key is ignored; a writer adds none.
        0..tag::GLOBAL_SIMPLE_END => ControlFlow::Continue(()),
        tag::DATABASE_FREE_LIST => compare_var_ints(a, b),
        tag::DATABASE_NAME => {
            compare_strings(a, b)?;
            compare_strings(a, b)
        }
        tag::SCOPES => differ(compare_bytes::<SIGNED>(a, b)),
        // The order of what is not known is that of its bytes.
        _ => differ((*a).cmp(*b)),
    }
}

fn compare_database<'k>(a: &mut &'k [u8], b: &mut &'k [u8]) -> Decision {
    let tag = compare_byte(a, b)?;
    match tag {
        0..tag::DATABASE_SIMPLE_END => ControlFlow::Continue(()),
        tag::OBJECT_STORE_METADATA => {
            compare_var_ints(a, b)?;
            compare_byte(a, b).map_continue(drop)
        }
        tag::INDEX_METADATA => {
            compare_var_ints(a, b)?;
            compare_var_ints(a, b)?;
            compare_byte(a, b).map_continue(drop)
        }
        tag::OBJECT_STORE_FREE_LIST => compare_var_ints(a, b),
        tag::INDEX_FREE_LIST => {
            compare_var_ints(a, b)?;
            compare_var_ints(a, b)
        }
        tag::OBJECT_STORE_NAME => compare_strings(a, b),
        tag::INDEX_NAME => {
            compare_var_ints(a, b)?;
            compare_strings(a, b)
        }
        _ => differ((*a).cmp(*b)),
    }
}

/// Compares one byte of each and gives it back if they are equal.
fn compare_byte<'k>(a: &mut &'k [u8], b: &mut &'k [u8]) -> ControlFlow<Ordering, u8> {
    let (byte_a, byte_b) = read_byte(a, b)?;
    differ(byte_a.cmp(&byte_b))?;
    ControlFlow::Continue(byte_a)
}

fn compare_var_ints<'k>(a: &mut &'k [u8], b: &mut &'k [u8]) -> Decision {
    let (number_a, number_b) = read_var_int(a, b)?;
    differ(number_a.cmp(&number_b))
}

fn compare_strings<'k>(a: &mut &'k [u8], b: &mut &'k [u8]) -> Decision {
    let (string_a, string_b) = read_string(a, b)?;
    differ(string_a.cmp(string_b))
}
