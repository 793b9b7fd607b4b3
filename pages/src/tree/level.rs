//! The level of a key in the tree: a matter of its hash.

use crate::error::{Error, Result};

const SEED: u32 = 0xbeef;

/// MurmurHash3 for machines of 32 bits, with a seed.
pub(crate) fn murmur3(bytes: &[u8], seed: u32) -> u32 {
    let mix = |word: u32| {
        let word = word.wrapping_mul(0xcc9e_2d51).rotate_left(15);
        word.wrapping_mul(0x1b87_3593)
    };
    let (words, tail) = bytes.as_chunks();
    let mut hash = seed;
    for word in words {
        hash = (hash ^ mix(u32::from_le_bytes(*word))).rotate_left(13);
        hash = hash.wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    let mut last = [0; 4];
    last[..tail.len()].copy_from_slice(tail);
    hash ^= mix(u32::from_le_bytes(last));
    hash ^= bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// From a key to its level. All trees of a page are made with one and the same.
pub(crate) type LevelOf = fn(&[u8]) -> u8;

/// About how many entries a node has. All devices of a page have one fan-out, since it says where nodes begin and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fanout {
    /// 256, as in Ledger: few nodes, of about 25 KB. A page is filled and sent as a whole soonest.
    #[default]
    Of256,
    /// 16: more nodes, of about 2 KB, of which a change writes one for each level. For pages of which little is changed at a time.
    Of16,
}

impl Fanout {
    /// How many bits of a key's hash make a level. Rows and clouds have this number.
    pub const fn bits(self) -> u8 {
        match self {
            Fanout::Of256 => 8,
            Fanout::Of16 => 4,
        }
    }

    /// The fan-out with so many bits.
    ///
    /// # Errors
    /// `Corruption` if there is none.
    pub fn of_bits(bits: u8) -> Result<Fanout> {
        match bits {
            8 => Ok(Fanout::Of256),
            4 => Ok(Fanout::Of16),
            _ => Err(Error::corruption(format!("a fan-out of {bits} bits"))),
        }
    }

    pub(crate) fn level_of(self) -> LevelOf {
        match self {
            Fanout::Of256 => level_by::<8>,
            Fanout::Of16 => level_by::<4>,
        }
    }
}

/// How often so many bits of the key's hash are zero, from the lowest on; 255 if all are.
fn level_by<const BITS: u32>(key: &[u8]) -> u8 {
    match murmur3(key, SEED) {
        0 => u8::MAX,
        hash => (hash.trailing_zeros() / BITS) as u8,
    }
}

/// Whether a node's entries are at its level.
pub(crate) fn check(level_of: LevelOf, level: u8, key: &[u8]) -> Result<()> {
    let is = level_of(key);
    match is == level {
        true => Ok(()),
        false => Err(Error::corruption(format!(
            "a node of level {level} has the key {}, which is of level {is}",
            key.escape_ascii()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_murmur3() {
        // Published: of the C library with this function's name and arguments, and of Wikipedia's table.
        assert_eq!(murmur3(b"kinkajou", 0), 0xb6d9_9cf8);
        for (text, seed, hash) in [
            (&b""[..], 0, 0),
            (b"", 1, 0x514e_28b7),
            (b"", 0xffff_ffff, 0x81f1_6f39),
            (b"test", 0, 0xba6b_d213),
            (b"test", 0x9747_b28c, 0x704b_81dc),
            (b"Hello, world!", 0, 0xc036_3e43),
            (b"Hello, world!", 0x9747_b28c, 0x2488_4cba),
            (b"aaa", 0x9747_b28c, 0x283e_0130),
            (b"aa", 0x9747_b28c, 0x5d21_1726),
            (b"a", 0x9747_b28c, 0x7fa0_9ea6),
        ] {
            assert_eq!(murmur3(text, seed), hash, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn one_key_of_256_or_of_16_is_above_level_0() {
        let level_of = Fanout::Of256.level_of();
        let above: Vec<u32> = (0..5000)
            .filter(|i| level_of(format!("key{i:05}").as_bytes()) > 0)
            .collect();
        let expected = [425, 751, 1017, 1083, 1176, 1251, 2236, 2249, 2325, 2486];
        assert_eq!(above[..10], expected);
        let numbers = (0..1000_u64).map(|i| level_of(&i.to_le_bytes()));
        assert_eq!(
            numbers.map(|level| usize::from(level > 0)).sum::<usize>(),
            2
        );
        let narrow = Fanout::Of16.level_of();
        let mut counts = [0_u32; 4];
        for i in 0..65_536_u32 {
            let level = usize::from(narrow(&i.to_le_bytes()));
            counts[level.min(3)] += 1;
        }
        for (count, expected) in counts.into_iter().zip([61_440, 3840, 240, 16]) {
            assert!(count.abs_diff(expected) * 4 < expected + 100, "{counts:?}");
        }
        for bits in 0..=u8::MAX {
            let fanout = Fanout::of_bits(bits);
            assert!(fanout.map_or(bits != 4 && bits != 8, |fanout| fanout.bits() == bits));
        }
    }
}
