//! A table's index, unfolded for searching: where each data block, its filter and its index key lie, as plain numbers.
//!
//! Made once of an index block that was checked and stays in memory. A search touches few places in memory: what narrows it
//! lies close together ([`Heads`], or [`Samples`] in an order of which nothing is known), and what is found is one entry. The
//! index block's own search is its naive twin.

use super::BlockHandle;
use crate::block::{self, WholeEntry};
use crate::filter::{FilterBlock, bloom};
use crate::heads::Heads;
use crate::internal_key::{InternalOrder, user_key};
use std::cmp::Ordering;
use std::ops::Range;

/// So many index keys for each sample.
const SAMPLE_EVERY: usize = 8;
/// Instead of a place: there is no filter.
const NO_FILTER: u32 = u32::MAX;

/// What the directory has of one data block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    /// The index entry, in the index block.
    at: u32,
    offset: u32,
    len: u32,
    filter_at: u32,
    filter_len: u32,
}

impl Spot {
    pub(super) fn handle(&self) -> BlockHandle {
        BlockHandle {
            offset: self.offset.into(),
            len: self.len.into(),
        }
    }

    /// Whether the data block may hold a key, as its filter in the filter block says.
    #[inline]
    pub(super) fn may_contain(&self, filters: &[u8], key_hash: u32) -> bool {
        let (start, len) = (self.filter_at as usize, self.filter_len as usize);
        let filter = match self.filter_at {
            NO_FILTER => None,
            _ => filters.get(start..start + len),
        };
        filter.is_none_or(|filter| bloom::may_contain(filter, key_hash))
    }
}

/// Every eighth key of an index, one after the other, for orders of which only the comparator is known.
#[derive(Debug)]
struct Samples {
    keys: Vec<u8>,
    /// Where each key ends.
    ends: Vec<usize>,
}

impl Samples {
    fn new(entries: &[WholeEntry<'_>]) -> Samples {
        let mut samples = Samples {
            keys: Vec::new(),
            ends: Vec::new(),
        };
        for group in entries.chunks_exact(SAMPLE_EVERY) {
            let last = group.last().map_or(&[][..], |entry| entry.key);
            samples.keys.extend_from_slice(last);
            samples.ends.push(samples.keys.len());
        }
        samples
    }

    fn key(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.keys[start..self.ends[i]]
    }

    /// Index keys before the range are less than `target`, those after it are not.
    fn range(&self, order: &InternalOrder, target: &[u8]) -> Range<usize> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match order.compare(self.key(middle), target) {
                Ordering::Less => low = middle + 1,
                _ => high = middle,
            }
        }
        let start = low * SAMPLE_EVERY;
        match low == self.ends.len() {
            true => start..usize::MAX,
            false => start..start + SAMPLE_EVERY - 1,
        }
    }
}

#[derive(Debug)]
enum Narrowed {
    Heads(Heads),
    Samples(Samples),
}

/// An unfolded index.
#[derive(Debug)]
pub(super) struct Directory {
    narrowed: Narrowed,
    spots: Vec<Spot>,
}

impl Directory {
    /// The directory of an index block and, if there is one, the filter block. `None` if the index does not have the usual form: a restart
    /// point for each entry, and less than 4 GiB of data.
    pub(super) fn new(
        order: &InternalOrder,
        index: &[u8],
        filters: Option<&[u8]>,
    ) -> Option<Directory> {
        let entries = block::whole_entries(index).ok()??;
        let filters = filters.and_then(FilterBlock::decode);
        let spot = |entry: &WholeEntry<'_>| {
            let handle = BlockHandle::decode_exact(entry.value)?;
            let filter = filters.and_then(|filters| filters.filter_of(handle.offset));
            let (filter_at, filter_len) = match filter {
                Some(filter) => (
                    u32::try_from(filter.start).ok()?,
                    u32::try_from(filter.len()).ok()?,
                ),
                None => (NO_FILTER, 0),
            };
            Some(Spot {
                at: u32::try_from(entry.at).ok()?,
                offset: u32::try_from(handle.offset).ok()?,
                len: u32::try_from(handle.len).ok()?,
                filter_at,
                filter_len,
            })
        };
        let spots = entries.iter().map(spot).collect::<Option<Vec<Spot>>>()?;
        let keys: Vec<&[u8]> = entries.iter().map(|entry| user_key(entry.key)).collect();
        let narrowed = match Heads::new(order, &keys) {
            Some(heads) => Narrowed::Heads(heads),
            None => Narrowed::Samples(Samples::new(&entries)),
        };
        Some(Directory { narrowed, spots })
    }

    /// How many bytes it takes, about.
    pub(super) fn len_bytes(&self) -> usize {
        let narrowed = match &self.narrowed {
            Narrowed::Heads(heads) => heads.len_bytes(),
            Narrowed::Samples(samples) => samples.keys.len() + size_of_val(samples.ends.as_slice()),
        };
        narrowed + size_of_val(self.spots.as_slice())
    }

    /// The number of the first index entry that is not less than an internal key; how many there are, if all are less.
    /// `index` is the block that this was made of.
    #[inline]
    pub(super) fn find(&self, order: &InternalOrder, index: &[u8], target: &[u8]) -> usize {
        let within = match &self.narrowed {
            Narrowed::Heads(heads) => heads.range(user_key(target)),
            Narrowed::Samples(samples) => samples.range(order, target),
        };
        let (mut low, mut high) = (within.start, within.end.min(self.spots.len()));
        while low < high {
            let middle = low + (high - low) / 2;
            let key = block::whole_key(index, self.spots[middle].at as usize);
            match order.compare(key.unwrap_or_default(), target) {
                Ordering::Less => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    #[inline]
    pub(super) fn spot(&self, i: usize) -> Option<&Spot> {
        self.spots.get(i)
    }

    /// What it has of all data blocks, in their order.
    pub(super) fn spots(&self) -> &[Spot] {
        &self.spots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{BlockBuilder, find};
    use crate::filter::FilterBlockBuilder;
    use crate::internal_key::{EntryKind, encode};
    use crate::{BytewiseComparator, Comparator, Identity, KeyFacts};
    use quickcheck::quickcheck;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    /// Longer keys first; not the order of bytes.
    #[derive(Debug)]
    struct LongerFirst;

    impl Comparator for LongerFirst {
        fn name(&self) -> &str {
            "longer first"
        }

        fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
            b.len().cmp(&a.len()).then_with(|| a.cmp(b))
        }

        fn shorten_separator(&self, _: &mut Vec<u8>, _: &[u8]) {}

        fn shorten_successor(&self, _: &mut Vec<u8>) {}
    }

    /// The length is all of the head.
    const FACTS: KeyFacts = KeyFacts {
        identity: |_| Identity::Several,
        head: |key| u128::MAX - (key.len() as u128),
    };

    fn orders() -> [InternalOrder; 3] {
        [
            InternalOrder::new(Arc::new(BytewiseComparator)),
            InternalOrder::new(Arc::new(LongerFirst)),
            InternalOrder::with_facts(Arc::new(LongerFirst), Some(FACTS)),
        ]
    }

    fn internal(user: &[u8], sequence: u64) -> Vec<u8> {
        let mut key = Vec::new();
        encode(&mut key, user, sequence, EntryKind::Value);
        key
    }

    /// An index whose i-th block lies at `3000 * i`.
    fn index(keys: &[Vec<u8>], restart_interval: usize) -> Vec<u8> {
        let mut builder = BlockBuilder::new(restart_interval);
        for (i, key) in keys.iter().enumerate() {
            let mut handle = Vec::new();
            let offset = 3000 * i as u64;
            BlockHandle { offset, len: 2995 }.encode(&mut handle);
            builder.add(key, &handle);
        }
        builder.finish().to_vec()
    }

    quickcheck! {
        fn it_finds_what_a_search_of_the_index_finds(
            users: BTreeSet<(Vec<u8>, u8)>, fill: u8, targets: Vec<(Vec<u8>, u8)>
        ) -> bool {
            let shared = vec![b'k'; usize::from(fill % 12)];
            let key = |(user, sequence): &(Vec<u8>, u8)| {
                let few: Vec<u8> = user.iter().map(|byte| byte % 4).collect();
                internal(&[&shared[..], &few].concat(), u64::from(sequence % 4))
            };
            let all: Vec<Vec<u8>> = users.iter().map(key).collect();
            orders().iter().all(|order| {
                let mut keys = all.clone();
                keys.sort_by(|a, b| order.compare(a, b));
                keys.dedup();
                let index = index(&keys, 1);
                let directory = Directory::new(order, &index, None).unwrap();
                targets.iter().map(key).chain(keys.clone()).all(|target| {
                    let compare = |key: &[u8]| order.compare(key, &target);
                    let found = find(&index, &mut Vec::new(), compare).unwrap();
                    let spot = directory.spot(directory.find(order, &index, &target));
                    spot.map(Spot::handle) == found.and_then(BlockHandle::decode_exact)
                })
            })
        }

        fn any_bytes_are_an_index_or_none(bytes: Vec<u8>, target: Vec<u8>) -> bool {
            orders().iter().all(|order| {
                let directory = Directory::new(order, &bytes, Some(&bytes));
                directory.is_none_or(|directory| directory.find(order, &bytes, &target) <= directory.spots.len())
            })
        }
    }

    #[test]
    fn an_index_of_another_form_is_left_to_its_own_search() {
        let keys: Vec<Vec<u8>> = (0..50u8).map(|n| internal(&[n], 1)).collect();
        for order in orders() {
            assert!(Directory::new(&order, &index(&keys, 2), None).is_none());
            assert!(Directory::new(&order, &index(&keys, 1), None).is_some());
        }
    }

    #[test]
    fn its_filters_say_what_the_filter_block_says() {
        let keys: Vec<Vec<u8>> = (0..50u8).map(|n| internal(&[n], 1)).collect();
        let index = index(&keys, 1);
        let mut builder = FilterBlockBuilder::new(10);
        // No filters for the last blocks.
        for n in 0..40u8 {
            builder.start_block(3000 * u64::from(n));
            if n % 5 > 0 {
                builder.add_key(&[n]);
            }
        }
        let filters = builder.finish();
        let directory = Directory::new(&orders()[0], &index, Some(&filters)).unwrap();
        let mut passed = 0;
        for i in 0..50 {
            let spot = directory.spot(i).unwrap();
            for n in 0..50 {
                let hash = bloom::key_hash(&[n]);
                let block = FilterBlock::decode(&filters).unwrap();
                let said = block.may_contain(spot.handle().offset, hash);
                assert_eq!(spot.may_contain(&filters, hash), said, "{i} {n}");
                passed += u32::from(said);
            }
        }
        assert!((532..800).contains(&passed), "{passed}");
    }
}
