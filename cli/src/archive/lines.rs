//! The lines of an archive, one after the other, packed or not.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_leveldb::storage::FileSystem;
use serde::de::DeserializeOwned;

use super::error::ArchiveError;
use crate::file_part::FileReader;

/// A line has one record, whose JSON is a few times as long as its bytes. Longer lines are no archive's.
const LINE_LEN_MAX: u64 = 1 << 30;

const BUFFER_LEN: usize = 256 << 10;

/// What zstd's frames begin with.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Reads line by line, and counts.
pub(super) struct Lines {
    path: PathBuf,
    input: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    /// Opens a file.
    pub(super) fn open(fs: &Arc<dyn FileSystem>, path: &Path) -> Result<Self, ArchiveError> {
        let failed = |error| ArchiveError::io(path, "cannot be read", error);
        let file = fs.open_sequential(path).map_err(failed)?;
        let mut input = BufReader::with_capacity(BUFFER_LEN, FileReader(file));
        let head = input.fill_buf().map_err(failed)?;
        let is_packed = head.starts_with(&ZSTD_MAGIC);
        let input: Box<dyn BufRead> = match is_packed {
            false => Box::new(input),
            #[cfg(feature = "zstd")]
            true => Box::new(BufReader::with_capacity(
                BUFFER_LEN,
                packed::Frames::new(input),
            )),
            #[cfg(not(feature = "zstd"))]
            true => {
                let what = "is packed with zstd, and this larder was built without the feature zstd: unpack it with zstd -d first";
                return Err(ArchiveError::new(path, what));
            }
        };
        Ok(Self {
            path: path.to_owned(),
            input,
            line: Vec::new(),
            number: 0,
        })
    }

    /// The first bytes, before any line is read.
    pub(super) fn head(&mut self) -> Result<&[u8], ArchiveError> {
        let Self { path, input, .. } = self;
        let failed = |error| ArchiveError::io(path, "cannot be read on", error).at_line(1);
        input.fill_buf().map_err(failed)
    }

    /// What there is to read, for another form.
    pub(super) fn into_input(self) -> (PathBuf, Box<dyn BufRead>) {
        (self.path, self.input)
    }

    /// Reads what bytes there are as an archive.
    pub(super) fn of_bytes(bytes: Vec<u8>) -> Self {
        Self {
            path: PathBuf::from("archive"),
            input: Box::new(io::Cursor::new(bytes)),
            line: Vec::new(),
            number: 0,
        }
    }

    /// The next line; `None` at the end.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, ArchiveError> {
        self.line.clear();
        // A long line's memory is given back.
        self.line.shrink_to(BUFFER_LEN);
        self.number += 1;
        let read = (&mut self.input)
            .take(LINE_LEN_MAX)
            .read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| {
            ArchiveError::io(&self.path, "cannot be read on", error).at_line(self.number)
        })?;
        if read == 0 {
            return Ok(None);
        }
        if self.line.last() != Some(&b'\n') {
            let what = match read as u64 == LINE_LEN_MAX {
                true => "the line is longer than 1 GiB, which no archive's is",
                false => {
                    "the archive ends in the middle of this line: it was not written to its end, or cut"
                }
            };
            return Err(self.error(what));
        }
        match serde_json::from_slice(&self.line) {
            Ok(value) => Ok(Some(value)),
            Err(error) if self.number == 1 => Err(self.error(format!(
                "this is no archive: give a file or folder that larder export has written: {error}"
            ))),
            Err(error) => Err(self.error(format!("this is no line of an archive: {error}"))),
        }
    }

    /// An error about the line that was read last.
    pub(super) fn error(&self, what: impl Into<String>) -> ArchiveError {
        ArchiveError::new(&self.path, what).at_line(self.number)
    }
}

#[cfg(feature = "zstd")]
mod packed {
    use std::io::{self, BufRead, Read};

    use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

    /// Frames of zstd one behind the other.
    pub(super) struct Frames<R> {
        input: R,
        decoder: FrameDecoder,
        is_open: bool,
    }

    /// A frame that refers further back is not read: it would take so much memory.
    const WINDOW_LEN_MAX: u64 = 8 << 20;

    impl<R: BufRead> Frames<R> {
        pub(super) fn new(input: R) -> Self {
            let mut decoder = FrameDecoder::new();
            decoder.set_max_window_size(WINDOW_LEN_MAX);
            Self {
                input,
                decoder,
                is_open: false,
            }
        }
    }

    impl<R: BufRead> Read for Frames<R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let invalid = |error: &dyn std::fmt::Display| {
                io::Error::new(io::ErrorKind::InvalidData, format!("zstd: {error}"))
            };
            loop {
                if self.is_open {
                    if self.decoder.can_collect() > 0 {
                        return self.decoder.read(buffer);
                    }
                    if !self.decoder.is_finished() {
                        let some = BlockDecodingStrategy::UptoBytes(buffer.len());
                        let decoded = self.decoder.decode_blocks(&mut self.input, some);
                        decoded.map_err(|error| invalid(&error))?;
                        continue;
                    }
                    self.is_open = false;
                }
                if self.input.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                let begun = self.decoder.reset(&mut self.input);
                begun.map_err(|error| invalid(&error))?;
                self.is_open = true;
            }
        }
    }
}
