//! What can go wrong, by what a caller does next.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a caller can do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The store's bytes are damaged. Reading with `OnDamage::Skip` shows what is whole.
    Corruption,
    /// The operating system refused or failed. [`std::error::Error::source`] is the [`io::Error`].
    Io,
    /// The call was wrong: for instance a comparator other than the store's.
    Usage,
    /// Someone else holds the store.
    Conflict,
    /// The handle was closed, or refuses work after a failed write.
    Closed,
    /// The store uses something that this crate does not know.
    Unsupported,
    /// There is no LevelDB store in that directory.
    NotAStore,
}

/// An error: kind, file and offset if there are any, what was being done, and the cause.
#[derive(Debug)]
pub struct Error {
    inner: Box<Inner>,
}

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    file: Option<PathBuf>,
    offset: Option<u64>,
    context: String,
    source: Option<io::Error>,
}

impl Error {
    /// Of a kind, with what happened.
    pub fn new(kind: ErrorKind, context: impl Into<String>) -> Error {
        Error {
            inner: Box::new(Inner {
                kind,
                file: None,
                offset: None,
                context: context.into(),
                source: None,
            }),
        }
    }

    /// Damage in `file` at `offset`.
    pub fn corruption(
        file: impl Into<PathBuf>,
        offset: Option<u64>,
        context: impl Into<String>,
    ) -> Error {
        let mut error = Error::new(ErrorKind::Corruption, context);
        error.inner.file = Some(file.into());
        error.inner.offset = offset;
        error
    }

    /// A failure of the file system while doing `context` on `file`.
    pub fn io(file: impl Into<PathBuf>, context: impl Into<String>, source: io::Error) -> Error {
        let mut error = Error::new(ErrorKind::Io, context);
        error.inner.file = Some(file.into());
        error.inner.source = Some(source);
        error
    }

    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// The file it is about.
    pub fn file(&self) -> Option<&Path> {
        self.inner.file.as_deref()
    }

    /// Where in the file, in bytes.
    pub fn offset(&self) -> Option<u64> {
        self.inner.offset
    }

    /// What happened, without file and cause.
    pub fn context(&self) -> &str {
        &self.inner.context
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.inner.file {
            write!(f, "{}", file.display())?;
            if let Some(offset) = self.inner.offset {
                write!(f, " at byte {offset}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.inner.context)?;
        match &self.inner.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner.source.as_ref().map(|source| source as _)
    }
}
