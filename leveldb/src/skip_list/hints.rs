//! Where the newest entry of a key lies, and the first of a group of keys, by a hash: most lookups of a memtable's keys, and of
//! keys that it does not have, and most seeks to groups need no search.
//!
//! A table of fixed size of 64-bit atomics: half a hash in the upper half, a node in the lower one. A key's slot is one of
//! two neighbours. Slots are filled, also with other keys' nodes, but never emptied, so a pair with an empty slot tells that
//! no key of its hash was put in. Hashes are of bytes, so only keys that have one form are in it ([`Identity::Bytes`]):
//! whoever looks for other keys searches. Groups are in it by the bytes that name them ([`Identity::Grouped`]); a bit of the hash
//! tells them from keys. Entries must come in ascending sequence; if they do not, or come in forms that nobody can judge, the
//! table is not used any more.

use crate::Identity;
use crate::sync::{AtomicBool, AtomicU64};
use std::sync::atomic::Ordering as Memory;

/// Bytes of entries for each slot: with keys and groups of small records, half of the slots are filled at the end.
const BYTES_PER_SLOT: usize = 64;
const SLOTS_MAX: usize = if cfg!(any(shuttle, miri)) { 8 } else { 1 << 20 };

/// What the table says of a key.
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
    /// As many as a power of two says.
    slots: Box<[AtomicU64]>,
    /// A hash's upper bits beyond these are a slot's number.
    shift: u32,
    key_identity: fn(&[u8]) -> Identity,
    is_off: AtomicBool,
}

/// A key's pair of slots and its half of a slot.
#[derive(Debug, Clone, Copy)]
struct Place {
    pair: usize,
    mark: u32,
}

/// What bytes are looked for as.
#[derive(Debug, Clone, Copy)]
enum Name {
    Key,
    Group,
}

/// Multiplies and folds, eight bytes at a time. Keys that someone chose to collide cost searches and nothing else.
fn hash(key: &[u8]) -> u64 {
    let mut state = key.len() as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut mix = |word: u64| {
        let product = u128::from(state ^ word) * u128::from(0xd6e8_feb8_6659_fd93_u64);
        state = product as u64 ^ (product >> 64) as u64;
    };
    let mut eights = key.chunks_exact(8);
    for eight in &mut eights {
        mix(eight.try_into().map_or(0, u64::from_le_bytes));
    }
    let mut last = [0; 8];
    let rest = eights.remainder();
    last[..rest.len()].copy_from_slice(rest);
    mix(u64::from_le_bytes(last));
    mix(0);
    state
}

impl Hints {
    /// For a list of so many bytes; of a longer one it knows less.
    pub(super) fn new(key_identity: fn(&[u8]) -> Identity, list_bytes: usize) -> Hints {
        let slots = list_bytes.div_ceil(BYTES_PER_SLOT).clamp(2, SLOTS_MAX);
        // Zeros from the allocator: pages that no key has reached take no memory.
        let slots = vec![0; slots.next_power_of_two()];
        Hints {
            shift: u64::BITS - slots.len().trailing_zeros(),
            slots: slots.into_iter().map(AtomicU64::new).collect(),
            key_identity,
            is_off: AtomicBool::new(false),
        }
    }

    fn place(&self, bytes: &[u8], name: Name) -> Place {
        let hash = hash(bytes);
        Place {
            pair: (hash >> self.shift) as usize & !1,
            // Else a key with a group's hash, which may not be the group's first, would be taken for that.
            mark: hash as u32 & !1 | name as u32,
        }
    }

    /// Never tells anything again.
    pub(super) fn turn_off(&self) {
        self.is_off.store(true, Memory::Release);
    }

    /// Takes the newest entry of a key, which has its own links. Called by one thread, before readers may ask for that entry.
    /// `is_behind` tells of a group whether the entry before is one of it.
    pub(super) fn put(&self, key: &[u8], node: u32, is_behind: impl FnOnce(&[u8]) -> bool) {
        if self.is_off.load(Memory::Relaxed) {
            return;
        }
        match (self.key_identity)(key) {
            Identity::Bytes => self.put_at(self.place(key, Name::Key), node),
            Identity::Several => {}
            Identity::Grouped(len) => {
                if let Some(group) = key.get(..len)
                    && !is_behind(group)
                {
                    self.put_at(self.place(group, Name::Group), node);
                }
            }
            Identity::Unclear => self.turn_off(),
        }
    }

    fn put_at(&self, Place { pair, mark }: Place, node: u32) {
        let Some([a, b]) = self.slots.get(pair..pair + 2) else {
            return;
        };
        let takes = |slot: &AtomicU64| {
            let held = slot.load(Memory::Relaxed);
            held == 0 || (held >> 32) as u32 == mark
        };
        // Never both: else the one that is found first might be the older. Which of two others has to go does not matter.
        let slot = if takes(a) || !takes(b) && node.is_multiple_of(2) {
            a
        } else {
            b
        };
        slot.store((u64::from(mark) << 32) | u64::from(node), Memory::Release);
    }

    /// What is known of a key, at least of what was put in before anything that this thread has seen.
    #[inline]
    pub(super) fn get(&self, key: &[u8]) -> Hint {
        if self.is_off.load(Memory::Relaxed) || (self.key_identity)(key) != Identity::Bytes {
            return Hint::Unknown;
        }
        self.get_at(self.place(key, Name::Key))
    }

    /// Which node is the first of a group, if it is one of the group; among those put in before anything that this thread has
    /// seen. `None` of anything that is not the name of a group.
    #[inline]
    pub(super) fn first_of(&self, group: &[u8]) -> Option<u32> {
        let is_group = || (self.key_identity)(group) == Identity::Grouped(group.len());
        if self.is_off.load(Memory::Relaxed) || !is_group() {
            return None;
        }
        match self.get_at(self.place(group, Name::Group)) {
            Hint::Node(node) => Some(node),
            Hint::Absent | Hint::Unknown => None,
        }
    }

    #[inline]
    fn get_at(&self, Place { pair, mark }: Place) -> Hint {
        let Some([a, b]) = self.slots.get(pair..pair + 2) else {
            return Hint::Unknown;
        };
        // The first one first: only when it is full does the second begin to fill.
        let held = [a.load(Memory::Acquire), b.load(Memory::Acquire)];
        let is_it = |slot: &&u64| **slot != 0 && (**slot >> 32) as u32 == mark;
        match held.iter().find(is_it) {
            Some(slot) => Hint::Node(*slot as u32),
            None if held.contains(&0) => Hint::Absent,
            None => Hint::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_taken_for_the_first_of_the_group_that_it_names() {
        let hints = Hints::new(|key| Identity::Grouped(key.len()), 1 << 16);
        hints.put_at(hints.place(b"name", Name::Key), 5);
        assert_eq!(hints.first_of(b"name"), None);
        hints.put_at(hints.place(b"name", Name::Group), 6);
        assert_eq!(hints.first_of(b"name"), Some(6));
        assert_eq!(hints.get_at(hints.place(b"name", Name::Key)), Hint::Node(5));
    }
}
