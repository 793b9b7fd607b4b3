//! `larder export` and `larder import` on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{WhichContent, WhichStores};

pub(super) const EXPORT_ABOUT: &str = "\
Write stores to an archive that anyone can read, and in which nothing is lost.

An archive is JSON Lines (docs/format/archive.md): schemas, and then one record a line, as a script sees it, with the stored bytes where JSON \
cannot say it exactly. TO decides the form: a name that ends in .jsonl is one file with the blobs in it, .jsonl.zst the same packed with \
zstd, and any other a folder with the blobs as files of their own. The store is never written to, and may be in use. The archive appears at \
TO whole, or not at all.";

pub(super) const EXPORT_EXIT: &str = "Exit status:
  0  exported
  1  exported, but for what could not be read, which is named on standard error and in the archive
  2  not exported: there is something at TO, the command line was wrong, or the archive could not be written
  3  no IndexedDB store at PATH, or nothing of the origin, database or object store asked for";

pub(super) const EXPORT_EXAMPLES: &str = "\
Examples:
  larder export ~/.config/App/IndexedDB ./backup                 a folder
  larder export ~/.config/App/IndexedDB backup.jsonl.zst         one packed file
  larder export PATH mail.jsonl --database mail                  one database
  larder export PATH mail.csv --format csv --store messages      a table for spreadsheets
  larder export PATH mail.parquet --format parquet --store messages    one for DuckDB, pandas, Spark: its columns have types

larder import makes stores of it again.

Exit status:
  0  exported
  1  exported, but for what could not be read, which is named on standard error and in the archive
  2  not exported: there is something at TO, the command line was wrong, or the archive could not be written
  3  no IndexedDB store at PATH, or nothing of the origin, database or object store asked for";

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// An archive, in which nothing is lost (docs/format/archive.md).
    Archive,
    /// A table of one object store's records and their top-level properties (docs/format/table.md). Needs --store.
    Csv,
    /// A table like that as a file of Apache Parquet, whose columns have types (docs/format/table.md). Needs --store.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// `larder export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// A folder of a store, or one with stores in it: a profile, a browser's user data, an app.
    pub path: PathBuf,
    /// The archive: a file if the name ends in .jsonl or .jsonl.zst, else a folder.
    pub to: PathBuf,
    /// The form.
    #[arg(long, value_enum, default_value_t = ExportFormat::Archive)]
    pub format: ExportFormat,
    /// The columns of a table, in their order; without it all top-level properties there are.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Only read what would be exported, and say how much it is.
    #[arg(long)]
    pub dry_run: bool,
    /// Which stores.
    #[command(flatten)]
    pub stores: WhichStores,
    /// Which content of them.
    #[command(flatten)]
    pub content: WhichContent,
}

pub(super) const IMPORT_ABOUT: &str = "\
Make stores of an archive that larder export has written, or another program (docs/format/archive.md), or of a file of dexie-export-import \
(docs/format/dexie.md).

The stores appear at TO whole, or not at all: they are written under temporary names first, and get theirs when the archive was read to its \
end. A store that is there is never touched; larder copy merges one store into another.";

pub(super) const IMPORT_EXIT: &str = "Exit status:
  0  imported
  1  imported, but for records that are not whole in the archive or file, which are named on standard error
  2  not imported: the archive is damaged or none, there is a store at TO, or the stores could not be written";

pub(super) const IMPORT_EXAMPLES: &str = "\
Examples:
  larder import backup.jsonl.zst ./restored                      each store below it, as it lay below PATH
  larder import mail.jsonl ./IndexedDB --origin https://new.example
  larder import ./backup ./restored --dry-run                    only read the archive and count
  larder import dexie.json ./IndexedDB --origin https://new.example    what dexie-export-import has written

Where a store goes: if TO ends in .indexeddb.leveldb, it is the store's folder; else TO is the folder above.

Exit status:
  0  imported
  1  imported, but for records that are not whole in the archive or file, which are named on standard error
  2  not imported: the archive is damaged or none, there is a store at TO, or the stores could not be written";

/// `larder import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The archive: its file or folder; or a file of dexie-export-import.
    pub archive: PathBuf,
    /// Where the stores go.
    pub to: PathBuf,
    /// The origin that all stores get (`https://example.com`).
    #[arg(long, value_name = "ORIGIN")]
    pub origin: Option<String>,
    /// Write nothing; say what would be imported.
    #[arg(long)]
    pub dry_run: bool,
}
