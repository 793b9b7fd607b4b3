//! The order of the rows, as the engine asks for it.

use std::cmp::Ordering;

use larder_codec::{COMPARATOR_NAME, RowIdentity, compare, row_identity};
use larder_leveldb::{Comparator, Identity};

/// `idb_cmp1`: Chromium's order of IndexedDB rows. It shortens no keys, so index blocks hold whole ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct IdbComparator;

impl Comparator for IdbComparator {
    fn name(&self) -> &str {
        COMPARATOR_NAME
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        compare(a, b)
    }

    fn shorten_separator(&self, _start: &mut Vec<u8>, _limit: &[u8]) {}

    fn shorten_successor(&self, _key: &mut Vec<u8>) {}
}

/// What the engine's lookups by hash must know of [`IdbComparator`].
pub(crate) fn key_identity(key: &[u8]) -> Identity {
    match row_identity(key) {
        RowIdentity::Bytes => Identity::Bytes,
        RowIdentity::Several => Identity::Several,
        RowIdentity::Unclear => Identity::Unclear,
    }
}
