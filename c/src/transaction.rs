//! Transactions.

use std::sync::Arc;

use larder_idb as idb;

use crate::connection::Mode;
use crate::context::Context;
use crate::error::Exception;
use crate::guard::{self, given};
use crate::object_store::ObjectStore;
use crate::pointers::{ErrorOut, Str};
use crate::request::Request;
use crate::text::Names;

/// Where a transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// It takes requests.
    Active = 0,
    /// It commits once what was asked for is done.
    Committing = 1,
    /// It was aborted, and is being rolled back.
    Aborting = 2,
    /// It was committed or rolled back.
    Finished = 3,
}

/// A transaction. The host owns it. It does not commit by itself: when it, its object stores, indexes, cursors and
/// requests are all freed and no commit was requested, it is aborted.
pub struct Transaction {
    transaction: idb::Transaction,
    context: Arc<Context>,
}

impl Transaction {
    pub(crate) fn new(transaction: idb::Transaction, context: &Arc<Context>) -> Self {
        let context = Arc::clone(context);
        Self {
            transaction,
            context,
        }
    }

    pub(crate) fn inner(&self) -> &idb::Transaction {
        &self.transaction
    }

    pub(crate) fn object_store(&self, store: idb::ObjectStore) -> ObjectStore {
        ObjectStore::new(store, &self.context)
    }
}

/// An object store of its scope: the host owns it. Null: `LARDER_EXCEPTION_NOT_FOUND` if there is none of this name,
/// `LARDER_EXCEPTION_INVALID_STATE` if the transaction was aborted or has finished.
#[unsafe(no_mangle)]
pub extern "C" fn larder_transaction_object_store(
    transaction: Option<&Transaction>,
    name: Str,
    error: ErrorOut,
) -> Option<Box<ObjectStore>> {
    guard::made(error, || {
        let this = given(transaction, "the transaction")?;
        let store = this.transaction.object_store(&name.to_js()?)?;
        Ok(this.object_store(store))
    })
}

/// Takes no more requests, and commits when those that were made are done. The request succeeds when it is committed, and fails
/// with what the transaction was aborted for. Freeing the request at once is fine: it is committed all the same. Null:
/// `LARDER_EXCEPTION_INVALID_STATE` if it is committing or has ended.
#[unsafe(no_mangle)]
pub extern "C" fn larder_transaction_commit(
    transaction: Option<&Transaction>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given(transaction, "the transaction")?;
        Ok(Request::of(this.transaction.commit()?, &this.context))
    })
}

/// Commits if nothing that was asked for is left to be executed: whether it does. For hosts that commit as a page's transactions do, when
/// a callback has returned and has asked for nothing.
#[unsafe(no_mangle)]
pub extern "C" fn larder_transaction_commit_if_idle(transaction: Option<&Transaction>) -> bool {
    guard::or_else(false, || {
        transaction.is_some_and(|this| this.transaction.commit_if_idle())
    })
}

/// Takes everything back. Requests that are not done fail with `LARDER_EXCEPTION_ABORT`. False: `LARDER_EXCEPTION_INVALID_STATE` if it is
/// committing or has ended.
#[unsafe(no_mangle)]
pub extern "C" fn larder_transaction_abort(
    transaction: Option<&Transaction>,
    error: ErrorOut,
) -> bool {
    guard::succeeds(error, || {
        given(transaction, "the transaction")?
            .transaction
            .abort(None)?;
        Ok(())
    })
}

/// Aborts like `larder_transaction_abort`, for a reason: that is what `larder_transaction_finished` fails with.
#[unsafe(no_mangle)]
pub extern "C" fn larder_transaction_abort_because(
    transaction: Option<&Transaction>,
    name: ExceptionNumber,
    message: Str,
    error: ErrorOut,
) -> bool {
    guard::succeeds(error, || {
        let this = given(transaction, "the transaction")?;
        let name = Exception::from_number(name)?;
        let reason = idb::Error::new(name, message.to_utf8()?);
        this.transaction.abort(Some(reason))?;
        Ok(())
    })
}

/// An [`Exception`] that C has given: any number.
pub type ExceptionNumber = u32;

/// A request for the transaction's end, whatever brings it about: succeeds when it was committed, and fails when it was
/// aborted, with the reason. Its callback is what a page has as `complete` and `abort`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_transaction_finished(
    transaction: Option<&Transaction>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given(transaction, "the transaction")?;
        Ok(Request::of(this.transaction.finished(), &this.context))
    })
}

/// Where it stands. Of null, `LARDER_STATE_FINISHED`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_transaction_state(transaction: Option<&Transaction>) -> State {
    guard::or_else(State::Finished, || {
        match transaction.map(|this| this.transaction.state()) {
            Some(idb::TransactionState::Active) => State::Active,
            Some(idb::TransactionState::Committing) => State::Committing,
            Some(idb::TransactionState::Aborting) => State::Aborting,
            Some(idb::TransactionState::Finished) | None => State::Finished,
        }
    })
}

/// Its mode. Of null, `LARDER_MODE_READ_ONLY`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_transaction_mode(transaction: Option<&Transaction>) -> Mode {
    guard::or_else(Mode::ReadOnly, || {
        match transaction.map(|this| this.transaction.mode()) {
            Some(idb::TransactionMode::ReadWrite) => Mode::ReadWrite,
            Some(idb::TransactionMode::VersionChange) => Mode::VersionChange,
            Some(idb::TransactionMode::ReadOnly) | None => Mode::ReadOnly,
        }
    })
}

/// The names of the object stores in its scope, sorted: the host owns the list. Null of null.
#[unsafe(no_mangle)]
pub extern "C" fn larder_transaction_object_store_names(
    transaction: Option<&Transaction>,
) -> Option<Box<Names>> {
    guard::or_else(None, || {
        let names = transaction?.transaction.object_store_names();
        Some(Box::new(names.into()))
    })
}

/// Frees a transaction, and aborts it if no commit was requested and nothing of it is left. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_transaction_free(transaction: Option<Box<Transaction>>) {
    guard::or_else((), || drop(transaction));
}
