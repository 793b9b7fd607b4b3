//! Connections (specification, 2.1.1 and 4.4).

use std::fmt;
use std::sync::Arc;

use larder_codec::JsString;

use crate::events::{Events, Handover};
use crate::request::driver::Driver;
use crate::scheduler::{ConnectionCore, ConnectionEvent, Database};
use crate::schema::Schema;

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
        self.0.core.version()
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
