//! Why an archive could not be written or read: which file, which line, what, and what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why an archive could not be written or read.
#[derive(Debug)]
pub struct ArchiveError {
    /// `None` if the words name it.
    path: Option<PathBuf>,
    line: Option<u64>,
    what: String,
    source: Option<io::Error>,
}

impl ArchiveError {
    /// Something of the whole archive, or of a file of it.
    pub(super) fn new(path: &Path, what: impl Into<String>) -> Self {
        Self {
            path: Some(path.to_owned()),
            line: None,
            what: what.into(),
            source: None,
        }
    }

    /// A file that cannot be read or written.
    pub(super) fn io(path: &Path, what: &str, error: io::Error) -> Self {
        Self {
            source: Some(error),
            ..Self::new(path, what)
        }
    }

    /// The line that it is about, counted from 1.
    pub(super) const fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// The line that it is about, counted from 1; `None` if it is about no line.
    #[must_use]
    pub const fn line(&self) -> Option<u64> {
        self.line
    }
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}", path.display())?;
            if let Some(line) = self.line {
                write!(f, ", line {line}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.what)?;
        match &self.source {
            Some(error) => write!(f, ": {error}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ArchiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.source.as_ref()?;
        Some(source)
    }
}

/// A file or folder that the backing store has made or looked at.
impl From<larder_backing_store::Error> for ArchiveError {
    fn from(error: larder_backing_store::Error) -> Self {
        Self {
            path: None,
            line: None,
            what: error.to_string(),
            source: None,
        }
    }
}

/// For what can only say that a file failed.
impl From<ArchiveError> for io::Error {
    fn from(error: ArchiveError) -> Self {
        let kind = error
            .source
            .as_ref()
            .map_or(io::ErrorKind::Other, io::Error::kind);
        Self::new(kind, error.to_string())
    }
}
