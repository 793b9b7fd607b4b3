//! What a crash leaves of bytes and names that no sync has covered.
//!
//! Bytes below a file's synced length are always there, and names that a sync of their directory has covered. Of the rest the
//! system writes back what it likes, in any order and in units of its own. A file system that lays out blocks late, or that keeps
//! the new length before the new bytes, shows zeros where the bytes were not written back: a file can keep its length and have a
//! tail of zeros, or holes, or lack single pages or sectors.

use std::ops::Range;

/// Bytes of a page, the unit in which systems write files back.
const PAGE_LEN: usize = 4096;
/// Bytes of a sector, the least that a medium writes at once.
const SECTOR_LEN: usize = 512;

/// Bytes of the shortest hole that something is behind.
const HOLE_LEN_MIN: usize = 16;

/// What a crash leaves. All but the first are power cuts; in those with a seed it chooses for each file, name and directory by
/// itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashImage {
    /// Everything that was written: the process died, the machine did not.
    KeepWritten,
    /// Only what was synced: the unkindest power cut.
    LoseUnsynced,
    /// What was synced and some prefix of the rest; unsynced names are there or not.
    Tear {
        /// Chooses what stays.
        seed: u64,
    },
    /// Files keep their length and have zeros from some byte, or some page, to their end; unsynced names are there or not.
    ZeroTail {
        /// Chooses what stays.
        seed: u64,
    },
    /// Files keep their length and have up to three holes of zeros, each from any byte to the end of a page or sector; unsynced names are
    /// there or not.
    Holes {
        /// Chooses what stays.
        seed: u64,
    },
    /// Each page of 4096 bytes is there or zero; unsynced names are there or not.
    Pages {
        /// Chooses what stays.
        seed: u64,
    },
    /// Each sector of 512 bytes is there or zero; unsynced names are there or not.
    Sectors {
        /// Chooses what stays.
        seed: u64,
    },
    /// All bytes are there. Files that were made, renamed or removed have their new name, their old one, both or none.
    Names {
        /// Chooses what stays.
        seed: u64,
    },
    /// All bytes and names of files are there, but for those in directories that are lost with their names.
    Directories {
        /// Chooses what stays.
        seed: u64,
    },
}

impl CrashImage {
    /// The models of a power cut in which something is chosen, each made of a seed: what a test goes through.
    pub const POWER_CUTS: [fn(u64) -> CrashImage; 7] = [
        |seed| CrashImage::Tear { seed },
        |seed| CrashImage::ZeroTail { seed },
        |seed| CrashImage::Holes { seed },
        |seed| CrashImage::Pages { seed },
        |seed| CrashImage::Sectors { seed },
        |seed| CrashImage::Names { seed },
        |seed| CrashImage::Directories { seed },
    ];

    /// The choices about the name of this number.
    pub(super) fn choices(self, number: usize) -> Choices {
        let state = match self.seed() {
            Some(seed) => seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number as u64,
            None => number as u64,
        };
        Choices { image: self, state }
    }

    fn seed(self) -> Option<u64> {
        match self {
            CrashImage::KeepWritten | CrashImage::LoseUnsynced => None,
            CrashImage::Tear { seed }
            | CrashImage::ZeroTail { seed }
            | CrashImage::Holes { seed }
            | CrashImage::Pages { seed }
            | CrashImage::Sectors { seed }
            | CrashImage::Names { seed }
            | CrashImage::Directories { seed } => Some(seed),
        }
    }
}

/// Reproducible choices (`SplitMix64`) about one file or directory.
pub(super) struct Choices {
    image: CrashImage,
    state: u64,
}

impl Choices {
    /// Whether the name of a file is as it was at the crash, rather than as it was synced.
    pub(super) fn keep_file_name(&mut self) -> bool {
        match self.image {
            CrashImage::KeepWritten | CrashImage::Directories { .. } => true,
            CrashImage::LoseUnsynced => false,
            _ => self.one_in(2),
        }
    }

    /// Whether the name of a directory is as it was at the crash, rather than as it was synced.
    pub(super) fn keep_directory_name(&mut self) -> bool {
        match self.image {
            CrashImage::KeepWritten | CrashImage::Names { .. } => true,
            CrashImage::LoseUnsynced => false,
            _ => self.one_in(2),
        }
    }

    /// Whether a file that was cut off is as it was at the crash, rather than as it was synced.
    pub(super) fn keep_cut(&mut self) -> bool {
        self.keep_file_name()
    }

    /// Leaves of a file's bytes what the crash leaves.
    pub(super) fn leave(&mut self, bytes: &mut Vec<u8>, synced_len: usize) {
        let unsynced = synced_len..bytes.len();
        match self.image {
            CrashImage::KeepWritten | CrashImage::Names { .. } | CrashImage::Directories { .. } => {
            }
            CrashImage::LoseUnsynced => bytes.truncate(synced_len),
            CrashImage::Tear { .. } => bytes.truncate(self.place_in(&unsynced)),
            CrashImage::ZeroTail { .. } => {
                let mut from = self.place_in(&unsynced);
                if self.one_in(2) {
                    from = from.next_multiple_of(PAGE_LEN).min(bytes.len());
                }
                bytes[from..].fill(0);
            }
            CrashImage::Holes { .. } => {
                for _ in 0..=self.next() % 3 {
                    let from = self.place_in(&unsynced);
                    let unit_len = if self.one_in(2) { PAGE_LEN } else { SECTOR_LEN };
                    let units = 1 + (self.next() % 2) as usize;
                    let end = (from / unit_len + units) * unit_len;
                    // What a file had when a page of it was written back ends with a write, and no write is as short as this.
                    let from = from.min(end - HOLE_LEN_MIN).max(synced_len);
                    bytes[from..end.min(unsynced.end)].fill(0);
                }
            }
            CrashImage::Pages { .. } => self.lose_units(bytes, synced_len, PAGE_LEN),
            CrashImage::Sectors { .. } => self.lose_units(bytes, synced_len, SECTOR_LEN),
        }
    }

    /// A place in a range, its end included.
    fn place_in(&mut self, range: &Range<usize>) -> usize {
        range.start + (self.next() % (range.len() as u64 + 1)) as usize
    }

    /// Zeros in place of some units; what was synced of a unit stays. The length stays as well, or ends with a unit.
    fn lose_units(&mut self, bytes: &mut Vec<u8>, synced_len: usize, unit_len: usize) {
        if self.one_in(4) {
            let end = self.place_in(&(synced_len..bytes.len()));
            bytes.truncate(end.next_multiple_of(unit_len).min(bytes.len()));
        }
        // Few are lost, or most.
        let lost_of_eight = 1 + self.next() % 7;
        let mut at = synced_len;
        while at < bytes.len() {
            let end = (at / unit_len + 1) * unit_len;
            let end = end.min(bytes.len());
            if self.next() % 8 < lost_of_eight {
                bytes[at..end].fill(0);
            }
            at = end;
        }
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a file of 20,000 bytes has after each of a thousand seeds; what was synced of it is always there.
    fn left(model: fn(u64) -> CrashImage) -> Vec<Vec<u8>> {
        const SYNCED_LEN: usize = 1000;
        let written: Vec<u8> = (0..20_000u32).map(|at| (at % 251 + 1) as u8).collect();
        let leave = |seed| {
            let mut bytes = written.clone();
            model(seed).choices(3).leave(&mut bytes, SYNCED_LEN);
            assert_eq!(
                bytes[..SYNCED_LEN],
                written[..SYNCED_LEN],
                "synced, seed {seed}"
            );
            let is_written = |(at, byte): (usize, &u8)| *byte == 0 || *byte == written[at];
            assert!(bytes.iter().enumerate().all(is_written), "seed {seed}");
            bytes
        };
        (0..1000).map(leave).collect()
    }

    fn zeros(bytes: &[u8]) -> usize {
        bytes.iter().filter(|&&byte| byte == 0).count()
    }

    #[test]
    fn a_tail_of_zeros_keeps_the_length_and_begins_at_any_byte_or_at_a_page() {
        let left = left(|seed| CrashImage::ZeroTail { seed });
        let mut at_page = 0;
        for bytes in &left {
            assert_eq!(bytes.len(), 20_000);
            let from = bytes.len() - zeros(bytes);
            assert!(bytes[..from].iter().all(|&byte| byte != 0));
            at_page += usize::from(from.is_multiple_of(PAGE_LEN));
        }
        assert!((300..700).contains(&at_page), "{at_page}");
    }

    #[test]
    fn whole_pages_and_sectors_are_lost_and_kept_in_any_order() {
        for (model, unit_len) in [
            (
                (|seed| CrashImage::Pages { seed }) as fn(u64) -> CrashImage,
                PAGE_LEN,
            ),
            (|seed| CrashImage::Sectors { seed }, SECTOR_LEN),
        ] {
            let mut out_of_order = 0;
            for bytes in left(model) {
                let units: Vec<bool> = bytes[1000 / unit_len * unit_len..]
                    .chunks(unit_len)
                    .map(|unit| unit.ends_with(&[0]))
                    .collect();
                out_of_order +=
                    usize::from(units.windows(2).any(|pair| matches!(pair, [true, false])));
                for unit in bytes.chunks(unit_len).skip(1000 / unit_len + 1) {
                    assert!([0, unit.len()].contains(&zeros(unit)));
                }
            }
            assert!(out_of_order > 500, "{out_of_order}");
        }
    }

    #[test]
    fn holes_have_something_before_them_and_after_them() {
        let left = left(|seed| CrashImage::Holes { seed });
        let is_hole = |bytes: &&Vec<u8>| zeros(bytes) > 0 && !bytes.ends_with(&[0]);
        assert!(left.iter().all(|bytes| bytes.len() == 20_000));
        assert!(left.iter().filter(is_hole).count() > 300);
    }
}
