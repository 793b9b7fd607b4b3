//! Opens a store for writing, or makes one.
//!
//! The code that opens for reading finds the tables and replays the logs, all that are not older than the MANIFEST's. What was
//! in the logs becomes tables of level 0. A new log and a new MANIFEST are written; CURRENT is switched to it when all of
//! that is durable; only then is anything removed. A crash at any point leaves the store as it was or as it will be. Without room
//! for that the store is opened as it is, and the first write goes on from there (`kept.rs`).
//!
//! The order is what makes this safe. Tables of the logs come before the MANIFEST that names them: a crash in between leaves tables that
//! belong to no version, and the logs, which are replayed again. The new log comes before CURRENT: a MANIFEST whose log has no name
//! would be a store that has lost its tail. Old logs go last: before CURRENT is durable they are the only copy of their rows. File numbers begin above
//! every number in the folder, also of files that no MANIFEST names, so that no left-over is written over or taken for new.

use super::forget::Discardable;
use super::group::Queue;
use super::health::Health;
use super::install::{Numbers, Work};
use super::pool::Desk;
use super::settle::{Settled, Unsettled, first_number, settle};
use super::write::{Writer, new_memtable};
use super::{Current, Engine, Signal, locked};
use crate::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::file_name::FileName;
use crate::memtable::{KnownLogs, MemTable};
use crate::on_damage::OnDamage;
use crate::open::{self, Limits, Opened};
use crate::options::Options;
use crate::order_check::KeyOrder;
use crate::read_state::ReadState;
use crate::storage::{FileLock, FileSystem};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Condvar, Mutex};
use crate::table::TableContext;
use crate::torn::TornTail;
use crate::version::Version;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A store that was opened for writing.
pub(crate) struct Recovered {
    pub(crate) engine: Arc<Engine>,
    pub(crate) torn: Vec<TornTail>,
    pub(crate) order: KeyOrder,
}

/// Takes a store's lock.
pub(crate) fn lock(fs: &dyn FileSystem, dir: &Path) -> Result<Box<dyn FileLock>> {
    let path = dir.join(FileName::Lock.to_string());
    fs.lock(&path).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => Error::new(
            ErrorKind::Conflict,
            format!(
                "{} is open for writing in another handle or process: close that first",
                dir.display()
            ),
        ),
        _ => Error::io("LOCK", "cannot take the lock", error),
    })
}

impl Engine {
    /// Opens the store in `dir`.
    pub(crate) fn open(
        fs: Arc<dyn FileSystem>,
        dir: &Path,
        mut options: Options,
    ) -> Result<Recovered> {
        options.on_damage = OnDamage::Fail;
        if options.create_if_missing {
            make_dir(&*fs, dir)?;
        }
        let not_there = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                Error::new(ErrorKind::NotAStore, format!("{}: {error}", dir.display()))
            }
            _ => Error::io(dir, "cannot list the directory", error),
        };
        // Before the lock's file is made.
        fs.metadata(dir).map_err(not_there)?;
        let is_new = is_new(&*fs, dir)?;
        if is_new && !options.create_if_missing {
            let what = format!(
                "{}: there is no LevelDB store in this folder: check the path, or set `create_if_missing`",
                dir.display()
            );
            return Err(Error::new(ErrorKind::NotAStore, what));
        }
        if is_new {
            sync_name(&*fs, dir)?;
        }
        let lock = lock(&*fs, dir)?;
        // Another process may have made it since.
        let is_new = is_new && self::is_new(&*fs, dir)?;
        if !is_new && options.error_if_exists {
            let what = format!(
                "{}: there is a store already: open it without `error_if_exists`, or choose another folder",
                dir.display()
            );
            return Err(Error::new(ErrorKind::Usage, what));
        }
        let new_core = || {
            let context =
                TableContext::new(options.order(), OnDamage::Fail, options.block_cache.clone());
            Core::new(&fs, dir, context, options.open_tables_max)
        };
        let (core, opened) = match is_new {
            true => (Arc::new(new_core()), nothing(&*fs, dir)?),
            false => open::open(new_core, Limits::of(&options), true)?,
        };
        recover(core, opened, options, lock)
    }
}

fn make_dir(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    match fs.create_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(Error::io(dir, "cannot make the directory", error))
        }
        _ => Ok(()),
    }
}

/// Makes the name of a new store's directory durable, also of a directory that was there: it may be left from an attempt that was
/// killed. A directory above that may not be read cannot be synced, and is left as it is.
fn sync_name(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    match dir.parent().map_or(Ok(()), |parent| fs.sync_dir(parent)) {
        Err(error) if error.kind() != io::ErrorKind::PermissionDenied => {
            Err(Error::io(dir, "cannot sync the directory above", error))
        }
        _ => Ok(()),
    }
}

/// Whether there is no store. Without CURRENT, what there is may be left from a crash while the store was made: a MANIFEST,
/// a temporary file, an empty log. A table, or a log with something in it, is a store whose CURRENT is lost.
fn is_new(fs: &dyn FileSystem, dir: &Path) -> Result<bool> {
    match fs.metadata(&dir.join(FileName::Current.to_string())) {
        Ok(_) => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => {
            let what = "cannot find out whether the file exists";
            return Err(Error::io("CURRENT", what, error));
        }
    }
    let failed = |error| Error::io(dir, "cannot list the directory", error);
    let names = fs.list(dir).map_err(failed)?;
    let mut orphan = None;
    for name in names.iter().filter_map(|name| FileName::parse(name)) {
        match name {
            FileName::Current => return Ok(false),
            FileName::Table(_) | FileName::OldTable(_) => orphan = Some(name),
            FileName::Log(_) => {
                let name_on_disk = name.to_string();
                let metadata = fs.metadata(&dir.join(&name_on_disk));
                let metadata = metadata.map_err(|error| {
                    Error::io(name_on_disk, "cannot find out the length of the log", error)
                })?;
                if metadata.len_bytes > 0 {
                    orphan = Some(name);
                }
            }
            _ => {}
        }
    }
    match orphan {
        None => Ok(true),
        Some(name) => {
            let what = format!("file is missing, but {name} is there: repair the store");
            Err(Error::corruption("CURRENT", None, what))
        }
    }
}

/// A store that is not there yet; a crash while it was made may have left something.
fn nothing(fs: &dyn FileSystem, dir: &Path) -> Result<Opened> {
    let found = fs.list(dir);
    let found = found.map_err(|error| Error::io(dir, "cannot list the directory", error))?;
    Ok(Opened {
        version: Version::default(),
        order: KeyOrder::Own,
        mem: MemTable::default(),
        last_sequence: 0,
        torn: Vec::new(),
        goes_on_at: None,
        known: KnownLogs::default(),
        is_listed: true,
        manifest_number: 0,
        next_file_number: 1,
        compact_pointers: BTreeMap::new(),
        found,
    })
}

fn recover(
    core: Arc<Core>,
    mut opened: Opened,
    options: Options,
    lock: Box<dyn FileLock>,
) -> Result<Recovered> {
    let numbers = Numbers(std::cell::Cell::new(first_number(&opened)?));
    let last_sequence = opened.last_sequence;
    let order = opened.order;
    let found = std::mem::take(&mut opened.found);
    let compact_pointers = opened.compact_pointers.clone();
    let settled = settle(&core, &options, opened, &found, &numbers)?;
    let Settled {
        version,
        log_number,
        torn,
        ..
    } = settled;
    let is_unsettled = settled.unsettled.is_some();
    let (read_mem, kept, kept_logs) = match settled.unsettled {
        Some(Unsettled { mem, kept, logs }) => (mem, Some(kept), logs),
        None => Default::default(),
    };
    let work = Work {
        manifest: settled.manifest,
        manifest_number: settled.manifest_number,
        manifest_bytes: 0,
        log_number: settled.oldest_log,
        compact_pointers,
        versions: vec![Arc::downgrade(&version)],
        old_tables: BTreeSet::new(),
        old_logs: Vec::new(),
        must_rewrite: false,
        is_short_of_room: false,
        // Nothing is added to a MANIFEST that was there before.
        is_manifest_in_doubt: is_unsettled,
        doubtful: settled.doubtful,
        kept,
    };
    let mem = new_memtable(&core.order, &options, log_number);
    let l0_tables = version.files().filter(|file| file.level == 0).count();
    let engine = Engine {
        current: Mutex::new(Current {
            state: Arc::new(ReadState {
                core: core.clone(),
                version,
                mem: read_mem,
                live: vec![mem.clone()],
            }),
            sequence: last_sequence,
        }),
        core,
        desk: options.background.pool().map(Desk::new),
        options,
        queue: Mutex::new(Queue::default()),
        writer: Mutex::new(Writer {
            log: settled.log,
            mem,
            is_unsynced: false,
            is_mark_due: false,
            before: None,
            kept_logs,
            is_name_unsynced: false,
            last_sequence,
            is_closed: false,
            owed_bytes: 0,
            flush_from: None,
            next_log: None,
        }),
        work: Mutex::new(work),
        health: Health::default(),
        discardable: Discardable::default(),
        beside: Mutex::default(),
        signal: Mutex::new(Signal::default()),
        work_ready: Condvar::new(),
        work_done: Condvar::new(),
        stop: AtomicBool::new(false),
        pauses: AtomicUsize::new(0),
        has_begun: AtomicBool::new(!is_unsettled),
        has_kept: AtomicBool::new(is_unsettled),
        has_full: AtomicBool::new(false),
        l0_tables: AtomicUsize::new(l0_tables),
        next_file: AtomicU64::new(numbers.0.get()),
        progress: Default::default(),
        counters: Default::default(),
        lock,
    };
    if !is_unsettled {
        engine.remove_unknown_files(&mut locked(&engine.work), &found);
    }
    Ok(Recovered {
        engine: Arc::new(engine),
        torn,
        order,
    })
}
