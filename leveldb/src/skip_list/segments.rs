//! An array that grows and never moves: segments, four of one length, then four of twice that length, and so on. What is
//! reserved and not used is at most a quarter of what is used.

use crate::sync::AtomicU64;
use std::sync::OnceLock;

/// Items of the first segment, as a power of two.
const FIRST_LG: u32 = 10;
/// How many segments have the same length, as a power of two.
const SAME_LG: u32 = 2;
/// Enough for indexes of 32 bits.
const SEGMENTS: usize = (32 - FIRST_LG as usize) << SAME_LG;

/// Items by index. A thread that has an index from what the writer published finds its segment.
#[derive(Debug)]
pub(super) struct Segments<T> {
    segments: [OnceLock<Box<[T]>>; SEGMENTS],
}

impl<T> Default for Segments<T> {
    fn default() -> Segments<T> {
        Segments {
            segments: [const { OnceLock::new() }; SEGMENTS],
        }
    }
}

/// Segment, and place in it.
#[inline]
fn split(index: usize) -> (usize, usize) {
    let shifted = index + (1 << (FIRST_LG + SAME_LG));
    let len_lg = usize::BITS - 1 - shifted.leading_zeros() - SAME_LG;
    // From here on the upper bits are those of a number that counts from 2^SAME_LG up for each length.
    let same = (shifted >> len_lg) - (1 << SAME_LG);
    let longer = (len_lg - FIRST_LG) as usize;
    ((longer << SAME_LG) + same, shifted & ((1 << len_lg) - 1))
}

/// Items of a segment.
fn len_of(segment: usize) -> usize {
    1 << (FIRST_LG as usize + (segment >> SAME_LG))
}

/// Makes the items of a segment.
pub(super) trait Item: Sized {
    /// So many, all as new.
    fn segment(len: usize) -> Box<[Self]>;
}

impl Item for AtomicU64 {
    fn segment(len: usize) -> Box<[AtomicU64]> {
        // Zeros from the allocator, used as they are: pages that no node has reached take no memory.
        vec![0; len].into_iter().map(AtomicU64::new).collect()
    }
}

impl<T> Item for OnceLock<T> {
    fn segment(len: usize) -> Box<[OnceLock<T>]> {
        (0..len).map(|_| OnceLock::new()).collect()
    }
}

impl<T: Item> Segments<T> {
    /// Makes all items below `end`.
    pub(super) fn grow(&self, end: usize) {
        let (last, _) = split(end.saturating_sub(1));
        for (i, segment) in self.segments.iter().enumerate().take(last + 1).rev() {
            if segment.get().is_some() {
                return;
            }
            segment.get_or_init(|| T::segment(len_of(i)));
        }
    }
}

impl<T> Segments<T> {
    /// The first index not below `from` where `len` items fit in one segment. `len` is at most the first segment's.
    pub(super) fn room(&self, from: usize, len: usize) -> usize {
        let (segment, at) = split(from);
        let left = len_of(segment) - at;
        if len <= left { from } else { from + left }
    }

    /// The item at an index.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&T> {
        self.from(index).first()
    }

    /// The items from an index to the end of its segment.
    #[inline]
    pub(super) fn from(&self, index: usize) -> &[T] {
        let (segment, at) = split(index);
        let segment = self.segments.get(segment).and_then(OnceLock::get);
        segment
            .and_then(|items| items.get(at..))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    const COUNT: usize = if cfg!(miri) { 3100 } else { 10_000 };

    #[test]
    fn every_index_is_an_item_of_its_own() {
        let items: Segments<AtomicU64> = Segments::default();
        for i in 0..COUNT {
            items.grow(i + 1);
            items.get(i).unwrap().store(i as u64, Ordering::Relaxed);
        }
        for i in 0..COUNT {
            assert_eq!(items.get(i).unwrap().load(Ordering::Relaxed), i as u64);
        }
    }

    #[test]
    fn room_is_within_one_segment() {
        let items: Segments<AtomicU64> = Segments::default();
        items.grow(COUNT);
        for from in 0..COUNT - 1000 {
            let at = items.room(from, 16);
            assert!(
                at >= from && at < from + 16 && items.from(at).len() >= 16,
                "{from}"
            );
        }
    }
}
