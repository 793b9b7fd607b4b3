//! What a transaction that writes sees: its [`Staging`] over a [`Base`].

use std::cmp::Ordering;
use std::sync::{Arc, Mutex};

use larder_codec::compare::compare;
use larder_leveldb::PinnedBytes;

use super::ascending::AscendingLookups;
use super::base::{Base, BaseIter, Reach};
use crate::error::Result;
use crate::row_keys::RowKeys;
use crate::staging::{Place, Staging};
use crate::staleness::OwnFacts;
use crate::sync::locked;

/// A transaction's writes that the engine does not have yet, and what lies beneath. Shared between the transaction and its
/// cursors.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) base: Base,
    pub(crate) staging: Staging,
    /// What it changes in what is known of indexes.
    pub(crate) facts: OwnFacts,
    /// Counts how often `base` was replaced and `staging` emptied.
    generation: u64,
}

impl Pending {
    pub(crate) fn new(base: Base) -> Self {
        Self {
            base,
            staging: Staging::default(),
            facts: OwnFacts::default(),
            generation: 0,
        }
    }

    /// Counts how often `base` was replaced.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Goes on over `base`, which has all that was staged.
    pub(crate) fn restart(&mut self, base: Base) {
        self.base = base;
        self.staging.clear();
        self.generation += 1;
    }

    /// What lies beneath, and of each key what is staged, if anything is: a value, or none for a deletion.
    pub(super) fn staged(&mut self, keys: &RowKeys) -> (Base, Vec<Option<Option<Vec<u8>>>>) {
        let staged = keys.iter().map(|key| {
            let value = self.staging.get(key)?;
            Some(value.map(<[u8]>::to_vec))
        });
        (self.base.clone(), staged.collect())
    }

    pub(super) fn get_into(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        match self.get_staged(key, value) {
            Some(is_there) => Ok(is_there),
            None => self.base.get_into(key, value),
        }
    }

    /// What [`get_into`](Self::get_into) gives, of a key without another form in a table that ends at what `end` gives: faster if the
    /// keys come in their order.
    pub(crate) fn get_ascending(
        &mut self,
        lookups: &mut AscendingLookups,
        (key, end): (&[u8], impl FnOnce() -> Vec<u8>),
        value: &mut Vec<u8>,
    ) -> Result<bool> {
        match self.get_staged(key, value) {
            Some(is_there) => Ok(is_there),
            None => lookups.get_into((&self.base, self.generation), (key, end), value),
        }
    }

    /// Whether there is a value, if anything is staged.
    fn get_staged(&mut self, key: &[u8], value: &mut Vec<u8>) -> Option<bool> {
        let staged = self.staging.get(key)?;
        if let Some(staged) = staged {
            value.clear();
            value.extend_from_slice(staged);
        }
        Some(staged.is_some())
    }
}

/// Which side the current row comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Nothing,
    Base,
    Staged,
}

/// A cursor over both.
///
/// Invariant while it stands on a row, going forward: `base` and `place` are each at the first row of their side that lies
/// at or behind the current key and may show; the smaller is current. Backward the mirror image. What is staged later can
/// hide rows of the base and never unhides one, so `base` stays right; `place` is looked up again after edits.
#[derive(Debug)]
pub(super) struct StagedIter {
    pending: Arc<Mutex<Pending>>,
    base: BaseIter,
    /// How far the base may be searched; staged rows are in memory, and cost nothing to pass over.
    reach: Reach,
    generation: u64,
    edits: u64,
    place: Option<Place>,
    at: At,
    forward: bool,
    /// The current row, if it is staged.
    key: Vec<u8>,
    value: Vec<u8>,
}

impl StagedIter {
    pub(super) fn new(pending: Arc<Mutex<Pending>>, reach: Reach) -> Self {
        let (base, generation) = {
            let pending = locked(&pending);
            (pending.base.iter_within(&reach), pending.generation)
        };
        Self {
            pending,
            base,
            reach,
            generation,
            edits: 0,
            place: None,
            at: At::Nothing,
            forward: true,
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    pub(super) fn valid(&self) -> bool {
        self.at != At::Nothing
    }

    pub(super) fn key(&self) -> &[u8] {
        match self.at {
            At::Base => self.base.key(),
            At::Staged => &self.key,
            At::Nothing => &[],
        }
    }

    pub(super) fn value(&self) -> Result<&[u8]> {
        match self.at {
            At::Base => self.base.value(),
            At::Staged => Ok(&self.value),
            At::Nothing => Ok(&[]),
        }
    }

    pub(super) fn pinned_value(&self) -> Option<PinnedBytes> {
        match self.at {
            At::Base => self.base.pinned_value(),
            At::Staged | At::Nothing => None,
        }
    }

    pub(super) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.position(key, true, true)
    }

    pub(super) fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        self.position(key, false, true)
    }

    pub(super) fn next(&mut self) -> Result<()> {
        self.step(true)
    }

    pub(super) fn prev(&mut self) -> Result<()> {
        self.step(false)
    }

    /// To the nearest row at, if `included`, or beyond `key`.
    fn position(&mut self, key: &[u8], forward: bool, included: bool) -> Result<()> {
        let pending = Arc::clone(&self.pending);
        let mut pending = locked(&pending);
        pending.staging.settle();
        if self.generation != pending.generation {
            self.generation = pending.generation;
            self.base = pending.base.iter_within(&self.reach);
        }
        self.at = At::Nothing;
        self.forward = forward;
        if forward {
            self.base.seek(key)?;
        } else {
            self.base.seek_for_prev(key)?;
        }
        if !included && self.base.valid() && compare(self.base.key(), key) == Ordering::Equal {
            step_base(&mut self.base, forward)?;
        }
        self.edits = pending.staging.edits();
        self.place = place_near(&pending.staging, key, forward, included);
        self.settle(&pending.staging)
    }

    fn step(&mut self, forward: bool) -> Result<()> {
        if self.at == At::Nothing {
            return Ok(());
        }
        let shared = Arc::clone(&self.pending);
        let mut pending = locked(&shared);
        pending.staging.settle();
        if self.forward != forward || self.generation != pending.generation {
            drop(pending);
            let key = self.key().to_vec();
            return self.position(&key, forward, false);
        }
        let staging = &pending.staging;
        if self.edits != staging.edits() {
            self.edits = staging.edits();
            self.place = place_near(staging, self.key(), forward, false);
        } else if self.at == At::Staged {
            self.place = self.place.and_then(|place| staging.beyond(place, forward));
        }
        if self.at == At::Base {
            step_base(&mut self.base, forward)?;
        }
        self.settle(staging)
    }

    /// Makes the nearer side's row current, past rows that are replaced or deleted.
    fn settle(&mut self, staging: &Staging) -> Result<()> {
        self.at = At::Nothing;
        loop {
            let Some((place, row)) = self.place.and_then(|at| Some((at, staging.row(at)?))) else {
                if self.base.valid() {
                    self.at = At::Base;
                }
                return Ok(());
            };
            if self.base.valid() {
                let order = compare(self.base.key(), row.key);
                if order == Ordering::Equal {
                    step_base(&mut self.base, self.forward)?;
                    continue;
                }
                if (order == Ordering::Less) == self.forward {
                    self.at = At::Base;
                    return Ok(());
                }
            }
            if let Some(value) = row.value {
                self.key.clear();
                self.key.extend_from_slice(row.key);
                self.value.clear();
                self.value.extend_from_slice(value);
                self.at = At::Staged;
                return Ok(());
            }
            self.place = staging.beyond(place, self.forward);
        }
    }
}

fn step_base(base: &mut BaseIter, forward: bool) -> Result<()> {
    if forward { base.next() } else { base.prev() }
}

fn place_near(staging: &Staging, key: &[u8], forward: bool, included: bool) -> Option<Place> {
    if forward {
        staging.first_behind(key, included)
    } else {
        staging.last_before(key, included)
    }
}
