//! The filter block of a table: one filter for every 2 KiB of data-block offsets.
//!
//! Bytes: the filters; the offset of each (4 bytes, little-endian); the offset of that array (4); the base-2 logarithm of
//! the range (1). LevelDB's `doc/table_format.md`, `table/filter_block.cc`.

use super::bloom;
use crate::varint::fixed32;
use std::ops::Range;

const BASE_LG: u8 = 11;

/// A filter block that is read.
#[derive(Clone, Copy, Debug)]
pub struct FilterBlock<'a> {
    bytes: &'a [u8],
    offsets_at: usize,
    count: usize,
    base_lg: u8,
}

impl<'a> FilterBlock<'a> {
    /// Reads the block's end; `None` if it does not fit together.
    pub fn decode(bytes: &'a [u8]) -> Option<FilterBlock<'a>> {
        let (&base_lg, rest) = bytes.split_last()?;
        let array_end = rest.len().checked_sub(4)?;
        let offsets_at = fixed32(rest, array_end)? as usize;
        let array_len = array_end.checked_sub(offsets_at)?;
        if array_len % 4 != 0 || base_lg > 63 {
            return None;
        }
        Some(FilterBlock {
            bytes,
            offsets_at,
            count: array_len / 4,
            base_lg,
        })
    }

    /// Whether the data block at `block_offset` may hold a user key with this [`bloom::key_hash`]. What cannot be read may.
    pub fn may_contain(&self, block_offset: u64, key_hash: u32) -> bool {
        let filter = self
            .filter_of(block_offset)
            .and_then(|at| self.bytes.get(at));
        filter.is_none_or(|filter| bloom::may_contain(filter, key_hash))
    }

    /// Where the filter of the data block at `block_offset` lies; `None` if there is none of use.
    pub(crate) fn filter_of(&self, block_offset: u64) -> Option<Range<usize>> {
        let index = block_offset >> self.base_lg;
        if index >= self.count as u64 {
            return None;
        }
        let at = self.offsets_at + index as usize * 4;
        // The offset after the last filter's is that of the array itself.
        let start = fixed32(self.bytes, at)? as usize;
        let end = fixed32(self.bytes, at + 4)? as usize;
        (start <= end && end <= self.offsets_at).then_some(start..end)
    }
}

/// Collects the keys of data blocks and makes the filter block.
#[derive(Clone, Debug)]
pub struct FilterBlockBuilder {
    bits_per_key: usize,
    out: Vec<u8>,
    offsets: Vec<u32>,
    hashes: Vec<u32>,
    /// Whether the filter that is being made lets every key pass.
    passes_all: bool,
}

impl FilterBlockBuilder {
    /// With so many bits for each key (LevelDB and Chromium: 10).
    pub fn new(bits_per_key: usize) -> FilterBlockBuilder {
        FilterBlockBuilder {
            bits_per_key,
            out: Vec::new(),
            offsets: Vec::new(),
            hashes: Vec::new(),
            passes_all: false,
        }
    }

    /// A data block begins at this file offset.
    pub fn start_block(&mut self, block_offset: u64) {
        while block_offset >> BASE_LG > self.offsets.len() as u64 {
            self.generate();
        }
    }

    /// The data block holds this user key.
    pub fn add_key(&mut self, user_key: &[u8]) {
        self.hashes.push(bloom::key_hash(user_key));
    }

    /// The data block holds a user key that other bytes are equal to. A lookup by those has another hash, so the filter of its
    /// range lets every key pass.
    pub fn add_key_of_several_forms(&mut self) {
        self.passes_all = true;
    }

    fn generate(&mut self) {
        self.offsets.push(self.out.len() as u32);
        if std::mem::take(&mut self.passes_all) {
            bloom::encode_any(&mut self.out);
        } else if !self.hashes.is_empty() {
            bloom::encode(&mut self.out, &self.hashes, self.bits_per_key);
        }
        self.hashes.clear();
    }

    /// The whole block.
    pub fn finish(mut self) -> Vec<u8> {
        if !self.hashes.is_empty() || self.passes_all {
            self.generate();
        }
        let offsets_at = self.out.len() as u32;
        for offset in &self.offsets {
            self.out.extend_from_slice(&offset.to_le_bytes());
        }
        self.out.extend_from_slice(&offsets_at.to_le_bytes());
        self.out.push(BASE_LG);
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn has(bytes: &[u8], offset: u64, key: &[u8]) -> bool {
        FilterBlock::decode(bytes)
            .unwrap()
            .may_contain(offset, bloom::key_hash(key))
    }

    #[test]
    fn an_empty_block_passes_everything() {
        let bytes = FilterBlockBuilder::new(10).finish();
        assert_eq!(bytes, [0, 0, 0, 0, 11]);
        assert!(has(&bytes, 0, b"foo") && has(&bytes, 100_000, b"foo"));
    }

    #[test]
    fn a_key_of_several_forms_lets_every_key_pass_in_its_range_only() {
        let mut builder = FilterBlockBuilder::new(10);
        builder.start_block(0);
        builder.add_key(b"foo");
        builder.start_block(3000);
        builder.add_key(b"bar");
        builder.add_key_of_several_forms();
        builder.start_block(6000);
        builder.add_key(b"baz");
        let bytes = builder.finish();
        let found = |offset| [b"foo", b"bar", b"baz", b"any"].map(|key| has(&bytes, offset, key));
        assert_eq!(found(0), [true, false, false, false]);
        assert_eq!(found(3000), [true; 4]);
        assert_eq!(found(6000), [false, false, true, false]);
    }

    #[test]
    fn keys_are_found_in_their_range_only() {
        let mut builder = FilterBlockBuilder::new(10);
        builder.start_block(0);
        builder.add_key(b"foo");
        builder.start_block(2000);
        builder.add_key(b"bar");
        builder.start_block(3100);
        builder.add_key(b"box");
        builder.start_block(9000);
        builder.add_key(b"hello");
        let bytes = builder.finish();
        assert!(has(&bytes, 0, b"foo") && has(&bytes, 2000, b"bar") && !has(&bytes, 0, b"box"));
        assert!(has(&bytes, 3100, b"box") && !has(&bytes, 3100, b"foo"));
        // A range in which no block starts has an empty filter.
        assert!(!has(&bytes, 4100, b"foo") && !has(&bytes, 4100, b"box"));
        assert!(has(&bytes, 9000, b"hello") && !has(&bytes, 9000, b"bar"));
    }

    quickcheck! {
        fn any_bytes_answer_or_are_refused(bytes: Vec<u8>, offset: u64) -> bool {
            FilterBlock::decode(&bytes).is_none_or(|block| matches!(block.may_contain(offset, 1), true | false))
        }
    }
}
