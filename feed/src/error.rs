//! What can go wrong, by what to do about it.

use std::fmt;

/// An error of the feed's.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The database has no change feed: turn it on in an upgrade (`Transaction::set_change_feed`).
    NoFeed,
    /// Revisions behind the position have been cleaned up meanwhile, removals among them. Start again: from 0, which gives every record
    /// as it is now, or from a look at the database at a later revision.
    LeftBehind {
        /// Where the reader stands.
        position: u64,
        /// Up to here outdated revisions are gone.
        cleaned: u64,
    },
    /// The database at this revision cannot be shown any more, or not yet.
    NotRetained {
        /// The revision that was asked for.
        revision: u64,
        /// From here on the database can be shown.
        first: u64,
        /// Up to here.
        last: u64,
    },
    /// There is no consumer of this name: it was removed, or never made.
    NoConsumer {
        /// The name.
        name: String,
    },
    /// The database failed.
    Database(larder_idb::Error),
}

/// What the feed's functions return.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFeed => f.write_str(
                "the database has no change feed: turn it on in an upgrade, or by setChangeFeed",
            ),
            Self::LeftBehind { position, cleaned } => write!(
                f,
                "the reader stands at revision {position}, and what was outdated up to {cleaned} has been cleaned up: start again from 0"
            ),
            Self::NotRetained {
                revision,
                first,
                last,
            } => write!(
                f,
                "the database cannot be shown at revision {revision}: choose one from {first} to {last}"
            ),
            Self::NoConsumer { name } => {
                write!(f, "the change feed has no consumer {name:?}: make it first")
            }
            Self::Database(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Database(error) => Some(error),
            _ => None,
        }
    }
}

impl From<larder_idb::Error> for Error {
    fn from(error: larder_idb::Error) -> Self {
        Self::Database(error)
    }
}

impl From<larder_idb::codec::Error> for Error {
    fn from(error: larder_idb::codec::Error) -> Self {
        Self::Database(error.into())
    }
}
