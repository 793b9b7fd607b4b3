//! Why a block of a table cannot be used.

use std::{fmt, io};

use crate::damage::DamageKind;
use crate::error::{Error, Result};

/// Why a block cannot be used.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: DamageKind,
    pub(crate) what: String,
    pub(crate) source: Option<io::Error>,
}

impl Fault {
    pub(crate) fn new(kind: DamageKind, what: impl Into<String>) -> Fault {
        Fault {
            kind,
            what: what.into(),
            source: None,
        }
    }

    pub(crate) fn unreadable(error: io::Error) -> Fault {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Fault::new(DamageKind::Truncated, "file ends before the block does");
        }
        Fault {
            kind: DamageKind::Unreadable,
            what: format!("cannot be read: {error}"),
            source: Some(error),
        }
    }

    pub(crate) fn into_error(self, file: &str, offset: Option<u64>) -> Error {
        match self.source {
            Some(source) => Error::io(file, "cannot be read", source),
            None => Error::corruption(file, offset, self.what),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// What was read, or why not, and where in the file.
pub(super) type Placed<T> = Result<T, (Option<u64>, Fault)>;
