//! Files, and parts of them, as contents of blobs.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use larder_backing_store::blob::BlobSource;
use larder_leveldb::storage::{FileSystem, RandomFile, SequentialFile};

/// A part of a file.
#[derive(Debug)]
pub(crate) struct FilePart {
    fs: Arc<dyn FileSystem>,
    path: PathBuf,
    offset: u64,
    len: u64,
}

impl FilePart {
    /// So many bytes of a file from an offset on.
    pub(crate) fn new(fs: Arc<dyn FileSystem>, path: PathBuf, offset: u64, len: u64) -> Self {
        Self {
            fs,
            path,
            offset,
            len,
        }
    }

    /// A whole file of so many bytes.
    pub(crate) fn whole(fs: Arc<dyn FileSystem>, path: PathBuf, len: u64) -> Self {
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
    file: Arc<dyn RandomFile>,
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

/// A file, read as the standard library reads.
#[derive(Debug)]
pub(crate) struct FileReader(pub(crate) Box<dyn SequentialFile>);

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}
