//! One operation in a transaction's queue. It and the place for its result are one allocation.

use std::sync::Arc;

use super::core::TransactionCore;
use super::execution::Execution;
use crate::error::{Error, Result, attempt};
use crate::executor::Callback;
use crate::request::slot::{Outlet, Slot, Wake};
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

/// An operation with a request.
pub(crate) struct Requested<T, F> {
    is_short: bool,
    state: Mutex<State<T, F>>,
}

struct State<T, F> {
    operation: Option<F>,
    slot: Slot<T>,
}

impl<T, F> Requested<T, F> {
    pub(crate) fn new(operation: F, is_short: bool) -> Self {
        Self {
            is_short,
            state: Mutex::new(State {
                operation: Some(operation),
                slot: Slot::default(),
            }),
        }
    }
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

impl<T, F> Operation for Requested<T, F>
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
        let operation = locked(&self.state).operation.take()?;
        let mut result = execute(operation, execution);
        if transaction.is_aborted() {
            result = Err(transaction.abort_error());
        } else if let Err(error) = &result {
            transaction.note_failure(number, error);
        }
        transaction.publish(execution, number);
        let has_failed = result.is_err();
        let wake = locked(&self.state).slot.fill(result);
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

    fn abort(&self, error: &Error) -> Option<Callback> {
        let (operation, wake) = {
            let mut state = locked(&self.state);
            (state.operation.take(), state.slot.fill(Err(error.clone())))
        };
        // What it holds may be a host's: it goes when the lock has been left.
        drop(operation);
        wake.wake()
    }

    fn is_short(&self) -> bool {
        self.is_short
    }
}

impl<T, F> Outlet<T> for Requested<T, F>
where
    T: Send,
    F: Send,
{
    fn with(&self, look: &mut dyn FnMut(&mut Slot<T>)) {
        look(&mut locked(&self.state).slot);
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
