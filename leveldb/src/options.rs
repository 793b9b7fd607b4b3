//! How a store is opened.

use crate::background_pool::BackgroundPool;
use crate::cache::BlockCache;
use crate::internal_key::InternalOrder;
use crate::on_damage::OnDamage;
use crate::table::TableOptions;
use crate::{BytewiseComparator, Comparator, KeyFacts};
use std::sync::Arc;

/// The thread that makes tables of memtables, and compacts tables.
#[derive(Clone, Debug)]
pub enum Background {
    /// A thread of the [`Db`](crate::Db)'s own, which it stops and joins when it is closed or dropped.
    Thread,
    /// Threads that any number of stores share, and that the host stops. A writer that would have to wait for work does the work
    /// itself if no thread has begun it. A store that is closed uses them no more.
    Pool(Arc<dyn BackgroundPool>),
    /// No thread of its own: the callers of [`Db::do_background_work`](crate::Db::do_background_work), and writers that have to wait for
    /// it. What happens then depends on the calls alone.
    Caller,
}

impl Background {
    pub(crate) const fn is_caller(&self) -> bool {
        matches!(self, Background::Caller)
    }

    pub(crate) fn pool(&self) -> Option<Arc<dyn BackgroundPool>> {
        match self {
            Background::Pool(pool) => Some(pool.clone()),
            Background::Thread | Background::Caller => None,
        }
    }
}

/// How a store is opened. Checksums are always verified; there is no option for that.
#[derive(Clone, Debug)]
pub struct Options {
    /// The order of user keys; its name must be the store's.
    pub comparator: Arc<dyn Comparator>,
    /// Which keys belong together (`None`: nothing is known): of a key, how many of its first bytes name its group. Keys of a group lie one
    /// behind the other. When a memtable becomes a table, a group that lies behind or between all others of its kind becomes a table of its
    /// own, of a deeper level. What it says changes no content, only what compactions have to do.
    pub group_prefix_len: Option<fn(&[u8]) -> usize>,
    /// What is known of the comparator's keys (`None`: nothing). [`BytewiseComparator`] mostly needs none: its heads are known.
    pub key_facts: Option<KeyFacts>,
    /// Where unpacked blocks are kept (a cache of 8 MiB of its own); other stores may share it. Once it is full, a block is kept when
    /// it is asked for twice within a while. Besides, the index and filter blocks of open tables in which keys were sought are
    /// kept, up to eight times as many bytes as the cache has.
    pub block_cache: BlockCache,
    /// What happens when damage is met ([`OnDamage::Fail`]).
    pub on_damage: OnDamage,
    /// How many tables are open at a time (500). Each holds a file descriptor; those beyond are opened when needed, and a
    /// store in use may have removed them by then.
    pub open_tables_max: usize,
    /// How many bytes of values of the logs are kept in memory (8 MiB); large ones beyond that are read when needed.
    pub log_value_bytes: usize,
    /// How much opening reads to find tables whose keys are in another order, before anything relies on their order. If all tables
    /// together have at most so many bytes (1 MiB), every key is checked; of a larger store only the MANIFEST and the tables'
    /// indexes are. [`Db::order`](crate::Db::order) says what was found.
    pub order_check_bytes: u64,
    /// Whether no table is opened to find that out (`false`): for a store whose tables were all checked when they came to where they are,
    /// and where reading them is slow. What the MANIFEST says of them is checked all the same, and the tables if it speaks for another order.
    pub trusts_order: bool,
    /// Whether [`Db::open`](crate::Db::open) makes a store where there is none (`false`).
    pub create_if_missing: bool,
    /// Whether [`Db::open`](crate::Db::open) refuses a store that is there (`false`).
    pub error_if_exists: bool,
    /// A memtable of so many bytes becomes a table (4 MiB). There are up to two at a time, and a log for each.
    pub write_buffer_bytes: usize,
    /// A compaction begins another table after so many bytes (2 MiB).
    pub table_file_bytes: u64,
    /// A MANIFEST is begun anew when so many bytes of edits were added to it (1 MiB).
    pub manifest_bytes: u64,
    /// How tables are written.
    pub table: TableOptions,
    /// Where compactions run ([`Background::Thread`]).
    pub background: Background,
}

impl Options {
    /// With a comparator, and the values above for the rest.
    pub fn new(comparator: Arc<dyn Comparator>) -> Options {
        Options {
            comparator,
            group_prefix_len: None,
            key_facts: None,
            block_cache: BlockCache::new(8 << 20),
            on_damage: OnDamage::Fail,
            open_tables_max: 500,
            log_value_bytes: 8 << 20,
            order_check_bytes: 1 << 20,
            trusts_order: false,
            create_if_missing: false,
            error_if_exists: false,
            write_buffer_bytes: 4 << 20,
            table_file_bytes: 2 << 20,
            manifest_bytes: 1 << 20,
            table: TableOptions::default(),
            background: Background::Thread,
        }
    }

    /// The order of internal keys, with what is known of the keys.
    pub(crate) fn order(&self) -> InternalOrder {
        InternalOrder::with_facts(self.comparator.clone(), self.key_facts)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::new(Arc::new(BytewiseComparator))
    }
}
