//! What two commits both came of.

use crate::commit::{Commit, CommitId};
use crate::error::{Error, Result};
use crate::page::Page;
use std::collections::{BTreeMap, HashMap, HashSet};

/// How two commits, or sets of commits, are related.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The commits that both came of and that no other such commit came of, oldest first.
    pub bases: Vec<Commit>,
    /// Whether the first side has a commit of its own that is no merge.
    pub left_has_changes: bool,
    /// Whether the second has.
    pub right_has_changes: bool,
}

const LEFT: u8 = 1;
const RIGHT: u8 = 2;
const BOTH: u8 = LEFT | RIGHT;
/// Both sides came of a commit that came of this one.
const BELOW: u8 = 4;

/// Finds out how commits are related. It looks at what is of a higher generation than the oldest base, and goes no further.
///
/// # Errors
/// `Usage` if the history that would decide it has been pruned; `Corruption`; those of the engine.
pub fn relation(page: &Page, left: &[Commit], right: &[Commit]) -> Result<Relation> {
    let mut flags: HashMap<CommitId, u8> = HashMap::new();
    let mut open: BTreeMap<(u64, CommitId), Commit> = BTreeMap::new();
    for (side, commits) in [(LEFT, left), (RIGHT, right)] {
        for commit in commits {
            *flags.entry(commit.id()).or_default() |= side;
            open.insert((commit.generation(), commit.id()), commit.clone());
        }
    }
    let mut relation = Relation {
        bases: Vec::new(),
        left_has_changes: false,
        right_has_changes: false,
    };
    let mut undecided: HashSet<CommitId> = open.keys().map(|(_, id)| *id).collect();
    // By generation, the highest first: when a commit is looked at, everything that came of it has been. All that is below a base is
    // below; when nothing else is open, nothing else can be found.
    while !undecided.is_empty() {
        let Some((_, commit)) = open.pop_last() else {
            break;
        };
        undecided.remove(&commit.id());
        let mut flag = flags.get(&commit.id()).copied().unwrap_or_default();
        match flag {
            BOTH => {
                relation.bases.push(commit.clone());
                flag |= BELOW;
            }
            LEFT => relation.left_has_changes |= !commit.is_merge(),
            RIGHT => relation.right_has_changes |= !commit.is_merge(),
            _ => {}
        }
        for id in commit.parents() {
            let known = flags.entry(*id).or_default();
            *known |= flag;
            match *known & BELOW {
                0 => undecided.insert(*id),
                _ => undecided.remove(id),
            };
            let Some(parent) = page.commit_by_id(*id)? else {
                // What came before a base does not matter, and may have been pruned.
                if flag & BELOW != 0 {
                    continue;
                }
                let context = format!("commit {id:?}, which decides on a merge, has been pruned");
                return Err(Error::usage(context));
            };
            open.insert((parent.generation(), *id), parent);
        }
    }
    relation.bases.sort_by_key(Commit::time_order);
    Ok(relation)
}
