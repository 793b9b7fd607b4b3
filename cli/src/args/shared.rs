//! Groups of arguments that several commands take alike: which stores, which content of them, where the output goes.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::{Cli, Command};

/// Which stores below PATH are meant.
#[derive(Debug, Clone, Default, Args)]
pub struct WhichStores {
    /// Only stores of this origin (`https://example.com`) or identifier (`https_example.com_0`).
    #[arg(long, value_name = "ORIGIN")]
    pub origin: Option<String>,
    /// Only stores of this storage bucket: its number, or the name that the page gave it.
    #[arg(long, value_name = "BUCKET")]
    pub bucket: Option<String>,
}

/// Which content of a store is meant.
#[derive(Debug, Clone, Default, Args)]
pub struct WhichContent {
    /// Only databases of this name.
    #[arg(long, value_name = "NAME")]
    pub database: Option<String>,
    /// Only object stores of this name.
    #[arg(long, value_name = "NAME")]
    pub store: Option<String>,
}

/// Where the output goes.
#[derive(Debug, Clone, Default, Args)]
pub struct OutputTo {
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// How findings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For people.
    Text,
    /// One JSON document a store and line, for programs.
    Json,
}

/// The form of a report, and where it goes.
#[derive(Debug, Clone, Args)]
pub struct ReportTo {
    /// The form of the output.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// Where it goes.
    #[command(flatten)]
    pub to: OutputTo,
}

impl ReportTo {
    /// Whether it is for programs.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.format == ReportFormat::Json
    }
}

/// What a command that takes one store after the other says about them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) path: &'a Path,
    pub(crate) origin: Option<&'a str>,
    pub(crate) bucket: Option<&'a str>,
    pub(crate) database: Option<&'a str>,
    pub(crate) object_store: Option<&'a str>,
    pub(crate) output: Option<&'a Path>,
}

impl<'a> Wanted<'a> {
    fn new(path: &'a Path, stores: &'a WhichStores) -> Self {
        Self {
            origin: stores.origin.as_deref(),
            bucket: stores.bucket.as_deref(),
            ..Self::all(path)
        }
    }

    fn all(path: &'a Path) -> Self {
        Self {
            path,
            origin: None,
            bucket: None,
            database: None,
            object_store: None,
            output: None,
        }
    }

    fn content(self, content: &'a WhichContent) -> Self {
        Self {
            database: content.database.as_deref(),
            object_store: content.store.as_deref(),
            ..self
        }
    }

    fn output(self, to: &'a OutputTo) -> Self {
        let output = to.output.as_deref();
        Self { output, ..self }
    }
}

impl Cli {
    /// The stores that the command takes one after the other; `None` if it does something else.
    pub(crate) fn wanted(&self) -> Option<Wanted<'_>> {
        Some(match &self.command {
            Command::Ls(args) => Wanted::new(&args.path, &args.stores),
            Command::Dump(args) => Wanted::new(&args.path, &args.stores)
                .content(&args.content)
                .output(&args.to),
            Command::Rows(args) => Wanted::new(&args.path, &args.stores).output(&args.to),
            Command::Find(args) => Wanted::new(&args.path, &args.stores)
                .content(&args.content)
                .output(&args.report.to),
            Command::Stat(args) => Wanted::new(&args.path, &args.stores).output(&args.report.to),
            // What of A and of B is compared is the command's own affair.
            Command::Diff(args) => Wanted::new(&args.a, &args.stores).output(&args.report.to),
            Command::Copy(args) => Wanted {
                origin: args.from_origin.as_deref(),
                bucket: args.bucket.as_deref(),
                ..Wanted::all(&args.from)
            },
            Command::Export(args) => Wanted::new(&args.path, &args.stores).content(&args.content),
            Command::Verify(args) => Wanted::new(&args.path, &args.stores).output(&args.report.to),
            Command::Compact(args) | Command::Clean(args) => {
                Wanted::new(&args.path, &args.stores).output(&args.to)
            }
            _ => return None,
        })
    }
}

/// The form of a store's files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum StoreFormat {
    /// LevelDB's files, one store for all databases of an origin.
    #[default]
    Leveldb,
    /// SQLite's, one for each database.
    Sqlite,
}
