//! Where the newest entry of a key lies, by the key's hash: most lookups of a memtable's keys, and of keys that it does not
//! have, need no search.
//!
//! A table of fixed size of 64-bit atomics: half a hash in the upper half, a node in the lower one. A key's slot is one of
//! two neighbours. Slots are filled, also with other keys' nodes, but never emptied, so a pair with an empty slot tells that
//! no key of its hash was put in. Hashes are of bytes, so only keys that have one form are in it ([`Identity::Bytes`]):
//! whoever looks for other keys searches. Entries must come in ascending sequence; if they do not, or come in forms that
//! nobody can judge, the table is not used any more.

use crate::Identity;
use crate::sync::{AtomicBool, AtomicU64};
use std::sync::atomic::Ordering as Memory;

/// Slots, as a power of two: memory is touched where keys are.
const SLOTS_LG: u32 = if cfg!(any(shuttle, miri)) { 3 } else { 16 };

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
    slots: Box<[AtomicU64]>,
    key_identity: fn(&[u8]) -> Identity,
    is_off: AtomicBool,
}

/// A key's pair of slots and its half of a slot.
#[derive(Debug, Clone, Copy)]
struct Place {
    pair: usize,
    mark: u32,
}

fn place(key: &[u8]) -> Place {
    let hash = hash(key);
    Place {
        pair: (hash >> (u64::BITS - SLOTS_LG)) as usize & !1,
        mark: hash as u32,
    }
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
    pub(super) fn new(key_identity: fn(&[u8]) -> Identity) -> Hints {
        // Zeros from the allocator: pages that no key has reached take no memory.
        let slots = vec![0; 1 << SLOTS_LG];
        Hints {
            slots: slots.into_iter().map(AtomicU64::new).collect(),
            key_identity,
            is_off: AtomicBool::new(false),
        }
    }

    /// Never tells anything again.
    pub(super) fn turn_off(&self) {
        self.is_off.store(true, Memory::Release);
    }

    /// Takes the newest entry of a key. Called by one thread, before readers may ask for that entry.
    pub(super) fn put(&self, key: &[u8], node: u32) {
        if self.is_off.load(Memory::Relaxed) {
            return;
        }
        match (self.key_identity)(key) {
            Identity::Bytes => self.put_bytes(key, node),
            Identity::Several => {}
            Identity::Unclear => self.turn_off(),
        }
    }

    fn put_bytes(&self, key: &[u8], node: u32) {
        let Place { pair, mark } = place(key);
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
        let Place { pair, mark } = place(key);
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
