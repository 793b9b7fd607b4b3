//! The rolling sum of `bup`: two sums over the last 64 bytes.
//!
//! `s1` is the sum of the window's bytes, each with 31 added; `s2` adds to a start value each byte as often as it has been in the window. Both
//! depend on the window alone: so a stretch that no cut may lie in is passed over, but for its last 64 bytes.
//!
//! Byte by byte each sum waits for the one before. So long stretches are searched in tiles, where the last byte of `s2` is found for all
//! positions side by side: of windows of two bytes from single ones, of four from two, up to 64. One position of 256 has the last byte that is
//! looked for by chance, and is looked at closely.

/// Bytes of the window.
pub(crate) const WINDOW_LEN: usize = 64;
const CHAR_OFFSET: u32 = 31;

/// Positions of a tile.
const TILE_LEN: usize = 1024;
/// With the window before them.
const TILE_BYTES: usize = WINDOW_LEN + TILE_LEN;
/// Positions that are compared at once, and those whose places are found at once.
const BLOCK_LEN: usize = 64;
const WORD_LEN: usize = 8;

/// A window, and the start value.
#[derive(Clone, Debug)]
pub(crate) struct RollingSum {
    start: u32,
    window: [u8; WINDOW_LEN],
}

/// How often the bytes of a full window have been added to `s2`, the oldest first.
const WEIGHTS: [u16; WINDOW_LEN] = {
    let mut weights = [0; WINDOW_LEN];
    let mut i = 0;
    while i < WINDOW_LEN {
        weights[i] = (WINDOW_LEN - i) as u16;
        i += 1;
    }
    weights
};

/// Both sums over a window.
fn sums(window: &[u8; WINDOW_LEN], start: u32) -> (u32, u32) {
    let (mut s1, mut s2) = (0_u32, 0_u32);
    for i in 0..WINDOW_LEN {
        s1 += u32::from(window[i]);
        s2 += u32::from(u16::from(window[i]) * WEIGHTS[i]);
    }
    (s1 + WINDOW_LEN as u32 * CHAR_OFFSET, s2.wrapping_add(start))
}

#[inline]
fn step(s1: u32, s2: u32, add: u8, drop: u8) -> (u32, u32) {
    let s1 = s1.wrapping_add(u32::from(add)).wrapping_sub(drop.into());
    let dropped = (u32::from(drop) + CHAR_OFFSET) << 6;
    (s1, s2.wrapping_add(s1).wrapping_sub(dropped))
}

type Tile = [u8; TILE_BYTES];

/// From windows of `BACK` bytes to windows of twice as many. `plain` has the sums of the bytes, times the length of the window; `weighed` the
/// sums of the bytes, each as often as it has been in the window. The first windows lack bytes, and are not looked at.
#[inline(never)]
fn double<const BACK: usize>(
    plain: &Tile,
    weighed: &Tile,
    new_plain: &mut Tile,
    new_weighed: &mut Tile,
) {
    for i in BACK..TILE_BYTES {
        let far = plain[i - BACK];
        let sum = plain[i].wrapping_add(far);
        new_plain[i] = sum.wrapping_add(sum);
        let weighed = weighed[i].wrapping_add(weighed[i - BACK]);
        new_weighed[i] = weighed.wrapping_add(far);
    }
}

/// What a tile is searched with.
struct Scratch {
    /// The window, and the tile behind it.
    bytes: Tile,
    plain: [Tile; 2],
    weighed: [Tile; 2],
}

impl Scratch {
    const fn new() -> Scratch {
        Scratch {
            bytes: [0; TILE_BYTES],
            plain: [[0; TILE_BYTES]; 2],
            weighed: [[0; TILE_BYTES]; 2],
        }
    }

    /// The bytes, and the last bytes of `s2`, without its start value, of the windows that end at each byte of the tile.
    fn last_bytes(&mut self) -> (&Tile, &[u8]) {
        let bytes = &self.bytes;
        let [plain, other_plain] = &mut self.plain;
        let [weighed, other_weighed] = &mut self.weighed;
        double::<1>(bytes, bytes, plain, weighed);
        double::<2>(plain, weighed, other_plain, other_weighed);
        double::<4>(other_plain, other_weighed, plain, weighed);
        double::<8>(plain, weighed, other_plain, other_weighed);
        double::<16>(other_plain, other_weighed, plain, weighed);
        // The last time the plain sums are not needed.
        for i in WINDOW_LEN..TILE_BYTES {
            let far = plain[i - 32].wrapping_add(weighed[i - 32]);
            other_weighed[i] = weighed[i].wrapping_add(far);
        }
        (bytes, &other_weighed[WINDOW_LEN..])
    }
}

/// The places of zeros among the bytes of a word: the top bit of each. Bits above the lowest that is set may be of bytes that are 1.
const fn zeros(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; WORD_LEN]);
    const TOPS: u64 = u64::from_ne_bytes([0x80; WORD_LEN]);
    word.wrapping_sub(ONES) & !word & TOPS
}

impl RollingSum {
    /// Over a window of zeros, with `start` as its second sum.
    pub(crate) fn new(start: u32) -> RollingSum {
        RollingSum {
            start,
            window: [0; WINDOW_LEN],
        }
    }

    /// `s1` in the high half, the low half of `s2`.
    pub(crate) fn digest(&self) -> u32 {
        let (s1, s2) = sums(&self.window, self.start);
        s1 << 16 | s2 & 0xffff
    }

    /// Moves the window over all of `bytes`, or up to and with the first after which `s2`, masked, has a value: how many that were, if there
    /// was one.
    pub(crate) fn find(&mut self, bytes: &[u8], mask: u32, value: u32) -> Option<usize> {
        let mut at = 0;
        // Most parts of a stream that comes in small ones have no whole tile.
        let mut scratch = (bytes.len() >= TILE_LEN).then(Scratch::new);
        while let (Some(tile), Some(scratch)) = (bytes[at..].first_chunk(), &mut scratch) {
            let found = self.find_in_tile(tile, scratch, mask, value);
            self.roll(&tile[..found.unwrap_or(TILE_LEN)]);
            if let Some(len) = found {
                return Some(at + len);
            }
            at += TILE_LEN;
        }
        let rest = &bytes[at..];
        let found = self.find_by_byte(rest, mask, value);
        self.roll(&rest[..found.unwrap_or(rest.len())]);
        found.map(|len| at + len)
    }

    fn find_in_tile(
        &self,
        tile: &[u8; TILE_LEN],
        scratch: &mut Scratch,
        mask: u32,
        value: u32,
    ) -> Option<usize> {
        scratch.bytes[..WINDOW_LEN].copy_from_slice(&self.window);
        scratch.bytes[WINDOW_LEN..].copy_from_slice(tile);
        let (bytes, last) = scratch.last_bytes();
        // What is looked for, without the start value.
        let mask_byte = mask as u8;
        let wanted = (value as u8).wrapping_sub(self.start as u8) & mask_byte;
        let word_of = |byte| u64::from_le_bytes([byte; WORD_LEN]);
        let (mask_word, wanted_word) = (word_of(mask_byte), word_of(wanted));
        for (i, block) in last.as_chunks::<BLOCK_LEN>().0.iter().enumerate() {
            // All of them, without a branch for each.
            let is_there = |any, last: &u8| any | (last & mask_byte == wanted);
            if !block.iter().fold(false, is_there) {
                continue;
            }
            for (j, word) in block.as_chunks::<WORD_LEN>().0.iter().enumerate() {
                let mut may_be = zeros(u64::from_le_bytes(*word) & mask_word ^ wanted_word);
                while may_be != 0 {
                    let at = j * WORD_LEN + may_be.trailing_zeros() as usize / 8;
                    let end = i * BLOCK_LEN + at + 1;
                    if sums(bytes[end..].first_chunk()?, self.start).1 & mask == value {
                        return Some(end);
                    }
                    may_be &= may_be - 1;
                }
            }
        }
        None
    }

    fn find_by_byte(&self, bytes: &[u8], mask: u32, value: u32) -> Option<usize> {
        let (mut s1, mut s2) = sums(&self.window, self.start);
        let dropped = self.window.iter().chain(bytes);
        for (i, (&add, &drop)) in bytes.iter().zip(dropped).enumerate() {
            (s1, s2) = step(s1, s2, add, drop);
            if s2 & mask == value {
                return Some(i + 1);
            }
        }
        None
    }

    /// Moves the window over all of `bytes`.
    pub(crate) fn roll(&mut self, bytes: &[u8]) {
        if let Some(window) = bytes.last_chunk() {
            self.window = *window;
        } else {
            self.window.rotate_left(bytes.len());
            self.window[WINDOW_LEN - bytes.len()..].copy_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    /// The sums from their definition.
    fn naive(bytes: &[u8], start: u32) -> u32 {
        let mut padded = vec![0; WINDOW_LEN];
        padded.extend_from_slice(bytes);
        let window = &padded[bytes.len()..];
        let (mut s1, mut s2) = (0_u32, 0_u32);
        for (weight, byte) in (1..).zip(window.iter().rev()) {
            s1 += u32::from(*byte) + CHAR_OFFSET;
            s2 += u32::from(*byte) * weight;
        }
        s1 << 16 | s2.wrapping_add(start) & 0xffff
    }

    quickcheck! {
        fn sums_depend_on_the_window_alone(bytes: Vec<u8>, cuts: Vec<usize>, start: u32) -> bool {
            let bytes: Vec<u8> = bytes.iter().cycle().take(bytes.len() * 9).copied().collect();
            let mut sum = RollingSum::new(start);
            let mut from = 0;
            for cut in cuts {
                let to = from + cut % (bytes.len() - from + 1);
                sum.roll(&bytes[from..to]);
                if sum.digest() != naive(&bytes[..to], start) {
                    return false;
                }
                from = to;
            }
            true
        }
    }

    /// With the first `len` bytes of a stretch behind others, found as a whole and byte by byte.
    #[test]
    fn tiles_find_what_byte_by_byte_finds() {
        let mut random = larder_fixtures::random::Random::new(1);
        for len in (0..6000).step_by(97) {
            let bytes: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
            for bits in [1, 7, 8, 9, 13, 16] {
                let mask = (1 << bits) - 1;
                for value in [0, mask, random.next() as u32 & mask] {
                    let mut sum = RollingSum::new(random.next() as u32);
                    sum.roll(&bytes[..len / 3]);
                    let (mut whole, rest) = (sum.clone(), &bytes[len / 3..]);
                    let found = whole.find(rest, mask, value);
                    assert_eq!(found, sum.find_by_byte(rest, mask, value), "{len}, {bits}");
                    sum.roll(&rest[..found.unwrap_or(rest.len())]);
                    assert_eq!(whole.digest(), sum.digest());
                }
            }
        }
    }
}
