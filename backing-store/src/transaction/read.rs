//! A transaction that only reads: the committed rows of the moment it began.

use std::ops::Deref;
use std::sync::Arc;

use larder_codec::{BlobNumber, DatabaseId};

use crate::backing_store::Core;
use crate::blob::{BlobHandle, HeldBlobs, ReaderGuard};
use crate::reads::Reads;

/// A transaction that only reads. It waits for no other transaction, none waits for it, and it needs no end.
#[derive(Debug, Clone)]
pub struct ReadTransaction {
    reads: Reads,
    held_blobs: HeldBlobs,
    /// Files of blobs that it may ask for stay until the last clone is gone.
    _presence: Arc<ReaderGuard>,
}

impl ReadTransaction {
    /// Reads a store to which nothing is written by this handle: no file of it is removed.
    pub(crate) fn of_reads(reads: Reads) -> Self {
        let held_blobs = HeldBlobs::default();
        Self {
            reads,
            _presence: Arc::new(held_blobs.begin_reader()),
            held_blobs,
        }
    }

    pub(crate) fn new(core: &Core) -> Self {
        // Before the rows are chosen: what goes in between is held, though not seen.
        let presence = Arc::new(core.held_blobs.begin_reader());
        let view = core.committed();
        Self {
            reads: Reads::new(view, Arc::clone(&core.context)),
            held_blobs: core.held_blobs.clone(),
            _presence: presence,
        }
    }

    /// Keeps a blob's file until the handle is dropped, whatever becomes of the record and of this transaction.
    #[must_use]
    pub fn hold_blob(&self, database_id: DatabaseId, number: BlobNumber) -> BlobHandle {
        self.held_blobs.hold(database_id, number)
    }
}

impl Deref for ReadTransaction {
    type Target = Reads;

    fn deref(&self) -> &Reads {
        &self.reads
    }
}
