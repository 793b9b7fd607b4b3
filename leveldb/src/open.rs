//! Opens a store for reading: nothing is written, no lock is taken.
//!
//! CURRENT names the MANIFEST, the MANIFEST the tables and the oldest log that matters. Files are opened before anything
//! is read from them, so that a store in use can remove them meanwhile; if one is gone before that, all is read anew.
//!
//! With [`OnDamage::Skip`] a store without a usable CURRENT is read by its newest complete MANIFEST; one whose MANIFEST
//! lost edits by what is there: every table that is not known to be obsolete, and sequence numbers decide.

mod current;

use crate::core::Core;
use crate::damage::{Damage, DamageKind};
use crate::error::{Error, ErrorKind, Result};
use crate::file_name::FileName;
use crate::internal_key::{SEQUENCE_MAX, is_valid};
use crate::manifest::Manifest;
use crate::memtable::{KnownLogs, MemTable, OpenLog, Replay, Replayed};
use crate::on_damage::OnDamage;
use crate::options::Options;
use crate::order_check::{Checked, Effort, KeyOrder, check};
use crate::table_file::TableFile;
use crate::torn::TornTail;
use crate::unordered;
use crate::version::Version;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::sync::Arc;

/// How often a store that changes while it is opened is tried again.
const ATTEMPTS: usize = 10;

/// So many tables may be missing, or as many as are there: what lists more is not the MANIFEST of these files. Each that is missing
/// takes a place in the damage list, and in every search.
const MISSING_MAX: usize = 1000;

/// What opening found.
pub(crate) struct Opened {
    pub(crate) version: Version,
    pub(crate) order: KeyOrder,
    pub(crate) mem: MemTable,
    pub(crate) last_sequence: u64,
    pub(crate) torn: Vec<TornTail>,
    /// The sequence number that follows those in the logs, if there is anything in them.
    pub(crate) goes_on_at: Option<u64>,
    /// How far what was written to logs is known.
    pub(crate) known: KnownLogs,
    /// Whether a MANIFEST says which tables are the store; else all are taken that are there.
    pub(crate) is_listed: bool,
    /// The number of the MANIFEST; zero without one.
    pub(crate) manifest_number: u64,
    /// What the MANIFEST says of the next file, and of where compactions go on; zero and none without a MANIFEST.
    pub(crate) next_file_number: u64,
    pub(crate) compact_pointers: BTreeMap<usize, Vec<u8>>,
    /// What was in the directory: all that is there, if no other process changes the store.
    pub(crate) found: Vec<OsString>,
}

/// Opens the store of `core`. `new_core` makes another one, without what an attempt left in it.
///
/// `is_locked`: no other process changes the store, so tables need not be opened before they are needed, and the directory need be
/// listed only once.
pub(crate) fn open(
    new_core: impl Fn() -> Core,
    limits: Limits,
    is_locked: bool,
) -> Result<(Arc<Core>, Opened)> {
    for attempt in 1.. {
        let core = Arc::new(new_core());
        let opening = Opening {
            core: &core,
            is_last_attempt: attempt == ATTEMPTS,
            limits,
            is_locked,
        };
        match opening.run()? {
            Some(opened) => return Ok((core, opened)),
            None => continue,
        }
    }
    Err(Error::new(
        ErrorKind::Conflict,
        "the store changed during each attempt to read it; close the program that writes to it and try again",
    ))
}

/// How much memory and time opening may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    log_value_bytes: usize,
    order_check: Effort,
}

impl Limits {
    pub(crate) fn of(options: &Options) -> Limits {
        Limits {
            log_value_bytes: options.log_value_bytes,
            order_check: Effort {
                whole_bytes: options.order_check_bytes,
                trusts: options.trusts_order,
            },
        }
    }

    /// For a caller that reads everything anyway.
    pub(crate) fn whole(options: &Options) -> Limits {
        Limits {
            order_check: Effort::WHOLE,
            ..Limits::of(options)
        }
    }
}

struct Opening<'a> {
    core: &'a Arc<Core>,
    is_last_attempt: bool,
    limits: Limits,
    is_locked: bool,
}

/// The names in the store's directory.
#[derive(Debug, Default)]
struct Names {
    all: Vec<OsString>,
    has_current: bool,
    manifests: BTreeSet<u64>,
    logs: BTreeSet<u64>,
    tables: BTreeSet<u64>,
}

impl Opening<'_> {
    fn is_strict(&self) -> bool {
        self.core.on_damage == OnDamage::Fail
    }

    /// `None` if a file vanished that must be there: the store has changed.
    fn run(&self) -> Result<Option<Opened>> {
        let names = self.names()?;
        if !names.has_current
            && names.manifests.is_empty()
            && names.logs.is_empty()
            && names.tables.is_empty()
        {
            return Err(Error::new(
                ErrorKind::NotAStore,
                format!(
                    "{}: there is no LevelDB store in this folder: check the path",
                    self.core.dir.display()
                ),
            ));
        }
        let manifest = match self.manifest(&names)? {
            Some(manifest) => manifest,
            None if self.is_last_attempt => Manifest::default(),
            None => return Ok(None),
        };
        self.check_comparator(&manifest)?;
        // After the MANIFEST was read: a log that it names was there by then.
        let names = match self.is_locked {
            true => names,
            false => self.names()?,
        };
        let is_old = manifest.is_complete() && is_older_than(&manifest, &names);
        if is_old && !self.is_last_attempt {
            return Ok(None);
        }
        if is_old {
            self.report_old(&manifest)
                .map_err(|error| blamed(&manifest, error))?;
        }
        let missing = missing_tables(&manifest, &names);
        if let Some(count) = missing {
            self.report_missing(&manifest, count)?;
        }
        let is_complete = manifest.is_complete() && !is_old && missing.is_none();
        let (files, reversed) = if is_complete {
            self.listed_tables(&manifest)?
        } else {
            let listed = missing.is_none().then_some(&manifest);
            let there = self.tables_there(listed.unwrap_or(&Manifest::default()), &names);
            (there, Vec::new())
        };
        let opened = self.open_tables(&files, &names);
        if !opened.map_err(|error| blamed(&manifest, error))? {
            return Ok(None);
        }
        let logs = self.open_logs(&manifest, &names);
        let Some(logs) = logs.map_err(|error| blamed(&manifest, error))? else {
            return Ok(None);
        };
        self.report_manifest(&manifest);
        let checked = check(
            self.core,
            files,
            self.limits.order_check,
            !reversed.is_empty(),
        );
        if checked.order == KeyOrder::Foreign && self.is_locked && self.is_strict() {
            return Err(self.foreign(&checked));
        }
        let order = checked.order;
        let version = if !is_complete || order == KeyOrder::Foreign {
            unordered::version(self.core, checked.files)
        } else {
            self.report_reversed(&manifest, &reversed)?;
            self.ordered(checked.files)?
        };
        let mut replay = Replay::new(
            &self.core.order,
            self.core.on_damage,
            &self.core.damage,
            self.limits.log_value_bytes,
        );
        replay.logs(&logs)?;
        let Replayed {
            mem,
            last_sequence: last_in_logs,
            goes_on_at,
            mut torn,
            mut known,
        } = replay.finish();
        if lacks_first_log(&manifest, &names) {
            known.lost_from = Some(known.begin.unwrap_or(SEQUENCE_MAX));
        }
        torn.extend(manifest.torn);
        let manifest_number = match FileName::parse(manifest.name.as_ref()) {
            Some(FileName::Manifest(number)) => number,
            _ => 0,
        };
        let last_sequence = match manifest.last_sequence {
            Some(last) if is_complete => last.max(last_in_logs).min(SEQUENCE_MAX),
            _ => SEQUENCE_MAX,
        };
        Ok(Some(Opened {
            version,
            order,
            mem,
            last_sequence,
            torn,
            goes_on_at,
            known,
            is_listed: is_complete,
            manifest_number,
            next_file_number: manifest.next_file_number.unwrap_or(0),
            compact_pointers: manifest.compact_pointers,
            found: names.all,
        }))
    }

    fn names(&self) -> Result<Names> {
        let list = self
            .core
            .fs
            .list(&self.core.dir)
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::new(
                    ErrorKind::NotAStore,
                    format!("{}: {error}", self.core.dir.display()),
                ),
                _ => Error::io(&*self.core.dir, "cannot list the directory", error),
            })?;
        let mut names = Names {
            all: list,
            ..Names::default()
        };
        for name in names.all.iter().filter_map(|name| FileName::parse(name)) {
            match name {
                FileName::Current => names.has_current = true,
                FileName::Manifest(n) => drop(names.manifests.insert(n)),
                FileName::Log(n) => drop(names.logs.insert(n)),
                FileName::Table(n) | FileName::OldTable(n) => drop(names.tables.insert(n)),
                _ => {}
            }
        }
        Ok(names)
    }

    fn check_comparator(&self, manifest: &Manifest) -> Result<()> {
        let ours = self.core.order.user().name();
        match &manifest.comparator {
            Some(theirs) if theirs != ours.as_bytes() => {
                let theirs = String::from_utf8_lossy(theirs);
                let what = format!(
                    "the keys of the store are ordered by the comparator {theirs:?}, not by {ours:?}: open it with {theirs:?}"
                );
                Err(Error::new(ErrorKind::Usage, what))
            }
            _ => Ok(()),
        }
    }

    fn report_old(&self, manifest: &Manifest) -> Result<()> {
        let what = "is older than the tables beside it: its end is missing";
        if self.is_strict() {
            return Err(Error::corruption(&*manifest.name, None, what));
        }
        let mut damage = Damage::new(&*manifest.name, None, DamageKind::Truncated, what);
        damage.outdated_possible = true;
        self.core.damage.report(damage);
        Ok(())
    }

    fn report_missing(&self, manifest: &Manifest, count: usize) -> Result<()> {
        let what = format!("lists {count} tables that are not there: it belongs to other files");
        if self.is_strict() {
            return Err(Error::corruption(&*manifest.name, None, what));
        }
        let mut damage = Damage::new(&*manifest.name, None, DamageKind::Missing, what);
        damage.outdated_possible = true;
        self.core.damage.report(damage);
        Ok(())
    }

    fn report_manifest(&self, manifest: &Manifest) {
        for damage in &manifest.noted {
            self.core.damage.report(damage.clone());
        }
        for damage in &manifest.lost {
            self.core.damage.report(Damage {
                outdated_possible: true,
                ..damage.clone()
            });
        }
        if manifest.is_complete() || !manifest.lost.is_empty() {
            return;
        }
        let (name, what) = match manifest.name.as_str() {
            "" => (
                "MANIFEST",
                "no MANIFEST is readable: all tables and logs that are there are shown",
            ),
            name => (
                name,
                "lacks log, file or sequence number: all tables and logs that are there are shown",
            ),
        };
        let mut damage = Damage::new(name, None, DamageKind::Structure, what);
        damage.outdated_possible = true;
        self.core.damage.report(damage);
    }

    /// A store that is to be written to, in another order: the program that wrote it would not find what is put in.
    fn foreign(&self, checked: &Checked) -> Error {
        let what = format!(
            "{}: keys are not in the order of {:?}{}; the program that wrote them has another order under that name. The store is left \
             as it is: it can be opened for reading, and its rows written into a new store",
            self.core.dir.display(),
            self.core.order.user().name(),
            match checked.first_unsorted() {
                Some(file) => format!(" (table {} is one of those)", self.core.file_name(file)),
                None => String::new(),
            },
        );
        Error::new(ErrorKind::Unsupported, what)
    }

    /// The tables that a complete MANIFEST lists, and the numbers of those whose range ends before it begins.
    fn listed_tables(&self, manifest: &Manifest) -> Result<(Vec<TableFile>, Vec<u64>)> {
        let (mut files, mut reversed) = (Vec::new(), Vec::new());
        for new in manifest.files.values() {
            let mut file = TableFile {
                number: new.number,
                level: new.level,
                len_bytes: Some(new.len_bytes),
                smallest: Some(new.smallest.clone()),
                largest: Some(new.largest.clone()),
                keys: None,
                is_unsorted: false,
            };
            if !is_valid(&new.smallest) || !is_valid(&new.largest) {
                self.report_range(manifest, new.number)?;
                (file.smallest, file.largest) = (None, None);
            } else if self.core.order.compare(&new.smallest, &new.largest) == Ordering::Greater {
                // Damage only if the table's keys are in order.
                reversed.push(new.number);
                (file.smallest, file.largest) = (None, None);
            }
            files.push(file);
        }
        Ok((files, reversed))
    }

    fn report_reversed(&self, manifest: &Manifest, reversed: &[u64]) -> Result<()> {
        let mut numbers = reversed.iter();
        numbers.try_for_each(|number| self.report_range(manifest, *number))
    }

    fn report_range(&self, manifest: &Manifest, number: u64) -> Result<()> {
        let what = format!("the key range of table {number} ends before it begins");
        if self.is_strict() {
            return Err(Error::corruption(&*manifest.name, None, what));
        }
        let damage = Damage::new(&*manifest.name, None, DamageKind::Structure, what);
        self.core.damage.report(damage);
        Ok(())
    }

    /// Every table in the directory that no edit says to be obsolete.
    fn tables_there(&self, manifest: &Manifest, names: &Names) -> Vec<TableFile> {
        let listed: BTreeMap<u64, &crate::version_edit::NewFile> = manifest
            .files
            .values()
            .map(|file| (file.number, file))
            .collect();
        let numbers = names
            .tables
            .iter()
            .chain(listed.keys())
            .copied()
            .collect::<BTreeSet<u64>>();
        let live = numbers
            .into_iter()
            .filter(|number| !manifest.deleted.contains(number));
        live.map(|number| TableFile {
            number,
            level: 0,
            len_bytes: listed.get(&number).map(|file| file.len_bytes),
            smallest: listed.get(&number).map(|file| file.smallest.clone()),
            largest: listed.get(&number).map(|file| file.largest.clone()),
            keys: None,
            is_unsorted: false,
        })
        .collect()
    }

    /// Opens as many tables as may be open. `false` if one is missing and it may be for a change of the store.
    fn open_tables(&self, files: &[TableFile], names: &Names) -> Result<bool> {
        if self.is_locked && self.is_strict() {
            // A missing table must not wait until a read comes upon it.
            let is_there = |file: &&TableFile| names.tables.contains(&file.number);
            return match files.iter().find(|file| !is_there(file)) {
                None => Ok(true),
                Some(file) => {
                    let name = FileName::Table(file.number).to_string();
                    Err(Error::corruption(name, None, "table is missing"))
                }
            };
        }
        for file in files {
            match self.core.open_early(file) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if error.kind() == io::ErrorKind::NotFound && !self.is_last_attempt => {
                    return Ok(false);
                }
                // Met again, and then dealt with, when the table is read.
                Err(_) => {}
            }
        }
        if self.is_strict() {
            for file in files {
                // A missing table must not wait until a read comes upon it.
                self.core.require_file(file)?;
            }
        }
        Ok(true)
    }

    fn ordered(&self, files: Vec<TableFile>) -> Result<Version> {
        let version = Version::new(&self.core.order, files);
        if version.has_overlap() {
            let what = "tables of one level overlap";
            if self.is_strict() {
                return Err(Error::new(ErrorKind::Corruption, what));
            }
            self.core
                .damage
                .report(Damage::new("MANIFEST", None, DamageKind::Structure, what));
        }
        Ok(version)
    }

    /// The live logs, open, in the order of their numbers. `None` if the store has changed.
    fn open_logs(&self, manifest: &Manifest, names: &Names) -> Result<Option<Vec<OpenLog>>> {
        let first = manifest.log_number.unwrap_or(0);
        let is_live = |number: &u64| *number >= first || manifest.prev_log_number == Some(*number);
        let mut logs = Vec::new();
        if first > 0 && manifest.is_complete() && !names.logs.contains(&first) {
            if !self.is_last_attempt {
                return Ok(None);
            }
            let name = FileName::Log(first).to_string();
            if self.is_strict() {
                return Err(Error::corruption(name, None, "log is missing"));
            }
            let mut damage = Damage::new(name, None, DamageKind::Missing, "log is missing");
            damage.outdated_possible = true;
            self.core.damage.report(damage);
        }
        // Opening a store for writing leaves at least one log, and a MANIFEST need not name it.
        if first == 0 && manifest.is_complete() && names.logs.is_empty() {
            if !self.is_last_attempt {
                return Ok(None);
            }
            let what = "there is no log beside the MANIFEST: what was written last is lost";
            if self.is_strict() {
                return Err(Error::corruption(&*manifest.name, None, what));
            }
            let mut damage = Damage::new(&*manifest.name, None, DamageKind::Missing, what);
            damage.outdated_possible = true;
            self.core.damage.report(damage);
        }
        for number in names.logs.iter().filter(|number| is_live(number)) {
            let name = FileName::Log(*number).to_string();
            match self.core.fs.open_random(&self.core.dir.join(&name)) {
                Ok(file) => logs.push((name, file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound && !self.is_last_attempt => {
                    return Ok(None);
                }
                Err(error) if self.core.on_damage.fails_on(Some(&error)) => {
                    return Err(Error::io(name, "cannot be opened", error));
                }
                Err(error) => {
                    let what = format!("log cannot be opened: {error}");
                    let mut damage = Damage::new(name, None, DamageKind::Unreadable, what);
                    damage.outdated_possible = true;
                    self.core.damage.report(damage);
                }
            }
        }
        Ok(Some(logs))
    }
}

/// Files that are missing after an edit that cannot be read were replaced by what it said: it was synced.
fn blamed(manifest: &Manifest, error: Error) -> Error {
    match &manifest.torn {
        Some(tail) if error.kind() == ErrorKind::Corruption => {
            let what = format!(
                "the edit at this place cannot be read, and the files that it replaced are gone: {error}"
            );
            Error::corruption(&*manifest.name, Some(tail.offset), what)
        }
        _ => error,
    }
}

/// Whether the log is not there that the MANIFEST names, or, if it names none, any log. Opening a store for writing leaves at least one.
fn lacks_first_log(manifest: &Manifest, names: &Names) -> bool {
    match manifest.log_number.unwrap_or(0) {
        0 => names.logs.is_empty(),
        first => !names.logs.contains(&first),
    }
}

/// How many of the tables that it lists are missing, if those are too many to be believed.
fn missing_tables(manifest: &Manifest, names: &Names) -> Option<usize> {
    let listed: BTreeSet<u64> = manifest.files.values().map(|file| file.number).collect();
    let count = listed.difference(&names.tables).count();
    (count > MISSING_MAX.max(names.tables.len())).then_some(count)
}

/// Whether there are tables that no edit names, and what held their rows before is not there: then edits are missing at
/// the end. (A crash leaves unknown tables, too, but then the log is still there that they were made from.)
fn is_older_than(manifest: &Manifest, names: &Names) -> bool {
    let listed: BTreeSet<u64> = manifest.files.values().map(|file| file.number).collect();
    let is_unknown = |number: &u64| !listed.contains(number) && !manifest.deleted.contains(number);
    let log = manifest.log_number.unwrap_or(0);
    let log_is_gone = if log > 0 {
        !names.logs.contains(&log)
    } else {
        // A store that was just made, and has no table yet. LevelDB sets one number aside for a MANIFEST that it does
        // not need, and gives its first log the next.
        let first_log = manifest.next_file_number.unwrap_or(0).saturating_add(1);
        listed.is_empty() && !names.logs.iter().any(|number| *number <= first_log)
    };
    log_is_gone && names.tables.iter().any(is_unknown)
}
