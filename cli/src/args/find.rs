//! `larder find` on the command line.

use std::path::PathBuf;

use clap::Args;

use super::{ReportTo, WhichContent, WhichStores};

pub(super) const FIND_ABOUT: &str = "\
Find texts, keys and types in keys and values of every type, with where they are.

TEXT is found within strings, names of properties, numbers, dates (2026-01-31T12:00:00.000Z), patterns, messages of errors, names and types of files, and in bytes as UTF-8 and \
UTF-16. The contents of blobs are not looked at, but for values that lie in one.";

pub(super) const FIND_EXAMPLES: &str = "\
Examples:
  larder find PATH example.com
  larder find PATH --regex '^[0-9]{4}-' --store events
  larder find PATH --key '[\"a\", 1]'             the record with this key, and those that an index has under it
  larder find PATH --type Blob --format json     every value with a Blob in it, one JSON object a place and line

Keys are written as JSON: 7, '\"text\"', '[\"a\", 1]', '{\"date\": 0}', '{\"binary\": \"00ff\"}'; what is no JSON is a text. Types have JavaScript's names: Array, \
ArrayBuffer, Blob, CryptoKey, Date, DOMException, Error, File, FileSystemHandle, ImageData, Map, RegExp, Set, …; views of buffers are ArrayBufferView.

Exit status:
  0  all well, whether something was found or not
  1  something in a store was damaged or unreadable: named on standard error with file, offset and key
  2  the command line was wrong, or the output could not be written
  3  no IndexedDB store at PATH, or nothing of the origin, database or object store asked for";

/// `larder find`.
#[derive(Debug, Args)]
pub struct FindArgs {
    /// A folder of a store, or one with stores in it: a profile, a browser's user data, an app.
    pub path: PathBuf,
    /// A text to look for.
    #[arg(conflicts_with_all = ["regex", "key", "type"])]
    pub text: Option<String>,
    /// A regular expression to look for in texts (Rust's syntax).
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["key", "type"])]
    pub regex: Option<String>,
    /// A key: the record that has it, and the records that an index has under it.
    #[arg(long, value_name = "KEY", conflicts_with = "type")]
    pub key: Option<String>,
    /// A type of JavaScript's: values that have an object of it.
    #[arg(long, value_name = "TYPE")]
    pub r#type: Option<String>,
    /// Upper and lower case are alike.
    #[arg(long, short)]
    pub ignore_case: bool,
    /// Stop after so many places.
    #[arg(long, value_name = "NUMBER")]
    pub limit: Option<u64>,
    /// Which stores.
    #[command(flatten)]
    pub stores: WhichStores,
    /// Which content of them.
    #[command(flatten)]
    pub content: WhichContent,
    /// How it is said, and where.
    #[command(flatten)]
    pub report: ReportTo,
}
