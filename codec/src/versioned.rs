//! Values that begin with a version: rows of records and of indexes (`docs/FORMAT.md`, 6.4).
//!
//! Every put gives its record a new version. A data row, its exists row and its index rows belong
//! together when their versions agree; an index row with another version is stale.

use crate::error::Result;
use crate::idb_key::RawKey;
use crate::ids::RecordVersion;
use crate::primitive::{int, var_int};
use crate::reader::{Reader, decode_exact_with};

/// The value of a data row: VarInt version, then the serialised value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataRow<'a> {
    /// The record's version.
    pub version: RecordVersion,
    /// The serialised value ([`crate::value`]).
    pub value: &'a [u8],
}

/// The value of an exists row: **Int** version. The same byte as a VarInt below 128 only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExistsRow {
    /// The record's version.
    pub version: RecordVersion,
}

/// The value of an index row: VarInt version, then the primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexRow<'a> {
    /// The version that the record had when the row was written.
    pub version: RecordVersion,
    /// The record's primary key.
    pub primary_key: RawKey<'a>,
}

impl<'a> DataRow<'a> {
    /// Appends the version and the value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        var_int::encode(self.version.get(), out);
        out.extend_from_slice(self.value);
    }

    /// The data row that is the whole of `input`; the value may be empty.
    ///
    /// # Errors
    /// On a bad version.
    #[inline]
    pub fn decode_exact(input: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(input);
        Ok(Self {
            version: RecordVersion::read(&mut reader)?,
            value: reader.rest(),
        })
    }
}

impl ExistsRow {
    /// Appends the version.
    pub fn encode(&self, out: &mut Vec<u8>) {
        int::encode(self.version.get(), out);
    }

    /// The exists row that is the whole of `input`.
    ///
    /// # Errors
    /// On empty input, on more than eight bytes, and on a negative version.
    pub fn decode_exact(input: &[u8]) -> Result<Self> {
        let version = RecordVersion::checked(int::decode_exact(input)?, 0)?;
        Ok(Self { version })
    }
}

impl<'a> IndexRow<'a> {
    /// Appends the version and the primary key.
    pub fn encode(&self, out: &mut Vec<u8>) {
        var_int::encode(self.version.get(), out);
        self.primary_key.encode(out);
    }

    /// The index row that is the whole of `input`.
    ///
    /// # Errors
    /// On a bad version or key, and on bytes left over.
    pub fn decode_exact(input: &'a [u8]) -> Result<Self> {
        decode_exact_with(input, "index row", |reader| {
            Ok(Self {
                version: RecordVersion::read(reader)?,
                primary_key: RawKey::read(reader)?,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idb_key::Key;
    use crate::testing::{bytes_of, properties};

    #[test]
    fn exists_rows_are_int_and_data_rows_are_var_int() {
        let version = RecordVersion::new(300).unwrap();
        let exists = ExistsRow { version };
        let data = DataRow {
            version,
            value: &[],
        };
        assert_eq!(bytes_of(|out| exists.encode(out)), [0x2c, 0x01]);
        assert_eq!(bytes_of(|out| data.encode(out)), [0xac, 0x02]);
    }

    #[test]
    fn missing_and_negative_versions_are_refused() {
        assert!(DataRow::decode_exact(&[]).is_err());
        assert!(DataRow::decode_exact(&[0x80]).is_err());
        assert!(ExistsRow::decode_exact(&[]).is_err());
        assert!(ExistsRow::decode_exact(&[0xff; 8]).is_err());
        assert!(ExistsRow::decode_exact(&[1; 9]).is_err());
        assert!(IndexRow::decode_exact(&[2]).is_err());
        assert!(IndexRow::decode_exact(&[2, 1, 0, 9]).is_err());
        let negative = bytes_of(|out| var_int::encode(-1, out));
        assert!(DataRow::decode_exact(&negative).is_err());
    }

    properties! {
        fn data_rows_round_trip(version: RecordVersion, value: Vec<u8>) -> bool {
            let row = DataRow { version, value: &value };
            DataRow::decode_exact(&bytes_of(|out| row.encode(out))) == Ok(row)
        }

        fn exists_rows_round_trip(version: RecordVersion) -> bool {
            let row = ExistsRow { version };
            ExistsRow::decode_exact(&bytes_of(|out| row.encode(out))) == Ok(row)
        }

        fn index_rows_round_trip(version: RecordVersion, key: Key) -> bool {
            let key = bytes_of(|out| key.encode(out));
            let row = IndexRow { version, primary_key: RawKey::decode_exact(&key).unwrap() };
            let bytes = bytes_of(|out| row.encode(out));
            IndexRow::decode_exact(&bytes) == Ok(row) && bytes.ends_with(&key)
        }

        fn any_input_decodes_to_the_one_row_with_that_encoding_or_errs(input: Vec<u8>) -> bool {
            let data = DataRow::decode_exact(&input).is_ok_and(|row| bytes_of(|out| row.encode(out)) != input);
            let index = IndexRow::decode_exact(&input).is_ok_and(|row| bytes_of(|out| row.encode(out)) != input);
            // An Int may be longer than needed.
            let exists = ExistsRow::decode_exact(&input).is_ok_and(|row| !input.starts_with(&bytes_of(|out| row.encode(out))));
            !data && !index && !exists
        }
    }
}
