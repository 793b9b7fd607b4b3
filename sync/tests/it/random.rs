//! Numbers that look random: splitmix64.

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Bytes, often enough for several pieces, of which few are alike.
    pub(crate) fn value(&mut self) -> Vec<u8> {
        let len = [3, 20, 33, 500, 9000, 90_000][self.below(6) as usize];
        let mut noise = Random::new(self.below(40));
        (0..len).map(|_| noise.next() as u8).collect()
    }
}
