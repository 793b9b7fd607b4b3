//! One group of writes: room in the memtable, the log, the memtable, readers.

use super::{Durability, Engine, L0_SLOW_DOWN, L0_STOP, locked};
use crate::error::{Error, ErrorKind, Result};
use crate::file_name::FileName;
use crate::internal_key::{InternalOrder, SEQUENCE_MAX};
use crate::log::LogWriter;
use crate::options::{Background, Options};
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
    pub(super) mem: Arc<SkipList>,
    /// Whether the log holds what no sync has covered.
    pub(super) is_unsynced: bool,
    /// Whether a sync has covered all that was written, and no sync mark says so yet: see decision 18.
    pub(super) is_mark_due: bool,
    /// The log before, while what it holds may be neither synced nor in a table.
    pub(super) before: Option<(u64, LogWriter)>,
    /// Whether a crash may leave no file of the log's name.
    pub(super) is_name_unsynced: bool,
    pub(super) last_sequence: u64,
    pub(super) is_closed: bool,
    /// Of the background work, what writes have not waited for yet.
    pub(super) owed_bytes: u64,
    /// How long the memtable was when the full one began to be made a table.
    pub(super) flush_from: Option<u64>,
}

impl Writer {
    /// Says in the log that everything before is durable, if that is so and was not said yet. It goes out with what follows.
    fn mark_sync(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.is_mark_due) {
            true => self.log.add(&empty_batch(self.last_sequence + 1)),
            false => Ok(()),
        }
    }
}

impl Engine {
    /// Writes a batch; the caller is the only one who writes.
    pub(super) fn commit(&self, batch: &mut BatchWriter, durability: Durability) -> Result<()> {
        let writer = &mut *locked(&self.writer);
        if writer.is_closed {
            return Err(Error::new(ErrorKind::Closed, "store is closed"));
        }
        self.health.check()?;
        if batch.entry_count() > 0 {
            self.make_room(writer, batch.len_bytes())?;
        }
        let first = writer.last_sequence + 1;
        let last = writer.last_sequence + u64::from(batch.entry_count());
        if last > SEQUENCE_MAX {
            return Err(Error::new(
                ErrorKind::Usage,
                "store has no sequence numbers left",
            ));
        }
        let logged = self.log(writer, batch.finish(first), durability);
        logged.inspect_err(|error| self.fail(error))?;
        if batch.entry_count() == 0 {
            return Ok(());
        }
        let len_bytes = batch.len_bytes();
        writer.mem.take_in(batch);
        writer.last_sequence = last;
        locked(&self.current).sequence = last;
        self.counters.wrote(len_bytes);
        Ok(())
    }

    fn log(&self, writer: &mut Writer, record: &[u8], durability: Durability) -> Result<()> {
        let number = writer.mem.log_number;
        let failed = |what: &'static str| {
            move |error| Error::io(FileName::Log(number).to_string(), what, error)
        };
        if record.len() > crate::write_batch::HEADER_LEN {
            writer.is_unsynced = true;
            let added = writer.mark_sync().and_then(|()| writer.log.add(record));
            added.map_err(failed("cannot write to the log"))?;
        }
        match durability {
            Durability::Relaxed => writer.log.file().flush(),
            Durability::Strict => {
                self.sync_before(writer)?;
                self.counters.synced();
                let synced = writer.log.file().sync();
                if synced.is_ok() {
                    writer.is_mark_due |= std::mem::take(&mut writer.is_unsynced);
                }
                synced
            }
        }
        .map_err(failed("cannot write to the log"))
    }

    /// Makes durable what was written before the log, and the log's name.
    fn sync_before(&self, writer: &mut Writer) -> Result<()> {
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
                // A little of everyone's time now rather than all of someone's later.
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
                self.switch(writer).inspect_err(|error| self.fail(error))?;
            }
        }
    }

    /// Waits for background work, or does it.
    pub(super) fn wait_until(&self, is_done: impl Fn() -> bool) -> Result<()> {
        if self.options.background == Background::Caller {
            while !is_done() && self.work_once()? {}
            return Ok(());
        }
        let mut signal = locked(&self.signal);
        while !is_done() {
            self.health.check()?;
            if signal.is_stopped {
                return Err(Error::new(ErrorKind::Closed, "store is being closed"));
            }
            signal = self.wait_done(signal);
        }
        Ok(())
    }

    /// Begins a new memtable with a new log. There is no full one waiting.
    pub(super) fn switch(&self, writer: &mut Writer) -> Result<()> {
        let number = self.new_file_number();
        let name = FileName::Log(number);
        let created = self.core.fs.create(&self.path(name));
        let file =
            created.map_err(|error| Error::io(name.to_string(), "cannot create the log", error))?;
        let mut log = LogWriter::new(file, 0);
        // Says what the log before must hold: see decision 5.
        let begun = log.add(&empty_batch(writer.last_sequence + 1));
        let begun = begun.and_then(|()| log.file().flush());
        begun.map_err(|error| Error::io(name.to_string(), "cannot write to the log", error))?;
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
            (state.version.clone(), live.collect())
        });
        self.wake();
        Ok(())
    }

    /// Makes tables of everything in memory, and waits until they are part of the store.
    pub(crate) fn flush(&self) -> Result<()> {
        {
            let writer = &mut *locked(&self.writer);
            if writer.is_closed {
                return Err(Error::new(ErrorKind::Closed, "store is closed"));
            }
            self.health.check()?;
            self.wait_until(|| !self.has_full.load(Ordering::Acquire))?;
            if !writer.mem.is_empty() {
                self.switch(writer).inspect_err(|error| self.fail(error))?;
            }
        }
        self.wait_until(|| !self.has_full.load(Ordering::Acquire))?;
        self.health.check()
    }

    /// Fails, with the reason, once a write has failed.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.health.check()
    }

    /// Refuses writes from now on, and makes all that were acknowledged durable.
    pub(crate) fn close_log(&self) -> Result<()> {
        let writer = &mut *locked(&self.writer);
        if writer.is_closed {
            return Ok(());
        }
        writer.is_closed = true;
        self.health.check()?;
        self.log(writer, &[], Durability::Strict)?;
        // Everything is durable, whether this can be said or not.
        let _ = writer.mark_sync().and_then(|()| writer.log.file().flush());
        Ok(())
    }
}
