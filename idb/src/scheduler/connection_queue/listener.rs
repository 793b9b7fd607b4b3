//! What a request to open or to delete reports to. The handles of a host are made there, above this room.

use std::sync::Arc;

use super::super::ConnectionCore;
use crate::error::Result;
use crate::execution::{TransactionCore, Versions};

/// The side of a request to open that the host sees.
pub(crate) trait OpenListener: Send + Sync {
    /// Other connections have not been closed, and the request waits for that.
    fn blocked(&self, old_version: u64, new_version: u64);

    /// The upgrade has begun: its transaction is the host's to end.
    fn upgrade_needed(
        &self,
        connection: Arc<ConnectionCore>,
        transaction: Arc<TransactionCore>,
        versions: Versions,
    );

    /// The end. A connection whose upgrade has been reported is the same one.
    fn done(&self, result: Result<Arc<ConnectionCore>>);
}

/// The side of a request to delete that the host sees.
pub(crate) trait DeleteListener: Send + Sync {
    /// Connections have not been closed, and the request waits for that.
    fn blocked(&self, old_version: u64);

    /// The end: the version that the database had, 0 if there was none.
    fn done(&self, result: Result<u64>);
}
