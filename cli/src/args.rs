//! The command line: what `larder` takes. What the words mean is said here, in the help texts, and nowhere else.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod archive;
mod copy;
mod diff;
mod feed;
mod find;
mod maintain;
mod pages;
#[cfg(feature = "remote")]
mod remote;
mod repair;
#[cfg(feature = "scripts")]
mod run;
mod shared;
mod stat;
#[cfg(feature = "sync")]
mod sync;
mod verify;
#[cfg(feature = "view")]
mod view;

pub use archive::{ExportArgs, ExportFormat, ImportArgs};
pub use copy::{ConflictRule, CopyArgs};
pub use diff::DiffArgs;
pub use feed::{
    CleanFeedArgs, FeedArgs, FeedCommand, ReplayArgs, TailArgs, WhichFeed, WhichRevisions,
};
pub use find::FindArgs;
pub use maintain::MaintainArgs;
pub use pages::{
    PagesArgs, PagesCommand, PagesDiffArgs, PagesGcArgs, PagesLogArgs, PagesLsArgs, PagesShowArgs,
    WhichPage,
};
#[cfg(feature = "remote")]
pub use remote::{AddressArgs, RemoteArgs, RemoteCommand};
pub use repair::RepairArgs;
#[cfg(feature = "scripts")]
pub use run::RunArgs;
pub use shared::{OutputTo, ReportFormat, ReportTo, StoreFormat, WhichContent, WhichStores};
pub use stat::StatArgs;
#[cfg(feature = "sync")]
pub use sync::{MergeRule, SyncArgs};
pub use verify::VerifyArgs;
#[cfg(feature = "view")]
pub use view::ViewArgs;

/// Exit codes, as the help text promises them.
pub const EXIT_HELP: &str = "Exit status:
  0  all well
  1  something in a store was damaged or unreadable: named on standard error with file, offset and key; the rest came out
  2  the command line was wrong, or the output could not be written
  3  no IndexedDB store at PATH, or nothing of the origin, database or object store asked for";

/// Look into Chromium's IndexedDB stores and get the data out.
#[derive(Debug, Parser)]
#[command(name = "larder", version, about, long_about = LONG_ABOUT, after_help = EXIT_HELP, after_long_help = MAIN_EXAMPLES, max_term_width = 100)]
pub struct Cli {
    /// When to colour output.
    #[arg(long, global = true, value_enum, default_value_t = ColorWhen::Auto, value_name = "WHEN")]
    pub color: ColorWhen,

    /// Show no progress, even on a terminal.
    #[arg(long, short, global = true)]
    pub quiet: bool,

    /// Name every damaged row on standard error, not only the first ten of a kind.
    #[arg(long, short, global = true)]
    pub verbose: bool,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const LONG_ABOUT: &str = "\
Look into Chromium's IndexedDB stores and get the data out.

PATH may be an origin's folder (*.indexeddb.leveldb, or one of SQLite files), a folder of origins (IndexedDB), a browser profile \
(Default), a whole user-data folder, or the data folder of an Electron, WebView2 or CEF app: every store \
below it is found.

Only run, compact, clean, sync, feed clean, feed replay --consumer, pages gc, repair --in-place and copy --on-conflict change a store that is there, and take its lock; with --dry-run none does. All other \
commands leave it as it is and take no lock, so a store in use can be looked at; only repair, and copy to or from an address, refuse one. \
Copies, archives and repaired stores are new files and folders.

PATH itself may be a symbolic link; links below it are named and not followed, and only regular files are opened.";

const MAIN_EXAMPLES: &str = "\
Examples:
  larder ls ~/.config/chromium/Default
  larder dump ~/.config/chromium/Default --origin https://example.com --format jsonl
  larder dump ./https_app.example_0.indexeddb.leveldb --format canonical --output app.json
  larder rows ./https_app.example_0.indexeddb.leveldb --hex
  larder verify --full ./https_app.example_0.indexeddb.leveldb

Exit status:
  0  all well
  1  something in a store was damaged or unreadable: named on standard error with file, offset and key;
     the rest came out
  2  the command line was wrong, or the output could not be written
  3  no IndexedDB store at PATH, or nothing of the origin, database or object store asked for";

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List origins, databases, object stores and indexes with counts and sizes.
    #[command(after_help = EXIT_HELP, after_long_help = LS_EXAMPLES)]
    Ls(LsArgs),
    /// Print every record.
    #[command(after_help = EXIT_HELP, after_long_help = DUMP_EXAMPLES)]
    Dump(DumpArgs),
    /// Print every raw row, decoded and annotated.
    #[command(after_help = EXIT_HELP, after_long_help = ROWS_EXAMPLES)]
    Rows(RowsArgs),
    /// Check a store: files, rows, indexes, blobs.
    #[command(after_help = verify::VERIFY_EXIT, long_about = verify::VERIFY_ABOUT, after_long_help = verify::VERIFY_EXAMPLES)]
    Verify(VerifyArgs),
    /// Find texts, keys and types in keys and values.
    #[command(after_help = EXIT_HELP, long_about = find::FIND_ABOUT, after_long_help = find::FIND_EXAMPLES)]
    Find(FindArgs),
    /// Look at stores in a browser, on a page of this machine alone.
    #[cfg(feature = "view")]
    #[command(long_about = view::VIEW_ABOUT, after_long_help = view::VIEW_EXAMPLES)]
    View(ViewArgs),
    /// Show what takes how much space, and what maintenance would give back.
    #[command(after_help = EXIT_HELP, long_about = stat::STAT_ABOUT, after_long_help = stat::STAT_EXAMPLES)]
    Stat(StatArgs),
    /// Compare two stores, by database, object store, record and property.
    #[command(after_help = diff::DIFF_EXIT, long_about = diff::DIFF_ABOUT, after_long_help = diff::DIFF_EXAMPLES)]
    Diff(DiffArgs),
    /// Copy stores, or parts of them, and give them another origin.
    #[command(after_help = copy::COPY_EXIT, long_about = copy::COPY_ABOUT, after_long_help = copy::COPY_EXAMPLES)]
    Copy(CopyArgs),
    /// Write stores to an archive: JSON Lines and blobs.
    #[command(after_help = archive::EXPORT_EXIT, long_about = archive::EXPORT_ABOUT, after_long_help = archive::EXPORT_EXAMPLES)]
    Export(ExportArgs),
    /// Make stores of an archive.
    #[command(after_help = archive::IMPORT_EXIT, long_about = archive::IMPORT_ABOUT, after_long_help = archive::IMPORT_EXAMPLES)]
    Import(ImportArgs),
    /// Repair a damaged store: what is certain anew, what is in doubt beside it.
    #[command(after_help = repair::REPAIR_EXIT, long_about = repair::REPAIR_ABOUT, after_long_help = repair::REPAIR_EXAMPLES)]
    Repair(RepairArgs),
    /// Compact a store's tables, as Chromium does every few days.
    #[command(after_help = maintain::MAINTAIN_EXIT, long_about = maintain::COMPACT_ABOUT, after_long_help = maintain::COMPACT_EXAMPLES)]
    Compact(MaintainArgs),
    /// Delete what is of no more use in a store: stale index rows, the undo log, loose blob files.
    #[command(after_help = maintain::MAINTAIN_EXIT, long_about = maintain::CLEAN_ABOUT, after_long_help = maintain::CLEAN_EXAMPLES)]
    Clean(MaintainArgs),
    /// Show what changed in databases that have a change feed.
    #[command(long_about = feed::FEED_ABOUT, after_long_help = feed::FEED_EXAMPLES)]
    Feed(FeedArgs),
    /// Keep a database on several devices alike, by way of a folder or a distributed store.
    #[cfg(feature = "sync")]
    #[command(after_help = sync::SYNC_EXIT, long_about = sync::SYNC_ABOUT, after_long_help = sync::SYNC_EXAMPLES)]
    Sync(SyncArgs),
    /// Look at versioned pages of entries: commits, what differs between them, what they hold.
    #[command(long_about = pages::PAGES_ABOUT, after_long_help = pages::PAGES_EXAMPLES)]
    Pages(PagesArgs),
    /// Run scripts that use IndexedDB, on a store of Chromium's or one to be made.
    #[cfg(feature = "scripts")]
    #[command(after_help = run::RUN_EXIT, long_about = run::RUN_ABOUT, after_long_help = run::RUN_EXAMPLES)]
    Run(RunArgs),
    /// Look after stores in a distributed engine.
    #[cfg(feature = "remote")]
    #[command(long_about = remote::REMOTE_ABOUT, after_long_help = remote::REMOTE_EXAMPLES)]
    Remote(RemoteArgs),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff).
    Man,
}

const LS_EXAMPLES: &str = "\
Examples:
  larder ls ~/.config/chromium/Default             every origin of a profile
  larder ls ~/.config/Signal --json | jq .         for programs
  larder ls --no-counts PATH                       structure only: opens nothing but metadata";

const DUMP_EXAMPLES: &str = "\
Examples:
  larder dump PATH                                            for eyes
  larder dump PATH --format jsonl > records.jsonl             one record a line, streaming
  larder dump PATH --database mail --store messages --format jsonl
  larder dump PATH --format jsonl --blobs ./blobs             also copies the blobs' contents
  larder dump PATH --format canonical --output store.json     everything in one document an origin
  larder dump PATH --format canonical --digests               the same content, short, for comparing stores

What each form loses:
  text       values are cut after 1000 characters: for eyes only
  jsonl      indexes, versions and the next keys of key generators; contents of blobs, unless --blobs copies them
  canonical  nothing that a script could read, and stacks, pictures and key material are there, too
  canonical --digests
             strings over 512 units and bytes over 256, contents of blobs among them, are only lengths and SHA-256,
             and what no script is shown is left out: no backup
No form has the tokens of file system handles and what was deleted; rows --history --hex shows those.";

const ROWS_EXAMPLES: &str = "\
Examples:
  larder rows PATH                    the rows that are visible
  larder rows PATH --history          also overwritten and deleted ones
  larder rows PATH --hex              with the bytes of key and value";

/// `larder ls`.
#[derive(Debug, Args)]
pub struct LsArgs {
    /// A folder of a store, or one with stores in it: a profile, a browser's user data, an app.
    pub path: PathBuf,
    /// Print one JSON document a line instead of text, one line a store folder.
    #[arg(long)]
    pub json: bool,
    /// Do not count records and index entries (counting walks the whole store).
    #[arg(long)]
    pub no_counts: bool,
    /// Which stores.
    #[command(flatten)]
    pub stores: WhichStores,
}

/// How `dump` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DumpFormat {
    /// Canonical JSON, one document an origin: all that Chromium itself would show, whole (docs/format/canonical.md).
    Canonical,
    /// One JSON object a record and line, streaming, without indexes; contents of blobs with --blobs only (docs/format/jsonl.md).
    Jsonl,
    /// For people: long values are cut.
    Text,
}

/// `larder dump`.
#[derive(Debug, Args)]
pub struct DumpArgs {
    /// A folder of a store, or one with stores in it: a profile, a browser's user data, an app.
    pub path: PathBuf,
    /// Which stores.
    #[command(flatten)]
    pub stores: WhichStores,
    /// Which content of them.
    #[command(flatten)]
    pub content: WhichContent,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t = DumpFormat::Text)]
    pub format: DumpFormat,
    /// Where the output goes.
    #[command(flatten)]
    pub to: OutputTo,
    /// With --format canonical: give long strings and bytes as lengths and SHA-256. For comparing stores, no backup.
    #[arg(long)]
    pub digests: bool,
    /// Copy the contents of blobs and files into this folder, which is made if it is missing. The copies get the permissions
    /// that the umask gives new files.
    #[arg(long, value_name = "DIR")]
    pub blobs: Option<PathBuf>,
}

/// `larder rows`.
#[derive(Debug, Args)]
pub struct RowsArgs {
    /// A folder of a store, or one with stores in it: a profile, a browser's user data, an app.
    pub path: PathBuf,
    /// Which stores.
    #[command(flatten)]
    pub stores: WhichStores,
    /// Show the bytes of key and value too.
    #[arg(long)]
    pub hex: bool,
    /// Show overwritten and deleted rows too, every version that is still in the files.
    #[arg(long)]
    pub history: bool,
    /// Print one JSON object a row and line instead of text.
    #[arg(long)]
    pub json: bool,
    /// Where the output goes.
    #[command(flatten)]
    pub to: OutputTo,
}
