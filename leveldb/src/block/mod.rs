//! Blocks: sorted keys and values with shared prefixes, the unit that tables are read in.
//!
//! Bytes: entries, each `shared` `added` `value length` (varints), the added key bytes, the value; then the restart array
//! (4 bytes little-endian each: offsets of entries with `shared` = 0), then its length (4). LevelDB's
//! `doc/table_format.md`, `table/block.cc`. Files, checksums and what keys mean are not its business.

mod builder;
mod cursor;
mod find;

pub use builder::BlockBuilder;
pub(crate) use cursor::{BlockCursor, BlockFault, has_true_restarts};
pub(crate) use find::{WholeEntry, find, for_each, for_each_damaged, whole_entries, whole_key};

/// Restart interval of data blocks (LevelDB's default, also Chromium's).
pub const RESTART_INTERVAL: usize = 16;

#[cfg(test)]
mod tests;
