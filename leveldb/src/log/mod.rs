//! Logs: records in 32 KiB blocks. Write-ahead logs hold write batches, MANIFESTs version edits.
//!
//! A record is cut into fragments that do not cross block boundaries. Each has a header of seven bytes: masked CRC-32C of
//! type and payload (4, little-endian), payload length (2, little-endian), type (1: whole record, 2: first, 3: middle, 4:
//! last fragment). Fewer than seven bytes at a block's end are left zero. LevelDB's `doc/log_format.md`.
//!
//! A file that ends within a record is what a crash leaves: a *torn tail*, not damage. Damage before the end is distinguished
//! from it, and described by [`Lost`], as far as it can be without knowing what records mean. A power cut leaves more than torn
//! tails: zeros in place of what no sync has covered (`power_cut`).

mod fragment;
mod power_cut;
mod reader;
mod remains;
mod writer;

pub(crate) use power_cut::explains as power_cut_explains;
pub(crate) use reader::{Fragment, read_span};
pub use reader::{LogEvent, LogReader, Lost};
pub(crate) use remains::{Remains, for_each_record};
pub use writer::LogWriter;

/// Bytes of a block.
pub const BLOCK_LEN: usize = 32 << 10;
/// Bytes of a fragment's header.
pub const HEADER_LEN: usize = 7;

/// So many bytes a log grows at most by a record of a length, whatever it holds: with the headers of all its fragments, what is left
/// empty before it, and the two empty batches that may come before it (decisions 5 and 18).
pub const fn growth_bytes_max(record_len: usize) -> u64 {
    const EMPTY_BATCHES: usize = 64;
    let fragments = record_len / (BLOCK_LEN - HEADER_LEN) + 2;
    (record_len + fragments * HEADER_LEN + HEADER_LEN + EMPTY_BATCHES) as u64
}

#[cfg(test)]
mod tests;
