//! `larder diff` on the command line.

use std::path::PathBuf;

use clap::Args;

use super::{ReportTo, WhichContent, WhichStores};

pub(super) const DIFF_ABOUT: &str = "\
Compare two stores, by database, object store, index, record and property.

Compared is what a page is shown, and all bytes of it, contents of blobs among them. Versions and ids of rows, origins and tokens of file system handles may \
differ; entries of indexes follow from the records, and larder verify --full checks them.";

pub(super) const DIFF_EXIT: &str = "Exit status:
  0  there is no difference
  1  there are differences, or something could not be read, which is named on standard error
  2  not compared: the command line was wrong, a store is not in Chromium's order, or the output could not be written
  3  no IndexedDB store at A or B, or none of the origin or bucket asked for";

pub(super) const DIFF_EXAMPLES: &str = "\
Examples:
  larder diff ./backup/https_app.example_0.indexeddb.leveldb ~/.config/App/IndexedDB
  larder diff ./monday ./tuesday                                every store that lies at one place in both
  larder diff A B --database mail --store messages --format json
  larder diff A A --database mail --with-database mail-old      two databases of one store

What is only in A is marked -, what is only in B +, and what is in both and differs ~.

Exit status:
  0  there is no difference
  1  there are differences, or something could not be read, which is named on standard error
  2  not compared: the command line was wrong, a store is not in Chromium's order, or the output could not be written
  3  no IndexedDB store at A or B, or none of the origin or bucket asked for";

/// `larder diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// One store, or a folder of stores.
    pub a: PathBuf,
    /// The other.
    pub b: PathBuf,
    /// Which content of them.
    #[command(flatten)]
    pub content: WhichContent,
    /// Compare the database of --database in A with the one of this name in B.
    #[arg(long, value_name = "NAME", requires = "database")]
    pub with_database: Option<String>,
    /// Which stores of A.
    #[command(flatten)]
    pub stores: WhichStores,
    /// How it is said, and where.
    #[command(flatten)]
    pub report: ReportTo,
}
