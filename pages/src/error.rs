//! What can go wrong, by what a caller does next.

use std::fmt;
use std::io;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a caller can do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Stored bytes do not decode, or contradict one another. Nothing is deleted because of that.
    Corruption,
    /// The storage engine refused or failed. [`std::error::Error::source`] is its error.
    Storage,
    /// The call was wrong: a key that is too long, a page that is open already.
    Usage,
    /// A piece of an object is not on this device: a lazy value that was not fetched, or one that was given up after it was synced.
    NeedsFetch,
    /// The page or ledger uses something that this crate does not write, or does not read.
    Unsupported,
}

/// An error: kind, what happened, and the engine's error behind it if there is one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    context: String,
    source: Option<Box<larder_leveldb::Error>>,
}

impl Error {
    /// An error of a kind, with what happened.
    pub fn new(kind: ErrorKind, context: impl Into<String>) -> Error {
        Error {
            kind,
            context: context.into(),
            source: None,
        }
    }

    pub(crate) fn corruption(context: impl Into<String>) -> Error {
        Error::new(ErrorKind::Corruption, context)
    }

    pub(crate) fn usage(context: impl Into<String>) -> Error {
        Error::new(ErrorKind::Usage, context)
    }

    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What happened, without the cause.
    pub fn context(&self) -> &str {
        &self.context
    }
}

impl From<larder_leveldb::Error> for Error {
    fn from(source: larder_leveldb::Error) -> Error {
        let kind = match source.kind() {
            larder_leveldb::ErrorKind::Corruption => ErrorKind::Corruption,
            larder_leveldb::ErrorKind::Usage => ErrorKind::Usage,
            larder_leveldb::ErrorKind::Unsupported => ErrorKind::Unsupported,
            _ => ErrorKind::Storage,
        };
        Error {
            kind,
            context: "the store of the page".to_owned(),
            source: Some(Box::new(source)),
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = match error.kind {
            ErrorKind::Corruption => io::ErrorKind::InvalidData,
            ErrorKind::NeedsFetch => io::ErrorKind::NotFound,
            ErrorKind::Usage => io::ErrorKind::InvalidInput,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.context)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.source.as_deref()?;
        Some(source)
    }
}
