//! What the queue holds.

use std::sync::Arc;

use super::core::TransactionCore;
use super::execution::Execution;
use super::operation::Operation;
use super::short::{Get, Put, Short};
use crate::error::Error;
use crate::executor::Callback;

/// An operation in the queue, or several.
pub(crate) enum Queued {
    Get(Short<Get>),
    Put(Short<Put>),
    Other(Arc<dyn Operation>),
}

impl Queued {
    /// Executes it as the transaction's `number`th; of several, that is the first one's. Callbacks that are due are added.
    pub(super) fn run(
        self,
        execution: &mut Execution,
        transaction: &Arc<TransactionCore>,
        number: u64,
        callbacks: &mut Vec<Callback>,
    ) {
        match self {
            Self::Get(short) => short.run(execution, transaction, number, callbacks),
            Self::Put(short) => short.run(execution, transaction, number, callbacks),
            Self::Other(operation) => {
                callbacks.extend(operation.run(execution, transaction, number));
            }
        }
    }

    /// Completes it without executing it. Callbacks that are due are added.
    pub(super) fn abort(&self, error: &Error, callbacks: &mut Vec<Callback>) {
        match self {
            Self::Get(short) => short.abort(error, callbacks),
            Self::Put(short) => short.abort(error, callbacks),
            Self::Other(operation) => callbacks.extend(operation.abort(error)),
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
