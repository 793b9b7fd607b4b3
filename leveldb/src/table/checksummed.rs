//! Bytes that are followed by their own masked checksum, at unknown places and of unknown lengths: the blocks of a table whose index is
//! lost.
//!
//! The checksum is linear: each start and each end gives a number that does not depend on the other, and a pair matches when the
//! numbers are equal. They are worked out once for a stretch of the file, however many of its blocks are damaged.

use crate::crc::{feed, multiply, step_back, unmask};
use crate::varint::fixed32;
use std::ops::Range;

/// An end is first looked for in so many bytes, one by one: most blocks are much shorter.
const NEAR: usize = 64 << 10;

/// Starts are looked for in so many bytes at once, their ends in twice as many.
const STRETCH: usize = 1 << 20;

/// What lies beyond the stretch, and what has a right checksum and is no block, is looked at up to so many times the length of all.
/// Bytes can be made of which each two places are a pair.
const LOOKS_MAX: usize = 16;

/// The bytes, and the numbers of one stretch of them.
#[derive(Debug)]
pub(super) struct Checksummed<'a> {
    bytes: &'a [u8],
    stretch: Option<Stretch>,
    /// So many bytes may still be looked at.
    budget: usize,
}

#[derive(Debug)]
struct Stretch {
    base: usize,
    /// By position.
    starts: Vec<u32>,
    /// Number and position of a start, in that order.
    sorted_starts: Vec<(u32, u32)>,
    /// By position of the last byte that is checked.
    ends: Vec<u32>,
    /// Number and position of an end, in that order.
    sorted_ends: Vec<(u32, u32)>,
}

impl Stretch {
    fn new(bytes: &[u8], base: usize) -> Stretch {
        let end = base.saturating_add(2 * STRETCH).min(bytes.len());
        let (mut starts, ends) = normalised(bytes.get(base..end).unwrap_or_default());
        starts.truncate(STRETCH);
        let sorted = |numbers: &[u32]| {
            let mut sorted: Vec<(u32, u32)> = numbers.iter().copied().zip(0..).collect();
            sorted.sort_unstable();
            sorted
        };
        Stretch {
            base,
            sorted_starts: sorted(&starts),
            sorted_ends: sorted(&ends),
            starts,
            ends,
        }
    }

    /// The ends of what may begin at a place of the stretch, the nearest first.
    fn ends_of(&self, place: usize) -> impl Iterator<Item = usize> {
        let number = self.starts.get(place).copied();
        let of = move |number: u32| {
            let first = (number, place as u32);
            let at = self.sorted_ends.partition_point(|end| *end < first);
            let same = self.sorted_ends[at..].iter();
            same.take_while(move |end| end.0 == number)
        };
        let ends = number.into_iter().flat_map(of);
        ends.map(|(_, end)| self.base + *end as usize + 5)
    }

    /// The starts, from a place on, of what may end at another.
    fn starts_of(&self, end: usize, from: usize) -> impl Iterator<Item = usize> {
        let number = self.ends[end];
        let first = (number, from as u32);
        let at = self.sorted_starts.partition_point(|start| *start < first);
        let same = self.sorted_starts[at..].iter();
        let same = same.take_while(move |start| start.0 == number && start.1 as usize <= end);
        same.map(|(_, start)| self.base + *start as usize)
    }
}

impl<'a> Checksummed<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Checksummed<'a> {
        Checksummed {
            bytes,
            stretch: None,
            budget: bytes.len().saturating_mul(LOOKS_MAX),
        }
    }

    /// The stretch that a place lies in.
    fn stretch(&mut self, at: usize) -> &Stretch {
        let bytes = self.bytes;
        let base = at / STRETCH * STRETCH;
        let known = self.stretch.take().filter(|stretch| stretch.base == base);
        self.stretch
            .insert(known.unwrap_or_else(|| Stretch::new(bytes, base)))
    }

    /// Where that ends, with its checksum, that begins at `start`: the first end that `accept` takes.
    pub(super) fn end_of(
        &mut self,
        start: usize,
        mut accept: impl FnMut(usize) -> bool,
    ) -> Option<usize> {
        let near = (start + NEAR).min(self.bytes.len());
        if spend(&mut self.budget, near - start)
            && let Some(end) = self.end_within(start, start..near, &mut accept)
        {
            self.budget += near - end;
            return Some(end);
        }
        let mut budget = self.budget;
        let stretch = self.stretch(start);
        let found = stretch
            .ends_of(start - stretch.base)
            .find(|end| spend(&mut budget, *end - start) && accept(*end));
        let beyond = stretch.base + stretch.ends.len() + 5;
        let len = self.bytes.len();
        let is_all = found.is_some() || beyond > len || !spend(&mut budget, len - start);
        self.budget = budget;
        match is_all {
            true => found,
            false => self.end_within(start, beyond..len, accept),
        }
    }

    /// The end of a block, among those in a range and its last, by trying every one.
    fn end_within(
        &self,
        start: usize,
        ends: Range<usize>,
        mut accept: impl FnMut(usize) -> bool,
    ) -> Option<usize> {
        let mut state = !0;
        let bytes = self.bytes.get(..ends.end)?;
        for (at, &byte) in bytes.iter().enumerate().skip(start) {
            state = feed(state, byte);
            let stored = fixed32(bytes, at + 1)?;
            if at + 5 >= ends.start && !state == unmask(stored) && accept(at + 5) {
                return Some(at + 5);
            }
        }
        None
    }

    /// The first pair of start (`from` or later) and end that `accept` takes.
    pub(super) fn find(
        &mut self,
        from: usize,
        mut accept: impl FnMut(usize, usize) -> bool,
    ) -> Option<(usize, usize)> {
        let (mut from, mut budget) = (from, self.budget);
        while from + 5 <= self.bytes.len() {
            let stretch = self.stretch(from);
            let first = from - stretch.base;
            for i in first..stretch.ends.len() {
                let end = stretch.base + i + 5;
                let mut accept = |start| spend(&mut budget, end - start) && accept(start, end);
                let found = stretch.starts_of(i, first).find(|start| accept(*start));
                if let Some(start) = found {
                    self.budget = budget;
                    return Some((start, end));
                }
            }
            from = stretch.base + STRETCH;
        }
        self.budget = budget;
        None
    }
}

/// Whether so many bytes may still be looked at.
fn spend(budget: &mut usize, len: usize) -> bool {
    let left = budget.checked_sub(len);
    *budget = left.unwrap_or(0);
    left.is_some()
}

/// For each position: the number of a start there, and that of an end whose last checked byte is there.
fn normalised(bytes: &[u8]) -> (Vec<u32>, Vec<u32>) {
    let per_byte = step_back(0x8000_0000);
    let (mut state, mut power) = (0u32, 0x8000_0000u32);
    let (mut starts, mut ends) = (
        Vec::with_capacity(bytes.len()),
        Vec::with_capacity(bytes.len()),
    );
    for (i, &byte) in bytes.iter().enumerate() {
        starts.push(multiply(state ^ !0, power));
        state = feed(state, byte);
        power = multiply(power, per_byte);
        let Some(stored) = fixed32(bytes, i + 1) else {
            break;
        };
        ends.push(multiply(state ^ !unmask(stored), power));
    }
    (starts, ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crc;

    #[test]
    #[cfg_attr(miri, ignore = "much work for an interpreter")]
    fn checksummed_bytes_are_found_wherever_they_lie() {
        let mut bytes: Vec<u8> = (0..3000u32)
            .map(|i| (i.wrapping_mul(i) >> 3) as u8)
            .collect();
        for (start, len) in [(700, 1), (1000, 300), (1400, 1500)] {
            let sum = crc::mask(crc::value(&bytes[start..start + len]));
            bytes[start + len..start + len + 4].copy_from_slice(&sum.to_le_bytes());
        }
        let mut found = Checksummed::new(&bytes);
        let mut find = |from| found.find(from, |_, _| true);
        assert_eq!(find(0), Some((700, 705)));
        assert_eq!(find(701), Some((1000, 1304)));
        assert_eq!(find(1001), Some((1400, 2904)));
        assert_eq!(find(1401), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "much work for an interpreter")]
    fn an_end_is_found_from_its_start_in_the_stretch_and_beyond_it() {
        for len in [1, 3000, NEAR + 7, STRETCH + 7, 3 * STRETCH] {
            let mut bytes: Vec<u8> = (0..len as u32 + 40)
                .map(|i| (i.wrapping_mul(i) >> 3) as u8)
                .collect();
            let sum = crc::mask(crc::value(&bytes[20..20 + len]));
            bytes[20 + len..24 + len].copy_from_slice(&sum.to_le_bytes());
            let mut found = Checksummed::new(&bytes);
            assert_eq!(found.end_of(20, |_| true), Some(24 + len));
            assert_eq!(found.end_of(20, |_| false), None);
        }
    }
}
