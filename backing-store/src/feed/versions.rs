//! A set of versions of records: of a million that follow one another it has some hundred kilobytes.

use std::collections::BTreeMap;

use larder_codec::RecordVersion;

const BITS: i64 = 64;

/// The set: a bit for each version, in words by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Versions(BTreeMap<i64, u64>);

const fn place(version: RecordVersion) -> (i64, u64) {
    let version = version.get();
    (version / BITS, 1 << (version % BITS))
}

impl Versions {
    pub(crate) fn insert(&mut self, version: RecordVersion) {
        let (word, bit) = place(version);
        *self.0.entry(word).or_default() |= bit;
    }

    /// Takes one out; whether it was there.
    pub(crate) fn remove(&mut self, version: RecordVersion) -> bool {
        let (word, bit) = place(version);
        let Some(bits) = self.0.get_mut(&word) else {
            return false;
        };
        let was_there = *bits & bit != 0;
        *bits &= !bit;
        if *bits == 0 {
            self.0.remove(&word);
        }
        was_there
    }

    pub(crate) fn contains(&self, version: RecordVersion) -> bool {
        let (word, bit) = place(version);
        self.0.get(&word).is_some_and(|bits| bits & bit != 0)
    }

    /// The least at or above a version.
    pub(crate) fn from(&self, version: RecordVersion) -> Option<RecordVersion> {
        let (word, bit) = place(version);
        let mut words = self.0.range(word..);
        words.find_map(|(at, bits)| {
            let bits = match *at == word {
                true => bits & !(bit - 1),
                false => *bits,
            };
            let lowest = i64::from(bits.trailing_zeros());
            (lowest < BITS).then(|| RecordVersion::new(at * BITS + lowest))?
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_set_of_versions_is_a_set() {
        fn law(steps: Vec<(bool, u16, bool)>) -> bool {
            let version = |number: i64| RecordVersion::new(number).unwrap();
            let (mut set, mut naive) = (Versions::default(), BTreeSet::new());
            for (inserts, low, is_high) in steps {
                let number = i64::from(low % 300) + if is_high { 1 << 52 } else { 0 };
                match inserts {
                    true => {
                        set.insert(version(number));
                        naive.insert(number);
                    }
                    false if set.remove(version(number)) != naive.remove(&number) => return false,
                    false => {}
                }
            }
            (0..310).all(|number| {
                let from = naive.range(number..).next().copied();
                set.contains(version(number)) == naive.contains(&number)
                    && set.from(version(number)).map(RecordVersion::get) == from
            })
        }
        quickcheck::quickcheck(law as fn(Vec<(bool, u16, bool)>) -> bool);
    }
}
