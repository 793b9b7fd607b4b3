//! What SQLite says, as this crate's callers know it.

use std::path::Path;

use larder_backing_store::{Error, ErrorKind};
use rusqlite::ErrorCode;

/// An error of SQLite about a file: the bytes of the file are the reason, another program that has it open, or the disk.
pub(crate) fn error(path: &Path, error: &rusqlite::Error) -> Error {
    let code = error.sqlite_error_code();
    let kind = match code {
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::DiskFull
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::OutOfMemory,
        ) => ErrorKind::Io,
        // A value, or a key, of a gigabyte.
        Some(ErrorCode::TooBig) => ErrorKind::Usage,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorKind::Conflict,
        _ => ErrorKind::Corruption,
    };
    let said = Error::new(kind, format!("{}: {error}", path.display()));
    match code {
        Some(ErrorCode::DiskFull) => said.for_want_of_room(),
        _ => said,
    }
}

/// Something in a file that is not what it must be.
pub(crate) fn damage(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Corruption, format!("{}: {what}", path.display()))
}
