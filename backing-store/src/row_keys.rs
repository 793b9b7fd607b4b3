//! Keys of rows that are looked up together.

const USUAL_LEN: usize = 32;

/// The keys, one behind the other in one piece of memory.
#[derive(Debug, Default)]
pub(crate) struct RowKeys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl RowKeys {
    /// With room for so many keys of usual length.
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(count * USUAL_LEN),
            ends: Vec::with_capacity(count),
        }
    }

    /// Adds the key that `encode` appends.
    pub(crate) fn push(&mut self, prefix: &[u8], encode: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.extend_from_slice(prefix);
        encode(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// How many bytes they have.
    pub(crate) fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The `n`th key, from 0; empty if there is none.
    #[inline]
    pub(crate) fn get(&self, n: usize) -> &[u8] {
        let start = n.checked_sub(1).and_then(|before| self.ends.get(before));
        let range = self
            .ends
            .get(n)
            .map(|&end| start.copied().unwrap_or(0)..end);
        range
            .and_then(|range| self.bytes.get(range))
            .unwrap_or_default()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).map(|n| self.get(n))
    }
}
