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
mod iso_date;
pub(crate) mod key_text;
mod leveldb;
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
pub use in_place::{Replaced, replace_store};
pub use merge::{Merged, OnConflict, merge_store};
pub(crate) use rows::Blob;
pub use selection::{KeySpan, Part};
pub(crate) use target::place;

use std::fmt;
use std::sync::Arc;

use larder_backing_store::{Error, ErrorKind, NewStore, Store, StorePaths};
use larder_codec::Origin;
use larder_leveldb::storage::FileSystem;

use crate::display::Counted;
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
    /// Fails if a blob was gone that a program which has the store open may have removed: a copy that is begun anew may be whole.
    fn check_outrun(&self) -> Result<(), Error> {
        if !self.lost_to_writer {
            return Ok(());
        }
        let what = "the program that has the store open has removed a blob meanwhile: try again, or close that program first";
        Err(Error::new(ErrorKind::Conflict, what))
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
    let (copied, new) = write_copy(store, &target, to, options, tick)?;
    copied.check_outrun()?;
    if let Some(new) = new {
        new.finish()?;
    }
    Ok(copied)
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

/// What is written where.
struct Job<'a> {
    store: &'a Store,
    plan: &'a Plan,
    target: &'a Arc<dyn FileSystem>,
    to: &'a StorePaths,
    dry_run: bool,
}

/// Writes a copy; none in a dry run.
fn write_copy(
    store: &Store,
    target: &Arc<dyn FileSystem>,
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
    let job = Job {
        store,
        plan: &plan,
        target,
        to,
        dry_run: options.dry_run,
    };
    let new = match options.format {
        Format::LevelDb => leveldb::write(&job, &mut copied, tick)?.map(NewCopy::LevelDb),
        #[cfg(feature = "sqlite")]
        Format::Sqlite => sqlite::write(&job, &mut copied, tick)?.map(NewCopy::Sqlite),
        #[cfg(not(feature = "sqlite"))]
        Format::Sqlite => {
            let what = "SQLite files: this larder was built without the feature sqlite";
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
    };
    if new.is_some() && !options.accept && !copied.losses.is_empty() {
        let what = format!(
            "this form cannot say everything, so Chromium would do otherwise with it: {}. Nothing was copied; with --accept it is, and Larder finds its notes of this on the way back",
            copied.losses.join("; ")
        );
        return Err(Error::new(ErrorKind::Usage, what));
    }
    Ok((copied, new))
}
