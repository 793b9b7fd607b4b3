//! Versions of records whose index rows may be stale.

/// So many ranges are kept apart; of more, the lower half becomes one.
const RANGES_MAX: usize = 4096;

/// A set of versions that may have more than was put in, and never has less.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Suspects {
    /// All up to this one.
    up_to: i64,
    /// Others: first and last of each range. In order, disjoint, above `up_to`.
    ranges: Vec<(i64, i64)>,
}

impl Suspects {
    #[inline]
    pub(crate) fn contains(&self, version: i64) -> bool {
        version <= self.up_to || (!self.ranges.is_empty() && self.is_in_range(version))
    }

    fn is_in_range(&self, version: i64) -> bool {
        let behind = self.ranges.partition_point(|(first, _)| *first <= version);
        let range = behind.checked_sub(1).and_then(|at| self.ranges.get(at));
        range.is_some_and(|(_, last)| version <= *last)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.up_to == 0 && self.ranges.is_empty()
    }

    /// Whether there are more than single ones.
    pub(crate) fn are_many(&self) -> bool {
        self.up_to > 0
    }

    pub(crate) fn insert(&mut self, version: i64) {
        self.insert_range(version, version);
    }

    fn insert_range(&mut self, first: i64, last: i64) {
        let first = first.max(self.up_to.saturating_add(1));
        if last < first {
            return;
        }
        // All that touch the new one become part of it.
        let start = self
            .ranges
            .partition_point(|(_, end)| *end < first.saturating_sub(1));
        let end = self
            .ranges
            .partition_point(|(begin, _)| *begin <= last.saturating_add(1));
        let touched = self.ranges.get(start..end).unwrap_or_default();
        let first = touched
            .first()
            .map_or(first, |(begin, _)| first.min(*begin));
        let last = touched.last().map_or(last, |(_, end)| last.max(*end));
        self.ranges.splice(start..end, [(first, last)]);
        if self.ranges.len() > RANGES_MAX {
            let (_, low_end) = self.ranges[RANGES_MAX / 2];
            self.insert_up_to(low_end);
        }
    }

    /// Adds all up to a version.
    pub(crate) fn insert_up_to(&mut self, version: i64) {
        if version <= self.up_to {
            return;
        }
        self.up_to = version;
        let covered = self.ranges.partition_point(|(_, last)| *last <= version);
        self.ranges.drain(..covered);
        if let Some((first, last)) = self.ranges.first_mut()
            && *first <= version
        {
            self.up_to = *last;
            self.ranges.remove(0);
        }
    }

    /// Adds another set.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.insert_up_to(other.up_to);
        for (first, last) in &other.ranges {
            self.insert_range(*first, *last);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_and_of_few_ranges_no_more() {
        fn law(steps: Vec<(u8, u8)>) -> bool {
            let (mut set, mut naive) = (Suspects::default(), BTreeSet::new());
            for (kind, version) in steps {
                let version = i64::from(version);
                match kind % 4 {
                    0 => {
                        let mut other = Suspects::default();
                        other.insert_up_to(version / 8);
                        other.insert(version);
                        set.extend(&other);
                        naive.extend(1..=version / 8);
                        naive.insert(version);
                    }
                    1 if kind % 8 == 1 => {
                        set.insert_up_to(version / 4);
                        naive.extend(1..=version / 4);
                    }
                    _ => {
                        set.insert(version);
                        naive.insert(version);
                    }
                }
            }
            (1..300).all(|version| set.contains(version) == naive.contains(&version))
        }
        quickcheck::QuickCheck::new()
            .tests(2000)
            .quickcheck(law as fn(Vec<(u8, u8)>) -> bool);
    }

    #[test]
    fn a_set_of_many_ranges_has_more_and_stays_small() {
        let mut set = Suspects::default();
        for version in 1..20_000 {
            set.insert(version * 2);
        }
        assert!((1..20_000).all(|version| set.contains(version * 2)));
        assert!(set.ranges.len() <= RANGES_MAX);
        assert!(!set.contains(39_999) && set.are_many());
    }
}
