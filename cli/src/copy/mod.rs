//! Copies a store, or a part of it, to another place, and gives it another origin if that is wanted.
//!
//! Rows are copied as bytes, as recovery leaves them: what a transaction that never committed has written is not copied, nor are lists of
//! blobs to be removed, nor how far the LevelDB has counted. Ids stay. The rows come in Chromium's order, whatever order the source has, so a store of
//! `QtWebEngine` 5.15 becomes one that every Chromium reads. Blobs are copied with their times.
//!
//! The copy appears at its place whole, or not at all ([`NewStore`]).

mod blobs;
mod command;
mod in_place;
pub(crate) mod key_text;
mod merge;
#[cfg(feature = "sqlite")]
mod new_files;
mod rows;
mod selection;
#[cfg(feature = "sqlite")]
mod sqlite;
mod target;

pub(crate) use blobs::copy_blobs;
pub(crate) use command::Copy;
pub use merge::{Merged, OnConflict, merge_store};
pub(crate) use rows::Blob;
pub use selection::{KeySpan, Part};
pub(crate) use target::place;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use larder_backing_store::{
    Error, ErrorKind, NewStore, RowSequence, Store, StoreOrder, StorePaths,
};
use larder_codec::Origin;
use larder_leveldb::storage::FileSystem;

use crate::display::Counted;
use rows::SelectedRows;
use selection::Plan;

/// What is copied, and under which origin.
#[derive(Debug, Clone, Default)]
pub struct CopyOptions {
    /// The part of the store that is copied.
    pub part: Part,
    /// The origin that all databases get; their own without.
    pub origin: Option<Origin>,
    /// The form of the copy.
    pub format: Format,
    /// Whether there is a copy although its form cannot say everything.
    pub accept: bool,
    /// Nothing is written: only what would be is counted. For SQLite files they are made in a temporary folder.
    pub dry_run: bool,
}

/// The form of a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// A LevelDB store, in its two folders.
    #[default]
    LevelDb,
    /// A folder of SQLite files.
    Sqlite,
}

/// What was copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// Databases.
    pub databases: u64,
    /// Rows.
    pub rows: u64,
    /// Records among them.
    pub records: u64,
    /// Bytes of the rows' keys and values.
    pub row_bytes: u64,
    /// Blobs and files that the records refer to.
    pub blobs: u64,
    /// Their bytes.
    pub blob_bytes: u64,
    /// Change feeds that stayed behind, since only a part of their databases was copied.
    pub feeds_left: u64,
    /// What Chromium does otherwise with the copy, since its form cannot say it.
    pub losses: Vec<String>,
    /// What could not be copied, each with its place: rows and blobs that cannot be read.
    pub problems: Vec<String>,
    /// Whether a blob was gone that a program which has the store open may have removed.
    lost_to_writer: bool,
}

impl Copied {
    /// Whether a blob was gone that a program which has the store open may have removed: a copy that is begun anew may be whole.
    #[must_use]
    pub const fn is_outrun(&self) -> bool {
        self.lost_to_writer
    }
}

impl fmt::Display for Copied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {} ({}, {})",
            Counted(self.databases, "database"),
            Counted(self.records, "record"),
            Counted(self.rows, "row"),
            crate::display::Size(self.row_bytes)
        )?;
        if self.blobs > 0 {
            let (blobs, size) = (
                Counted(self.blobs, "blob"),
                crate::display::Size(self.blob_bytes),
            );
            write!(f, ", {blobs} ({size})")?;
        }
        match self.feeds_left {
            0 => Ok(()),
            feeds => write!(f, ", without {}", Counted(feeds, "change feed")),
        }
    }
}

/// Copies a store, which must be open with [`OnDamage::Skip`](larder_leveldb::OnDamage::Skip) if what is whole of a damaged one is to
/// be copied. `to` is of the form of the copy. `tick` is called for each row.
///
/// # Errors
/// `Usage` if there is a store at `to`, the part is not there, two databases would get one name, or the form cannot say everything and that is not
/// accepted; `Corruption` or `Io` if the store cannot be read on; `Io` if the copy cannot be written; `Unsupported` for SQLite files without the
/// feature `sqlite`. Nothing is at `to` then.
pub fn copy_store(
    store: &Store,
    target: Arc<dyn FileSystem>,
    to: &StorePaths,
    options: &CopyOptions,
    tick: &mut dyn FnMut(),
) -> Result<Copied, Error> {
    let (copied, new) = write_copy(store, target, to, options, tick)?;
    if let Some(new) = new {
        new.finish()?;
    }
    Ok(copied)
}

/// Puts a copy in the other form in the place of its store: what was copied, where it is, and the folder in which what was there is kept, if it was no
/// dry run. The store is as it was if anything of it cannot be read. `tick` is called for each row.
///
/// # Errors
/// As [`copy_store`]; `Conflict` if a program has the store open; `Usage` if it has the form already, something of it cannot be read, or a store of the other
/// form is there as well. Everything is as it was then.
pub fn replace_store(
    store: &Store,
    fs: &Arc<dyn FileSystem>,
    options: &CopyOptions,
    tick: &mut dyn FnMut(),
) -> Result<(Copied, StorePaths, Option<PathBuf>), Error> {
    let from = store.paths();
    let to = match options.format {
        Format::LevelDb => StorePaths::of_leveldb(&from.in_leveldb()),
        Format::Sqlite => StorePaths::of_sqlite(&from.in_sqlite()),
    };
    let place = from.leveldb.display();
    if to.is_sqlite() == from.is_sqlite() {
        let what = format!("{place}: the store has this form already");
        return Err(Error::new(ErrorKind::Usage, what));
    }
    if is_store(&**fs, &to) {
        let what = format!(
            "{}: there is a store of the other form as well, and a browser would delete one of the two: move it away first",
            to.leveldb.display()
        );
        return Err(Error::new(ErrorKind::Usage, what));
    }
    let held = in_place::Held::take(&**fs, store)?;
    let (copied, new) = write_copy(store, Arc::clone(fs), &to, options, tick)?;
    let Some(new) = new else {
        return Ok((copied, to, None));
    };
    if let Some(problem) = copied.problems.first() {
        let what = format!(
            "{place}: not everything can be read, so the store stays as it was: {problem} ({} in all): larder repair first",
            Counted(copied.problems.len() as u64, "problem")
        );
        return Err(Error::new(ErrorKind::Usage, what));
    }
    let aside = held.set_aside()?;
    if let Err(error) = new.finish() {
        // It may have come to its place, and only not be durable.
        if !is_store(&**fs, &to) {
            aside.restore();
        }
        return Err(error);
    }
    let folder = aside.folder().to_owned();
    Ok((copied, to, Some(folder)))
}

/// Whether there is a store, or a part of one.
fn is_store(fs: &dyn FileSystem, paths: &StorePaths) -> bool {
    let dir = &paths.leveldb;
    match (paths.is_sqlite(), fs.list(dir)) {
        (true, Ok(names)) => crate::sqlite::is_store(fs, dir, &names),
        (true, Err(_)) => false,
        (false, _) => fs.metadata(dir).is_ok(),
    }
}

/// A copy that is written, and not at its place yet.
enum NewCopy {
    LevelDb(NewStore),
    #[cfg(feature = "sqlite")]
    Sqlite(new_files::NewFiles),
}

impl NewCopy {
    fn finish(self) -> Result<(), Error> {
        match self {
            Self::LevelDb(new) => new.finish(),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(new) => new.finish(),
        }
    }
}

/// Writes a copy; none in a dry run.
fn write_copy(
    store: &Store,
    target: Arc<dyn FileSystem>,
    to: &StorePaths,
    options: &CopyOptions,
    tick: &mut dyn FnMut(),
) -> Result<(Copied, Option<NewCopy>), Error> {
    let plan = Plan::new(store, &options.part, options.origin.as_ref())?;
    let mut copied = Copied {
        databases: plan.databases(),
        feeds_left: plan.feeds_left(),
        ..Copied::default()
    };
    let new = match options.format {
        Format::LevelDb => write_leveldb(store, target, to, &plan, &mut copied, options, tick)?,
        Format::Sqlite => write_sqlite(store, &target, to, &plan, &mut copied, options, tick)?,
    };
    if copied.is_outrun() {
        let what = "the program that has the store open has removed a blob meanwhile: try again, or close that program first";
        return Err(Error::new(ErrorKind::Conflict, what));
    }
    if new.is_some() && !options.accept && !copied.losses.is_empty() {
        let what = format!(
            "this form cannot say everything, so Chromium would do otherwise with it: {}. Nothing was copied; with --accept it is, and Larder finds its notes of this on the way back",
            copied.losses.join("; ")
        );
        return Err(Error::new(ErrorKind::Usage, what));
    }
    Ok((copied, new))
}

fn write_leveldb(
    store: &Store,
    target: Arc<dyn FileSystem>,
    to: &StorePaths,
    plan: &Plan,
    copied: &mut Copied,
    options: &CopyOptions,
    tick: &mut dyn FnMut(),
) -> Result<Option<NewCopy>, Error> {
    let mut rows = SelectedRows::new(store, plan, copied, tick);
    if options.dry_run {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        while rows.next(&mut key, &mut value)? {
            key.clear();
            value.clear();
        }
        return Ok(None);
    }
    let new = NewStore::begin(target, to.clone())?;
    let sequence = match store.order() {
        StoreOrder::SignedBytes => RowSequence::Unsorted,
        StoreOrder::Chromium | StoreOrder::Mixed => RowSequence::Sorted,
    };
    new.write_rows(sequence, |key, value| rows.next(key, value))?;
    let blobs = rows.into_blobs();
    copy_blobs(store, &new, &blobs, copied)?;
    Ok(Some(NewCopy::LevelDb(new)))
}

#[cfg(feature = "sqlite")]
fn write_sqlite(
    store: &Store,
    target: &Arc<dyn FileSystem>,
    to: &StorePaths,
    plan: &Plan,
    copied: &mut Copied,
    options: &CopyOptions,
    tick: &mut dyn FnMut(),
) -> Result<Option<NewCopy>, Error> {
    if options.dry_run {
        let scratch = tempfile::tempdir().map_err(|error| {
            larder_leveldb::Error::io("the temporary folder", "cannot be made", error)
        })?;
        sqlite::write(store, plan, scratch.path(), copied, tick)?;
        return Ok(None);
    }
    let new = new_files::NewFiles::begin(target, to)?;
    sqlite::write(store, plan, new.path(), copied, tick)?;
    Ok(Some(NewCopy::Sqlite(new)))
}

#[cfg(not(feature = "sqlite"))]
fn write_sqlite(
    _store: &Store,
    _target: &Arc<dyn FileSystem>,
    _to: &StorePaths,
    _plan: &Plan,
    _copied: &mut Copied,
    _options: &CopyOptions,
    _tick: &mut dyn FnMut(),
) -> Result<Option<NewCopy>, Error> {
    let what = "SQLite files: this larder was built without the feature sqlite";
    Err(Error::new(ErrorKind::Unsupported, what))
}

/// Whether a blob's file is not there.
fn is_gone(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound
}
