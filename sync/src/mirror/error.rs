//! What can go wrong between a database and a page, by what to do about it.

use std::fmt;

/// What the functions of a mirror return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a mirror's.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The page has the schema of a later version than the database. Nothing was changed: upgrade the database, then go on.
    Behind {
        /// The version of the database.
        database: u64,
        /// The version that the page has.
        page: u64,
    },
    /// Two schemas of one version are not alike. Nothing was merged: only one program may define what a version is.
    SchemaDiffers {
        /// The version.
        version: u64,
        /// The first thing that differs.
        what: String,
    },
    /// The page has no schema yet, so no database can be made of it: a mirror of another device has to bring one.
    NoSchema,
    /// The database was changed again and again while the mirror worked on it. Nothing is lost: try again later.
    Busy,
    /// The page allows only shorter keys: open it with [`page_options`](super::page_options), or more.
    KeysTooShort,
    /// The name of an object store is too long to be in a key of the page.
    NameTooLong {
        /// The name.
        name: String,
    },
    /// An entry of the page is not as a mirror writes it.
    Malformed {
        /// What is wrong.
        what: String,
    },
    /// The change feed failed, or was left behind.
    Feed(larder_feed::Error),
    /// The database failed.
    Database(larder_idb::Error),
    /// The page failed.
    Page(larder_pages::Error),
}

impl Error {
    pub(super) fn malformed(what: impl Into<String>) -> Self {
        Self::Malformed { what: what.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Behind { database, page } => write!(
                f,
                "the database has version {database} and the page version {page}: upgrade the database first"
            ),
            Self::SchemaDiffers { version, what } => write!(
                f,
                "two devices have different schemas of version {version}: {what}"
            ),
            Self::NoSchema => f.write_str("the page has no schema yet: mirror a database into it"),
            Self::Busy => {
                f.write_str("the database was changed each time the mirror tried: try again later")
            }
            Self::KeysTooShort => write!(
                f,
                "the page must allow keys of {} bytes",
                super::ENTRY_KEY_LEN_MAX
            ),
            Self::NameTooLong { name } => {
                write!(
                    f,
                    "the name of object store {name:?} is too long to be mirrored"
                )
            }
            Self::Malformed { what } => write!(f, "the page has what no mirror writes: {what}"),
            Self::Feed(error) => error.fmt(f),
            Self::Database(error) => error.fmt(f),
            Self::Page(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Feed(error) => Some(error),
            Self::Database(error) => Some(error),
            Self::Page(error) => Some(error),
            _ => None,
        }
    }
}

impl Error {
    /// What is wrong with an entry, if that is the error: it was not written by a mirror, or its value cannot be read or is not here.
    pub(super) fn of_entry(&self) -> Option<String> {
        use larder_pages::ErrorKind;
        match self {
            Self::Malformed { what } => Some(what.clone()),
            Self::Page(error) => {
                let is_of_entry =
                    matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NeedsFetch);
                is_of_entry.then(|| error.to_string())
            }
            _ => None,
        }
    }
}

impl From<larder_feed::Error> for Error {
    fn from(error: larder_feed::Error) -> Self {
        match error {
            larder_feed::Error::Database(error) => Self::Database(error),
            error => Self::Feed(error),
        }
    }
}

impl From<larder_idb::Error> for Error {
    fn from(error: larder_idb::Error) -> Self {
        Self::Database(error)
    }
}

impl From<larder_pages::Error> for Error {
    fn from(error: larder_pages::Error) -> Self {
        Self::Page(error)
    }
}
