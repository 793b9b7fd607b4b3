//! `larder verify` on the command line.

use std::path::PathBuf;

use clap::Args;

use super::{ReportTo, WhichStores};

pub(super) const VERIFY_ABOUT: &str = "\
Check a store: files, rows, indexes, blobs.

Always checked: every checksum; the key and value of every row; which table lies in which level, with which keys; that each record has its \
exists row and each index row its object store; ids, versions and key generators beside what is there; that blobs have their files and are in no \
journal; that databases have the origin of their folder. With --full also: every value is decoded, every key path evaluated, every index \
compared with the records both ways, and every blob read. Nothing is written and no lock is taken.

Findings go to standard output. A note is worth knowing and nothing is wrong: what a crash has left and the next opening clears up, a program that \
has the store open, an order of keys that QtWebEngine 5.15 wrote.";

pub(super) const VERIFY_EXIT: &str = "Exit status:
  0  nothing is wrong; there may be notes
  1  something is wrong, and is named with its place
  2  the command line was wrong, or the output could not be written
  3  no IndexedDB store at PATH, or none of the origin or bucket asked for";

pub(super) const VERIFY_EXAMPLES: &str = "\
Examples:
  larder verify PATH                           quick: one reading of the LevelDB
  larder verify --full PATH                    also values, indexes and blobs
  larder verify --full --format json PATH      one JSON document a store and line
  larder verify ~/.config/Signal --verbose     every finding, not only the first ten of a kind

What to do about findings:
  file, level, row, undo-log    larder repair makes a store of what is certain
  origin                        larder copy --origin URL gives all databases the folder's origin
  order                         larder copy writes all rows in Chromium's order
  record, index, metadata       larder dump shows what can be read; an export and import makes rows that agree

Exit status:
  0  nothing is wrong; there may be notes
  1  something is wrong, and is named with its place
  2  the command line was wrong, or the output could not be written
  3  no IndexedDB store at PATH, or none of the origin or bucket asked for";

/// `larder verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// A folder of a store, or one with stores in it: a profile, a browser's user data, an app.
    pub path: PathBuf,
    /// Also decode every value, compare every index with the records, and read every blob.
    #[arg(long)]
    pub full: bool,
    /// Which stores.
    #[command(flatten)]
    pub stores: WhichStores,
    /// How it is said, and where.
    #[command(flatten)]
    pub report: ReportTo,
}
