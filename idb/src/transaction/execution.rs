//! Where a transaction's operations are executed, one after the other: the backing store's transaction and what is kept
//! from one operation to the next.
//!
//! Which operation comes next, and when, is not known here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use larder_backing_store::{ReadTransaction, Reads, WriteTransaction};
use larder_codec::DatabaseId;

use crate::error::{Error, ErrorName, Result};
use crate::statistics::Statistics;

/// The backing store's transaction.
#[derive(Debug)]
pub(crate) enum Backing {
    /// One that reads.
    Read(ReadTransaction),
    /// One that writes.
    Write(Box<WriteTransaction>),
}

/// The place of execution.
#[derive(Debug)]
pub(crate) struct Execution {
    backing: Backing,
    database_id: DatabaseId,
    /// Set when nobody wants results any more.
    cancelled: Arc<AtomicBool>,
    /// How often something was written.
    writes: Arc<AtomicU64>,
    pub(crate) statistics: Statistics,
}

impl Execution {
    /// For a transaction that has just begun. Long operations end with `AbortError` soon after `cancelled` is set.
    pub(crate) fn new(
        backing: Backing,
        database_id: DatabaseId,
        cancelled: Arc<AtomicBool>,
    ) -> Self {
        Self {
            backing,
            database_id,
            cancelled,
            writes: Arc::default(),
            statistics: Statistics::default(),
        }
    }

    /// The backing store's transaction, to be committed or rolled back. Everything else goes.
    pub(crate) fn into_backing(self) -> Backing {
        self.backing
    }

    /// The database.
    pub(crate) const fn database_id(&self) -> DatabaseId {
        self.database_id
    }

    /// All that can be read.
    pub(crate) fn reads(&self) -> &Reads {
        match &self.backing {
            Backing::Read(transaction) => transaction,
            Backing::Write(transaction) => transaction,
        }
    }

    /// The transaction that writes. Everything that was read ahead is void from now on.
    ///
    /// # Errors
    /// `ReadOnlyError` if it only reads; that is refused earlier.
    pub(crate) fn writer(&mut self) -> Result<&mut WriteTransaction> {
        self.writes.fetch_add(1, Ordering::Release);
        match &mut self.backing {
            Backing::Write(transaction) => Ok(transaction),
            Backing::Read(_) => {
                let what = "the transaction only reads";
                Err(Error::new(ErrorName::ReadOnlyError, what))
            }
        }
    }

    /// Ends a long operation that nobody waits for.
    ///
    /// # Errors
    /// `AbortError` if the transaction was aborted.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) {
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
