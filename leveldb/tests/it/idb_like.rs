//! The order of IndexedDB's data rows, as much of it as the tests need: the same as in `oracle/idb_comparator.h`.

use larder_leveldb::Comparator;
use std::cmp::Ordering;

/// Numbers by value, strings by their units, numbers first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdbLike;

impl Comparator for IdbLike {
    fn name(&self) -> &str {
        "idb_cmp1"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if a.len() < 5 || b.len() < 5 || a[..4] != b[..4] {
            return a.cmp(b);
        }
        if a[4] != b[4] {
            return b[4].cmp(&a[4]);
        }
        match a[4] {
            3 if a.len() == 13 && b.len() == 13 => {
                let number = |key: &[u8]| f64::from_le_bytes(key[5..13].try_into().unwrap());
                number(a).partial_cmp(&number(b)).unwrap_or(Ordering::Equal)
            }
            1 if a.len() > 6 && b.len() > 6 => a[6..].cmp(&b[6..]),
            _ => a.cmp(b),
        }
    }

    fn shorten_separator(&self, _start: &mut Vec<u8>, _limit: &[u8]) {}

    fn shorten_successor(&self, _key: &mut Vec<u8>) {}
}
