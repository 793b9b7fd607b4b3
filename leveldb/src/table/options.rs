//! How tables are written.

use crate::block::RESTART_INTERVAL;
use crate::compression::Compression;

/// How tables are written.
#[derive(Clone, Copy, Debug)]
pub struct TableOptions {
    /// A data block ends when it has reached so many bytes, unpacked (LevelDB and Chromium: 4096).
    pub block_len: usize,
    /// How often a data block has a key in full: once in so many keys (16). The keys between share bytes with the one before.
    pub restart_interval: usize,
    /// A block is stored as it is unless packing saves an eighth. C++ LevelDB 1.23 and Chromium cannot read
    /// `Compression::Zstd`: to them such a table is damaged.
    pub compression: Compression,
    /// Bits of the Bloom filter for each key (10); `None` for no filter. A filter assumes that keys that the comparator calls
    /// equal have the same bytes. Where they have not, lookups of the one miss the other. That holds in memory, too (there,
    /// [`KeyFacts::identity`](crate::KeyFacts::identity) can report such keys).
    pub bloom_bits: Option<usize>,
}

impl Default for TableOptions {
    fn default() -> TableOptions {
        TableOptions {
            block_len: 4096,
            restart_interval: RESTART_INTERVAL,
            compression: Compression::Snappy,
            bloom_bits: Some(10),
        }
    }
}
