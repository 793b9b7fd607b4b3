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

/// Pages of records, each read when it is asked for, and none ahead of that.
///
/// A page shows what is there when it is read, behind the last record of the page before.
///
/// ```
/// # use larder_idb::{CursorDirection, ObjectStore, PageLimits, Result};
/// # fn sum(loans: &ObjectStore) -> Result<usize> {
/// let mut sum = 0;
/// for page in &loans.pages(.., CursorDirection::Next, PageLimits::default())? {
///     sum += page?.iter().map(|loan| loan.value().len()).sum::<usize>();
/// }
/// # Ok(sum)
/// # }
/// ```
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

impl<'a> IntoIterator for &'a Pages {
    type Item = Result<Records>;
    type IntoIter = PagesIter<'a>;

    fn into_iter(self) -> PagesIter<'a> {
        PagesIter {
            pages: self,
            has_ended: false,
        }
    }
}

/// The pages that are left of [`Pages`], each waited for. It ends behind the last page, and after an error.
#[derive(Debug)]
pub struct PagesIter<'a> {
    pages: &'a Pages,
    has_ended: bool,
}

impl Iterator for PagesIter<'_> {
    type Item = Result<Records>;

    fn next(&mut self) -> Option<Result<Records>> {
        if self.has_ended {
            return None;
        }
        let page = self.pages.next().and_then(Request::wait);
        self.has_ended = !matches!(page, Ok(Some(_)));
        page.transpose()
    }
}

impl std::iter::FusedIterator for PagesIter<'_> {}
