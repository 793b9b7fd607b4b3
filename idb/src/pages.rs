//! Many records in bounded memory.

use std::sync::{Arc, Mutex, PoisonError};

use larder_backing_store::{CursorDirection, PageLimits};

use crate::error::Result;
use crate::execution::Length;
use crate::key_range::KeyRange;
use crate::operation::{self, PageWalk, Source};
use crate::request::Request;
use crate::transaction::Transaction;
use crate::value::records::Records;

/// Pages of records, each read when it is asked for: nobody reads ahead of who hands them on.
///
/// A page shows what is there when it is read, behind the last record of the page before.
#[derive(Debug)]
pub struct Pages {
    transaction: Transaction,
    walk: Arc<Mutex<PageWalk>>,
}

impl Pages {
    pub(crate) fn new(
        transaction: Transaction,
        source: Source,
        range: KeyRange,
        direction: CursorDirection,
        limits: PageLimits,
    ) -> Self {
        let walk = PageWalk::new(source, range, direction, limits);
        Self {
            transaction,
            walk: Arc::new(Mutex::new(walk)),
        }
    }

    /// The next page; `None` when there is no record left. Any number may be asked for at once; they come in order.
    ///
    /// # Errors
    /// `TransactionInactiveError` if the transaction is committing or has ended. After a page that could not be read, the
    /// next goes on behind what could not.
    pub fn next(&self) -> Result<Request<Option<Records>>> {
        let walk = Arc::clone(&self.walk);
        self.transaction
            .core()
            .submit(Length::Long, move |execution| {
                let mut walk = walk.lock().unwrap_or_else(PoisonError::into_inner);
                operation::next_page(execution, &mut walk)
            })
    }
}
