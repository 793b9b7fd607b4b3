//! What happens to a connection.

use std::fmt;
use std::sync::Arc;

use super::Database;

/// What happens to a connection.
#[derive(Debug)]
pub enum ConnectionEvent {
    /// A request to upgrade or to delete the database waits until this connection is closed.
    VersionChange(VersionChange),
    /// It was closed by force: its transactions were aborted. The last event.
    Close,
}

/// The version is to change. The request that announces it reports that it is blocked only after this has been dropped.
///
/// It does not wait for a connection that the host has, and has never asked for events of. One that the host has not got yet,
/// since the end of the request to open has not been taken, is waited for; if a callback takes that, until it has returned. So
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

    /// Reports that it has been dealt with. Dropping does the same.
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
