//! A fuzzer's input, taken apart from the front. What is missing at the end reads as nothing.

/// What is left of an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The next byte; zero at the end.
    pub(crate) fn byte(&mut self) -> u8 {
        let [first, rest @ ..] = self.0 else { return 0 };
        self.0 = rest;
        *first
    }

    /// The next two bytes, little-endian.
    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// The next three bytes, little-endian, brought below `limit`; zero if that is zero.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let number = u32::from_le_bytes([self.byte(), self.byte(), self.byte(), 0]) as usize;
        number.checked_rem(limit).unwrap_or(0)
    }

    /// The next `len` bytes, or as many as there are.
    pub(crate) fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        bytes
    }
}

/// Bytes that follow from `seed` and `number` and look like nothing else: content that cannot be taken for a structure of
/// a file format.
pub(crate) fn noise(seed: u8, number: usize, len: usize) -> Vec<u8> {
    // SplitMix64.
    let mut state = (u64::from(seed) << 32) ^ number as u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as u8
    };
    (0..len).map(|_| next()).collect()
}
