//! What snapshots and iterators read from.

use crate::bounds::Bounds;
use crate::core::Core;
use crate::memtable::{MemCursor, MemTable};
use crate::on_damage::OnDamage;
use crate::skip_list::{SkipCursor, SkipList};
use crate::source::{RunCursor, Source};
use crate::unsorted::UnsortedCursor;
use crate::version::Version;
use std::sync::Arc;

/// What a snapshot reads from. Immutable, but for newer entries that are put into the first memtable.
#[derive(Clone, Debug)]
pub(crate) struct ReadState {
    pub(crate) core: Arc<Core>,
    pub(crate) version: Arc<Version>,
    /// What the logs hold, when opened for reading only, or for writing as long as there is no room for tables of it.
    pub(crate) mem: Arc<MemTable>,
    /// Being written, the newest first: the one that is filled and the one that becomes a table.
    pub(crate) live: Vec<Arc<SkipList>>,
}

impl ReadState {
    /// Whether any damage is an error, and nothing is amiss: what lookups without cursors rely on.
    #[inline]
    pub(crate) fn is_simple(&self) -> bool {
        self.core.on_damage == OnDamage::Fail && self.version.is_layered && self.mem.is_empty()
    }

    /// The memtable that holds all rows, if one does.
    #[inline]
    pub(crate) fn only_memtable(&self) -> Option<&Arc<SkipList>> {
        match &*self.live {
            [only] if self.version.runs.is_empty() && self.is_simple() => Some(only),
            _ => None,
        }
    }

    /// A cursor for each source, the newest first.
    pub(crate) fn sources(&self) -> Vec<Source> {
        self.sources_within(None)
    }

    /// A cursor for each source, the newest first, for a reader of the bounds alone: entries outside of them may be left out.
    pub(crate) fn sources_within(&self, bounds: Option<Arc<Bounds>>) -> Vec<Source> {
        let live = self
            .live
            .iter()
            .map(|list| Source::Live(SkipCursor::new(list.clone())));
        let mem = (!self.mem.is_empty())
            .then(|| Source::Mem(MemCursor::new(self.mem.clone(), self.core.order.clone())));
        let run = |i| {
            let run = RunCursor::new(self.core.clone(), self.version.clone(), i);
            Source::Run(run.within(bounds.clone()))
        };
        let unsorted = self.version.unsorted.iter();
        let unsorted = unsorted
            .map(|table| Source::Unsorted(UnsortedCursor::new(self.core.clone(), table.clone())));
        live.chain(mem)
            .chain((0..self.version.runs.len()).map(run))
            .chain(unsorted)
            .collect()
    }
}
