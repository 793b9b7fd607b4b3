//! Deletes a scope's rows after the end of its transaction, and does first what was deferred until then; a bounded
//! number of rows at a time.
//!
//! Ranges that are to be compacted are left to the caller, which compacts those of several scopes together
//! ([`backing_store::cleaning`](crate::backing_store)).

use std::cmp::Ordering;

use larder_codec::ScopeId;
use larder_codec::compare;
use larder_codec::row_key::{ScopeTask, ScopesKey};
use larder_codec::scopes::CleanupTask;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Durability, Iter};

use super::metadata_key;
use super::recovery::task_range;
use crate::error::{Error, ErrorKind, Result};
use crate::view::{Base, Reach};

/// The clean-up of one scope. All of it can be done again, after a crash or after an error.
///
/// No read reaches the rows that it deletes. So where damage is in its way, it and they stay, and do no harm: it is
/// *stuck*, and the next opening tries it again.
#[derive(Debug)]
pub(crate) struct Cleanup {
    scope: ScopeId,
    phase: Phase,
    /// Whose rows are gone, and whose tasks are not.
    compactions: Vec<PendingCompaction>,
    is_stuck: bool,
}

/// A range that is to be compacted; the rows in it are deleted.
#[derive(Debug)]
pub(crate) struct PendingCompaction {
    /// The task's row.
    row_key: Vec<u8>,
    pub(crate) begin: Vec<u8>,
    pub(crate) end: Vec<u8>,
}

#[derive(Debug)]
enum Phase {
    /// Deletes the rows of the log from a key to another, both included; then maybe the tasks.
    Log {
        from: Vec<u8>,
        high: Vec<u8>,
        then_tasks: bool,
    },
    /// Does the tasks from the row `task` on. `from` is where the range of the first is to be gone on with.
    Tasks {
        task: Vec<u8>,
        from: Option<Vec<u8>>,
    },
    /// Waits until its ranges are compacted.
    Compaction,
    Metadata,
    Done,
}

impl Cleanup {
    /// After a commit: deletes the undo rows, then does the clean-up tasks.
    pub(crate) fn of_committed(scope: ScopeId) -> Self {
        // The metadata row, which says that the scope is committed, goes last ([`Phase::Metadata`]). Without it, undo rows that are
        // still there would be a scope that did not commit, and opening would undo committed rows.
        let (from, high) = task_range(scope, ScopeTask::Undo);
        Self::of_log(scope, from, high, true)
    }

    /// After [`revert`](super::revert): deletes all rows of the scope and does nothing.
    pub(crate) fn of_undone(scope: ScopeId) -> Self {
        let mut from = Vec::new();
        ScopesKey::encode_scope_tasks_prefix(scope, &mut from);
        let (_, high) = task_range(scope, ScopeTask::Cleanup);
        Self::of_log(scope, from, high, false)
    }

    fn of_log(scope: ScopeId, from: Vec<u8>, high: Vec<u8>, then_tasks: bool) -> Self {
        Self {
            scope,
            phase: Phase::Log {
                from,
                high,
                then_tasks,
            },
            compactions: Vec::new(),
            is_stuck: false,
        }
    }

    /// Deletes all rows that are left to delete, unless it is stuck.
    pub(crate) fn finish_rows(&mut self, db: &Db) -> Result<()> {
        let mut rows = usize::MAX;
        while !self.is_done() && !self.waits_for_compaction() {
            match self.step(db, &mut rows) {
                Err(error) if error.kind() == ErrorKind::Corruption => {
                    self.note_stuck();
                    return Ok(());
                }
                stepped => stepped?,
            }
        }
        Ok(())
    }

    /// Damage is in its way.
    pub(crate) const fn note_stuck(&mut self) {
        self.is_stuck = true;
    }

    /// Whether that is known.
    pub(crate) const fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// Whether nothing is left to do.
    pub(crate) const fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }

    /// Whether all that is left is to compact its ranges.
    pub(crate) const fn waits_for_compaction(&self) -> bool {
        matches!(self.phase, Phase::Compaction)
    }

    /// The ranges that are to be compacted, of those whose rows are gone.
    pub(crate) fn compactions(&self) -> &[PendingCompaction] {
        &self.compactions
    }

    /// Deletes rows, as many as `rows` says at most, and takes them off it.
    ///
    /// # Errors
    /// `Corruption` if rows in its way cannot be read; what lies before them is gone then. As writing.
    pub(crate) fn step(&mut self, db: &Db, rows: &mut usize) -> Result<()> {
        match &mut self.phase {
            Phase::Log {
                from,
                high,
                then_tasks,
            } => match delete_log(db, from, high, rows)? {
                Some(next) => *from = next,
                None if *then_tasks => {
                    let (task, _) = task_range(self.scope, ScopeTask::Cleanup);
                    self.phase = Phase::Tasks { task, from: None };
                }
                None => self.phase = Phase::Metadata,
            },
            Phase::Tasks { task, from } => {
                let (task, from) = (std::mem::take(task), from.take());
                self.step_tasks(db, task, from, rows)?;
            }
            Phase::Metadata => {
                db.delete(&metadata_key(self.scope), Durability::Relaxed)?;
                *rows = rows.saturating_sub(1);
                self.phase = Phase::Done;
            }
            Phase::Compaction | Phase::Done => {}
        }
        Ok(())
    }

    fn step_tasks(
        &mut self,
        db: &Db,
        mut row_key: Vec<u8>,
        from: Option<Vec<u8>>,
        rows: &mut usize,
    ) -> Result<()> {
        let (_, high) = task_range(self.scope, ScopeTask::Cleanup);
        let mut iter = up_to(db, &high);
        // Set before anything can fail: after an error the next step begins with this task again, which can be repeated.
        self.phase = Phase::Tasks {
            task: row_key.clone(),
            from: from.clone(),
        };
        iter.seek(&row_key)?;
        if !iter.valid() {
            self.phase = match self.compactions.is_empty() {
                true => Phase::Metadata,
                false => Phase::Compaction,
            };
            return Ok(());
        }
        row_key.clear();
        row_key.extend_from_slice(iter.key());
        let task = CleanupTask::decode_exact(iter.value()?).map_err(|error| {
            Error::row(&row_key, "undo log row with an undecodable value", error)
        })?;
        let (begin, end, compacts) = match task {
            CleanupTask::DeleteRange { begin, end } => (begin, end, false),
            CleanupTask::DeleteRangeAndCompact { begin, end } => (begin, end, true),
        };
        let from = delete_range(db, from.as_deref().unwrap_or(begin), end, rows)?;
        let mut task = row_key.clone();
        if from.is_none() && compacts && compare(begin, end) == Ordering::Less {
            let (begin, end) = (begin.to_vec(), end.to_vec());
            self.compactions.push(PendingCompaction {
                row_key,
                begin,
                end,
            });
            // The next row is the next task.
            task.push(0);
        } else if from.is_none() {
            db.delete(&row_key, Durability::Relaxed)?;
        }
        *rows = rows.saturating_sub(1);
        self.phase = Phase::Tasks { task, from };
        Ok(())
    }

    /// The tables were compacted from `low` to `high`. Adds to `batch` what takes away the tasks that are done by that, and says
    /// of others what is left of them; with the last task the scope goes, too.
    pub(crate) fn note_compacted(&mut self, low: &[u8], high: &[u8], batch: &mut BatchWriter) {
        let is_at_most = |a: &[u8], b: &[u8]| compare(a, b) != Ordering::Greater;
        self.compactions.retain_mut(|pending| {
            if !is_at_most(low, &pending.begin) || !is_at_most(&pending.begin, high) {
                return true;
            }
            if is_at_most(&pending.end, high) {
                batch.delete(&pending.row_key);
                return false;
            }
            pending.begin = high.to_vec();
            let (begin, end) = (&*pending.begin, &*pending.end);
            let mut task = Vec::new();
            CleanupTask::DeleteRangeAndCompact { begin, end }.encode(&mut task);
            batch.put(&pending.row_key, &task);
            true
        });
        if self.compactions.is_empty() && self.waits_for_compaction() {
            batch.delete(&metadata_key(self.scope));
            self.phase = Phase::Done;
        }
    }
}

/// A cursor over rows up to a key, included: what lies beyond, tombstones for instance, is not looked at.
fn up_to(db: &Db, high: &[u8]) -> Iter {
    db.iter_within(..=high)
}

/// Rows of a batch, at most: its bytes stay bounded whatever a step may do.
const BATCH_ROWS_MAX: usize = 10_000;

/// Deletes rows of the undo log; where to go on, unless all are gone.
fn delete_log(db: &Db, from: &[u8], high: &[u8], rows: &mut usize) -> Result<Option<Vec<u8>>> {
    let mut iter = up_to(db, high);
    let mut batch = BatchWriter::new();
    iter.seek(from)?;
    for _ in 0..BATCH_ROWS_MAX.min(*rows) {
        if !iter.valid() {
            break;
        }
        batch.delete(iter.key());
        *rows -= 1;
        iter.next()?;
    }
    let next = iter.valid().then(|| iter.key().to_vec());
    db.write(&mut batch, Durability::Relaxed)?;
    Ok(next)
}

/// Deletes rows from `from` up to and without `end`, but for the undo log's; where to go on, unless all are gone. Those
/// before one that cannot be read are deleted all the same.
fn delete_range(db: &Db, from: &[u8], end: &[u8], rows: &mut usize) -> Result<Option<Vec<u8>>> {
    let mut batch = BatchWriter::new();
    let next = gather_range(db, from, end, rows, &mut batch);
    db.write(&mut batch, Durability::Relaxed)?;
    next
}

fn gather_range(
    db: &Db,
    from: &[u8],
    end: &[u8],
    rows: &mut usize,
    batch: &mut BatchWriter,
) -> Result<Option<Vec<u8>>> {
    let mut iter = Base::new(db.snapshot()).iter_within(&Reach::before(end));
    iter.seek(from)?;
    let is_inside = |key: &[u8]| compare(key, end) == Ordering::Less;
    for _ in 0..BATCH_ROWS_MAX.min(*rows) {
        if !iter.valid() || !is_inside(iter.key()) {
            return Ok(None);
        }
        batch.delete(iter.key());
        *rows -= 1;
        iter.next()?;
    }
    Ok((iter.valid() && is_inside(iter.key())).then(|| iter.key().to_vec()))
}
