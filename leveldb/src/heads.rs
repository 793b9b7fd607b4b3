//! Narrows a binary search in sorted keys to those whose first bytes are the target's, touching little memory.
//!
//! Only for the bytewise order: of each key the eight bytes after what all of them share, as a number, one after the other.

use std::ops::Range;

/// The heads of ascending byte strings.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    shared: Vec<u8>,
    heads: Vec<u64>,
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
    pub(crate) fn new<'a>(keys: impl DoubleEndedIterator<Item = &'a [u8]> + Clone) -> Heads {
        let (Some(first), Some(last)) = (keys.clone().next(), keys.clone().next_back()) else {
            return Heads::default();
        };
        let len = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        Heads {
            heads: keys
                .map(|key| head(key.get(len..).unwrap_or_default()))
                .collect(),
            shared: first[..len].to_vec(),
        }
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.heads.len()
    }

    /// Keys before the range are less than `key`, keys after it are greater.
    #[inline]
    pub(crate) fn range(&self, key: &[u8]) -> Range<usize> {
        let Some(rest) = key.strip_prefix(&self.shared[..]) else {
            let at = if key < &self.shared[..] {
                0
            } else {
                self.len()
            };
            return at..at;
        };
        let target = head(rest);
        let low = self.heads.partition_point(|&head| head < target);
        let same = self.heads[low..].iter().take_while(|&&head| head == target);
        low..low + same.count()
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
            let range = Heads::new(keys.iter().map(|key| &key[..])).range(&target);
            keys[..range.start].iter().all(|key| *key < target)
                && keys[range.end..].iter().all(|key| *key > target)
                && keys[range].iter().all(|key| key[..shared.len()] == target[..shared.len()])
        }
    }

    #[test]
    fn keys_with_heads_of_their_own_leave_at_most_one() {
        let keys: Vec<Vec<u8>> = (0..1000u32)
            .map(|n| format!("prefix {n:08}").into_bytes())
            .collect();
        let heads = Heads::new(keys.iter().map(|key| &key[..]));
        for (i, key) in keys.iter().enumerate() {
            assert_eq!(heads.range(key), i..i + 1);
            assert_eq!(heads.range(&[&key[..], b"x"].concat()).end, i + 1);
        }
        assert_eq!((heads.range(b"a"), heads.range(b"q")), (0..0, 1000..1000));
    }
}
