//! The rolling sum of `bup`: two sums over the last 64 bytes.
//!
//! `s1` is the sum of the window's bytes, each with 31 added; `s2` weighs them by their age. Both depend on the window alone, up to a
//! constant that the start value gives: so a stretch that no cut may lie in is passed over, but for its last 64 bytes.

/// Bytes of the window.
pub(crate) const WINDOW_LEN: usize = 64;
const CHAR_OFFSET: u32 = 31;

/// The sums over a window, and the window.
#[derive(Clone, Debug)]
pub(crate) struct RollingSum {
    s1: u32,
    s2: u32,
    window: [u8; WINDOW_LEN],
}

#[inline]
fn step(s1: u32, s2: u32, add: u8, drop: u8) -> (u32, u32) {
    let s1 = s1.wrapping_add(u32::from(add)).wrapping_sub(drop.into());
    let dropped = (u32::from(drop) + CHAR_OFFSET) << 6;
    (s1, s2.wrapping_add(s1).wrapping_sub(dropped))
}

impl RollingSum {
    /// Over a window of zeros, with `start` as its second sum.
    pub(crate) fn new(start: u32) -> RollingSum {
        RollingSum {
            s1: WINDOW_LEN as u32 * CHAR_OFFSET,
            s2: start,
            window: [0; WINDOW_LEN],
        }
    }

    /// `s1` in the high half, the low half of `s2`.
    pub(crate) fn digest(&self) -> u32 {
        self.s1 << 16 | self.s2 & 0xffff
    }

    /// Moves the window over all of `bytes`, or up to and with the first after which `s2`, masked, has a value: how many that were, if there
    /// was one.
    pub(crate) fn find(&mut self, bytes: &[u8], mask: u32, value: u32) -> Option<usize> {
        let head = bytes.len().min(WINDOW_LEN);
        let window = self.window;
        let found = self
            .run(&bytes[..head], &window[..head], mask, value)
            .or_else(|| Some(head + self.run(&bytes[head..], bytes, mask, value)?));
        self.keep(&bytes[..found.unwrap_or(bytes.len())]);
        found
    }

    /// Moves the window over all of `bytes`.
    pub(crate) fn roll(&mut self, bytes: &[u8]) {
        // No masked sum has a bit that is not in the mask.
        let found = self.find(bytes, 0, 1);
        debug_assert_eq!(found, None);
    }

    #[inline]
    fn run(&mut self, added: &[u8], dropped: &[u8], mask: u32, value: u32) -> Option<usize> {
        let (mut s1, mut s2) = (self.s1, self.s2);
        let mut found = None;
        for (i, (&add, &drop)) in added.iter().zip(dropped).enumerate() {
            (s1, s2) = step(s1, s2, add, drop);
            if s2 & mask == value {
                found = Some(i + 1);
                break;
            }
        }
        (self.s1, self.s2) = (s1, s2);
        found
    }

    /// Lets the window end with `bytes`.
    fn keep(&mut self, bytes: &[u8]) {
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
}
