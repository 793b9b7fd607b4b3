//! Internal keys: a user key, a sequence number and a kind.
//!
//! Bytes: the user key, then eight bytes little-endian of `sequence << 8 | kind`. Order: user keys by the comparator, then
//! the newest first, so descending by those eight bytes as a number. LevelDB's `db/dbformat.h`.

use crate::varint::fixed64;
use crate::{BytewiseComparator, Comparator, Identity, KeyFacts};
use std::cmp::Ordering;
use std::sync::Arc;

/// The greatest sequence number: 56 bits.
pub const SEQUENCE_MAX: u64 = (1 << 56) - 1;

/// Bytes that follow the user key.
pub const TAG_LEN: usize = 8;

/// What an entry says about its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A tombstone (byte 0): the key has no value from this sequence number on.
    Deletion,
    /// A value (byte 1).
    Value,
    /// Never on disk: damage took what was written here, and only the key could be made out. Hides what is older, because
    /// that would be outdated.
    Lost,
}

impl EntryKind {
    /// The kind's byte.
    pub fn to_byte(self) -> u8 {
        match self {
            EntryKind::Deletion => 0,
            EntryKind::Value => 1,
            EntryKind::Lost => 2,
        }
    }

    /// The kind of a byte read from disk: only 0 and 1 are ever written.
    pub fn from_disk(byte: u8) -> Option<EntryKind> {
        match byte {
            0 => Some(EntryKind::Deletion),
            1 => Some(EntryKind::Value),
            _ => None,
        }
    }
}

/// The tag that sorts before every entry of a key that a snapshot at `sequence` may see.
pub fn seek_tag(sequence: u64) -> u64 {
    // Above every kind: greater tags sort first.
    (sequence.min(SEQUENCE_MAX) << 8) | 0xff
}

/// Appends an internal key. Bits of `sequence` above [`SEQUENCE_MAX`] are cut off.
pub fn encode(out: &mut Vec<u8>, user_key: &[u8], sequence: u64, kind: EntryKind) {
    encode_tagged(out, user_key, tag_of(sequence, kind));
}

/// The tag. Bits of `sequence` above [`SEQUENCE_MAX`] are cut off.
#[inline]
pub fn tag_of(sequence: u64, kind: EntryKind) -> u64 {
    (sequence << 8) | u64::from(kind.to_byte())
}

/// Appends an internal key with the tag as given.
pub fn encode_tagged(out: &mut Vec<u8>, user_key: &[u8], tag: u64) {
    out.extend_from_slice(user_key);
    out.extend_from_slice(&tag.to_le_bytes());
}

/// An internal key with the tag as given.
pub(crate) fn tagged(user_key: &[u8], tag: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(user_key.len() + TAG_LEN);
    encode_tagged(&mut key, user_key, tag);
    key
}

/// The user key and the tag of an internal key: `None` below eight bytes.
///
/// ```
/// use larder_leveldb::internal_key::{encode, split, EntryKind};
/// let mut key = Vec::new();
/// encode(&mut key, b"k", 5, EntryKind::Value);
/// assert_eq!(split(&key), Some((&b"k"[..], 5 << 8 | 1)));
/// ```
#[inline]
pub fn split(internal: &[u8]) -> Option<(&[u8], u64)> {
    let at = internal.len().checked_sub(TAG_LEN)?;
    Some((internal.get(..at)?, fixed64(internal, at)?))
}

/// The user key of an internal key; empty if it is too short to be one.
#[inline]
pub fn user_key(internal: &[u8]) -> &[u8] {
    let at = internal.len().saturating_sub(TAG_LEN);
    internal.get(..at).unwrap_or_default()
}

/// The tag of an internal key; zero if it is too short to be one.
#[inline]
pub fn tag(internal: &[u8]) -> u64 {
    internal
        .len()
        .checked_sub(TAG_LEN)
        .and_then(|at| fixed64(internal, at))
        .unwrap_or(0)
}

/// Whether `internal` is one that a writer makes: long enough, and of a kind that exists on disk.
#[inline]
pub fn is_valid(internal: &[u8]) -> bool {
    internal.len() >= TAG_LEN && tag(internal) as u8 <= 1
}

/// Compares like `a.cmp(b)`; keys are mostly short, and a call costs more than they do.
#[inline]
fn compare_bytes(a: &[u8], b: &[u8]) -> Ordering {
    let (mut rest_of_a, mut rest_of_b) = (a, b);
    for _ in 0..4 {
        let (Some((x, after_x)), Some((y, after_y))) =
            (rest_of_a.split_first_chunk(), rest_of_b.split_first_chunk())
        else {
            break;
        };
        let (x, y) = (u64::from_be_bytes(*x), u64::from_be_bytes(*y));
        if x != y {
            return x.cmp(&y);
        }
        (rest_of_a, rest_of_b) = (after_x, after_y);
    }
    if rest_of_a.is_empty() || rest_of_b.is_empty() {
        return rest_of_a.len().cmp(&rest_of_b.len());
    }
    rest_of_a.cmp(rest_of_b)
}

/// The order of internal keys under a comparator of user keys.
#[derive(Clone, Debug)]
pub struct InternalOrder {
    user: Arc<dyn Comparator>,
    /// The user keys' order is that of their bytes: it need not be asked for.
    is_bytewise: bool,
    facts: Option<KeyFacts>,
}

impl InternalOrder {
    /// Over the order of user keys.
    pub fn new(user: Arc<dyn Comparator>) -> InternalOrder {
        InternalOrder::with_facts(user, None)
    }

    pub(crate) fn with_facts(user: Arc<dyn Comparator>, facts: Option<KeyFacts>) -> InternalOrder {
        let is_bytewise = user.name() == BytewiseComparator.name();
        InternalOrder {
            user,
            is_bytewise,
            facts,
        }
    }

    /// Which bytes are the same user key, if it is known.
    pub(crate) fn identity(&self) -> Option<fn(&[u8]) -> Identity> {
        self.facts.map(|facts| facts.identity)
    }

    /// The head of user keys, if it is known and not their first bytes.
    #[inline]
    pub(crate) fn head(&self) -> Option<fn(&[u8]) -> u128> {
        match self.is_bytewise {
            true => None,
            false => self.facts.map(|facts| facts.head),
        }
    }

    /// The order of user keys.
    pub fn user(&self) -> &dyn Comparator {
        &*self.user
    }

    /// Whether user keys are in the order of [`BytewiseComparator`], as the comparator's name says.
    #[inline]
    pub(crate) fn is_bytewise(&self) -> bool {
        self.is_bytewise
    }

    /// The order of two user keys.
    #[inline]
    pub(crate) fn compare_user(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self.is_bytewise {
            true => compare_bytes(a, b),
            false => self.user.compare(a, b),
        }
    }

    /// The order of two internal keys.
    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.compare_user(user_key(a), user_key(b))
            .then_with(|| tag(b).cmp(&tag(a)))
    }

    /// Shortens an index key: `start <= result < limit`.
    pub fn shorten_separator(&self, start: &mut Vec<u8>, limit: &[u8]) {
        let mut short = user_key(start).to_vec();
        self.user.shorten_separator(&mut short, user_key(limit));
        self.take_shorter(start, &short);
    }

    /// Shortens the last index key of a table: `key <= result`.
    pub fn shorten_successor(&self, key: &mut Vec<u8>) {
        let mut short = user_key(key).to_vec();
        self.user.shorten_successor(&mut short);
        self.take_shorter(key, &short);
    }

    /// A shorter user key that is physically greater goes before all entries of that key: tag of the greatest sequence.
    fn take_shorter(&self, key: &mut Vec<u8>, short: &[u8]) {
        let old = user_key(key);
        if short.len() < old.len() && self.user.compare(old, short) == Ordering::Less {
            key.clear();
            encode_tagged(key, short, (SEQUENCE_MAX << 8) | 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn key(user: &[u8], sequence: u64, kind: EntryKind) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&mut out, user, sequence, kind);
        out
    }

    fn order() -> InternalOrder {
        InternalOrder::new(Arc::new(BytewiseComparator))
    }

    quickcheck! {
        fn comparing_words_is_comparing_bytes(shared: Vec<u8>, a: Vec<u8>, b: Vec<u8>) -> bool {
            let (a, b) = ([&shared[..], &a].concat(), [&shared[..], &b].concat());
            compare_bytes(&a, &b) == a.cmp(&b) && compare_bytes(&a, &a) == Ordering::Equal
        }

        fn an_internal_key_splits_into_its_parts(user: Vec<u8>, sequence: u64) -> bool {
            let sequence = sequence & SEQUENCE_MAX;
            split(&key(&user, sequence, EntryKind::Value)) == Some((&user[..], (sequence << 8) | 1))
        }

        fn user_keys_go_up_and_sequences_down(a: (Vec<u8>, u32), b: (Vec<u8>, u32)) -> bool {
            let of = |x: &(Vec<u8>, u32)| key(&x.0, u64::from(x.1), EntryKind::Value);
            order().compare(&of(&a), &of(&b)) == a.0.cmp(&b.0).then(b.1.cmp(&a.1))
        }

        fn a_separator_of_internal_keys_lies_between(a: Vec<u8>, b: Vec<u8>) -> bool {
            let (a, b) = if a < b { (a, b) } else { (b, a) };
            if a == b {
                return true;
            }
            let (low, high) = (key(&a, 9, EntryKind::Value), key(&b, 3, EntryKind::Value));
            let mut separator = low.clone();
            order().shorten_separator(&mut separator, &high);
            order().compare(&low, &separator).is_le() && order().compare(&separator, &high).is_lt()
        }
    }

    #[test]
    fn a_seek_tag_sorts_before_every_kind_of_its_sequence_and_after_the_next() {
        let mut target = Vec::new();
        encode_tagged(&mut target, b"k", seek_tag(7));
        assert!(
            order()
                .compare(&target, &key(b"k", 7, EntryKind::Value))
                .is_lt()
        );
        assert!(
            order()
                .compare(&target, &key(b"k", 7, EntryKind::Lost))
                .is_lt()
        );
        assert!(
            order()
                .compare(&target, &key(b"k", 8, EntryKind::Deletion))
                .is_gt()
        );
    }

    #[test]
    fn too_short_keys_are_not_valid() {
        assert_eq!(split(&[1; 7]), None);
        assert!(!is_valid(&[0; 7]));
        assert!(!is_valid(&[2, 0, 0, 0, 0, 0, 0, 0]));
        assert!(is_valid(&[1, 0, 0, 0, 0, 0, 0, 0]));
    }
}
