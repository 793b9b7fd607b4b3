//! Narrows a binary search in sorted keys to those whose heads are the target's, touching little memory.
//!
//! A head is a number in the keys' order ([`KeyFacts::head`](crate::KeyFacts)). 64 bits of each key's head are kept: those after
//! what all of the keys share. In the order of bytes these are the eight bytes after the shared ones, however many are shared.
//! The last key does not count, since in a table's index it may be shortened to something that shares nothing with the others.
//!
//! The numbers lie in lines of eight. Above eight lines stands a line of their last numbers, and so on up to one line. A search touches one
//! line of each height, and the upper ones stay in the processor's cache.

use crate::internal_key::InternalOrder;
use std::cmp::Ordering;
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

/// The first eight bytes as a number in their order; what is not there counts as zeros.
#[inline]
fn first_eight(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk() {
        return u64::from_be_bytes(*eight);
    }
    let mut eight = [0; 8];
    eight[..bytes.len()].copy_from_slice(bytes);
    u64::from_be_bytes(eight)
}

/// Which 64 bits of a key count.
#[derive(Debug)]
pub(crate) enum Cut {
    /// The eight bytes after those that all keys share.
    Bytes(Vec<u8>),
    /// Those of the head after the bits that all heads share, of which there are at most 64.
    Head {
        head: fn(&[u8]) -> u128,
        shared: u128,
        shared_len: u32,
    },
}

impl Cut {
    /// The cut for ascending keys that lie between these two.
    pub(crate) fn new(order: &InternalOrder, first: &[u8], last: &[u8]) -> Option<Cut> {
        if order.is_bytewise() {
            let same = first.iter().zip(last).take_while(|(a, b)| a == b);
            return Some(Cut::Bytes(first[..same.count()].to_vec()));
        }
        let head = order.head()?;
        let (first, last) = (head(first), head(last));
        let shared_len = (first ^ last).leading_zeros().min(64);
        Some(Cut::Head {
            head,
            shared: first & !(u128::MAX >> shared_len),
            shared_len,
        })
    }

    /// A key's number; or where it lies, if it does not share what all others do.
    #[inline]
    pub(crate) fn number(&self, key: &[u8]) -> Result<u64, Ordering> {
        match self {
            Cut::Bytes(shared) => match key.strip_prefix(&shared[..]) {
                Some(rest) => Ok(first_eight(rest)),
                None => Err(key.cmp(shared)),
            },
            Cut::Head {
                head,
                shared,
                shared_len,
            } => {
                let head = head(key);
                match (head & !(u128::MAX >> shared_len)).cmp(shared) {
                    Ordering::Equal => Ok(((head << shared_len) >> 64) as u64),
                    other => Err(other),
                }
            }
        }
    }
}

/// The heads of ascending keys.
#[derive(Debug)]
pub(crate) struct Heads {
    cut: Cut,
    /// The numbers of all keys but the last; then what lies above, up to one line.
    heights: Vec<Vec<Line>>,
    head_count: usize,
    /// How many keys there are.
    len: usize,
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
    /// The heads of keys that ascend, or are equal. `None` if nothing is known of their order.
    pub(crate) fn new(order: &InternalOrder, keys: &[&[u8]]) -> Option<Heads> {
        let others = keys.split_last().map_or(&[][..], |(_, others)| others);
        let first = others.first().copied().unwrap_or_default();
        let cut = Cut::new(order, first, others.last().copied().unwrap_or_default())?;
        // Keys that do not lie between those two are not in order: no answer about them is right.
        let number = |key: &&[u8]| cut.number(key).unwrap_or(0);
        let mut numbers: Vec<u64> = others.iter().map(number).collect();
        let mut heights = vec![lines(&numbers)];
        while numbers.len() > LINE_LEN {
            let last = |line: &[u64]| line.last().copied().unwrap_or(u64::MAX);
            numbers = numbers.chunks(LINE_LEN).map(last).collect();
            heights.push(lines(&numbers));
        }
        Some(Heads {
            cut,
            heights,
            head_count: others.len(),
            len: keys.len(),
        })
    }

    /// How many bytes it takes, about.
    pub(crate) fn len_bytes(&self) -> usize {
        self.heights.iter().map(Vec::len).sum::<usize>() * size_of::<Line>()
    }

    /// Keys before the range are less than `key`, keys after it are greater.
    #[inline]
    pub(crate) fn range(&self, key: &[u8]) -> Range<usize> {
        let (start, end) = match self.cut.number(key) {
            Ok(number) => self.equal(number),
            Err(Ordering::Less) => (0, 0),
            Err(_) => (self.head_count, self.head_count),
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
    use crate::{BytewiseComparator, Comparator, Identity, KeyFacts};
    use quickcheck::quickcheck;
    use std::sync::Arc;

    /// In the order of bytes, under another name.
    #[derive(Debug)]
    struct Named;

    impl Comparator for Named {
        fn name(&self) -> &str {
            "named"
        }

        fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
            a.cmp(b)
        }

        fn shorten_separator(&self, _: &mut Vec<u8>, _: &[u8]) {}

        fn shorten_successor(&self, _: &mut Vec<u8>) {}
    }

    fn bytewise() -> InternalOrder {
        InternalOrder::new(Arc::new(BytewiseComparator))
    }

    /// In the order of bytes, with heads.
    fn named(head: fn(&[u8]) -> u128) -> InternalOrder {
        let identity = |_: &[u8]| Identity::Several;
        let facts = KeyFacts { identity, head };
        InternalOrder::with_facts(Arc::new(Named), Some(facts))
    }

    quickcheck! {
        fn what_is_outside_of_the_range_is_less_or_greater(shared: Vec<u8>, ends: Vec<Vec<u8>>, target: Vec<u8>, like: bool) -> bool {
            let few = |bytes: &[u8]| bytes.iter().map(|byte| byte % 3).collect::<Vec<u8>>();
            let mut keys: Vec<Vec<u8>> = ends.iter().map(|end| [&shared[..], &few(end)].concat()).collect();
            keys.sort();
            let target = if like { [&shared[..], &few(&target)].concat() } else { target };
            let slices: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let orders = [
                bytewise(),
                named(|key| u128::from(first_eight(key)) << 64),
                named(|key| u128::from(first_eight(key)) << 32),
                named(|key| u128::from(first_eight(key))),
                named(|_| 7),
            ];
            orders.iter().all(|order| {
                let range = Heads::new(order, &slices).unwrap().range(&target);
                keys[..range.start].iter().all(|key| *key < target)
                    && keys[range.end..].iter().all(|key| *key > target)
            })
        }
    }

    #[test]
    fn keys_with_heads_of_their_own_leave_at_most_one_and_the_last() {
        let sixteen = |key: &[u8]| {
            let tail = key.get(8..).unwrap_or_default();
            (u128::from(first_eight(key)) << 64) | u128::from(first_eight(tail))
        };
        let keys: Vec<Vec<u8>> = (0..1000u32)
            .map(|n| format!("prefix {n:08}").into_bytes())
            .chain([b"q".to_vec()])
            .collect();
        let slices: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        for order in [bytewise(), named(sixteen)] {
            let heads = Heads::new(&order, &slices).unwrap();
            for (i, key) in keys.iter().enumerate().take(999) {
                assert_eq!(heads.range(key), i..i + 1);
                assert_eq!(heads.range(&[&key[..], b"x"].concat()).end, i + 1);
            }
            assert_eq!(heads.range(&keys[999]), 999..1001);
            assert_eq!((heads.range(b"a"), heads.range(b"q")), (0..0, 1000..1001));
        }
    }

    #[test]
    fn an_order_of_which_nothing_is_known_has_none() {
        let order = InternalOrder::new(Arc::new(Named));
        assert!(Heads::new(&order, &[b"k"]).is_none());
    }
}
