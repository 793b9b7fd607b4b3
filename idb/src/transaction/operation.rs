//! One operation in a transaction's queue. It and the place for its result are one allocation.

use std::panic::{AssertUnwindSafe, catch_unwind};
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

/// Executes an operation with a request, which `fill` gives the result to: a second one, after a panic, is let go.
pub(super) fn run<T: Send + 'static>(
    operation: impl FnOnce(&mut Execution) -> Result<T>,
    execution: &mut Execution,
    transaction: &Arc<TransactionCore>,
    number: u64,
    mut fill: impl FnMut(Result<T>) -> Wake<T>,
) -> Option<Callback> {
    execution.statistics.requests += 1;
    let done = {
        let (execution, fill) = (&mut *execution, &mut fill);
        // With the result given to its place within, it is not copied out of where panics are caught.
        catch_unwind(AssertUnwindSafe(move || {
            let result = operation(execution);
            complete(result, execution, transaction, number, fill)
        }))
    };
    let panicked = |_| {
        let result = Err(Error::panicked());
        complete(result, execution, transaction, number, &mut fill)
    };
    done.unwrap_or_else(panicked)
}

fn complete<T: Send + 'static>(
    mut result: Result<T>,
    execution: &mut Execution,
    transaction: &Arc<TransactionCore>,
    number: u64,
    fill: &mut impl FnMut(Result<T>) -> Wake<T>,
) -> Option<Callback> {
    execution.count_spilled();
    settle(&mut result, transaction, number);
    transaction.publish(execution, number);
    callback_of(fill(result), transaction, number)
}

/// What the transaction's `number`th operation has come to: a failure is noted, and after an abort there are only failures.
pub(super) fn settle<T>(result: &mut Result<T>, transaction: &Arc<TransactionCore>, number: u64) {
    if transaction.is_aborted() {
        *result = Err(transaction.abort_error());
    } else if let Err(error) = result {
        transaction.note_failure(number, error);
    }
}

/// Wakes who is to be told of the result of the transaction's `number`th operation. A callback is given back; when it is called, the
/// failure has been seen, if it is one.
pub(super) fn callback_of<T: Send + 'static>(
    wake: Wake<T>,
    transaction: &Arc<TransactionCore>,
    number: u64,
) -> Option<Callback> {
    let observed = match &wake {
        Wake::Callback(_, Err(_)) => Some(Arc::clone(transaction)),
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

    fn slot_mut(&mut self) -> &mut Mutex<Slot<T, F>> {
        &mut self.0
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
        execution.statistics.requests += 1;
        if let Err(error) = attempt(|| operation(execution)) {
            transaction.abort_from_within(error);
        }
        execution.count_spilled();
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
