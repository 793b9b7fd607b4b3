//! Takes a scope's rows away after the end of its transaction, and does first what was deferred until then; a bounded
//! number of rows at a time.

use std::cmp::Ordering;

use larder_codec::ScopeId;
use larder_codec::compare;
use larder_codec::row_key::{ScopeTask, ScopesKey};
use larder_codec::scopes::CleanupTask;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Durability};

use super::metadata_key;
use super::recovery::task_range;
use crate::error::{Error, ErrorKind, Result};
use crate::view::Base;

/// The clean-up of one scope. All of it can be done again, after a crash or after an error.
///
/// Nobody finds the rows that it deletes any more. So where damage is in its way, it and they stay, and harm nobody: it is
/// *stuck*, and the next opening tries it again.
#[derive(Debug)]
pub(crate) struct Cleanup {
    scope: ScopeId,
    phase: Phase,
    is_stuck: bool,
}

#[derive(Debug)]
enum Phase {
    /// Deletes the rows of the log from a key to another, both included; then maybe the tasks.
    Log {
        from: Vec<u8>,
        high: Vec<u8>,
        then_tasks: bool,
    },
    /// Does the first task that is left. `from` is where its range is to be gone on with.
    Tasks {
        from: Option<Vec<u8>>,
    },
    /// Compacts the range of the first task that is left; its rows are gone.
    Compaction,
    Metadata,
    Done,
}

impl Cleanup {
    /// After a commit: deletes the undo rows, then does the clean-up tasks.
    pub(crate) fn of_committed(scope: ScopeId) -> Self {
        let (from, high) = task_range(scope, ScopeTask::Undo);
        let then_tasks = true;
        Self {
            scope,
            phase: Phase::Log {
                from,
                high,
                then_tasks,
            },
            is_stuck: false,
        }
    }

    /// After [`revert`](super::revert): deletes all rows of the scope and does nothing.
    pub(crate) fn of_undone(scope: ScopeId) -> Self {
        let mut from = Vec::new();
        ScopesKey::encode_scope_tasks_prefix(scope, &mut from);
        let (_, high) = task_range(scope, ScopeTask::Cleanup);
        let then_tasks = false;
        Self {
            scope,
            phase: Phase::Log {
                from,
                high,
                then_tasks,
            },
            is_stuck: false,
        }
    }

    /// Does all that is left, unless it is stuck: whether all is done.
    pub(crate) fn finish(&mut self, db: &Db) -> Result<bool> {
        loop {
            match self.step(db, usize::MAX) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) if error.kind() == ErrorKind::Corruption => {
                    self.note_stuck();
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Damage is in its way.
    pub(crate) const fn note_stuck(&mut self) {
        self.is_stuck = true;
    }

    /// Whether that is known.
    pub(crate) const fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// Whether the next step compacts tables, which can take long.
    pub(crate) fn will_compact(&self) -> bool {
        matches!(self.phase, Phase::Compaction)
    }

    /// Deletes up to `rows_max` rows, or compacts a range: whether all is done.
    ///
    /// # Errors
    /// `Corruption` if rows in its way cannot be read; what lies before them is gone then. As writing.
    pub(crate) fn step(&mut self, db: &Db, rows_max: usize) -> Result<bool> {
        match &mut self.phase {
            Phase::Log {
                from,
                high,
                then_tasks,
            } => match delete_log(db, from, high, rows_max)? {
                Some(next) => *from = next,
                None if *then_tasks => self.phase = Phase::Tasks { from: None },
                None => self.phase = Phase::Metadata,
            },
            Phase::Tasks { from } => {
                let from = from.take();
                self.step_tasks(db, from, rows_max)?;
            }
            Phase::Compaction => {
                self.with_first_task(db, |row_key, begin, end, _| {
                    db.compact_range(Some(begin), Some(end))?;
                    Ok(db.delete(row_key, Durability::Relaxed)?)
                })?;
                self.phase = Phase::Tasks { from: None };
            }
            Phase::Metadata => {
                db.delete(&metadata_key(self.scope), Durability::Relaxed)?;
                self.phase = Phase::Done;
            }
            Phase::Done => {}
        }
        Ok(matches!(self.phase, Phase::Done))
    }

    fn step_tasks(&mut self, db: &Db, from: Option<Vec<u8>>, rows_max: usize) -> Result<()> {
        let next = self.with_first_task(db, |row_key, begin, end, compacts| {
            let from = delete_range(db, from.as_deref().unwrap_or(begin), end, rows_max)?;
            if from.is_some() {
                return Ok(Phase::Tasks { from });
            }
            if compacts && compare(begin, end) == Ordering::Less {
                return Ok(Phase::Compaction);
            }
            db.delete(row_key, Durability::Relaxed)?;
            Ok(Phase::Tasks { from: None })
        })?;
        self.phase = next.unwrap_or(Phase::Metadata);
        Ok(())
    }

    /// Calls `work` with the key of the first task that is left, its range, and whether that is to be compacted.
    fn with_first_task<T>(
        &self,
        db: &Db,
        work: impl FnOnce(&[u8], &[u8], &[u8], bool) -> Result<T>,
    ) -> Result<Option<T>> {
        let (low, high) = task_range(self.scope, ScopeTask::Cleanup);
        let mut iter = db.snapshot().iter();
        iter.seek(&low)?;
        if !iter.valid() || compare(iter.key(), &high) == Ordering::Greater {
            return Ok(None);
        }
        let task = CleanupTask::decode_exact(iter.value()?).map_err(|error| {
            Error::row(iter.key(), "undo log row with an undecodable value", error)
        })?;
        let (begin, end, compacts) = match task {
            CleanupTask::DeleteRange { begin, end } => (begin, end, false),
            CleanupTask::DeleteRangeAndCompact { begin, end } => (begin, end, true),
        };
        work(iter.key(), begin, end, compacts).map(Some)
    }
}

/// Rows of a batch, at most: its bytes stay bounded whatever a step may do.
const BATCH_ROWS_MAX: usize = 10_000;

/// Deletes up to `rows_max` rows of the undo log; where to go on, unless all are gone.
fn delete_log(db: &Db, from: &[u8], high: &[u8], rows_max: usize) -> Result<Option<Vec<u8>>> {
    let mut iter = db.snapshot().iter();
    let mut batch = BatchWriter::new();
    iter.seek(from)?;
    let rows_max = rows_max.min(BATCH_ROWS_MAX);
    for _ in 0..rows_max {
        if !iter.valid() || compare(iter.key(), high) == Ordering::Greater {
            db.write(&mut batch, Durability::Relaxed)?;
            return Ok(None);
        }
        batch.delete(iter.key());
        iter.next()?;
    }
    let next = iter.valid().then(|| iter.key().to_vec());
    db.write(&mut batch, Durability::Relaxed)?;
    Ok(next)
}

/// Deletes up to `rows_max` rows from `from` up to and without `end`, but for the undo log's; where to go on, unless all
/// are gone. Those before one that cannot be read are deleted all the same.
fn delete_range(db: &Db, from: &[u8], end: &[u8], rows_max: usize) -> Result<Option<Vec<u8>>> {
    let mut batch = BatchWriter::new();
    let next = gather_range(db, from, end, rows_max.min(BATCH_ROWS_MAX), &mut batch);
    db.write(&mut batch, Durability::Relaxed)?;
    next
}

fn gather_range(
    db: &Db,
    from: &[u8],
    end: &[u8],
    rows_max: usize,
    batch: &mut BatchWriter,
) -> Result<Option<Vec<u8>>> {
    let mut iter = Base::new(db.snapshot(), Vec::new()).iter();
    iter.seek(from)?;
    for _ in 0..rows_max {
        if !iter.valid() || compare(iter.key(), end) != Ordering::Less {
            return Ok(None);
        }
        batch.delete(iter.key());
        iter.next()?;
    }
    Ok(iter.valid().then(|| iter.key().to_vec()))
}
