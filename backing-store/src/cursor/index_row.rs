//! What the rows of an index and those of their records say.

use larder_codec::primitive::var_int;
use larder_codec::versioned::{self, DataRow, ExistsRow};
use larder_codec::{RawKey, RecordVersion};

use super::range_rows::Row;
use crate::error::{Error, Result};

/// What an index row says.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexRow<'a> {
    pub(super) index_key_len: usize,
    pub(super) primary_key: RawKey<'a>,
    pub(super) version: RecordVersion,
}

impl<'a> IndexRow<'a> {
    /// Decodes an index row.
    #[inline]
    pub(super) fn read(row: Row<'a>) -> Result<Self> {
        let index_key_len = index_key_len(row.key, row.tail)?;
        let versioned::IndexRow {
            version,
            primary_key,
        } = decode_value(row.key, row.value)?;
        Ok(Self {
            index_key_len,
            primary_key,
            version,
        })
    }
}

/// A key in an index row, which was checked before.
pub(super) fn raw_key<'a>(row_key: &[u8], bytes: &'a [u8]) -> Result<RawKey<'a>> {
    RawKey::decode_exact(bytes).map_err(|error| Error::row(row_key, "index entry", error))
}

/// The record's version, and where its value begins in its row.
#[inline]
pub(super) fn read_data(
    data: &[u8],
    data_key: &[u8],
    keys_only: bool,
) -> Result<(RecordVersion, usize)> {
    if keys_only {
        let exists = ExistsRow::decode_exact(data)
            .map_err(|error| Error::row(data_key, "exists row", error))?;
        return Ok((exists.version, data.len()));
    }
    let row = DataRow::decode_exact(data).map_err(|error| {
        let what = "record row with an undecodable version";
        Error::row(data_key, what, error)
    })?;
    Ok((row.version, data.len() - row.value.len()))
}

/// Checks what follows the prefix in an index row's key: index key, sequence number, primary key, of which the oldest
/// rows lack the last two.
fn index_key_len(row_key: &[u8], tail: &[u8]) -> Result<usize> {
    let bad_key = |error| Error::row(row_key, "index row with an undecodable key", error);
    let (index_key, rest) = RawKey::decode(tail).map_err(bad_key)?;
    if !rest.is_empty() {
        let (_, primary_key) = var_int::decode(rest).map_err(bad_key)?;
        if !primary_key.is_empty() {
            RawKey::decode_exact(primary_key).map_err(bad_key)?;
        }
    }
    Ok(index_key.as_bytes().len())
}

/// Decodes an index row's value. The primary key is taken from there, as Chromium's cursors do: every row has it there,
/// the oldest have it nowhere else, and where the two differ in bytes, -0 beside 0, the key's are those of whichever
/// write came last: an undone one, if recovery put the old value back under the key of the write that it undoes.
pub(crate) fn decode_value<'a>(
    row_key: &[u8],
    row_value: &'a [u8],
) -> Result<versioned::IndexRow<'a>> {
    versioned::IndexRow::decode_exact(row_value)
        .map_err(|error| Error::row(row_key, "index row with an undecodable value", error))
}
