//! Which rows of an index are known to be live in a view (decision 41).

use std::sync::Arc;

use larder_codec::RecordVersion;

use super::Reads;
use crate::reads::StoreContext;
use crate::staleness::{IndexPlace, Suspects};
use crate::sync::locked;
use crate::view::View;

/// What is known, for any number of rows.
#[derive(Debug)]
pub(crate) struct Liveness {
    view: View,
    context: Arc<StoreContext>,
    place: IndexPlace,
    /// Among what is committed; `None` if nothing is known.
    committed: Option<Arc<Suspects>>,
    /// In a transaction that writes, how often it had got another base when `committed` was asked for.
    generation: u64,
    /// The naive twin of the tests.
    #[cfg(test)]
    asks_always: bool,
}

impl Liveness {
    pub(crate) fn new(reads: &Reads, place: IndexPlace) -> Self {
        let view = reads.view().clone();
        let generation = view
            .pending()
            .map_or(0, |pending| locked(pending).generation());
        let mut liveness = Self {
            view,
            context: Arc::clone(&reads.context),
            place,
            committed: None,
            generation,
            #[cfg(test)]
            asks_always: reads.asks_always,
        };
        liveness.ask();
        liveness
    }

    /// What is known of what is committed, as far as the view has it.
    fn ask(&mut self) {
        let stamp = self.view.stamp();
        let facts = &self.context.index_facts;
        self.committed = stamp.and_then(|stamp| facts.suspects_at(self.place, stamp));
    }

    /// Whether a row of the index with this version is certainly live. If not, its record's row has to be asked.
    #[inline]
    pub(crate) fn is_certain(&mut self, version: RecordVersion) -> bool {
        #[cfg(test)]
        if self.asks_always {
            return false;
        }
        match self.view.pending() {
            None => self.is_certain_among_committed(version),
            Some(_) => self.is_certain_in_transaction(version),
        }
    }

    #[inline]
    fn is_certain_among_committed(&self, version: RecordVersion) -> bool {
        let suspects = self.committed.as_ref();
        suspects.is_some_and(|suspects| !suspects.contains(version.get()))
    }

    fn is_certain_in_transaction(&mut self, version: RecordVersion) -> bool {
        let Some(pending) = self.view.pending().map(Arc::clone) else {
            return false;
        };
        let generation = locked(&pending).generation();
        if generation != self.generation {
            // What it sees of object stores that are not its own may be newer.
            self.generation = generation;
            self.ask();
        }
        let (_, object_store_id, index_id) = self.place;
        let is_certain = self.is_certain_among_committed(version);
        let own = &locked(&pending).facts;
        own.is_certain((object_store_id, index_id), version.get(), is_certain)
    }

    /// Whether few rows, if any, have to be asked about.
    pub(crate) fn is_mostly_certain(&self) -> bool {
        #[cfg(test)]
        if self.asks_always {
            return false;
        }
        let committed = self.committed.as_ref();
        committed.is_some_and(|suspects| !suspects.are_many())
    }
}
