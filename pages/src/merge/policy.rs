//! How heads become one.

use super::ancestors::relation;
use super::base::Overlay;
use super::conflict::{Conflict, ConflictResolver};
use crate::commit::{Commit, CommitId, Timestamp};
use crate::error::{ErrorKind, Result};
use crate::page::Page;
use std::collections::HashSet;
use std::fmt;

/// What happens to entries that two heads have changed since they parted.
#[derive(Default)]
pub enum MergePolicy<'a> {
    /// The later head's entry stays, whole, where both have changed it. Entries that one of them has changed are as it has them.
    #[default]
    LastOneWins,
    /// If no entry has been changed by both, or by both alike, all changes are taken; else the resolver decides on all of them.
    AutomaticWithFallback(&'a mut dyn ConflictResolver),
    /// The resolver decides on everything.
    Custom(&'a mut dyn ConflictResolver),
}

impl fmt::Debug for MergePolicy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MergePolicy::LastOneWins => "LastOneWins",
            MergePolicy::AutomaticWithFallback(_) => "AutomaticWithFallback",
            MergePolicy::Custom(_) => "Custom",
        })
    }
}

/// What merging has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeOutcome {
    /// So many merge commits were made.
    pub merged: u64,
    /// Whether there is one head now. If not, the resolver has put it off, or something must be fetched first.
    pub is_one: bool,
}

impl Page {
    /// Merges heads until there is one, or none can be merged. The two oldest come first.
    ///
    /// # Errors
    /// Those of the resolver; `Usage` if the history that decides has been pruned; `Corruption`; those of the engine. Merges that were made stay.
    pub fn merge(&self, policy: &mut MergePolicy<'_>) -> Result<MergeOutcome> {
        let mut outcome = MergeOutcome::default();
        let mut put_off: HashSet<(CommitId, CommitId)> = HashSet::new();
        'heads: loop {
            let heads = self.heads();
            let [first, rest @ ..] = &heads[..] else {
                return Ok(outcome);
            };
            for other in rest {
                if put_off.contains(&(first.id(), other.id())) {
                    continue;
                }
                match self.merge_pair(first, other, policy) {
                    Ok(true) => {
                        outcome.merged += 1;
                        continue 'heads;
                    }
                    Ok(false) => {}
                    Err(error) if error.kind() == ErrorKind::NeedsFetch => {}
                    Err(error) => return Err(error),
                }
                put_off.insert((first.id(), other.id()));
            }
            outcome.is_one = rest.is_empty();
            return Ok(outcome);
        }
    }

    /// Merges two heads, the older first: whether it has.
    fn merge_pair(
        &self,
        older: &Commit,
        newer: &Commit,
        policy: &mut MergePolicy<'_>,
    ) -> Result<bool> {
        let one = std::slice::from_ref;
        let relation = relation(self, one(older), one(newer))?;
        if !relation.left_has_changes || !relation.right_has_changes {
            // What a side without changes of its own holds came of decisions on what the other has as well.
            let base = match (relation.left_has_changes, relation.right_has_changes) {
                (true, false) | (false, false) => older,
                _ => newer,
            };
            let other = if base.id() == older.id() {
                newer
            } else {
                older
            };
            self.commit(self.begin_merge(base, other), Timestamp::default())?;
            return Ok(true);
        }
        let overlay = Overlay::new(self);
        let base = overlay.base(&relation.bases, 0)?;
        let mut conflict = Conflict {
            page: self,
            overlay: &overlay,
            base,
            left: newer,
            right: older,
            journal: self.begin_merge(newer, older),
        };
        let is_decided = match policy {
            MergePolicy::LastOneWins => {
                conflict.merge_non_conflicting()?;
                true
            }
            MergePolicy::AutomaticWithFallback(resolver) => {
                if conflict.conflicting_diff(b"", 1)?.entries.is_empty() {
                    conflict.merge_non_conflicting()?;
                    true
                } else {
                    resolver.resolve(&mut conflict)?
                }
            }
            MergePolicy::Custom(resolver) => resolver.resolve(&mut conflict)?,
        };
        if is_decided {
            self.commit(conflict.into_journal()?, Timestamp::default())?;
        }
        Ok(is_decided)
    }
}
