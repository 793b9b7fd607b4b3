//! What opening a store for writing writes: tables of what was in the logs, a new log and a new MANIFEST; or nothing, if there is
//! no room for that.

use super::compaction_input::CompactionInput;
use super::install::{FILE_NUMBER_MAX, FirstEdit, Numbers, recovery_table_bytes, table_file};
use super::kept::{Kept, KeptLog, NotBegun, kept_logs, may_count};
use super::output::Output;
use super::tails;
use crate::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::file_name::FileName;
use crate::log::LogWriter;
use crate::memtable::{MemCursor, MemTable};
use crate::open::Opened;
use crate::options::Options;
use crate::source::Source;
use crate::table_file::TableFile;
use crate::torn::TornTail;
use crate::version::Version;
use crate::version_edit::NewFile;
use std::ffi::OsString;
use std::sync::Arc;

/// What an engine begins with.
pub(super) struct Settled {
    pub(super) version: Arc<Version>,
    pub(super) manifest: LogWriter,
    pub(super) manifest_number: u64,
    pub(super) log: LogWriter,
    pub(super) log_number: u64,
    pub(super) torn: Vec<TornTail>,
    /// The oldest log that matters.
    pub(super) oldest_log: u64,
    /// Files that only count if CURRENT names a MANIFEST of which that is not certain.
    pub(super) doubtful: Vec<FileName>,
    /// What there was no room for, and what it is about.
    pub(super) unsettled: Option<Unsettled>,
}

pub(super) struct Unsettled {
    pub(super) mem: Arc<MemTable>,
    pub(super) kept: Kept,
    pub(super) logs: Vec<KeptLog>,
}

/// What was written.
struct Written {
    files: Vec<TableFile>,
    manifest: LogWriter,
    log: LogWriter,
    log_number: u64,
}

/// Why it was not, and what may count nevertheless.
struct Failed {
    error: Error,
    log_number: Option<u64>,
    doubtful: Vec<FileName>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed {
            error,
            log_number: None,
            doubtful: Vec::new(),
        }
    }
}

/// A number above those of all files that are there.
pub(crate) fn first_number(opened: &Opened) -> Result<u64> {
    let numbers = opened
        .found
        .iter()
        .filter_map(|name| match FileName::parse(name)? {
            FileName::Manifest(n) | FileName::Log(n) | FileName::Table(n) => Some(n),
            FileName::OldTable(n) | FileName::Temp(n) => Some(n),
            _ => None,
        });
    let first = numbers
        .map(|number| number.saturating_add(1))
        .max()
        .unwrap_or(1);
    let first = first.max(opened.next_file_number);
    if first > FILE_NUMBER_MAX {
        return Err(Error::new(
            ErrorKind::Corruption,
            "the store has no file numbers left: write its rows into a new store",
        ));
    }
    Ok(first)
}

/// Writes what is to be written before anything else is; leaves it for later if there is no room, unless there is no store yet.
pub(super) fn settle(
    core: &Arc<Core>,
    options: &Options,
    mut opened: Opened,
    found: &[OsString],
    numbers: &Numbers,
) -> Result<Settled> {
    let mem = Arc::new(std::mem::take(&mut opened.mem));
    let manifest_number = numbers.take();
    let written = write(core, options, &mut opened, &mem, (numbers, manifest_number));
    let failed = match written {
        Ok(written) => {
            return Ok(Settled {
                version: Arc::new(Version::new(&core.order, written.files)),
                manifest: written.manifest,
                manifest_number,
                log: written.log,
                log_number: written.log_number,
                torn: opened.torn,
                oldest_log: written.log_number,
                doubtful: Vec::new(),
                unsettled: None,
            });
        }
        Err(failed) => failed,
    };
    let is_new = opened.manifest_number == 0;
    if is_new || !failed.error.is_out_of_space() {
        return Err(failed.error);
    }
    let logs = kept_logs(core, &opened, &mem)?;
    let kept = Kept::new(&opened, mem.clone(), found.to_vec());
    let log_number = failed.log_number.unwrap_or_else(|| numbers.take());
    Ok(Settled {
        version: Arc::new(opened.version),
        manifest: LogWriter::new(Box::new(NotBegun), 0),
        manifest_number: opened.manifest_number,
        log: LogWriter::new(Box::new(NotBegun), 0),
        log_number,
        oldest_log: logs.iter().map(|log| log.number).min().unwrap_or(0),
        doubtful: failed.doubtful,
        torn: opened.torn,
        unsettled: Some(Unsettled { kept, mem, logs }),
    })
}

/// All of it. What is left of it after an error are files that may count, or that do not count, which the next opening removes.
fn write(
    core: &Arc<Core>,
    options: &Options,
    opened: &mut Opened,
    mem: &Arc<MemTable>,
    (numbers, manifest_number): (&Numbers, u64),
) -> Result<Written, Failed> {
    tails::set_aside(core, &mut opened.torn)?;
    let new_number = || numbers.take();
    // The lock was taken a moment ago.
    let tables = tables_of_logs(
        core,
        options,
        mem.clone(),
        &new_number,
        &|| Ok(()),
        |_, _| false,
    )?;
    let mut made: Vec<FileName> = tables
        .iter()
        .map(|table| FileName::Table(table.number))
        .collect();
    let mut files: Vec<TableFile> = opened
        .version
        .files()
        .map(|file| TableFile::clone(file))
        .collect();
    files.extend(tables.into_iter().map(table_file));
    let log_number = numbers.take();
    let remove = |made: &[FileName]| {
        for name in made {
            let _ = core.fs.remove(&core.dir.join(name.to_string()));
        }
    };
    let log_name = FileName::Log(log_number).to_string();
    let created = core.fs.create(&core.dir.join(&log_name));
    let log = created.map_err(|error| {
        remove(&made);
        Error::io(log_name, "cannot create the log", error)
    })?;
    let first = FirstEdit {
        order: &core.order,
        files: &files,
        compact_pointers: &opened.compact_pointers,
        log_number,
        next_file_number: numbers.0.get(),
        last_sequence: opened.last_sequence,
    };
    let manifest = first.write(core, manifest_number);
    let manifest = manifest.map_err(|error| {
        made.extend([
            FileName::Manifest(manifest_number),
            FileName::Temp(manifest_number),
        ]);
        if may_count(core, manifest_number) {
            return Failed {
                error,
                log_number: Some(log_number),
                doubtful: std::mem::take(&mut made),
            };
        }
        made.push(FileName::Log(log_number));
        remove(&made);
        Failed::from(error)
    })?;
    Ok(Written {
        files,
        manifest,
        log: LogWriter::new(log, 0),
        log_number,
    })
}

/// Makes tables of level 0 of what was in the logs.
pub(super) fn tables_of_logs(
    core: &Arc<Core>,
    options: &Options,
    mem: Arc<MemTable>,
    new_number: &dyn Fn() -> u64,
    check: &dyn Fn() -> Result<()>,
    is_discardable: impl FnMut(&[u8], u64) -> bool,
) -> Result<Vec<NewFile>> {
    if mem.is_empty() {
        return Ok(Vec::new());
    }
    let mem = MemCursor::new(mem, core.order.clone());
    let mut input = CompactionInput::new(
        core.order.clone(),
        vec![Source::Mem(mem)],
        |_| false,
        is_discardable,
    )?;
    let output = Output {
        core,
        options,
        level: 0,
        table_bytes: recovery_table_bytes(options),
        new_number,
        check,
        keys: None,
        unsynced: None,
    };
    output.write(&mut input, |_| false, |_| Ok(()))
}
