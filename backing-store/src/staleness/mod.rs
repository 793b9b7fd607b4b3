//! Which index rows are known to be live, so that reading need not ask their records' rows (decision 41).
//!
//! A fact about an index says: all of its rows are live but, perhaps, those of some versions, its *suspects*. It holds for
//! whatever is read from some moment on, and stays true with every write, because the version of a record that is replaced or
//! deleted joins the suspects before the write is in the engine. Too many suspects cost time; a missing one would be a wrong answer.
//!
//! A moment is a *stamp*: a count of commits, taken by a reader before it takes the engine's snapshot. So a fact that begins with a
//! commit holds for no snapshot from before, whatever sequence numbers the engine gives.

mod own;
mod suspects;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use larder_codec::{DatabaseId, IndexId, ObjectStoreId};

use crate::sync::locked;
pub(crate) use own::OwnFacts;
pub(crate) use suspects::Suspects;

/// An index, and where it is.
pub(crate) type IndexPlace = (DatabaseId, ObjectStoreId, IndexId);

/// The facts about the indexes of a store that is open for writing.
#[derive(Debug, Default)]
pub(crate) struct IndexFacts {
    facts: Mutex<BTreeMap<IndexPlace, Fact>>,
    /// Indexes whose rows are being looked at, with the suspects that were met or made since that began. Locked while `facts` is, or alone.
    surveys: Mutex<BTreeMap<IndexPlace, Suspects>>,
    /// The stamp: how many commits have changed facts.
    commits: AtomicU64,
    /// What is committed has no stale row, whatever is written: a store that does not lie in LevelDB takes a record's rows away with it.
    has_none_stale: bool,
}

#[derive(Debug)]
struct Fact {
    /// The first stamp that it holds for.
    since: u64,
    suspects: Arc<Suspects>,
}

impl IndexFacts {
    /// For a store in which no committed row is ever stale.
    pub(crate) fn of_none_stale() -> Self {
        Self {
            has_none_stale: true,
            ..Self::default()
        }
    }

    /// For a reader that is about to take a snapshot of the engine.
    pub(crate) fn stamp(&self) -> u64 {
        self.commits.load(Ordering::Acquire)
    }

    /// The suspects of an index among what was committed before a stamp was taken; `None` if nothing is known.
    pub(crate) fn suspects_at(&self, place: IndexPlace, stamp: u64) -> Option<Arc<Suspects>> {
        if self.has_none_stale {
            return Some(Arc::default());
        }
        let facts = locked(&self.facts);
        let fact = facts.get(&place).filter(|fact| fact.since <= stamp)?;
        Some(Arc::clone(&fact.suspects))
    }

    /// Whether anything is known of an index of this object store.
    pub(crate) fn has_any(&self, database_id: DatabaseId, id: ObjectStoreId) -> bool {
        let facts = locked(&self.facts);
        let is_any = facts.range(all_of(database_id, id)).next().is_some();
        let surveys = locked(&self.surveys);
        is_any || surveys.range(all_of(database_id, id)).next().is_some()
    }

    /// All rows of an index are going to be looked at. No transaction may be writing: one that has begun might not have noted what it
    /// replaces.
    pub(crate) fn begin_survey(&self, place: IndexPlace) {
        locked(&self.surveys).insert(place, Suspects::default());
    }

    /// A row with this version was met that may be stale, and stays.
    pub(crate) fn suspect_in_survey(&self, place: IndexPlace, version: i64) {
        if let Some(suspects) = locked(&self.surveys).get_mut(&place) {
            suspects.insert(version);
        }
    }

    /// All rows were looked at, and those that are stale are no more in the engine, but for the suspects.
    pub(crate) fn end_survey(&self, place: IndexPlace) {
        let mut facts = locked(&self.facts);
        let Some(suspects) = locked(&self.surveys).remove(&place) else {
            return;
        };
        let since = self.next_stamp();
        let suspects = Arc::new(suspects);
        facts.insert(place, Fact { since, suspects });
    }

    /// What surveys have met is of no use.
    pub(crate) fn end_surveys(&self) {
        locked(&self.surveys).clear();
    }

    /// Readers that come to have this stamp take their snapshot later.
    fn next_stamp(&self) -> u64 {
        self.commits.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Before a transaction's rows are in the engine: what it makes suspect is so for every reader from now on.
    pub(crate) fn before_commit(&self, database_id: DatabaseId, own: &OwnFacts) {
        if own.stores.is_empty() || self.has_none_stale {
            return;
        }
        let mut facts = locked(&self.facts);
        let mut surveys = locked(&self.surveys);
        for store in &own.stores {
            if store.is_base_void {
                let is_other =
                    |(database, id, _): &IndexPlace| (*database, *id) != (database_id, store.id);
                facts.retain(|place, _| is_other(place));
                surveys.retain(|place, _| is_other(place));
            }
            for index_id in &store.gone {
                facts.remove(&(database_id, store.id, *index_id));
                surveys.remove(&(database_id, store.id, *index_id));
            }
            if store.suspects.is_empty() {
                continue;
            }
            for (_, fact) in facts.range_mut(all_of(database_id, store.id)) {
                Arc::make_mut(&mut fact.suspects).extend(&store.suspects);
            }
            for (_, suspects) in surveys.range_mut(all_of(database_id, store.id)) {
                suspects.extend(&store.suspects);
            }
        }
    }

    /// When the rows are in the engine: what has had no rows at some moment of the transaction has only the suspects that it had since.
    pub(crate) fn after_commit(&self, database_id: DatabaseId, own: OwnFacts) {
        if self.has_none_stale || own.stores.iter().all(|store| store.fresh.is_empty()) {
            return;
        }
        let mut facts = locked(&self.facts);
        let since = self.next_stamp();
        for store in own.stores {
            let suspects = Arc::new(store.suspects);
            for index_id in store.fresh {
                let fact = Fact {
                    since,
                    suspects: Arc::clone(&suspects),
                };
                facts.insert((database_id, store.id, index_id), fact);
            }
        }
    }
}

fn all_of(database_id: DatabaseId, id: ObjectStoreId) -> std::ops::RangeInclusive<IndexPlace> {
    (database_id, id, IndexId::MIN)..=(database_id, id, IndexId::MAX)
}

#[cfg(test)]
mod tests;
