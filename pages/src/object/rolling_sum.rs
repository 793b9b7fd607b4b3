//! The rolling sum of `bup`: two sums over the last 64 bytes.
//!
//! `s1` is the sum of the window's bytes, each with 31 added; `s2` adds to a start value each byte as often as it has been in the window. Both
//! depend on the window alone: so a stretch that no cut may lie in is passed over, but for its last 64 bytes.
//!
//! Byte by byte each sum waits for the one before. So long stretches are searched in tiles, where the last byte of `s2` is found for all
//! positions side by side: of windows of four bytes from single ones, of 16 from those, of 64 from those. One position of 256 has the last byte that is
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

/// From windows of `BACK` bytes to windows of four times as many. `plain` has the sums of the bytes, times the length of the window; `weighed` the sums of the
/// bytes, each as often as it has been in the window. The first windows lack bytes, and are not looked at.
#[inline(always)]
fn quadruple<const BACK: usize>(
    plain: &Tile,
    weighed: &Tile,
    new_plain: &mut Tile,
    new_weighed: &mut Tile,
) {
    for i in 3 * BACK..TILE_BYTES {
        let (sum, more) = far_windows::<BACK>(plain, i);
        let sum = sum.wrapping_add(plain[i]);
        new_plain[i] = sum << 2;
        new_weighed[i] = more.wrapping_add(sum_of_four::<BACK>(weighed, i));
    }
}

/// Sums over the three windows before the last one: of their bytes, and of what these count more than in windows of their own.
#[inline(always)]
fn far_windows<const BACK: usize>(plain: &Tile, i: usize) -> (u8, u8) {
    let third = plain[i - 3 * BACK];
    let two = third.wrapping_add(plain[i - 2 * BACK]);
    let three = two.wrapping_add(plain[i - BACK]);
    (three, three.wrapping_add(two).wrapping_add(third))
}

#[inline(always)]
fn sum_of_four<const BACK: usize>(tile: &Tile, i: usize) -> u8 {
    let near = tile[i].wrapping_add(tile[i - BACK]);
    let far = tile[i - 2 * BACK].wrapping_add(tile[i - 3 * BACK]);
    near.wrapping_add(far)
}

/// What a tile is searched with.
struct Scratch {
    plain: [Tile; 2],
    weighed: [Tile; 2],
}

impl Scratch {
    const fn new() -> Scratch {
        Scratch {
            plain: [[0; TILE_BYTES]; 2],
            weighed: [[0; TILE_BYTES]; 2],
        }
    }

    /// The last bytes of `s2`, without its start value, of the windows that end at each byte of the tile.
    #[expect(
        clippy::needless_range_loop,
        reason = "with an iterator it takes 5 percent longer"
    )]
    #[inline(always)]
    fn last_bytes(&mut self, bytes: &Tile) -> &[u8] {
        let [plain, other_plain] = &mut self.plain;
        let [weighed, other_weighed] = &mut self.weighed;
        quadruple::<1>(bytes, bytes, plain, weighed);
        quadruple::<4>(plain, weighed, other_plain, other_weighed);
        // The last time the plain sums are not needed.
        for i in WINDOW_LEN..TILE_BYTES {
            let (_, more) = far_windows::<16>(other_plain, i);
            weighed[i] = more.wrapping_add(sum_of_four::<16>(other_weighed, i));
        }
        &weighed[WINDOW_LEN..]
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
        // Most parts of a stream that comes in small ones have no whole tile.
        let tiles_len = bytes.len() - bytes.len() % TILE_LEN;
        let (tiles, rest) = bytes.split_at(tiles_len);
        if tiles_len > 0 {
            let found = self.find_in_tiles(tiles, mask, value);
            self.roll(&tiles[..found.unwrap_or(tiles_len)]);
            if found.is_some() {
                return found;
            }
        }
        let found = self.find_by_byte(rest, mask, value);
        self.roll(&rest[..found.unwrap_or(rest.len())]);
        found.map(|len| tiles_len + len)
    }

    /// [`find`](Self::find) in whole tiles, without moving the window.
    fn find_in_tiles(&self, tiles: &[u8], mask: u32, value: u32) -> Option<usize> {
        let mut scratch = Scratch::new();
        // Before the first tile lies the window; before the others, what it is then.
        let mut first = [0; TILE_BYTES];
        let (window, tile) = first.split_at_mut(WINDOW_LEN);
        window.copy_from_slice(&self.window);
        tile.copy_from_slice(tiles.get(..TILE_LEN)?);
        let (mut tile, mut at) = (&first, 0);
        loop {
            if let Some(len) = self.find_in_tile(tile, &mut scratch, mask, value) {
                return Some(at + len);
            }
            at += TILE_LEN;
            tile = tiles[at - WINDOW_LEN..].first_chunk()?;
        }
    }

    fn find_in_tile(
        &self,
        tile: &Tile,
        scratch: &mut Scratch,
        mask: u32,
        value: u32,
    ) -> Option<usize> {
        let last = scratch.last_bytes(tile);
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
                    let (_, s2) = sums(tile[end..].first_chunk()?, self.start);
                    if s2 & mask == value {
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
