//! One operation in a transaction's queue. It and the place for its result are one allocation.

use std::sync::Arc;

use super::core::TransactionCore;
use super::execution::Execution;
use crate::error::{Error, Result, attempt};
use crate::executor::Callback;
use crate::request::slot::{HasSlot, Slot, Wake};
use crate::sync::{Mutex, locked};

/// What the queue holds. A callback that is due is given back.
pub(crate) trait Operation: Send + Sync {
    /// Executes it as the transaction's `number`th.
    fn run(
        &self,
        execution: &mut Execution,
        transaction: &Arc<TransactionCore>,
        number: u64,
    ) -> Option<Callback>;

    /// Completes it without executing it.
    fn abort(&self, error: &Error) -> Option<Callback>;

    /// Whether it takes no longer than handing over to somebody else does.
    fn is_short(&self) -> bool;
}

/// An operation with a request. If it is `SHORT`, it takes no longer than handing over to somebody else does.
pub(crate) struct Requested<T, F, const SHORT: bool>(Mutex<Slot<T, F>>);

impl<T, F, const SHORT: bool> Requested<T, F, SHORT> {
    pub(crate) const fn new(operation: F) -> Self {
        Self(Mutex::new(Slot::of(operation)))
    }
}

/// Executes an operation with a request, which `fill` gives the result to.
pub(super) fn run<T: Send + 'static>(
    operation: impl FnOnce(&mut Execution) -> Result<T>,
    execution: &mut Execution,
    transaction: &Arc<TransactionCore>,
    number: u64,
    fill: impl FnOnce(Result<T>) -> Wake<T>,
) -> Option<Callback> {
    let mut result = execute(operation, execution);
    if transaction.is_aborted() {
        result = Err(transaction.abort_error());
    } else if let Err(error) = &result {
        transaction.note_failure(number, error);
    }
    transaction.publish(execution, number);
    let has_failed = result.is_err();
    let wake = fill(result);
    let observed = match &wake {
        Wake::Callback(..) if has_failed => Some(Arc::clone(transaction)),
        _ => None,
    };
    let callback = wake.wake()?;
    Some(match observed {
        None => callback,
        Some(transaction) => Box::new(move || {
            transaction.note_observed(number);
            callback();
        }),
    })
}

/// Runs it. What panics, such as a blob's content that the host reads, fails.
fn execute<T>(
    operation: impl FnOnce(&mut Execution) -> Result<T>,
    execution: &mut Execution,
) -> Result<T> {
    execution.statistics.requests += 1;
    let done = attempt(|| operation(execution));
    execution.count_spilled();
    done
}

impl<T, F, const SHORT: bool> Operation for Requested<T, F, SHORT>
where
    T: Send + 'static,
    F: FnOnce(&mut Execution) -> Result<T> + Send + 'static,
{
    fn run(
        &self,
        execution: &mut Execution,
        transaction: &Arc<TransactionCore>,
        number: u64,
    ) -> Option<Callback> {
        let operation = locked(&self.0).take_work()?;
        let fill = |result| locked(&self.0).fill(result);
        run(operation, execution, transaction, number, fill)
    }

    fn abort(&self, error: &Error) -> Option<Callback> {
        let (operation, wake) = {
            let mut slot = locked(&self.0);
            (slot.take_work(), slot.fill(Err(error.clone())))
        };
        // What it holds may be a host's: it goes when the lock has been left.
        drop(operation);
        wake.wake()
    }

    fn is_short(&self) -> bool {
        SHORT
    }
}

impl<T, F, const SHORT: bool> HasSlot<T> for Requested<T, F, SHORT>
where
    T: Send,
    F: Send,
{
    type Work = F;

    fn slot(&self) -> &Mutex<Slot<T, F>> {
        &self.0
    }
}

/// An operation that nobody asked for: if it fails, the transaction is aborted.
pub(crate) struct Silent<F>(Mutex<Option<F>>);

impl<F> Silent<F> {
    pub(crate) fn new(operation: F) -> Self {
        Self(Mutex::new(Some(operation)))
    }
}

impl<F> Operation for Silent<F>
where
    F: FnOnce(&mut Execution) -> Result<()> + Send,
{
    fn run(
        &self,
        execution: &mut Execution,
        transaction: &Arc<TransactionCore>,
        number: u64,
    ) -> Option<Callback> {
        let operation = locked(&self.0).take()?;
        if let Err(error) = execute(operation, execution) {
            transaction.abort_from_within(error);
        }
        transaction.publish(execution, number);
        None
    }

    fn abort(&self, _: &Error) -> Option<Callback> {
        let operation = locked(&self.0).take();
        drop(operation);
        None
    }

    fn is_short(&self) -> bool {
        false
    }
}
