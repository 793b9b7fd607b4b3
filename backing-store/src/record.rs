//! A record read by its key.

use larder_codec::versioned::DataRow;
use larder_codec::{RawKey, RecordVersion};

use crate::error::{Error, ErrorKind, Result};

/// Memory beyond a value that is accepted as waste, in bytes.
const SLACK_LEN: usize = 32;

/// A record, or none. It keeps its memory, so one may serve for many reads.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// The data row's key.
    pub(crate) row_key: Vec<u8>,
    pub(crate) key_start: usize,
    /// The data row's value.
    pub(crate) row: Vec<u8>,
    value_start: usize,
    version: Option<RecordVersion>,
}

impl Record {
    /// An empty record, to read into.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn clear(&mut self) {
        self.version = None;
        self.row.clear();
        self.value_start = 0;
    }

    /// Takes the row that was read apart.
    pub(crate) fn decode(&mut self) -> Result<RecordVersion> {
        let row = DataRow::decode_exact(&self.row).map_err(|error| {
            let what = "record row with an undecodable version";
            Error::row(&self.row_key, what, error)
        })?;
        self.value_start = self.row.len() - row.value.len();
        self.version = Some(row.version);
        Ok(row.version)
    }

    /// The primary key.
    ///
    /// # Errors
    /// Only when there is no record.
    pub fn primary_key(&self) -> Result<RawKey<'_>> {
        if self.version.is_none() {
            return Err(Error::new(ErrorKind::Usage, "there is no record"));
        }
        RawKey::decode_exact(self.primary_key_bytes())
            .map_err(|error| Error::row(&self.row_key, "record row", error))
    }

    pub(crate) fn primary_key_bytes(&self) -> &[u8] {
        self.row_key.get(self.key_start..).unwrap_or_default()
    }

    /// The record's version; `None` when there is no record.
    #[must_use]
    pub const fn version(&self) -> Option<RecordVersion> {
        self.version
    }

    /// The value's bytes, without the version: an envelope for [`larder_codec::value`].
    #[must_use]
    pub fn value(&self) -> &[u8] {
        self.row.get(self.value_start..).unwrap_or_default()
    }

    /// The value in the memory that it was read into, which the record gives away, and where it starts there: at the end of a few
    /// bytes of the row that stand before it. Nothing is copied but where that memory is more than half as large again as
    /// what is in it, as after the read of a larger record. There is no value here then.
    #[must_use]
    pub fn take_value(&mut self) -> (Vec<u8>, usize) {
        let start = std::mem::take(&mut self.value_start).min(self.row.len());
        let len = self.row.len();
        if self.row.capacity() > len + len / 2 + SLACK_LEN {
            let value = self.row.get(start..).unwrap_or_default().to_vec();
            self.row.clear();
            return (value, 0);
        }
        (std::mem::take(&mut self.row), start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record as a read leaves it, in memory of so many bytes.
    fn record(value: &[u8], capacity: usize) -> Record {
        let mut row = Vec::with_capacity(capacity);
        let version = RecordVersion::new(200).unwrap();
        DataRow { version, value }.encode(&mut row);
        let mut record = Record {
            row,
            ..Record::new()
        };
        assert_eq!(record.decode().unwrap(), version);
        assert_eq!(record.value(), value);
        record
    }

    #[test]
    fn a_value_is_taken_in_the_memory_it_was_read_into() {
        let mut record = record(&[7; 1000], 1002);
        let memory = record.row.as_ptr();
        let (bytes, start) = record.take_value();
        assert_eq!(bytes[start..], [7; 1000]);
        assert_eq!(bytes.as_ptr(), memory);
        assert_eq!(record.value(), [0; 0]);
    }

    #[test]
    fn a_small_value_does_not_take_a_large_ones_memory() {
        for (len, capacity) in [(0, 4096), (10, 4096), (1000, 4096), (4096, 1 << 20)] {
            let mut record = record(&vec![7; len], capacity);
            let (bytes, start) = record.take_value();
            assert_eq!(bytes[start..], vec![7; len]);
            assert!(bytes.capacity() <= 2 * len + 64, "{len} {capacity}");
            assert_eq!(record.value(), [0; 0]);
            assert_eq!(record.row.capacity(), capacity);
        }
    }
}
