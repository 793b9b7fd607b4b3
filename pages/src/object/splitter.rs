//! Where an object is cut into chunks: after bytes at which a rolling sum has a chosen value, so that the same stretch of bytes is cut
//! alike wherever it lies.

use super::rolling_sum::{RollingSum, WINDOW_LEN};

/// On which side of a cut the window lies that decides on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSide {
    /// The 64 bytes before the cut.
    Before,
    /// The 64 bytes behind it.
    After,
}

/// Which value of the lowest bits of the sum makes a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutBits {
    /// All are ones.
    Ones,
    /// All are zeros.
    Zeros,
}

/// How objects are cut. Pages use [`SplitParameters::LEDGER`]; the others are for those that compare.
///
/// ```
/// use larder_pages::{SplitParameters, Splitter};
///
/// let zeros = vec![0; 100_000];
/// let mut splitter = Splitter::new(SplitParameters::LEDGER);
/// let cut = splitter.next_cut(&zeros).unwrap();
/// assert_eq!(cut.chunk_len, 65_535); // zeros have no cut of their own
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitParameters {
    /// Where the window lies.
    pub window: WindowSide,
    /// How many of the lowest bits decide, 1 to 16.
    pub bits: u32,
    /// What they must be.
    pub cut_bits: CutBits,
    /// The second sum over a window of zeros.
    pub start: u32,
    /// Whether the window is filled with zeros at a cut, so that each chunk is cut as if it were the first.
    pub starts_anew: bool,
    /// No chunk but the last is shorter, at least 1.
    pub len_min: usize,
    /// No chunk is longer.
    pub len_max: usize,
    /// An index has at most so many children, at least 2.
    pub children_max: usize,
}

impl SplitParameters {
    /// Chunks of 4 KiB to 65535 bytes, about 12 KiB in the middle.
    pub const LEDGER: SplitParameters = SplitParameters {
        window: WindowSide::Before,
        bits: 13,
        cut_bits: CutBits::Ones,
        start: 64 * 63 * 31,
        starts_anew: false,
        len_min: 4096,
        len_max: 65_535,
        children_max: 851,
    };

    /// As the program `bup` cuts: up to 32 KiB.
    pub const BUP: SplitParameters = SplitParameters {
        len_min: 1,
        len_max: 32_768,
        starts_anew: true,
        ..SplitParameters::LEDGER
    };

    /// As the test vectors of the project hashsplit have it, for its sum `rrs1`.
    pub const fn hashsplit(threshold: u32, len_min: usize, len_max: usize) -> SplitParameters {
        SplitParameters {
            window: WindowSide::After,
            bits: threshold,
            cut_bits: CutBits::Zeros,
            start: 31 * 64 * 65 / 2,
            starts_anew: false,
            len_min,
            len_max,
            children_max: 851,
        }
    }

    const fn mask(&self) -> u32 {
        (1 << self.bits) - 1
    }

    const fn value(&self) -> u32 {
        match self.cut_bits {
            CutBits::Ones => self.mask(),
            CutBits::Zeros => 0,
        }
    }

    /// How far the scan is ahead of the cuts that it finds.
    const fn lead(&self) -> usize {
        match self.window {
            WindowSide::Before => 0,
            WindowSide::After => WINDOW_LEN,
        }
    }

    /// How many levels of the tree of indexes end with a cut at which the sum is `digest`: a sixteenth of the cuts end one, a sixteenth of
    /// those two. As in `bup`, the bit right above the deciding ones is passed over.
    const fn level(&self, digest: u32) -> u32 {
        let above = digest >> self.bits >> 1;
        match self.cut_bits {
            CutBits::Ones => above.trailing_ones() / 4,
            CutBits::Zeros => above.trailing_zeros() / 4,
        }
    }
}

/// A cut that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// So many bytes of the input have been looked at.
    pub consumed: usize,
    /// The chunk that ends has so many bytes.
    pub chunk_len: usize,
    /// So many levels of indexes end here, too.
    pub level: u32,
}

/// Finds cuts in a stream of bytes that comes in parts of any length.
#[derive(Clone, Debug)]
pub struct Splitter {
    parameters: SplitParameters,
    sum: RollingSum,
    /// Bytes between the start of the chunk and the end of the window.
    scanned: usize,
}

impl Splitter {
    /// At the start of a stream.
    pub fn new(parameters: SplitParameters) -> Splitter {
        Splitter {
            parameters,
            sum: RollingSum::new(parameters.start),
            scanned: 0,
        }
    }

    /// Looks for the next cut in what comes next. `None`: there is none in `input`, all of which has been looked at. With a window behind
    /// the cuts, a cut lies 64 bytes before what has been looked at, maybe in an earlier part.
    pub fn next_cut(&mut self, input: &[u8]) -> Option<Cut> {
        let parameters = self.parameters;
        // After this byte a cut is possible, and after this one there is one.
        let first = parameters.len_min + parameters.lead();
        let last = parameters.len_max + parameters.lead();
        let mut at = self.pass(input, first.saturating_sub(WINDOW_LEN + 1));
        at += self.roll(&input[at..], first - 1);
        let rest = &input[at..];
        let rest = &rest[..rest.len().min(last - self.scanned)];
        let found = self.sum.find(rest, parameters.mask(), parameters.value());
        let len = found.unwrap_or(rest.len());
        self.scanned += len;
        (found.is_some() || self.scanned == last).then(|| {
            let chunk_len = self.scanned - parameters.lead();
            self.scanned = parameters.lead();
            let level = parameters.level(self.sum.digest());
            if parameters.starts_anew {
                self.sum = RollingSum::new(parameters.start);
            }
            Cut {
                consumed: at + len,
                chunk_len,
                level,
            }
        })
    }

    /// Passes over bytes up to one that the window of the first possible cut may begin behind: nothing depends on them.
    fn pass(&mut self, input: &[u8], to: usize) -> usize {
        let len = to.saturating_sub(self.scanned).min(input.len());
        if len > 0 {
            self.scanned += len;
            self.sum = RollingSum::new(self.parameters.start);
        }
        len
    }

    fn roll(&mut self, input: &[u8], to: usize) -> usize {
        let len = to.saturating_sub(self.scanned).min(input.len());
        self.sum.roll(&input[..len]);
        self.scanned += len;
        len
    }

    /// At the end of the stream: lengths of chunks that are left although no more cuts were found. They are all of what is behind the last cut,
    /// `left_len` bytes.
    pub(crate) fn last_chunk_len(&self, left_len: usize) -> usize {
        left_len.min(self.parameters.len_max)
    }
}

#[cfg(test)]
mod tests;
