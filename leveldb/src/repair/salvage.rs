//! Every whole row of a damaged store beside what is known of it, without changing the store.

use super::rows::{RowWalk, Step};
use super::unknown_files::UnknownFiles;
use crate::core::Core;
use crate::damage::Damage;
use crate::error::Result;
use crate::file_name::FileName;
use crate::internal_key::SEQUENCE_MAX;
use crate::memtable::KnownLogs;
use crate::on_damage::OnDamage;
use crate::open::{self, Limits, Opened};
use crate::options::Options;
use crate::order_check::KeyOrder;
use crate::read_state::ReadState;
use crate::storage::FileSystem;
use crate::table::TableContext;
use crate::torn::TornTail;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The sequence number of a store's first write.
const FIRST_SEQUENCE: u64 = 1;

/// What is known of a row of a damaged store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowState {
    /// Nothing that is lost can have replaced or deleted it.
    Certain,
    /// Something newer of its key may be lost: a later value, or its deletion.
    MayBeOutdated,
    /// It is in a file only that the MANIFEST does not list, left from interrupted work, and the store may have lost the row.
    Beside,
    /// Only the key is left, of which something was lost here. An older value of it may follow.
    Lost,
}

/// A damaged store, read for what is left of it: what [`repair`](super::repair()) would bring back, row by row. Nothing is written and no
/// lock is taken. The store should not be open elsewhere: what is being written looks like damage.
///
/// ```
/// use larder_leveldb::{Db, Durability, Options, RowState, Salvage, storage::{FileSystem, MemoryFileSystem}};
/// use std::{path::Path, sync::Arc};
///
/// let fs = Arc::new(MemoryFileSystem::new());
/// let dir = Path::new("fruit");
/// let options = Options { create_if_missing: true, ..Options::default() };
/// let db = Db::open(fs.clone(), dir, options)?;
/// db.put(b"apple", b"red", Durability::Strict)?;
/// db.close()?;
/// fs.remove(&dir.join("CURRENT")).unwrap();
///
/// let salvage = Salvage::open(fs, dir, &Options::default())?;
/// let mut rows = salvage.rows();
/// assert_eq!(rows.advance()?, Some(RowState::Certain));
/// assert_eq!((rows.key(), rows.value()?), (&b"apple"[..], &b"red"[..]));
/// assert_eq!(rows.advance()?, None);
/// # Ok::<(), larder_leveldb::Error>(())
/// ```
#[derive(Debug)]
pub struct Salvage {
    pub(super) state: Arc<ReadState>,
    sequence: u64,
    pub(super) torn: Vec<TornTail>,
    order: KeyOrder,
    known: KnownLogs,
    is_listed: bool,
    pub(super) unknown: UnknownFiles,
    /// The greatest sequence number in tables that a walk has come upon.
    tables_up_to: AtomicU64,
}

impl Salvage {
    /// Opens what is left of the store in a directory.
    ///
    /// # Errors
    /// `NotAStore` if there is nothing of one; `Usage` if it has another comparator; `Io`.
    pub fn open(fs: Arc<dyn FileSystem>, dir: &Path, options: &Options) -> Result<Salvage> {
        let new_core = || {
            let cache = options.block_cache.clone();
            let context = TableContext::new(options.order(), OnDamage::Skip, cache);
            Core::new(&fs, dir, context, options.open_tables_max)
        };
        let (core, opened) = open::open(new_core, Limits::whole(options), false)?;
        let Opened {
            version,
            mem,
            last_sequence,
            torn,
            order,
            known,
            is_listed,
            ..
        } = opened;
        let state = Arc::new(ReadState {
            core,
            version: Arc::new(version),
            mem: Arc::new(mem),
            live: Vec::new(),
        });
        let unknown = UnknownFiles::open(&state, options)?;
        Ok(Salvage {
            state,
            sequence: last_sequence,
            torn,
            order,
            known,
            is_listed,
            unknown,
            tables_up_to: AtomicU64::new(0),
        })
    }

    /// A walk over the newest whole entry of every key, in the order of keys.
    pub fn rows(&self) -> SalvagedRows<'_> {
        self.rows_as_of(SEQUENCE_MAX)
    }

    /// A walk over the newest whole entry that every key had when this sequence number had been written, and nothing after it.
    pub fn rows_as_of(&self, sequence: u64) -> SalvagedRows<'_> {
        let sequence = sequence.min(self.sequence);
        SalvagedRows {
            walk: RowWalk::new(&self.state, sequence, &self.unknown),
            salvage: self,
        }
    }

    /// How the keys of the tables are ordered.
    pub fn order(&self) -> KeyOrder {
        self.order
    }

    /// What is damaged. Damage of tables is found by reading: after a whole walk the list is complete.
    pub fn damage(&self) -> Vec<Damage> {
        self.state.core.damage.list()
    }

    /// Logs, and the MANIFEST, that end within a record.
    pub fn torn_tails(&self) -> &[TornTail] {
        &self.torn
    }

    /// The sequence number up to which any row may be outdated or deleted, because it cannot be known what was written after it and is
    /// lost; `None` if there is no such loss. Known after a whole walk.
    pub fn outdated_up_to(&self) -> Option<u64> {
        let damage = self.damage();
        let unknown = damage.iter().filter(|damage| damage.outdated_possible);
        let lost = unknown.map(|damage| match &damage.lost_sequences {
            Some(lost) => *lost.end(),
            None => SEQUENCE_MAX,
        });
        let torn = self.torn.iter().map(|_| SEQUENCE_MAX);
        lost.chain(torn).max()
    }

    /// The sequence number up to which all that was written is known, whatever came after it: [`rows_as_of`](Self::rows_as_of) it are
    /// the state that the store had then, but for rows that damage of tables makes doubtful. `None` if no such state is known.
    /// Known after a whole walk.
    ///
    /// Sequence numbers have no gaps in logs, so a state is known up to the first place where a log is not readable. What is older
    /// is in tables, which the MANIFEST has to list; or nothing is, as logs that begin with the first number of all have everything. A
    /// MANIFEST that lacks its last edits lists tables that are whole as long as they, and the logs since, are there.
    pub fn known_up_to(&self) -> Option<u64> {
        let sequence = match self.known.lost_from {
            None => SEQUENCE_MAX,
            Some(lost_from) => lost_from.checked_sub(1)?,
        };
        let is_listed = self.is_listed && !self.may_lack_tables();
        let has_everything = is_listed || self.known.begin == Some(FIRST_SEQUENCE);
        let is_sorted = || {
            let mut damage = self.damage().into_iter();
            damage.all(|damage| !damage.outdated_possible || !is_table(&damage.file))
        };
        // Tables that were written later may have replaced rows of that state.
        let tables_up_to = self.tables_up_to.load(Ordering::Relaxed);
        (has_everything && tables_up_to <= sequence && is_sorted()).then_some(sequence)
    }

    /// The sequence number of the last write before the first that cannot be read in the logs, if there is one: also where it is not
    /// known what the store had then. If the logs cannot be read from their beginning, it is the one before the first that can.
    pub fn read_up_to(&self) -> Option<u64> {
        self.known.lost_from?.checked_sub(1)
    }

    /// Whether the MANIFEST lacks edits at its end, which may have added tables that are there.
    fn may_lack_tables(&self) -> bool {
        let is_manifest = |tail: &TornTail| {
            let name = FileName::parse(tail.file.as_ref());
            matches!(name, Some(FileName::Manifest(_)))
        };
        self.torn.iter().any(is_manifest) && self.unknown.has_tables()
    }
}

fn is_table(name: &Path) -> bool {
    let name = FileName::parse(name.as_os_str());
    matches!(name, Some(FileName::Table(_) | FileName::OldTable(_)))
}

/// A walk over a [`Salvage`]; stands before the first row at the beginning.
#[derive(Debug)]
pub struct SalvagedRows<'a> {
    walk: RowWalk<'a>,
    salvage: &'a Salvage,
}

impl SalvagedRows<'_> {
    /// To the next row, or lost key: what is known of it beside [`Salvage::outdated_up_to`]. `None` at the end.
    pub fn advance(&mut self) -> Result<Option<RowState>> {
        let Some(step) = self.walk.advance()? else {
            let greatest = self.walk.tables_up_to();
            let tables_up_to = &self.salvage.tables_up_to;
            tables_up_to.fetch_max(greatest, Ordering::Relaxed);
            return Ok(None);
        };
        Ok(Some(match step {
            Step::Lost => RowState::Lost,
            Step::Row { .. } if self.salvage.unknown.has(self.walk.file_name()) => RowState::Beside,
            Step::Row { in_doubt: true } => RowState::MayBeOutdated,
            Step::Row { in_doubt: false } => RowState::Certain,
        }))
    }

    /// The user key.
    pub fn key(&self) -> &[u8] {
        self.walk.key()
    }

    /// The value; empty for a lost key.
    pub fn value(&self) -> Result<&[u8]> {
        self.walk.value()
    }

    /// The sequence number.
    pub fn sequence(&self) -> u64 {
        self.walk.sequence()
    }

    /// The greatest sequence number of the store so far, that of deletions included.
    pub fn greatest_sequence(&self) -> u64 {
        self.walk.greatest_sequence()
    }

    /// The name of the file that the row was read from.
    pub fn file_name(&self) -> &str {
        self.walk.file_name()
    }
}
