//! The row of a file or directory.

use super::{FORMAT, Reader};
use crate::blobs::SEGMENT_LEN_MAX;
use crate::error::Result;
use crate::frame::FRAME_LEN;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Directory,
    File(FileRow),
}

/// A file: where its content is and how much of it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileRow {
    /// The number of its content. It has one writer ever; a file that another one goes on with gets another number.
    pub(crate) blob: u64,
    /// How many bytes it has.
    pub(crate) size: u64,
    /// The content below this offset lies in the blob, the rest in the catalogue.
    pub(crate) stored: u64,
    /// When it was last written, in microseconds since 1970.
    pub(crate) modified_us: i64,
    /// No piece of the content crosses a multiple of this.
    pub(crate) chunk_len: u32,
}

const DIRECTORY: u8 = 0;
const FILE: u8 = 1;

/// The largest chunk, and so the largest piece, that fits into a value of every engine.
pub(crate) const CHUNK_LEN_MAX: u32 = (SEGMENT_LEN_MAX - FRAME_LEN) as u32;

impl Entry {
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Entry::Directory => vec![FORMAT, DIRECTORY],
            Entry::File(file) => {
                let mut row = vec![FORMAT, FILE];
                row.extend(file.blob.to_be_bytes());
                row.extend(file.size.to_be_bytes());
                row.extend(file.stored.to_be_bytes());
                row.extend(file.modified_us.to_be_bytes());
                row.extend(file.chunk_len.to_be_bytes());
                row
            }
        }
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Entry> {
        let mut reader = Reader::new("row of a file or directory", row)?;
        let entry = match reader.take()? {
            [DIRECTORY] => Entry::Directory,
            [FILE] => Entry::File(FileRow {
                blob: reader.u64()?,
                size: reader.u64()?,
                stored: reader.u64()?,
                modified_us: i64::from_be_bytes(reader.take()?),
                chunk_len: reader.u32()?,
            }),
            _ => return Err(reader.wrong()),
        };
        if let Entry::File(file) = &entry {
            let is_good = file.stored <= file.size
                && file.size <= i64::MAX as u64
                && (1..=CHUNK_LEN_MAX).contains(&file.chunk_len);
            if !is_good {
                return Err(reader.wrong());
            }
        }
        reader.end().map(|()| entry)
    }
}

impl FileRow {
    /// When it was last written.
    pub(crate) fn modified(&self) -> Option<SystemTime> {
        let distance = Duration::from_micros(self.modified_us.unsigned_abs());
        match self.modified_us >= 0 {
            true => UNIX_EPOCH.checked_add(distance),
            false => UNIX_EPOCH.checked_sub(distance),
        }
    }

    /// A time as a row has it: the nearest one that it can have.
    pub(crate) fn micros(time: SystemTime) -> i64 {
        let micros = |distance: Duration| i64::try_from(distance.as_micros()).unwrap_or(i64::MAX);
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => micros(after),
            Err(before) => -micros(before.duration()),
        }
    }
}
