//! Writes records.

use super::{BLOCK_LEN, HEADER_LEN};
use crate::crc;
use crate::storage::WritableFile;
use std::io;

/// Writes records to the end of a file.
#[derive(Debug)]
pub struct LogWriter {
    file: Box<dyn WritableFile>,
    /// What was added, as far as no error was met.
    len_bytes: u64,
}

impl LogWriter {
    /// To a file that has `len_bytes` already.
    pub fn new(file: Box<dyn WritableFile>, len_bytes: u64) -> LogWriter {
        LogWriter { file, len_bytes }
    }

    /// How long the file is with all that was added. After an error in [`add`](Self::add), what it was before that
    /// counts.
    pub fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    /// Takes away what was added after the file had so many bytes, also what an error has left of a record. The caller syncs.
    pub fn cut_back(&mut self, len_bytes: u64) -> io::Result<()> {
        self.file.truncate(len_bytes)?;
        self.len_bytes = len_bytes;
        Ok(())
    }

    /// Adds a record. The caller flushes or syncs.
    pub fn add(&mut self, record: &[u8]) -> io::Result<()> {
        let file = &mut *self.file;
        let (mut rest, mut is_first) = (record, true);
        loop {
            let mut left = BLOCK_LEN - (self.len_bytes % BLOCK_LEN as u64) as usize;
            if left < HEADER_LEN {
                file.append(&[0; HEADER_LEN][..left])?;
                self.len_bytes += left as u64;
                left = BLOCK_LEN;
            }
            let (payload, after) = rest.split_at(rest.len().min(left - HEADER_LEN));
            let kind = match (is_first, after.is_empty()) {
                (true, true) => 1,
                (true, false) => 2,
                (false, false) => 3,
                (false, true) => 4,
            };
            let sum = crc::mask(crc::extend(crc::value(&[kind]), payload));
            let mut header = [0; HEADER_LEN];
            header[..4].copy_from_slice(&sum.to_le_bytes());
            header[4..6].copy_from_slice(&(payload.len() as u16).to_le_bytes());
            header[6] = kind;
            file.append(&header)?;
            file.append(payload)?;
            self.len_bytes += (HEADER_LEN + payload.len()) as u64;
            (rest, is_first) = (after, false);
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    /// The file.
    pub fn file(&mut self) -> &mut dyn WritableFile {
        &mut *self.file
    }
}
