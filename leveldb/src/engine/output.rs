//! Writes new tables.

use super::compaction_input::CompactionInput;
use super::locked;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::file_name::FileName;
use crate::filter::{KeyFilter, bloom};
use crate::internal_key::{self, EntryKind, user_key};
use crate::options::Options;
use crate::storage::WritableFile;
use crate::sync::Mutex;
use crate::table::TableBuilder;
use crate::version_edit::NewFile;
use std::collections::BTreeMap;
use std::io;

/// Where and how tables are written.
pub(super) struct Output<'a> {
    pub(super) core: &'a Core,
    pub(super) options: &'a Options,
    pub(super) level: usize,
    /// A table ends when it has so many bytes.
    pub(super) table_bytes: u64,
    pub(super) new_number: &'a dyn Fn() -> u64,
    /// Asked before a file is made: whether the folder is still the store's.
    pub(super) check: &'a dyn Fn() -> Result<()>,
    /// Takes every key that is written.
    pub(super) keys: Option<&'a KeyFilter>,
    /// Takes the tables' files, which are synced later; without it they are synced at once.
    pub(super) unsynced: Option<&'a Unsynced>,
}

/// So many files that are to be synced are open at most.
const UNSYNCED_MAX: usize = 64;

/// Files of tables that are to be synced before an edit names them, by number. Those that are replaced before never are.
#[derive(Debug, Default)]
pub(super) struct Unsynced(Mutex<Files>);

/// By number; with their names.
type Files = BTreeMap<u64, (String, Box<dyn WritableFile>)>;

impl Unsynced {
    /// Takes a file, which has been flushed.
    pub(super) fn keep(
        &self,
        number: u64,
        name: String,
        file: Box<dyn WritableFile>,
    ) -> Result<()> {
        let files = &mut *locked(&self.0);
        files.insert(number, (name, file));
        match files.len() > UNSYNCED_MAX {
            true => sync_first(files),
            false => Ok(()),
        }
    }

    pub(super) fn sync_all(&self) -> Result<()> {
        let files = &mut *locked(&self.0);
        while !files.is_empty() {
            sync_first(files)?;
        }
        Ok(())
    }

    /// Lets go of files whose tables are not needed any more.
    pub(super) fn remove_all<'n>(&self, numbers: impl IntoIterator<Item = &'n u64>) {
        let files = &mut *locked(&self.0);
        for number in numbers {
            files.remove(number);
        }
    }
}

fn sync_first(files: &mut Files) -> Result<()> {
    match files.pop_first() {
        Some((_, (name, mut file))) => {
            let synced = file.sync();
            synced.map_err(|error| Error::io(name, "cannot sync the table", error))
        }
        None => Ok(()),
    }
}

impl Output<'_> {
    /// Makes tables of everything that a input has; all are synced. `ends_before`: whether a table must end before an internal
    /// key. `between` is called before each entry with the bytes of entries that the input has passed. After an error no table
    /// is left.
    pub(super) fn write(
        &self,
        input: &mut CompactionInput<'_>,
        mut ends_before: impl FnMut(&[u8]) -> bool,
        mut between: impl FnMut(u64) -> Result<()>,
    ) -> Result<Vec<NewFile>> {
        let mut tables = Vec::new();
        let mut failed = None;
        while failed.is_none() {
            match input.entry() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
            if let Err(error) = (self.check)() {
                failed = Some(error);
                break;
            }
            let number = (self.new_number)();
            match self.table(number, input, &mut ends_before, &mut between) {
                Ok(table) => tables.push(table),
                Err(error) => {
                    self.remove(number);
                    failed = Some(error);
                }
            }
        }
        match failed {
            None => Ok(tables),
            Some(error) => {
                tables.iter().for_each(|table| self.remove(table.number));
                Err(error)
            }
        }
    }

    /// Removes a table that is part of no store.
    pub(super) fn remove(&self, number: u64) {
        if (self.check)().is_err() {
            return;
        }
        let name = FileName::Table(number).to_string();
        // What stays is removed when the store is opened next.
        let _ = self.core.fs.remove(&self.core.dir.join(name));
    }

    fn table(
        &self,
        number: u64,
        input: &mut CompactionInput<'_>,
        ends_before: &mut impl FnMut(&[u8]) -> bool,
        between: &mut impl FnMut(u64) -> Result<()>,
    ) -> Result<NewFile> {
        let name = FileName::Table(number).to_string();
        let failed = |error: io::Error| Error::io(&*name, "cannot write the table", error);
        let created = self.core.fs.create(&self.core.dir.join(&name));
        let mut file = created.map_err(failed)?;
        let mut builder =
            TableBuilder::new(&mut *file, self.core.order.clone(), self.options.table);
        let mut is_empty = true;
        let mut tombstones = 0;
        loop {
            between(input.passed_bytes())?;
            let Some((key, value)) = input.entry()? else {
                break;
            };
            // Asked for every key: the answer depends on those before.
            let must_end = ends_before(key);
            if !is_empty && (must_end || builder.len_bytes() >= self.table_bytes) {
                break;
            }
            builder.add(key, &value).map_err(failed)?;
            tombstones += u64::from(internal_key::tag(key) as u8 == EntryKind::Deletion.to_byte());
            if let Some(keys) = self.keys {
                keys.put(bloom::key_hash(user_key(key)));
            }
            drop(value);
            is_empty = false;
            input.advance()?;
        }
        let summary = builder.finish().map_err(failed)?;
        match self.unsynced {
            None => file.sync().map_err(failed)?,
            Some(unsynced) => {
                file.flush().map_err(failed)?;
                unsynced.keep(number, name.clone(), file)?;
            }
        }
        let known = &self.core.tombstones;
        known.note_table(number, tombstones, summary.entries);
        Ok(NewFile {
            level: self.level,
            number,
            len_bytes: summary.len_bytes,
            smallest: summary.smallest,
            largest: summary.largest,
        })
    }
}
