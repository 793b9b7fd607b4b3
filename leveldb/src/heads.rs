//! Narrows a binary search in sorted keys to those whose first bytes are the target's, touching little memory.
//!
//! Only for the bytewise order: of each key the eight bytes after what all of them share, as a number. The last key does not
//! count: in a table's index it is shortened to something that shares nothing with the others. The numbers lie in lines of
//! eight, with a line above for the last number of each of eight lines, and so on: a search touches one line of each height,
//! and the upper ones stay in the processor's cache.

use std::ops::Range;

const LINE_LEN: usize = 8;

/// Eight numbers that one access to memory gets; the end is filled up with the greatest number.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u64; LINE_LEN]);

impl Line {
    /// How many are less than `target`.
    #[inline]
    fn less(&self, target: u64) -> usize {
        self.0.iter().map(|&head| usize::from(head < target)).sum()
    }
}

/// The heads of ascending byte strings.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    shared: Vec<u8>,
    /// Of all keys but the last; then what lies above, up to one line.
    heights: Vec<Vec<Line>>,
    head_count: usize,
    /// How many keys there are.
    len: usize,
}

/// The first eight bytes as a number in the order of the bytes; what is not there counts as zeros.
#[inline]
fn head(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk() {
        return u64::from_be_bytes(*eight);
    }
    let mut eight = [0; 8];
    eight[..bytes.len()].copy_from_slice(bytes);
    u64::from_be_bytes(eight)
}

fn lines(numbers: &[u64]) -> Vec<Line> {
    let line = |some: &[u64]| {
        let mut line = Line([u64::MAX; LINE_LEN]);
        line.0[..some.len()].copy_from_slice(some);
        line
    };
    numbers.chunks(LINE_LEN).map(line).collect()
}

impl Heads {
    /// Of keys that ascend, or are equal.
    pub(crate) fn new(keys: &[&[u8]]) -> Heads {
        let others = keys.split_last().map_or(&[][..], |(_, others)| others);
        let shared = match others {
            [first, .., last] => {
                let same = first.iter().zip(*last).take_while(|(a, b)| a == b);
                &first[..same.count()]
            }
            _ => &[],
        };
        let rest = |key: &&[u8]| head(key.get(shared.len()..).unwrap_or_default());
        let mut numbers: Vec<u64> = others.iter().map(rest).collect();
        let mut heights = vec![lines(&numbers)];
        while numbers.len() > LINE_LEN {
            let last = |line: &[u64]| line.last().copied().unwrap_or(u64::MAX);
            numbers = numbers.chunks(LINE_LEN).map(last).collect();
            heights.push(lines(&numbers));
        }
        Heads {
            heights,
            head_count: others.len(),
            shared: shared.to_vec(),
            len: keys.len(),
        }
    }

    /// How many bytes it takes, about.
    pub(crate) fn len_bytes(&self) -> usize {
        self.heights.iter().map(Vec::len).sum::<usize>() * size_of::<Line>()
    }

    /// Keys before the range are less than `key`, keys after it are greater.
    #[inline]
    pub(crate) fn range(&self, key: &[u8]) -> Range<usize> {
        let (start, end) = match key.strip_prefix(&self.shared[..]) {
            Some(rest) => self.equal(head(rest)),
            None if key < &self.shared[..] => (0, 0),
            None => (self.head_count, self.head_count),
        };
        match end == self.head_count {
            true => start..self.len,
            false => start..end,
        }
    }

    fn equal(&self, target: u64) -> (usize, usize) {
        let low = self.first_at_least(target);
        if low == self.head_count || self.get(low) != Some(target) {
            return (low, low);
        }
        match target.checked_add(1) {
            Some(_) if self.get(low + 1).is_some_and(|next| next != target) => (low, low + 1),
            Some(above) => (low, self.first_at_least(above)),
            None => (low, self.head_count),
        }
    }

    fn get(&self, i: usize) -> Option<u64> {
        let line = self.heights.first()?.get(i / LINE_LEN)?;
        Some(line.0[i % LINE_LEN])
    }

    /// The first head that is not less than `target`, or how many there are.
    #[inline]
    fn first_at_least(&self, target: u64) -> usize {
        let mut at = 0;
        for height in self.heights.iter().rev() {
            let Some(line) = height.get(at) else {
                return self.head_count;
            };
            at = LINE_LEN * at + line.less(target);
        }
        at.min(self.head_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    quickcheck! {
        fn what_is_outside_of_the_range_is_less_or_greater(shared: Vec<u8>, ends: Vec<Vec<u8>>, target: Vec<u8>, like: bool) -> bool {
            let few = |bytes: &[u8]| bytes.iter().map(|byte| byte % 3).collect::<Vec<u8>>();
            let mut keys: Vec<Vec<u8>> = ends.iter().map(|end| [&shared[..], &few(end)].concat()).collect();
            keys.sort();
            let target = if like { [&shared[..], &few(&target)].concat() } else { target };
            let slices: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let range = Heads::new(&slices).range(&target);
            keys[..range.start].iter().all(|key| *key < target)
                && keys[range.end..].iter().all(|key| *key > target)
        }
    }

    #[test]
    fn keys_with_heads_of_their_own_leave_at_most_one_and_the_last() {
        let keys: Vec<Vec<u8>> = (0..1000u32)
            .map(|n| format!("prefix {n:08}").into_bytes())
            .chain([b"q".to_vec()])
            .collect();
        let slices: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let heads = Heads::new(&slices);
        for (i, key) in keys.iter().enumerate().take(999) {
            assert_eq!(heads.range(key), i..i + 1);
            assert_eq!(heads.range(&[&key[..], b"x"].concat()).end, i + 1);
        }
        assert_eq!(heads.range(&keys[999]), 999..1001);
        assert_eq!((heads.range(b"a"), heads.range(b"q")), (0..0, 1000..1001));
    }
}
