//! A connection, as its database has it (specification, 2.1.1).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use larder_backing_store::StoreVersions;
use larder_codec::DatabaseId;

use super::{ConnectionEvent, Database};
use crate::error::{Error, ErrorName, Result};
use crate::events::EventsCore;
use crate::execution::{Plan, TransactionOwner};
use crate::executor::Callback;
use crate::origin::OpenStore;
use crate::schema::{Schema, SchemaSnapshot};
use crate::sync::{AtomicU64, Mutex, locked};

/// What the handles of a connection share.
pub(crate) struct ConnectionCore {
    pub(crate) number: u64,
    pub(crate) database: Arc<Database>,
    pub(crate) database_id: DatabaseId,
    /// Until it is closed.
    store: Mutex<Option<Arc<OpenStore>>>,
    /// The versions of that store.
    pub(crate) store_versions: Arc<StoreVersions>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) events: Arc<EventsCore<ConnectionEvent>>,
    version: AtomicU64,
}

impl ConnectionCore {
    pub(crate) fn new(
        number: u64,
        database: &Arc<Database>,
        store: Arc<OpenStore>,
        database_id: DatabaseId,
        schema: Schema,
        version: u64,
    ) -> Self {
        Self {
            number,
            events: EventsCore::new(database.ready()),
            database: Arc::clone(database),
            database_id,
            store_versions: store.backing().versions(),
            store: Mutex::new(Some(store)),
            schema: Arc::new(schema),
            version: AtomicU64::new(version),
        }
    }

    /// The version, as this connection sees it.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// It is closed: whatever handles there still are, they do not keep the store.
    pub(crate) fn release_store(&self) {
        let store = locked(&self.store).take();
        drop(store);
    }
}

impl TransactionOwner for ConnectionCore {
    fn database_id(&self) -> DatabaseId {
        self.database_id
    }

    fn store(&self) -> Result<Arc<OpenStore>> {
        let closed = || {
            Error::new(
                ErrorName::InvalidStateError,
                "the connection is closed; open the database again",
            )
        };
        locked(&self.store).clone().ok_or_else(closed)
    }

    fn note_modified(&self) {
        self.database.origin().note_modified();
        self.database.commits.note();
    }

    fn note_loss(&self, error: &Error) {
        self.database.origin().note_loss(error);
    }

    fn note_store_error(&self, error: &Error) {
        if let Ok(store) = self.store() {
            self.database.origin().note_store_error(&store, error);
        }
    }

    fn revert(&self, schema: SchemaSnapshot, version: u64) {
        self.schema.restore(schema);
        self.version.store(version, Ordering::Release);
    }

    fn transaction_ended(self: Arc<Self>, plan: &Plan, is_committed: bool) -> Option<Callback> {
        self.database.end(plan, is_committed)
    }

    fn upgrade_ended(self: Arc<Self>, outcome: Result<()>) {
        self.database.upgrade_ended(self.number, outcome);
    }
}
