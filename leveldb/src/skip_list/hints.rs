//! Where the newest entry of a key lies, and the first of a group of keys, by a hash: most lookups of a memtable's keys, and of
//! keys that it does not have, and most seeks to groups need no search.
//!
//! Without it, `idb` took 2.7 to 4.6 of the CPU time for gets of 10,000 records and 5 to 7 for gets by index key; without groups alone, 2.0
//! for the latter. Puts would take 0.88 to 0.97: that is its price. Of 100,000 records most are in tables, and it gains nothing.
//!
//! Hashes are of bytes, so only keys that have one form are in the table ([`Identity::Bytes`]): other keys are
//! searched for. Groups are in it by the bytes that name them ([`Identity::Grouped`]); a bit of the hash separates them from keys. Entries
//! must come in ascending sequence; if they do not, or come in forms of unclear identity, the table is not used any more.

use super::buckets::Buckets;
use crate::Identity;
use crate::sync::AtomicBool;
use crate::words::rest_word;
use std::sync::atomic::Ordering as Memory;

/// The table's answer for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    /// Its newest entry is this node, if this node is an entry of it.
    Node(u32),
    /// It is not here.
    Absent,
    /// Anything.
    Unknown,
}

/// The table.
#[derive(Debug)]
pub(super) struct Hints {
    buckets: Buckets,
    key_identity: fn(&[u8]) -> Identity,
    is_off: AtomicBool,
}

/// What bytes are looked for as.
#[derive(Debug, Clone, Copy)]
enum Name {
    Key,
    Group,
}

/// A half of the hash.
fn mark(bytes: &[u8], name: Name) -> u32 {
    // Else a key with a group's hash, which may not be the group's first, would be taken for that.
    hash(bytes) as u32 & !1 | name as u32
}

/// Multiplies and folds, eight bytes at a time. Keys chosen to collide cost searches and nothing else.
fn hash(key: &[u8]) -> u64 {
    let mut state = key.len() as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut mix = |word: u64| {
        let product = u128::from(state ^ word) * u128::from(0xd6e8_feb8_6659_fd93_u64);
        state = product as u64 ^ (product >> 64) as u64;
    };
    for eight in key.chunks_exact(8) {
        mix(eight.try_into().map_or(0, u64::from_le_bytes));
    }
    mix(rest_word(key));
    mix(0);
    state
}

impl Hints {
    pub(super) fn new(key_identity: fn(&[u8]) -> Identity) -> Hints {
        Hints {
            buckets: Buckets::default(),
            key_identity,
            is_off: AtomicBool::new(false),
        }
    }

    /// From now on every answer is [`Hint::Unknown`].
    pub(super) fn turn_off(&self) {
        self.is_off.store(true, Memory::Release);
    }

    /// Takes the newest entry of a key, which has its own links. Called by one thread, before readers may ask for that entry.
    /// `is_behind`: whether the entry before is one of a group.
    pub(super) fn put(&self, key: &[u8], node: u32, is_behind: impl FnOnce(&[u8]) -> bool) {
        if self.is_off.load(Memory::Relaxed) {
            return;
        }
        match (self.key_identity)(key) {
            Identity::Bytes => self.buckets.put(mark(key, Name::Key), node),
            Identity::Several => {}
            Identity::Grouped(len) => {
                if let Some(group) = key.get(..len)
                    && !is_behind(group)
                {
                    self.buckets.put(mark(group, Name::Group), node);
                }
            }
            Identity::Unclear => self.turn_off(),
        }
    }

    /// What is known of a key, at least of what was put in before anything that this thread has seen.
    #[inline]
    pub(super) fn get(&self, key: &[u8]) -> Hint {
        match (self.key_identity)(key) {
            Identity::Bytes => self.at_mark(self.mark_of_key(key)),
            _ => Hint::Unknown,
        }
    }

    /// Where the table has a key, if it has it.
    #[inline]
    pub(super) fn mark_of_key(&self, key: &[u8]) -> u32 {
        mark(key, Name::Key)
    }

    /// Where the table has a group, if it has it.
    #[inline]
    pub(super) fn mark_of_group(&self, group: &[u8]) -> u32 {
        mark(group, Name::Group)
    }

    /// Loads a bucket.
    #[inline]
    pub(super) fn touch(&self, mark: u32) {
        self.buckets.touch(mark);
    }

    /// What is there.
    #[inline]
    pub(super) fn at_mark(&self, mark: u32) -> Hint {
        match self.is_off.load(Memory::Relaxed) {
            false => self.buckets.get(mark),
            true => Hint::Unknown,
        }
    }

    /// Which node is the first of a group, if it is one of the group; among those put in before anything that this thread has
    /// seen. `None` of anything that is not the name of a group.
    #[inline]
    pub(super) fn first_of(&self, group: &[u8]) -> Option<u32> {
        if (self.key_identity)(group) != Identity::Grouped(group.len()) {
            return None;
        }
        match self.at_mark(mark(group, Name::Group)) {
            Hint::Node(node) => Some(node),
            Hint::Absent | Hint::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_taken_for_the_first_of_the_group_that_it_names() {
        let hints = Hints::new(|key| Identity::Grouped(key.len()));
        hints.buckets.put(mark(b"name", Name::Key), 5);
        assert_eq!(hints.first_of(b"name"), None);
        hints.buckets.put(mark(b"name", Name::Group), 6);
        assert_eq!(hints.first_of(b"name"), Some(6));
        assert_eq!(hints.buckets.get(mark(b"name", Name::Key)), Hint::Node(5));
    }
}
