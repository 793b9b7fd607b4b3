//! The tables of a store at one moment, and which of them are newer.
//!
//! Sources of entries have an age: the memtable is the newest (rank 0), then each level-0 table, the greatest number first,
//! then level after level. For one user key, every entry of a source is newer than every entry of an older one; that is what
//! decides which rows damage makes doubtful. Tables of one rank form [`Run`]s: sorted and without overlap.

use crate::filter::KeyFilter;
use crate::heads::Heads;
use crate::internal_key::{InternalOrder, user_key};
use crate::table_file::TableFile;
use crate::unsorted::Unsorted;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

/// The rank of tables whose age is not known.
pub(crate) const UNORDERED_RANK: usize = 1;

/// Tables in ascending order without overlap.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) rank: usize,
    pub(crate) files: Vec<Arc<TableFile>>,
    /// The heads of the tables' last user keys; `None` if nothing is known of the order, or one is unknown.
    heads: Option<Heads>,
    /// The filter of its only table.
    keys: Option<Arc<KeyFilter>>,
}

impl Run {
    /// The first table that may hold an entry not less than `target`.
    pub(crate) fn first_at_least(&self, order: &InternalOrder, target: &[u8]) -> usize {
        let is_before = |file: &Arc<TableFile>| {
            file.largest
                .as_ref()
                .is_some_and(|largest| order.compare(largest, target) == Ordering::Less)
        };
        let among = match &self.heads {
            Some(heads) => heads.range(user_key(target)),
            None => 0..self.files.len(),
        };
        among.start + self.files[among].partition_point(is_before)
    }

    /// Whether it may hold a key of this hash, as far as memory has it.
    #[inline]
    pub(crate) fn may_contain(&self, key_hash: u32) -> bool {
        let keys = self.keys.as_ref();
        keys.is_none_or(|keys| keys.may_contain(key_hash))
    }

    fn set_heads(&mut self, order: &InternalOrder) {
        let last = |file: &'_ Arc<TableFile>| file.largest.is_some();
        if self.files.iter().all(last) {
            let keys = self.files.iter().filter_map(|file| file.largest.as_deref());
            let keys: Vec<&[u8]> = keys.map(user_key).collect();
            self.heads = Heads::new(order, &keys);
        }
    }

    /// The table that may hold an entry of the user key of `target` that is not less than `target`.
    pub(crate) fn file_with(
        &self,
        order: &InternalOrder,
        target: &[u8],
    ) -> Option<&Arc<TableFile>> {
        let file = self.files.get(self.first_at_least(order, target))?;
        let starts_after = |smallest: &Vec<u8>| {
            order.compare_user(user_key(target), user_key(smallest)) == Ordering::Less
        };
        let is_outside = file.smallest.as_ref().is_some_and(starts_after);
        (!is_outside).then_some(file)
    }
}

/// An immutable set of tables.
#[derive(Debug, Default)]
pub(crate) struct Version {
    /// In the order of their ranks.
    pub(crate) runs: Vec<Run>,
    /// Tables whose keys are in another order, each a source of its own; there are some only where all tables have rank 1.
    pub(crate) unsorted: Vec<Arc<Unsorted>>,
    /// By table number.
    ranks: HashMap<u64, usize>,
    /// Whether each run has a rank of its own: the first entry that is found is the newest.
    pub(crate) is_layered: bool,
    /// The version whose tables are beneath those of an ingestion: as long as it lives, its tables stay.
    _base: Option<Arc<Version>>,
}

impl Version {
    /// From tables whose levels are known: `levels` may be given in any order.
    pub(crate) fn new(order: &InternalOrder, files: Vec<TableFile>) -> Version {
        Version::with_layers(order, [], files)
    }

    /// From layers of tables, the newest first, over a version. Within a layer none overlap.
    pub(crate) fn over<'f>(
        order: &InternalOrder,
        layers: impl IntoIterator<Item = &'f [TableFile]>,
        base: &Arc<Version>,
    ) -> Version {
        let files = base.files().map(|file| TableFile::clone(file)).collect();
        Version {
            _base: Some(Arc::clone(base)),
            ..Version::with_layers(order, layers, files)
        }
    }

    fn with_layers<'f>(
        order: &InternalOrder,
        layers: impl IntoIterator<Item = &'f [TableFile]>,
        files: Vec<TableFile>,
    ) -> Version {
        let mut version = Version::default();
        let mut rank = 1;
        for layer in layers {
            version.add_runs(order, rank, layer.to_vec());
            rank += 1;
        }
        let (mut first, deeper): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| file.level == 0);
        first.sort_by_key(|file| std::cmp::Reverse(file.number));
        for file in first {
            version.add_runs(order, rank, vec![file]);
            rank += 1;
        }
        let mut levels: Vec<Vec<TableFile>> = Vec::new();
        for file in deeper {
            if levels.len() < file.level {
                levels.resize_with(file.level, Vec::new);
            }
            let at = file.level - 1;
            levels[at].push(file);
        }
        for files in levels {
            version.add_runs(order, rank, files);
            rank += 1;
        }
        version.is_layered = version
            .runs
            .windows(2)
            .all(|pair| pair[0].rank < pair[1].rank);
        version
    }

    /// A version of tables whose age is not known: sequence numbers decide.
    pub(crate) fn unordered(order: &InternalOrder, files: Vec<TableFile>) -> Version {
        let mut version = Version::default();
        let (unsorted, sorted): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| file.is_unsorted);
        version.add_runs(order, UNORDERED_RANK, sorted);
        for file in unsorted {
            version.ranks.insert(file.number, UNORDERED_RANK);
            version.unsorted.push(Arc::new(Unsorted::new(file)));
        }
        version
    }

    /// Whether the tables of some level above 0 overlap.
    pub(crate) fn has_overlap(&self) -> bool {
        let is_deep = |run: &&Run| run.files.first().is_some_and(|file| file.level > 0);
        let ranks: Vec<usize> = self
            .runs
            .iter()
            .filter(is_deep)
            .map(|run| run.rank)
            .collect();
        ranks.windows(2).any(|pair| pair[0] == pair[1])
    }

    fn add_runs(&mut self, order: &InternalOrder, rank: usize, files: Vec<TableFile>) {
        for file in &files {
            let newest = self.ranks.entry(file.number).or_insert(rank);
            *newest = rank.min(*newest);
        }
        let mut sorted = files;
        sorted.sort_by(|a, b| by_smallest(order, a, b));
        let start = self.runs.len();
        // Of the runs that can go on, the one that ends first is the first to be free.
        let mut ends = BinaryHeap::new();
        for file in sorted {
            let file = Arc::new(file);
            let free = ends.peek().filter(|end: &&RunEnd<'_>| end.is_before(&file));
            let run = match free.map(|end| end.run) {
                Some(run) => {
                    ends.pop();
                    run
                }
                None => {
                    self.runs.push(Run {
                        rank,
                        keys: file.keys.clone(),
                        files: Vec::new(),
                        heads: None,
                    });
                    self.runs.len() - 1
                }
            };
            if file.smallest.is_some() && file.largest.is_some() {
                let last = Arc::clone(&file);
                ends.push(RunEnd { order, last, run });
            }
            let run = &mut self.runs[run];
            if !run.files.is_empty() {
                run.keys = None;
            }
            run.files.push(file);
        }
        for run in &mut self.runs[start..] {
            run.set_heads(order);
        }
    }

    /// How new a table's entries are; the smaller the newer.
    pub(crate) fn rank_of(&self, table: u64) -> Option<usize> {
        self.ranks.get(&table).copied()
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &Arc<TableFile>> {
        let unsorted = self.unsorted.iter().map(|unsorted| unsorted.file());
        self.runs.iter().flat_map(|run| &run.files).chain(unsorted)
    }
}

/// By smallest key, unknown ones first.
fn by_smallest(order: &InternalOrder, a: &TableFile, b: &TableFile) -> Ordering {
    match (&a.smallest, &b.smallest) {
        (Some(a), Some(b)) => order.compare(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

/// The last table of a run that is being made, of which both ends are known. The greatest of them ends first.
struct RunEnd<'a> {
    order: &'a InternalOrder,
    last: Arc<TableFile>,
    run: usize,
}

impl RunEnd<'_> {
    fn key(&self) -> &[u8] {
        self.last.largest.as_deref().unwrap_or_default()
    }

    fn is_before(&self, file: &TableFile) -> bool {
        let is_known = file.largest.is_some();
        let smallest = file.smallest.as_ref().filter(|_| is_known);
        smallest.is_some_and(|smallest| self.order.compare(self.key(), smallest) == Ordering::Less)
    }
}

impl Ord for RunEnd<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_key = self.order.compare(other.key(), self.key());
        by_key.then(other.run.cmp(&self.run))
    }
}

impl PartialOrd for RunEnd<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RunEnd<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for RunEnd<'_> {}
