//! Where logs end after a power cut: decision 18.
//!
//! A log is synced from its beginning, so what a power cut takes is beyond all that any sync has covered. Two things say how
//! far that is. An empty batch within a log is a *sync mark*: it is written after a sync, so all before it is durable, that in
//! the logs before included. And a log that begins with the sequence number after the last one read before it lacks nothing.

use super::OpenLog;
use crate::log::{LogEvent, LogReader};
use crate::storage::RandomFile;
use crate::write_batch::BatchReader;
use std::io;
use std::sync::Arc;

/// A log, and those after it.
pub(super) struct Place<'a> {
    pub(super) name: &'a str,
    pub(super) file: &'a Arc<dyn RandomFile>,
    pub(super) later: &'a [OpenLog],
}

impl Place<'_> {
    /// Whether the next log that holds something whole begins with this sequence number. What is not whole before it is nothing
    /// that was written for good, then.
    pub(super) fn goes_on_with(&self, sequence: u64) -> io::Result<bool> {
        for (_, file) in self.later {
            let mut reader = LogReader::new(Arc::clone(file))?;
            loop {
                match reader.next_event() {
                    LogEvent::Record | LogEvent::Recovered(_) => {
                        let batch = BatchReader::new(reader.record());
                        return Ok(batch.is_ok_and(|batch| batch.sequence() == sequence));
                    }
                    LogEvent::End | LogEvent::TornTail { .. } => break,
                    _ => {}
                }
            }
        }
        Ok(false)
    }

    /// Whether a sync has covered what is at `offset`: a sync mark is beyond it. Marks below `least_sequence` are none: what lies
    /// in a damaged record may be a log itself.
    pub(super) fn is_synced(&self, offset: u64, least_sequence: u64) -> io::Result<bool> {
        if has_mark_after(self.file, offset, least_sequence)? {
            return Ok(true);
        }
        for (_, file) in self.later {
            if has_mark_after(file, 0, least_sequence)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn has_mark_after(
    file: &Arc<dyn RandomFile>,
    offset: u64,
    least_sequence: u64,
) -> io::Result<bool> {
    let mut reader = LogReader::new(Arc::clone(file))?;
    loop {
        match reader.next_event() {
            // The first record of a log says nothing of a sync.
            LogEvent::Record if reader.record_offset() > offset => {
                let batch = BatchReader::new(reader.record());
                let is_mark = |batch: BatchReader<'_>| {
                    batch.entry_count() == 0 && batch.sequence() >= least_sequence
                };
                if batch.is_ok_and(is_mark) {
                    return Ok(true);
                }
            }
            LogEvent::End => return Ok(false),
            _ => {}
        }
    }
}
