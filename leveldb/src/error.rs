//! What can go wrong, by what a caller does next.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// Another process or handle has the store open.
    Conflict,
    /// The handle was closed, or refuses work after a failed write.
    Closed,
    /// The store uses something that this crate does not support.
    Unsupported,
    /// There is no LevelDB store in that directory.
    NotAStore,
    /// A write failed, and so did all that could have taken it back: it may be there when the store is opened again, all of
    /// it, or not. Opening the store again and reading shows which.
    Uncertain,
}

/// An error: kind, file and offset if there are any, what was being done, and the cause. Cheap to clone: several writers may
/// share one.
#[derive(Clone, Debug)]
pub struct Error {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    file: Option<PathBuf>,
    offset: Option<u64>,
    context: String,
    source: Option<Arc<io::Error>>,
}

impl Error {
    /// An error of a kind, with what happened.
    pub fn new(kind: ErrorKind, context: impl Into<String>) -> Error {
        Error::of(kind, None, None, context.into(), None)
    }

    fn of(
        kind: ErrorKind,
        file: Option<PathBuf>,
        offset: Option<u64>,
        context: String,
        source: Option<Arc<io::Error>>,
    ) -> Error {
        Error {
            inner: Arc::new(Inner {
                kind,
                file,
                offset,
                context,
                source,
            }),
        }
    }

    /// Damage in `file` at `offset`.
    pub fn corruption(
        file: impl Into<PathBuf>,
        offset: Option<u64>,
        context: impl Into<String>,
    ) -> Error {
        let file = Some(file.into());
        Error::of(ErrorKind::Corruption, file, offset, context.into(), None)
    }

    /// A failure of the file system while doing `context` on `file`.
    pub fn io(file: impl Into<PathBuf>, context: impl Into<String>, source: io::Error) -> Error {
        let (file, source) = (Some(file.into()), Some(Arc::new(source)));
        Error::of(ErrorKind::Io, file, None, context.into(), source)
    }

    /// The error with other words in front, and of another kind: file, offset and cause stay.
    pub(crate) fn within(&self, kind: ErrorKind, what: &str) -> Error {
        let Inner {
            file,
            offset,
            context,
            source,
            ..
        } = &*self.inner;
        let context = format!("{what}: {context}");
        Error::of(kind, file.clone(), *offset, context, source.clone())
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

    /// The failure of the file system behind it.
    pub(crate) fn io_cause(&self) -> Option<&io::Error> {
        self.inner.source.as_deref()
    }

    /// Whether the cause is that there is no room: see [`is_out_of_space`](crate::storage::is_out_of_space).
    pub fn is_out_of_space(&self) -> bool {
        self.io_cause().is_some_and(crate::storage::is_out_of_space)
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
        let source = self.inner.source.as_deref()?;
        Some(source)
    }
}
