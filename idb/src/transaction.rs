//! Transactions (specification, 2.7): the handle.
//!
//! Which may run beside which is `scheduler`'s; the queue of operations, and their end, are `execution`'s; what the operations do is
//! `operation`'s.

use std::fmt;
use std::sync::Arc;

use larder_backing_store::StoreVersions;
use larder_codec::JsString;

use crate::connection::Connection;
use crate::error::{Error, ErrorName, Result};
use crate::execution::{
    TransactionCore, TransactionDurability, TransactionMode, TransactionOptions, TransactionState,
};
use crate::name::Scope;
use crate::request::Request;
use crate::schema::{Schema, StoreCell};
use crate::statistics::Statistics;

/// A transaction. Clones are the same transaction; when the last handle to it and to its object stores, indexes and cursors
/// goes and [`commit`](Self::commit) was not called, it is aborted.
///
/// It never commits by itself: the host calls [`commit`](Self::commit), or [`commit_if_idle`](Self::commit_if_idle) when the
/// specification lets an inactive transaction commit.
#[derive(Clone)]
pub struct Transaction(Arc<Handle>);

struct Handle {
    core: Arc<TransactionCore>,
    connection: Connection,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.core.abandon();
    }
}

impl Transaction {
    pub(crate) fn new(core: Arc<TransactionCore>, connection: Connection) -> Self {
        Self(Arc::new(Handle { core, connection }))
    }

    /// Its mode.
    #[must_use]
    pub fn mode(&self) -> TransactionMode {
        self.0.core.plan.mode
    }

    /// What was asked for when it was made.
    #[must_use]
    pub fn durability(&self) -> TransactionDurability {
        self.0.core.plan.durability
    }

    /// The connection that it belongs to.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.0.connection
    }

    /// The versions of the store that it is in.
    pub(crate) fn store_versions(&self) -> &StoreVersions {
        &self.0.connection.core().store_versions
    }

    /// The names of the object stores in its scope, sorted: of a version change, all there are now.
    #[must_use]
    pub fn object_store_names(&self) -> Vec<JsString> {
        match self.mode() {
            TransactionMode::VersionChange => self.schema().object_store_names(),
            TransactionMode::ReadOnly | TransactionMode::ReadWrite => {
                self.schema().names_of(&self.0.core.plan.object_stores)
            }
        }
    }

    /// Whether an object store that its connection sees is in its scope.
    pub(crate) fn includes(&self, cell: &StoreCell) -> bool {
        match self.mode() {
            TransactionMode::VersionChange => true,
            TransactionMode::ReadOnly | TransactionMode::ReadWrite => {
                cell.is_one_of(&self.0.core.plan.object_stores)
            }
        }
    }

    /// The object stores as its connection sees them: but for a version change, always the same.
    pub(crate) fn schema(&self) -> &Arc<Schema> {
        self.0.connection.schema()
    }

    /// Takes no more requests, and commits when those that were made have completed. If one has failed and its error has not
    /// been taken until now, or fails from now on, all of it is rolled back.
    ///
    /// The request succeeds when it has been committed; for whatever reason it was aborted, it fails with that.
    ///
    /// # Errors
    /// `InvalidStateError` if it is committing or has ended.
    pub fn commit(&self) -> Result<Request<()>> {
        self.0.core.commit()
    }

    /// Commits, as the specification has it of transactions that are inactive, if nothing that was asked for is left to be
    /// executed: whether it does. To be called when the host has passed on all results.
    pub fn commit_if_idle(&self) -> bool {
        self.0.core.commit_if_idle()
    }

    /// Takes everything back. Requests that have not completed fail with `AbortError`, and then [`finished`](Self::finished)
    /// with `error`, or `AbortError` if there is none. What an upgrade did to names, versions and the schema is as it was
    /// when this returns.
    ///
    /// # Errors
    /// `InvalidStateError` if it is committing or has ended.
    pub fn abort(&self, error: Option<Error>) -> Result<()> {
        self.0.core.abort(error)
    }

    /// A request for the end, however it comes about: succeeds when it has been committed, fails when it was aborted, with
    /// the reason.
    pub fn finished(&self) -> Request<()> {
        self.0.core.finished()
    }

    /// The state of the transaction.
    #[must_use]
    pub fn state(&self) -> TransactionState {
        self.0.core.state()
    }

    /// Whether it has been committed or rolled back.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0.core.is_finished()
    }

    /// Whether it was aborted, rolled back yet or not, or committed: the specification's state "finished".
    pub(crate) fn is_over(&self) -> bool {
        !self.0.core.is_active() && (self.0.core.is_aborted() || self.is_finished())
    }

    /// Why it was aborted: `None` while it was not, and if there was no reason but that the host wanted it.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        self.0.core.error()
    }

    /// What it has done so far: everything that was completed before, at least.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.0.core.statistics()
    }

    /// # Errors
    /// `ReadOnlyError` if it only reads.
    pub(crate) fn check_writes(&self) -> Result<()> {
        if self.mode() == TransactionMode::ReadOnly {
            let what = "the transaction only reads; begin one of mode ReadWrite to change records";
            return Err(Error::new(ErrorName::ReadOnlyError, what));
        }
        Ok(())
    }

    /// Where requests are queued.
    pub(crate) fn core(&self) -> &Arc<TransactionCore> {
        &self.0.core
    }
}

impl Connection {
    /// Makes a transaction of these object stores. It starts when its turn comes: after all those made before that have an
    /// object store in common with it, if either writes.
    ///
    /// # Errors
    /// In this order: `InvalidStateError` while the connection is being upgraded, or once it is to be closed;
    /// `NotFoundError` if there is no object store of one of the names; `InvalidAccessError` if there are no names;
    /// `TypeError` if the mode is [`TransactionMode::VersionChange`]; `ReadOnlyError` if it writes and the storage is only read
    /// ([`StorageOptions::read_only`](crate::StorageOptions::read_only)).
    pub fn transaction<'a>(
        &self,
        scope: impl Into<Scope<'a>>,
        mode: TransactionMode,
        options: TransactionOptions,
    ) -> Result<Transaction> {
        self.begin(&scope.into(), mode, options)
    }

    fn begin(
        &self,
        scope: &Scope<'_>,
        mode: TransactionMode,
        options: TransactionOptions,
    ) -> Result<Transaction> {
        let (core, names) = (self.core(), scope.names());
        let transaction = core.database.begin(core, names, mode, options)?;
        Ok(Transaction::new(transaction, self.clone()))
    }
}

impl PartialEq for Transaction {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Transaction {}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("number", &self.0.core.plan.number)
            .field("mode", &self.mode())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
