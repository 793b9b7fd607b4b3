//! Deletes the history that no device has to know.

use super::{Inner, Page, PrunePolicy};
use crate::commit::{Commit, CommitId};
use crate::error::Result;
use crate::rows::{PieceStatus, ReferenceSource};
use larder_leveldb::write_batch::BatchWriter;
use std::collections::{BTreeMap, BTreeSet};

/// So many commits are deleted at most in one batch. Few in tests: they crash between batches.
const BATCH_COMMITS: usize = if cfg!(test) { 2 } else { 256 };

impl Page {
    /// Deletes commits as [`PageOptions::prune`](crate::PageOptions::prune) says: how many. Their trees go with the next
    /// [`collect`](Self::collect).
    ///
    /// # Errors
    /// `Corruption`, those of the engine. What was deleted by then stays so.
    pub fn prune(&self) -> Result<u64> {
        let inner = &*self.0;
        let _writing = inner.writing();
        let mut gone = inner.prunable()?;
        let count = gone.len() as u64;
        // The oldest first: what is left after a crash is a history that begins later.
        while !gone.is_empty() {
            let mut batch = BatchWriter::new();
            for _ in 0..BATCH_COMMITS {
                let Some((_, commit)) = gone.pop_first() else {
                    break;
                };
                inner.stage_removal(&mut batch, &commit);
            }
            inner.write(&mut batch)?;
        }
        Ok(count)
    }
}

impl Inner {
    /// The commits that the policy gives up, by generation. The writer's lock is held.
    pub(super) fn prunable(&self) -> Result<BTreeMap<(u64, CommitId), Commit>> {
        if self.options.prune == PrunePolicy::Never {
            return Ok(BTreeMap::new());
        }
        match self.latest_common_ancestor()? {
            Some(last) => self.ancestors(&last),
            None => Ok(BTreeMap::new()),
        }
    }

    /// The latest commit that all commits in use came of, each on every way to it.
    fn latest_common_ancestor(&self) -> Result<Option<Commit>> {
        let mut ids = self.state().live_commits();
        for (_, id) in self.unsynced()? {
            ids.push(id);
        }
        let mut open = BTreeMap::new();
        for id in ids {
            let commit = self.commit(id)?;
            // The first parent of what is not synced says what is to be uploaded; so it is in use, too.
            let first = commit.iter().flat_map(|commit| commit.parents().first());
            for id in [&id].into_iter().chain(first) {
                if let Some(commit) = self.commit(*id)? {
                    open.insert((commit.generation(), commit.id()), commit);
                }
            }
        }
        loop {
            let Some((_, latest)) = open.pop_last() else {
                return Ok(None);
            };
            if open.is_empty() {
                return Ok(Some(latest));
            }
            for parent in latest.parents() {
                if let Some(parent) = self.commit(*parent)? {
                    open.insert((parent.generation(), parent.id()), parent);
                }
            }
        }
    }

    /// The commits that a commit came of, but for the first, by generation.
    fn ancestors(&self, commit: &Commit) -> Result<BTreeMap<(u64, CommitId), Commit>> {
        let mut found = BTreeMap::new();
        let mut open: BTreeSet<CommitId> = commit.parents().iter().copied().collect();
        while let Some(id) = open.pop_first() {
            let Some(commit) = self.commit(id)?.filter(|_| id != CommitId::FIRST) else {
                continue;
            };
            open.extend(commit.parents());
            found.insert((commit.generation(), id), commit);
        }
        Ok(found)
    }

    fn stage_removal(&self, batch: &mut BatchWriter, commit: &Commit) {
        let (dialect, id, root) = (self.dialect, commit.id(), commit.root());
        batch.delete(&dialect.commit(id));
        if let [first, second] = *commit.parents() {
            batch.delete(&dialect.merge([first, second], id));
        }
        if !root.digest.is_inline() {
            let source = ReferenceSource::Commit(id);
            batch.delete(&dialect.reference(&root.digest, source));
            // A mark: the next collection looks at it, also after a crash.
            batch.put(&dialect.status(PieceStatus::Transient, &root), &[]);
        }
    }
}
