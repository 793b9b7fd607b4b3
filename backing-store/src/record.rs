//! A record read by its key.

use larder_codec::versioned::DataRow;
use larder_codec::{RawKey, RecordVersion};

use crate::error::{Error, ErrorKind, Result};

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
    /// None.
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
}
