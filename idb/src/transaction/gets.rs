//! Gets that were asked for one after the other: one entry in the queue, one piece of memory for their results, and one look at the
//! store for all of them.
//!
//! A get that nobody has asked for another behind is queued alone, and so is each where the host drives, step by step.

use std::sync::Arc;

use larder_backing_store::Reads;
use larder_codec::IdbKey;

use super::core::TransactionCore;
use super::execution::Execution;
use super::operation::callback_of;
use super::queued::lost;
use crate::error::{Error, attempt};
use crate::executor::Callback;
use crate::operation;
use crate::request::place::{Place, Slots};
use crate::value::StoredValue;

/// Gets from the object store or index that the operation before them is on. Each is one of the transaction's operations.
pub(crate) struct Gets {
    keys: Vec<IdbKey>,
    slots: Arc<Slots<Option<StoredValue>>>,
}

impl Gets {
    /// No more at once.
    pub(super) const COUNT_MAX: usize = Reads::AHEAD_MAX;

    /// The first: it, and the place for its result.
    pub(super) fn new(key: IdbKey) -> (Self, Place<Option<StoredValue>>) {
        let slots = Slots::new(Self::COUNT_MAX);
        let mut keys = Vec::with_capacity(Self::COUNT_MAX);
        keys.push(key);
        let place = Place::OneOf(Arc::clone(&slots), 0);
        (Self { keys, slots }, place)
    }

    /// One more if there is room: the place for its result. Otherwise the key comes back.
    pub(super) fn push(
        &mut self,
        key: IdbKey,
    ) -> std::result::Result<Place<Option<StoredValue>>, IdbKey> {
        let n = self.keys.len();
        if n == Self::COUNT_MAX {
            return Err(key);
        }
        self.keys.push(key);
        Ok(Place::OneOf(Arc::clone(&self.slots), n))
    }

    /// Executes them, the first as the transaction's `number`th operation. Callbacks that are due are added.
    pub(super) fn run(
        self,
        execution: &mut Execution,
        transaction: &Arc<TransactionCore>,
        number: u64,
        callbacks: &mut Vec<Callback>,
    ) {
        let Self { keys, slots } = self;
        let count = keys.len();
        execution.statistics.requests += count as u64;
        let mut results = Vec::with_capacity(count);
        // What a host's code throws, the get fails with that called it. This is lest anything else leave places empty.
        let source = execution.short_source.take();
        let done = attempt(|| {
            let source = source.as_ref().ok_or_else(lost)?;
            operation::get_each(execution, source, keys, |result| results.push(result));
            Ok(())
        });
        execution.short_source = source;
        if results.len() < count {
            let error = done.err().unwrap_or_else(Error::panicked);
            results.resize_with(count, || Err(error.clone()));
        }
        execution.count_spilled();
        let mut failed = Vec::new();
        for (n, result) in results.iter_mut().enumerate() {
            if transaction.is_aborted() {
                *result = Err(transaction.abort_error());
            } else if let Err(error) = result {
                transaction.note_failure(number + n as u64, error);
            }
            if result.is_err() {
                failed.push(n);
            }
        }
        transaction.publish(execution, number + count as u64 - 1);
        for (n, wake) in slots.fill(results.into_iter()) {
            let number = number + n as u64;
            callbacks.extend(callback_of(wake, failed.contains(&n), transaction, number));
        }
    }

    /// Completes them without executing them. Callbacks that are due are added.
    pub(super) fn abort(&self, error: &Error, callbacks: &mut Vec<Callback>) {
        let results = self.keys.iter().map(|_| Err(error.clone()));
        let wakes = self.slots.fill(results);
        callbacks.extend(wakes.filter_map(|(_, wake)| wake.wake()));
    }
}
