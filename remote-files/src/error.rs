//! What fails, by what the caller does next.

use std::fmt;
use std::io;

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What to do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The engine did not answer, or refused for the moment, and nothing was changed: a retry may help.
    Unavailable,
    /// A change was asked for, and no reply came: it may be made, may not be made, or may still be on its way.
    OutcomeUnknown,
    /// A snapshot is too old for the engine: begin to read anew.
    SnapshotGone,
    /// Another process, or another handle of this one, writes the namespace.
    Held,
    /// This process does not write the namespace any more: another one has taken it over, or whether it has cannot be found out. Nothing
    /// is written afterwards; open the namespace again.
    Lost,
    /// The content was deleted by the writer while a reader elsewhere had the file open: open the store again.
    Gone,
    /// Bytes that do not decode, or have a wrong checksum.
    Corruption,
    /// A value, key or transaction is larger than the engine takes.
    TooLarge,
    /// The engine has no room, or a quota is reached.
    Full,
    /// The engine refuses the user or the password.
    Denied,
    /// The call itself is wrong.
    Usage,
    /// The file system only reads.
    ReadOnly,
    /// The engine is not compiled in: its feature is off.
    Unsupported,
}

/// An error: its kind, what was being done, and what the engine's client said.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    what: String,
}

impl Error {
    /// An error with its words: the object, its state, the remedy.
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Error {
        Error {
            kind,
            what: what.into(),
        }
    }

    pub(crate) fn corruption(what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Corruption, what)
    }

    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the operation may succeed when it is tried again, with nothing else changed.
    pub fn may_pass(&self) -> bool {
        matches!(
            self.kind,
            ErrorKind::Unavailable | ErrorKind::OutcomeUnknown | ErrorKind::SnapshotGone
        )
    }

    /// The error of this crate inside one of the file system's, if there is one.
    ///
    /// ```
    /// use larder_remote_files::{Error, ErrorKind};
    /// let error = std::io::Error::from(Error::new(ErrorKind::Lost, "gone to another process"));
    /// assert_eq!(Error::within(&error).unwrap().kind(), ErrorKind::Lost);
    /// ```
    pub fn within(error: &io::Error) -> Option<&Error> {
        error.get_ref()?.downcast_ref()
    }

    /// With more words before its own.
    pub(crate) fn context(self, before: impl fmt::Display) -> Error {
        Error {
            kind: self.kind,
            what: format!("{before}: {}", self.what),
        }
    }

    /// The error as another kind.
    pub(crate) fn of_kind(self, kind: ErrorKind) -> Error {
        Error { kind, ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Error {}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = match error.kind {
            ErrorKind::Unavailable | ErrorKind::OutcomeUnknown | ErrorKind::SnapshotGone => {
                io::ErrorKind::TimedOut
            }
            ErrorKind::Held => io::ErrorKind::WouldBlock,
            ErrorKind::Lost | ErrorKind::Gone => io::ErrorKind::StaleNetworkFileHandle,
            ErrorKind::Corruption => io::ErrorKind::InvalidData,
            ErrorKind::TooLarge => io::ErrorKind::FileTooLarge,
            ErrorKind::Full => io::ErrorKind::StorageFull,
            ErrorKind::Denied => io::ErrorKind::PermissionDenied,
            ErrorKind::Usage => io::ErrorKind::InvalidInput,
            ErrorKind::ReadOnly => io::ErrorKind::ReadOnlyFilesystem,
            ErrorKind::Unsupported => io::ErrorKind::Unsupported,
        };
        io::Error::new(kind, error)
    }
}
