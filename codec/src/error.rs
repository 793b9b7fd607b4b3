//! The one error of this crate: what was expected, what stood there, and at which byte.

use std::fmt;

/// A decoder's result.
pub type Result<T> = std::result::Result<T, Error>;

/// Why bytes could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input ends before the thing does; at least this many more bytes are missing.
    Truncated {
        /// Bytes missing, as far as known (at least 1).
        missing: u64,
    },
    /// A byte or number has a value that is not allowed here.
    Invalid {
        /// What was found, widened.
        found: u64,
    },
    /// A tag (key type, metadata type, serialisation tag) that is not defined for this version.
    UnknownTag {
        /// The tag byte.
        tag: u8,
    },
    /// Well formed, but more than a limit allows (nesting, length, number of elements).
    LimitExceeded {
        /// The limit.
        limit: u64,
    },
    /// Bytes are left over after the end of the thing.
    Trailing {
        /// How many.
        extra: u64,
    },
}

/// A decoding error. It never carries the bytes themselves: the caller still has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    offset: usize,
    what: &'static str,
}

impl Error {
    /// An error about `what`, at `offset` bytes from the start of the input.
    #[must_use]
    pub const fn new(kind: ErrorKind, offset: usize, what: &'static str) -> Self {
        Self { kind, offset, what }
    }

    /// The kind, for callers that decide by it.
    #[must_use]
    pub const fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The offset in bytes from the start of the input given to the outermost decoder.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// What was being decoded, in the field's terms ("key type", "blob number").
    #[must_use]
    pub const fn what(&self) -> &'static str {
        self.what
    }

    /// This error, with its offset counted from a place `base` bytes earlier.
    #[must_use]
    pub const fn shifted(mut self, base: usize) -> Self {
        self.offset = self.offset.saturating_add(base);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, offset, what } = self;
        match kind {
            ErrorKind::Truncated { missing } => {
                write!(
                    f,
                    "{what} at offset {offset}: input ends {missing} bytes too early"
                )
            }
            ErrorKind::Invalid { found } => {
                write!(
                    f,
                    "{what} at offset {offset}: invalid value {found} (0x{found:x})"
                )
            }
            ErrorKind::UnknownTag { tag } => {
                write!(f, "{what} at offset {offset}: unknown tag 0x{tag:02x}")?;
                if tag.is_ascii_graphic() {
                    write!(f, " ('{}')", *tag as char)?;
                }
                Ok(())
            }
            ErrorKind::LimitExceeded { limit } => {
                write!(
                    f,
                    "{what} at offset {offset}: more than the limit of {limit}"
                )
            }
            ErrorKind::Trailing { extra } => {
                write!(f, "{what} at offset {offset}: {extra} bytes left over")
            }
        }
    }
}

impl std::error::Error for Error {}
