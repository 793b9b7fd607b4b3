//! Puts many entries into their keys' order.

use std::cmp::Ordering;

use super::index::Entry;

/// Fewer entries are compared with each other.
const FEW: usize = 32;

/// Sorts entries by an order that goes by heads first, and keeps of equal ones the one that was written last.
///
/// What is sorted are numbers: the bits of each head behind those that all share, and in place of the lowest of them
/// where the entry is. Only entries whose numbers are equal are compared.
pub(super) fn sort_last_words(
    entries: &mut Vec<Entry>,
    order: impl Fn(&Entry, &Entry) -> Ordering,
) {
    // Of a key that was written twice the last word comes first, and stays.
    let full = |a: &Entry, b: &Entry| order(a, b).then(b.written_at().cmp(&a.written_at()));
    if entries.len() < FEW {
        entries.sort_unstable_by(full);
    } else {
        *entries = sorted_by_numbers(entries, full);
    }
    entries.dedup_by(|later, kept| order(later, kept) == Ordering::Equal);
}

fn sorted_by_numbers(entries: &[Entry], order: impl Fn(&Entry, &Entry) -> Ordering) -> Vec<Entry> {
    let first = entries.first().map_or(0, Entry::head);
    let differing = (entries.iter()).fold(0, |bits, entry| bits | (entry.head() ^ first));
    let place_len = usize::BITS - entries.len().leading_zeros();
    let place_mask = (1_u64 << place_len) - 1;
    let number = |(entry, place): (&Entry, u64)| {
        // All bits are shared if the heads are equal.
        let head = entry.head().checked_shl(differing.leading_zeros());
        (head.unwrap_or(0) & !place_mask) | place
    };
    let mut numbers: Vec<u64> = entries.iter().zip(0..).map(number).collect();
    numbers.sort_unstable();
    let in_order = numbers.iter().filter_map(|number| {
        let place = usize::try_from(number & place_mask).ok()?;
        entries.get(place).copied()
    });
    let mut sorted: Vec<Entry> = in_order.collect();
    let mut rest = &mut sorted[..];
    for alike in numbers.chunk_by(|a, b| a & !place_mask == b & !place_mask) {
        let (same, behind) = rest.split_at_mut(alike.len().min(rest.len()));
        if same.len() > 1 {
            same.sort_unstable_by(&order);
        }
        rest = behind;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use quickcheck::quickcheck;

    use super::*;

    quickcheck! {
        /// Few heads or many, which differ in upper bits, in lower ones, or not at all; keys and places of the same.
        fn entries_are_sorted_and_last_words_stay(heads: Vec<u16>, shift: u8, spread: u8) -> bool {
            let entry = |(at, head): (usize, u16)| {
                let head = u64::from(head % (1 + u16::from(spread) * 32)) << (shift % 49);
                Entry::put(head, (at, at % 4), (at, 0))
            };
            // Keys with one head differ in their length.
            let order = |a: &Entry, b: &Entry| {
                a.head().cmp(&b.head()).then(a.key_range().1.cmp(&b.key_range().1))
            };
            let entries: Vec<Entry> = heads.into_iter().enumerate().map(entry).collect();
            let mut naive = entries.clone();
            naive.sort_by(order);
            naive.reverse();
            naive.dedup_by(|later, kept| order(later, kept) == Ordering::Equal);
            naive.reverse();
            let mut sorted = entries;
            sort_last_words(&mut sorted, order);
            let places = |entries: &[Entry]| entries.iter().map(Entry::written_at).collect::<Vec<_>>();
            places(&sorted) == places(&naive)
        }
    }
}
