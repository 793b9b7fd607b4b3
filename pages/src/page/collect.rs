//! Deletes the pieces that nothing needs.
//!
//! A piece may go if it is not pinned and no piece refers to it, and no commit; one that has been synced may go although a commit refers to it,
//! unless that is a head, not synced, or in use. With it go its reference rows, and then what it referred to may go, too.
//!
//! No batch leaves behind a piece that nothing leads to. What a deleted piece referred to, and has not been looked at by the end of the
//! batch, gets a transient row in it: a mark that the next run begins with. So a crash between two batches loses nothing and forgets nothing.

use super::pieces::references;
use super::{CollectPolicy, Inner, Page};
use crate::commit::{Commit, CommitId};
use crate::error::Result;
use crate::object::{ObjectIdentifier, PieceSource};
use crate::rows::{ALL_STATUSES, PieceStatus, ReferenceSource, RowKind};
use larder_leveldb::write_batch::BatchWriter;
use std::collections::{BTreeSet, HashSet};

/// So many pieces are deleted at most in one batch, under one hold of the writer's lock. Few in tests: they crash between batches.
const BATCH_PIECES: usize = if cfg!(test) { 3 } else { 256 };

/// What a collection has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// So many pieces are gone.
    pub pieces: u64,
    /// So many bytes of content were in them.
    pub bytes: u64,
}

/// One batch.
pub(super) struct Batch<'a> {
    page: &'a Inner,
    pub(super) rows: BatchWriter,
    /// Keys of reference rows that the batch deletes.
    gone: HashSet<Vec<u8>>,
    deleted: HashSet<ObjectIdentifier>,
    /// What is left to be looked at.
    pub(super) open: BTreeSet<ObjectIdentifier>,
    /// The commits whose trees must stay.
    kept: HashSet<CommitId>,
    pub(super) collected: Collected,
}

impl Page {
    /// Deletes the pieces that nothing needs any more, as [`PageOptions::collect`](crate::PageOptions::collect) says. It holds up commits for a
    /// batch of pieces at a time. To be called when there is time for it, and after opening: what a crash has left is found then.
    ///
    /// # Errors
    /// `Corruption` if a piece cannot be read, which then stays with all that it refers to; those of the engine.
    pub fn collect(&self) -> Result<Collected> {
        let inner = &*self.0;
        let mut collected = Collected::default();
        if inner.options.collect == CollectPolicy::Never {
            return Ok(collected);
        }
        let mut marks = MarkCursor::default();
        let mut open: BTreeSet<ObjectIdentifier> = std::mem::take(&mut inner.state().candidates);
        loop {
            let _writing = inner.writing();
            if open.is_empty() {
                open = marks.next(inner)?;
            }
            if open.is_empty() {
                return Ok(collected);
            }
            let mut batch = Batch::new(inner, open)?;
            batch.run()?;
            inner.write(&mut batch.rows)?;
            collected.pieces += batch.collected.pieces;
            collected.bytes += batch.collected.bytes;
            open = batch.open;
        }
    }
}

/// Goes through the transient rows, once.
#[derive(Default)]
pub(super) struct MarkCursor {
    after: Option<Vec<u8>>,
}

impl MarkCursor {
    pub(super) fn next(&mut self, page: &Inner) -> Result<BTreeSet<ObjectIdentifier>> {
        let prefix = page.dialect.prefix(RowKind::Status(PieceStatus::Transient));
        let mut iter = super::rows(&page.db, prefix)?;
        if let Some(after) = &self.after {
            iter.seek(after)?;
            if iter.valid() && iter.key() == after {
                iter.next()?;
            }
        }
        let mut marks = BTreeSet::new();
        while iter.valid() && marks.len() < BATCH_PIECES {
            marks.insert(ObjectIdentifier::decode(&iter.key()[prefix.len()..])?);
            self.after = Some(iter.key().to_vec());
            iter.next()?;
        }
        Ok(marks)
    }
}

impl Inner {
    /// The commits whose trees stay although they were synced: heads, those in use, those not synced with their first parents, which say what
    /// is to be uploaded.
    fn kept_commits(&self) -> Result<HashSet<CommitId>> {
        let mut kept: HashSet<CommitId> = self.state().live_commits().into_iter().collect();
        for (_, id) in self.unsynced()? {
            kept.insert(id);
            if let Some(commit) = self.commit(id)? {
                kept.extend(commit.parents().first());
            }
        }
        Ok(kept)
    }
}

impl Batch<'_> {
    pub(super) fn new(page: &Inner, open: BTreeSet<ObjectIdentifier>) -> Result<Batch<'_>> {
        Ok(Batch {
            page,
            rows: BatchWriter::new(),
            gone: HashSet::new(),
            deleted: HashSet::new(),
            open,
            kept: page.kept_commits()?,
            collected: Collected::default(),
        })
    }

    /// Takes a commit for gone, and looks at what it had.
    pub(super) fn forget_commit(&mut self, commit: &Commit) {
        let (dialect, root) = (self.page.dialect, commit.root());
        if !root.digest.is_inline() {
            let source = ReferenceSource::Commit(commit.id());
            self.gone.insert(dialect.reference(&root.digest, source));
            self.open.insert(root);
        }
    }

    fn run(&mut self) -> Result<()> {
        while self.deleted.len() < BATCH_PIECES {
            let Some(id) = self.open.pop_first() else {
                break;
            };
            self.look_at(id)?;
        }
        let mark = |id: &ObjectIdentifier| self.page.dialect.status(PieceStatus::Transient, id);
        for id in &self.open {
            // A piece that is there, and was not deleted by this batch.
            if !self.deleted.contains(id) && self.page.status(id)?.is_some() {
                self.rows.put(&mark(id), &[]);
            }
        }
        Ok(())
    }

    pub(super) fn look_at(&mut self, id: ObjectIdentifier) -> Result<()> {
        if self.deleted.contains(&id) {
            return Ok(());
        }
        let Some(status) = self.page.status(&id)? else {
            return Ok(());
        };
        let is_needed =
            self.page.state().is_pinned(&id.digest) || self.has_reference(&id, status)?;
        let dialect = self.page.dialect;
        match is_needed {
            // The mark has done its work; of a piece that is in no commit yet it is no mark.
            true if status > PieceStatus::Transient => {
                self.rows
                    .delete(&dialect.status(PieceStatus::Transient, &id));
                Ok(())
            }
            true => Ok(()),
            false => self.delete(id),
        }
    }

    fn has_reference(&self, id: &ObjectIdentifier, status: PieceStatus) -> Result<bool> {
        let prefix = self.page.dialect.references_to(&id.digest);
        let mut found = false;
        self.page.each_key(&prefix, |rest| {
            if self.gone.contains(&[&prefix, rest].concat()) {
                return Ok(true);
            }
            found = match self.page.dialect.reference_source(rest)? {
                ReferenceSource::Object(..) => true,
                ReferenceSource::Commit(commit) => {
                    status != PieceStatus::Synced || self.kept.contains(&commit)
                }
            };
            Ok(!found)
        })?;
        Ok(found)
    }

    fn delete(&mut self, id: ObjectIdentifier) -> Result<()> {
        let dialect = self.page.dialect;
        if let Some(content) = self.page.piece(&id)? {
            for reference in references(self.page, None, &id, &content)? {
                let source = ReferenceSource::Object(id.digest, reference.priority);
                let key = dialect.reference(&reference.identifier.digest, source);
                self.rows.delete(&key);
                self.gone.insert(key);
                self.open.insert(reference.identifier);
            }
            self.collected.bytes += content.len() as u64;
        }
        self.rows.delete(&dialect.object(&id.digest));
        for status in ALL_STATUSES {
            let prefix = dialect.key(RowKind::Status(status), &[id.digest.as_bytes()]);
            self.page.each_key(&prefix, |key_index| {
                self.rows.delete(&[&prefix, key_index].concat());
                Ok(true)
            })?;
        }
        self.collected.pieces += 1;
        self.deleted.insert(id);
        Ok(())
    }
}
