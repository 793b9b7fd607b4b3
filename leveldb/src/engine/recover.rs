//! Opens a store for writing, or makes one.
//!
//! The same code as for reading finds the tables and replays the logs, all that are not older than the MANIFEST's. What was
//! in the logs becomes tables of level 0. A new log and a new MANIFEST are written; CURRENT is switched to it when all of
//! that is durable; only then is anything removed. A crash at any point leaves the store as it was or as it will be.

use super::feed::Feed;
use super::group::Queue;
use super::health::Health;
use super::install::{FILE_NUMBER_MAX, FirstEdit, Numbers, Work, recovery_table_bytes, table_file};
use super::output::Output;
use super::pool::Desk;
use super::write::{Writer, new_memtable};
use super::{Current, Engine, Signal, tails};
use crate::cache::BlockCache;
use crate::core::{Core, OnDamage, OpenTables};
use crate::damage::DamageLog;
use crate::error::{Error, ErrorKind, Result};
use crate::file_name::FileName;
use crate::internal_key::InternalOrder;
use crate::log::LogWriter;
use crate::memtable::{MemCursor, MemTable};
use crate::open::{self, Limits, Opened};
use crate::options::Options;
use crate::order_check::KeyOrder;
use crate::snapshot::ReadState;
use crate::source::Source;
use crate::storage::{FileLock, FileSystem};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Condvar, Mutex};
use crate::torn::TornTail;
use crate::version::{TableFile, Version};
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
            format!("{} is open for writing elsewhere", dir.display()),
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
            let what = format!("{} is no LevelDB store", dir.display());
            return Err(Error::new(ErrorKind::NotAStore, what));
        }
        if is_new {
            sync_name(&*fs, dir)?;
        }
        let lock = lock(&*fs, dir)?;
        // Someone may have made it since.
        let is_new = is_new && self::is_new(&*fs, dir)?;
        if !is_new && options.error_if_exists {
            let what = format!("{} holds a store already", dir.display());
            return Err(Error::new(ErrorKind::Usage, what));
        }
        let new_core = || Core {
            fs: fs.clone(),
            dir: dir.to_owned(),
            order: InternalOrder::of(&options),
            on_damage: OnDamage::Fail,
            cache: BlockCache::new(options.block_cache_bytes),
            damage: DamageLog::default(),
            tables: OpenTables::new(options.open_tables_max),
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

/// Makes the name of a new store's directory durable, whoever made the directory: it may be left from an attempt that was
/// killed. A directory above that may not be read cannot be synced, and is left to whoever made it.
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
            let what = "cannot find out whether it is there";
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
                let metadata = metadata
                    .map_err(|error| Error::io(name_on_disk, "cannot ask for its length", error))?;
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
            let what = format!("file is missing, and {name} is there");
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
        next_file_number: 1,
        compact_pointers: BTreeMap::new(),
        found,
    })
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
            "file numbers are used up",
        ));
    }
    Ok(first)
}

fn recover(
    core: Arc<Core>,
    mut opened: Opened,
    options: Options,
    lock: Box<dyn FileLock>,
) -> Result<Recovered> {
    tails::set_aside(&core, &mut opened.torn)?;
    let numbers = Numbers(std::cell::Cell::new(first_number(&opened)?));
    let mut files: Vec<TableFile> = opened
        .version
        .files()
        .map(|file| TableFile::clone(file))
        .collect();
    let manifest_number = numbers.take();
    files.extend(tables_of_logs(&core, &options, opened.mem, &numbers)?);
    let log_number = numbers.take();
    let log_name = FileName::Log(log_number).to_string();
    let created = core.fs.create(&core.dir.join(&log_name));
    let log = created.map_err(|error| Error::io(log_name, "cannot create the log", error))?;
    let first = FirstEdit {
        order: &core.order,
        files: &files,
        compact_pointers: &opened.compact_pointers,
        log_number,
        next_file_number: numbers.0.get(),
        last_sequence: opened.last_sequence,
    };
    let manifest = first.write(&core, manifest_number)?;
    let version = Arc::new(Version::new(&core.order, files));
    let work = Work {
        manifest,
        manifest_number,
        manifest_bytes: 0,
        log_number,
        compact_pointers: opened.compact_pointers,
        versions: vec![Arc::downgrade(&version)],
        old_tables: BTreeSet::new(),
        old_logs: Vec::new(),
        must_rewrite: false,
        is_manifest_in_doubt: false,
        doubtful: Vec::new(),
    };
    let mem = new_memtable(&core.order, &options, log_number);
    let l0_tables = version.files().filter(|file| file.level == 0).count();
    let engine = Engine {
        current: Mutex::new(Current {
            state: Arc::new(ReadState {
                core: core.clone(),
                version,
                mem: Arc::default(),
                live: vec![mem.clone()],
            }),
            sequence: opened.last_sequence,
        }),
        core,
        desk: options.background.pool().map(Desk::new),
        options,
        queue: Mutex::new(Queue::default()),
        writer: Mutex::new(Writer {
            log: LogWriter::new(log, 0),
            mem,
            is_unsynced: false,
            is_mark_due: false,
            before: None,
            is_name_unsynced: false,
            last_sequence: opened.last_sequence,
            is_closed: false,
            owed_bytes: 0,
            flush_from: None,
            next_log: None,
        }),
        work: Mutex::new(work),
        health: Health::default(),
        signal: Mutex::new(Signal::default()),
        work_ready: Condvar::new(),
        work_done: Condvar::new(),
        stop: AtomicBool::new(false),
        has_full: AtomicBool::new(false),
        l0_tables: AtomicUsize::new(l0_tables),
        next_file: AtomicU64::new(numbers.0.get()),
        progress: Default::default(),
        counters: Default::default(),
        lock,
    };
    engine.remove_strangers(&opened.found);
    Ok(Recovered {
        engine: Arc::new(engine),
        torn: opened.torn,
        order: opened.order,
    })
}

/// Makes tables of level 0 of what was in the logs.
fn tables_of_logs(
    core: &Arc<Core>,
    options: &Options,
    mem: MemTable,
    numbers: &Numbers,
) -> Result<Vec<TableFile>> {
    if mem.is_empty() {
        return Ok(Vec::new());
    }
    let mem = MemCursor::new(Arc::new(mem), core.order.clone());
    let mut feed = Feed::new(core.order.clone(), vec![Source::Mem(mem)], |_| false)?;
    let new_number = || numbers.take();
    let output = Output {
        core,
        options,
        level: 0,
        table_bytes: recovery_table_bytes(options),
        new_number: &new_number,
        // The lock was taken a moment ago.
        check: &|| Ok(()),
        keys: None,
    };
    let tables = output.write(&mut feed, |_| false, |_| Ok(()))?;
    Ok(tables.into_iter().map(table_file).collect())
}
