//! Slows writers down while level 0 is behind, so that they need not be stopped.
//!
//! A writer that is faster than the compactions is stopped when level 0 has [`L0_STOP`] tables, then for as long as a whole
//! compaction takes. To avoid that, writing is coupled to the work from [`L0_SLOW_DOWN`] tables on. Two shares are compared: how much is
//! written of the bytes that may be written before the stop, and how much is done of the work until level 0 is small again. The
//! first may not be larger than the second. In the same way filling a memtable is coupled to making a table of the full one.
//! The progress of the work itself shows how fast it is; no clock is asked.

use super::background::Signal;
use super::write::Writer;
use super::{Engine, L0_SLOW_DOWN, L0_STOP, locked};
use crate::error::Result;
use crate::sync::AtomicU64;
use std::sync::atomic::Ordering;

/// Writers wait for no less than so many bytes of entries: some milliseconds.
pub(super) const STEP_BYTES: u64 = if cfg!(shuttle) { 64 } else { 256 << 10 };
/// The background work reports its progress in steps of so many, so that few wait for more than they have to.
pub(super) const REPORT_BYTES: u64 = STEP_BYTES / 4;
/// Bytes of entries for each byte of a table are kept as a fixed-point number.
const ONE: u64 = 256;

/// How far the background work is, in bytes of entries taken in.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Since the store was opened.
    done: AtomicU64,
    /// What `done` will be when level 0 has been compacted; no more than `done` while no compaction is under way.
    end: AtomicU64,
    /// Bytes of entries for each byte of the last table made of a memtable, times [`ONE`].
    unpacked: AtomicU64,
    /// The full memtable that is being made a table: how many bytes of entries are in it.
    flush_done: AtomicU64,
    /// What `flush_done` would be at the end, if syncs were bytes; zero while no memtable is made a table.
    flush_end: AtomicU64,
}

impl Progress {
    /// A memtable became a table.
    pub(super) fn flushed(&self, entry_bytes: u64, table_bytes: u64) {
        let ratio = entry_bytes.saturating_mul(ONE) / table_bytes.max(1);
        self.unpacked.store(ratio, Ordering::Relaxed);
    }

    /// A memtable of so many bytes is being made a table.
    pub(super) fn begin_flush(&self, len_bytes: u64) {
        self.flush_done.store(0, Ordering::Relaxed);
        // Then its file, its name and the edit are synced.
        let end = len_bytes.saturating_add(len_bytes / 4);
        self.flush_end.store(end, Ordering::Relaxed);
    }

    /// Entries of so many bytes are in the table.
    pub(super) fn advance_flush(&self, entry_bytes: u64) {
        self.flush_done.store(entry_bytes, Ordering::Relaxed);
    }

    /// The table is part of the store, or will never be.
    pub(super) fn finish_flush(&self) {
        self.flush_end.store(0, Ordering::Relaxed);
    }

    /// How far the flush is, and where it ends; zero if there is none.
    fn flush(&self) -> (u64, u64) {
        (
            self.flush_done.load(Ordering::Relaxed),
            self.flush_end.load(Ordering::Relaxed),
        )
    }

    /// A compaction begins; so many bytes of tables are to be read before level 0 is small.
    pub(super) fn begin(&self, table_bytes: u64) {
        let ratio = self.unpacked.load(Ordering::Relaxed).max(ONE);
        let bytes = table_bytes.saturating_mul(ratio) / ONE;
        let end = self.done.load(Ordering::Relaxed).saturating_add(bytes);
        self.end.store(end, Ordering::Relaxed);
    }

    /// Entries of so many bytes were merged.
    pub(super) fn advance(&self, entry_bytes: u64) {
        self.done.fetch_add(entry_bytes, Ordering::Relaxed);
    }

    /// The compaction is over.
    pub(super) fn finish(&self) {
        self.end.store(0, Ordering::Relaxed);
    }

    fn done_and_left(&self) -> (u64, u64) {
        let (done, end) = (
            self.done.load(Ordering::Relaxed),
            self.end.load(Ordering::Relaxed),
        );
        (done, end.saturating_sub(done))
    }
}

/// The share of `left` that a write has to wait for: that of its bytes in `room`, those that may be written before the stop.
fn share(left: u64, len_bytes: u64, room: u64) -> u64 {
    let share = u128::from(left) * u128::from(len_bytes) / u128::from(room.max(1));
    u64::try_from(share).map_or(left, |share| share.min(left))
}

impl Engine {
    /// Lets a write of so many bytes wait for its share of the work, or do some of it. Writes of less than a step's share
    /// wait for several at once.
    pub(super) fn slow_down(&self, writer: &mut Writer, len_bytes: usize) -> Result<()> {
        if self.options.background.is_caller() {
            self.counters.slowed_down();
            // Work that fails is tried again when a write cannot go on without it.
            return match self.health.is_put_off() || self.work_once().is_ok() {
                true => Ok(()),
                false => self.health.check(),
            };
        }
        let buffer = self.options.write_buffer_bytes as u64;
        // The full memtable will be one of them.
        let tables = self.l0_tables.load(Ordering::Acquire)
            + usize::from(self.has_full.load(Ordering::Acquire));
        let tables = L0_STOP.saturating_sub(tables) as u64;
        let room = buffer.saturating_sub(writer.mem.len_bytes() as u64);
        let room = room.saturating_add(tables.saturating_mul(buffer));
        let (done, left) = self.progress.done_and_left();
        let owed = writer
            .owed_bytes
            .saturating_add(share(left, len_bytes as u64, room));
        if owed < STEP_BYTES {
            writer.owed_bytes = owed;
            return Ok(());
        }
        writer.owed_bytes = 0;
        self.wait_for_compaction(done.saturating_add(owed));
        Ok(())
    }

    /// Waits until the work is so far. If none is under way there is nothing to wait for, and the stop at [`L0_STOP`] tables counts. A
    /// flush in the middle of the work ends the wait as well, since writers [keep step](Self::keep_step) with it anyway.
    fn wait_for_compaction(&self, until: u64) {
        self.wait_while(|| {
            let (done, left) = self.progress.done_and_left();
            let (_, flush_end) = self.progress.flush();
            let is_small = self.l0_tables.load(Ordering::Acquire) < L0_SLOW_DOWN;
            left > 0 && done < until && flush_end == 0 && !is_small
        });
    }

    /// Lets a write wait while the table of the full memtable is less far than the memtable being filled. So no write waits for
    /// the whole table when the memtable being filled is full, too.
    pub(super) fn keep_step(&self, writer: &mut Writer) {
        let (done, end) = self.progress.flush();
        if end == 0 || self.options.background.is_caller() {
            return;
        }
        let len_bytes = writer.mem.len_bytes() as u64;
        let from = *writer.flush_from.get_or_insert(len_bytes);
        let room = (self.options.write_buffer_bytes as u64).saturating_sub(from);
        let until = share(end, len_bytes.saturating_sub(from), room);
        if until.saturating_sub(done) >= STEP_BYTES {
            self.wait_while(|| {
                let (done, end) = self.progress.flush();
                end > 0 && done < until
            });
        }
    }

    /// Waits for the background work, if there is anything to wait for.
    fn wait_while(&self, is_behind: impl Fn() -> bool) {
        let mut signal = locked(&self.signal);
        let is_waiting =
            |signal: &Signal| is_behind() && !signal.is_stopped && !self.health.is_failed();
        if !is_waiting(&signal) {
            return;
        }
        self.counters.slowed_down();
        while is_waiting(&signal) {
            signal = self.wait_done(signal);
        }
    }
}

#[cfg(test)]
#[cfg(not(shuttle))]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    quickcheck! {
        fn writes_that_fill_the_room_wait_for_all_that_is_left(lens: Vec<u16>, left: u32) -> bool {
            let mut room: u64 = lens.iter().map(|&len| u64::from(len)).sum();
            let is_empty = room == 0;
            let mut still = u64::from(left);
            for len in lens {
                still -= share(still, len.into(), room);
                room -= u64::from(len);
            }
            still == 0 || is_empty
        }
    }
}
