//! The versions that the records of an object store have: what a long walk over an index asks, instead of a record's row for each
//! index row.
//!
//! Records' rows lie in the order of primary keys, so those of an index's entries lie anywhere, while all exists rows, read one behind the
//! other, take a hundredth of the time for each. A version that no record has makes an index row stale. One that a record has makes it live,
//! if that is the record with the row's primary key: a store that was repaired may have given a version twice. So a keyed hash of the
//! primary key is kept with it.

use std::hash::{BuildHasher, RandomState};

use larder_codec::versioned::ExistsRow;
use larder_codec::{KeyBound, RawKey, RecordVersion};

use crate::error::Result;
use crate::reads::has_two_forms;
use crate::view::{View, ViewIter};

/// When so many index rows have been asked about one by one, so many exists rows may have been read. A walk that ends early has not paid
/// for all records, and one that goes on pays for them once.
#[cfg(not(test))]
const STAGES: [(u64, usize); 4] = [
    (512, 16 << 10),
    (4096, 128 << 10),
    (32 << 10, 2 << 20),
    (256 << 10, RECORDS_MAX),
];
/// Small, so that tests come to each.
#[cfg(test)]
const STAGES: [(u64, usize); 4] = [(4, 12), (10, 20), (20, 40), (30, 60)];

/// For more records nothing is kept: this is some 128 MiB while they are read, and half as much for a moment besides.
#[cfg(not(test))]
const RECORDS_MAX: usize = 16 << 20;

/// A table of versions has no more places than so many for each record.
const PLACES_FOR_EACH: usize = 2;

/// The versions, as far as they have been read.
#[derive(Debug)]
pub(super) struct LiveVersions {
    /// Rows that were asked about.
    asked: u64,
    stage: usize,
    state: State,
    hasher: RandomState,
}

#[derive(Debug)]
enum State {
    NotBegun,
    Reading(Box<Reading>),
    Complete(Table),
    GivenUp,
}

#[derive(Debug)]
struct Reading {
    iter: ViewIter,
    /// A version, and the hash of the primary key that has it. No database has come to versions that do not fit.
    found: Vec<(u32, u32)>,
}

/// All of them.
#[derive(Debug)]
enum Table {
    /// By version, from the first on, the hash of the primary key; 0 for none.
    Dense(u32, Vec<u32>),
    /// In order.
    Sparse(Vec<(u32, u32)>),
}

impl LiveVersions {
    pub(super) fn new() -> Self {
        Self {
            asked: 0,
            stage: 0,
            state: State::NotBegun,
            hasher: RandomState::new(),
        }
    }

    /// The naive twin of the tests.
    #[cfg(test)]
    pub(super) fn given_up() -> Self {
        Self {
            state: State::GivenUp,
            ..Self::new()
        }
    }

    /// Whether all are there.
    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        matches!(self.state, State::Complete(_))
    }

    /// Whether an index row of this version and primary key is live; `None` if its record's row has to be asked.
    #[inline]
    pub(super) fn is_live(&self, version: RecordVersion, primary_key: RawKey<'_>) -> Option<bool> {
        let State::Complete(table) = &self.state else {
            return None;
        };
        // Other bytes than those of its record's rows may be an equal key.
        if has_two_forms(primary_key) {
            return None;
        }
        let hash = || hash_of(&self.hasher, primary_key.as_bytes());
        Some(u32::try_from(version.get()).is_ok_and(|version| table.has(version, hash)))
    }

    /// So many rows were asked about: reads on, when there were enough. `prefix` is that of the exists rows.
    #[inline]
    pub(super) fn note_asked(&mut self, count: u64, view: &View, prefix: &[u8]) {
        self.asked += count;
        if STAGES
            .get(self.stage)
            .is_some_and(|(asked, _)| self.asked >= *asked)
        {
            self.read_on(view, prefix);
        }
    }

    #[cold]
    fn read_on(&mut self, view: &View, prefix: &[u8]) {
        let state = std::mem::replace(&mut self.state, State::GivenUp);
        let reading = match state {
            State::NotBegun => Reading::begin(view, prefix),
            State::Reading(reading) => Ok(reading),
            other => {
                self.state = other;
                return;
            }
        };
        let (_, records_max) = STAGES[self.stage];
        self.stage += 1;
        // Where rows cannot be read, those that are asked one by one say so in their place.
        let read = reading.and_then(|mut reading| {
            let is_end = reading.read_up_to(records_max, prefix, &self.hasher)?;
            Ok((reading, is_end))
        });
        self.state = match read {
            Ok((reading, Some(true))) => State::Complete(Table::new(reading.found)),
            Ok((reading, Some(false))) if self.stage < STAGES.len() => State::Reading(reading),
            _ => State::GivenUp,
        };
    }
}

impl Reading {
    fn begin(view: &View, prefix: &[u8]) -> Result<Box<Self>> {
        let (mut low, mut high) = (prefix.to_vec(), prefix.to_vec());
        KeyBound::Min.encode(&mut low);
        KeyBound::Max.encode(&mut high);
        let mut iter = view.iter_near(&low, &high);
        iter.seek(&low)?;
        Ok(Box::new(Self {
            iter,
            found: Vec::new(),
        }))
    }

    /// Reads until so many are there: whether the end was reached; `None` if a row is not what it should be.
    fn read_up_to(
        &mut self,
        records_max: usize,
        prefix: &[u8],
        hasher: &RandomState,
    ) -> Result<Option<bool>> {
        while self.found.len() < records_max {
            let Some(primary_key) = self.iter.key().strip_prefix(prefix) else {
                return Ok(Some(true));
            };
            let row = ExistsRow::decode_exact(self.iter.value()?);
            let Some(version) = row
                .ok()
                .and_then(|row| u32::try_from(row.version.get()).ok())
            else {
                return Ok(None);
            };
            self.found.push((version, hash_of(hasher, primary_key)));
            self.iter.next()?;
        }
        Ok(Some(false))
    }
}

/// Never 0.
#[inline]
fn hash_of(hasher: &RandomState, primary_key: &[u8]) -> u32 {
    (hasher.hash_one(primary_key) >> 32) as u32 | 1
}

impl Table {
    fn new(mut found: Vec<(u32, u32)>) -> Self {
        found.sort_unstable();
        let has_twice = found.windows(2).any(|pair| pair[0].0 == pair[1].0);
        let first = found.first().map_or(0, |(version, _)| *version);
        let span = found.last().map_or(0, |(version, _)| version - first);
        let span = span as usize;
        if span / PLACES_FOR_EACH > found.len() || has_twice {
            return Self::Sparse(found);
        }
        let mut hashes = vec![0; span + 1];
        for (version, hash) in found {
            if let Some(place) = hashes.get_mut((version - first) as usize) {
                *place = hash;
            }
        }
        Self::Dense(first, hashes)
    }

    /// Whether the record with this version has a primary key with this hash.
    #[inline]
    fn has(&self, version: u32, hash: impl Fn() -> u32) -> bool {
        match self {
            Self::Dense(first, hashes) => {
                let place = version.checked_sub(*first);
                let found = place.and_then(|at| hashes.get(at as usize));
                found.is_some_and(|found| *found != 0 && *found == hash())
            }
            Self::Sparse(found) => {
                let start = found.partition_point(|(other, _)| *other < version);
                let behind = found.get(start..).unwrap_or_default();
                let mut of_version = behind.iter().take_while(|(other, _)| *other == version);
                of_version.any(|(_, found)| *found == hash())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_each_version_with_its_hash_however_they_lie() {
        let lists: [Vec<(u32, u32)>; 5] = [
            Vec::new(),
            vec![(7, 3)],
            (10..500).rev().map(|n| (n, n | 1)).collect(),
            (1..500).map(|n| (n * 8_000_009, n | 1)).collect(),
            // A version that was given twice.
            (1..500).map(|n| (n / 2, n | 1)).collect(),
        ];
        for list in lists {
            let table = Table::new(list.clone());
            for version in (0..600).chain(list.iter().map(|(version, _)| *version)) {
                for hash in [1, 3, 101, 499] {
                    assert_eq!(table.has(version, || hash), list.contains(&(version, hash)));
                }
            }
        }
    }
}
