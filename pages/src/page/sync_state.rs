//! What has been synced, and what has not: rows for whatever syncs a page.

use super::{Inner, Page};
use crate::commit::CommitId;
use crate::error::{Error, Result};
use crate::object::ObjectIdentifier;
use crate::rows::{PieceStatus, RowKind};
use larder_leveldb::write_batch::BatchWriter;

/// A batch of so many bytes is written before it grows.
const FULL_LEN: usize = 1 << 20;

impl Inner {
    /// The commits that were not synced, by generation and name.
    pub(super) fn unsynced(&self) -> Result<Vec<(u64, CommitId)>> {
        let prefix = self.dialect.prefix(RowKind::UnsyncedCommits);
        let mut iter = super::rows(&self.db, prefix)?;
        let mut unsynced = Vec::new();
        while iter.valid() {
            let id = CommitId::decode(&iter.key()[prefix.len()..])?;
            let generation = iter.value()?.try_into().map(u64::from_le_bytes);
            let generation = generation.map_err(|_| {
                Error::corruption(format!(
                    "the row of unsynced commit {id:?} has no generation"
                ))
            })?;
            unsynced.push((generation, id));
            iter.next()?;
        }
        unsynced.sort_unstable();
        Ok(unsynced)
    }

    /// Writes a batch that has become long; whether to go on: always.
    fn write_full(&self, batch: &mut BatchWriter) -> Result<bool> {
        if batch.len_bytes() >= FULL_LEN {
            self.write(batch)?;
            batch.clear();
        }
        Ok(true)
    }

    fn has_row(&self, kind: RowKind) -> Result<bool> {
        Ok(super::rows(&self.db, self.dialect.prefix(kind))?.valid())
    }
}

impl Page {
    /// The commits that were not synced, by generation, then by name: parents before children.
    ///
    /// # Errors
    /// `Corruption`, those of the engine.
    pub fn unsynced_commits(&self) -> Result<Vec<CommitId>> {
        let unsynced = self.0.unsynced()?;
        Ok(unsynced.into_iter().map(|(_, id)| id).collect())
    }

    /// Up to `count_max` pieces that were not synced, those behind `after`.
    ///
    /// # Errors
    /// `Corruption`, those of the engine.
    pub fn unsynced_pieces(
        &self,
        after: Option<&ObjectIdentifier>,
        count_max: usize,
    ) -> Result<Vec<ObjectIdentifier>> {
        let dialect = self.0.dialect;
        let prefix = dialect.prefix(RowKind::Status(PieceStatus::Local));
        let mut iter = super::rows(&self.0.db, prefix)?;
        if let Some(after) = after {
            let key = dialect.status(PieceStatus::Local, after);
            iter.seek(&key)?;
            if iter.valid() && iter.key() == key {
                iter.next()?;
            }
        }
        let mut pieces = Vec::new();
        while iter.valid() && pieces.len() < count_max {
            pieces.push(ObjectIdentifier::decode(&iter.key()[prefix.len()..])?);
            iter.next()?;
        }
        Ok(pieces)
    }

    /// Notes that pieces and commits have been synced, in one write. What a commit's tree needs must have been before, or be among them.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn mark_synced(&self, pieces: &[ObjectIdentifier], commits: &[CommitId]) -> Result<()> {
        let inner = &*self.0;
        let _writing = inner.writing();
        let mut batch = BatchWriter::new();
        for id in pieces {
            if inner.status(id)? == Some(PieceStatus::Local) {
                batch.delete(&inner.dialect.status(PieceStatus::Local, id));
                batch.put(&inner.dialect.status(PieceStatus::Synced, id), &[]);
            }
        }
        for id in commits {
            batch.delete(&inner.dialect.unsynced_commit(*id));
        }
        inner.write(&mut batch)?;
        if inner.options.collect == super::CollectPolicy::Never {
            return Ok(());
        }
        for id in commits {
            let Some(commit) = inner.commit(*id)? else {
                continue;
            };
            for id in [id].into_iter().chain(commit.parents()) {
                if let Some(commit) = inner.commit(*id)? {
                    inner.state().candidates.insert(commit.root());
                }
            }
        }
        Ok(())
    }

    /// Notes that nothing has been synced: all pieces and commits that are here are to be synced again, as with a cloud that was lost. It may be cut off
    /// by a crash, and is then done again.
    ///
    /// # Errors
    /// `Corruption`, those of the engine.
    pub fn forget_synced(&self) -> Result<()> {
        let inner = &*self.0;
        let _writing = inner.writing();
        let dialect = inner.dialect;
        let mut batch = BatchWriter::new();
        inner.each_key(dialect.prefix(RowKind::Commits), |id| {
            let id = CommitId::decode(id)?;
            if let Some(commit) = inner.commit(id)? {
                let generation = commit.generation().to_le_bytes();
                batch.put(&dialect.unsynced_commit(id), &generation);
            }
            inner.write_full(&mut batch)
        })?;
        inner.each_key(dialect.prefix(RowKind::Status(PieceStatus::Synced)), |id| {
            let id = ObjectIdentifier::decode(id)?;
            batch.delete(&dialect.status(PieceStatus::Synced, &id));
            batch.put(&dialect.status(PieceStatus::Local, &id), &[]);
            inner.write_full(&mut batch)
        })?;
        inner.write(&mut batch)
    }

    /// Whether everything here has been synced: no commit and no piece of one is left.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn is_synced(&self) -> Result<bool> {
        let has_commit = self.0.has_row(RowKind::UnsyncedCommits)?;
        Ok(!has_commit && !self.0.has_row(RowKind::Status(PieceStatus::Local))?)
    }

    /// Whether the page has ever been synced.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn is_online(&self) -> Result<bool> {
        let has_piece = self.0.has_row(RowKind::Status(PieceStatus::Synced))?;
        Ok(has_piece || self.has_sync_metadata()?)
    }

    /// Whether something that syncs the page has noted anything.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn has_sync_metadata(&self) -> Result<bool> {
        self.0.has_row(RowKind::SyncMetadata)
    }

    /// Whether no head has an entry.
    pub fn is_empty(&self) -> bool {
        let empty = crate::Tree::empty_root();
        self.heads().iter().all(|head| head.root() == empty)
    }

    /// What whatever syncs the page has noted under a name.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn sync_metadata(&self, name: &[u8]) -> Result<Option<Vec<u8>>> {
        let key = self.0.dialect.key(RowKind::SyncMetadata, &[name]);
        Ok(self.0.db.get(&key)?)
    }

    /// Notes something under a name.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn set_sync_metadata(&self, name: &[u8], value: &[u8]) -> Result<()> {
        let key = self.0.dialect.key(RowKind::SyncMetadata, &[name]);
        let mut batch = BatchWriter::new();
        batch.put(&key, value);
        self.0.write(&mut batch)
    }
}
