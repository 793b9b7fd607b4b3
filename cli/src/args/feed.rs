//! `larder feed` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(super) const FEED_ABOUT: &str = "\
Show what changed in databases that have a change feed.

A database has one if it was turned on: by larder feed on, or by the program whose data it is (larder-idb: Transaction::set_change_feed). PATH is an origin's folder \
(*.indexeddb.leveldb), a folder in which there is just one, or an address. ls, tail and replay without --consumer write nothing and take no lock, so a program may have the store open; \
all else takes the store's lock.

A revision is one JSON object a line (docs/format/feed.md).";

pub(super) const FEED_EXAMPLES: &str = "\
Examples:
  larder feed on PATH --database library          from now on; each record that is there is the first revision
  larder feed ls PATH                             databases with a feed, how far it has come, its consumers
  larder feed tail PATH --follow                  the last ten revisions, and then each as it is committed
  larder feed replay PATH --values > all.jsonl    all that is retained, with values
  larder feed replay PATH --consumer backup       what is new since the last time
  larder feed clean PATH --keep 1000              outdated revisions that no consumer waits for

Exit status:
  0  all well
  1  a revision or a value could not be read, or clean-up has passed the position asked for
  2  the command line was wrong, the store is in use or cannot be written to, or the output could not be written
  3  no IndexedDB store at PATH, or no database with a change feed";

/// `larder feed`.
#[derive(Debug, Args)]
pub struct FeedArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: FeedCommand,
}

/// What `larder feed` does.
#[derive(Debug, Subcommand)]
pub enum FeedCommand {
    /// List the databases with a change feed and their consumers: one JSON object a line.
    Ls(WhichFeed),
    /// Print the last revisions, and with --follow those that come.
    Tail(TailArgs),
    /// Print all retained revisions, or those behind a position.
    Replay(ReplayArgs),
    /// Delete outdated revisions that no consumer waits for, with the values that they had.
    Clean(CleanFeedArgs),
    /// Turn the change feed of a database on, and print what ls prints of it. One that is on stays as it is.
    On(WhichFeed),
    /// Turn the change feed of a database off: it is deleted, with its consumers.
    Off(WhichFeed),
}

impl FeedCommand {
    /// Which feed.
    #[must_use]
    pub const fn feed(&self) -> &WhichFeed {
        match self {
            Self::Ls(feed) | Self::On(feed) | Self::Off(feed) => feed,
            Self::Tail(args) => &args.feed,
            Self::Replay(args) => &args.feed,
            Self::Clean(args) => &args.feed,
        }
    }
}

/// Which feed.
#[derive(Debug, Args)]
pub struct WhichFeed {
    /// An origin's folder.
    pub path: PathBuf,
    /// The database, if there are several.
    #[arg(long, value_name = "NAME")]
    pub database: Option<String>,
}

/// Which revisions, and how.
#[derive(Debug, Clone, Args)]
pub struct WhichRevisions {
    /// Only revisions of this object store; may be given several times.
    #[arg(long = "store", value_name = "NAME")]
    pub stores: Vec<String>,
    /// Print the values, too.
    #[arg(long)]
    pub values: bool,
}

/// `larder feed tail`.
#[derive(Debug, Args)]
pub struct TailArgs {
    /// Which feed.
    #[command(flatten)]
    pub feed: WhichFeed,
    /// How many of the last revisions are looked at.
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 10)]
    pub lines: u64,
    /// Go on: look for more every second, until interrupted.
    #[arg(long, short)]
    pub follow: bool,
    /// Which revisions.
    #[command(flatten)]
    pub revisions: WhichRevisions,
}

/// `larder feed replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Which feed.
    #[command(flatten)]
    pub feed: WhichFeed,
    /// Begin behind this revision; 0 is before all.
    #[arg(
        long,
        value_name = "REVISION",
        default_value_t = 0,
        conflicts_with = "consumer"
    )]
    pub from: u64,
    /// Begin where this consumer stands, and move it when all is printed. It is made if it is not there.
    #[arg(long, value_name = "NAME")]
    pub consumer: Option<String>,
    /// Which revisions.
    #[command(flatten)]
    pub revisions: WhichRevisions,
}

/// `larder feed clean`.
#[derive(Debug, Args)]
pub struct CleanFeedArgs {
    /// Which feed.
    #[command(flatten)]
    pub feed: WhichFeed,
    /// Keep so many of the last revisions in any case.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub keep: u64,
    /// Keep nothing for consumers that are more than so many revisions behind.
    #[arg(long, value_name = "COUNT")]
    pub lag_max: Option<u64>,
}
