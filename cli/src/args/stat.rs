//! `larder stat` on the command line.

use std::path::PathBuf;

use clap::Args;

use super::{ReportTo, WhichStores};

pub(super) const STAT_ABOUT: &str = "\
Say what takes how much: records, indexes, blobs, stale and overwritten rows, the undo log, and what maintenance would give back.

Bytes of rows are those of keys and values before compression; bytes on disk are those of the files. Chromium does its maintenance (a sweep of stale index \
rows, a compaction) every few days, two seconds after the last page has closed its databases.";

pub(super) const STAT_EXAMPLES: &str = "\
Examples:
  larder stat ~/.config/App
  larder stat PATH --quick               does not compare index rows with records
  larder stat PATH --format json         one JSON document a store and line";

/// `larder stat`.
#[derive(Debug, Args)]
pub struct StatArgs {
    /// A folder of a store, or one with stores in it: a profile, a browser's user data, an app.
    pub path: PathBuf,
    /// Do not look for stale index rows, which takes a look at each record for each of its index rows.
    #[arg(long)]
    pub quick: bool,
    /// Which stores.
    #[command(flatten)]
    pub stores: WhichStores,
    /// How it is said, and where.
    #[command(flatten)]
    pub report: ReportTo,
}
