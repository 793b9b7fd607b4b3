//! Repairs a store: reads everything that is whole and writes it anew.
//!
//! What is read, and what counts as lost, is what [`OnDamage::Skip`] reads: all live logs; the tables that the MANIFEST
//! lists, or, if that is damaged, all that are not known to be obsolete; of a damaged table every block whose checksum
//! holds. The newest entry of each key that is left becomes a row of a new table, with its sequence number. Tables and logs
//! beside the store are read as well, but an entry of theirs counts only if the store may have lost one of the same key.
//!
//! The order of things makes a crash harmless at any moment: the new tables are written under temporary names and synced;
//! what could not be read, or was not, is copied into `lost/`; the tables get their names; a new MANIFEST and a new log are
//! written; CURRENT is switched. Until then the store is as it was, and repairing it again finds the same rows. Only then do
//! the originals go: those of `lost/` move there, in place of their copies, and those that were read whole are removed.

mod aside;
mod damaged;
mod output;
mod permission;
mod rows;
mod salvage;
mod unknown_files;

use crate::core::Core;
use crate::damage::Damage;
use crate::engine::{FirstEdit, Numbers, first_number, lock};
use crate::error::{Error, ErrorKind, Result};
use crate::file_name::FileName;
use crate::internal_key::SEQUENCE_MAX;
use crate::on_damage::OnDamage;
use crate::open::{self, Limits, Opened};
use crate::options::Options;
use crate::read_state::ReadState;
use crate::storage::FileSystem;
use crate::table::TableContext;
use crate::table_file::TableFile;
use crate::torn::TornTail;
use aside::Aside;
pub use damaged::DamagedEntry;
use output::Tables;
use permission::require_permission;
use rows::{KeptRows, RowWalk};
pub use salvage::{RowState, Salvage, SalvagedRows};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unknown_files::UnknownFiles;

/// At most so many rows in doubt are listed; all are counted.
pub const ROWS_IN_DOUBT_LISTED_MAX: usize = 10_000;

/// What becomes of a row that is whole while something newer of its key may have been lost: a later value, or its deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowsInDoubt {
    /// It comes back, and is listed. So does a row that only a file beside the store still has.
    BringBack,
    /// It is left out, and is listed; the file that it is in goes to `lost/`.
    LeaveOut,
}

/// A row that may be outdated, or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowInDoubt {
    /// Its user key.
    pub key: Vec<u8>,
    /// Its sequence number.
    pub sequence: u64,
    /// The file that it was read from.
    pub file: String,
}

/// What [`repair`] has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// Rows in the repaired store.
    pub rows: u64,
    /// Rows of which something newer may be lost; they are among `rows` with [`RowsInDoubt::BringBack`] only.
    pub in_doubt: u64,
    /// The first [`ROWS_IN_DOUBT_LISTED_MAX`] of them, in the order of their keys.
    pub rows_in_doubt: Vec<RowInDoubt>,
    /// What could not be read: file, offset, length, keys, as far as they are known. `withheld` counts rows in doubt. With
    /// [`Damage::outdated_possible`], it is not known which rows are in doubt: any of them may be.
    pub damage: Vec<Damage>,
    /// Logs, and the MANIFEST, that end within a record: a crash leaves that, and nothing acknowledged as strict is lost by it.
    pub torn_tails: Vec<TornTail>,
    /// Where the originals are that were damaged or not part of the store, in the store's directory.
    pub set_aside: Vec<PathBuf>,
}

impl fmt::Display for Repaired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows were read whole and written anew", self.rows)?;
        if self.in_doubt > 0 {
            let in_doubt = self.in_doubt;
            write!(f, "; something newer may be lost of {in_doubt}")?;
        }
        if !self.damage.is_empty() {
            let places = self.damage.len();
            write!(f, "; {places} damaged places could not be read")?;
        }
        if !self.set_aside.is_empty() {
            let files = self.set_aside.len();
            write!(f, "; {files} files were set aside, nothing was deleted")?;
        }
        Ok(())
    }
}

/// Repairs the store in a directory: everything whose checksum holds comes back, what does not is listed. Nothing is deleted that
/// was not read whole: damaged files, and files that an intact MANIFEST does not list, move to the folder `lost` in the
/// directory. A store without damage is written anew.
///
/// Needs room for all rows once more, and for copies of the damaged files. Afterwards the store can be opened by this crate
/// and by C++ LevelDB.
///
/// A value that was replaced, or deleted, can come back if only its successor is lost. Such rows are in doubt: see
/// [`RowsInDoubt`]. They are for a program that can interpret the rows.
///
/// ```
/// use larder_leveldb::{Db, Durability, Options, RowsInDoubt, repair, storage::{FileSystem, MemoryFileSystem}};
/// use std::{path::Path, sync::Arc};
///
/// let fs = Arc::new(MemoryFileSystem::new());
/// let dir = Path::new("fruit");
/// let options = Options { create_if_missing: true, ..Options::default() };
/// let db = Db::open(fs.clone(), dir, options)?;
/// db.put(b"apple", b"red", Durability::Strict)?;
/// db.close()?;
/// fs.remove(&dir.join("CURRENT")).unwrap();
/// assert!(Db::open(fs.clone(), dir, Options::default()).is_err());
///
/// let repaired = repair(fs.clone(), dir, &Options::default(), RowsInDoubt::BringBack)?;
/// assert_eq!((repaired.rows, repaired.in_doubt), (1, 0));
/// let db = Db::open(fs, dir, Options::default())?;
/// assert_eq!(db.get(b"apple")?.as_deref(), Some(&b"red"[..]));
/// # Ok::<(), larder_leveldb::Error>(())
/// ```
///
/// # Errors
/// `NotAStore` if there is nothing of a store; `Conflict` if it is open for writing; `Usage` if it has another comparator; `Io`.
/// The store is as it was then, unless `CURRENT` was being switched.
pub fn repair(
    fs: Arc<dyn FileSystem>,
    dir: &Path,
    options: &Options,
    rows_in_doubt: RowsInDoubt,
) -> Result<Repaired> {
    let new_core = || {
        let context =
            TableContext::new(options.order(), OnDamage::Skip, options.block_cache.clone());
        Core::new(&fs, dir, context, options.open_tables_max)
    };
    // Before the lock's file is made.
    require_store(&*fs, dir)?;
    let held = lock(&*fs, dir)?;
    require_permission(&*fs, dir)?;
    let (core, opened) = open::open(new_core, Limits::whole(options), true)?;
    let repaired = Repair::new(core, opened, options)?.run(rows_in_doubt);
    drop(held);
    repaired
}

fn require_store(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    let names = fs.list(dir).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            Error::new(ErrorKind::NotAStore, format!("{}: {error}", dir.display()))
        }
        _ => Error::io(dir, "cannot list the directory", error),
    })?;
    let is_part = |name: &OsString| {
        FileName::parse(name)
            .is_some_and(|name| !matches!(name, FileName::Lock | FileName::InfoLog))
    };
    if names.iter().any(is_part) {
        return Ok(());
    }
    let what = format!(
        "{}: there is no LevelDB store in this folder: check the path",
        dir.display()
    );
    Err(Error::new(ErrorKind::NotAStore, what))
}

struct Repair<'a> {
    core: Arc<Core>,
    options: &'a Options,
    state: Arc<ReadState>,
    /// The greatest that may be read.
    read_sequence: u64,
    torn: Vec<TornTail>,
    numbers: Numbers,
    last_sequence: u64,
}

/// What CURRENT shall lead to.
struct Prepared {
    files: Vec<TableFile>,
    log_number: u64,
    last_sequence: u64,
}

impl<'a> Repair<'a> {
    fn new(core: Arc<Core>, opened: Opened, options: &'a Options) -> Result<Repair<'a>> {
        let numbers = Numbers(Cell::new(first_number(&opened)?));
        let state = Arc::new(ReadState {
            core: core.clone(),
            version: Arc::new(opened.version),
            mem: Arc::new(opened.mem),
            live: Vec::new(),
        });
        Ok(Repair {
            core,
            options,
            state,
            read_sequence: opened.last_sequence,
            torn: opened.torn,
            numbers,
            // Without a MANIFEST, the greatest possible number stands for it: then the entries have it.
            last_sequence: match opened.last_sequence {
                SEQUENCE_MAX => 0,
                result => result,
            },
        })
    }

    fn run(self, rows_in_doubt: RowsInDoubt) -> Result<Repaired> {
        let mut tables = Tables::new(&self.core, self.options, &self.numbers);
        let mut aside = Aside::new(&self.core);
        let mut repaired = Repaired::default();
        let prepared = self.prepare(&mut tables, &mut aside, rows_in_doubt, &mut repaired);
        let prepared = prepared.inspect_err(|_| {
            tables.remove();
            aside.remove_copies();
        })?;
        let manifest_number = self.numbers.take();
        let first = FirstEdit {
            order: &self.core.order,
            files: &prepared.files,
            compact_pointers: &BTreeMap::new(),
            log_number: prepared.log_number,
            next_file_number: self.numbers.0.get(),
            last_sequence: prepared.last_sequence,
        };
        first.write(&self.core, manifest_number)?;
        repaired.set_aside = aside.finish()?;
        Ok(repaired)
    }

    /// Everything before CURRENT is switched.
    fn prepare(
        &self,
        tables: &mut Tables,
        aside: &mut Aside,
        rows_in_doubt: RowsInDoubt,
        repaired: &mut Repaired,
    ) -> Result<Prepared> {
        let unknown = UnknownFiles::open(&self.state, self.options)?;
        let walk = RowWalk::new(&self.state, self.read_sequence, &unknown);
        let mut rows = KeptRows::new(walk, rows_in_doubt, repaired);
        tables.write(&mut rows)?;
        let (greatest_sequence, left_out) = rows.finish();
        repaired.damage = self.core.damage.list();
        repaired.torn_tails = self.torn.clone();
        aside.decide(&self.state, repaired, left_out)?;
        aside.copy()?;
        let files = tables.name()?;
        let log_number = self.numbers.take();
        let name = FileName::Log(log_number).to_string();
        let created = self.core.fs.create(&self.core.dir.join(&name));
        created.map_err(|error| Error::io(name, "cannot create the log", error))?;
        let lost = repaired.damage.iter();
        let lost = lost.filter_map(|damage| damage.lost_sequences.as_ref().map(|lost| *lost.end()));
        let last_sequence = lost.fold(self.last_sequence.max(greatest_sequence), u64::max);
        Ok(Prepared {
            files,
            log_number,
            // A repair may take rows away, so it counts as a write: a number that was noted before shows that.
            last_sequence: last_sequence.saturating_add(1).min(SEQUENCE_MAX),
        })
    }
}
