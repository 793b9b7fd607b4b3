//! Which transactions may run: in the order they were created, and none beside another that writes where it reads or
//! writes (specification, 2.7.1).
//!
//! Each object store has a lane, in which transactions stand in order of creation. Those in front are let in: one that
//! writes, or as many in a row as only read. A transaction starts when it has been let in everywhere.

use std::collections::{BTreeMap, VecDeque};

use larder_backing_store::ObjectStoreSet;
use larder_codec::ObjectStoreId;

/// If there are more lanes than these, those that are empty are removed.
const LANES_KEPT_MAX: usize = 64;

/// The lanes of a database.
#[derive(Debug, Default)]
pub(super) struct ScopeLocks {
    lanes: BTreeMap<ObjectStoreId, Lane>,
    /// In how many lanes a transaction has yet to be let in.
    waiting: BTreeMap<u64, usize>,
}

#[derive(Debug, Default)]
struct Lane {
    entries: VecDeque<Entry>,
    /// So many in front have been let in.
    admitted: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    transaction: u64,
    writes: bool,
}

impl Lane {
    /// The next one that is to be let in.
    fn admit(&mut self) -> Option<u64> {
        let next = *self.entries.get(self.admitted)?;
        let first = self.entries.front()?;
        let is_free = self.admitted == 0 || (!first.writes && !next.writes);
        is_free.then(|| {
            self.admitted += 1;
            next.transaction
        })
    }
}

impl Lane {
    /// The transactions that the last one, which was not let in, waits for directly: the writer before it, and if it writes itself, the
    /// readers between the two.
    fn note_awaited(&self, awaited: &mut Vec<u64>) {
        let mut older = self.entries.iter().rev();
        let Some(last) = older.next() else {
            return;
        };
        for entry in older {
            if last.writes || entry.writes {
                awaited.push(entry.transaction);
            }
            if entry.writes || !last.writes {
                return;
            }
        }
    }
}

impl ScopeLocks {
    /// The youngest transaction stands in the lanes of its object stores: whether it may start. Those that it waits for
    /// directly, and that have not been waited for in its lane before, are added to `awaited`.
    pub(super) fn enter(
        &mut self,
        transaction: u64,
        object_stores: &ObjectStoreSet,
        writes: bool,
        awaited: &mut Vec<u64>,
    ) -> bool {
        let mut waits = 0;
        for id in object_stores {
            let lane = self.lanes.entry(*id).or_default();
            lane.entries.push_back(Entry {
                transaction,
                writes,
            });
            if lane.admit().is_none() {
                waits += 1;
                lane.note_awaited(awaited);
            }
        }
        if waits > 0 {
            self.waiting.insert(transaction, waits);
        }
        waits == 0
    }

    /// A transaction goes: which others may start now.
    pub(super) fn leave(&mut self, transaction: u64, object_stores: &ObjectStoreSet) -> Vec<u64> {
        self.waiting.remove(&transaction);
        let mut startable = Vec::new();
        for id in object_stores {
            let Some(lane) = self.lanes.get_mut(id) else {
                continue;
            };
            let is_it = |entry: &Entry| entry.transaction == transaction;
            let Some(at) = lane.entries.iter().position(is_it) else {
                continue;
            };
            lane.entries.remove(at);
            lane.admitted -= usize::from(at < lane.admitted);
            while let Some(admitted) = lane.admit() {
                let Some(waits) = self.waiting.get_mut(&admitted) else {
                    continue;
                };
                *waits -= 1;
                if *waits == 0 {
                    self.waiting.remove(&admitted);
                    startable.push(admitted);
                }
            }
            if lane.entries.is_empty() && self.lanes.len() > LANES_KEPT_MAX {
                self.lanes.remove(id);
            }
        }
        startable.sort_unstable();
        startable
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn stores(ids: &[i64]) -> ObjectStoreSet {
        ids.iter()
            .filter_map(|id| ObjectStoreId::new(*id))
            .collect()
    }

    #[test]
    fn readers_share_and_writers_wait_for_all_that_are_older() {
        let mut locks = ScopeLocks::default();
        let all = stores(&[1]);
        let mut enter = |number, writes| {
            let mut awaited = Vec::new();
            let may_start = locks.enter(number, &all, writes, &mut awaited);
            awaited.sort_unstable();
            (may_start, awaited)
        };
        assert_eq!(enter(0, false), (true, vec![]));
        assert_eq!(enter(1, false), (true, vec![]));
        assert_eq!(enter(2, true), (false, vec![0, 1]));
        assert_eq!(
            enter(3, false),
            (false, vec![2]),
            "a reader behind a writer"
        );
        assert_eq!(enter(4, false), (false, vec![]), "another behind it");
        assert_eq!(enter(5, true), (false, vec![2, 3, 4]));
        assert!(locks.leave(5, &all).is_empty());
        assert!(locks.leave(4, &all).is_empty());
        assert!(locks.leave(0, &all).is_empty());
        assert_eq!(locks.leave(1, &all), [2]);
        assert_eq!(locks.leave(2, &all), [3]);
        assert!(locks.leave(3, &all).is_empty());
        let mut lanes = locks.lanes.values();
        assert!(lanes.all(|lane| lane.entries.is_empty()) && locks.waiting.is_empty());
    }

    /// The rule of the specification, by looking at all that are older.
    #[test]
    fn lanes_start_exactly_what_the_rule_lets_start() {
        let mut random = 7_u64;
        let mut draw = |end: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % end
        };
        for _ in 0..200 {
            let mut locks = ScopeLocks::default();
            let mut live: BTreeMap<u64, (ObjectStoreSet, bool)> = BTreeMap::new();
            let mut started = BTreeSet::new();
            for number in 0..60 {
                if draw(2) == 0 || live.is_empty() {
                    let mut scope = vec![1 + draw(4) as i64];
                    scope.extend((1..5).filter(|_| draw(2) == 0));
                    let (scope, writes) = (stores(&scope), draw(2) == 0);
                    if locks.enter(number, &scope, writes, &mut Vec::new()) {
                        started.insert(number);
                    }
                    live.insert(number, (scope, writes));
                } else {
                    // Any, also one that has not started: it was aborted.
                    let at = draw(live.len() as u64) as usize;
                    let gone = *live.keys().nth(at).unwrap();
                    let (scope, _) = live.remove(&gone).unwrap();
                    started.remove(&gone);
                    started.extend(locks.leave(gone, &scope));
                }
                let rule: BTreeSet<u64> = live
                    .iter()
                    .filter(|(number, (scope, writes))| {
                        live.range(..*number).all(|(_, (older, older_writes))| {
                            older.is_disjoint(scope) || !(*writes || *older_writes)
                        })
                    })
                    .map(|(number, _)| *number)
                    .collect();
                assert_eq!(started, rule);
            }
        }
    }
}
