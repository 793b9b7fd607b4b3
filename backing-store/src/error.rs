//! The one error of this crate: a kind to act by, the row it is about, and what lies beneath.

use std::error::Error as _;
use std::path::Path;
use std::{fmt, io};

use larder_leveldb::storage::is_out_of_space;

use crate::quota::OverQuota;

/// A result of the backing store.
pub type Result<T> = std::result::Result<T, Error>;

/// What the caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Bytes on disk are not what they must be. Everything that does not depend on them is still readable.
    Corruption,
    /// The operating system refused.
    Io,
    /// The call itself was wrong.
    Usage,
    /// The store has a version that this crate does not read: a newer one, or one too old.
    Unsupported,
    /// There is no store here.
    NotAStore,
    /// What was asked for would break a rule of the database: a key that is there already, a unique index, a key generator
    /// that is used up. Nothing was written; the transaction goes on.
    Constraint,
    /// Another program has the store open, or another transaction writes to the object store.
    Conflict,
    /// It takes no writes any more: an earlier one failed. Opening the store again shows what is there.
    Closed,
    /// A commit failed, and so did every attempt to take it back. When the store is opened again, either all of the
    /// transaction is there or nothing; reading shows which.
    Uncertain,
}

/// An error with its context.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    what: String,
    key: Option<Vec<u8>>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of this kind, in words: for what stands on stores and reports in their terms.
    #[must_use]
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            key: None,
            source: None,
        }
    }

    /// The system refused something with a file or folder.
    pub(crate) fn io(path: &Path, what: &str, source: io::Error) -> Self {
        Self {
            kind: ErrorKind::Io,
            what: format!("{}: {what}", path.display()),
            key: None,
            source: Some(Box::new(source)),
        }
    }

    /// A row whose bytes could not be decoded.
    pub(crate) fn row(key: &[u8], what: &str, source: larder_codec::Error) -> Self {
        Self {
            kind: ErrorKind::Corruption,
            what: what.to_owned(),
            key: Some(key.to_vec()),
            source: Some(Box::new(source)),
        }
    }

    /// A row that contradicts the others or lacks something.
    pub(crate) fn inconsistent(key: &[u8], what: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Corruption,
            what: what.into(),
            key: Some(key.to_vec()),
            source: None,
        }
    }

    /// An error of kind `Io`: a write of these bytes found no room.
    #[must_use]
    pub fn for_want_of_room(self) -> Self {
        Self {
            kind: ErrorKind::Io,
            source: Some(Box::new(io::Error::from(io::ErrorKind::StorageFull))),
            ..self
        }
    }

    /// An error of kind `Io`, for want of room: a transaction would pass the quota.
    pub(crate) fn over_quota(over: OverQuota) -> Self {
        Self {
            source: Some(Box::new(io::Error::new(io::ErrorKind::QuotaExceeded, over))),
            ..Self::new(ErrorKind::Io, "the transaction is refused")
        }
    }

    pub(crate) fn caused_by(self, source: io::Error) -> Self {
        Self {
            source: Some(Box::new(source)),
            ..self
        }
    }

    /// The error with the key of the row that it is about.
    #[must_use]
    pub fn with_key(mut self, key: &[u8]) -> Self {
        self.key.get_or_insert_with(|| key.to_vec());
        self
    }

    /// Says first what was being done.
    pub(crate) fn in_context(mut self, context: &str) -> Self {
        self.what = format!("{context}: {}", self.what);
        self
    }

    /// The kind, for callers that decide by it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the cause is that there is no room: the disk is full, or a quota or the limit of a file's size is reached. Deleting
    /// may help then.
    #[must_use]
    pub fn is_out_of_space(&self) -> bool {
        let mut next = self.source();
        while let Some(error) = next {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                return is_out_of_space(error);
            }
            next = error.source();
        }
        false
    }

    /// The numbers, if the cause is the quota of the store ([`WriteOptions::quota`](crate::WriteOptions::quota)).
    #[must_use]
    pub fn quota(&self) -> Option<&OverQuota> {
        let source = self.source.as_ref()?.downcast_ref::<io::Error>()?;
        source.get_ref()?.downcast_ref::<OverQuota>()
    }

    /// The text without the row's key, for a caller that shows [`key`](Self::key) in words of its own.
    pub fn without_row(&self) -> impl fmt::Display {
        WithoutRow(self)
    }

    /// The LevelDB key of the row concerned, if one row is.
    #[must_use]
    pub fn key(&self) -> Option<&[u8]> {
        self.key.as_deref()
    }
}

impl From<larder_leveldb::Error> for Error {
    /// An error of the engine beneath.
    fn from(source: larder_leveldb::Error) -> Self {
        use larder_leveldb::ErrorKind as Engine;
        let kind = match source.kind() {
            Engine::Corruption => ErrorKind::Corruption,
            Engine::Usage => ErrorKind::Usage,
            Engine::Unsupported => ErrorKind::Unsupported,
            Engine::NotAStore => ErrorKind::NotAStore,
            Engine::Conflict => ErrorKind::Conflict,
            Engine::Closed => ErrorKind::Closed,
            Engine::Uncertain => ErrorKind::Uncertain,
            _ => ErrorKind::Io,
        };
        Self {
            kind,
            what: source.to_string(),
            key: None,
            source: Some(Box::new(source)),
        }
    }
}

/// An error's text without its row, for a caller that names the row in words of its own.
#[derive(Debug)]
struct WithoutRow<'a>(&'a Error);

impl fmt::Display for WithoutRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error { what, source, .. } = self.0;
        f.write_str(what)?;
        if let Some(source) = source
            && source.downcast_ref::<larder_leveldb::Error>().is_none()
        {
            write!(f, ": {source}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        WithoutRow(self).fmt(f)?;
        if let Some(key) = &self.key {
            f.write_str(" (row ")?;
            write_key(f, key)?;
            f.write_str(")")?;
        }
        Ok(())
    }
}

/// Longest key that messages show whole, in bytes.
const KEY_SHOWN_MAX: usize = 64;

pub(crate) fn write_key(f: &mut fmt::Formatter<'_>, key: &[u8]) -> fmt::Result {
    for byte in key.iter().take(KEY_SHOWN_MAX) {
        write!(f, "{byte:02x}")?;
    }
    if key.len() > KEY_SHOWN_MAX {
        write!(f, "… {} bytes", key.len())?;
    }
    Ok(())
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn std::error::Error + 'static))
    }
}
