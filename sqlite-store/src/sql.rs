//! What SQLite says, as this crate's callers know it.

use std::path::Path;

use larder_backing_store::{Error, ErrorKind};

/// An error of SQLite about a file: nothing but the bytes of the file can be the reason, or the disk of a copy.
pub(crate) fn error(path: &Path, error: &rusqlite::Error) -> Error {
    use rusqlite::ErrorCode;
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::SystemIoFailure | ErrorCode::DiskFull | ErrorCode::CannotOpen) => {
            ErrorKind::Io
        }
        _ => ErrorKind::Corruption,
    };
    Error::new(kind, format!("{}: {error}", path.display()))
}

/// Something in a file that is not what it must be.
pub(crate) fn damage(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Corruption, format!("{}: {what}", path.display()))
}
