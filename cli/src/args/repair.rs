//! `larder repair` on the command line.

use std::path::PathBuf;

use clap::Args;

pub(super) const REPAIR_ABOUT: &str = "\
Repair a damaged store: what is certain becomes a store anew, what is in doubt goes beside it.

The damaged store is only read. DIR, which must not be there yet, gets the repaired store under its name, the file report.json, and the folder salvaged: \
records.jsonl with the records in doubt, each with its reason; lost.jsonl with the keys of records of which nothing else is left; blobs with blob \
files that no record of the repaired store refers to.

A record is certain if nothing that is damaged or missing can have replaced or deleted it, its rows are all there and agree, its value can be decoded, \
and its blobs have their files. Blobs have no checksum: of their content it can only be told that it has the right length. If CURRENT and the MANIFEST \
are gone, or the end of a log is, it cannot be known what was written last, and no record is certain: --with-doubtful makes a store of them all the same. \
If no database is certain, no store is made, and if no record is, --in-place leaves the damaged one where it is: an empty store would look as if nothing had been lost.";

pub(super) const REPAIR_EXIT: &str = "Exit status:
  0  repaired, and nothing was damaged, in doubt or lost
  1  repaired; what was damaged, in doubt or lost is named, and it is said if no store was made because no database is certain
  2  not repaired: the store is in use, something is at DIR, there are several stores at PATH, no record is certain that could be put in place, or
     files cannot be read or written
  3  no IndexedDB store at PATH";

pub(super) const REPAIR_EXAMPLES: &str = "\
Examples:
  larder repair PATH --dry-run                  only say what would be kept
  larder repair ./IndexedDB/https_app.example_0.indexeddb.leveldb --to ./repaired
  larder repair PATH --to ./repaired --with-doubtful
  larder repair PATH --in-place                 what was there goes to NAME.before-repair beside it

Exit status:
  0  repaired, and nothing was damaged, in doubt or lost
  1  repaired; what was damaged, in doubt or lost is named, and it is said if no store was made because no database is certain
  2  not repaired: the store is in use, something is at DIR, there are several stores at PATH, no record is certain that could be put in place, or
     files cannot be read or written
  3  no IndexedDB store at PATH";

/// `larder repair`.
#[derive(Debug, Args)]
pub struct RepairArgs {
    /// The store's folder, or one that has no other store in it.
    pub path: PathBuf,
    /// The folder that is made [default: NAME.repaired beside the store]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["in_place", "dry_run"])]
    pub to: Option<PathBuf>,
    /// Put the repaired store in place of the damaged one, which is set aside first.
    #[arg(long, conflicts_with = "dry_run")]
    pub in_place: bool,
    /// Put records that may be outdated or deleted into the store, too.
    #[arg(long)]
    pub with_doubtful: bool,
    /// Write nothing; say what would be kept.
    #[arg(long)]
    pub dry_run: bool,
    /// Print the report as one JSON document.
    #[arg(long)]
    pub json: bool,
}
