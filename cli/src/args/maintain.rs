//! `larder compact` and `larder clean` on the command line.

use std::path::PathBuf;

use clap::Args;

use super::{OutputTo, WhichStores};

pub(super) const COMPACT_ABOUT: &str = "\
Compact a store's tables, as Chromium does every few days.

Tables of all levels are merged: what was overwritten or deleted goes from the files. No row changes, and no blob. It needs room for the tables once more while \
it works. No other program may have the store open.";

pub(super) const CLEAN_ABOUT: &str = "\
Delete what is of no more use in a store: stale index rows, the undo log, rows of deleted databases, blob files that no record refers to.

First, what a crash has left is recovered on disk, as the next opening in a browser would. Records, and what a page is shown, stay as they are. What cannot be read is not \
deleted: a damaged store is refused, and larder repair is for that. The files get smaller by larder compact, which comes after it. No other program may have the store open.";

pub(super) const MAINTAIN_EXIT: &str = "Exit status:
  0  done
  1  done, and something could not be read, which is named on standard error
  2  not done: the store is in use, damaged or cannot be written to
  3  no IndexedDB store at PATH, or none of the origin or bucket asked for";

pub(super) const COMPACT_EXAMPLES: &str = "\
Examples:
  larder compact PATH --dry-run                   only say what would be given back
  larder clean PATH && larder compact PATH        all that can be given back
  larder compact ~/.config/App --origin https://app.example";

pub(super) const CLEAN_EXAMPLES: &str = "\
Examples:
  larder clean PATH --dry-run                     only say what would be deleted
  larder clean PATH && larder compact PATH        all that can be given back";

/// `larder compact` and `larder clean`.
#[derive(Debug, Args)]
pub struct MaintainArgs {
    /// Where the stores are.
    pub path: PathBuf,
    /// Which stores.
    #[command(flatten)]
    pub stores: WhichStores,
    /// Write nothing to the store; say what would be given back.
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON document a store and line.
    #[arg(long)]
    pub json: bool,
    /// Where the output goes.
    #[command(flatten)]
    pub to: OutputTo,
}
