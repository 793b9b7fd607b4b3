//! Hashes numbers: file numbers and offsets. Fast, and not safe against numbers chosen to collide: there are
//! at most as many as a store has tables, or the cache has blocks.

use std::hash::{BuildHasherDefault, Hasher};

/// For maps whose keys are numbers.
pub(crate) type BuildNumberHasher = BuildHasherDefault<NumberHasher>;

/// Multiplies and folds, number by number.
#[derive(Debug, Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    #[inline]
    fn write_u64(&mut self, n: u64) {
        let product = u128::from(self.0 ^ n ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}
