//! What the queue holds. Gets of one key and small puts lie in the queue itself: what is to be done costs neither a lock nor a
//! count of references to the object store, and only the place for the result is shared with the request.

use std::collections::VecDeque;
use std::iter;
use std::sync::Arc;

use larder_backing_store::PutMode;
use larder_codec::IdbKey;

use super::core::TransactionCore;
use super::execution::Execution;
use super::operation::{Operation, run};
use super::{Mode, Transaction};
use crate::error::{Error, ErrorName, Result};
use crate::executor::Callback;
use crate::operation::{self, PutRequest, Source};
use crate::request::slot::LoneSlot;
use crate::value::{StoredValue, Value};

/// An operation in the queue.
pub(crate) enum Queued {
    Get(Short<IdbKey, Option<StoredValue>>),
    Put(Short<SmallPut, IdbKey>),
    Other(Arc<dyn Operation>),
}

/// One on an object store or index that takes no longer than handing over to somebody else does.
pub(crate) struct Short<A, T> {
    /// `None` if it is that of the one before it.
    pub(super) source: Option<Source>,
    pub(super) argument: A,
    pub(super) slot: Arc<LoneSlot<T>>,
}

/// A put without external objects, in a transaction whose indexes stay as they are.
pub(crate) struct SmallPut {
    bytes: Vec<u8>,
    key: Option<IdbKey>,
    mode: PutMode,
}

impl SmallPut {
    /// Values up to this are put in no time, in bytes.
    pub(crate) const LEN_MAX: usize = 4096;

    /// Whether a put of this value is one.
    pub(crate) fn suits(transaction: &Transaction, value: &Value) -> bool {
        transaction.mode() != Mode::VersionChange
            && value.objects.is_empty()
            && value.bytes.len() <= Self::LEN_MAX
    }

    /// Of a value that [suits](Self::suits).
    pub(crate) fn new(value: Value, key: Option<IdbKey>, mode: PutMode) -> Self {
        let bytes = value.bytes;
        Self { bytes, key, mode }
    }
}

impl<A, T: Send + 'static> Short<A, T> {
    fn run(
        self,
        execution: &mut Execution,
        transaction: &Arc<TransactionCore>,
        number: u64,
        work: impl FnOnce(&mut Execution, &Source, A) -> Result<T>,
    ) -> Option<Callback> {
        let Self {
            source,
            argument,
            mut slot,
        } = self;
        let source = source.or_else(|| execution.short_source.take());
        let work = |execution: &mut Execution| match &source {
            Some(source) => work(execution, source, argument),
            None => {
                let what = "an operation's object store was lost";
                Err(Error::new(ErrorName::UnknownError, what))
            }
        };
        let fill = |result| {
            if Arc::strong_count(&slot) == 1
                && let Some(slot) = Arc::get_mut(&mut slot)
            {
                // Most puts: the request has been let go, though perhaps for a callback.
                return slot.fill_alone(result);
            }
            slot.fill(result)
        };
        let callback = run(work, execution, transaction, number, fill);
        execution.short_source = source;
        callback
    }
}

impl Short<IdbKey, Option<StoredValue>> {
    fn look_ahead(
        &self,
        execution: &mut Execution,
        source: &Source,
        number: u64,
        behind: &VecDeque<Queued>,
    ) -> usize {
        let keys = gets_at(behind).take(operation::ahead_max(source) - 1);
        let count = keys.clone().count();
        if count > 0 {
            let keys = iter::once(&self.argument).chain(keys);
            operation::look_ahead(execution, source, number, keys);
        }
        count
    }
}

impl Queued {
    /// Executes it as the transaction's `number`th. A callback that is due is given back.
    pub(super) fn run(
        self,
        execution: &mut Execution,
        transaction: &Arc<TransactionCore>,
        number: u64,
    ) -> Option<Callback> {
        match self {
            Self::Get(get) => get.run(execution, transaction, number, |execution, source, key| {
                operation::get_one(execution, source, key, number)
            }),
            Self::Put(put) => put.run(execution, transaction, number, |execution, source, put| {
                let SmallPut { bytes, key, mode } = put;
                let request = PutRequest {
                    indexes: None,
                    value: Value::from_bytes(bytes),
                    key,
                    mode,
                };
                operation::put(execution, &source.store, request)
            }),
            Self::Other(operation) => operation.run(execution, transaction, number),
        }
    }

    /// If gets from the same object store or index follow it at once, as it is one, the transaction's `number`th operation: brings
    /// their records and its own nearer, which changes nothing else. How many of those behind it.
    pub(super) fn look_ahead(
        &self,
        execution: &mut Execution,
        number: u64,
        behind: &VecDeque<Self>,
    ) -> usize {
        let Self::Get(first) = self else {
            return 0;
        };
        let last_source = execution.short_source.take();
        let count = match first.source.as_ref().or(last_source.as_ref()) {
            Some(source) => first.look_ahead(execution, source, number, behind),
            None => 0,
        };
        execution.short_source = last_source;
        count
    }

    /// Completes it without executing it.
    pub(super) fn abort(&self, error: &Error) -> Option<Callback> {
        match self {
            Self::Get(get) => get.slot.complete(Err(error.clone())),
            Self::Put(put) => put.slot.complete(Err(error.clone())),
            Self::Other(operation) => operation.abort(error),
        }
    }

    /// Whether it takes no longer than handing over to somebody else does.
    pub(super) fn is_short(&self) -> bool {
        match self {
            Self::Get(_) | Self::Put(_) => true,
            Self::Other(operation) => operation.is_short(),
        }
    }
}

/// The keys of the gets at the front that are of the same object store or index as the get before.
fn gets_at(queue: &VecDeque<Queued>) -> impl Iterator<Item = &IdbKey> + Clone {
    queue.iter().map_while(|queued| match queued {
        Queued::Get(get) if get.source.is_none() => Some(&get.argument),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::StoreCell;
    use larder_codec::IdbKeyPath;

    fn short<A, T>(argument: A, source: Option<Source>) -> Short<A, T> {
        Short {
            source,
            argument,
            slot: Arc::default(),
        }
    }

    #[test]
    fn gets_are_looked_ahead_for_up_to_another_source_or_operation() {
        let other = || {
            let store = StoreCell::new("other".into(), IdbKeyPath::Null, false);
            Some(Arc::new(store).into())
        };
        let put = SmallPut::new(Value::from_bytes(Vec::new()), None, PutMode::Put);
        let behind_three = [
            Queued::Get(short(9.0.into(), other())),
            Queued::Put(short(put, None)),
        ];
        for behind in behind_three {
            let gets = (0..3).map(|n| Queued::Get(short(f64::from(n).into(), None)));
            let mut queue: VecDeque<Queued> = gets.collect();
            assert_eq!(gets_at(&queue).count(), 3);
            queue.push_back(behind);
            queue.push_back(Queued::Get(short(10.0.into(), None)));
            let keys: Vec<IdbKey> = gets_at(&queue).cloned().collect();
            assert_eq!(keys, [0.0, 1.0, 2.0].map(IdbKey::from));
        }
    }
}
