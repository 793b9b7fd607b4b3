//! `larder copy` on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::shared::StoreFormat;

pub(super) const COPY_ABOUT: &str = "\
Copy stores, or parts of them, and give them another origin.

Rows and blobs are copied as bytes, blobs with their times. What an unfinished transaction has written is left out. The source is never \
written to, and may be in use: what is copied is the store of one moment. The copy appears at TO whole, or not at all: it is written under a \
temporary name first. A store of QtWebEngine 5.12 to 5.15, whose keys are in another order, becomes one that every Chromium reads.

With --on-conflict a store that is at TO already is merged into. No program may have that one open: a browser holds a lock on it and keeps parts of it in \
memory, so close the browser first. Databases are found by their names; they must have the same version and object stores with the same keys, and their index \
entries are made as TO's indexes have it. Records that are equal are passed over. Each database is merged whole or not at all.

If FROM or TO is an address (larder remote --help), all files are copied as they are, read back and compared; what is at TO already with equal content is \
kept, so that a copy that was broken off goes on. No program may have the stores open.

With --format sqlite the copy is in SQLite files, a database each, which Chromium is moving to; --format leveldb, which is what it is without, makes LevelDB stores of those. What SQLite files cannot say (a key path of one part in an array, -0 in keys) is named, and nothing is copied without --accept; it is noted in the files, and comes back on the way to LevelDB. A browser deletes the store of the form that it is not set to, so the copy goes where no store of the other form is. With --in-place the copy takes the store's place, and what was there is kept beside it, in NAME.before-copy.

With --origin all databases get that origin, in their names and in those of the folders, so that an app whose address has changed finds its \
data again.";

pub(super) const COPY_EXIT: &str = "Exit status:
  0  copied
  1  copied, but for what could not be read, which is named on standard error
  2  not copied: there is a store at TO, the command line was wrong, or the copy could not be written
  3  no IndexedDB store at FROM, or none of the origin or bucket asked for";

pub(super) const COPY_EXAMPLES: &str = "\
Examples:
  larder copy ~/.config/App/IndexedDB ./backup                     every store of a folder
  larder copy ./https_old.example_0.indexeddb.leveldb ~/.config/App/IndexedDB --origin https://new.example
  larder copy PATH ./part --database mail --store messages --lower 1000 --upper 1999
  larder copy ./old/IndexedDB ~/.config/App/IndexedDB --on-conflict skip     only what is not there
  larder copy PATH ./backup --dry-run                              only say what would be copied
  larder copy ~/.config/chromium/Default ./new --format sqlite     for a Chromium that keeps SQLite files
  larder copy PATH --format leveldb --in-place                     for one that does not

Where a store goes: if TO ends in .indexeddb.leveldb, it is the store's folder; else TO is the folder above, and below it a store lies as it lies \
below FROM.

Keys are written as JSON: 7, '\"text\"', '[\"a\", 1]', '{\"date\": 0}', '{\"binary\": \"00ff\"}'; what is no JSON is a text.

Exit status:
  0  copied
  1  copied, but for what could not be read, which is named on standard error
  2  not copied: there is a store at TO, the command line was wrong, or the copy could not be written
  3  no IndexedDB store at FROM, or none of the origin or bucket asked for";

/// What happens to a record of which there is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ConflictRule {
    /// The one at TO stays.
    Skip,
    /// The one at TO is replaced.
    Replace,
    /// Both are kept: the one that comes gets the next key of the key generator.
    KeepBoth,
    /// Nothing of that database is merged.
    Fail,
}

/// `larder copy`.
#[derive(Debug, Args)]
pub struct CopyArgs {
    /// A folder of a store, or one with stores in it: a profile, a browser's user data, an app.
    pub from: PathBuf,
    /// Where the copy goes.
    #[arg(required_unless_present = "in_place", conflicts_with = "in_place")]
    pub to: Option<PathBuf>,
    /// The form of the copy.
    #[arg(long, value_enum, value_name = "FORM", default_value = "leveldb")]
    pub format: StoreFormat,
    /// Copy although the form cannot say everything: what it cannot is named.
    #[arg(long)]
    pub accept: bool,
    /// Put the copy in the store's place, and keep what was there beside it. No program may have the store open.
    #[arg(long, conflicts_with_all = ["origin", "database", "store", "lower", "upper", "key", "on_conflict"])]
    pub in_place: bool,
    /// The origin that all databases get (`https://example.com`).
    #[arg(long, value_name = "ORIGIN")]
    pub origin: Option<String>,
    /// Only databases of this name. May be given several times.
    #[arg(long, value_name = "NAME")]
    pub database: Vec<String>,
    /// Only object stores of this name. May be given several times.
    #[arg(long, value_name = "NAME")]
    pub store: Vec<String>,
    /// Only records with this primary key or a greater one.
    #[arg(long, value_name = "KEY")]
    pub lower: Option<String>,
    /// Only records with this primary key or a lesser one.
    #[arg(long, value_name = "KEY")]
    pub upper: Option<String>,
    /// Only the record with this primary key.
    #[arg(long, value_name = "KEY", conflicts_with_all = ["lower", "upper"])]
    pub key: Option<String>,
    /// If there is a store at TO, merge into it; this is what happens to records that both have, with one key and other values.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub on_conflict: Option<ConflictRule>,
    /// Only stores of this origin (`https://example.com`) or identifier (`https_example.com_0`).
    #[arg(long, value_name = "ORIGIN")]
    pub from_origin: Option<String>,
    /// Only stores of this storage bucket: its number, or the name that the page gave it.
    #[arg(long, value_name = "BUCKET")]
    pub bucket: Option<String>,
    /// Write nothing; say what would be copied.
    #[arg(long)]
    pub dry_run: bool,
}

impl CopyArgs {
    /// Whether something is left out.
    pub(crate) fn takes_a_part(&self) -> bool {
        let has_rule = self.on_conflict.is_some();
        let ends = [&self.lower, &self.upper, &self.from_origin, &self.bucket];
        has_rule
            || self.format != StoreFormat::default()
            || !self.database.is_empty()
            || !self.store.is_empty()
            || ends.iter().any(|end| end.is_some())
    }
}
