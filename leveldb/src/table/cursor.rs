//! Moves over a table in both directions.
//!
//! Blocks reached by seeking, and a few after that, go through the block cache. In a scan they are read ahead, several with
//! one read, and unpacked into a buffer that is used again, so that a scan neither allocates for each block nor empties the
//! cache. Damaged blocks are left out (with [`OnDamage::Skip`]) after their key range was written down.

use super::blocks::verify;
use super::fault::Fault;
use super::reader::Table;
use super::{BlockHandle, TableContext};
use crate::block::{BlockCursor, BlockFault};
use crate::bounds::Bounds;
use crate::cache::Miss;
use crate::compression::{Compression, decompress};
use crate::damage::{Damage, DamageKind};
use crate::error::{Error, Result};
use crate::filter::bloom;
use crate::internal_key;
use crate::on_damage::OnDamage;
use crate::pinned::PinnedBytes;
use crate::table_file::TableFile;
use std::cmp::Ordering;
use std::sync::Arc;

/// After so many steps from block to block it is a scan.
const SCAN_STEPS: u32 = 4;
/// How much is read ahead at first, and at most.
const READ_AHEAD_MIN: u64 = 16 << 10;
const READ_AHEAD_MAX: u64 = 128 << 10;

impl ReadAhead {
    /// How much to read, where a block takes `block_len`; zero for one block only.
    fn window(&self, block_len: u64) -> u64 {
        match self.steps.checked_sub(SCAN_STEPS) {
            None => match self.expected_steps.saturating_sub(self.steps) {
                0 => 0,
                more => (u64::from(more) + 1)
                    .saturating_mul(block_len)
                    .min(READ_AHEAD_MIN),
            },
            Some(beyond) => (READ_AHEAD_MIN << beyond.min(8)).min(READ_AHEAD_MAX),
        }
    }

    fn is_scan(&self) -> bool {
        self.steps >= SCAN_STEPS
    }

    /// A seek: it will go on as the last two did.
    fn begin(&mut self) {
        let last = std::mem::take(&mut self.steps).min(SCAN_STEPS);
        self.expected_steps = last.min(self.last_steps);
        self.last_steps = last;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// Bytes of the file that were read in one go.
#[derive(Debug, Default)]
struct ReadAhead {
    bytes: Option<Arc<Vec<u8>>>,
    start: u64,
    /// How many blocks were reached by stepping, since the last seek.
    steps: u32,
    /// How many there were after the seek before, and how many will be: as many as after both of the last two seeks, but not
    /// more than make a scan.
    last_steps: u32,
    expected_steps: u32,
}

/// A position in a table: on an entry, or on none.
#[derive(Debug)]
pub(crate) struct TableCursor {
    context: Arc<TableContext>,
    meta: Arc<TableFile>,
    table: Arc<Table>,
    index: BlockCursor,
    data: BlockCursor,
    /// Where the block of `data` lies, if that has one.
    data_at: u64,
    ahead: ReadAhead,
    /// An unpacking buffer that waits while blocks are used as they were read.
    spare: Option<Arc<Vec<u8>>>,
    /// Blocks before it need not be read.
    bounds: Option<Arc<Bounds>>,
}

fn structure(fault: BlockFault) -> Fault {
    Fault::new(DamageKind::Structure, fault.what)
}

impl TableCursor {
    /// In a table that is open, and is this file.
    pub(crate) fn new(
        context: Arc<TableContext>,
        table: Arc<Table>,
        meta: Arc<TableFile>,
    ) -> Result<TableCursor> {
        let mut cursor = TableCursor {
            context,
            meta,
            table,
            index: BlockCursor::default(),
            data: BlockCursor::default(),
            data_at: 0,
            ahead: ReadAhead::default(),
            spare: None,
            bounds: None,
        };
        cursor.load_index()?;
        Ok(cursor)
    }

    /// From now on a step back from block to block ends where only keys before the bounds are left.
    pub(crate) fn confine(&mut self, bounds: Option<Arc<Bounds>>) {
        self.bounds = bounds;
    }

    /// Goes over to another table and keeps the buffers.
    pub(crate) fn set_table(&mut self, table: Arc<Table>, meta: Arc<TableFile>) -> Result<()> {
        self.data.take_block();
        self.table = table;
        self.meta = meta;
        self.ahead.start = 0;
        match self.ahead.bytes.as_mut().and_then(Arc::get_mut) {
            Some(bytes) => bytes.clear(),
            None => self.ahead.bytes = None,
        }
        self.load_index()
    }

    pub(crate) fn table_number(&self) -> u64 {
        self.meta.number
    }

    pub(crate) fn table_name(&self) -> &str {
        &self.table.name
    }

    fn load_index(&mut self) -> Result<()> {
        let loaded = self.table.index().and_then(|index| {
            self.index
                .set_block(PinnedBytes::whole(index))
                .map(drop)
                .map_err(|fault| (None, structure(fault)))
        });
        // Only if the file changed or the disk failed after the index was read and found good.
        let Err((offset, fault)) = loaded else {
            return Ok(());
        };
        self.index.take_block();
        let range = (self.meta.smallest.clone(), self.meta.largest.clone());
        self.damaged(offset, self.table.len(), fault, range, false)
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.data.valid()
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.data.key()
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        self.data.value()
    }

    pub(crate) fn pinned_value(&self) -> PinnedBytes {
        self.data.pinned_value()
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<()> {
        self.check_bounds()?;
        self.data.take_block();
        let moved = self.index.seek_to_first();
        self.index_moved(moved)?;
        self.enter(Direction::Forward, None)
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<()> {
        self.check_bounds()?;
        self.data.take_block();
        let moved = self.index.seek_to_last();
        self.index_moved(moved)?;
        self.enter(Direction::Backward, None)
    }

    /// To the first entry that is not less than `target`.
    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.table.pin(&self.context);
        // The block stays at hand: seeks that follow one another in the order of keys often lead into one.
        if let Err(error) = self.seek_index(target) {
            self.leave();
            return Err(error);
        }
        self.enter(Direction::Forward, Some(target))
    }

    /// To the first entry that is not less than `target`; on none if the filter excludes the user key from the block that would hold it.
    pub(crate) fn seek_to_key(&mut self, target: &[u8]) -> Result<()> {
        self.data.take_block();
        let order = &self.context.order;
        let moved = self.index.seek(|key| order.compare(key, target));
        self.index_moved(moved)?;
        if self.index.valid() {
            let hash = bloom::key_hash(internal_key::user_key(target));
            let handle = BlockHandle::decode_exact(self.index.value());
            if handle.is_some_and(|handle| !self.table.may_contain(handle.offset, hash)) {
                return Ok(());
            }
        }
        self.enter(Direction::Forward, Some(target))
    }

    /// To the last entry that is less than `target`.
    pub(crate) fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        self.leave();
        self.seek_index(target)?;
        if !self.index.valid() {
            let moved = self.index.seek_to_last();
            self.index_moved(moved)?;
        }
        self.enter(Direction::Backward, Some(target))
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        match self.data.next() {
            Ok(()) if self.data.valid() && internal_key::is_valid(self.data.key()) => Ok(()),
            other => self.leave_block(Direction::Forward, other),
        }
    }

    #[inline]
    pub(crate) fn prev(&mut self) -> Result<()> {
        match self.data.prev() {
            Ok(()) if self.data.valid() && internal_key::is_valid(self.data.key()) => Ok(()),
            other => self.leave_block(Direction::Backward, other),
        }
    }

    /// A step ended off the block, or met damage in it: goes on with the next block.
    #[cold]
    fn leave_block(&mut self, direction: Direction, step: Result<(), BlockFault>) -> Result<()> {
        if let Err(fault) = self.check_entry(step) {
            self.block_damaged(fault)?;
        }
        self.ahead.steps = self.ahead.steps.saturating_add(1);
        if !self.step_index_within(direction)? {
            self.data.take_block();
            return Ok(());
        }
        self.enter(direction, None)?;
        if self.data.valid() {
            Ok(())
        } else {
            self.check_bounds()
        }
    }

    /// A walk to an end of the table finds out whether its first and last keys lie in the range that the MANIFEST
    /// gives: a search never looks for keys outside of it. Once for each open table.
    fn check_bounds(&mut self) -> Result<()> {
        if !self.table.take_bounds_check() {
            return Ok(());
        }
        let (Some(smallest), Some(largest)) = (&self.meta.smallest, &self.meta.largest) else {
            return Ok(());
        };
        let order = &self.context.order;
        let is_outside = |key: &Vec<u8>| {
            order.compare(key, smallest) == Ordering::Less
                || order.compare(key, largest) == Ordering::Greater
        };
        let ends = [Direction::Forward, Direction::Backward].map(|side| self.end_key(side));
        if !ends.iter().flatten().any(is_outside) {
            return Ok(());
        }
        let what = "the table has keys outside of the range that the MANIFEST gives";
        if self.context.on_damage == OnDamage::Fail {
            // The next reader gets the error, too.
            self.table.put_bounds_check_back();
            return Err(Error::corruption(&*self.table.name, None, what));
        }
        let damage = Damage::new(&*self.table.name, None, DamageKind::Structure, what);
        self.context.damage.report(damage);
        Ok(())
    }

    /// The table's first (last) key; none if its block is damaged, which is reported when the block is read.
    fn end_key(&self, side: Direction) -> Option<Vec<u8>> {
        let (mut index, mut data) = (self.index.clone(), BlockCursor::default());
        match side {
            Direction::Forward => index.seek_to_first(),
            Direction::Backward => index.seek_to_last(),
        }
        .ok()?;
        let handle = (index.valid()).then(|| BlockHandle::decode_exact(index.value()))??;
        let block = self.table.cached_block(handle, &mut None);
        let block = block.ok()?;
        data.set_block(PinnedBytes::whole(block)).ok()?;
        match side {
            Direction::Forward => data.seek_to_first(),
            Direction::Backward => data.seek_to_last(),
        }
        .ok()?;
        data.valid().then(|| data.key().to_vec())
    }

    /// Whether the index went on to a block that may have keys within the bounds. An index key is not less than the keys of its
    /// block, so going back it decides; going on, only the next block itself does.
    fn step_index_within(&mut self, direction: Direction) -> Result<bool> {
        self.step_index(direction)?;
        let key = internal_key::user_key(self.index.key());
        let is_past = |bounds: &Arc<Bounds>| bounds.is_before(&self.context.order, key);
        let is_backward = direction == Direction::Backward && self.index.valid();
        Ok(!(is_backward && self.bounds.as_ref().is_some_and(is_past)))
    }

    /// To the first index entry that is not less than `target`.
    fn seek_index(&mut self, target: &[u8]) -> Result<()> {
        let order = &self.context.order;
        let moved = match self.table.place(&self.context, target) {
            Some(place) => self.index.seek_to_restart(place),
            None => self.index.seek(|key| order.compare(key, target)),
        };
        self.index_moved(moved)
    }

    fn step_index(&mut self, direction: Direction) -> Result<()> {
        let moved = match direction {
            Direction::Forward => self.index.next(),
            Direction::Backward => self.index.prev(),
        };
        self.index_moved(moved)
    }

    fn check_entry(&self, step: Result<(), BlockFault>) -> Result<(), Fault> {
        step.map_err(structure)?;
        if self.data.valid() && !internal_key::is_valid(self.data.key()) {
            return Err(Fault::new(
                DamageKind::Structure,
                "entry has a bad sequence number or kind",
            ));
        }
        Ok(())
    }

    /// The index was checked when the table was opened; what fails now is like a lost table.
    fn index_moved(&mut self, moved: Result<(), BlockFault>) -> Result<()> {
        let Err(fault) = moved else { return Ok(()) };
        self.index.take_block();
        let range = (self.meta.smallest.clone(), self.meta.largest.clone());
        self.damaged(None, self.table.len(), structure(fault), range, false)
    }

    /// Stands on the first (last) entry of the index's block, or on where `target` is, or of the nearest block after
    /// (before) it that has one.
    fn enter(&mut self, direction: Direction, mut target: Option<&[u8]>) -> Result<()> {
        if target.is_some() {
            self.ahead.begin();
        }
        while self.index.valid() {
            match self.enter_block(direction, target) {
                Ok(()) if self.data.valid() => return Ok(()),
                Ok(()) => {}
                Err(fault) => self.block_damaged(fault)?,
            }
            if !self.step_index_within(direction)? {
                break;
            }
            target = None;
        }
        self.data.take_block();
        Ok(())
    }

    fn enter_block(&mut self, direction: Direction, target: Option<&[u8]>) -> Result<(), Fault> {
        let Some(handle) = BlockHandle::decode_exact(self.index.value()) else {
            return Err(Fault::new(
                DamageKind::Structure,
                "index entry is not a block handle",
            ));
        };
        if !self.data.has_block() || self.data_at != handle.offset {
            self.load(handle, direction)?;
        }
        let order = &self.context.order;
        let step = match (direction, target) {
            (Direction::Forward, None) => self.data.seek_to_first(),
            (Direction::Backward, None) => self.data.seek_to_last(),
            (Direction::Forward, Some(target)) => self.data.seek(|key| order.compare(key, target)),
            (Direction::Backward, Some(target)) => {
                self.data.seek_before(|key| order.compare(key, target))
            }
        };
        self.check_entry(step)
    }

    /// Loads a block, on none of whose entries it stands.
    fn load(&mut self, handle: BlockHandle, direction: Direction) -> Result<(), Fault> {
        self.leave();
        let block = self.block(handle, direction)?;
        self.data.set_block(block).map_err(structure)?;
        self.data_at = handle.offset;
        if self.context.on_damage == OnDamage::Skip && self.data.pass_by_false_restarts() {
            let what = "restart points are not where entries with whole keys start; it is read from its start";
            let (name, at) = (&*self.table.name, Some(handle.offset));
            let damage = Damage::new(name, at, DamageKind::Structure, what);
            self.context.damage.report(damage);
        }
        Ok(())
    }

    /// Stands on no entry. The block's memory takes the next one, if it has no other user.
    fn leave(&mut self) {
        let old = self.data.take_block();
        self.keep_spare(old);
    }

    fn keep_spare(&mut self, block: PinnedBytes) {
        let Some(mut buffer) = block.into_buffer() else {
            return;
        };
        let capacity = self.spare.as_ref().map_or(0, |spare| spare.capacity());
        if Arc::get_mut(&mut buffer).is_some_and(|buffer| buffer.capacity() > capacity) {
            self.spare = Some(buffer);
        }
    }

    /// The block's bytes: from the cache; after a seek read and put there, with those that will follow if they did last
    /// time; on a scan read ahead.
    fn block(&mut self, handle: BlockHandle, direction: Direction) -> Result<PinnedBytes, Fault> {
        let window = self.ahead.window(handle.len);
        if window == 0 {
            let block = self.table.cached_block(handle, &mut self.spare);
            return block.map(PinnedBytes::whole);
        }
        let id = self.table.block_id(handle.offset);
        let is_scan = self.ahead.is_scan();
        let found = match is_scan {
            true => self.table.cache.get(id).ok_or(Miss::Pass),
            false => self.table.cache.look_up(id),
        };
        let miss = match found {
            Ok(block) => return Ok(PinnedBytes::whole(block)),
            Err(miss) => miss,
        };
        self.leave();
        let end = self.table.end_of(handle)?;
        self.read_ahead(handle.offset, end, window, direction)?;
        let from = (handle.offset - self.ahead.start) as usize;
        let to = (end - self.ahead.start) as usize;
        let Some(ahead) = &self.ahead.bytes else {
            return Ok(PinnedBytes::default());
        };
        let (compression, block) = verify(ahead.get(from..to).unwrap_or_default())?;
        if is_scan && compression == Compression::None {
            return Ok(PinnedBytes::whole(ahead.clone()).part(from, from + block.len()));
        }
        let (room, is_kept) = match miss {
            Miss::Keep(room) => (room, true),
            Miss::Pass => (self.spare.take(), false),
        };
        let mut buffer = room.unwrap_or_default();
        if Arc::get_mut(&mut buffer).is_none() {
            buffer = Arc::default();
        }
        if let Some(unpacked) = Arc::get_mut(&mut buffer) {
            decompress(compression, block, unpacked)
                .map_err(|what| Fault::new(DamageKind::Structure, what))?;
        }
        if is_kept {
            self.table.cache.insert(id, buffer.clone());
        }
        Ok(PinnedBytes::whole(buffer))
    }

    /// Sees to it that `start..end` of the file is in the buffer.
    fn read_ahead(
        &mut self,
        start: u64,
        end: u64,
        window: u64,
        direction: Direction,
    ) -> Result<(), Fault> {
        let ahead = &mut self.ahead;
        let len = ahead.bytes.as_ref().map_or(0, |bytes| bytes.len());
        if start >= ahead.start && end <= ahead.start + len as u64 {
            return Ok(());
        }
        let (from, to) = match direction {
            Direction::Forward => (start, end.max((start + window).min(self.table.len()))),
            Direction::Backward => (start.min(end.saturating_sub(window)), end),
        };
        let mut buffer = ahead.bytes.take().unwrap_or_default();
        if Arc::get_mut(&mut buffer).is_none() {
            buffer = Arc::default();
        }
        let Some(bytes) = Arc::get_mut(&mut buffer) else {
            return Ok(());
        };
        let len = (to - from) as usize;
        // A huge block before must not be held for ever.
        if bytes.capacity() > 2 * len.max(READ_AHEAD_MAX as usize) {
            *bytes = Vec::new();
        }
        bytes.resize(len, 0);
        ahead.start = from;
        if self.table.read_exact(from, bytes).is_err() {
            // Something near it cannot be read; that need not be this block's misfortune.
            ahead.start = start;
            bytes.resize((end - start) as usize, 0);
            self.table.read_exact(start, bytes)?;
        }
        ahead.bytes = Some(buffer);
        Ok(())
    }

    /// The index's block is damaged: its keys lie after the index key before it, up to its own.
    #[cold]
    fn block_damaged(&mut self, fault: Fault) -> Result<()> {
        self.data.take_block();
        let high = Some(self.index.key().to_vec());
        let handle = BlockHandle::decode_exact(self.index.value());
        let mut before = self.index.clone();
        let low = match before.prev() {
            Ok(()) if before.valid() => Some(before.key().to_vec()),
            _ => self.meta.smallest.clone(),
        };
        let (offset, len) = handle.map_or((None, 0), |handle| (Some(handle.offset), handle.len));
        self.damaged(offset, len, fault, (low, high), handle.is_some())
    }

    fn damaged(
        &self,
        offset: Option<u64>,
        len_bytes: u64,
        fault: Fault,
        range: (Option<Vec<u8>>, Option<Vec<u8>>),
        is_block: bool,
    ) -> Result<()> {
        if self.context.on_damage.fails_on(fault.source.as_ref()) {
            return Err(fault.into_error(&self.table.name, offset));
        }
        let mut damage = Damage::new(&*self.table.name, offset, fault.kind, fault.what);
        damage.len_bytes = len_bytes;
        self.context.damage.report_region(
            self.table.number,
            offset.unwrap_or(0),
            is_block.then(|| self.table.clone()),
            damage,
            range,
        );
        Ok(())
    }
}
