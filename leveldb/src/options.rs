//! How a store is opened.

use crate::core::OnDamage;
use crate::{BytewiseComparator, Comparator};
use std::sync::Arc;

/// How a store is opened. Checksums are always verified; there is no option for that.
#[derive(Clone, Debug)]
pub struct Options {
    /// The order of user keys; its name must be the store's.
    pub comparator: Arc<dyn Comparator>,
    /// How many bytes of unpacked blocks are kept (8 MiB).
    pub block_cache_bytes: usize,
    /// What happens when damage is met ([`OnDamage::Fail`]).
    pub on_damage: OnDamage,
    /// How many tables are open at a time (500). Each holds a file descriptor; those beyond are opened when needed, and a
    /// store in use may have removed them by then.
    pub open_tables_max: usize,
    /// How many bytes of values of the logs are kept in memory (8 MiB); large ones beyond that are read when needed.
    pub log_value_bytes: usize,
}

impl Options {
    /// With a comparator, and the values above for the rest.
    pub fn new(comparator: Arc<dyn Comparator>) -> Options {
        Options {
            comparator,
            block_cache_bytes: 8 << 20,
            on_damage: OnDamage::Fail,
            open_tables_max: 500,
            log_value_bytes: 8 << 20,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::new(Arc::new(BytewiseComparator))
    }
}
