//! A store that was opened without the room that opening takes: decision 19.
//!
//! Opening makes tables of what the logs hold, and a new log and MANIFEST. If there is no room for those, the store is read as
//! it is: the logs' rows stay in memory and the logs stay live. The first write begins a log after them, which takes hardly
//! any room; the MANIFEST that is there covers it, since it covers every log from the oldest one on. When there is room
//! again, the background work makes tables of the old logs' rows before it does anything else, and writes a new MANIFEST.
//!
//! As always, writes are a prefix after a crash. The new log begins with the sequence number that follows the old ones, and a
//! strict write syncs those first. Logs that were not read to their end are set aside before they are removed, as ever; where
//! they would be in the way of the new log, nothing is written before there is room for that.

use super::install::{Replaced, Work};
use super::settle::tables_of_logs;
use super::write::Writer;
use super::{Engine, locked, tails};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::file_name::FileName;
use crate::memtable::MemTable;
use crate::open::Opened;
use crate::storage::WritableFile;
use crate::torn::{TailKind, TornTail};
use crate::version_edit::VersionEdit;
use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

/// What opening has left undone.
#[derive(Debug)]
pub(super) struct Kept {
    /// What is in the logs that were there.
    mem: Arc<MemTable>,
    /// Logs whose ends are to be set aside before the logs are removed.
    torn: Vec<TornTail>,
    /// The files that were there.
    found: Vec<OsString>,
    /// The sequence number that follows what was read in the logs.
    goes_on_at: Option<u64>,
}

impl Kept {
    pub(super) fn new(opened: &Opened, mem: Arc<MemTable>, found: Vec<OsString>) -> Kept {
        Kept {
            mem,
            torn: opened.torn.clone(),
            found,
            goes_on_at: opened.goes_on_at,
        }
    }

    /// Whether something is to be set aside before a file goes.
    pub(super) fn has_torn(&self) -> bool {
        !self.torn.is_empty()
    }

    /// Whether the next opening would not read a log that comes after those that were there. Where something is missing before a log, or
    /// before all that can be read, that opening stops and relies on no later log.
    fn is_in_the_way(&self) -> bool {
        let has_loss = self
            .torn
            .iter()
            .any(|tail| tail.kind == TailKind::AfterLoss);
        has_loss || (self.goes_on_at.is_none() && !self.torn.is_empty())
    }
}

/// A log that was there when the store was opened, to be synced before the first strict write.
#[derive(Debug)]
pub(super) struct KeptLog {
    pub(super) number: u64,
    pub(super) file: Box<dyn WritableFile>,
}

/// Opens the logs that were read for being synced. They are there, so that takes no room.
pub(super) fn kept_logs(core: &Core, opened: &Opened, mem: &MemTable) -> Result<Vec<KeptLog>> {
    let is_unread = |name: &str| {
        let mut torn = opened.torn.iter();
        torn.any(|tail| tail.file == name && tail.kind == TailKind::AfterLoss)
    };
    let mut logs = Vec::new();
    for name in mem.log_names().filter(|name| !is_unread(name)) {
        let Some(FileName::Log(number)) = FileName::parse(name.as_ref()) else {
            continue;
        };
        let file = core.fs.append(&core.dir.join(&name));
        let file = file.map_err(|error| Error::io(name, "cannot open the log", error))?;
        logs.push(KeptLog { number, file });
    }
    Ok(logs)
}

/// In place of a log or MANIFEST that is not begun. It is never written to.
#[derive(Debug)]
pub(super) struct NotBegun;

fn not_begun<T>() -> io::Result<T> {
    Err(io::Error::other(
        "this log or MANIFEST is made at the first write; nothing is written to it before",
    ))
}

impl WritableFile for NotBegun {
    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        not_begun()
    }

    fn flush(&mut self) -> io::Result<()> {
        not_begun()
    }

    fn sync(&mut self) -> io::Result<()> {
        not_begun()
    }

    fn set_modified(&mut self, _: SystemTime) -> io::Result<()> {
        not_begun()
    }

    fn truncate(&mut self, _: u64) -> io::Result<()> {
        not_begun()
    }
}

impl Engine {
    /// Before the first write of a store that was opened without room: begins its log.
    ///
    /// # Errors
    /// `Io`, and nothing has changed for readers; the next write tries it again.
    pub(super) fn begin(&self, writer: &mut Writer) -> Result<()> {
        if self.has_begun.load(Ordering::Acquire) {
            return Ok(());
        }
        self.check_lock()?;
        let work = &mut *locked(&self.work);
        let number = writer.mem.log_number;
        let goes_on_at = work.kept.as_ref().and_then(|kept| kept.goes_on_at);
        match work.kept.as_ref().is_some_and(Kept::is_in_the_way) {
            false => writer.log = self.new_log(number, goes_on_at)?,
            true => {
                // The MANIFEST that makes the old logs obsolete names the new one.
                writer.log = self.new_log(number, None)?;
                self.flush_kept(work)?;
            }
        }
        writer.is_unsynced = true;
        writer.is_name_unsynced = true;
        self.has_begun.store(true, Ordering::Release);
        self.wake();
        Ok(())
    }

    /// Makes durable what the logs hold that were there when the store was opened, unless it is in tables by now.
    pub(super) fn sync_kept_logs(&self, writer: &mut Writer) -> Result<()> {
        if self.has_kept.load(Ordering::Acquire) {
            for log in &mut writer.kept_logs {
                self.counters.synced();
                let name = FileName::Log(log.number).to_string();
                let synced = log.file.sync();
                synced.map_err(|error| Error::io(name, "cannot sync the log", error))?;
            }
        }
        writer.kept_logs.clear();
        Ok(())
    }

    /// Does what opening had no room for, if that is left: whether it was.
    pub(super) fn flush_kept(&self, work: &mut Work) -> Result<bool> {
        let state = self.state();
        let (Some(kept), Some(oldest)) = (&mut work.kept, state.live.last()) else {
            return Ok(false);
        };
        self.check_lock()?;
        tails::set_aside(&self.core, &mut kept.torn)?;
        let new_number = || self.new_file_number();
        let check = || self.check_lock();
        let mem = kept.mem.clone();
        let is_discardable = self.discardable.filter(&self.core.order);
        let (core, options) = (&self.core, &self.options);
        let tables = tables_of_logs(core, options, mem, &new_number, &check, is_discardable)?;
        let edit = VersionEdit {
            log_number: Some(oldest.log_number),
            new_files: tables,
            ..VersionEdit::default()
        };
        drop(state);
        self.install(work, edit, Some(Replaced::Kept))?;
        if let Some(kept) = work.kept.take() {
            self.remove_unknown_files(work, &kept.found);
        }
        self.has_kept.store(false, Ordering::Release);
        self.report_done();
        Ok(true)
    }
}

/// Whether CURRENT names a MANIFEST that could not be written for certain, or may do so.
pub(super) fn may_count(core: &Core, manifest: u64) -> bool {
    let path = core.dir.join(FileName::Current.to_string());
    let current = crate::storage::read_small_file(&*core.fs, &path, 4096);
    let line = format!("{}\n", FileName::Manifest(manifest));
    match current {
        Ok(current) => current == line.as_bytes(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}
