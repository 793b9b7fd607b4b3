//! Write batches: what one log record holds.
//!
//! Bytes: sequence number (8, little-endian), count (4, little-endian), then `count` entries: `01 key value` for a put,
//! `00 key` for a deletion, each string with a varint byte count before it. The first entry has the batch's sequence
//! number, each following one the next. LevelDB's `db/write_batch.cc`.

use crate::internal_key::{SEQUENCE_MAX, TAG_LEN};
use crate::varint::{decode_slice, encode_slice, fixed32, fixed64};

/// Values of at most so many bytes, and keys with their tags, lie in a memtable's nodes.
pub(crate) const SHORT_LEN_MAX: usize = 256;
const KEY_SHORT_LEN_MAX: usize = SHORT_LEN_MAX - TAG_LEN;

/// Bytes before the first entry.
pub const HEADER_LEN: usize = 12;

/// A batch under construction, in the bytes of the log.
///
/// ```
/// use larder_leveldb::write_batch::{BatchReader, BatchWriter, Operation};
/// let mut batch = BatchWriter::new();
/// batch.put(b"k", b"v");
/// batch.delete(b"old");
/// let bytes = batch.finish(7).to_vec();
/// let reader = BatchReader::new(&bytes).unwrap();
/// assert_eq!((reader.sequence(), reader.entry_count()), (7, 2));
/// let operations: Vec<_> = reader.map(|entry| entry.unwrap().operation).collect();
/// assert_eq!(operations, [Operation::Put(b"k", b"v"), Operation::Delete(b"old")]);
/// ```
#[derive(Clone, Debug)]
pub struct BatchWriter {
    bytes: Vec<u8>,
    count: u32,
    long: Long,
}

/// What a batch has of long keys and values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Long {
    /// Keys longer than [`KEY_SHORT_LEN_MAX`].
    pub(crate) key_count: u32,
    /// Bytes of values longer than [`SHORT_LEN_MAX`].
    pub(crate) value_bytes: usize,
}

impl Long {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        self.key_count += u32::from(key.len() > KEY_SHORT_LEN_MAX);
        if value.len() > SHORT_LEN_MAX {
            self.value_bytes += value.len();
        }
    }
}

/// The bytes of a batch without an entry: logs have them as marks (decisions 5 and 18).
pub(crate) fn empty_batch(sequence: u64) -> [u8; HEADER_LEN] {
    let mut bytes = [0; HEADER_LEN];
    bytes[..8].copy_from_slice(&sequence.to_le_bytes());
    bytes
}

impl Default for BatchWriter {
    fn default() -> BatchWriter {
        BatchWriter::new()
    }
}

impl BatchWriter {
    /// An empty batch.
    pub fn new() -> BatchWriter {
        BatchWriter {
            bytes: vec![0; HEADER_LEN],
            count: 0,
            long: Long::default(),
        }
    }

    /// An empty batch with room for so many bytes, as [`len_bytes`](Self::len_bytes) counts them.
    pub fn with_capacity(len_bytes: usize) -> BatchWriter {
        let mut bytes = Vec::with_capacity(len_bytes.max(HEADER_LEN));
        bytes.resize(HEADER_LEN, 0);
        BatchWriter {
            bytes,
            ..BatchWriter::default()
        }
    }

    /// Adds a put.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.push(1);
        encode_slice(&mut self.bytes, key);
        encode_slice(&mut self.bytes, value);
        self.long.add(key, value);
        self.count += 1;
    }

    /// Adds a deletion.
    pub fn delete(&mut self, key: &[u8]) {
        self.bytes.push(0);
        encode_slice(&mut self.bytes, key);
        self.long.add(key, &[]);
        self.count += 1;
    }

    /// Adds all entries of another batch.
    pub fn append(&mut self, other: &BatchWriter) {
        self.bytes.extend_from_slice(&other.bytes[HEADER_LEN..]);
        self.count += other.count;
        self.long.key_count += other.long.key_count;
        self.long.value_bytes += other.long.value_bytes;
    }

    /// The batch as it stands. The header, [`HEADER_LEN`] bytes, says nothing before [`finish`](Self::finish); entries keep
    /// their places while others are added.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes over a value of the same length that begins at `offset` in the batch. Does nothing beyond the batch's end.
    pub fn overwrite_value(&mut self, offset: usize, value: &[u8]) {
        let end = offset.saturating_add(value.len());
        if let Some(place) = self.bytes.get_mut(offset..end) {
            place.copy_from_slice(value);
        }
    }

    /// How many bytes the batch has.
    pub fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// How many entries there are.
    pub fn entry_count(&self) -> u32 {
        self.count
    }

    pub(crate) fn long(&self) -> Long {
        self.long
    }

    /// The batch's bytes, with the sequence number of its first entry.
    pub fn finish(&mut self, sequence: u64) -> &[u8] {
        self.bytes[..8].copy_from_slice(&sequence.to_le_bytes());
        self.bytes[8..HEADER_LEN].copy_from_slice(&self.count.to_le_bytes());
        &self.bytes
    }

    /// The batch's bytes, as they stand. It is empty afterwards, with room for as many.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let empty = BatchWriter::with_capacity(self.len_bytes());
        std::mem::replace(self, empty).bytes
    }

    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.truncate(HEADER_LEN);
        self.count = 0;
        self.long = Long::default();
    }
}

/// One entry's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation<'a> {
    /// A key and its value.
    Put(&'a [u8], &'a [u8]),
    /// A key that has no value from here on.
    Delete(&'a [u8]),
}

impl<'a> Operation<'a> {
    /// The key that is written.
    pub fn key(&self) -> &'a [u8] {
        match *self {
            Operation::Put(key, _) | Operation::Delete(key) => key,
        }
    }
}

/// One entry of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchEntry<'a> {
    /// The entry's sequence number.
    pub sequence: u64,
    /// What it does.
    pub operation: Operation<'a>,
    /// Where a put's value begins in the batch, in bytes.
    pub value_offset: usize,
}

/// Why a batch cannot be read, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchError {
    /// Offset in the batch, in bytes.
    pub offset: usize,
    /// What is wrong there.
    pub what: &'static str,
}

/// Reads the entries of a batch in order. After an error it ends.
#[derive(Clone, Debug)]
pub struct BatchReader<'a> {
    bytes: &'a [u8],
    at: usize,
    first_sequence: u64,
    count: u32,
    read: u32,
    failed: bool,
}

impl<'a> BatchReader<'a> {
    /// Reads the header. Fails on fewer than twelve bytes and on sequence numbers that do not fit 56 bits.
    pub fn new(bytes: &'a [u8]) -> Result<BatchReader<'a>, BatchError> {
        let (Some(first_sequence), Some(count)) = (fixed64(bytes, 0), fixed32(bytes, 8)) else {
            return Err(BatchError {
                offset: 0,
                what: "write batch is shorter than its header",
            });
        };
        // An empty batch says which number comes next, of which there may be none. Saturates for numbers that are none at all.
        if first_sequence.saturating_add(u64::from(count)) > SEQUENCE_MAX + 1 {
            return Err(BatchError {
                offset: 0,
                what: "sequence number of the write batch does not fit 56 bits",
            });
        }
        Ok(BatchReader {
            bytes,
            at: HEADER_LEN,
            first_sequence,
            count,
            read: 0,
            failed: false,
        })
    }

    /// Reads what can be made out of a damaged batch: its count is not believed, nor a sequence number that cannot be.
    pub fn lenient(bytes: &'a [u8]) -> BatchReader<'a> {
        let count = u32::MAX;
        let first_sequence = fixed64(bytes, 0)
            .unwrap_or(0)
            .min(SEQUENCE_MAX - u64::from(count));
        BatchReader {
            bytes,
            at: HEADER_LEN,
            first_sequence,
            count,
            read: 0,
            failed: false,
        }
    }

    /// The first entry's sequence number; of an empty batch the one that comes next, which may be one more than there are.
    pub fn sequence(&self) -> u64 {
        self.first_sequence
    }

    /// How many entries the header promises.
    pub fn entry_count(&self) -> u32 {
        self.count
    }

    fn entry(&mut self) -> Result<BatchEntry<'a>, BatchError> {
        let start = self.at;
        let fail = |what| BatchError {
            offset: start,
            what,
        };
        if self.read == self.count {
            return Err(fail("write batch holds more entries than its count"));
        }
        let rest = self.bytes.get(start..).unwrap_or_default();
        let (&tag, rest) = rest.split_first().ok_or(fail("write batch ends early"))?;
        let (key, rest) = decode_slice(rest).ok_or(fail("write batch entry has a bad key"))?;
        let (operation, rest) = match tag {
            0 => (Operation::Delete(key), rest),
            1 => {
                let (value, rest) =
                    decode_slice(rest).ok_or(fail("write batch entry has a bad value"))?;
                (Operation::Put(key, value), rest)
            }
            _ => return Err(fail("write batch entry has an unknown tag")),
        };
        let sequence = self.first_sequence + u64::from(self.read);
        self.read += 1;
        self.at = self.bytes.len() - rest.len();
        let value_len = if let Operation::Put(_, value) = operation {
            value.len()
        } else {
            0
        };
        Ok(BatchEntry {
            sequence,
            operation,
            value_offset: self.at - value_len,
        })
    }
}

impl<'a> Iterator for BatchReader<'a> {
    type Item = Result<BatchEntry<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        if self.at >= self.bytes.len() {
            if self.read == self.count {
                return None;
            }
            self.failed = true;
            return Some(Err(BatchError {
                offset: self.at,
                what: "write batch holds fewer entries than its count",
            }));
        }
        let entry = self.entry();
        self.failed = entry.is_err();
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn write(operations: &[(Vec<u8>, Option<Vec<u8>>)], sequence: u64) -> Vec<u8> {
        let mut batch = BatchWriter::new();
        for (key, value) in operations {
            match value {
                Some(value) => batch.put(key, value),
                None => batch.delete(key),
            }
        }
        batch.finish(sequence).to_vec()
    }

    quickcheck! {
        fn a_batch_reads_back(operations: Vec<(Vec<u8>, Option<Vec<u8>>)>, sequence: u32) -> bool {
            let bytes = write(&operations, u64::from(sequence));
            let read: Result<Vec<_>, _> = BatchReader::new(&bytes).unwrap().collect();
            let read = read.unwrap();
            read.len() == operations.len()
                && read.iter().zip(&operations).enumerate().all(|(i, (entry, (key, value)))| {
                    let same = match (entry.operation, value) {
                        (Operation::Put(k, v), Some(value)) => {
                            k == key && v == value && bytes[entry.value_offset..].starts_with(v)
                        }
                        (Operation::Delete(k), None) => k == key,
                        _ => false,
                    };
                    same && entry.sequence == u64::from(sequence) + i as u64
                })
        }

        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) -> bool {
            match BatchReader::new(&bytes) {
                Ok(reader) => reader.take(bytes.len() + 2).count() <= bytes.len(),
                Err(_) => true,
            }
        }
    }

    #[test]
    fn a_cut_batch_and_a_wrong_count_are_refused() {
        let bytes = write(&[(b"k".to_vec(), Some(b"value".to_vec()))], 1);
        for len in 0..bytes.len() {
            let failed = match BatchReader::new(&bytes[..len]) {
                Ok(mut reader) => reader.any(|entry| entry.is_err()),
                Err(_) => true,
            };
            assert!(failed, "cut to {len} bytes");
        }
        let mut more = bytes.clone();
        more[8] = 2;
        assert!(BatchReader::new(&more).unwrap().last().unwrap().is_err());
        more[8] = 0;
        assert!(BatchReader::new(&more).unwrap().last().unwrap().is_err());
    }

    #[test]
    fn a_sequence_number_beyond_56_bits_is_refused() {
        let bytes = write(&[(b"k".to_vec(), None)], SEQUENCE_MAX + 1);
        assert!(BatchReader::new(&bytes).is_err());
        let bytes = write(&[(b"k".to_vec(), None)], SEQUENCE_MAX);
        assert!(BatchReader::new(&bytes).unwrap().all(|entry| entry.is_ok()));
    }
}
