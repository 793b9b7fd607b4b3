//! Where blobs are while they are read from an archive, until the transaction that stores them is committed.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use larder_leveldb::storage::{FileSystem, WritableFile};

use super::error::ArchiveError;
use crate::file_part::FilePart;

/// A file that blobs are added to.
pub(super) struct Spool {
    fs: Arc<dyn FileSystem>,
    path: PathBuf,
    file: Option<Box<dyn WritableFile>>,
    len: u64,
}

impl Spool {
    pub(super) const fn new(fs: Arc<dyn FileSystem>, path: PathBuf) -> Self {
        Self {
            fs,
            path,
            file: None,
            len: 0,
        }
    }

    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    fn failed(&self, error: io::Error) -> ArchiveError {
        ArchiveError::io(&self.path, "cannot be written", error)
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        if self.file.is_none() {
            let file = self.fs.create(&self.path);
            self.file = Some(file.map_err(|error| self.failed(error))?);
        }
        if let Some(file) = &mut self.file {
            let appended = file.append(bytes);
            appended.map_err(|error| ArchiveError::io(&self.path, "cannot be written", error))?;
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// What was added from an offset on.
    pub(super) fn part(&self, offset: u64) -> FilePart {
        FilePart::new(
            Arc::clone(&self.fs),
            self.path.clone(),
            offset,
            self.len - offset,
        )
    }

    /// What was added can be read.
    pub(super) fn flush(&mut self) -> Result<(), ArchiveError> {
        let flushed = self.file.as_mut().map_or(Ok(()), |file| file.flush());
        flushed.map_err(|error| self.failed(error))
    }

    /// Nothing in it is needed any more.
    pub(super) fn clear(&mut self) -> Result<(), ArchiveError> {
        self.len = 0;
        match self.file.take() {
            Some(_) => self
                .fs
                .remove(&self.path)
                .map_err(|error| self.failed(error)),
            None => Ok(()),
        }
    }
}
