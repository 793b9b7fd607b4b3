//! Rebuilds the index of a table whose own cannot be used.
//!
//! Data blocks follow each other from offset 0, each with its checksum after it. So their ends can be found without an
//! index: the checksum is computed byte by byte, and a block may end where the stored one matches. After a damaged block the next
//! one's start is unknown as well; then all pairs of start and end in a stretch are tried at once ([`Checksummed`]).
//!
//! Bytes may match by chance, or be a block inside of a value. What is found must therefore unpack and hold valid internal keys. These must
//! ascend from block to block and lie within the range that the MANIFEST names, unless the table is known to be in another
//! order. An intact index block is recognised by its handles and used as it is.

use super::blocks::verify;
use super::checksummed::Checksummed;
use super::fault::Fault;
use super::reader::Table;
use super::survey::Ascent;
use super::{BlockHandle, TRAILER_LEN, TableContext};
use crate::block::{BlockBuilder, BlockCursor};
use crate::compression::decompress;
use crate::damage::{Damage, DamageKind};
use crate::error::Result;
use crate::internal_key;
use crate::pinned::PinnedBytes;
use crate::table_file::TableFile;
use std::cmp::Ordering;
use std::sync::Arc;

/// Tables are salvaged up to here; their files are 2 MiB as a rule.
const SALVAGE_LEN_MAX: u64 = 64 << 20;

/// An index block without entries.
pub(crate) fn empty_index() -> Arc<Vec<u8>> {
    Arc::new(BlockBuilder::new(1).finish().to_vec())
}

/// A block that was found by its checksum.
struct Found {
    start: usize,
    end: usize,
    first: Vec<u8>,
    last: Vec<u8>,
    ascends: bool,
}

/// What a stretch of bytes with a right checksum turned out to be.
enum Block {
    Data(Found),
    Index(Vec<u8>),
    Other,
}

struct Salvage<'a> {
    context: &'a TableContext,
    meta: &'a TableFile,
    bytes: &'a [u8],
    found: Vec<Found>,
    /// What follows directly on the last data block is another block: no data block is missing at the end.
    is_closed: bool,
}

/// An index made from what blocks there are, in the form of an index block. Writes down the damage, and every range of keys
/// whose blocks are lost.
pub(crate) fn rebuild_index(
    context: &TableContext,
    table: &Table,
    meta: &TableFile,
    offset: Option<u64>,
    fault: Fault,
) -> Result<Arc<Vec<u8>>> {
    let bytes = read_what_can_be_read(context, table)
        .map_err(|(offset, fault)| fault.into_error(&table.name, Some(offset)))?;
    let mut salvage = Salvage {
        context,
        meta,
        bytes: &bytes,
        found: Vec::new(),
        is_closed: false,
    };
    let index = salvage.walk();
    let what = match &index {
        Some(_) => format!("{fault}; its index was found by its checksum"),
        None => format!(
            "{fault}; index rebuilt from {} intact blocks",
            salvage.found.len()
        ),
    };
    let mut damage = Damage::new(&*table.name, offset, fault.kind, what);
    if index.is_none() && offset.is_none() {
        damage.len_bytes = meta.len_bytes.unwrap_or(0).saturating_sub(table.len());
    }
    context.damage.report(damage);
    if let Some(index) = index {
        return Ok(Arc::new(index));
    }
    salvage.report_gaps(table);
    Ok(salvage.index())
}

/// The order of a table whose index cannot be used, as far as its data blocks follow each other from the start: what lies
/// behind damage may be a block in a value.
pub(super) fn survey(context: &TableContext, table: &Table, meta: &TableFile) -> Ascent {
    let Ok(bytes) = read_what_can_be_read(context, table) else {
        return Ascent::Partly;
    };
    let mut salvage = Salvage {
        context,
        meta: &TableFile {
            is_unsorted: true,
            ..meta.clone()
        },
        bytes: &bytes,
        found: Vec::new(),
        is_closed: false,
    };
    let mut at = 0;
    let mut checksummed = Checksummed::new(&bytes);
    while at + TRAILER_LEN < bytes.len() {
        let mut block = None;
        let end = checksummed.end_of(at, |end| {
            block = salvage.classify(at, end);
            block.is_some()
        });
        let (Some(Block::Data(found)), Some(end)) = (block, end) else {
            break;
        };
        let before = salvage.found.last().map_or(&[][..], |before| &before.last);
        let follows =
            before.is_empty() || context.order.compare(before, &found.first) == Ordering::Less;
        if !found.ascends || !follows {
            return Ascent::Broken;
        }
        salvage.found.push(found);
        at = end;
    }
    Ascent::Partly
}

/// The file, with zeros in place of what cannot be read.
///
/// # Errors
/// One that passes: no damage may be concluded from it.
fn read_what_can_be_read(context: &TableContext, table: &Table) -> Result<Vec<u8>, (u64, Fault)> {
    const PIECE: usize = 64 << 10;
    let len = table.len().min(SALVAGE_LEN_MAX) as usize;
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        let start = bytes.len();
        let n = PIECE.min(len - start);
        bytes.resize(start + n, 0);
        if let Err(fault) = table.read_exact(start as u64, &mut bytes[start..]) {
            if context.on_damage.fails_on(fault.source.as_ref()) {
                return Err((start as u64, fault));
            }
            // Zeros have no block's checksum; what follows may still be readable.
            bytes[start..].fill(0);
        }
    }
    Ok(bytes)
}

impl Salvage<'_> {
    /// Finds the data blocks. Gives the index block, unpacked, if it comes upon it.
    fn walk(&mut self) -> Option<Vec<u8>> {
        let mut at = 0;
        let mut checksummed = Checksummed::new(self.bytes);
        while at + TRAILER_LEN < self.bytes.len() {
            let mut block = None;
            let mut is_block = |start, end| {
                block = self.classify(start, end);
                block.is_some()
            };
            let mut end = checksummed.end_of(at, |end| is_block(at, end));
            let is_next = end.is_some();
            if end.is_none() {
                let found = checksummed.find(at + 1, is_block);
                end = found.map(|(_, end)| end);
            }
            match block {
                Some(Block::Index(index)) => return Some(index),
                Some(Block::Data(found)) => {
                    self.found.push(found);
                    self.is_closed = false;
                }
                Some(Block::Other)
                    if is_next && self.found.last().is_some_and(|last| last.end == at) =>
                {
                    self.is_closed = true;
                }
                Some(Block::Other) | None => {}
            }
            at = end?;
        }
        None
    }

    /// What `start..end` is, given that its checksum matches; `None` if it is no block at all.
    fn classify(&self, start: usize, end: usize) -> Option<Block> {
        let stored = self.bytes.get(start..end)?;
        let (compression, packed) = verify(stored).ok()?;
        let mut unpacked = Vec::new();
        decompress(compression, packed, &mut unpacked).ok()?;
        let unpacked = Arc::new(unpacked);
        let mut cursor = BlockCursor::default();
        // A filter block is one, too, and not in the form of a block.
        if cursor
            .set_block(PinnedBytes::whole(unpacked.clone()))
            .is_err()
            || cursor.seek_to_first().is_err()
        {
            return Some(Block::Other);
        }
        if !cursor.valid() {
            return Some(Block::Other);
        }
        let mut first = cursor.key().to_vec();
        let mut last = Vec::new();
        let (mut is_data, mut is_index, mut next_offset, mut confirmed) = (true, true, 0, false);
        let mut ascends = true;
        while cursor.valid() {
            let key = cursor.key();
            is_data &= internal_key::is_valid(key);
            ascends &= last.is_empty() || self.context.order.compare(&last, key) == Ordering::Less;
            match BlockHandle::decode_exact(cursor.value()) {
                Some(handle)
                    if handle.offset == next_offset && handle.end() <= Some(start as u64) =>
                {
                    next_offset = handle.end().unwrap_or(0);
                    confirmed |= self.starts_and_ends(handle);
                }
                _ => is_index = false,
            }
            last.clear();
            last.extend_from_slice(key);
            if cursor.next().is_err() {
                return Some(Block::Other);
            }
        }
        is_data &= ascends || self.meta.is_unsorted;
        if is_data && is_index {
            // Not certainly an index and nothing else: then its handles must not be shown as values.
            return Some(if confirmed {
                Block::Index(unpacked.to_vec())
            } else {
                Block::Other
            });
        }
        if !is_data || !self.fits(&first, &last) {
            return Some(Block::Other);
        }
        first.shrink_to_fit();
        Some(Block::Data(Found {
            start,
            end,
            first,
            last,
            ascends,
        }))
    }

    fn starts_and_ends(&self, handle: BlockHandle) -> bool {
        let matches = |found: &Found| {
            found.start as u64 == handle.offset && handle.end() == Some(found.end as u64)
        };
        self.found
            .binary_search_by(|found| (found.start as u64).cmp(&handle.offset))
            .is_ok_and(|i| matches(&self.found[i]))
    }

    /// Whether a block with these keys can follow what was found, in this table.
    fn fits(&self, first: &[u8], last: &[u8]) -> bool {
        if self.meta.is_unsorted {
            return true;
        }
        let order = &self.context.order;
        let after = |bound: Option<&Vec<u8>>, key: &[u8], and_equal: bool| {
            bound.is_none_or(|bound| match order.compare(bound, key) {
                Ordering::Less => true,
                Ordering::Equal => and_equal,
                Ordering::Greater => false,
            })
        };
        after(self.found.last().map(|found| &found.last), first, false)
            && after(self.meta.smallest.as_ref(), first, true)
            && self
                .meta
                .largest
                .as_ref()
                .is_none_or(|largest| order.compare(last, largest) != Ordering::Greater)
    }

    /// Writes down the ranges of keys between blocks that do not follow each other.
    fn report_gaps(&self, table: &Table) {
        if self.meta.is_unsorted {
            return self.report_gaps_anywhere(table);
        }
        let (mut end, mut low) = (0, self.meta.smallest.clone());
        for found in &self.found {
            if found.start != end {
                self.report_gap(table, (end, found.start), low, Some(found.first.clone()));
            }
            end = found.end;
            low = Some(found.last.clone());
        }
        let complete =
            self.meta.largest.is_some() && low == self.meta.largest && !self.found.is_empty();
        if !complete {
            self.report_gap(
                table,
                (end, table.len() as usize),
                low,
                self.meta.largest.clone(),
            );
        }
    }

    /// Reports the gaps of a table in another order: any key may have been in a gap.
    fn report_gaps_anywhere(&self, table: &Table) {
        let mut end = 0;
        for found in &self.found {
            if found.start != end {
                self.report_gap(table, (end, found.start), None, None);
            }
            end = found.end;
        }
        if !self.is_closed {
            self.report_gap(table, (end, table.len() as usize), None, None);
        }
    }

    fn report_gap(
        &self,
        table: &Table,
        at: (usize, usize),
        low: Option<Vec<u8>>,
        high: Option<Vec<u8>>,
    ) {
        let what = "data blocks are damaged or missing";
        let mut damage = Damage::new(&*table.name, Some(at.0 as u64), DamageKind::Checksum, what);
        damage.len_bytes = (at.1 as u64).saturating_sub(at.0 as u64);
        self.context
            .damage
            .report_region(table.number, at.0 as u64, None, damage, (low, high));
    }

    fn index(&self) -> Arc<Vec<u8>> {
        let mut builder = BlockBuilder::new(1);
        for found in &self.found {
            let mut value = Vec::new();
            let len = (found.end - found.start - TRAILER_LEN) as u64;
            BlockHandle {
                offset: found.start as u64,
                len,
            }
            .encode(&mut value);
            builder.add(&found.last, &value);
        }
        Arc::new(builder.finish().to_vec())
    }
}
