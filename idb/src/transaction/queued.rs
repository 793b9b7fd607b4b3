//! What the queue holds. Gets of one key and small puts lie in the queue itself: what is to be done costs neither a lock nor a
//! count of references to the object store, and only the place for the result is shared with the request.

use std::sync::Arc;

use larder_backing_store::PutMode;
use larder_codec::IdbKey;

use super::core::TransactionCore;
use super::execution::Execution;
use super::gets::Gets;
use super::operation::{Operation, run};
use super::{Mode, Transaction};
use crate::error::{Error, ErrorName, Result};
use crate::executor::Callback;
use crate::key_range::KeyRange;
use crate::operation::{self, PutRequest, Source};
use crate::request::slot::LoneSlot;
use crate::value::{StoredValue, Value};

/// An operation in the queue.
pub(crate) enum Queued {
    Get(Short<IdbKey, Option<StoredValue>>),
    Gets(Gets),
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
            None => Err(lost()),
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

/// What a short operation fails with that nobody told what it is on.
pub(super) fn lost() -> Error {
    let what = "an operation's object store was lost";
    Error::new(ErrorName::UnknownError, what)
}

impl Queued {
    /// Executes it as the transaction's `number`th. Callbacks that are due are added.
    pub(super) fn run(
        self,
        execution: &mut Execution,
        transaction: &Arc<TransactionCore>,
        number: u64,
        callbacks: &mut Vec<Callback>,
    ) {
        callbacks.extend(match self {
            Self::Get(get) => get.run(execution, transaction, number, |execution, source, key| {
                operation::get(execution, source, &KeyRange::only(key))
            }),
            Self::Gets(gets) => return gets.run(execution, transaction, number, callbacks),
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
        });
    }

    /// Completes it without executing it. Callbacks that are due are added.
    pub(super) fn abort(&self, error: &Error, callbacks: &mut Vec<Callback>) {
        callbacks.extend(match self {
            Self::Get(get) => get.slot.complete(Err(error.clone())),
            Self::Gets(gets) => return gets.abort(error, callbacks),
            Self::Put(put) => put.slot.complete(Err(error.clone())),
            Self::Other(operation) => operation.abort(error),
        });
    }

    /// Whether it takes no longer than handing over to somebody else does.
    pub(super) fn is_short(&self) -> bool {
        match self {
            Self::Get(_) | Self::Gets(_) | Self::Put(_) => true,
            Self::Other(operation) => operation.is_short(),
        }
    }
}
