//! Choices: a fuzzer's bytes, and numbers that follow from them when they end.

use crate::input::Input;

/// Numbers at which something changes: lengths of their forms, signs, limits of ids and of sequence numbers.
const EDGES: [u64; 24] = [
    0,
    1,
    2,
    3,
    29,
    30,
    31,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0000,
    1 << 40,
    (1 << 53) - 1,
    1 << 53,
    (1 << 56) - 1,
    1 << 56,
    u64::MAX >> 1,
    1 << 63,
    u64::MAX,
];

/// A source of choices that never ends.
#[derive(Debug)]
pub(super) struct Dice<'a> {
    input: Input<'a>,
    state: u64,
}

impl<'a> Dice<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        let mut input = Input(data);
        let seed: Vec<u8> = (0..8).map(|_| input.byte()).collect();
        let state = seed
            .iter()
            .fold(0, |state, byte| state << 8 | u64::from(*byte));
        Self { input, state }
    }

    fn next(&mut self) -> u64 {
        if !self.input.is_empty() {
            return self.input.u16().into();
        }
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`; zero if that is zero.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        let number = self.next();
        let rest = number.checked_rem(limit as u64).unwrap_or(0);
        usize::try_from(rest).unwrap_or(0)
    }

    /// Once in so many times.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(super) fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }

    /// A number, mostly at or beside an edge.
    pub(super) fn number(&mut self) -> u64 {
        let edge = *self.pick(&EDGES);
        match self.below(8) {
            0 => edge.wrapping_add(1),
            1 => edge.wrapping_sub(1),
            2 => self.next(),
            3 => self.below(300) as u64,
            _ => edge,
        }
    }

    /// Any bytes, up to so many.
    pub(super) fn bytes(&mut self, len_max: usize) -> Vec<u8> {
        let len = self.below(len_max + 1);
        (0..len).map(|_| self.next().to_le_bytes()[0]).collect()
    }

    /// Changes, cuts out or puts in a few bytes.
    pub(super) fn scratch(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            match self.below(5) {
                0 => bytes.truncate(at),
                1 if at < bytes.len() => drop(bytes.remove(at)),
                2 => bytes.insert(at, *self.pick(&[0, 1, 0x7f, 0x80, 0xff])),
                3 => bytes.extend(self.bytes(8)),
                _ => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte ^= 1 << (self.next() & 7);
                    }
                }
            }
        }
    }
}

/// A number in groups of seven bits, as ids and lengths are written.
pub(super) fn var_int(number: u64, out: &mut Vec<u8>) {
    larder_codec::primitive::var_int::encode(number.cast_signed(), out);
}
