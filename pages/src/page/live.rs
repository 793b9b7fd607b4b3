//! What is in use, in memory: heads, pinned pieces and commits, branches that are followed.

use super::connection::Branch;
use super::{CollectPolicy, Inner};
use crate::commit::{Commit, CommitId};
use crate::object::{ObjectDigest, ObjectIdentifier};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};

#[derive(Debug, Default)]
pub(crate) struct State {
    heads: Vec<Commit>,
    pieces: HashMap<ObjectDigest, usize>,
    commits: HashMap<CommitId, usize>,
    /// What the next collection looks at, beside what is marked on disk.
    pub(crate) candidates: BTreeSet<ObjectIdentifier>,
    pub(super) branches: Vec<Weak<Branch>>,
}

impl State {
    pub(crate) fn heads(&self) -> Vec<Commit> {
        self.heads.clone()
    }

    /// Puts a head in place of those that it came of.
    pub(crate) fn set_heads(&mut self, gone: &[CommitId], head: Commit) {
        self.heads.retain(|old| !gone.contains(&old.id()));
        let at = self
            .heads
            .partition_point(|old| old.time_order() < head.time_order());
        self.heads.insert(at, head);
    }

    /// Whether a piece is in use by itself: as the root of a head or of something pinned.
    pub(crate) fn is_pinned(&self, digest: &ObjectDigest) -> bool {
        let is_root = |head: &Commit| head.root().digest == *digest;
        self.pieces.contains_key(digest) || self.heads.iter().any(is_root)
    }

    /// The heads, and the commits that are pinned.
    pub(crate) fn live_commits(&self) -> Vec<CommitId> {
        let heads = self.heads.iter().map(Commit::id);
        heads.chain(self.commits.keys().copied()).collect()
    }
}

/// Keeps a piece, and maybe the commit whose root it is, as long as it is held.
#[derive(Debug)]
pub(crate) struct Pin {
    page: Arc<Inner>,
    piece: ObjectIdentifier,
    commit: Option<CommitId>,
}

impl Pin {
    pub(crate) fn piece(page: &Arc<Inner>, piece: ObjectIdentifier) -> Pin {
        Pin::new(page, piece, None)
    }

    pub(crate) fn commit(page: &Arc<Inner>, commit: &Commit) -> Pin {
        Pin::new(page, commit.root(), Some(commit.id()))
    }

    fn new(page: &Arc<Inner>, piece: ObjectIdentifier, commit: Option<CommitId>) -> Pin {
        let mut state = page.state();
        *state.pieces.entry(piece.digest).or_default() += 1;
        if let Some(commit) = commit {
            *state.commits.entry(commit).or_default() += 1;
        }
        drop(state);
        Pin {
            page: page.clone(),
            piece,
            commit,
        }
    }
}

/// Takes one away: whether that was the last.
fn lower<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) -> bool {
    let Some(count) = counts.get_mut(key) else {
        return false;
    };
    *count -= 1;
    let is_last = *count == 0;
    if is_last {
        counts.remove(key);
    }
    is_last
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut state = self.page.state();
        let is_last = lower(&mut state.pieces, &self.piece.digest);
        if let Some(commit) = &self.commit {
            lower(&mut state.commits, commit);
        }
        let is_eager = self.page.options.collect == CollectPolicy::EagerLiveReferences;
        if is_last && is_eager && !self.piece.digest.is_inline() {
            state.candidates.insert(self.piece);
        }
    }
}
