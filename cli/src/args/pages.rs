//! `larder pages` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(super) const PAGES_ABOUT: &str = "\
Look at versioned pages of entries (larder-pages): ledgers, commits, what differs between two, what one holds.

PATH is a repository's folder, the folder of a page, or the folder leveldb in that. ls, log, diff and show write nothing and take no lock, so a program may have the repository open. \
gc takes the locks of pages, and refuses those in use, and those that are synced: there a device that was away may need what seems to be of no use.

A commit is named by the first digits of its id, as long as no other begins so; head is the page's head, first the commit that every page begins with; ~N behind a name goes back over N first parents. \
Keys and values are shown as text if they are printable UTF-8, else as bytes:HEX. Where a key is asked for, both are taken; text: before a text takes it as it stands.";

pub(super) const PAGES_EXAMPLES: &str = "\
Examples:
  larder pages ls ./data                               ledgers and pages, heads, entries, sizes
  larder pages log ./data --page root --limit 10       the last ten commits of a page
  larder pages diff ./data head~1 head                 what the last commit changed
  larder pages show ./data head --prefix ada/          entries of a commit
  larder pages show ./data --key photo --output a.jpg  a value, whole
  larder pages gc ./data --prune --dry-run             what would be deleted

Exit status:
  0  all well; whether or not commits differ
  1  something in a page was damaged, or a value that was asked for is not on this device: named on standard error; the rest came out
  2  the command line was wrong, no commit or several have the name, a page is in use, or the output could not be written
  3  no repository or page at PATH, or none with the ledger, page or key asked for";

/// `larder pages`.
#[derive(Debug, Args)]
pub struct PagesArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PagesCommand,
}

/// What `larder pages` does.
#[derive(Debug, Subcommand)]
pub enum PagesCommand {
    /// List ledgers and pages: heads, entries, commits, pieces, sizes, when they were used last.
    Ls(PagesLsArgs),
    /// List the commits of a page, the newest generation first: parents, and how many entries each changed.
    Log(PagesLogArgs),
    /// Print the entries that differ between two commits, in the order of their keys.
    Diff(PagesDiffArgs),
    /// Print the entries of a commit, or one value whole.
    Show(PagesShowArgs),
    /// Delete the pieces that nothing needs, and with --prune the history before the last common commit.
    Gc(PagesGcArgs),
}

impl PagesCommand {
    /// Which pages.
    #[must_use]
    pub const fn pages(&self) -> &WhichPage {
        match self {
            Self::Ls(args) => &args.pages,
            Self::Log(args) => &args.page,
            Self::Diff(args) => &args.page,
            Self::Show(args) => &args.page,
            Self::Gc(args) => &args.pages,
        }
    }
}

/// Which page, or pages.
#[derive(Debug, Clone, Args)]
pub struct WhichPage {
    /// A repository's folder, the folder of a page, or the folder leveldb in that.
    pub path: PathBuf,
    /// Only pages of this ledger.
    #[arg(long, value_name = "NAME")]
    pub ledger: Option<String>,
    /// Only this page: the first digits of its id, its name if that is text, or root.
    #[arg(long, value_name = "ID")]
    pub page: Option<String>,
}

/// `larder pages ls`.
#[derive(Debug, Args)]
pub struct PagesLsArgs {
    /// Which pages.
    #[command(flatten)]
    pub pages: WhichPage,
    /// Print one JSON object a page and line.
    #[arg(long)]
    pub json: bool,
}

/// `larder pages log`.
#[derive(Debug, Args)]
pub struct PagesLogArgs {
    /// Which page.
    #[command(flatten)]
    pub page: WhichPage,
    /// Print one JSON object a commit and line, with whole ids.
    #[arg(long)]
    pub json: bool,
    /// Stop after so many commits; what the others changed is not read.
    #[arg(long, short = 'n', value_name = "COUNT")]
    pub limit: Option<u64>,
}

/// `larder pages diff`.
#[derive(Debug, Args)]
pub struct PagesDiffArgs {
    /// Which page.
    #[command(flatten)]
    pub page: WhichPage,
    /// The commit to begin with.
    pub a: String,
    /// The commit to compare it with.
    pub b: String,
    /// Only entries whose keys begin so.
    #[arg(long, value_name = "PREFIX")]
    pub prefix: Option<String>,
    /// Print one JSON object an entry and line.
    #[arg(long)]
    pub json: bool,
    /// Print values whole; else they are cut.
    #[arg(long)]
    pub values: bool,
}

/// `larder pages show`.
#[derive(Debug, Args)]
pub struct PagesShowArgs {
    /// Which page.
    #[command(flatten)]
    pub page: WhichPage,
    /// The commit.
    #[arg(default_value = "head")]
    pub commit: String,
    /// Write the value of this key whole. On a terminal it is shown as text or hexadecimal digits; else its bytes are written as they are.
    #[arg(long, value_name = "KEY", conflicts_with = "prefix")]
    pub key: Option<String>,
    /// Only entries whose keys begin so.
    #[arg(long, value_name = "PREFIX")]
    pub prefix: Option<String>,
    /// Show bytes as hexadecimal digits, also those of text.
    #[arg(long)]
    pub hex: bool,
    /// Where the output goes.
    #[command(flatten)]
    pub to: super::OutputTo,
}

/// `larder pages gc`.
#[derive(Debug, Args)]
pub struct PagesGcArgs {
    /// Which pages.
    #[command(flatten)]
    pub pages: WhichPage,
    /// Delete commits, too: those that the last common one of all heads and of what was not synced came of. A device that has last met this one before that cannot merge with it any more.
    #[arg(long)]
    pub prune: bool,
    /// Write nothing; say what would be deleted.
    #[arg(long)]
    pub dry_run: bool,
}
