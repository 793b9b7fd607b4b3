//! Values that stay where the engine has them, as long as they do not hold much more memory than they need: then they are copied.

use std::collections::HashSet;

use larder_backing_store::PinnedBytes;

/// They hold at most so many times the bytes that they need.
const HOLD_MAX: usize = 2;
/// And so much more while they are collected, in bytes: the first come from a few of what may be thousands in one piece of memory.
const SLACK_LEN: usize = if cfg!(test) { 1 << 14 } else { 32 << 20 };
/// Bytes that are copied into one piece, but for a longer value alone in it.
const PIECE_LEN_MAX: usize = 1 << 16;

/// Values by the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Pinned {
    values: Vec<PinnedBytes>,
    len_bytes: usize,
    /// They held too much: no others come.
    is_copied: bool,
    /// What they hold, and how many bytes that is.
    memory: HashSet<usize>,
    last_memory: usize,
    held_bytes: usize,
}

impl Pinned {
    /// Adds a value: its place.
    pub(super) fn push(&mut self, value: PinnedBytes) -> usize {
        self.len_bytes += value.len();
        let memory = value.memory();
        // Most follow one another in one block or batch.
        if memory != self.last_memory && self.memory.insert(memory) {
            self.held_bytes += value.held_len();
        }
        self.last_memory = memory;
        self.values.push(value);
        if self.held_bytes > HOLD_MAX * self.len_bytes + SLACK_LEN {
            self.copy();
        }
        self.values.len() - 1
    }

    /// Whether others may come.
    pub(super) const fn is_open(&self) -> bool {
        !self.is_copied
    }

    pub(super) fn get(&self, at: usize) -> &[u8] {
        self.values.get(at).map_or(&[], |value| value)
    }

    /// No more values come: copies them if they hold too much.
    pub(super) fn settle(&mut self) {
        if !self.is_copied && self.held_bytes > HOLD_MAX * self.len_bytes {
            self.copy();
        }
        self.memory = HashSet::new();
    }

    /// Copies them.
    fn copy(&mut self) {
        self.is_copied = true;
        let mut left = &mut self.values[..];
        while !left.is_empty() {
            let mut len = 0;
            let fits = |value: &&PinnedBytes| {
                len += value.len();
                len <= PIECE_LEN_MAX
            };
            let count = left.iter().take_while(fits).count().max(1);
            let (these, others) = left.split_at_mut(count);
            let bytes: Vec<&[u8]> = these.iter().map(AsRef::as_ref).collect();
            let piece = PinnedBytes::from(bytes.concat());
            let mut at = 0;
            for value in these {
                *value = piece.part(at, at + value.len());
                at += value.len();
            }
            left = others;
        }
    }
}

#[cfg(test)]
mod tests {
    use larder_fixtures::random::Random;

    use super::*;

    impl Pinned {
        fn held(&self) -> usize {
            let memory = |value: &PinnedBytes| (value.memory(), value.held_len());
            let held: std::collections::HashMap<_, _> = self.values.iter().map(memory).collect();
            held.values().sum()
        }
    }

    /// Pieces of memory, of each so many values from here and there.
    fn check(seed: u64, pieces: u64, piece_len: u64, used_of_ten: u64) -> (usize, bool) {
        let mut random = Random::new(seed);
        let mut naive = Vec::new();
        for n in 0..pieces {
            let len = 1 + random.below(piece_len);
            let bytes: Vec<u8> = (0..len).map(|at| (at * 7 + n) as u8).collect();
            let piece = PinnedBytes::from(bytes);
            let mut start = 0;
            while start < piece.len() {
                let end = start + 1 + random.below(900) as usize;
                if random.below(10) < used_of_ten {
                    naive.push(piece.part(start, end));
                }
                start = end;
            }
        }
        if seed.is_multiple_of(2) {
            naive.sort_by_key(|value| value.len());
        }
        let mut pinned = Pinned::default();
        let mut len = 0;
        for (at, value) in naive.iter().enumerate() {
            if !pinned.is_open() {
                break;
            }
            assert_eq!(pinned.push(value.clone()), at);
            len += value.len();
            let held = pinned.held();
            assert!(
                held <= HOLD_MAX * len + SLACK_LEN + 2 * PIECE_LEN_MAX,
                "{held} for {len}, seed {seed}"
            );
        }
        pinned.settle();
        naive.truncate(pinned.values.len());
        for (at, value) in naive.iter().enumerate() {
            assert!(pinned.get(at) == &**value, "{at} of seed {seed}");
        }
        assert!(pinned.held() <= HOLD_MAX * len, "seed {seed}");
        let same = |(value, own): &(&PinnedBytes, &PinnedBytes)| value.memory() == own.memory();
        let same = naive.iter().zip(&pinned.values).filter(same).count();
        assert_eq!(same, if pinned.is_open() { naive.len() } else { 0 });
        (len, pinned.is_copied)
    }

    #[test]
    fn values_are_what_was_pinned_and_hold_at_most_twice_what_they_need() {
        for seed in 20_261_122..20_261_162 {
            let (len, is_copied) = check(seed, 60, 15_000, 9);
            // Scattered over all pieces, they hold too much until there are many.
            let is_scattered = seed.is_multiple_of(2);
            assert!(is_scattered || len > 200_000, "seed {seed}");
            assert_eq!(is_copied, is_scattered, "seed {seed}");
            let (_, is_copied) = check(seed, 60, 15_000, 2);
            assert!(is_copied, "seed {seed}");
            check(seed, 3, 300_000, 5);
        }
    }

    #[test]
    fn few_values_of_much_memory_are_copied_in_the_end() {
        let memory = PinnedBytes::from(vec![7; SLACK_LEN / 2]);
        let mut pinned = Pinned::default();
        pinned.push(memory.part(5, 300));
        pinned.push(memory.part(400, 500));
        assert!(pinned.is_open() && pinned.held() == SLACK_LEN / 2);
        pinned.settle();
        assert_eq!(pinned.held(), 295 + 100);
        assert_eq!(
            (pinned.get(0), pinned.get(1)),
            (&[7; 295][..], &[7; 100][..])
        );
    }

    #[test]
    fn nothing_is_nothing() {
        let mut pinned = Pinned::default();
        pinned.settle();
        assert!(pinned.get(0).is_empty());
    }
}
