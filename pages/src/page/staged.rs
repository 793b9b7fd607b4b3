//! Pieces on their way into the page, with the rows that go with them.

use super::Inner;
use crate::error::Result;
use crate::object::file_index;
use crate::object::{ObjectIdentifier, Piece, PieceSink, PieceType};
use crate::rows::{PieceStatus, ReferenceSource};
use larder_leveldb::write_batch::BatchWriter;
use std::collections::HashSet;

/// Beyond so many bytes pieces are written before the commit that needs them, as transient ones. Fewer in tests.
const STAGED_LEN_MAX: usize = if cfg!(test) { 30 << 10 } else { 4 << 20 };

/// Rows of one commit, or of one value. The caller holds the writer's lock from the first piece to [`finish`](Self::finish).
#[derive(Debug)]
pub(crate) struct Staged<'a> {
    page: &'a Inner,
    pub(crate) batch: BatchWriter,
    seen: HashSet<ObjectIdentifier>,
    /// New pieces in the batch: their status is not.
    new: Vec<ObjectIdentifier>,
    /// Pieces that are transient ones on disk, to be raised.
    transient: Vec<ObjectIdentifier>,
}

impl Staged<'_> {
    pub(crate) fn new(page: &Inner) -> Staged<'_> {
        Staged {
            page,
            batch: BatchWriter::new(),
            seen: HashSet::new(),
            new: Vec::new(),
            transient: Vec::new(),
        }
    }

    /// Stages what of an object is transient to be raised, from a piece of it down. Pieces that are not transient have no transient ones below.
    pub(crate) fn raise(&mut self, id: ObjectIdentifier) -> Result<()> {
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if id.digest.is_inline() || !self.seen.insert(id) {
                continue;
            }
            if self.page.status(&id)? != Some(PieceStatus::Transient) {
                continue;
            }
            self.transient.push(id);
            if id.digest.piece_type() == PieceType::Index {
                let children = file_index::decode(&self.page.content(&id)?)?;
                open.extend(children.into_iter().map(|child| child.identifier));
            }
        }
        Ok(())
    }

    /// Stages a piece that is transient to be raised, by itself: whether it was.
    pub(crate) fn raise_piece(&mut self, id: ObjectIdentifier) -> Result<bool> {
        let is_transient = !id.digest.is_inline()
            && self.seen.insert(id)
            && self.page.status(&id)? == Some(PieceStatus::Transient);
        if is_transient {
            self.transient.push(id);
        }
        Ok(is_transient)
    }

    fn spill(&mut self) -> Result<()> {
        let dialect = self.page.dialect;
        for id in self.new.drain(..) {
            self.batch
                .put(&dialect.status(PieceStatus::Transient, &id), &[]);
            self.transient.push(id);
        }
        self.page.write(&mut self.batch)
    }

    /// Gives all pieces a status, and leaves the batch to be written.
    pub(crate) fn finish(mut self, status: PieceStatus) -> BatchWriter {
        let dialect = self.page.dialect;
        for id in &self.new {
            self.batch.put(&dialect.status(status, id), &[]);
        }
        if status > PieceStatus::Transient {
            for id in &self.transient {
                self.batch
                    .delete(&dialect.status(PieceStatus::Transient, id));
                self.batch.put(&dialect.status(status, id), &[]);
            }
        }
        self.batch
    }
}

impl PieceSink for Staged<'_> {
    fn put(&mut self, piece: Piece<'_>) -> Result<()> {
        let id = piece.identifier;
        if !self.seen.insert(id) {
            return Ok(());
        }
        match self.page.status(&id)? {
            Some(PieceStatus::Transient) => {
                self.transient.push(id);
                return Ok(());
            }
            Some(_) => return Ok(()),
            None => {}
        }
        let dialect = self.page.dialect;
        self.batch.put(&dialect.object(&id.digest), piece.content);
        for reference in piece.references {
            let source = ReferenceSource::Object(id.digest, reference.priority);
            self.batch.put(
                &dialect.reference(&reference.identifier.digest, source),
                &[],
            );
        }
        self.new.push(id);
        match self.batch.len_bytes() > STAGED_LEN_MAX {
            true => self.spill(),
            false => Ok(()),
        }
    }
}
