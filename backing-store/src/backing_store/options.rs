//! How a store is opened for writing.

use std::sync::Arc;

use larder_codec::{DataVersion, Origin};
use larder_leveldb::BlockCache;
pub use larder_leveldb::{Background, BackgroundPool, BackgroundWork};

use super::maintenance::MaintenanceSchedule;
use crate::clock::Clock;
use crate::quota::Quota;
use crate::versions::{NEW_STORE_VERSION, RaiseDataVersion};

/// How a store is opened for writing.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// Whether a store is made where there is none (`false`). A blob folder that lies where the new store's will be belongs
    /// to nothing and is removed, as Chromium does.
    pub create_if_missing: bool,
    /// The cache of LevelDB blocks (8 MiB of its own), which stores may share.
    pub block_cache: BlockCache,
    /// A LevelDB memtable of so many bytes becomes a table (4 MiB). There are up to two, and a third while a snapshot
    /// reads it. After a crash as much is read from the log again; closing leaves no more than 4 MiB there.
    pub write_buffer_bytes: usize,
    /// A transaction's writes stay in memory up to so many bytes, then they go to tables of its own (8 MiB).
    pub transaction_memory_bytes: usize,
    /// Whether the order of the store's keys is trusted without a look at its tables (`false`): only for a store that no program but this
    /// library has ever written. QtWebEngine's may be in another order, in which a write would do damage.
    pub trusts_order: bool,
    /// The versions of the value formats that a store gets which is made ([`NEW_STORE_VERSION`]). A store that is there keeps
    /// its own.
    pub new_store_version: DataVersion,
    /// When the store's data version may be raised, which shuts older browsers out ([`RaiseDataVersion::WhileNew`]).
    pub raise_data_version: RaiseDataVersion,
    /// Whether opening raises a store of schema 3 or 4 to today's (`false`): Chromium 83 deletes one of schema 5 then, and
    /// Chromium 79 and older one of schema 4. Only handles of the file system, and transactions of more than a GiB in a store
    /// of schema 3, need it.
    pub raise_schema: bool,
    /// The origin that the store belongs to: part of the names of its databases.
    pub origin: Origin,
    /// The clock that decides when maintenance is due.
    pub clock: Arc<dyn Clock>,
    /// When maintenance may run again in any of the stores that share this.
    pub maintenance: Arc<MaintenanceSchedule>,
    /// Where random choices of maintenance start from.
    pub random_seed: u64,
    /// The length of a reserve file in the LevelDB folder (32 KiB; 0: no such file). Deleting needs some room before it frees
    /// any; on a full disk the file is removed for that. It is made by the first write. Chromium ignores it.
    pub reserve_bytes: usize,
    /// The limit of the bytes of the store's files (none). A transaction that puts something fails if it would pass the limit:
    /// see [`Quota`].
    pub quota: Option<Arc<Quota>>,
    /// What compacts LevelDB's tables ([`Background::Thread`]).
    pub background: Background,
}

impl WriteOptions {
    /// Options with the values that each field names.
    #[must_use]
    pub fn new(origin: Origin, clock: Arc<dyn Clock>) -> Self {
        Self {
            create_if_missing: false,
            block_cache: BlockCache::new(8 << 20),
            write_buffer_bytes: 4 << 20,
            transaction_memory_bytes: 8 << 20,
            trusts_order: false,
            new_store_version: NEW_STORE_VERSION,
            raise_data_version: RaiseDataVersion::default(),
            raise_schema: false,
            origin,
            clock,
            maintenance: Arc::default(),
            random_seed: 0,
            reserve_bytes: 32 << 10,
            quota: None,
            background: Background::Thread,
        }
    }
}
