//! Where blobs are while they are read from an archive, until the transaction that stores them is committed.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use larder_backing_store::blob::BlobSource;
use larder_leveldb::storage::{FileSystem, WritableFile};

use super::error::ArchiveError;
use super::lines::FileReader;

/// A part of a file.
#[derive(Debug)]
pub(super) struct FilePart {
    fs: Arc<dyn FileSystem>,
    path: PathBuf,
    offset: u64,
    len: u64,
}

impl FilePart {
    /// A whole file of so many bytes.
    pub(super) fn whole(fs: Arc<dyn FileSystem>, path: PathBuf, len: u64) -> Self {
        Self {
            fs,
            path,
            offset: 0,
            len,
        }
    }
}

impl BlobSource for FilePart {
    fn size_bytes(&self) -> u64 {
        self.len
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        if self.offset == 0 {
            let file = FileReader(self.fs.open_sequential(&self.path)?);
            return Ok(Box::new(file.take(self.len)));
        }
        Ok(Box::new(Part {
            file: self.fs.open_random(&self.path)?,
            at: self.offset,
            left: self.len,
        }))
    }
}

struct Part {
    file: Arc<dyn larder_leveldb::storage::RandomFile>,
    at: u64,
    left: u64,
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let Some(wanted) = buffer.get_mut(..len).filter(|wanted| !wanted.is_empty()) else {
            return Ok(0);
        };
        let read = self.file.read_at(self.at, wanted)?;
        self.at += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

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
        FilePart {
            fs: Arc::clone(&self.fs),
            path: self.path.clone(),
            offset,
            len: self.len - offset,
        }
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
