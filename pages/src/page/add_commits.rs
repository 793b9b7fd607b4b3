//! Commits and pieces, made here or come from elsewhere, into rows.

#[cfg(doc)]
use super::Incoming;
use super::pieces::references;
use super::staged::Staged;
use super::{Inner, Page};
use crate::commit::{Commit, CommitId};
use crate::error::{Error, Result};
use crate::object::{ObjectIdentifier, ObjectType};
use crate::rows::{PieceStatus, ReferenceSource};
use larder_leveldb::write_batch::BatchWriter;
use std::collections::HashMap;

/// Where commits and pieces come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeSource {
    /// Another device, without the cloud: they are to be synced from here, too.
    Peer,
    /// The cloud, which has them.
    Cloud,
}

impl ChangeSource {
    pub(super) const fn status(self) -> PieceStatus {
        match self {
            ChangeSource::Peer => PieceStatus::Local,
            ChangeSource::Cloud => PieceStatus::Synced,
        }
    }
}

impl Inner {
    /// Writes a commit that was made here, with what is staged for it. The caller holds the writer's lock.
    pub(super) fn install_local(&self, staged: Staged<'_>, commit: &Commit) -> Result<()> {
        let mut batch = staged.finish(PieceStatus::Local);
        if self.commit(commit.id())?.is_some() {
            return self.write(&mut batch);
        }
        self.stage_commit(&mut batch, commit, PieceStatus::Local);
        self.write(&mut batch)?;
        self.state().set_heads(commit.parents(), commit.clone());
        Ok(())
    }

    fn stage_commit(&self, batch: &mut BatchWriter, commit: &Commit, status: PieceStatus) {
        let dialect = self.dialect;
        let id = commit.id();
        batch.put(&dialect.commit(id), commit.as_bytes());
        if !commit.root().digest.is_inline() {
            let source = ReferenceSource::Commit(id);
            batch.put(&dialect.reference(&commit.root().digest, source), &[]);
        }
        for parent in commit.parents() {
            batch.delete(&dialect.head(*parent));
        }
        batch.put(&dialect.head(id), &commit.timestamp().0.to_le_bytes());
        if let [first, second] = *commit.parents() {
            batch.put(&dialect.merge([first, second], id), &[]);
        }
        if status != PieceStatus::Synced {
            let generation = commit.generation().to_le_bytes();
            batch.put(&dialect.unsynced_commit(id), &generation);
        }
    }

    /// Stages what of a tree is transient to be raised: a piece that is not has nothing transient below it.
    pub(super) fn raise_tree(&self, staged: &mut Staged<'_>, root: ObjectIdentifier) -> Result<()> {
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            if !staged.raise_piece(id)? {
                continue;
            }
            let references = references(self, None, &id, &self.content(&id)?)?;
            open.extend(references.into_iter().map(|one| one.identifier));
        }
        Ok(())
    }

    /// Whether a commit's parents are here, and of the generation below.
    fn check_parents(&self, commit: &Commit, added: &HashMap<CommitId, Commit>) -> Result<()> {
        let mut generation = 0;
        for parent in commit.parents() {
            let known = match added.get(parent) {
                Some(parent) => Some(parent.generation()),
                None => self.commit(*parent)?.map(|parent| parent.generation()),
            };
            generation = generation.max(known.ok_or_else(|| {
                let id = commit.id();
                Error::usage(format!("commit {id:?} comes before its parent {parent:?}"))
            })?);
        }
        match commit.generation() == generation + 1 {
            true => Ok(()),
            false => Err(Error::corruption(format!(
                "commit {:?} is of generation {}, and its latest parent of {generation}",
                commit.id(),
                commit.generation()
            ))),
        }
    }
}

impl Page {
    /// Takes commits that came from elsewhere, all or none: each after its parents, and after the pieces of its tree ([`Incoming::add_pieces`]).
    /// Those that are here already are passed over; one that comes from the cloud counts as synced then.
    ///
    /// # Errors
    /// `Corruption` if one is no commit, or not of the generation above its parents; `Usage` if a parent is missing; `NeedsFetch` if a piece of
    /// its tree is missing; those of the engine. Nothing is changed then.
    pub fn add_commits(&self, commits: &[&[u8]], source: ChangeSource) -> Result<Vec<Commit>> {
        let inner = &*self.0;
        let writing = inner.writing();
        let mut staged = Staged::new(inner);
        let mut added = HashMap::new();
        let mut new = Vec::new();
        for bytes in commits {
            let commit = Commit::decode(bytes)?;
            if added.contains_key(&commit.id()) {
                continue;
            }
            if inner.commit(commit.id())?.is_some() {
                if source == ChangeSource::Cloud {
                    let row = inner.dialect.unsynced_commit(commit.id());
                    staged.batch.delete(&row);
                }
                continue;
            }
            inner.check_parents(&commit, &added)?;
            let root = commit.root();
            if root.digest.object_type() != ObjectType::TreeNode {
                let id = commit.id();
                return Err(Error::corruption(format!(
                    "the root of commit {id:?} is no tree node"
                )));
            }
            inner.tree(root).references()?;
            inner.raise_tree(&mut staged, root)?;
            added.insert(commit.id(), commit.clone());
            new.push(commit);
        }
        let mut batch = staged.finish(source.status());
        for commit in &new {
            inner.stage_commit(&mut batch, commit, source.status());
        }
        inner.write(&mut batch)?;
        for commit in &new {
            inner.state().set_heads(commit.parents(), commit.clone());
        }
        drop(writing);
        inner.notify_branches();
        Ok(new)
    }
}
