//! One group of writes: room in the memtable, the log, the memtable, readers.

use super::kept::KeptLog;
use super::{Durability, Engine, L0_SLOW_DOWN, L0_STOP, locked};
use crate::error::{Error, ErrorKind, Result};
use crate::file_name::FileName;
use crate::internal_key::{InternalOrder, SEQUENCE_MAX};
use crate::log::LogWriter;
use crate::options::Options;
use crate::read_state::ReadState;
use crate::skip_list::{LEN_BYTES_MAX, SkipList};
use crate::write_batch::{BatchWriter, empty_batch};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A memtable to be filled, for the log with a number. It has a filter if tables have: both take it that equal keys are equal
/// bytes.
pub(super) fn new_memtable(order: &InternalOrder, options: &Options, log: u64) -> Arc<SkipList> {
    let list = SkipList::new(order.clone(), log);
    Arc::new(match options.table.bloom_bits {
        Some(_) => list.filtered(options.write_buffer_bytes),
        None => list,
    })
}

/// The log being written and the memtable being filled.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) log: LogWriter,
    /// The number of a log that could not be begun: the next attempt takes it, so that no remains lie between two logs.
    pub(super) next_log: Option<u64>,
    pub(super) mem: Arc<SkipList>,
    /// Whether the log holds what no sync has covered.
    pub(super) is_unsynced: bool,
    /// Whether a sync has covered all that was written, and no sync mark says so yet: see decision 18.
    pub(super) is_mark_due: bool,
    /// The log before, while what it holds may be neither synced nor in a table.
    pub(super) before: Option<(u64, LogWriter)>,
    /// The logs that were there when the store was opened, if there was no room for tables of them, until they are synced.
    pub(super) kept_logs: Vec<KeptLog>,
    /// Whether a crash may leave no file of the log's name.
    pub(super) is_name_unsynced: bool,
    pub(super) last_sequence: u64,
    pub(super) is_closed: bool,
    /// The bytes of background work that writes have not waited for yet.
    pub(super) owed_bytes: u64,
    /// How long the memtable was when the full one began to be made a table.
    pub(super) flush_from: Option<u64>,
}

/// A write that the log has not taken, or not for good.
struct Unlogged {
    error: Error,
    stage: Stage,
}

/// How far it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing was written.
    Before,
    /// The record may be there, in part or whole. What was written before is as it was.
    Record,
    /// A sync failed: of all that no earlier one covered it is open whether it will ever be on the medium. (Linux gives up
    /// the bytes, says so once, and lets the next sync succeed.)
    Sync,
    /// It is on the medium, but the store may belong to another process by now.
    After,
}

impl Stage {
    fn failed(self) -> impl Fn(Error) -> Unlogged {
        move |error| Unlogged { error, stage: self }
    }
}

/// What the log was before a write.
#[derive(Clone, Copy)]
struct LogEnd {
    len_bytes: u64,
    /// Whether syncs had covered all of it, and of the log before.
    is_synced: bool,
    is_mark_due: bool,
}

impl Writer {
    /// Says in the log that everything before is durable, if that is so and was not said yet. It goes out with what follows.
    fn mark_sync(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.is_mark_due) {
            true => self.log.add(&empty_batch(self.last_sequence + 1)),
            false => Ok(()),
        }
    }

    fn end(&self) -> LogEnd {
        LogEnd {
            len_bytes: self.log.len_bytes(),
            is_synced: !self.is_unsynced
                && self.before.is_none()
                && self.kept_logs.is_empty()
                && !self.is_name_unsynced,
            is_mark_due: self.is_mark_due,
        }
    }
}

impl Engine {
    /// The first step of whatever writes: when it has succeeded, there is a log that takes records.
    ///
    /// # Errors
    /// If the store is closed, or an earlier failure does not allow another write.
    fn prepare(&self, writer: &mut Writer) -> Result<()> {
        if writer.is_closed {
            return Err(Error::new(
                ErrorKind::Closed,
                "the store is closed: open it again",
            ));
        }
        self.health.check()?;
        self.begin(writer)
    }

    /// Writes a batch; no other thread writes meanwhile.
    pub(super) fn commit(&self, batch: &mut BatchWriter, durability: Durability) -> Result<()> {
        let writer = &mut *locked(&self.writer);
        self.prepare(writer)?;
        if batch.entry_count() > 0 {
            self.make_room(writer, batch.len_bytes())?;
        }
        let first = writer.last_sequence + 1;
        let last = writer.last_sequence + u64::from(batch.entry_count());
        if last > SEQUENCE_MAX {
            let what = "the store has no sequence numbers left (there are 2^56): nothing more can be written to it";
            return Err(Error::new(ErrorKind::Usage, what));
        }
        let end = writer.end();
        let is_empty = batch.entry_count() == 0;
        if let Err(failed) = self.log(writer, batch.finish(first), durability) {
            return self.take_back(writer, end, failed, is_empty);
        }
        if is_empty {
            return Ok(());
        }
        let len_bytes = batch.len_bytes();
        writer.mem.insert(batch);
        writer.last_sequence = last;
        locked(&self.current).sequence = last;
        self.counters.wrote(len_bytes);
        Ok(())
    }

    fn log(
        &self,
        writer: &mut Writer,
        record: &[u8],
        durability: Durability,
    ) -> Result<(), Unlogged> {
        let number = writer.mem.log_number;
        let failed = |stage: Stage, what: &'static str| {
            move |error| stage.failed()(Error::io(FileName::Log(number).to_string(), what, error))
        };
        let is_strict = durability == Durability::Strict;
        if is_strict {
            self.check_lock().map_err(Stage::Before.failed())?;
        }
        if record.len() > crate::write_batch::HEADER_LEN {
            writer.is_unsynced = true;
            let added = writer.mark_sync().and_then(|()| writer.log.add(record));
            added.map_err(failed(Stage::Record, "cannot write to the log"))?;
        }
        let flushed = writer.log.file().flush();
        flushed.map_err(failed(Stage::Record, "cannot write to the log"))?;
        if is_strict {
            self.sync_before(writer).map_err(Stage::Sync.failed())?;
            self.counters.synced();
            let synced = writer.log.file().sync();
            synced.map_err(failed(Stage::Sync, "cannot sync the log"))?;
            writer.is_mark_due |= std::mem::take(&mut writer.is_unsynced);
            self.check_lock().map_err(|error| match error.kind() {
                ErrorKind::Conflict => Stage::After.failed()(error),
                // It is not certain that the write counts, so it must not.
                _ => Stage::Record.failed()(error),
            })?;
        }
        Ok(())
    }

    /// After a write that failed. The writer gets this error only when the record cannot come back; otherwise it gets `Uncertain`.
    /// Nothing goes on unless all that was acknowledged is where it has to be.
    fn take_back(
        &self,
        writer: &mut Writer,
        end: LogEnd,
        Unlogged { error, stage }: Unlogged,
        is_empty: bool,
    ) -> Result<()> {
        match stage {
            Stage::Before => return Err(error),
            Stage::After if is_empty => return Err(error),
            Stage::After => return Err(in_doubt(&error)),
            Stage::Record | Stage::Sync => {}
        }
        // Synced, so that not even a power cut brings it back.
        let cut = writer.log.cut_back(end.len_bytes);
        let is_cut = cut.and_then(|()| writer.log.file().sync()).is_ok();
        if is_cut && (stage == Stage::Record || end.is_synced) {
            writer.is_unsynced = !end.is_synced;
            writer.is_mark_due = end.is_mark_due;
            return Err(error);
        }
        match self.start_over(writer) {
            // To make durable what was written before is all that it was for.
            Ok(()) if is_empty => Ok(()),
            Ok(()) => Err(error),
            Err(_) => {
                self.fail(&error);
                Err(match is_cut || is_empty {
                    true => error,
                    false => in_doubt(&error),
                })
            }
        }
    }

    /// Leaves a log on which there is no relying: what was acknowledged becomes tables, from memory, and a new log begins.
    fn start_over(&self, writer: &mut Writer) -> Result<()> {
        self.wait_until(|| !self.has_full.load(Ordering::Acquire))?;
        self.switch(writer)?;
        self.wait_until(|| !self.has_full.load(Ordering::Acquire))?;
        writer.before = None;
        writer.kept_logs.clear();
        self.health.check()
    }

    /// Makes durable what was written before the log, and the log's name.
    fn sync_before(&self, writer: &mut Writer) -> Result<()> {
        self.sync_kept_logs(writer)?;
        // Once the full memtable is a table, its log is not needed.
        if self.has_full.load(Ordering::Acquire)
            && let Some((number, log)) = &mut writer.before
        {
            self.counters.synced();
            let name = FileName::Log(*number).to_string();
            let synced = log.file().sync();
            synced.map_err(|error| Error::io(name, "cannot sync the log", error))?;
        }
        writer.before = None;
        if writer.is_name_unsynced {
            self.sync_dir()?;
            writer.is_name_unsynced = false;
        }
        Ok(())
    }

    /// Sees to it that the memtable can take a batch of so many bytes: waits while compactions are behind, and begins a new
    /// memtable and log when this one is full.
    fn make_room(&self, writer: &mut Writer, len_bytes: usize) -> Result<()> {
        self.keep_step(writer);
        let mut may_delay = true;
        loop {
            self.health.check()?;
            let l0_tables = self.l0_tables.load(Ordering::Acquire);
            if may_delay && l0_tables >= L0_SLOW_DOWN {
                // Each write waits a little now, so that no write has to wait long later.
                self.slow_down(writer, len_bytes)?;
                may_delay = false;
            } else if writer.mem.len_bytes() < self.options.write_buffer_bytes.min(LEN_BYTES_MAX)
                || writer.mem.is_empty()
            {
                return Ok(());
            } else if self.has_full.load(Ordering::Acquire) {
                self.counters.stopped();
                self.wait_until(|| !self.has_full.load(Ordering::Acquire))?;
            } else if l0_tables >= L0_STOP {
                self.counters.stopped();
                self.wait_until(|| self.l0_tables.load(Ordering::Acquire) < L0_STOP)?;
            } else {
                self.switch(writer)?;
            }
        }
    }

    /// Begins a new memtable with a new log. There is no full one waiting. When this fails, the old ones are gone on with.
    pub(super) fn switch(&self, writer: &mut Writer) -> Result<()> {
        self.check_lock()?;
        let number = *writer
            .next_log
            .get_or_insert_with(|| self.new_file_number());
        let log = self.new_log(number, Some(writer.last_sequence + 1))?;
        writer.next_log = None;
        let before = std::mem::replace(&mut writer.log, log);
        writer.before = writer
            .is_unsynced
            .then_some((writer.mem.log_number, before));
        writer.is_unsynced = true;
        writer.is_name_unsynced = true;
        writer.mem = new_memtable(&self.core.order, &self.options, number);
        writer.flush_from = None;
        self.publish(|state| {
            let live = std::iter::once(writer.mem.clone()).chain(state.live.iter().cloned());
            ReadState {
                live: live.collect(),
                ..state.clone()
            }
        });
        self.wake();
        Ok(())
    }

    /// A log. After others that hold something it says where they have to end: see decision 5.
    pub(super) fn new_log(&self, number: u64, goes_on_at: Option<u64>) -> Result<LogWriter> {
        let name = FileName::Log(number);
        let created = self.core.fs.create(&self.path(name));
        let file =
            created.map_err(|error| Error::io(name.to_string(), "cannot create the log", error))?;
        let mut log = LogWriter::new(file, 0);
        let Some(sequence) = goes_on_at else {
            return Ok(log);
        };
        let begun = log.add(&empty_batch(sequence));
        let begun = begun.and_then(|()| log.file().flush());
        begun.map_err(|error| Error::io(name.to_string(), "cannot write to the log", error))?;
        Ok(log)
    }

    /// Makes tables of everything in memory, and waits until they are part of the store.
    pub(crate) fn flush(&self) -> Result<()> {
        {
            let writer = &mut *locked(&self.writer);
            self.prepare(writer)?;
            self.wait_until(|| !self.has_full.load(Ordering::Acquire))?;
            if !writer.mem.is_empty() {
                self.switch(writer)?;
            }
        }
        let has_more =
            || self.has_full.load(Ordering::Acquire) || self.has_kept.load(Ordering::Acquire);
        self.wait_until(|| !has_more())?;
        self.health.check()
    }

    /// Fails, with the reason, once writes are refused.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.health.check()?;
        self.check_lock()
    }

    /// Refuses writes from now on, for a reason of the caller's.
    pub(crate) fn refuse_writes(&self, why: &Error) {
        self.fail(why);
    }

    /// Refuses writes from now on, and makes all that were acknowledged durable.
    pub(crate) fn close_log(&self) -> Result<()> {
        let writer = &mut *locked(&self.writer);
        if writer.is_closed {
            return Ok(());
        }
        writer.is_closed = true;
        self.health.check()?;
        if !self.has_begun.load(Ordering::Acquire) {
            // Nothing was written.
            return Ok(());
        }
        let end = writer.end();
        if let Err(failed) = self.log(writer, &[], Durability::Strict) {
            return self.take_back(writer, end, failed, true);
        }
        // Everything is durable, whether this can be said or not.
        let _ = writer.mark_sync().and_then(|()| writer.log.file().flush());
        Ok(())
    }
}

/// The error of a write that failed and could not be taken back either.
pub(super) fn in_doubt(error: &Error) -> Error {
    let what = "whether this write is in the store shows only when the store is opened again";
    error.within(ErrorKind::Uncertain, what)
}
