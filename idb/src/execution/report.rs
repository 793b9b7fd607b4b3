//! Where the results of operations go: to the requests, and failures also to the transaction.

use std::sync::Arc;

use super::core::TransactionCore;
use crate::error::{Error, Result};
use crate::executor::Callback;
use crate::operation::Execution;
use crate::request::completion::{Completions, Results, Wake};

/// Takes the results of operations in their order.
pub(crate) struct Report<'a> {
    transaction: &'a Arc<TransactionCore>,
    /// How many operations have been executed before.
    executed: u64,
    /// Callbacks that are due.
    callbacks: &'a mut Vec<Callback>,
}

impl<'a> Report<'a> {
    pub(super) const fn new(
        transaction: &'a Arc<TransactionCore>,
        executed: u64,
        callbacks: &'a mut Vec<Callback>,
    ) -> Self {
        Self {
            transaction,
            executed,
            callbacks,
        }
    }

    /// An operation, so many behind the next one, has been executed. A failure is noted, which may abort the transaction; once it is
    /// aborted, there are only failures. Whether it goes on.
    pub(super) fn settle<T>(&self, behind: usize, result: &mut Result<T>) -> bool {
        if self.transaction.is_aborted() {
            *result = Err(self.transaction.abort_error());
            return false;
        }
        let Err(error) = result else { return true };
        let number = self.executed + 1 + behind as u64;
        self.transaction.note_failure(number, error);
        !self.transaction.is_aborted()
    }

    /// The next operations have these results, which are settled.
    pub(super) fn complete<T: Send + 'static>(
        &mut self,
        execution: &mut Execution,
        completions: &Completions<T>,
        results: Results<T>,
    ) {
        let first = self.executed + 1;
        self.publish(execution, results.len() as u64);
        for (number, wake) in completions.fill(results) {
            self.wake(first + number as u64, wake);
        }
    }

    /// The next operation, which no request is for, has this result.
    pub(super) fn complete_unrequested(&mut self, execution: &mut Execution, result: Result<()>) {
        if let Err(error) = result {
            self.transaction.abort_from_within(error);
        }
        self.publish(execution, 1);
    }

    /// So many operations end with this error, without having been executed.
    pub(super) fn fail<T: Send + 'static>(
        &mut self,
        completions: &Completions<T>,
        count: usize,
        error: &Error,
    ) {
        let results = (0..count).map(|_| Some(Err(error.clone())));
        let wakes = completions.fill(results.collect());
        let callbacks = wakes.into_iter().filter_map(|(_, wake)| wake.wake());
        self.callbacks.extend(callbacks);
    }

    /// Comes before the results can be taken, so that a host that takes the last one finds the transaction idle.
    fn publish(&mut self, execution: &mut Execution, count: u64) {
        self.executed += count;
        execution.count_spilled();
        self.transaction.publish(execution, self.executed);
    }

    fn wake<T: Send + 'static>(&mut self, number: u64, wake: Wake<T>) {
        match wake {
            // When the callback is called, the failure has been seen.
            Wake::Callback(on_done, Err(error)) => {
                let transaction = Arc::clone(self.transaction);
                self.callbacks.push(Box::new(move || {
                    transaction.note_observed(number);
                    on_done(Err(error));
                }));
            }
            wake => self.callbacks.extend(wake.wake()),
        }
    }
}
