//! What executing a transaction needs of the rooms above it.

use std::sync::Arc;

use larder_backing_store::ReadTransaction;
use larder_codec::DatabaseId;

use super::plan::{Plan, TransactionMode};
use crate::error::{Error, Result};
use crate::executor::Callback;
use crate::origin::OpenStore;
use crate::schema::SchemaSnapshot;

/// The connection that a transaction belongs to.
pub(crate) trait TransactionOwner: Send + Sync {
    fn database_id(&self) -> DatabaseId;

    /// The store that it reads and writes.
    ///
    /// # Errors
    /// `InvalidStateError` if the connection has been closed.
    fn store(&self) -> Result<Arc<OpenStore>>;

    /// Something was committed.
    fn note_modified(&self);

    /// An operation has failed. If that says that something is damaged, the host's loss callback is called.
    fn note_loss(&self, error: &Error);

    /// The transaction has failed. If the store takes no writes any more, its connections are closed.
    fn note_store_error(&self, error: &Error);

    /// An upgrade is aborted: the schema and the version are what they were.
    fn revert(&self, schema: SchemaSnapshot, version: u64);

    /// The transaction has been committed or rolled back: others may start. What is returned is to be called when all that made
    /// requests have their results: a host that closes the connection as soon as the transaction has ended has it closed by that.
    fn transaction_ended(self: Arc<Self>, plan: &Plan, is_committed: bool) -> Option<Callback>;

    /// The transaction of an upgrade has ended, and all that waited for its end have been called.
    fn upgrade_ended(self: Arc<Self>, outcome: Result<()>);
}

/// What a transaction that only reads will read, if it begins now.
pub(crate) fn snapshot(
    owner: &dyn TransactionOwner,
    mode: TransactionMode,
) -> Option<ReadTransaction> {
    let store = (mode == TransactionMode::ReadOnly).then(|| owner.store().ok());
    store.flatten().map(|store| store.backing().read())
}
