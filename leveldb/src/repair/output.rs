//! The repaired store's tables, under temporary names until all are written.

use super::rows::KeptRows;
use crate::core::Core;
use crate::engine::Numbers;
use crate::error::{Error, Result};
use crate::file_name::FileName;
use crate::internal_key::{self, EntryKind, InternalOrder, user_key};
use crate::options::Options;
use crate::table::{TableBuilder, TableSummary};
use crate::table_file::TableFile;
use crate::version_edit::LEVELS;
use std::cmp::Ordering;
use std::io;

/// Tables being made. They are no part of the store until a MANIFEST says so.
pub(super) struct Tables<'a> {
    core: &'a Core,
    options: &'a Options,
    numbers: &'a Numbers,
    written: Vec<(u64, TableSummary)>,
    /// Files that are there by now.
    made: Vec<FileName>,
    /// Rows came in no order, out of a damaged file: their tables overlap.
    is_disordered: bool,
}

impl<'a> Tables<'a> {
    pub(super) fn new(core: &'a Core, options: &'a Options, numbers: &'a Numbers) -> Tables<'a> {
        Tables {
            core,
            options,
            numbers,
            written: Vec::new(),
            made: Vec::new(),
            is_disordered: false,
        }
    }

    /// Writes all rows, synced.
    pub(super) fn write(&mut self, rows: &mut KeptRows) -> Result<()> {
        let mut has_row = rows.advance()?;
        while has_row {
            let number = self.numbers.take();
            let name = FileName::Temp(number);
            let failed = |error: io::Error| Error::io(name.to_string(), "cannot be written", error);
            let created = self.core.fs.create(&self.core.dir.join(name.to_string()));
            let mut file = created.map_err(failed)?;
            self.made.push(name);
            let mut builder =
                TableBuilder::new(&mut *file, self.core.order.clone(), self.options.table);
            let mut key = Vec::new();
            loop {
                set_key(&mut key, rows);
                builder.add(&key, rows.value()?).map_err(failed)?;
                has_row = rows.advance()?;
                let is_after = has_row && is_after(&self.core.order, &key, rows.key());
                self.is_disordered |= has_row && !is_after;
                if !is_after || builder.len_bytes() >= self.options.table_file_bytes {
                    break;
                }
            }
            let summary = builder.finish().map_err(failed)?;
            file.sync().map_err(failed)?;
            self.written.push((number, summary));
        }
        Ok(())
    }

    /// Gives the tables their names.
    pub(super) fn name(&mut self) -> Result<Vec<TableFile>> {
        // Nothing is above the deepest level, so nothing has to move when the store is used again; but only the first may
        // overlap.
        let level = match self.is_disordered {
            false => LEVELS - 1,
            true => 0,
        };
        let mut files = Vec::new();
        for (number, summary) in std::mem::take(&mut self.written) {
            let name = FileName::Table(number);
            let path = |name: FileName| self.core.dir.join(name.to_string());
            let renamed = self
                .core
                .fs
                .rename(&path(FileName::Temp(number)), &path(name));
            renamed.map_err(|error| Error::io(name.to_string(), "cannot get its name", error))?;
            self.made.push(name);
            files.push(TableFile {
                number,
                level,
                len_bytes: Some(summary.len_bytes),
                smallest: Some(summary.smallest),
                largest: Some(summary.largest),
                keys: None,
                is_unsorted: false,
            });
        }
        Ok(files)
    }

    /// Removes what was made, as far as that can be done.
    pub(super) fn remove(&self) {
        for name in &self.made {
            let _ = self.core.fs.remove(&self.core.dir.join(name.to_string()));
        }
    }
}

fn set_key(key: &mut Vec<u8>, rows: &KeptRows) {
    key.clear();
    let tag = rows.sequence() << 8 | u64::from(EntryKind::Value.to_byte());
    internal_key::encode_tagged(key, rows.key(), tag);
}

fn is_after(order: &InternalOrder, internal_key: &[u8], next: &[u8]) -> bool {
    order.user().compare(user_key(internal_key), next) == Ordering::Less
}
