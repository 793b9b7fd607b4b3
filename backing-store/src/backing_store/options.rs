//! How a store is opened for writing.

use std::sync::Arc;

use larder_codec::{DataVersion, Origin};
pub use larder_leveldb::Background;

use super::maintenance::MaintenanceSchedule;
use crate::clock::Clock;

/// The versions of the value formats that Chromium 150 to 156 write: V8's 16 as seen in their stores, Blink's 21
/// (`IDB/indexed_db_data_format_version`).
pub const DATA_VERSION: DataVersion = DataVersion { v8: 16, blink: 21 };

/// How a store is opened for writing.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// Whether a store is made where there is none (`false`). A blob folder that lies where the new store's will be belongs
    /// to nothing and is removed, as Chromium does.
    pub create_if_missing: bool,
    /// Size of the cache of LevelDB blocks, in bytes (8 MiB).
    pub block_cache_bytes: usize,
    /// A LevelDB memtable of so many bytes becomes a table (4 MiB). There are up to two, and a third while
    /// somebody reads it. After a crash as much is read from the log again; closing leaves no more than 4 MiB there.
    pub write_buffer_bytes: usize,
    /// A transaction's writes stay in memory up to so many bytes, then they go to the undo log (8 MiB).
    pub transaction_memory_bytes: usize,
    /// The versions of the formats in which values will be written ([`DATA_VERSION`]). The store's are raised to them if
    /// they are older, which older programs then refuse, and never lowered.
    pub data_version: DataVersion,
    /// The origin that the store belongs to: part of the names of its databases.
    pub origin: Origin,
    /// Tells when maintenance is due.
    pub clock: Arc<dyn Clock>,
    /// When maintenance may run again in any of the stores that share this.
    pub maintenance: Arc<MaintenanceSchedule>,
    /// Where random choices of maintenance start from.
    pub random_seed: u64,
    /// Who compacts LevelDB's tables ([`Background::Thread`]).
    pub background: Background,
}

impl WriteOptions {
    /// With the values above.
    #[must_use]
    pub fn new(origin: Origin, clock: Arc<dyn Clock>) -> Self {
        Self {
            create_if_missing: false,
            block_cache_bytes: 8 << 20,
            write_buffer_bytes: 4 << 20,
            transaction_memory_bytes: 8 << 20,
            data_version: DATA_VERSION,
            origin,
            clock,
            maintenance: Arc::default(),
            random_seed: 0,
            background: Background::Thread,
        }
    }
}
