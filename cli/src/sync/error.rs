//! What can go wrong in a round.

use std::fmt;
use std::path::PathBuf;

/// Why a database could not be synced.
#[derive(Debug)]
#[non_exhaustive]
pub enum SyncError {
    /// There is no such database here, and none in the cloud to make it of.
    NoDatabase(String),
    /// The cloud, or the page's way there.
    Cloud(larder_sync::Error),
    /// The database and the page.
    Mirror(larder_sync::MirrorError),
    /// The page.
    Page(larder_pages::Error),
    /// The database.
    Database(larder_idb::Error),
    /// A folder cannot be made.
    Folder(PathBuf, std::io::Error),
    /// The output cannot be written.
    Output(std::io::Error),
}

impl fmt::Display for SyncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDatabase(name) => write!(
                f,
                "there is no database {name:?} here, and no device has brought one to the cloud: larder ls lists what is here"
            ),
            Self::Cloud(error) => {
                error.fmt(f)?;
                match error.kind() {
                    larder_sync::ErrorKind::Erased => f.write_str(
                        ". If that was meant, --start-over uploads everything from here anew",
                    ),
                    larder_sync::ErrorKind::WrongKey => {
                        f.write_str(". Give the --key that the other devices have")
                    }
                    _ => Ok(()),
                }
            }
            Self::Mirror(error) => error.fmt(f),
            Self::Page(error) => error.fmt(f),
            Self::Database(error) => error.fmt(f),
            Self::Folder(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Output(error) => write!(f, "output: {error}"),
        }
    }
}

impl std::error::Error for SyncError {}

impl From<larder_sync::Error> for SyncError {
    fn from(error: larder_sync::Error) -> Self {
        Self::Cloud(error)
    }
}

impl From<larder_sync::MirrorError> for SyncError {
    fn from(error: larder_sync::MirrorError) -> Self {
        match error {
            larder_sync::MirrorError::Database(error) => Self::Database(error),
            larder_sync::MirrorError::Page(error) => Self::Page(error),
            error => Self::Mirror(error),
        }
    }
}

impl From<larder_pages::Error> for SyncError {
    fn from(error: larder_pages::Error) -> Self {
        Self::Page(error)
    }
}

impl From<larder_idb::Error> for SyncError {
    fn from(error: larder_idb::Error) -> Self {
        Self::Database(error)
    }
}

impl From<std::io::Error> for SyncError {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}
