//! Rows that go into tables beside the store, and become part of it by one edit of the MANIFEST: decision 42.
//!
//! What makes it right:
//! - No table is in a version before the edit. A crash before leaves files that no MANIFEST names, which opening removes; the
//!   edit is one record of the MANIFEST, whole or not there.
//! - All rows of a run have one sequence number. It is that of a write that came before, which deletes a key without a row, so the
//!   logs have no gap in their numbers. No other write of these keys has it, as only the ingestion writes them.
//! - The first entry of a key that a search meets must be the newest, also for C++ LevelDB, which ends its search there. So older rows
//!   of these keys leave the memtables before a run is read or installed, and a table is placed above all tables with such rows
//!   ([`place`]).
//! - Tables are synced before the edit, and so is the log: no write that was acknowledged before is lost while the ingestion stays.

mod layers;
mod place;

use super::compaction_input::CompactionInput;
use super::install::table_file;
use super::output::{Output, Unsynced};
use super::write::in_doubt;
use super::{Durability, Engine, L0_STOP, locked};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::file_name::FileName;
use crate::internal_key::{self, EntryKind, TAG_LEN, user_key};
use crate::read_state::ReadState;
use crate::skip_list::SkipCursor;
use crate::snapshot::Snapshot;
use crate::source::{RunCursor, Source};
use crate::table::TableBuilder;
use crate::table_file::TableFile;
use crate::version::Version;
use crate::version_edit::{NewFile, VersionEdit};
use crate::write_batch::BatchWriter;
use layers::{Group, Layers};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::io;
use std::iter::Peekable;
use std::sync::atomic::Ordering as Order;
use std::sync::{Arc, Weak};

/// So many entries are compared before two sources count as having a key in common.
const SHARED_STEPS_MAX: usize = 1000;

/// Tables of an ingestion are as long as so many of a compaction: each costs a sync.
const TABLES_IN_ONE: u64 = 4;

/// A row that is ingested: a key, and its value, or `None` for its deletion.
pub type IngestedRow<'a> = (&'a [u8], Option<&'a [u8]>);

/// Rows on their way into the store ([`Db::ingest`](crate::Db::ingest)), in tables that are not part of it yet. Dropping it drops
/// them.
#[derive(Debug)]
pub struct Ingestion {
    engine: Arc<Engine>,
    mark: Vec<u8>,
    layers: Layers,
    unsynced: Unsynced,
}

/// The tables of ingestions under way.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// The numbers and lengths of those that are in use.
    tables: Vec<(u64, u64)>,
    /// Those that are to be removed.
    dropped: Vec<u64>,
    /// Versions that have any, and may still be read.
    versions: Vec<Weak<Version>>,
}

impl Beside {
    /// Takes out what is to be removed.
    pub(super) fn take_dropped(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.dropped)
    }

    /// The numbers of the tables that some reader may still look into.
    pub(super) fn read_tables(&mut self) -> BTreeSet<u64> {
        self.versions.retain(|version| version.strong_count() > 0);
        let versions = self.versions.iter().filter_map(Weak::upgrade);
        let tables = versions.flat_map(|version| {
            let numbers: Vec<u64> = version.files().map(|file| file.number).collect();
            numbers
        });
        tables.collect()
    }

    pub(super) fn has(&self, number: u64) -> bool {
        self.tables.iter().any(|(table, _)| *table == number)
    }

    /// Bytes of tables that are in use.
    pub(super) fn len_bytes(&self) -> u64 {
        self.tables.iter().map(|(_, len_bytes)| len_bytes).sum()
    }

    fn add(&mut self, tables: &[TableFile]) {
        let tables = tables.iter();
        self.tables
            .extend(tables.map(|file| (file.number, file.len_bytes.unwrap_or(0))));
    }

    fn leave(&mut self, numbers: &BTreeSet<u64>) {
        self.tables.retain(|(table, _)| !numbers.contains(table));
    }
}

impl Ingestion {
    pub(crate) fn new(engine: Arc<Engine>, mark: &[u8]) -> Ingestion {
        Ingestion {
            engine,
            mark: mark.to_vec(),
            layers: Layers::default(),
            unsynced: Unsynced::default(),
        }
    }

    /// Writes rows into tables. They are newer than all that were added before; each key comes once, in ascending order. `must_end`:
    /// whether a table must end between two keys.
    ///
    /// # Errors
    /// As [`Db::write`](crate::Db::write); `Usage` if the keys do not ascend. Then the ingestion is of no more use.
    pub fn add<'r>(
        &mut self,
        rows: impl IntoIterator<Item = IngestedRow<'r>>,
        must_end: impl Fn(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let engine = Arc::clone(&self.engine);
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut mark = BatchWriter::new();
        mark.delete(&self.mark);
        engine.write(&mut mark, Durability::Relaxed)?;
        // The mark's, or that of another write since: no entry of these keys has either.
        let sequence = engine.last_sequence();
        let added = engine.watched("an ingestion", || {
            let tables = self.write_run(&mut rows, sequence, &must_end)?;
            self.flush_older(&tables)?;
            self.layers.add(&engine.core.order, tables);
            while let Some(above) = self.layers.crowd() {
                self.merge(above)?;
            }
            Ok(())
        });
        added.inspect_err(|error| engine.health.note_room(error))
    }

    /// The store's content with the rows of the ingestion in place of others.
    pub fn snapshot(&self) -> Snapshot {
        let engine = &self.engine;
        // Writes to other keys go on meanwhile; the numbers of the runs are below that of any moment from now on.
        let (state, sequence) = {
            let current = locked(&engine.current);
            (current.state.clone(), current.sequence)
        };
        let order = &engine.core.order;
        let version = Version::over(order, self.layers.newest_first(), &state.version);
        let version = Arc::new(version);
        locked(&engine.beside)
            .versions
            .push(Arc::downgrade(&version));
        let state = ReadState {
            version,
            ..(*state).clone()
        };
        Snapshot::new(Arc::new(state), sequence)
    }

    /// Bytes of its tables.
    pub fn len_bytes(&self) -> u64 {
        let lens = self.layers.files().filter_map(|file| file.len_bytes);
        lens.fold(0, u64::saturating_add)
    }

    /// Makes all of it part of the store at once, and durable, with everything that was acknowledged before.
    ///
    /// # Errors
    /// As [`Db::write`](crate::Db::write).
    pub fn install(mut self) -> Result<()> {
        let engine = Arc::clone(&self.engine);
        let installed = engine.watched("an ingestion", || self.try_install());
        engine.report_done();
        engine.wake();
        installed.inspect_err(|error| engine.health.note_room(error))
    }

    fn try_install(&mut self) -> Result<()> {
        let engine = Arc::clone(&self.engine);
        self.merge(0)?;
        self.unsynced.sync_all()?;
        engine.write(&mut BatchWriter::new(), Durability::Strict)?;
        if self.layers.files().next().is_none() {
            return Ok(());
        }
        // As a writer whose memtable is full would.
        if engine.l0_tables.load(Order::Acquire) >= L0_STOP {
            engine.wait_until(|| engine.l0_tables.load(Order::Acquire) < L0_STOP)?;
        }
        let work = &mut *locked(&engine.work);
        engine.health.check()?;
        engine.mend_manifest(work)?;
        let placed = self.place()?;
        // What was merged for level 0.
        self.unsynced.sync_all()?;
        let numbers: BTreeSet<u64> = placed.iter().map(|file| file.number).collect();
        let edit = VersionEdit {
            new_files: placed,
            ..VersionEdit::default()
        };
        // From here on the edit may be in the MANIFEST, whatever happens: the tables stay, also if the file system panics. Where it is
        // certain that the edit is not there, `install` and `mend_manifest` remove them.
        self.leave_tables(&numbers);
        if let Err(error) = engine.install(work, edit, None) {
            // A MANIFEST without the edit makes sure that it is not there when the store is opened again.
            if engine.mend_manifest(work).is_err() {
                engine.fail(&error);
                return Err(in_doubt(&error));
            }
            return Err(error);
        }
        engine.remove_obsolete(work);
        Ok(())
    }

    /// These tables are not the ingestion's any more.
    fn leave_tables(&mut self, numbers: &BTreeSet<u64>) {
        self.layers.retain(|file| !numbers.contains(&file.number));
        locked(&self.engine.beside).leave(numbers);
    }

    /// Removes tables as soon as no reader has them.
    fn drop_tables(&self, numbers: &BTreeSet<u64>) {
        let beside = &mut *locked(&self.engine.beside);
        beside.leave(numbers);
        beside.dropped.extend(numbers);
    }

    /// Makes tables of a run.
    fn write_run<'r>(
        &mut self,
        rows: &mut Peekable<impl Iterator<Item = IngestedRow<'r>>>,
        sequence: u64,
        must_end: &impl Fn(&[u8], &[u8]) -> bool,
    ) -> Result<Vec<TableFile>> {
        let engine = Arc::clone(&self.engine);
        let mut tables = Vec::new();
        while rows.peek().is_some() {
            engine.check_lock()?;
            let number = engine.new_file_number();
            let table = self.write_table(number, rows, sequence, must_end);
            let table = table.inspect_err(|_| {
                // Also those before, which no layer has.
                let made = tables.iter().map(|file: &TableFile| file.number);
                for number in made.chain([number]) {
                    self.unsynced.remove_all(&[number]);
                    engine.remove_table(number);
                }
            })?;
            tables.push(table);
        }
        locked(&engine.beside).add(&tables);
        Ok(tables)
    }

    fn write_table<'r>(
        &mut self,
        number: u64,
        rows: &mut Peekable<impl Iterator<Item = IngestedRow<'r>>>,
        sequence: u64,
        must_end: &impl Fn(&[u8], &[u8]) -> bool,
    ) -> Result<TableFile> {
        let engine = &*self.engine;
        let name = FileName::Table(number).to_string();
        let failed = |error: io::Error| Error::io(&*name, "cannot write the table", error);
        let created = engine.core.fs.create(&engine.core.dir.join(&name));
        let mut file = created.map_err(failed)?;
        let order = &engine.core.order;
        let mut builder = TableBuilder::new(&mut *file, order.clone(), engine.options.table);
        let limit = table_bytes(engine);
        let mut tombstones = 0;
        let mut key = Vec::new();
        while let Some((user_key, value)) = rows.next() {
            let kind = match value {
                Some(_) => EntryKind::Value,
                None => EntryKind::Deletion,
            };
            tombstones += u64::from(value.is_none());
            key.clear();
            internal_key::encode(&mut key, user_key, sequence, kind);
            builder
                .add(&key, value.unwrap_or_default())
                .map_err(failed)?;
            let Some((next, _)) = rows.peek() else {
                break;
            };
            if order.compare_user(user_key, next) != Ordering::Less {
                let what = "rows to be ingested do not ascend: sort them, and give each key once";
                return Err(Error::new(crate::ErrorKind::Usage, what));
            }
            if builder.len_bytes() >= limit || must_end(user_key, next) {
                break;
            }
        }
        let summary = builder.finish().map_err(failed)?;
        file.flush().map_err(failed)?;
        self.unsynced.keep(number, name, file)?;
        let known = &engine.core.tombstones;
        known.note_table(number, tombstones, summary.entries);
        Ok(table_file(NewFile {
            level: 0,
            number,
            len_bytes: summary.len_bytes,
            smallest: summary.smallest,
            largest: summary.largest,
        }))
    }

    /// Sees to it that no memtable has older rows of these tables' keys: there they would be found first. What opening had no room for
    /// becomes tables in any case.
    fn flush_older(&self, tables: &[TableFile]) -> Result<()> {
        let engine = &self.engine;
        if engine.has_kept.load(Order::Acquire) {
            return engine.flush();
        }
        let state = engine.state();
        for list in &state.live {
            for table in tables {
                let mut above = Source::Live(SkipCursor::new(list.clone()));
                if self.shares_a_key(&mut above, table)? {
                    drop(state);
                    return engine.flush();
                }
            }
        }
        Ok(())
    }

    /// Whether a source has a key that a table has, or may have one.
    fn shares_a_key(&self, source: &mut Source, table: &TableFile) -> Result<bool> {
        let order = &self.engine.core.order;
        let (Some(smallest), Some(largest)) = (&table.smallest, &table.largest) else {
            return Ok(true);
        };
        source.seek(&first_of(user_key(smallest)))?;
        let mut rows = None;
        for _ in 0..SHARED_STEPS_MAX {
            if !source.valid()
                || order.compare_user(user_key(source.key()), user_key(largest))
                    == Ordering::Greater
            {
                return Ok(false);
            }
            let rows = rows.get_or_insert_with(|| cursor_of(&self.engine.core, table));
            rows.seek(&first_of(user_key(source.key())))?;
            if !rows.valid() {
                return Ok(false);
            }
            if order.compare_user(user_key(rows.key()), user_key(source.key())) == Ordering::Equal {
                return Ok(true);
            }
            source.seek(&first_of(user_key(rows.key())))?;
            if source.valid()
                && order.compare_user(user_key(rows.key()), user_key(source.key()))
                    == Ordering::Equal
            {
                return Ok(true);
            }
        }
        Ok(true)
    }

    /// Merges the layers from one on into one, in which no tables overlap.
    fn merge(&mut self, above: usize) -> Result<()> {
        let engine = Arc::clone(&self.engine);
        let order = &engine.core.order;
        let groups = self.layers.groups(order, above);
        let Some(groups) = groups else {
            return Ok(());
        };
        let mut merged = Vec::new();
        let mut replaced = BTreeSet::new();
        for mut group in groups {
            if let [one] = &mut group[..] {
                merged.append(one);
            } else {
                replaced.extend(group.iter().flatten().map(|file| file.number));
                merged.extend(self.merged(&group, table_bytes(&engine))?);
            }
        }
        self.layers.replace(above, merged);
        self.unsynced.remove_all(&replaced);
        self.drop_tables(&replaced);
        Ok(())
    }

    /// Tables with the newest entry of each key of tables that overlap, the newest first.
    fn merged(&self, group: &Group, table_bytes: u64) -> Result<Vec<TableFile>> {
        let engine = Arc::clone(&self.engine);
        let order = &engine.core.order;
        let core = engine.compaction_core();
        let layers = group.iter().map(Vec::as_slice);
        let version = Arc::new(Version::over(order, layers, &Arc::default()));
        let run = |i| Source::Run(RunCursor::new(core.clone(), version.clone(), i));
        let sources = (0..version.runs.len()).map(run).collect();
        let mut input = CompactionInput::new(order.clone(), sources, |_| false, |_, _| false)?;
        let number = || engine.new_file_number();
        let check = || engine.check_lock();
        let output = Output {
            unsynced: Some(&self.unsynced),
            ..engine.output(0, table_bytes, &number, &check)
        };
        let tables = output.write(&mut input, |_| false, |_| Ok(()))?;
        let tables: Vec<TableFile> = tables.into_iter().map(table_file).collect();
        locked(&engine.beside).add(&tables);
        Ok(tables)
    }
}

impl Drop for Ingestion {
    fn drop(&mut self) {
        let numbers: BTreeSet<u64> = self.layers.files().map(|file| file.number).collect();
        if !numbers.is_empty() {
            self.drop_tables(&numbers);
        }
        self.engine.remove_unread();
    }
}

/// So many bytes a table has at most, or a block more.
fn table_bytes(engine: &Engine) -> u64 {
    engine.limits().table_bytes.saturating_mul(TABLES_IN_ONE)
}

fn cursor_of(core: &Arc<Core>, table: &TableFile) -> Source {
    let version = Version::new(&core.order, vec![table.clone()]);
    Source::Run(RunCursor::new(core.clone(), Arc::new(version), 0))
}

/// The internal key before all of a user key.
fn first_of(user_key: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(user_key.len() + TAG_LEN);
    internal_key::encode_tagged(
        &mut key,
        user_key,
        internal_key::seek_tag(internal_key::SEQUENCE_MAX),
    );
    key
}
