//! A merge sort that takes any comparison.
//!
//! The standard library's sort may panic when the comparison is no total order, and a comparator sees bytes from disk.

use std::cmp::Ordering;

/// So many keys that are looked up together are sorted at a time.
pub(crate) const LOOKUPS_MAX: usize = 64 << 10;
/// Fewer are looked up as they come: keys that lie together mostly come together.
pub(crate) const LOOKUPS_MIN: usize = 32;

/// Sorts; equal elements keep their order. With a comparison that contradicts itself the result is some order.
pub(crate) fn sort_by<T: Copy>(items: &mut Vec<T>, mut compare: impl FnMut(&T, &T) -> Ordering) {
    let len = items.len();
    let mut from = std::mem::take(items);
    let mut to = Vec::with_capacity(len);
    let mut width = 1;
    while width < len {
        for pair in from.chunks(2 * width) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge(left, right, &mut to, &mut compare);
        }
        std::mem::swap(&mut from, &mut to);
        to.clear();
        width *= 2;
    }
    *items = from;
}

fn merge<T: Copy>(
    left: &[T],
    right: &[T],
    to: &mut Vec<T>,
    compare: &mut impl FnMut(&T, &T) -> Ordering,
) {
    // Logs are often in order already.
    if let (Some(last), Some(first)) = (left.last(), right.first())
        && compare(last, first) != Ordering::Greater
    {
        to.extend_from_slice(left);
        to.extend_from_slice(right);
        return;
    }
    let (mut i, mut j) = (0, 0);
    while let (Some(a), Some(b)) = (left.get(i), right.get(j)) {
        if compare(a, b) == Ordering::Greater {
            to.push(*b);
            j += 1;
        } else {
            to.push(*a);
            i += 1;
        }
    }
    to.extend_from_slice(&left[i..]);
    to.extend_from_slice(&right[j..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    quickcheck! {
        fn it_sorts_as_the_standard_library_does(items: Vec<(u8, u32)>) -> bool {
            let (mut ours, mut theirs) = (items.clone(), items);
            sort_by(&mut ours, |a, b| a.0.cmp(&b.0));
            theirs.sort_by_key(|a| a.0);
            ours == theirs
        }

        fn a_comparison_without_sense_loses_nothing(items: Vec<u8>, answers: Vec<i8>) -> bool {
            let mut sorted = items.clone();
            let mut answers = answers.iter().cycle();
            sort_by(&mut sorted, |_, _| answers.next().map_or(Ordering::Less, |answer| answer.cmp(&0)));
            let (mut a, mut b) = (items, sorted);
            a.sort_unstable();
            b.sort_unstable();
            a == b
        }
    }
}
