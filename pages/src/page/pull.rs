//! Two pages on one machine meet.

use super::add_commits::ChangeSource;
use super::pieces::{check_depth, references};
use super::{Incoming, Inner, Page, Pin};
use crate::commit::{Commit, CommitId};
use crate::error::{Error, Result};
use crate::object::{ObjectIdentifier, Priority};
use std::collections::{BTreeMap, BTreeSet};

/// What a page has taken from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pulled {
    /// So many commits.
    pub commits: u64,
    /// So many pieces of their trees and values.
    pub pieces: u64,
}

impl Page {
    /// Takes what another page has and this has not: its commits, their trees, the values that are eager. Lazy ones come with them only if
    /// `with_lazy` says so. Nothing is merged by that.
    ///
    /// # Errors
    /// `Usage` if the pages have two fan-outs and neither is empty; `NeedsFetch` if the other page has not all of it; those of [`Incoming::add_pieces`] and [`add_commits`](Self::add_commits). What was
    /// taken whole stays, and the next call goes on.
    pub fn pull_from(&self, other: &Page, with_lazy: bool) -> Result<Pulled> {
        let mut pulled = Pulled::default();
        let pins: Vec<Pin> = other
            .heads()
            .iter()
            .map(|head| Pin::commit(&other.0, head))
            .collect();
        let missing = self.missing(other)?;
        if !missing.is_empty() {
            self.adopt_fanout(other.fanout())?;
        }
        for (_, commit) in missing {
            let mut incoming = self.incoming();
            pulled.pieces += pull_piece(&mut incoming, &other.0, commit.root(), with_lazy, 0)?;
            let added = incoming.add_commits(&[commit.as_bytes()], ChangeSource::Peer)?;
            pulled.commits += added.len() as u64;
        }
        drop(pins);
        Ok(pulled)
    }

    /// The commits that another page has and this has not, parents first.
    fn missing(&self, other: &Page) -> Result<BTreeMap<(u64, CommitId), Commit>> {
        let mut missing = BTreeMap::new();
        let mut open: BTreeSet<CommitId> = other.heads().iter().map(Commit::id).collect();
        while let Some(id) = open.pop_first() {
            if self.0.commit(id)?.is_some() {
                continue;
            }
            let commit = other.0.commit(id)?.ok_or_else(|| {
                Error::usage(format!("commit {id:?} has been pruned from the other page"))
            })?;
            open.extend(commit.parents());
            missing.insert((commit.generation(), id), commit);
        }
        Ok(missing)
    }
}

/// Takes a piece, after what it refers to: how many that were not inline. A piece that is here has all of that here.
fn pull_piece(
    incoming: &mut Incoming,
    other: &Inner,
    id: ObjectIdentifier,
    with_lazy: bool,
    depth: usize,
) -> Result<u64> {
    check_depth(depth, &id)?;
    if id.digest.is_inline() {
        return Ok(0);
    }
    if incoming.has_piece(&id)? {
        return Ok(1);
    }
    let content = other.content(&id)?;
    let mut count = 1;
    for reference in references(other, None, &id, &content)? {
        if reference.priority == Priority::Eager || with_lazy {
            count += pull_piece(incoming, other, reference.identifier, with_lazy, depth + 1)?;
        }
    }
    incoming.add_pieces(&[(id, &content)])?;
    Ok(count)
}
