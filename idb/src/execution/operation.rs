//! An operation, as a transaction's queue holds it.

use larder_codec::Key;
use smallvec::smallvec;

use super::queue::{Found, Run, SmallPut};
use super::report::Report;
use crate::error::{Result, attempt};
use crate::operation::Execution;
use crate::request::completion::Completion;

/// One operation, or a run of them.
pub(crate) enum Operation {
    /// Gets of one key each.
    Gets(Run<Key, Found>),
    /// Puts of small values.
    Puts(Run<SmallPut, Key>),
    /// Any other.
    Other(Work, Length),
}

/// Does the work, or, given an error instead of a place to do it in, fails with that.
pub(crate) type Work = Box<dyn FnOnce(Result<&mut Execution>, &mut Report<'_>) + Send>;

/// How long an operation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// No longer than handing over to another thread takes: so the thread that has executed the operation before executes this one, too.
    Short,
    /// Perhaps longer.
    Long,
}

impl Operation {
    /// Whether it takes no longer than handing over to another thread does.
    pub(super) const fn is_short(&self) -> bool {
        !matches!(self, Self::Other(_, Length::Long))
    }
}

/// Work whose result appears at `completion`.
pub(super) fn requested<T, F>(operation: F, completion: Completion<T>) -> Work
where
    T: Send + 'static,
    F: FnOnce(&mut Execution) -> Result<T> + Send + 'static,
{
    Box::new(move |execution, report| match execution {
        Ok(execution) => {
            let mut result = attempt(|| operation(execution));
            execution.statistics.requests += 1;
            report.settle(0, &mut result);
            let results = smallvec![Some(result)];
            report.complete(execution, completion.completions(), results);
        }
        Err(error) => report.fail(completion.completions(), 1, &error),
    })
}

/// Work that no request waits for: if it fails, the transaction is aborted.
pub(super) fn unrequested<F>(operation: F) -> Work
where
    F: FnOnce(&mut Execution) -> Result<()> + Send + 'static,
{
    Box::new(move |execution, report| {
        if let Ok(execution) = execution {
            let result = attempt(|| operation(execution));
            execution.statistics.requests += 1;
            report.complete_unrequested(execution, result);
        }
    })
}
