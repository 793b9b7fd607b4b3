//! Every whole row of a damaged store beside what is known of it, without changing the store.

use super::rows::{RowWalk, Step};
use super::unknown_files::UnknownFiles;
use crate::core::Core;
use crate::damage::Damage;
use crate::error::Result;
use crate::internal_key::SEQUENCE_MAX;
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
    state: Arc<ReadState>,
    sequence: u64,
    torn: Vec<TornTail>,
    order: KeyOrder,
    unknown: UnknownFiles,
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
            unknown,
        })
    }

    /// A walk over the newest whole entry of every key, in the order of keys.
    pub fn rows(&self) -> SalvagedRows<'_> {
        SalvagedRows {
            walk: RowWalk::new(&self.state, self.sequence, &self.unknown),
            unknown: &self.unknown,
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
}

/// A walk over a [`Salvage`]; stands before the first row at the beginning.
#[derive(Debug)]
pub struct SalvagedRows<'a> {
    walk: RowWalk<'a>,
    unknown: &'a UnknownFiles,
}

impl SalvagedRows<'_> {
    /// To the next row, or lost key: what is known of it beside [`Salvage::outdated_up_to`]. `None` at the end.
    pub fn advance(&mut self) -> Result<Option<RowState>> {
        Ok(self.walk.advance()?.map(|step| match step {
            Step::Lost => RowState::Lost,
            Step::Row { .. } if self.unknown.has(self.walk.file_name()) => RowState::Beside,
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

    /// The name of the file that the row was read from.
    pub fn file_name(&self) -> &str {
        self.walk.file_name()
    }
}
