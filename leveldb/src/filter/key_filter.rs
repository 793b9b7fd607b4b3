//! Which keys a memtable has, for lookups of others: a Bloom filter in memory only, filled while it is read. The table that
//! the memtable becomes keeps it as long as it is in level 0, where every lookup comes by.
//!
//! Like tables' filters, it takes it that keys that are equal are equal bytes, and it is asked by the same hash
//! ([`bloom::key_hash`](super::bloom::key_hash)). All bits of a key lie in one 64-bit word, so that one access decides; that
//! costs some more false positives than bits all over the filter would. A filter that is too small for its memtable says
//! "perhaps" more often and is never wrong.

use crate::sync::AtomicU64;
use std::sync::atomic::Ordering as Memory;

/// Bytes of entries for each bit: 17 bits an entry of 100 bytes.
const BYTES_PER_BIT: usize = 8;
const WORDS_MAX: usize = 1 << 20;
/// How many bits of a word a key sets, or fewer if some are the same.
const PROBES: u32 = 4;

/// The filter.
#[derive(Debug)]
pub(crate) struct KeyFilter {
    /// The number of words, a power of two.
    words: Box<[AtomicU64]>,
    /// A product's upper bits beyond these are a word's number.
    shift: u32,
}

impl KeyFilter {
    /// For a list of so many bytes.
    pub(crate) fn new(list_bytes: usize) -> KeyFilter {
        let words_max = if cfg!(any(shuttle, miri)) {
            4
        } else {
            WORDS_MAX
        };
        let words = list_bytes / BYTES_PER_BIT / u64::BITS as usize;
        let words = words.clamp(2, words_max).next_power_of_two();
        KeyFilter {
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
            shift: u64::BITS - words.trailing_zeros(),
        }
    }

    /// The number of a hash's word, and its bits in it.
    #[inline]
    fn place(&self, hash: u32) -> (usize, u64) {
        let mixed = u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bit = |i: u32| 1 << ((mixed >> (8 + 6 * i)) % u64::from(u64::BITS));
        let bits = (0..PROBES).fold(0, |bits, i| bits | bit(i));
        ((mixed >> self.shift) as usize, bits)
    }

    /// Takes a key's hash. Called by one thread, before readers may ask for that key's entry.
    #[inline]
    pub(crate) fn put(&self, hash: u32) {
        let (word, bits) = self.place(hash);
        if let Some(word) = self.words.get(word) {
            let held = word.load(Memory::Relaxed);
            if held & bits != bits {
                word.store(held | bits, Memory::Relaxed);
            }
        }
    }

    /// Whether a key of this hash may have been put in before anything that this thread has seen. If not, there is none.
    #[inline]
    pub(crate) fn may_contain(&self, hash: u32) -> bool {
        let (word, bits) = self.place(hash);
        self.words
            .get(word)
            .is_none_or(|word| word.load(Memory::Relaxed) & bits == bits)
    }
}
