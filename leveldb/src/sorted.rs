//! A store made anew from rows that come in their order: tables of the deepest level, written once, without a log.
//!
//! CURRENT is written last, when everything that it leads to is durable: a store that is not whole has none. Rows that come in no
//! order, or one by one, are written through [`Db`](crate::Db).

use crate::core::Core;
use crate::engine::{FirstEdit, lock};
use crate::error::{Error, ErrorKind, Result};
use crate::file_name::FileName;
use crate::internal_key::{self, EntryKind, SEQUENCE_MAX};
use crate::on_damage::OnDamage;
use crate::options::Options;
use crate::storage::FileSystem;
use crate::table::{TableBuilder, TableContext, TableSummary};
use crate::table_file::TableFile;
use crate::version_edit::LEVELS;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The number of the log, which is empty.
const LOG_NUMBER: u64 = 3;
/// The number of the MANIFEST.
const MANIFEST_NUMBER: u64 = 2;
/// The number of the first table.
const FIRST_TABLE: u64 = 4;

/// Makes a store in a folder that is there and has no store, of rows in ascending order: how many there were. `next` puts the next
/// row's key and value into the two buffers, which are empty, and returns whether there is one.
///
/// ```
/// use larder_leveldb::{Db, Options, storage::{FileSystem, MemoryFileSystem}, write_sorted};
/// use std::{path::Path, sync::Arc};
///
/// let fs = Arc::new(MemoryFileSystem::new());
/// let dir = Path::new("fruit");
/// fs.create_dir(dir).unwrap();
/// let mut fruit = ["apple", "pear"].into_iter();
/// let rows = write_sorted(fs.clone(), dir, &Options::default(), |key, value| {
///     let Some(name) = fruit.next() else { return Ok(false) };
///     key.extend_from_slice(name.as_bytes());
///     value.extend_from_slice(b"ripe");
///     Ok::<_, larder_leveldb::Error>(true)
/// })?;
/// assert_eq!(rows, 2);
/// let db = Db::open(fs, dir, Options::default())?;
/// assert_eq!(db.get(b"pear")?.as_deref(), Some(&b"ripe"[..]));
/// # Ok::<(), larder_leveldb::Error>(())
/// ```
///
/// # Errors
/// What `next` returns; `Usage` if a key does not come after the one before, or there is a store; `Conflict` if the folder is
/// locked; `Io`. The files that were written stay then, and are no store.
pub fn write_sorted<E: From<Error>>(
    fs: Arc<dyn FileSystem>,
    dir: &Path,
    options: &Options,
    mut next: impl FnMut(&mut Vec<u8>, &mut Vec<u8>) -> std::result::Result<bool, E>,
) -> std::result::Result<u64, E> {
    let held = lock(&*fs, dir)?;
    let context = TableContext::new(options.order(), OnDamage::Fail, options.block_cache.clone());
    let core = Core::new(&fs, dir, context, options.open_tables_max);
    require_none(&core)?;
    let mut tables = Tables {
        core: &core,
        options,
        files: Vec::new(),
        next_sequence: 1,
    };
    let (mut key, mut value) = (Vec::new(), Vec::new());
    let mut has_row = next(&mut key, &mut value)?;
    while has_row {
        has_row = tables.write(&mut key, &mut value, &mut next)?;
    }
    let (rows, files) = (tables.next_sequence - 1, tables.files);
    finish(&core, &files, rows)?;
    drop(held);
    Ok(rows)
}

fn require_none(core: &Core) -> Result<()> {
    let listed = core.fs.list(&core.dir);
    let names =
        listed.map_err(|error| Error::io(&*core.dir, "cannot list the directory", error))?;
    let is_part = |name: &std::ffi::OsString| {
        FileName::parse(name).is_some_and(|name| !matches!(name, FileName::Lock))
    };
    match names.iter().any(is_part) {
        false => Ok(()),
        true => {
            let dir = core.dir.display();
            let what = format!("{dir}: there are files of a store already: choose another folder");
            Err(Error::new(ErrorKind::Usage, what))
        }
    }
}

/// The tables so far.
struct Tables<'a> {
    core: &'a Core,
    options: &'a Options,
    files: Vec<TableFile>,
    /// Each row has a sequence number of its own, as if they had been written one after the other.
    next_sequence: u64,
}

impl Tables<'_> {
    /// Writes one table, from the row in the buffers on, synced: whether there is another row, in the buffers.
    fn write<E: From<Error>>(
        &mut self,
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
        next: &mut impl FnMut(&mut Vec<u8>, &mut Vec<u8>) -> std::result::Result<bool, E>,
    ) -> std::result::Result<bool, E> {
        let number = FIRST_TABLE + self.files.len() as u64;
        let name = FileName::Table(number).to_string();
        let failed = |error: io::Error| Error::io(&*name, "cannot be written", error);
        let created = self.core.fs.create(&self.core.dir.join(&name));
        let mut file = created.map_err(failed)?;
        let order = self.core.order.clone();
        let mut builder = TableBuilder::new(&mut *file, order, self.options.table);
        let mut internal = Vec::new();
        let mut last = Vec::new();
        let has_row = loop {
            if self.next_sequence > SEQUENCE_MAX {
                let what = "there are more rows than a store can number";
                return Err(Error::new(ErrorKind::Usage, what).into());
            }
            internal.clear();
            internal_key::encode(&mut internal, key, self.next_sequence, EntryKind::Value);
            self.next_sequence += 1;
            builder.add(&internal, value).map_err(failed)?;
            std::mem::swap(key, &mut last);
            key.clear();
            value.clear();
            if !next(key, value)? {
                break false;
            }
            if self.core.order.compare_user(&last, key) != Ordering::Less {
                let what = "a row does not come after the one before";
                return Err(Error::new(ErrorKind::Usage, what).into());
            }
            if builder.len_bytes() >= self.options.table_file_bytes {
                break true;
            }
        };
        let TableSummary {
            len_bytes,
            smallest,
            largest,
            ..
        } = builder.finish().map_err(failed)?;
        file.sync().map_err(failed)?;
        self.files.push(TableFile {
            number,
            level: LEVELS - 1,
            len_bytes: Some(len_bytes),
            smallest: Some(smallest),
            largest: Some(largest),
            keys: None,
            is_unsorted: false,
        });
        Ok(has_row)
    }
}

/// Writes the empty log, the MANIFEST and CURRENT.
fn finish(core: &Core, files: &[TableFile], last_sequence: u64) -> Result<()> {
    let name = FileName::Log(LOG_NUMBER).to_string();
    let created = core.fs.create(&core.dir.join(&name));
    created.map_err(|error| Error::io(&*name, "cannot create the log", error))?;
    let first = FirstEdit {
        order: &core.order,
        files,
        compact_pointers: &BTreeMap::new(),
        log_number: LOG_NUMBER,
        next_file_number: FIRST_TABLE + files.len() as u64,
        last_sequence,
    };
    first.write(core, MANIFEST_NUMBER)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Db;
    use crate::storage::{CrashImage, MemoryFileSystem};

    fn rows(count: u32) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        (0..count).map(|n| {
            let value = vec![n as u8; (n % 300) as usize];
            (format!("key {n:07}").into_bytes(), value)
        })
    }

    fn write(
        fs: &MemoryFileSystem,
        mut rows: impl Iterator<Item = (Vec<u8>, Vec<u8>)>,
    ) -> Result<u64> {
        let options = Options {
            table_file_bytes: 10_000,
            ..Options::default()
        };
        let dir = Path::new("db");
        let _ = fs.create_dir(dir);
        write_sorted(Arc::new(fs.clone()), dir, &options, |key, value| {
            let Some((k, v)) = rows.next() else {
                return Ok(false);
            };
            key.extend_from_slice(&k);
            value.extend_from_slice(&v);
            Ok(true)
        })
    }

    #[test]
    fn what_was_written_is_durable_can_be_read_and_written_to() {
        let fs = MemoryFileSystem::new();
        fs.create_dir(Path::new("db")).unwrap();
        fs.sync_dir(Path::new("")).unwrap();
        assert_eq!(write(&fs, rows(3000)).unwrap(), 3000);
        let after = fs.crash_image(CrashImage::LoseUnsynced);
        let db = Db::open(Arc::new(after), Path::new("db"), Options::default()).unwrap();
        let read: Result<Vec<_>> = db.snapshot().range(..).collect();
        assert!(read.unwrap() == rows(3000).collect::<Vec<_>>());
        assert!(db.files().len() > 3);
        assert!(db.files().iter().all(|file| file.level == LEVELS - 1));
        db.put(b"key 0000005", b"new", crate::Durability::Strict)
            .unwrap();
        assert_eq!(db.get(b"key 0000005").unwrap().unwrap(), b"new");
        assert_eq!(db.latest_sequence(), 3001);
        db.close().unwrap();
    }

    #[test]
    fn no_rows_are_a_store_as_well() {
        let fs = MemoryFileSystem::new();
        assert_eq!(write(&fs, rows(0)).unwrap(), 0);
        let db = Db::open(Arc::new(fs), Path::new("db"), Options::default()).unwrap();
        assert_eq!(db.snapshot().range(..).count(), 0);
    }

    #[test]
    fn rows_in_no_order_and_a_folder_with_a_store_are_refused() {
        let fs = MemoryFileSystem::new();
        let twice = rows(5).chain(rows(1));
        assert_eq!(write(&fs, twice).unwrap_err().kind(), ErrorKind::Usage);
        let dir = Path::new("db");
        let opened = Db::open(Arc::new(fs.clone()), dir, Options::default());
        assert!(opened.is_err(), "there is no CURRENT");
        let fs = MemoryFileSystem::new();
        write(&fs, rows(5)).unwrap();
        let error = write(&fs, rows(5)).unwrap_err();
        assert!(
            error.to_string().contains("choose another folder"),
            "{error}"
        );
    }
}
