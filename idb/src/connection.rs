//! Connections (specification, 2.1.1 and 4.4).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use larder_backing_store::StoreVersions;
use larder_codec::{DatabaseId, JsString};

use crate::error::{Error, ErrorName, Result};
use crate::events::{Events, EventsCore, Handover};
use crate::executor::Ready;
use crate::origin::OpenStore;
use crate::request::driver::Driver;
use crate::scheduler::Database;
use crate::schema::{Schema, SchemaSnapshot};
use crate::sync::{AtomicU64, Mutex, locked};

/// What happens to a connection.
#[derive(Debug)]
pub enum ConnectionEvent {
    /// Someone wants to upgrade or delete the database, and waits until this connection is closed.
    VersionChange(VersionChange),
    /// It was closed by force: its transactions were aborted. The last event.
    Close,
}

/// That the version is to change. Whoever announces it waits until this is dropped before it says that it is blocked.
///
/// It does not wait for a connection that the host has, and has never asked for events of. One that the host has not got yet,
/// since nobody has taken the end of the request to open, is waited for; if a callback takes that, until it has returned. So
/// a host misses nothing that asks for events in such a callback, or, in caller-driven mode, before the next step.
#[derive(Debug)]
pub struct VersionChange {
    old_version: u64,
    new_version: Option<u64>,
    dispatch: Dispatch,
}

impl VersionChange {
    pub(crate) fn new(
        old_version: u64,
        new_version: Option<u64>,
        database: Arc<Database>,
        connection: u64,
    ) -> Self {
        Self {
            old_version,
            new_version,
            dispatch: Dispatch {
                database,
                connection,
            },
        }
    }

    /// The version now.
    #[must_use]
    pub const fn old_version(&self) -> u64 {
        self.old_version
    }

    /// The version that is wanted; `None` if the database is to be deleted.
    #[must_use]
    pub const fn new_version(&self) -> Option<u64> {
        self.new_version
    }

    /// Tells that it has been dealt with. Dropping does the same.
    pub fn dispatched(self) {
        drop(self.dispatch);
    }
}

struct Dispatch {
    database: Arc<Database>,
    connection: u64,
}

impl Drop for Dispatch {
    fn drop(&mut self) {
        self.database.dispatched(self.connection);
    }
}

impl fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dispatch({})", self.connection)
    }
}

/// That a connection is on its way to the host. Goes when the host has it, or never will.
struct OnItsWay {
    database: Arc<Database>,
    connection: u64,
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        self.database.handed_over(self.connection);
    }
}

/// A connection to a database. Clones are the same connection, which is closed by [`close`](Self::close), or when the last
/// handle to it and to its transactions goes.
#[derive(Clone)]
pub struct Connection(Arc<Handle>);

struct Handle {
    core: Arc<ConnectionCore>,
    _storage: Arc<dyn Driver>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.core.database.close(self.core.number);
    }
}

/// The shared part.
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

    pub(crate) fn ready(&self) -> &Arc<Ready> {
        self.database.ready()
    }

    /// An upgrade is aborted: everything as it was.
    pub(crate) fn revert(&self, schema: SchemaSnapshot, version: u64) {
        self.schema.restore(schema);
        self.version.store(version, Ordering::Release);
    }

    /// The store that it is in.
    ///
    /// # Errors
    /// `InvalidStateError` if it has been closed.
    pub(crate) fn store(&self) -> Result<Arc<OpenStore>> {
        let closed = || Error::new(ErrorName::InvalidStateError, "the connection is closed");
        locked(&self.store).clone().ok_or_else(closed)
    }

    /// It is closed: whatever handles there still are, they do not keep the store.
    pub(crate) fn release_store(&self) {
        let store = locked(&self.store).take();
        drop(store);
    }

    /// If the store takes no writes any more, all its connections are closed.
    pub(crate) fn note_store_error(&self, error: &Error) {
        if let Ok(store) = self.store() {
            self.database.origin.note_store_error(&store, error);
        }
    }
}

impl Connection {
    pub(crate) fn new(core: Arc<ConnectionCore>, storage: Arc<dyn Driver>) -> Self {
        Self(Arc::new(Handle {
            core,
            _storage: storage,
        }))
    }

    pub(crate) fn core(&self) -> &Arc<ConnectionCore> {
        &self.0.core
    }

    /// That it is on its way to the host.
    pub(crate) fn handover(&self) -> Handover {
        Box::new(OnItsWay {
            database: Arc::clone(&self.0.core.database),
            connection: self.0.core.number,
        })
    }

    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.0.core.schema
    }

    /// The name of the database.
    #[must_use]
    pub fn name(&self) -> &JsString {
        &self.0.core.database.name
    }

    /// The version of the database, as this connection sees it: of an upgrade that was aborted, the one before.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.0.core.version.load(Ordering::Acquire)
    }

    /// The names of the object stores, sorted by UTF-16 units.
    #[must_use]
    pub fn object_store_names(&self) -> Vec<JsString> {
        self.schema().object_store_names()
    }

    /// Closes it: it takes no new transactions, and is closed when those it has have ended.
    pub fn close(&self) {
        self.0.core.database.close(self.0.core.number);
    }

    /// Whether [`close`](Self::close) was called, or it was closed otherwise.
    #[must_use]
    pub fn is_close_pending(&self) -> bool {
        self.0.core.database.is_close_pending(self.0.core.number)
    }

    /// What happens to it. All such handles share one queue.
    #[must_use]
    pub fn events(&self) -> Events<ConnectionEvent> {
        Events::new(Arc::clone(&self.0.core.events))
    }
}

impl PartialEq for Connection {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Connection {}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("name", &self.name().to_string_lossy())
            .field("version", &self.version())
            .field("number", &self.0.core.number)
            .finish_non_exhaustive()
    }
}
