//! Reads all records of a log as far as they are there, also those without their checksum: for what can be made out of them.
//!
//! Nothing that this gives is certain, but where it says so. The pieces of a record are put together by their order: one whose header cannot
//! be believed takes the bytes up to where something whole begins, so that those behind it are where they were in the record.

use super::fragment::{Block, Found, WORK_MAX};
use super::{BLOCK_LEN, HEADER_LEN};
use crate::storage::{RandomFile, read_exact_at};
use std::io;
use std::ops::Range;

/// A record, or what is left of one.
#[derive(Debug)]
pub(crate) struct Remains<'a> {
    /// Its bytes, as far as they are there. If `is_whole` is false, any may be wrong, and some missing.
    pub(crate) bytes: &'a [u8],
    /// All its pieces are there and have their checksums.
    pub(crate) is_whole: bool,
}

/// Calls `visit` with each record of a log, from the first on. What cannot be read counts as zeros, unless `fails_on` the error.
///
/// # Errors
/// What the file gives and `fails_on` says so; what `visit` gives.
pub(crate) fn for_each_record<E: From<io::Error>>(
    file: &dyn RandomFile,
    fails_on: impl Fn(&io::Error) -> bool,
    visit: impl FnMut(Remains<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut records = Records {
        visit,
        bytes: Vec::new(),
        is_open: false,
        is_whole: true,
    };
    let len = file.len()?;
    let mut start = 0;
    let mut bytes = Vec::new();
    while start < len {
        bytes.clear();
        bytes.resize((len - start).min(BLOCK_LEN as u64) as usize, 0);
        match read_exact_at(file, start, &mut bytes) {
            Err(error) if fails_on(&error) => return Err(error.into()),
            Err(_) => bytes.fill(0),
            Ok(()) => {}
        }
        records.block(&bytes)?;
        start += bytes.len() as u64;
    }
    records.end(false)
}

struct Records<V> {
    visit: V,
    /// The open record.
    bytes: Vec<u8>,
    is_open: bool,
    is_whole: bool,
}

impl<V, E> Records<V>
where
    V: FnMut(Remains<'_>) -> Result<(), E>,
{
    fn block(&mut self, bytes: &[u8]) -> Result<(), E> {
        let mut block = Block {
            bytes,
            is_cut: bytes.len() < BLOCK_LEN,
            work_left: WORK_MAX,
        };
        let mut at = 0;
        while at < bytes.len() {
            let rest = (at + HEADER_LEN).min(bytes.len());
            at = match block.look(at) {
                Found::Whole { kind, payload } | Found::WrongLength { kind, payload } => {
                    self.piece(bytes, kind, payload, true)?
                }
                Found::Damaged { kind, payload, .. } => self.piece(bytes, kind, payload, false)?,
                Found::Lost { next } => self.nameless(bytes, rest.min(next)..next),
                Found::Torn => self.nameless(bytes, rest..bytes.len()),
                // Space laid out in advance, or a part of the record that is open.
                Found::Zeros if self.is_open => self.nameless(bytes, rest..bytes.len()),
                Found::Zeros | Found::End => bytes.len(),
            };
        }
        Ok(())
    }

    /// A piece that says its place in its record: where the next one is.
    fn piece(
        &mut self,
        block: &[u8],
        kind: u8,
        payload: Range<usize>,
        is_whole: bool,
    ) -> Result<usize, E> {
        let end = payload.end;
        match kind {
            1 | 2 => self.end(false)?,
            // Its beginning is missing.
            _ if !self.is_open => self.is_whole = false,
            _ => {}
        }
        self.add(block, payload, is_whole && (1..=4).contains(&kind));
        if matches!(kind, 1 | 4) {
            self.end(true)?;
        }
        Ok(end)
    }

    /// A piece that does not.
    fn nameless(&mut self, block: &[u8], payload: Range<usize>) -> usize {
        let end = payload.end;
        self.add(block, payload, false);
        end
    }

    fn add(&mut self, block: &[u8], payload: Range<usize>, is_whole: bool) {
        self.is_open = true;
        self.is_whole &= is_whole;
        self.bytes
            .extend_from_slice(block.get(payload).unwrap_or_default());
    }

    fn end(&mut self, is_last: bool) -> Result<(), E> {
        if std::mem::take(&mut self.is_open) && !self.bytes.is_empty() {
            (self.visit)(Remains {
                bytes: &self.bytes,
                is_whole: self.is_whole && is_last,
            })?;
        }
        self.bytes.clear();
        self.is_whole = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::LogWriter;
    use super::*;
    use crate::storage::{FileSystem, MemoryFileSystem};
    use quickcheck::quickcheck;
    use std::path::Path;

    const PATH: &str = "log";

    fn written(records: &[Vec<u8>]) -> Vec<u8> {
        let fs = MemoryFileSystem::new();
        let mut log = LogWriter::new(fs.create(Path::new(PATH)).unwrap(), 0);
        for record in records {
            log.add(record).unwrap();
        }
        let file = fs.open_random(Path::new(PATH)).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        read_exact_at(&*file, 0, &mut bytes).unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> Vec<(Vec<u8>, bool)> {
        let fs = MemoryFileSystem::new();
        fs.create(Path::new(PATH)).unwrap().append(bytes).unwrap();
        let file = fs.open_random(Path::new(PATH)).unwrap();
        let mut found = Vec::new();
        for_each_record::<io::Error>(
            &*file,
            |_| true,
            |record| {
                found.push((record.bytes.to_vec(), record.is_whole));
                Ok(())
            },
        )
        .unwrap();
        found
    }

    quickcheck! {
        fn whole_records_read_back(lengths: Vec<u16>) -> bool {
            let records: Vec<Vec<u8>> = lengths.iter().map(|len| vec![*len as u8; usize::from(*len) + 1]).collect();
            let whole: Vec<_> = records.iter().map(|record| (record.clone(), true)).collect();
            read(&written(&records)) == whole
        }

        fn any_bytes_come_to_an_end(bytes: Vec<u8>, repeat: u16) -> bool {
            let bytes = bytes.repeat(usize::from(repeat % 2000));
            read(&bytes).iter().map(|(record, _)| record.len()).sum::<usize>() <= bytes.len()
        }
    }

    /// A record over four blocks between two small ones.
    fn records() -> Vec<Vec<u8>> {
        let long = (0..100_000_u32).map(|i| (i >> 3) as u8 | 1).collect();
        vec![vec![1; 50], long, vec![3; 50]]
    }

    #[test]
    fn what_lies_behind_a_damaged_piece_is_where_it_was_in_the_record() {
        let records = records();
        let whole = written(&records);
        // Within a piece; the header of a middle piece; a header and a good part of a piece.
        for range in [
            40_000..40_100,
            BLOCK_LEN..BLOCK_LEN + 7,
            BLOCK_LEN - 900..BLOCK_LEN + 5000,
        ] {
            let mut bytes = whole.clone();
            bytes[range.clone()].fill(0);
            let found = read(&bytes);
            assert_eq!(found.len(), 3, "{range:?}");
            assert!(found[0].1 && !found[1].1 && found[2].1, "{range:?}");
            let same = found[1].0.iter().zip(&records[1]).filter(|(a, b)| a == b);
            assert_eq!(found[1].0.len(), records[1].len(), "{range:?}");
            assert!(same.count() + range.len() >= records[1].len(), "{range:?}");
        }
    }

    #[test]
    fn a_record_that_the_end_of_the_file_cuts_is_given_and_is_not_whole() {
        let records = records();
        let whole = written(&records);
        let found = read(&whole[..60_000]);
        assert_eq!(found.len(), 2);
        assert!(found[0].1 && !found[1].1);
        assert!(records[1].starts_with(&found[1].0) && found[1].0.len() > 59_000);
    }

    #[test]
    fn a_record_without_its_beginning_is_given_and_is_not_whole() {
        let whole = written(&records());
        let found = read(&whole[BLOCK_LEN..]);
        assert_eq!(found.len(), 2);
        assert!(!found[0].1 && found[1].1);
    }
}
