//! Makes out the entries of a table's blocks that do not have their checksums.
//!
//! The blocks are found by the table's index, which may be damaged itself. What does not unpack to its end is read up to there.

use super::blocks::verify;
use super::reader::Table;
use super::{BlockHandle, TRAILER_LEN};
use crate::block::for_each_damaged;
use crate::compression::{Compression, unpack_damaged};
use crate::internal_key::is_valid;

/// The blocks of a table together may take so many times its length: those of a damaged index may overlap.
const OVERLAP_MAX: u64 = 2;

/// Calls `visit` with the internal key and the value of each entry that can be made out in a damaged block.
pub(crate) fn for_each_damaged_block(table: &Table, mut visit: impl FnMut(&[u8], &[u8])) {
    let Ok(footer) = table.read_footer() else {
        return;
    };
    let mut handles = Vec::new();
    let index = read(table, footer.index);
    let (stored, _) = index.as_deref().map_or((&[][..], true), split);
    for_each_damaged(&unpacked(stored), |_, value| {
        // An index block's keys need not be read; its handles lie before it.
        let handle = BlockHandle::decode_exact(value);
        let handle = handle.filter(|handle| handle.end().is_some_and(|end| end <= table.len()));
        handles.extend(handle);
        handle.is_some()
    });
    handles.sort_by_key(|handle| handle.offset);
    let mut left = table.len().saturating_mul(OVERLAP_MAX);
    for handle in handles {
        let Some(rest) = left.checked_sub(handle.len) else {
            return;
        };
        left = rest;
        let Some(stored) = read(table, handle) else {
            continue;
        };
        let (stored, is_whole) = split(&stored);
        if is_whole {
            continue;
        }
        for_each_damaged(&unpacked(stored), |key, value| {
            let is_entry = is_valid(key);
            if is_entry {
                visit(key, value);
            }
            is_entry
        });
    }
}

/// A block with its trailer, as far as it can be read.
fn read(table: &Table, handle: BlockHandle) -> Option<Vec<u8>> {
    let len = table.end_of(handle).ok()? - handle.offset;
    let mut stored = vec![0; usize::try_from(len).ok()?];
    table.read_exact(handle.offset, &mut stored).ok()?;
    Some(stored)
}

/// The block and its type byte, and whether it has its checksum.
fn split(stored: &[u8]) -> (&[u8], bool) {
    let end = (stored.len() + 1).saturating_sub(TRAILER_LEN);
    (
        stored.get(..end).unwrap_or_default(),
        verify(stored).is_ok(),
    )
}

/// What can be unpacked of a block, by its type byte or, if that is none, by the one that most have.
fn unpacked(stored: &[u8]) -> Vec<u8> {
    let Some((byte, packed)) = stored.split_last() else {
        return Vec::new();
    };
    let compression = Compression::from_byte(*byte);
    unpack_damaged(compression.unwrap_or(Compression::Snappy), packed)
}
