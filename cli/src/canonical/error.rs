//! Why a value could not be written.

use std::fmt;
use std::io;

/// Why a value could not be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The value names an external object that its record does not have.
    MissingBlob {
        /// The position it names.
        index: u32,
    },
    /// A blob's content has another length than the store says.
    BlobSize {
        /// The blob's position.
        index: u32,
        /// The length in bytes that the store says.
        expected: u64,
        /// The length in bytes that it has.
        found: u64,
    },
    /// A blob's content could not be read, or the output takes no more.
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingBlob { index } => {
                write!(f, "the record has no external object {index}")
            }
            Self::BlobSize {
                index,
                expected,
                found,
            } => write!(
                f,
                "external object {index} should have {expected} bytes and has {found}"
            ),
            Self::Io(error) => write!(f, "blob: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
