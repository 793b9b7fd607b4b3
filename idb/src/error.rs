//! The one error of this crate: the exception that a page would see, and what the host can do about it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

pub use larder_backing_store::ErrorKind;
use larder_backing_store::OverQuota;

/// A result of IndexedDB.
pub type Result<T> = std::result::Result<T, Error>;

/// The name of an exception: those of `DOMException` that the specification uses, and `TypeError`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorName {
    /// The transaction was aborted.
    AbortError,
    /// A key is there already, or a unique index has it for another record, or the key generator is used up.
    ConstraintError,
    /// Not a key, not a range, or a key that is not asked for here.
    DataError,
    /// The value cannot be cloned: it has no form, or its bytes are not those of a value.
    DataCloneError,
    /// Not possible with these parameters.
    InvalidAccessError,
    /// Not possible in this state.
    InvalidStateError,
    /// No object store or index of that name.
    NotFoundError,
    /// The content of a blob or file cannot be read.
    NotReadableError,
    /// The disk is full, or the origin's quota has no room.
    QuotaExceededError,
    /// The transaction, or the storage, only reads.
    ReadOnlyError,
    /// Not for this origin: an opaque one has no storage.
    SecurityError,
    /// Not a key path.
    SyntaxError,
    /// The transaction takes no requests any more.
    TransactionInactiveError,
    /// No `DOMException`, but a page's `TypeError`: an argument of no meaning.
    TypeError,
    /// The store or the file system failed. [`Error::kind`] and the source say how.
    UnknownError,
    /// The database has a greater version.
    VersionError,
}

impl ErrorName {
    /// As a page has it in `error.name`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AbortError => "AbortError",
            Self::ConstraintError => "ConstraintError",
            Self::DataError => "DataError",
            Self::DataCloneError => "DataCloneError",
            Self::InvalidAccessError => "InvalidAccessError",
            Self::InvalidStateError => "InvalidStateError",
            Self::NotFoundError => "NotFoundError",
            Self::NotReadableError => "NotReadableError",
            Self::QuotaExceededError => "QuotaExceededError",
            Self::ReadOnlyError => "ReadOnlyError",
            Self::SecurityError => "SecurityError",
            Self::SyntaxError => "SyntaxError",
            Self::TransactionInactiveError => "TransactionInactiveError",
            Self::TypeError => "TypeError",
            Self::UnknownError => "UnknownError",
            Self::VersionError => "VersionError",
        }
    }
}

impl fmt::Display for ErrorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error: a name, a message, what to do about it, and what lies beneath. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Error {
    name: ErrorName,
    kind: ErrorKind,
    message: Arc<str>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// A `DataError` of the caller's making.
    pub(crate) fn data(what: impl Into<Arc<str>>) -> Self {
        Self::new(ErrorName::DataError, what)
    }

    /// An error of the caller's making: hosts abort transactions with such.
    #[must_use]
    pub fn new(name: ErrorName, message: impl Into<Arc<str>>) -> Self {
        Self {
            name,
            kind: match name {
                ErrorName::ConstraintError => ErrorKind::Constraint,
                _ => ErrorKind::Usage,
            },
            message: message.into(),
            source: None,
        }
    }

    pub(crate) fn of_kind(name: ErrorName, kind: ErrorKind, message: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            ..Self::new(name, message)
        }
    }

    /// Rows that contradict each other.
    pub(crate) fn corruption(message: &str) -> Self {
        Self::of_kind(ErrorName::UnknownError, ErrorKind::Corruption, message)
    }

    /// The bytes that a host has given as a value are none.
    pub(crate) fn not_a_value(what: &str) -> Self {
        let what = format!("not the bytes of a value: {what}");
        Self::new(ErrorName::DataCloneError, what)
    }

    /// What a host's code has thrown that was called for something: its file system's, or a blob's source's. The store may be
    /// out of order since.
    pub(crate) fn panicked() -> Self {
        let what = "a callback of the host (its file system, or the source of a blob) has panicked";
        Self::of_kind(ErrorName::UnknownError, ErrorKind::Io, what)
    }

    /// Why transactions end when their connection is closed by force.
    pub(crate) fn forced() -> Self {
        let what = "the connection was closed by force: open the database again";
        Self::new(ErrorName::AbortError, what)
    }

    /// Why nothing can be opened any more.
    pub(crate) fn storage_closed() -> Self {
        Self::new(
            ErrorName::InvalidStateError,
            "the storage is closed: make another",
        )
    }

    /// What ends with a transaction that was aborted, and why that was, if there is a reason.
    pub(crate) fn aborted(cause: Option<&Self>) -> Self {
        let Some(cause) = cause else {
            return Self::new(ErrorName::AbortError, "the transaction was aborted");
        };
        if cause.name == ErrorName::AbortError {
            return cause.clone();
        }
        Self {
            name: ErrorName::AbortError,
            kind: cause.kind,
            message: format!("the transaction was aborted: {cause}").into(),
            source: Some(Arc::new(cause.clone())),
        }
    }

    /// This error with another message.
    pub(crate) fn with_message(&self, message: String) -> Self {
        Self {
            message: message.into(),
            ..self.clone()
        }
    }

    /// The numbers, if it was a quota that had no room.
    #[must_use]
    pub fn quota(&self) -> Option<&OverQuota> {
        let source = self.source.as_deref()?;
        match source.downcast_ref::<Self>() {
            Some(cause) => cause.quota(),
            None => source
                .downcast_ref::<larder_backing_store::Error>()?
                .quota(),
        }
    }

    /// The row that is damaged, if it was that and is known.
    pub(crate) fn row(&self) -> Option<&[u8]> {
        let source = self.source.as_deref()?;
        match source.downcast_ref::<Self>() {
            Some(cause) => cause.row(),
            None => source.downcast_ref::<larder_backing_store::Error>()?.key(),
        }
    }

    /// The exception's name.
    #[must_use]
    pub const fn name(&self) -> ErrorName {
        self.name
    }

    /// What the host can do about it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What happened, in words.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Runs work that may call a host's code. A panic becomes an error; the panic hook has printed it.
///
/// # Errors
/// The work's own; `UnknownError` of kind `Io` if it panics.
pub(crate) fn attempt<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::panicked()))
}

impl From<larder_backing_store::Error> for Error {
    fn from(error: larder_backing_store::Error) -> Self {
        let name = match error.kind() {
            ErrorKind::Constraint => ErrorName::ConstraintError,
            // The full disk is the cause, but a page that makes room cannot just write it again.
            ErrorKind::Uncertain => ErrorName::UnknownError,
            _ if error.is_out_of_space() => ErrorName::QuotaExceededError,
            _ => ErrorName::UnknownError,
        };
        Self {
            name,
            kind: error.kind(),
            message: error.to_string().into(),
            source: Some(Arc::new(error)),
        }
    }
}

/// A value whose bytes cannot be read.
impl From<larder_codec::Error> for Error {
    fn from(error: larder_codec::Error) -> Self {
        Self {
            name: ErrorName::UnknownError,
            kind: ErrorKind::Corruption,
            message: error.to_string().into(),
            source: Some(Arc::new(error)),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.source.as_deref()?;
        Some(source)
    }
}
