//! Where a transaction's operations are executed, one after the other: the backing store's transaction and what is kept
//! from one operation to the next.
//!
//! Which operation comes next, and when, is not known here.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use larder_backing_store::{
    IndexCursor, IndexLookup, Movement, ReadTransaction, Reads, Record, WriteTransaction,
};
use larder_codec::{DatabaseId, IndexId, ObjectStoreId};

use super::{GetsMemory, PutMemory, Scans, Unwrapping};
use crate::error::{Error, ErrorName, Result};
use crate::statistics::Statistics;
use crate::sync::AtomicBool;

/// The backing store's transaction.
#[derive(Debug)]
pub(crate) enum Backing {
    /// One that reads.
    Read(ReadTransaction),
    /// One that writes.
    Write(WriteTransaction),
}

impl Backing {
    /// All that can be read.
    pub(crate) fn reads(&self) -> &Reads {
        match self {
            Self::Read(transaction) => transaction,
            Self::Write(transaction) => transaction,
        }
    }

    /// The one that writes.
    ///
    /// # Errors
    /// `ReadOnlyError` if it only reads; that is refused earlier.
    pub(crate) fn writer(&mut self) -> Result<&mut WriteTransaction> {
        match self {
            Self::Write(transaction) => Ok(transaction),
            Self::Read(_) => {
                let what =
                    "the transaction only reads; begin one of mode ReadWrite to change records";
                Err(Error::new(ErrorName::ReadOnlyError, what))
            }
        }
    }

    /// Moves a cursor over an index to the next of so many entries that are wanted.
    #[inline]
    pub(crate) fn next_of(&mut self, cursor: &mut IndexCursor, count: usize) -> Result<bool> {
        match self {
            Self::Read(_) => Ok(cursor.next_of(count)?),
            Self::Write(_) => self.go(cursor, Movement::Next),
        }
    }

    /// Moves a cursor over an index. One that writes removes the stale rows in the way, which changes nothing that
    /// can be seen.
    pub(crate) fn go(&mut self, cursor: &mut IndexCursor, movement: Movement<'_>) -> Result<bool> {
        Ok(match self {
            Self::Read(_) => cursor.go(movement)?,
            Self::Write(transaction) => transaction.go(cursor, movement)?,
        })
    }
}

/// What reading goes on with, and memory that it uses again.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// The ends of a range, encoded.
    pub(crate) range: Vec<u8>,
    pub(crate) record: Record,
    pub(crate) gets: GetsMemory,
    pub(crate) unwrapping: Unwrapping,
    pub(crate) lookups: Lookups,
    pub(crate) scans: Scans,
}

/// What is known of an object store, so that it need not be looked up again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    id: ObjectStoreId,
    /// Whether any record may have external objects.
    pub(crate) has_objects: bool,
    /// What the key generator gives next.
    pub(crate) generator: Option<i64>,
}

/// The object stores that were asked about.
#[derive(Debug, Default)]
pub(crate) struct Knowledge(Vec<Known>);

impl Knowledge {
    /// What is known of one.
    ///
    /// # Errors
    /// If its rows cannot be read.
    pub(crate) fn of(
        &mut self,
        backing: &Backing,
        database_id: DatabaseId,
        id: ObjectStoreId,
    ) -> Result<&mut Known> {
        let at = match self.0.iter().position(|known| known.id == id) {
            Some(at) => at,
            None => {
                self.0.push(Known {
                    id,
                    has_objects: backing.reads().has_external_objects(database_id, id)?,
                    generator: None,
                });
                self.0.len() - 1
            }
        };
        let missing = || {
            Error::new(
                ErrorName::UnknownError,
                "the object store of this operation is not in the transaction; abort the transaction and start it again",
            )
        };
        self.0.get_mut(at).ok_or_else(missing)
    }
}

/// So many indexes are remembered: what is kept for each holds blocks of tables in memory.
const LOOKUPS_MAX: usize = 4;

/// What the indexes that were asked last are asked with.
#[derive(Debug, Default)]
pub(crate) struct Lookups(Vec<((ObjectStoreId, IndexId), IndexLookup)>);

impl Lookups {
    /// The one of an index; it is made if it is not there.
    pub(crate) fn of(
        &mut self,
        reads: &Reads,
        database_id: DatabaseId,
        index: (ObjectStoreId, IndexId),
    ) -> &mut IndexLookup {
        match self.0.iter().position(|(id, _)| *id == index) {
            Some(at) => self.0[..=at].rotate_right(1),
            None => {
                self.0.truncate(LOOKUPS_MAX - 1);
                let lookup = reads.index_lookup(database_id, index.0, index.1);
                self.0.insert(0, (index, lookup));
            }
        }
        &mut self.0[0].1
    }
}

/// The place of execution.
#[derive(Debug)]
pub(crate) struct Execution {
    pub(crate) backing: Backing,
    pub(crate) database_id: DatabaseId,
    pub(crate) put: PutMemory,
    /// Made when something is read: most small transactions write.
    pub(crate) reading: Option<Box<Reading>>,
    pub(crate) known: Knowledge,
    /// Set when the transaction is aborted.
    is_cancelled: Arc<AtomicBool>,
    /// How often something was written since that was first asked.
    writes: OnceCell<Arc<AtomicU64>>,
    pub(crate) statistics: Statistics,
}

impl Execution {
    /// For a transaction that has just begun. Long operations end with `AbortError` soon after it was aborted.
    pub(crate) fn new(
        backing: Backing,
        database_id: DatabaseId,
        is_cancelled: Arc<AtomicBool>,
    ) -> Box<Self> {
        Box::new(Self {
            backing,
            database_id,
            put: PutMemory::default(),
            reading: None,
            known: Knowledge::default(),
            is_cancelled,
            writes: OnceCell::new(),
            statistics: Statistics::default(),
        })
    }

    /// The backing store's transaction, to be committed or rolled back. Everything else goes.
    pub(crate) fn into_backing(self: Box<Self>) -> Backing {
        self.backing
    }

    /// What reading goes on with.
    pub(crate) fn reading(&mut self) -> &mut Reading {
        self.reading.get_or_insert_default()
    }

    /// How often something has been written: what was read ahead before is void.
    pub(crate) fn writes(&self) -> &Arc<AtomicU64> {
        self.writes.get_or_init(Arc::default)
    }

    /// The transaction that writes. Everything that was read ahead is void from now on.
    ///
    /// # Errors
    /// `ReadOnlyError` if it only reads; that is refused earlier.
    pub(crate) fn writer(&mut self) -> Result<&mut WriteTransaction> {
        self.note_write();
        self.backing.writer()
    }

    /// Notes how much has been written ahead of the commit.
    pub(crate) fn count_spilled(&mut self) {
        if let Backing::Write(transaction) = &self.backing {
            self.statistics.spilled_bytes = transaction.spilled_bytes();
        }
    }

    /// Something is about to be written.
    pub(crate) fn note_write(&self) {
        // Only the thread that executes changes it.
        if let Some(writes) = self.writes.get() {
            let count = writes.load(Ordering::Relaxed);
            writes.store(count.wrapping_add(1), Ordering::Release);
        }
    }

    /// What is known of an object store.
    ///
    /// # Errors
    /// If its rows cannot be read.
    pub(crate) fn known(&mut self, id: ObjectStoreId) -> Result<&mut Known> {
        self.known.of(&self.backing, self.database_id, id)
    }

    /// Ends a long operation whose transaction was aborted.
    ///
    /// # Errors
    /// `AbortError` if the transaction was aborted.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        if self.is_cancelled.load(Ordering::Acquire) {
            return Err(Error::new(
                ErrorName::AbortError,
                "the transaction was aborted",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execution_can_be_moved_between_threads() {
        fn is_send<T: Send>() {}
        is_send::<Execution>();
    }
}
