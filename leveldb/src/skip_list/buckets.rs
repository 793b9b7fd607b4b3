//! Nodes by a hash of 32 bits, for one thread that puts them in and any number that read: a hash table of 64-bit atomics that
//! grows with what is in it.
//!
//! A hash's upper bits choose a bucket: seven slots, each a hash in its upper half and a node in the lower one, and a word that
//! marks that there were more. Slots are filled in order and never emptied, so a hash that a bucket with room for all does not have is
//! absent. A table that is half full is copied into one of twice the length, each bucket into two. Readers may still be in
//! the old one, which is not changed any more: what they may see was inserted before.

use super::hints::Hint;
use crate::sync::{AtomicU64, AtomicUsize};
use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::Ordering as Memory;

const BUCKET_LEN: usize = 8;
/// Slots of the first table, as a power of two.
const FIRST_LG: usize = if cfg!(any(shuttle, miri)) { 3 } else { 10 };
/// The last has 2^20 slots, more than a memtable of usual size fills.
const TABLES: usize = if cfg!(any(shuttle, miri)) {
    3
} else {
    21 - FIRST_LG
};
/// A bucket's last word, if there were more than it has room for.
const MORE: u64 = 1;

type Table = Box<[AtomicU64]>;

/// The table, and those before it.
#[derive(Debug)]
pub(super) struct Buckets {
    /// Each twice as long as the one before. Only the newest is written to.
    tables: [OnceLock<Table>; TABLES],
    newest: AtomicUsize,
    /// How many of its slots are not empty; as many as of the one before when that was copied. The writer's.
    filled: AtomicUsize,
}

fn empty_table(len: usize) -> Table {
    (0..len).map(|_| AtomicU64::new(0)).collect()
}

/// Where a hash's bucket begins in a table.
#[inline]
fn bucket_at(hash: u32, table_len: usize) -> usize {
    let buckets = (table_len / BUCKET_LEN) as u64;
    ((u64::from(hash) * buckets) >> 32) as usize * BUCKET_LEN
}

#[inline]
fn hash_of(held: u64) -> u32 {
    (held >> 32) as u32
}

impl Default for Buckets {
    fn default() -> Buckets {
        Buckets {
            tables: [const { OnceLock::new() }; TABLES],
            newest: AtomicUsize::new(0),
            filled: AtomicUsize::new(0),
        }
    }
}

impl Buckets {
    #[inline]
    fn newest(&self) -> Option<&Table> {
        self.tables.get(self.newest.load(Memory::Acquire))?.get()
    }

    /// Puts a node in, in place of the one with the same hash if there is one. Called by one thread.
    pub(super) fn put(&self, hash: u32, node: u32) {
        if self.filled.load(Memory::Relaxed) > self.newest().map_or(0, |table| table.len() / 2) {
            self.grow();
        }
        let table = self.tables[self.newest.load(Memory::Relaxed)]
            .get_or_init(|| empty_table(1 << FIRST_LG));
        let at = bucket_at(hash, table.len());
        let Some((last, others)) = table[at..at + BUCKET_LEN].split_last() else {
            return;
        };
        let held = (u64::from(hash) << 32) | u64::from(node);
        for slot in others {
            let before = slot.load(Memory::Relaxed);
            if before == 0 || hash_of(before) == hash {
                slot.store(held, Memory::Release);
                let is_new = usize::from(before == 0);
                let filled = self.filled.load(Memory::Relaxed);
                self.filled.store(filled + is_new, Memory::Relaxed);
                return;
            }
        }
        last.store(MORE, Memory::Release);
    }

    /// Makes the next table, if there is one, of the newest.
    #[cold]
    fn grow(&self) {
        let number = self.newest.load(Memory::Relaxed);
        let (Some(old), Some(next)) = (self.newest(), self.tables.get(number + 1)) else {
            return;
        };
        let new = empty_table(2 * old.len());
        let halves = new.chunks(2 * BUCKET_LEN);
        for (bucket, both) in old.chunks(BUCKET_LEN).zip(halves) {
            let (lower, upper) = both.split_at(BUCKET_LEN);
            let (mut to_lower, mut to_upper) = (lower.iter(), upper.iter());
            let mut held = bucket.iter().map(|word| word.load(Memory::Relaxed));
            for slot in held.by_ref().take(BUCKET_LEN - 1).filter(|slot| *slot != 0) {
                let is_upper = bucket_at(hash_of(slot), new.len()) / BUCKET_LEN % 2 == 1;
                let half = match is_upper {
                    false => &mut to_lower,
                    true => &mut to_upper,
                };
                if let Some(free) = half.next() {
                    free.store(slot, Memory::Relaxed);
                }
            }
            let more = held.next().unwrap_or(MORE);
            for half in [lower, upper] {
                if let Some(last) = half.last() {
                    last.store(more, Memory::Relaxed);
                }
            }
        }
        // Only the writer sets it, and only here.
        let _ = next.set(new);
        self.newest.store(number + 1, Memory::Release);
    }

    /// Loads the beginning of a hash's bucket.
    #[inline]
    pub(super) fn touch(&self, hash: u32) {
        if let Some(table) = self.newest()
            && let Some(first) = table.get(bucket_at(hash, table.len()))
        {
            black_box(first.load(Memory::Relaxed));
        }
    }

    /// The node that was put in with a hash, at least of what was put in before anything that this thread has seen.
    #[inline]
    pub(super) fn get(&self, hash: u32) -> Hint {
        let Some(table) = self.newest() else {
            return Hint::Absent;
        };
        let at = bucket_at(hash, table.len());
        let Some((last, others)) = table[at..at + BUCKET_LEN].split_last() else {
            return Hint::Unknown;
        };
        for slot in others {
            let held = slot.load(Memory::Acquire);
            if held == 0 {
                break;
            }
            if hash_of(held) == hash {
                return Hint::Node(held as u32);
            }
        }
        match last.load(Memory::Acquire) {
            MORE => Hint::Unknown,
            _ => Hint::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;
    use std::collections::HashMap;

    const COUNT: u32 = if cfg!(miri) { 60 } else { 100_000 };

    #[test]
    fn most_hashes_are_found_whatever_it_grew_to_and_hardly_any_other() {
        let buckets = Buckets::default();
        let hash = |n: u32| n.wrapping_mul(0x9e37_79b9) ^ (n >> 7);
        let mut unknown = 0;
        for n in 1..=COUNT {
            buckets.put(hash(n), n);
            assert!(
                matches!(buckets.get(hash(n)), Hint::Node(node) if node == n) || {
                    unknown += 1;
                    buckets.get(hash(n)) == Hint::Unknown
                }
            );
        }
        assert_eq!(
            buckets.newest().unwrap().len(),
            if cfg!(miri) { 32 } else { 1 << 18 }
        );
        let nodes: Vec<Hint> = (1..=2 * COUNT).map(|n| buckets.get(hash(n))).collect();
        let (put_in, others) = nodes.split_at(COUNT as usize);
        let count = |hints: &[Hint], sought: Hint| {
            hints.iter().filter(|hint| **hint == sought).count() as u32
        };
        assert_eq!(count(put_in, Hint::Absent), 0);
        if !cfg!(miri) {
            assert!(
                unknown + count(put_in, Hint::Unknown) < COUNT / 20,
                "{unknown}"
            );
            assert!(count(others, Hint::Absent) > COUNT / 10 * 9);
        }
    }

    #[test]
    fn what_a_full_bucket_turned_away_is_absent_from_no_longer_table() {
        let buckets = Buckets::default();
        // The first bucket's in every table, and then those of all others.
        (1..=9).for_each(|n| buckets.put(n, n));
        let others = (10..COUNT).map(|n| (n.wrapping_mul(0x9e37_79b9), n));
        for (hash, n) in others.filter(|(hash, _)| hash >> 25 > 0) {
            buckets.put(hash, n);
            let expected = |n| match n {
                8 | 9 => Hint::Unknown,
                _ => Hint::Node(n),
            };
            assert!((1..=9).all(|n| buckets.get(n) == expected(n)), "{n}");
        }
        assert!(buckets.newest().unwrap().len() > 1 << FIRST_LG);
    }

    quickcheck! {
        fn a_hash_has_its_last_node_or_gives_no_answer(puts: Vec<(u16, bool)>, others: Vec<u16>) -> bool {
            // Few buckets, so that they overflow, and all of the tables.
            let hash = |n: u16, is_near: bool| match is_near {
                true => u32::from(n % 64),
                false => u32::from(n) << 16,
            };
            let buckets = Buckets::default();
            let mut model = HashMap::new();
            let agrees = |buckets: &Buckets, model: &HashMap<u32, u32>, hash| {
                match (buckets.get(hash), model.get(&hash)) {
                    (Hint::Node(node), Some(last)) => node == *last,
                    (Hint::Absent, Some(_)) | (Hint::Node(_), None) => false,
                    (Hint::Unknown, _) | (Hint::Absent, None) => true,
                }
            };
            for (node, (n, is_near)) in (1..).zip(puts.iter().cycle().take(4 * puts.len())) {
                buckets.put(hash(n.wrapping_mul(node as u16), *is_near), node);
                model.insert(hash(n.wrapping_mul(node as u16), *is_near), node);
            }
            let sought = model.keys().copied().chain(others.iter().map(|n| hash(*n, true)));
            sought.collect::<Vec<_>>().into_iter().all(|hash| agrees(&buckets, &model, hash))
        }
    }
}
