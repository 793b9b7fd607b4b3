//! Narrows a binary search in sorted keys to those whose first bytes are the target's, touching little memory.
//!
//! Only for the bytewise order: of each key the eight bytes after what all of them share, as a number, one after the other. The
//! last key does not count: in a table's index it is shortened to something that shares nothing with the others.

use std::ops::Range;

/// The heads of ascending byte strings.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    shared: Vec<u8>,
    /// Of all keys but the last.
    heads: Vec<u64>,
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
        Heads {
            heads: others.iter().map(rest).collect(),
            shared: shared.to_vec(),
            len: keys.len(),
        }
    }

    /// How many bytes it takes, about.
    pub(crate) fn len_bytes(&self) -> usize {
        self.heads.len() * size_of::<u64>()
    }

    /// Keys before the range are less than `key`, keys after it are greater.
    #[inline]
    pub(crate) fn range(&self, key: &[u8]) -> Range<usize> {
        let (start, end) = match key.strip_prefix(&self.shared[..]) {
            Some(rest) => self.equal(head(rest)),
            None if key < &self.shared[..] => (0, 0),
            None => (self.heads.len(), self.heads.len()),
        };
        match end == self.heads.len() {
            true => start..self.len,
            false => start..end,
        }
    }

    fn equal(&self, target: u64) -> (usize, usize) {
        let low = self.heads.partition_point(|&head| head < target);
        let after = self.heads.get(low..).unwrap_or_default();
        let same = match after {
            [_, next, ..] if *next == target => after.partition_point(|&head| head == target),
            [first, ..] => usize::from(*first == target),
            [] => 0,
        };
        (low, low + same)
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
