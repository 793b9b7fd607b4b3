//! What a version says of a table: its number, its level, and between which keys it has entries.

use crate::filter::KeyFilter;
use std::sync::Arc;

/// A table, as the MANIFEST lists it.
#[derive(Clone, Debug)]
pub(crate) struct TableFile {
    pub(crate) number: u64,
    pub(crate) level: usize,
    /// `None` if no MANIFEST lists it.
    pub(crate) len_bytes: Option<u64>,
    /// The first internal key; `None` if unknown.
    pub(crate) smallest: Option<Vec<u8>>,
    /// The last internal key; `None` if unknown.
    pub(crate) largest: Option<Vec<u8>>,
    /// Its keys, if it was made of a memtable and is in level 0 since.
    pub(crate) keys: Option<Arc<KeyFilter>>,
    /// Its keys are in an order that is not the comparator's: no search in it finds anything.
    pub(crate) is_unsorted: bool,
}
