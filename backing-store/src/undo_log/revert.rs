//! Takes a transaction back that has written and not committed.

use std::cmp::Ordering;

use larder_codec::ScopeId;
use larder_codec::compare;
use larder_codec::row_key::ScopeTask;
use larder_codec::scopes::{ScopeMetadata, UndoTask};
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Durability};

use super::metadata_key;
use super::recovery::task_range;
use crate::error::{Error, Result};
use crate::view::{Base, Reach};

/// A batch is written when it has so many bytes, as in Chromium.
const BATCH_LEN: usize = 1 << 20;

/// Carries out the scope's undo rows, newest first, and takes each away with its work; then marks the scope as undone.
/// What a crash leaves of this can be done again.
pub(crate) fn revert(db: &Db, scope: ScopeId) -> Result<()> {
    let (low, high) = task_range(scope, ScopeTask::Undo);
    let mut batch = BatchWriter::new();
    let mut iter = db.snapshot().iter_near(&low, &high);
    iter.seek(&low)?;
    while iter.valid() && compare(iter.key(), &high) != Ordering::Greater {
        let task = UndoTask::decode_exact(iter.value()?).map_err(|error| {
            Error::row(iter.key(), "undo log row with an undecodable value", error)
        })?;
        match task {
            UndoTask::Put { key, value } => batch.put(key, value),
            UndoTask::Delete { key } => batch.delete(key),
            UndoTask::DeleteRange { begin, end } => {
                // What the batch puts back may lie in the range.
                db.write(&mut batch, Durability::Relaxed)?;
                delete_range(db, begin, end, &mut batch)?;
            }
        }
        batch.delete(iter.key());
        if batch.len_bytes() >= BATCH_LEN {
            db.write(&mut batch, Durability::Relaxed)?;
        }
        iter.next()?;
    }
    let mut undone = Vec::new();
    let metadata = ScopeMetadata {
        locks: Vec::new(),
        ignore_cleanup_tasks: true,
    };
    metadata.encode(&mut undone);
    batch.put(&metadata_key(scope), &undone);
    Ok(db.write(&mut batch, Durability::Relaxed)?)
}

fn delete_range(db: &Db, begin: &[u8], end: &[u8], batch: &mut BatchWriter) -> Result<()> {
    let mut iter = Base::new(db.snapshot()).iter_within(&Reach::before(end));
    iter.seek(begin)?;
    while iter.valid() && compare(iter.key(), end) == Ordering::Less {
        batch.delete(iter.key());
        if batch.len_bytes() >= BATCH_LEN {
            db.write(batch, Durability::Relaxed)?;
        }
        iter.next()?;
    }
    Ok(())
}
