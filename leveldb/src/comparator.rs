//! The order of user keys.
//!
//! A store records its comparator's name in the MANIFEST and can only be opened with the same one: LevelDB's
//! `include/leveldb/comparator.h`. Separators only ever shorten index keys; doing nothing is right, too.

use std::cmp::Ordering;
use std::fmt::Debug;

/// A total order on user keys.
///
/// `compare` must be a total order on every byte string that may be in the store. Keys that compare equal are the same key:
/// the newest one hides the others. It is called for bytes from disk and must not panic on any.
pub trait Comparator: Send + Sync + Debug {
    /// The name recorded in the MANIFEST. Changes whenever the order changes.
    fn name(&self) -> &str;

    /// The order of two user keys.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;

    /// May replace `start` by a shorter key that is `>= start` and `< limit`, given `start < limit`.
    fn shorten_separator(&self, start: &mut Vec<u8>, limit: &[u8]);

    /// May replace `key` by a shorter key that is `>= key`.
    fn shorten_successor(&self, key: &mut Vec<u8>);
}

/// What is known of a [`Comparator`]'s keys without comparing them: plain functions of one key's bytes, which must answer the
/// same every time and must not panic on any bytes. With them, most lookups and seeks call the comparator once or not at all.
#[derive(Clone, Copy, Debug)]
pub struct KeyFacts {
    /// Which other bytes are the same key, and which keys belong together. With it, most point lookups of what is not in a table
    /// yet and most seeks to a group are by hash, and each put costs some more.
    ///
    /// If it calls a key [`Identity::Bytes`] that the comparator calls equal to another, not [`Identity::Unclear`] one, then
    /// lookups of the one may miss the other, or give an older value, while they are in memory. If a group is not what
    /// [`Identity::Grouped`] promises, then seeks to it may miss keys that are in memory. Other moves of iterators, and files, do
    /// not depend on it.
    pub identity: fn(&[u8]) -> Identity,
    /// A number in the comparator's order: if `head(a) < head(b)`, then `a` is less than `b`; equal keys have equal heads. The
    /// more keys have a head of their own, and in its upper half, the better. For [`BytewiseComparator`] it is not asked.
    ///
    /// If it contradicts the comparator, then lookups and seeks may miss keys, and what is put in comes to wrong places, where
    /// tables have it afterwards: such a store is damaged.
    pub head: fn(&[u8]) -> u128,
}

/// Which bytes compare equal to a key's, as far as [`KeyFacts::identity`] can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// No others, except some that are [`Unclear`](Self::Unclear).
    Bytes,
    /// Perhaps others, all of which have this answer, [`Grouped`](Self::Grouped) or [`Unclear`](Self::Unclear).
    Several,
    /// As [`Several`](Self::Several), and so many of its first bytes name a group. Those bytes alone have this answer, too. Keys
    /// that begin with them lie one behind the other, none but unclear ones between, and the bytes are not greater than any.
    Grouped(usize),
    /// Any: bytes that no writer should have written.
    Unclear,
}

/// LevelDB's default: unsigned bytes, shorter first. Its name on disk is `leveldb.BytewiseComparator`.
///
/// ```
/// use larder_leveldb::{BytewiseComparator, Comparator};
/// let mut separator = b"the quick".to_vec();
/// BytewiseComparator.shorten_separator(&mut separator, b"the sly");
/// assert_eq!(separator, b"the r");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct BytewiseComparator;

impl Comparator for BytewiseComparator {
    fn name(&self) -> &str {
        "leveldb.BytewiseComparator"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }

    fn shorten_separator(&self, start: &mut Vec<u8>, limit: &[u8]) {
        let common = start.iter().zip(limit).take_while(|(a, b)| a == b).count();
        // One a prefix of the other: nothing shorter lies between.
        let (Some(&byte), Some(&bound)) = (start.get(common), limit.get(common)) else {
            return;
        };
        if byte < 0xff && byte + 1 < bound {
            start.truncate(common);
            start.push(byte + 1);
        }
    }

    fn shorten_successor(&self, key: &mut Vec<u8>) {
        if let Some(at) = key.iter().position(|&byte| byte != 0xff) {
            key[at] += 1;
            key.truncate(at + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    quickcheck! {
        fn a_separator_lies_between_and_is_no_longer(a: Vec<u8>, b: Vec<u8>) -> bool {
            let (a, b) = if a < b { (a, b) } else { (b, a) };
            if a == b {
                return true;
            }
            let mut separator = a.clone();
            BytewiseComparator.shorten_separator(&mut separator, &b);
            a <= separator && separator < b && separator.len() <= a.len()
        }

        fn a_successor_is_no_smaller_and_no_longer(key: Vec<u8>) -> bool {
            let mut successor = key.clone();
            BytewiseComparator.shorten_successor(&mut successor);
            successor >= key && successor.len() <= key.len()
        }
    }

    #[test]
    fn shortening_gives_what_leveldb_gives() {
        let separator = |a: &[u8], b: &[u8]| {
            let mut key = a.to_vec();
            BytewiseComparator.shorten_separator(&mut key, b);
            key
        };
        assert_eq!(separator(b"abcdefg", b"abzz"), b"abd");
        assert_eq!(separator(b"abc", b"abd"), b"abc");
        assert_eq!(separator(b"abc", b"abcd"), b"abc");
        assert_eq!(separator(b"a\xffz", b"c"), b"b");
        let mut key = b"\xff\xffab".to_vec();
        BytewiseComparator.shorten_successor(&mut key);
        assert_eq!(key, b"\xff\xffb");
        let mut key = b"\xff\xff".to_vec();
        BytewiseComparator.shorten_successor(&mut key);
        assert_eq!(key, b"\xff\xff");
    }
}
