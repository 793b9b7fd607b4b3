//! What all readers of one store share: files, order, caches, damage.

use crate::damage::{Damage, DamageKind};
use crate::error::{Error, Result};
use crate::file_name::FileName;
use crate::hash::BuildNumberHasher;
use crate::storage::FileSystem;
use crate::table::{Table, TableContext};
use crate::table_file::TableFile;
use crate::tombstones::Tombstones;
use std::collections::HashMap;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shared by a database handle, its snapshots and their iterators.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) fs: Arc<dyn FileSystem>,
    pub(crate) dir: PathBuf,
    pub(crate) context: Arc<TableContext>,
    pub(crate) tables: OpenTables,
    pub(crate) tombstones: Tombstones,
}

/// Open tables, bounded in number: every one holds a file descriptor.
///
/// Tables are opened when the store is, as far as the bound allows, and stay open: a store in use may remove a table at any
/// moment, and an open file can still be read then.
#[derive(Debug)]
pub(crate) struct OpenTables {
    open_max: AtomicUsize,
    state: Mutex<OpenState>,
}

#[derive(Debug, Default)]
struct OpenState {
    /// By number, with the time of last use.
    tables: HashMap<u64, (Arc<Table>, u64), BuildNumberHasher>,
    clock: u64,
}

impl OpenTables {
    fn new(open_max: usize) -> OpenTables {
        OpenTables {
            open_max: AtomicUsize::new(open_max.max(1)),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, OpenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, number: u64) -> Option<Arc<Table>> {
        let state = &mut *self.state();
        state.clock += 1;
        let (table, used) = state.tables.get_mut(&number)?;
        *used = state.clock;
        Some(table.clone())
    }

    fn insert(&self, table: Arc<Table>) {
        let state = &mut *self.state();
        while state.tables.len() >= self.open_max() {
            // A walk over some hundred entries is little beside opening a file.
            let oldest = state
                .tables
                .iter()
                .min_by_key(|(_, (_, used))| *used)
                .map(|(&number, _)| number);
            let Some(oldest) = oldest else { break };
            state.tables.remove(&oldest);
        }
        state.clock += 1;
        state.tables.insert(table.number, (table, state.clock));
    }

    /// Closes a table that is no longer part of the store.
    pub(crate) fn remove(&self, number: u64) {
        self.state().tables.remove(&number);
    }

    fn open_max(&self) -> usize {
        self.open_max.load(Ordering::Relaxed)
    }

    pub(crate) fn is_open(&self, number: u64) -> bool {
        self.state().tables.contains_key(&number)
    }

    /// No table is closed any more, however many are open.
    pub(crate) fn keep_all(&self) {
        self.open_max.store(usize::MAX, Ordering::Relaxed);
    }

    fn is_full(&self) -> bool {
        self.state().tables.len() >= self.open_max()
    }
}

impl Deref for Core {
    type Target = TableContext;

    #[inline]
    fn deref(&self) -> &TableContext {
        &self.context
    }
}

impl Core {
    /// The core of a store of which nothing has been read yet.
    pub(crate) fn new(
        fs: &Arc<dyn FileSystem>,
        dir: &Path,
        context: TableContext,
        open_tables_max: usize,
    ) -> Core {
        Core {
            fs: fs.clone(),
            dir: dir.to_owned(),
            context: Arc::new(context),
            tables: OpenTables::new(open_tables_max),
            tombstones: Tombstones::default(),
        }
    }

    /// Opens a table's file, under its new or its old name.
    fn open_file(&self, meta: &TableFile) -> io::Result<Table> {
        let mut missing = None;
        for name in [
            FileName::Table(meta.number),
            FileName::OldTable(meta.number),
        ] {
            let name = name.to_string();
            match self.fs.open_random(&self.dir.join(&name)) {
                Ok(file) => {
                    let len = file.len()?;
                    // A file longer than recorded is read as far as recorded, as C++ LevelDB does.
                    let len = meta.len_bytes.map_or(len, |recorded| recorded.min(len));
                    return Ok(Table::new(self, meta.number, name, file, len));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    missing = missing.or(Some(error))
                }
                Err(error) => return Err(error),
            }
        }
        Err(missing.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }

    /// The table, open, of which nothing was read yet.
    pub(crate) fn opened(&self, meta: &TableFile) -> io::Result<Arc<Table>> {
        if let Some(table) = self.tables.get(meta.number) {
            return Ok(table);
        }
        let table = Arc::new(self.open_file(meta)?);
        if !self.tables.is_full() {
            self.tables.insert(table.clone());
        }
        Ok(table)
    }

    /// Opens a table before it is needed. `false` if there is no room for more open files.
    pub(crate) fn open_early(&self, meta: &TableFile) -> io::Result<bool> {
        if self.tables.is_full() {
            return Ok(false);
        }
        self.tables.insert(Arc::new(self.open_file(meta)?));
        Ok(true)
    }

    /// Fails if a table's file is not there.
    pub(crate) fn require_file(&self, meta: &TableFile) -> Result<()> {
        if self.tables.get(meta.number).is_some() {
            return Ok(());
        }
        let names = [
            FileName::Table(meta.number),
            FileName::OldTable(meta.number),
        ];
        for name in &names {
            let name = name.to_string();
            match self.fs.metadata(&self.dir.join(&name)) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let what = "cannot find out whether the table is there";
                    return Err(Error::io(name, what, error));
                }
            }
        }
        let what = "table is missing";
        Err(Error::corruption(names[0].to_string(), None, what))
    }

    /// The name that a table's file has, or should have.
    pub(crate) fn file_name(&self, meta: &TableFile) -> String {
        if let Some(table) = self.tables.get(meta.number) {
            return table.name.clone();
        }
        let old = FileName::OldTable(meta.number).to_string();
        match self.fs.metadata(&self.dir.join(&old)) {
            Ok(_) => old,
            Err(_) => FileName::Table(meta.number).to_string(),
        }
    }

    /// The open table. With [`OnDamage::Skip`](crate::OnDamage::Skip) a missing or damaged one is written down and shows what is left of it.
    pub(crate) fn table(&self, meta: &TableFile) -> Result<Arc<Table>> {
        if let Some(table) = self.tables.get(meta.number) {
            table.prepare(self, meta)?;
            return Ok(table);
        }
        let table = match self.open_file(meta) {
            Ok(table) => table,
            Err(error) => self.missing_table(meta, error)?,
        };
        let table = Arc::new(table);
        table.prepare(self, meta)?;
        self.tables.insert(table.clone());
        Ok(table)
    }

    fn missing_table(&self, meta: &TableFile, error: io::Error) -> Result<Table> {
        let name = FileName::Table(meta.number).to_string();
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        if self.on_damage.fails_on(Some(&error)) {
            return Err(match is_missing {
                true => Error::corruption(name, None, "table is missing"),
                false => Error::io(name, "cannot open table", error),
            });
        }
        let mut damage = match is_missing {
            true => Damage::new(&*name, None, DamageKind::Missing, "table is missing"),
            false => Damage::new(
                &*name,
                None,
                DamageKind::Unreadable,
                format!("table cannot be opened: {error}"),
            ),
        };
        damage.len_bytes = meta.len_bytes.unwrap_or(0);
        let range = (meta.smallest.clone(), meta.largest.clone());
        self.damage
            .report_region(meta.number, 0, None, damage, range);
        Ok(Table::missing(self, meta.number, name))
    }
}
