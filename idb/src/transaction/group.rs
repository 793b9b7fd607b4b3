//! Short operations of one kind that were asked for one after the other: one entry in the queue, and one piece of memory for their
//! results. Gets have one look at the store for all of them, too.
//!
//! One that nobody has asked for another behind is queued alone, and so is each where the host drives, step by step.

use std::sync::Arc;

use larder_backing_store::Reads;

use super::core::TransactionCore;
use super::execution::Execution;
use super::operation::{callback_of, settle};
use super::short::{ShortKind, lost};
use crate::error::{Error, attempt};
use crate::executor::Callback;
use crate::request::place::{Place, Slots};

/// Operations on what the operation before them is on. Each is one of the transaction's operations.
pub(crate) struct Group<K: ShortKind> {
    arguments: Vec<K::Argument>,
    slots: Arc<Slots<K::Output>>,
}

impl<K: ShortKind> Group<K> {
    /// No more at once: as many as gets look ahead for.
    pub(super) const COUNT_MAX: usize = Reads::AHEAD_MAX;

    /// Of none yet.
    pub(super) fn new() -> Self {
        Self {
            arguments: Vec::with_capacity(Self::COUNT_MAX),
            slots: Arc::default(),
        }
    }

    /// Whether there is room for one more.
    pub(super) const fn has_room(&self) -> bool {
        self.arguments.len() < Self::COUNT_MAX
    }

    /// One more: the place for its result.
    pub(super) fn push(&mut self, argument: K::Argument) -> Place<K::Output> {
        let n = self.arguments.len();
        self.arguments.push(argument);
        Place::OneOf(Arc::clone(&self.slots), n)
    }

    /// Executes them, the first as the transaction's `number`th operation. Callbacks that are due are added.
    pub(super) fn run(
        self,
        execution: &mut Execution,
        transaction: &Arc<TransactionCore>,
        number: u64,
        callbacks: &mut Vec<Callback>,
    ) {
        let Self { arguments, slots } = self;
        let count = arguments.len();
        let settled = |mut result, n: usize| {
            settle(&mut result, transaction, number + n as u64);
            Some(result)
        };
        let mut results = Vec::with_capacity(count);
        // What a host's code throws, the one fails with that called it. This is lest anything else leave places empty.
        let source = execution.short_source.take();
        let done = attempt(|| {
            let source = source.as_ref().ok_or_else(lost)?;
            let mut tell = |result| {
                results.push(settled(result, results.len()));
                !transaction.is_aborted()
            };
            K::run_each(execution, source, arguments, &mut tell);
            Ok(())
        });
        execution.short_source = source;
        execution.statistics.requests += results.len() as u64;
        if results.len() < count {
            let error = done.err().unwrap_or_else(Error::panicked);
            for n in results.len()..count {
                results.push(settled(Err(error.clone()), n));
            }
        }
        execution.count_spilled();
        transaction.publish(execution, number + count as u64 - 1);
        for (n, wake) in slots.fill(results) {
            callbacks.extend(callback_of(wake, transaction, number + n as u64));
        }
    }

    /// Completes them without executing them. Callbacks that are due are added.
    pub(super) fn abort(&self, error: &Error, callbacks: &mut Vec<Callback>) {
        let results = self.arguments.iter().map(|_| Some(Err(error.clone())));
        let wakes = self.slots.fill(results.collect());
        callbacks.extend(wakes.into_iter().filter_map(|(_, wake)| wake.wake()));
    }
}
