//! Finds out in which order a table's keys are, before any search relies on it.
//!
//! Whatever has its checksum is what a writer wrote. Keys that do not ascend are the work of a writer with another order, not
//! damage: such a table is read whole and sorted anew (`unsorted.rs`). A search in it would miss keys without
//! a sign, and so would a search that passes it by for the range that the MANIFEST gives; so the question is settled when the
//! store is opened. Nothing is written down here: damage is met again, and reported, when the table is read.

use super::blocks::verify;
use super::reader::Table;
use super::{BlockHandle, TableContext, salvage};
use crate::block::{self, BlockCursor};
use crate::compression::decompress;
use crate::internal_key::{InternalOrder, is_valid};
use crate::pinned::PinnedBytes;
use crate::table_file::TableFile;
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

/// So many bytes of a table are read at a time.
const WINDOW: u64 = 256 << 10;

/// All keys of a table together, unfolded, have at most so many bytes: a hostile block of few bytes can unfold to any number.
pub(crate) const KEYS_LEN_MAX: usize = 256 << 20;

/// The order of a table's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ascent {
    /// Every key was read, and all ascend, from the first to the last of these; `None` for a table without keys.
    Whole(Option<(Vec<u8>, Vec<u8>)>),
    /// The keys that were looked at ascend; others could not be read, or were not asked for.
    Partly,
    /// Some keys do not.
    Broken,
}

/// How closely a table is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Every key.
    Whole,
    /// The keys of the index: one for each block.
    Index,
}

/// Looks at a table of which nothing need be prepared.
pub(crate) fn survey(
    context: &TableContext,
    table: &Table,
    meta: &TableFile,
    look: Look,
) -> Ascent {
    let Ok((index, handle)) = table.read_index() else {
        return salvage::survey(context, table, meta);
    };
    // Handles that do not fit together are damage, whatever the order.
    if table.check_index(None, &index, handle).is_err() {
        return salvage::survey(context, table, meta);
    }
    let mut survey = Survey {
        order: &context.order,
        table,
        blocks: Blocks::default(),
        first: None,
        last: Vec::new(),
        keys_len: 0,
        is_whole: look == Look::Whole,
    };
    match survey.walk(index, look) {
        ControlFlow::Break(Found::Descent) => Ascent::Broken,
        ControlFlow::Break(Found::TooMuch) => Ascent::Partly,
        ControlFlow::Continue(()) if survey.is_whole => {
            Ascent::Whole(survey.first.map(|first| (first, survey.last)))
        }
        ControlFlow::Continue(()) => Ascent::Partly,
    }
}

/// Why a walk ends early.
enum Found {
    Descent,
    TooMuch,
}

struct Survey<'a> {
    order: &'a InternalOrder,
    table: &'a Table,
    blocks: Blocks,
    first: Option<Vec<u8>>,
    /// The key before.
    last: Vec<u8>,
    keys_len: usize,
    is_whole: bool,
}

impl Survey<'_> {
    fn walk(&mut self, index: Arc<Vec<u8>>, look: Look) -> ControlFlow<Found> {
        let mut cursor = BlockCursor::default();
        let entered = cursor.set_block(PinnedBytes::whole(index));
        if entered.is_err() || cursor.seek_to_first().is_err() {
            self.is_whole = false;
            return ControlFlow::Continue(());
        }
        // The index key of the block before.
        let mut bound = Vec::new();
        while cursor.valid() {
            let own = cursor.key();
            if !bound.is_empty() && self.order.compare(&bound, own) != Ordering::Less {
                return ControlFlow::Break(Found::Descent);
            }
            if look == Look::Whole
                && let Some(handle) = BlockHandle::decode_exact(cursor.value())
            {
                self.block(handle, &bound, own)?;
            }
            bound.clear();
            bound.extend_from_slice(own);
            if cursor.next().is_err() {
                self.is_whole = false;
                break;
            }
        }
        ControlFlow::Continue(())
    }

    /// A block's keys lie behind the index key of the block before, and not behind its own.
    fn block(&mut self, handle: BlockHandle, bound: &[u8], own: &[u8]) -> ControlFlow<Found> {
        let Some(block) = self.blocks.read(self.table, handle) else {
            self.is_whole = false;
            return ControlFlow::Continue(());
        };
        let (order, first, last) = (self.order, &mut self.first, &mut self.last);
        let (keys_len, is_whole) = (&mut self.keys_len, &mut self.is_whole);
        let mut is_at_start = true;
        let walked = block::for_each(block, |key, _| {
            if !is_valid(key) {
                *is_whole = false;
                return ControlFlow::Break(None);
            }
            let before = match is_at_start {
                true => bound,
                false => &last[..],
            };
            if !before.is_empty() && order.compare(before, key) != Ordering::Less {
                return ControlFlow::Break(Some(Found::Descent));
            }
            *keys_len = keys_len.saturating_add(key.len());
            if *keys_len > KEYS_LEN_MAX {
                return ControlFlow::Break(Some(Found::TooMuch));
            }
            is_at_start = false;
            first.get_or_insert_with(|| key.to_vec());
            last.clear();
            last.extend_from_slice(key);
            ControlFlow::Continue(())
        });
        match walked {
            Ok(ControlFlow::Break(Some(found))) => return ControlFlow::Break(found),
            Ok(_) => {}
            Err(_) => self.is_whole = false,
        }
        match is_at_start || self.order.compare(&self.last, own) != Ordering::Greater {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(Found::Descent),
        }
    }
}

/// Reads a table's blocks one after the other, with few reads.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    bytes: Vec<u8>,
    start: u64,
    unpacked: Vec<u8>,
}

impl Blocks {
    /// A block, unpacked; `None` if it is damaged.
    fn read(&mut self, table: &Table, handle: BlockHandle) -> Option<&[u8]> {
        let end = table.end_of(handle).ok()?;
        let have_end = self.start + self.bytes.len() as u64;
        if handle.offset < self.start || end > have_end {
            self.fill(table, handle.offset, end)?;
        }
        let from = (handle.offset - self.start) as usize;
        let stored = self
            .bytes
            .get(from..from + (end - handle.offset) as usize)?;
        let (compression, packed) = verify(stored).ok()?;
        decompress(compression, packed, &mut self.unpacked).ok()?;
        Some(&self.unpacked)
    }

    fn fill(&mut self, table: &Table, start: u64, end: u64) -> Option<()> {
        let window_end = end.max(start.saturating_add(WINDOW).min(table.len()));
        self.start = start;
        self.bytes.resize((window_end - start) as usize, 0);
        if table.read_exact(start, &mut self.bytes).is_ok() {
            return Some(());
        }
        // Something behind the block cannot be read; that need not be this block's misfortune.
        self.bytes.truncate((end - start) as usize);
        let read = table.read_exact(start, &mut self.bytes);
        if read.is_err() {
            self.bytes.clear();
        }
        read.ok()
    }
}
