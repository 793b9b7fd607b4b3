//! Sums of rows: two sets of rows are equal if their sums are, however the rows are ordered.

use std::hash::{DefaultHasher, Hasher};

/// A sum over byte strings in any order, 128 bits wide, with their number. Two different sets have one sum by chance alone, and
/// no chance is that great.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    count: u64,
    sums: [u64; 2],
}

impl Sum {
    /// Adds what the parts are together. The parts' ends count.
    pub(crate) fn add(&mut self, parts: &[&[u8]], version: i64) {
        self.count += 1;
        for (seed, sum) in self.sums.iter_mut().enumerate() {
            let mut hasher = DefaultHasher::new();
            hasher.write_usize(seed);
            hasher.write_i64(version);
            for part in parts {
                hasher.write_usize(part.len());
                hasher.write(part);
            }
            *sum = sum.wrapping_add(hasher.finish());
        }
    }

    /// How many were added.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(rows: &[(&[&[u8]], i64)]) -> Sum {
        let mut sum = Sum::default();
        rows.iter()
            .for_each(|(parts, version)| sum.add(parts, *version));
        sum
    }

    #[test]
    fn the_order_of_rows_does_not_count_and_everything_else_does() {
        let (a, b): (&[&[u8]], &[&[u8]]) = (&[b"ab", b"c"], &[b"a", b"bc"]);
        assert_eq!(sum(&[(a, 1), (b, 2)]), sum(&[(b, 2), (a, 1)]));
        assert_ne!(sum(&[(a, 1)]), sum(&[(b, 1)]));
        assert_ne!(sum(&[(a, 1)]), sum(&[(a, 2)]));
        assert_ne!(sum(&[(a, 1)]), sum(&[(a, 1), (a, 1)]));
        assert_ne!(sum(&[(a, 1), (b, 2)]), sum(&[(a, 2), (b, 1)]));
        assert_eq!(sum(&[(a, 1), (b, 2)]).count(), 2);
    }
}
